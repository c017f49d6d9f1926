"""The table of what became of every record adds up to the result's ledger, and says where each is.

That of every bundled playbook does: ``test_library.py``.
"""

from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import pytest

from cluster_model.checker.ledger import RecordLocations, RecordRange
from cluster_model.protocol.events import RecordsFailed, RecordsSent
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from playbooks.recording.seal import rows
from playbooks.session_format import session_files
from playbooks.session_format.session_files import LEDGER_COLUMNS as COLUMNS
from tests.support.adding_up import adds_up
from tests.support.playbooks import CLUSTER, CRASH, MANUAL


def recorded(parent: Path, text: str, seed: int = 1) -> Path:
    session = start_session(loads(text, "x.yaml"), seed=seed, recorder=Recorder(parent))
    return Path(session.finish().session)


@pytest.mark.slow
def test_a_quiet_session_is_one_row_for_each_partition(tmp_path: Path) -> None:
    session = recorded(tmp_path, CRASH)
    table = adds_up(session)
    assert {row.outcome for row in table} == {"acked"}
    assert pq.read_schema(session / session_files.LEDGER).names == list(COLUMNS)
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert session_files.LEDGER in manifest.files


def test_a_session_without_producers_has_an_empty_table(tmp_path: Path) -> None:
    adds_up(recorded(tmp_path, MANUAL))


def test_records_of_a_deleted_topic_have_the_outcome_deleted(tmp_path: Path) -> None:
    steps = "steps:\n  - {at: 3s, admin: delete_topic, topic: orders}\nsettle: 2s\n"
    session = recorded(tmp_path, CLUSTER + steps)
    table = adds_up(session)
    assert {row.location for row in table if row.outcome == "acked"} == {"deleted"}


class FakeLedger:
    """What is found of one client at the end of a session: the first record is in the log, and nobody was told."""

    def acknowledged(self) -> list[RecordRange]:
        return []

    def held_by_leader(self, _partition: str) -> dict[str, list[tuple[int, int]]]:
        return {"shop": [(0, 1)]}


def test_records_that_ended_without_a_number_are_counted_together() -> None:
    ended = [RecordsFailed(at, "shop", "orders-0", -1, count, -1, "TIMED_OUT", 1) for at, count in ((1, 2), (2, 3))]
    (row,) = rows(ended, None)
    assert (row.outcome, row.sequence, row.records, row.error, row.location) == (
        "failed",
        -1,
        5,
        "TIMED_OUT",
        "nowhere",
    )


def test_an_unacknowledged_record_has_its_location() -> None:
    (row,) = rows([RecordsSent(1, "shop", "orders-0", 0, 1, -1)], cast("RecordLocations", FakeLedger()))
    assert (row.outcome, row.sequence, row.records, row.location) == ("sent", 0, 1, "held")
