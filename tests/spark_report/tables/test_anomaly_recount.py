"""Anomalies counted again: on sessions of the model they are the checker's own, and each rule holds on a few events."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.recording.recorder import Recorder
from spark_report.tables import anomaly_recount
from spark_report.tables.anomaly_recount import IN_LEDGER, SessionClaims
from spark_report.tables.result_recount import LAST
from tests.playbooks.session_format.test_versions import GOLDENS
from tests.playbooks.thinned import thinned
from tests.spark_report.histories import Event, history, of_directory
from tests.support.breadth import spread_sample
from tests.support.sessions import Row

GOLDEN = GOLDENS / "playbook.yaml"
PLAYBOOKS = (
    "ack-lost",
    "acks-1-lost-tail",
    "retry-reorders",
    "zombie-producer",
    "consumer-bounce-eager",
    "exactly-once",
)
SAME = ("inconsistent-offsets", "lost-write", "unseen", "realtime-order")
EVERYWHERE = SessionClaims({"g": "subscribe", "c": "assign committed", "a": "assign"}, None, ledger=False)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], SessionClaims]:
    session = start_session(load(GOLDEN), recorder=Recorder(tmp_path_factory.mktemp("golden")))
    return of_directory(Path(session.finish().session))


@pytest.mark.slow
def test_it_agrees_with_the_checker_on_a_session_with_losses(golden: tuple[list[Event], SessionClaims]) -> None:
    events, said = golden
    assert said.ledger
    assert said.anomalies is not None
    rows = anomaly_recount.of_events(events, said)
    assert {row["finding"] for row in rows} == {"anomalies"}
    assert {row["anomaly"]: row["found"] for row in rows if row["anomaly"] in SAME} == dict.fromkeys(SAME, 19)


@pytest.mark.slow
@pytest.mark.parametrize("name", spread_sample(PLAYBOOKS, 2))
def test_it_agrees_with_the_checker_on_the_library(tmp_path: Path, name: str) -> None:
    session = start_session(loads(thinned(name), name), recorder=Recorder(tmp_path))
    rows = anomaly_recount.of_events(*of_directory(Path(session.finish().session)))
    assert [row for row in rows if row["finding"] != "anomalies"] == []


def test_steps_by_hand_are_nobodys_and_show_no_anomaly(tmp_path: Path) -> None:
    session = start_session(load(path_of("kip-101-scenario-1-0.10.2")), recorder=Recorder(tmp_path))
    events, said = of_directory(Path(session.finish().session))
    assert anomaly_recount.of_events(events, said) == []
    assert anomaly_recount.of_events(events, said._replace(clients=True)) != []
    more = [*events, *history([{"kind": IN_LEDGER, "node": "sent", "partition": "orders-0", "count": 5}])]
    assert [row["name"] for row in anomaly_recount.of_events(more, said)] == ["sent"]


def test_different_counts_are_disagreements(golden: tuple[list[Event], SessionClaims]) -> None:
    events, said = golden
    assert said.anomalies is not None
    wrong = said._replace(anomalies={**said.anomalies, "duplicate": 3})
    found = [row for row in anomaly_recount.of_events(events, wrong) if row["finding"] == "disagreements"]
    plain = {"finding": "disagreements", "partition": ""}
    assert found == [{**plain, "source": "result.json", "name": "duplicate", "found": 0, "reported": 3}]
    more = [*events, *history([{"kind": IN_LEDGER, "node": "sent", "partition": "orders-0", "count": 5}])]
    [row] = [row for row in anomaly_recount.of_events(more, said) if row["finding"] == "disagreements"]
    assert (row["source"], row["name"], row["reported"] - row["found"]) == ("ledger.parquet", "sent", 5)


@pytest.mark.parametrize("rule", ["_of_values", "_at_the_end", "_realtime_order", "_send_order"])
def test_a_rule_that_is_broken_is_a_disagreement(
    golden: tuple[list[Event], SessionClaims], monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.setattr(anomaly_recount.AnomalyFinder, rule, lambda _self: None)
    assert any(row["finding"] == "disagreements" for row in anomaly_recount.of_events(*golden))


@pytest.mark.parametrize("wrong", [{"count": 1 << 60}, {"log_offset": 1 << 62, "count": 1 << 62}])
def test_numbers_that_cannot_be_true_leave_a_session_out(wrong: Row) -> None:
    sent = {"kind": "records_sent", "partition": "p-0", "client": "w", "sequence": 0, "count": 3}
    acked = {**sent, "kind": "records_acked", "log_branch": 0, "log_offset": 0}
    rows = anomaly_recount.of_events(history([sent, {**acked, **wrong}]), EVERYWHERE)
    assert rows == [{"finding": "left_out", "table": "anomalies"}]


def wrote(offset: int, sequence: int, count: int = 1, **more: Any) -> Row:
    return {
        "kind": "appended",
        "partition": "p-0",
        "broker": 1,
        "client": "w",
        "log_offset": offset,
        "sequence": sequence,
        "count": count,
        **more,
    }


def sent(sequence: int, count: int = 1) -> Row:
    return {"kind": "records_sent", "partition": "p-0", "client": "w", "sequence": sequence, "count": count}


def acked(offset: int, sequence: int, count: int = 1, log_branch: int = 0) -> Row:
    return {**sent(sequence, count), "kind": "records_acked", "log_offset": offset, "log_branch": log_branch}


def read(start: int, end: int, *, at: int = 0, group: str = "a", log_branch: int = 0) -> Row:
    return {
        "kind": "records_read",
        "partition": "p-0",
        "client": "r",
        "group_id": group,
        "at_us": at,
        "log_offset": start,
        "end_offset": end,
        "log_branch": log_branch,
    }


def last(start: int, end: int, *, log_start: int = 0, log_branch: int = 0) -> Row:
    part = {"log_offset": start, "end_offset": end, "log_branch": log_branch}
    return {"kind": LAST, "partition": "p-0", "count": log_start, **part}


LED = {"kind": "became_leader", "partition": "p-0", "broker": 2}
OTHER = [LED, wrote(0, 1, broker=2)]
"""Another leader has the second record where the first one was."""
TXN = {"kind": "transaction_begun", "client": "w"}
DELETED = {"kind": "partition_deleted", "partition": "p-0"}

CASES: dict[str, tuple[list[Row], dict[str, int]]] = {
    "nothing": ([sent(0, 3), wrote(0, 0, 3), acked(0, 0, 3), read(0, 3), last(0, 3)], {}),
    "one value at two offsets": (
        [sent(0), wrote(0, 0), wrote(1, 0), acked(1, 0), read(0, 2), last(0, 2)],
        {"duplicate": 1},
    ),
    "one offset with two values": (
        [sent(0), sent(1), wrote(0, 0), acked(0, 0), *OTHER, acked(0, 1, log_branch=1), last(0, 1, log_branch=1)],
        {"inconsistent-offsets": 1, "lost-write": 1, "unseen": 1, "nonmonotonic-send": 1},
    ),
    "acknowledged and never read": ([sent(0, 2), wrote(0, 0, 2), acked(0, 0, 2), last(0, 1)], {"unseen": 1}),
    "nobody has read to the end": ([sent(0, 2), wrote(0, 0, 2), acked(0, 0, 2)], {}),
    "deleted on purpose": ([sent(0, 2), wrote(0, 0, 2), acked(0, 0, 2), last(1, 2, log_start=1)], {}),
    "read though it failed": (
        [sent(0), wrote(0, 0), {**sent(0), "kind": "records_failed"}, read(0, 1), last(0, 1)],
        {"G1a": 1},
    ),
    "sent again under its number": (
        [sent(0), sent(0), wrote(0, 0), {**sent(0), "kind": "records_failed"}, read(0, 1), last(0, 1)],
        {},
    ),
    "nobody sent it": ([wrote(0, 0), read(0, 1), last(0, 1)], {"phantom": 1}),
    "before what was known": (
        [sent(0), wrote(1, 0), acked(1, 0), sent(1), wrote(0, 1), acked(0, 1), last(0, 2)],
        {"realtime-order": 1, "nonmonotonic-send": 1},
    ),
    "back between polls": (
        [sent(0, 3), wrote(0, 0, 3), read(0, 3), read(1, 3, at=5), last(0, 3)],
        {"nonmonotonic-poll": 1},
    ),
    "back inside a poll": (
        [sent(0, 3), wrote(0, 0, 3), read(0, 3), read(1, 3), last(0, 3)],
        {"int-nonmonotonic-poll": 1},
    ),
    "over values": ([sent(0, 3), wrote(0, 0, 3), read(0, 1), read(2, 3, at=5), last(0, 3)], {"poll-skip": 1}),
    "over values inside a poll": (
        [sent(0, 3), wrote(0, 0, 3), read(0, 1), read(2, 3), last(0, 3)],
        {"int-poll-skip": 1},
    ),
    "over a hole": ([sent(0, 2), wrote(0, 0), wrote(2, 1), read(0, 1), read(2, 3, at=5), last(0, 3)], {}),
    "over aborted data": (
        [
            *(sent(0, 3), wrote(0, 0, 3), {**sent(1), "kind": "records_aborted"}),
            *(read(0, 1, group="c"), read(2, 3, at=5, group="c"), last(0, 1), last(2, 3)),
        ],
        {},
    ),
    "handed twice to a member": (
        [sent(0, 3), wrote(0, 0, 3), read(0, 3, group="g"), read(1, 3, at=5, group="g"), last(0, 3)],
        {"consume-dup": 2, "nonmonotonic-poll": 1},
    ),
    "given back before": (
        [
            *(sent(0, 3), wrote(0, 0, 3), read(0, 3, group="g")),
            {"kind": "records_abandoned", "partition": "p-0", "client": "r", "log_offset": 1, "count": 2},
            *(read(1, 3, at=5, group="g"), last(0, 3)),
        ],
        {},
    ),
    "another life reads again": (
        [
            *(sent(0, 3), wrote(0, 0, 3), read(0, 3, group="g"), {"kind": "node_up", "node": "r"}),
            *(read(0, 3, at=5, group="g"), last(0, 3)),
        ],
        {},
    ),
    "others between those of a transaction": (
        [
            *(TXN, sent(0, 2), wrote(0, 0), acked(0, 0), wrote(1, 0, client="x"), {**sent(0), "client": "x"}),
            *(wrote(2, 1), acked(2, 1), last(0, 3)),
        ],
        {"int-send-skip": 1},
    ),
    "back inside a transaction": (
        [TXN, sent(0, 2), wrote(1, 0), acked(1, 0), wrote(0, 1), acked(0, 1), last(0, 2)],
        {"int-nonmonotonic-send": 1},
    ),
    "a commit goes back": (
        [
            {"kind": "offsets_committed", "partition": "p-0", "client": "r", "group_id": "g", "log_offset": at}
            for at in (4, 2)
        ],
        {"commit-regression": 1},
    ),
    "made anew under its name": (
        [
            *(sent(0, 2), wrote(0, 0, 2), acked(0, 0, 2), DELETED, sent(2), LED, wrote(0, 2, broker=2)),
            *(acked(0, 2, log_branch=1), last(0, 1, log_branch=1)),
        ],
        {},
    ),
    "of Kafka's own": ([{**wrote(0, 0), "partition": "__offsets-0"}, {**read(0, 1), "partition": "__offsets-0"}], {}),
}


@pytest.mark.parametrize("case", CASES)
def test_each_rule(case: str) -> None:
    rows, expected = CASES[case]
    events = history([{"at_us": 0, **row} for row in rows])
    found: Counter[str] = Counter()
    for (anomaly, _partition, _client), count in anomaly_recount.anomalies(events, EVERYWHERE.readers).items():
        found[anomaly] += count
    assert found == expected


def test_every_anomaly_that_is_counted_again_has_a_case() -> None:
    told = {anomaly for _rows, expected in CASES.values() for anomaly in expected}
    assert set(anomaly_recount.RECOUNTED) == told
