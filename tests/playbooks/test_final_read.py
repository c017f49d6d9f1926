"""The read at the end of a session is recorded: what a fresh client would be served."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cluster_model.checker.anomalies.operations import SUBSCRIBE
from playbooks.session_format import session_files
from playbooks.session_format.session_files import FINAL_READ_COLUMNS as COLUMNS
from tests.playbooks.session_format.test_ledger_table import recorded
from tests.support.playbooks import CRASH

pytestmark = pytest.mark.slow


def test_it_is_all_that_the_leaders_logs_hold_at_the_end(tmp_path: Path) -> None:
    session = recorded(tmp_path, CRASH)
    table = pq.read_table(session / session_files.FINAL_READ)
    assert table.schema.names == list(COLUMNS)
    result = session_files.read_object(session / session_files.RESULT)
    served: dict[str, int] = {}
    for row in table.to_pylist():
        assert row["caught_up"]
        served[row["partition"]] = served.get(row["partition"], 0) + row["end_offset"] - row["log_offset"]
    assert {name: count for name, count in served.items() if count} == {
        name: each["hw"] for name, each in result["partitions"].items() if each["hw"]
    }
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert session_files.FINAL_READ in manifest.files


def test_it_is_written_down_how_groups_read(tmp_path: Path) -> None:
    start = session_files.read_start(recorded(tmp_path, CRASH))
    assert set(start.readers) == set(start.groups)
    assert all(manner.startswith((SUBSCRIBE, "assign")) for manner in start.readers.values())
