"""One cluster for the whole run; frames from rows written by hand; sessions whose report is known."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from benchmarks.spark_servers import cluster
from cluster_model.protocol.events import COLUMNS
from kafka_logs.incident import read_incident
from kafka_logs.session_writer import write_session as import_session
from playbooks.session_format import session_files
from spark_report.input import frames
from spark_report.input.sessions import ARROW_TYPES, SessionInput, check_session
from spark_report.job import run
from spark_report.tables import collect, compute
from spark_report.tables.collect import Tables
from tests.kafka_logs import recorded
from tests.spark_report import played
from tests.spark_report.random_histories import random_history, write_all
from tests.spark_report.twins_common import History
from tests.support.sessions import Row, leader_crash, tear, write_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE = "one"
"""The session that hand-written rows belong to unless they say otherwise."""

MakeFrame = Callable[..., "DataFrame"]


class ReportedSessions(NamedTuple):
    """A directory of three sessions, one of them torn, and the tables of the report on them by this machine."""

    sessions: Path
    tables: dict[str, list[Row]]


class Computed(NamedTuple):
    """Sessions by the name of their playbook, random ones by their own, and the tables over all of them."""

    sessions: dict[str, SessionInput]
    histories: dict[str, History]
    """What is to be known of the random ones."""
    tables: Tables

    def of_random(self, table: str) -> list[Row]:
        """What a table says of random sessions."""
        return [row for row in self.tables[table].to_pylist() if row["session_id"] in self.histories]

    def rows_of(self, playbook: str) -> dict[str, list[Row]]:
        """What the tables say of one of them."""
        session_id = self.sessions[playbook].session_id
        return {
            name: [row for row in table.to_pylist() if row["session_id"] == session_id]
            for name, table in self.tables.items()
        }


@pytest.fixture(scope="session")
def known(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> ReportedSessions:
    """What every other way to the same sessions has to come to."""
    sessions = tmp_path_factory.mktemp("known") / "we[i]rd {a,b} 100%?*"
    for number, name in enumerate(("one", "three")):
        rows = random_history(number)
        write_session(sessions, rows, session_id=name, end_us=rows[-1]["at_us"])
    tear(write_session(sessions, leader_crash(), session_id="torn"))
    out = tmp_path_factory.mktemp("known-report") / "out"
    run([sessions], out=out, spark=spark, stage=lambda _stage: None, formats=("json",))
    tables = tables_of(out, sessions)
    assert len(tables["sessions"]) == 3
    assert all(tables[name] for name in ("elections", "latency", "partition_position_lag"))
    return ReportedSessions(sessions, tables)


@pytest.fixture(scope="session")
def computed_together(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Computed:
    """Sessions whose figures are known by other ways, computed at once: one report costs what five do."""
    parent = tmp_path_factory.mktemp("played")
    histories = write_all(parent)
    random_ones = {name: check_session(session_files.directory_of(parent, name)) for name in histories}
    sessions = {**played.played(parent), **random_ones, **imported_sessions(parent)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "LITTLE_EVENTS", 1_000_000)  # the path for much data is compared with this one
        return Computed(sessions, histories, compute.compute(spark, list(sessions.values()), lambda _stage: None))


def imported_sessions(parent: Path) -> dict[str, SessionInput]:
    """Sessions of the logs of real brokers: ``missing`` without acknowledgements of clients, ``lost`` with them."""
    acked = read_incident(recorded.DATA / "4.1.2-rejoined", clients=recorded.acknowledged("4.1.2"))
    incidents = {"missing": read_incident(recorded.lost("4.1.2")), "lost": acked}
    found = {name: check_session(import_session(incident, parent, name=name)) for name, incident in incidents.items()}
    return {name: session for name, session in found.items() if isinstance(session, SessionInput)}


def tables_of(out: Path, *roots: Path | str) -> Any:
    """The tables of a report, wherever its sessions were."""
    text = (out / "report.json").read_text(encoding="utf-8")
    for root in roots:
        text = text.replace(str(root), "ROOT")
    return json.loads(text)["tables"]


@pytest.fixture(scope="session")
def workers() -> Iterator[str]:
    """The URL of a standalone cluster with two workers."""
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            # Executors live for a minute: what would make them faster later makes them slower now.
            patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            url = stack.enter_context(cluster(workers=2))
        yield url


@pytest.fixture
def events(spark: "SparkSession") -> MakeFrame:
    """Rows as the frame that transforms take; seq is the place in the list where a row has none."""
    kinds = {"session_id": "str", "seq": "int", **COLUMNS}
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])

    def make(rows: Iterable[Row]) -> "DataFrame":
        filled = [{"session_id": ONE, "seq": place, **row} for place, row in enumerate(rows)]
        return spark.createDataFrame(pa.Table.from_pylist(filled, schema=schema))

    return make


@pytest.fixture
def ends(spark: "SparkSession") -> MakeFrame:
    """Where sessions end: ``id -> (end_us, end_seq)``."""

    def make(**sessions: tuple[int, int]) -> "DataFrame":
        rows = [
            {"session_id": name, "end_us": end_us, "end_seq": end_seq, "bin_us": 1_000}
            for name, (end_us, end_seq) in sessions.items()
        ]
        return spark.createDataFrame(pa.Table.from_pylist(rows, schema=frames.SESSIONS))

    return make


def told(frame: "DataFrame", *columns: str) -> list[tuple[Any, ...]]:
    """A frame's rows with these columns, sorted."""
    return sorted(tuple(row) for row in frame.select(*columns).collect())
