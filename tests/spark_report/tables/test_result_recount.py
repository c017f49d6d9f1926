"""Numbers of results counted again: latencies are those of the model, and a wrong one is noticed."""

from pathlib import Path
from typing import Any

import pytest

from cluster_model.checker.ledger.duplicates import DuplicateTracker
from cluster_model.clients.consumer import fetcher
from cluster_model.clients.producer.record_accumulator import ProducerBatch, RecordsBySendTime
from cluster_model.log.batch_store import EpochBranch
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from playbooks.results import client_stats
from playbooks.results.client_stats import LatencySummary
from spark_report.tables import anomaly_recount, result_recount
from spark_report.tables.anomaly_recount import FIELDS, SessionClaims
from spark_report.tables.result_recount import LAST, RecordNumbers, ResultClaims, TimedRecords, claimed, percentiles
from tests.playbooks.thinned import thinned
from tests.spark_report.histories import Event, of_directory
from tests.support.playbooks import CLUSTER

BATCHED = (
    CLUSTER.replace("{acks: all}", "{acks: all, linger.ms: 35}")
    + """\
steps:
  - at: 1s
    inject: gc_pause
    target: leader(orders-0)
    for: 1500ms
  - at: 4s
    inject: gc_pause
    target: client(billing/0)
    for: 500ms
settle: 3s
"""
)
"""Batches of several records, and a poll that is handed several batches."""

Recorded = tuple[list[Event], SessionClaims]


def recorded(parent: Path) -> tuple[Session, Recorded]:
    session = start_session(loads(BATCHED, "batched.yaml"), recorder=Recorder(parent))
    return session, of_directory(Path(session.finish().session))


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Recorded]:
    return recorded(tmp_path_factory.mktemp("batched"))


def disagreements(events: list[Event], claims: SessionClaims) -> set[tuple[str, str]]:
    rows = anomaly_recount.of_events(events, claims)
    return {(row["source"], row["name"].split(" ")[0]) for row in rows if row["finding"] == "disagreements"}


@pytest.mark.slow
def test_result_conditions_and_recount_agree(batched: tuple[Session, Recorded]) -> None:
    session, (events, said) = batched
    assert disagreements(events, said) == set()
    told = {name: number for name, number in said.claims.numbers.items() if ".latency." in name}
    query = session.cluster.query
    assert told["clients.producers.checkout.latency.p99_us"] == query.ack_p99("checkout") == query.ack_p99() > 0
    assert told["clients.producers.checkout.latency.max_us"] == query.ack_max("checkout")
    assert told["clients.groups.billing.latency.p50_us"] == query.read_p50("billing") > 0
    assert told["clients.groups.billing.members.billing/0.latency.records"] == query.read("billing")
    assert len(told) == 18


@pytest.mark.slow
def test_a_wrong_number_of_the_result_is_noticed(batched: tuple[Session, Recorded]) -> None:
    events, said = batched[1]
    claims = said.claims
    for name, number in claims.numbers.items():
        wrong = said._replace(claims=claims._replace(numbers={**claims.numbers, name: number + 1}))
        assert disagreements(events, wrong) == {("result.json", name)}
    for (*where, term), number in claims.repeats.items():
        wrong = said._replace(claims=claims._replace(repeats={**claims.repeats, (*where, term): number + 1}))
        assert disagreements(events, wrong) == {("result.json", term)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["records_acked", "records_read"])
def test_a_wrong_latency_of_an_event_is_noticed(batched: tuple[Session, Recorded], kind: str) -> None:
    events, said = batched[1]
    at = [place for place, event in enumerate(events) if event[2] == kind][-1]
    place = FIELDS.index("latency_us")
    wrong = (*events[at][:place], events[at][place] + 1, *events[at][place + 1 :])
    assert disagreements([*events[:at], wrong, *events[at + 1 :]], said) == {("events", "latency_us")}


@pytest.mark.slow
def test_one_latency_for_a_whole_batch_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_the_oldest(batch: ProducerBatch) -> list[RecordsBySendTime]:
        return [RecordsBySendTime(0, batch.records, batch.created_us)]

    monkeypatch.setattr(ProducerBatch, "by_send_time", as_the_oldest)
    found = disagreements(*recorded(tmp_path)[1])
    assert {("events", "latency_us"), ("result.json", "clients.producers.checkout.latency.p50_us")} <= found
    assert not any(".groups." in name for _source, name in found)


@pytest.mark.slow
def test_one_latency_for_a_whole_poll_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_the_newest(
        log_branch: EpochBranch, records: object, start: int, end: int
    ) -> tuple[fetcher.RecordsByAppendTime, ...]:
        return (fetcher.RecordsByAppendTime(start, end, end - start, log_branch.appended_at(end - 1)),)

    monkeypatch.setattr(fetcher, "by_append_time", as_the_newest)
    found = disagreements(*recorded(tmp_path)[1])
    assert {("events", "latency_us"), ("result.json", "clients.groups.billing.latency.p95_us")} <= found
    assert not any(".producers." in name for _source, name in found)


def test_records_sent_again_have_the_time_of_the_last_send() -> None:
    known = TimedRecords()
    known.add(0, 4, 10)
    known.add(6, 8, 20)
    assert known.times(1, 9) == [(3, 10), (2, None), (2, 20), (1, None)]
    known.add(3, 7, 30)
    known.add(6, 7, 40)
    assert known.times(2, 8) == [(1, 10), (3, 30), (1, 40), (1, 20)]


def test_percentiles_are_those_of_a_result() -> None:
    told = percentiles({10: 1, 20: 2, 31: 1})
    assert LatencySummary(**told) == LatencySummary(4, 10, 20, 29, 31, 31)


def test_non_numbers_of_a_result_are_not_claims() -> None:
    client = {"latency": {"records": 3, "p50_us": "x", "p99_us": True, "other": 1}}
    result = {"clients": {"producers": {"p": client, "q": 5}, "groups": [1]}}
    assert claimed(result).numbers == {"clients.producers.p.latency.records": 3}
    odd = {
        "partitions": {"a-0": 3, "a-1": {"epoch": 2.0}},
        "ledger_by_partition": [3, {"client": 5, "duplicates": 1}],
        "ledger": [],
    }
    assert claimed({"clients": None, **odd}) == ResultClaims({}, {}, {"a-0": -1, "a-1": -1})


def library(name: str, parent: Path) -> Recorded:
    session = start_session(loads(thinned(name), name), recorder=Recorder(parent))
    return of_directory(Path(session.finish().session))


def claiming(claims: SessionClaims, name: str, number: int) -> SessionClaims:
    """With one number of the result, and all of its books, alone."""
    return claims._replace(claims=claims.claims._replace(numbers={name: number}), anomalies=None)


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return library("ack-reset", tmp_path_factory.mktemp("twice"))


@pytest.mark.slow
def test_duplicates_in_logs_are_recounted(twice: Recorded) -> None:
    events, said = twice
    assert said.claims.numbers["ledger.duplicates"] > 0
    assert disagreements(events, said) == set()
    assert disagreements(events, claiming(said, "ledger.duplicates", 0)) == {("result.json", "ledger.duplicates")}
    repeats = dict.fromkeys(said.claims.repeats, 0)
    wrong = said._replace(claims=said.claims._replace(repeats=repeats))
    assert disagreements(events, wrong) == {("result.json", "duplicates")}


@pytest.mark.slow
def test_a_log_that_is_not_whole_decides_nothing(twice: Recorded) -> None:
    events, said = twice
    wrong = claiming(said, "ledger.duplicates", 0)
    assert disagreements([event for event in events if event[2] != LAST], wrong) == set()
    begun_later = [(*event[:9], 7, *event[10:]) if event[2] == LAST else event for event in events]
    assert disagreements(begun_later, wrong) == set()
    assert disagreements(events, wrong._replace(claims=wrong.claims._replace(ends={}))) == set()


@pytest.mark.slow
def test_late_records_truncations_and_epochs_are_counted_again(tmp_path: Path) -> None:
    events, said = library("consumer-truncation", tmp_path)
    assert disagreements(events, said) == set()
    names = ("clients.groups.billing.truncations", "partitions.orders-0.epoch")
    assert all(said.claims.numbers[name] > 0 for name in names)
    for name in names:
        assert disagreements(events, claiming(said, name, 0)) == {("result.json", name)}


@pytest.mark.slow
def test_wrong_counters_of_the_model_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(client_stats._HANDLERS, "consumer_reset", lambda _books, _event: None)
    monkeypatch.setattr(DuplicateTracker, "reordered", lambda _self, _client=None: 3)
    found = disagreements(*library("consumer-truncation", tmp_path / "late"))
    assert found == {("result.json", "ledger.reordered")}
    found = disagreements(*library("retention-overtakes-earliest", tmp_path / "reset"))
    assert found == {("result.json", "clients.groups.billing.resets")}


def test_numbers_behind_later_ones_and_those_that_are_there_already() -> None:
    known = RecordNumbers()
    steps = [(0, 5), (8, 10), (5, 8), (3, 9), (9, 12), (12, 13)]
    assert [known.add(*step) for step in steps] == [(0, 0), (0, 0), (0, 3), (6, 0), (1, 0), (0, 0)]


def test_a_reset_counts_where_a_position_was_known_or_a_commit_had_expired() -> None:
    def event(kind: str, end_offset: int = -1, partition: str = "t-0") -> result_recount.Event:
        plain: dict[str, Any] = dict.fromkeys(result_recount.Event._fields, 0)
        of: dict[str, Any] = {
            "kind": kind,
            "group_id": "g",
            "client": "g/0",
            "partition": partition,
            "end_offset": end_offset,
        }
        return result_recount.Event(**{**plain, **of})

    counted = result_recount.CounterRecount()
    reset = event("consumer_reset")
    for each in (reset, event("consumer_reset", 5), event("offsets_expired"), reset, reset):
        counted.take(each)
    counted.take(event("offsets_expired", partition="t-1"))
    counted.take(reset)
    assert counted.numbers(["clients.groups.g.resets"]) == {"clients.groups.g.resets": 2}
