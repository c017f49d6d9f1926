"""When nobody served: the engine's sums are those of the report's plain rule, and of sessions told by hand."""

from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.client_factory import service_bounds
from cluster_model.spec.cluster_spec import (
    BrokerSpec,
    ClosedLoop,
    ClusterSpec,
    NetworkSpec,
    ProducerSpec,
    TransactionPlan,
)
from cluster_model.util.latency import SERVICE_BOUND_US, SLOW_US
from cluster_model.util.quantities import short_seconds
from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import changed, load, loads
from playbooks.results.client_stats import ClientStats
from playbooks.results.outages import SPANS_KEPT, Availability, Unavailability, outage_texts, unavailability_of
from tests.spark_report import twins
from tests.spark_report.random_sessions import BOUNDS, random_session
from tests.support.breadth import sample_count
from tests.support.sessions import Row, event, numbered

SECOND = 1_000_000


def entered(rows: list[Row], end_us: int, cut: int = -1, bounds: Mapping[str, int] = BOUNDS) -> Unavailability:
    """What the rows amount to; at ``cut`` the books are saved and loaded on the way."""
    books = Availability(bounds)
    for place, row in enumerate(rows):
        if place == cut:
            books = Availability.from_saved(books.save())
        books.process_events([SimpleNamespace(**row)])
    return unavailability_of(books, ClientStats(), seen(end_us))


def seen(now_us: int) -> Any:
    """A view of which only the time counts."""
    return SimpleNamespace(now_us=now_us)


def sums(spans: list[tuple[Any, ...]], key: slice) -> dict[Any, tuple[int, int, int]]:
    """Of a twin's spans: key → total, longest, number."""
    lengths = defaultdict(list)
    for span in spans:
        lengths[span[key]].append(span[-3] - span[-5])
    return {name: (sum(each), max(each), len(each)) for name, each in sorted(lengths.items())}


def told(lines: Any) -> dict[Any, tuple[int, int, int]]:
    return {
        ((each.client, each.partition, each.acks) if each.client else (each.partition,)): (
            each.us,
            each.longest_us,
            each.times,
        )
        for each in lines
        if each.times
    }


@pytest.mark.parametrize("seed", range(sample_count(5, 12)))
def test_the_sums_are_those_of_the_reports_rule(seed: int) -> None:
    rows = random_session(seed)
    end_us, end_seq = rows[-1]["at_us"] + 50, len(rows) - 1
    found = entered(rows, end_us, cut=len(rows) // 2)
    by_client = twins.client_unavailability(rows, end_us, end_seq, BOUNDS)
    by_partition = twins.partition_unavailability(rows, end_us, end_seq)
    assert by_client
    assert by_partition
    assert told(found.clients) == sums(by_client, slice(0, 3))
    assert told(found.partitions) == sums(by_partition, slice(0, 1))


def few(name: str) -> Playbook:
    """A bundled playbook of few records."""
    playbook = load(path_of(name))
    return changed(playbook, {f"producers.{each.name}.rate": "10/s" for each in playbook.spec.producers})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["both-followers-paused", "split-leader", "leader-crash"])
def test_a_session_and_the_reports_rule_agree(name: str) -> None:
    session = Session.start(few(name))
    rows: list[Row] = []
    while session.advance(session.cluster.now_us + 5 * SECOND):
        rows += [_row(each) for each in session.drain()]
    result = session.finish()
    rows += [_row(each) for each in session.drain()]
    rows = [{**row, "seq": seq} for seq, row in enumerate(rows)]
    end = (result.virtual_us, len(rows) - 1)
    bounds = service_bounds(session.playbook.spec)
    assert told(result.unavailable.clients) == sums(twins.client_unavailability(rows, *end, bounds), slice(0, 3))
    assert told(result.unavailable.partitions) == sums(twins.partition_unavailability(rows, *end), slice(0, 1))
    document = result.to_json()["unavailable"]
    assert document["us"] == result.unavailable.us == sum(each["us"] for each in document["clients"].values()) > 0
    assert document["longest_us"] == max(each["longest_us"] for each in document["clients"].values())


def _row(each: Any) -> Row:
    names = each.__slots__ if hasattr(each, "__slots__") else vars(each)
    return {"kind": each.kind, **{name: getattr(each, name) for name in names}}


TOPIC = """
floodmark: 1
name: case
topics: [{name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}]
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: all}}
    - {name: other, topic: orders, rate: 10/s, config: {acks: all}}
"""
CASES = {
    "silence": "steps: [{at: 3s, inject: partition, target: clients, to: brokers, for: 25s}]\nsettle: 5s",
    "a client that dies": (
        "steps:\n  - {at: 5s, inject: crash, target: leader(orders-0), for: 10s}\n"
        "  - {at: 7s, inject: crash, target: client(checkout)}\n  - {at: 40s, heal: all}\nsettle: 5s"
    ),
    "a leader that starts again": ("steps: [{at: 10s, inject: crash, target: leader(orders-0), for: 1s}]\nsettle: 20s"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "kafka", "checkout", "other"),
    [
        ("silence", "3.9", (3, 28.4), (3, 28.4)),
        ("a client that dies", "3.9", (5, 7), (5, 13.3)),
        ("a leader that starts again", "3.9", (10, 18.55), (10, 19.1)),
        ("a leader that starts again", "2.8", (10, 26.2), (10, 26.2)),
    ],
)
def test_a_client_is_out_for_as_long_as_it_felt_it(
    case: str, kafka: str, checkout: tuple[float, float], other: tuple[float, float]
) -> None:
    playbook = changed(loads(TOPIC + CASES[case], "case.yaml"), {"cluster.kafka": kafka})
    session = Session.start(playbook)
    while session.advance(session.cluster.now_us + 60 * SECOND):
        session.drain()
    found = {line.client: line.spans for line in session.finish().unavailable.clients}
    assert [*found] == ["checkout", "other"]
    for (span, *rest), (began, ended) in zip(found.values(), (checkout, other), strict=True):
        assert rest == []
        assert span[0] == pytest.approx(began * SECOND, abs=SECOND / 10)
        assert span[1] == pytest.approx(ended * SECOND, abs=SECOND / 10)


@pytest.mark.slow
def test_a_rewind_takes_the_outages_back() -> None:
    session = Session.start(few("both-followers-paused"))
    session.advance(12 * SECOND)
    state = session.save()
    first = session.finish().unavailable
    twin = session.unrecorded_copy()
    twin.load(*state)
    assert twin.finish().unavailable == first
    assert first.us > 0


def asked(kind: str, at_us: int, acks: int = -1, partition: str = "orders-0", **fields: Any) -> Row:
    of = {"client": "checkout", "partition": partition, "acks": acks, "count": 1}
    return event(kind, at_us, **of, **fields)


def sent(at_us: int, **fields: Any) -> Row:
    return asked("records_sent", at_us, **fields)


def refused(at_us: int, **fields: Any) -> Row:
    return asked("produce_refused", at_us, **{"error": "NOT_ENOUGH_REPLICAS", **fields})


def acked(at_us: int, latency_us: int = 0, **fields: Any) -> Row:
    return asked("records_acked", at_us, latency_us=latency_us, **fields)


def failed(at_us: int, **fields: Any) -> Row:
    return asked("records_failed", at_us, **{"error": "TimeoutException", **fields})


def process(kind: str, at_us: int) -> Row:
    return event(kind, at_us, node="checkout", broker=-1)


def spans(*rows: Row, end_us: int = 9_000) -> list[tuple[tuple[int, int], ...]]:
    """When a client with a bound of 400 us was out at each partition."""
    lines = entered(numbered([*rows]), end_us).clients
    assert told(lines) == sums(twins.client_unavailability(numbered([*rows]), end_us, len(rows), BOUNDS), slice(0, 3))
    return [line.spans for line in lines if line.us]


@pytest.mark.parametrize("silent", [True, False])
def test_out_from_the_last_success_to_the_next_where_records_wait_refused_or_in_silence(*, silent: bool) -> None:
    refusals = [] if silent else [refused(1_100), refused(1_300)]
    assert spans(sent(1_000), sent(1_000), acked(1_001), *refusals, acked(1_402)) == [((1_001, 1_402),)]
    assert spans(sent(1_000), sent(1_000), acked(1_001), *refusals, acked(1_401)) == []
    assert spans(sent(500), acked(501), sent(1_000), *refusals, acked(1_402)) == [((1_000, 1_402),)]


def test_an_idle_producer_is_not_unavailable() -> None:
    assert spans(sent(1_000), acked(1_001), sent(8_000), acked(8_001)) == []


def test_expired_records_are_unavailable_until_the_next_acknowledgement() -> None:
    expired = [sent(1_000), failed(1_500)]
    assert spans(*expired) == [((1_000, 1_500),)]
    assert spans(*expired, sent(5_000), failed(5_001)) == [((1_000, 5_001),)]
    assert spans(*expired, sent(5_000), acked(5_001)) == [((1_000, 5_001),)]
    assert spans(*expired, sent(5_000)) == [((1_000, 9_000),)]


def test_a_process_that_is_down_or_paused_needs_no_service() -> None:
    begun = [sent(1_000), sent(1_000), acked(1_001), sent(1_002)]
    dead = [process("node_down", 2_000), failed(2_000), failed(2_000)]
    assert spans(*begun, *dead) == [((1_001, 2_000),)]
    assert spans(*begun, *dead, process("node_up", 5_000), sent(5_100), acked(5_101)) == [((1_001, 2_000),)]
    paused = [process("node_paused", 2_000), process("node_resumed", 5_000)]
    assert spans(*begun, *paused, acked(5_400), acked(5_401)) == [((1_001, 2_000),)]
    assert spans(*begun, *paused, acked(5_401), acked(5_402)) == [((1_001, 2_000), (5_000, 5_401))]
    others = [event("node_down", 2_000, node="other", broker=-1), event("node_down", 2_000, node="b", broker=1)]
    assert spans(*begun, *others, acked(3_000), acked(3_000)) == [((1_001, 3_000),)]


def test_a_transaction_taken_back_was_served_where_its_records_had_been_written() -> None:
    begun = [sent(1_000), sent(1_000)]
    written, unwritten = (asked("records_aborted", 2_000, log_offset=offset, latency_us=0) for offset in (5, -1))
    assert spans(*begun, written, acked(3_000)) == [((1_000, 2_000), (2_000, 3_000))]
    assert spans(*begun, unwritten, acked(3_000)) == [((1_000, 3_000),)]


def test_acknowledgements_within_the_bound_are_available_time() -> None:
    slow = [sent(1_000), sent(1_000), acked(1_001, latency_us=200)]
    assert spans(*slow, acked(1_601)) == []
    assert spans(*slow, acked(1_602)) == [((1_001, 1_602),)]
    most = [sent(1_000), sent(1_000), acked(1_001, latency_us=SLOW_US)]
    assert spans(*most, acked(1_001 + SLOW_US), end_us=3 * SLOW_US) == []
    assert spans(*most, acked(1_002 + SLOW_US), end_us=3 * SLOW_US) == [((1_001, 1_002 + SLOW_US),)]
    assert spans(*slow, process("node_paused", 1_002), process("node_resumed", 1_002), acked(1_403)) == [
        ((1_002, 1_403),)
    ]


def test_each_partition_and_level_of_acks_is_counted_alone() -> None:
    rows = numbered([sent(5), refused(6), sent(6, acks=1), refused(6, acks=1), acked(600, acks=1), acked(900)])
    assert {line.acks: (line.us, line.refusals) for line in entered(rows, 9_000).clients} == {-1: (895, 1), 1: (594, 1)}
    assert spans(sent(5), sent(6, partition="orders-1"), acked(7, partition="orders-1")) == [((5, 9_000),)]


def test_a_fresh_copy_counts_from_a_later_time_on() -> None:
    books = Availability(BOUNDS)
    books.process_events([SimpleNamespace(**row) for row in numbered([sent(5), sent(6, partition="orders-1")])])
    books = books.restarted(5_000)
    books.process_events([SimpleNamespace(**acked(5_300)), SimpleNamespace(**acked(6_000, partition="orders-1"))])
    assert [(key[2], line.spans) for key, line in books.clients(9_000).items()] == [("orders-1", [(5_000, 6_000)])]


def test_bounds_are_what_a_producer_waits_by_its_configuration() -> None:
    def bounds(kafka: str = "3.9", latency_us: int = 1_000, **producer: Any) -> int:
        spec = ProducerSpec("checkout", "orders", 10_000, **producer)
        network = NetworkSpec(latency_us, 0)
        return service_bounds(ClusterSpec(kafka, "kraft", (BrokerSpec(1),), (), (spec,), network=network))["checkout"]

    assert bounds() == SERVICE_BOUND_US
    assert bounds("4.0") == SERVICE_BOUND_US + 5_000
    assert bounds(config={"linger.ms": 50}) == SERVICE_BOUND_US + 50_000
    assert bounds(latency_us=80_000) == 480_000
    known = {"transactional.id": "t"}
    assert bounds(config=known) == SERVICE_BOUND_US + 100_000
    assert bounds(config=known, transactions=TransactionPlan(every_us=2_000_000)) == SERVICE_BOUND_US + 2_000_000
    assert bounds(config=known, transactions=TransactionPlan(records=7), batch=2) == SERVICE_BOUND_US + 40_000
    assert bounds(config=known, transactions=TransactionPlan(records=7), loop=ClosedLoop(1)) == 60_100_000


def test_an_older_epoch_serves_nobody() -> None:
    rows = numbered([
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=3),
        event("node_down", 10, broker=1, detail="crash"),
        event("became_leader", 15, partition="orders-0", broker=2, leader_epoch=2),
        event("became_leader", 20, partition="orders-0", broker=3, leader_epoch=4),
    ])  # fmt: skip
    (line,) = entered(rows, 50).partitions
    assert line.spans == ((10, 20),)


def test_a_deleted_partition_is_missed_by_nobody_and_begins_anew_under_the_same_name() -> None:
    rows = numbered([
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=3),
        event("node_down", 10, broker=1, detail="crash"),
        event("partition_deleted", 14, partition="orders-0"),
        event("node_up", 20, broker=1),
        event("became_leader", 21, partition="orders-0", broker=2, leader_epoch=0),
        event("node_down", 25, broker=1, detail="crash"),
        event("node_down", 30, broker=2, detail="crash"),
        event("node_up", 33, broker=2),
        event("became_leader", 37, partition="orders-0", broker=2, leader_epoch=0),
    ])  # fmt: skip
    (line,) = entered(rows, 50).partitions
    assert line.spans == ((10, 14), (30, 37))
    assert told(entered(rows, 50).partitions) == sums(twins.partition_unavailability(rows, 50, 8), slice(0, 1))


@pytest.mark.parametrize(("ended", "back"), [("node_down", "node_up"), ("node_paused", "node_resumed")])
def test_a_restarted_broker_leads_nothing_until_metadata_says_so(ended: str, back: str) -> None:
    detail = {"detail": "crash"} if ended == "node_down" else {}
    rows = numbered([
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=0),
        event(ended, 10, broker=1, **detail),
        event(back, 15, broker=1),
        event("became_leader", 40, partition="orders-0", broker=1, leader_epoch=1),
    ])  # fmt: skip
    (line,) = entered(rows, 50).partitions
    assert line.spans == ((10, 40 if ended == "node_down" else 15),)
    assert told(entered(rows, 50).partitions) == sums(twins.partition_unavailability(rows, 50, 3), slice(0, 1))


def test_paused_and_fenced_is_out_until_both_are_over() -> None:
    rows = numbered([
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=0),
        event("node_paused", 10, broker=1),
        event("broker_fenced", 12, broker=1),
        event("node_resumed", 15, broker=1),
        event("broker_registered", 18, broker=1),
    ])  # fmt: skip
    (line,) = entered(rows, 50).partitions
    assert line.spans == ((10, 18),)


def test_a_group_is_out_with_the_partitions_that_it_was_given() -> None:
    books = ClientStats()
    books.group("billing").owners["orders-0"] = "billing/0"
    books.group("audit").owners["orders-1"] = "audit/0"
    availability = Availability({})
    for row in (
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=0),
        event("partition_offline", 4, partition="orders-0", leader_epoch=1),
    ):
        availability.process_events([SimpleNamespace(**row)])
    found = unavailability_of(availability, books, seen(10))
    assert found.to_json()["groups"] == {
        "billing": {"us": 6, "longest_us": 6, "times": 1, "partitions": ["orders-0"]}
    }  # fmt: skip
    assert found.us == 0


@pytest.mark.slow
@given(st.integers(1, 3 * SPANS_KEPT))
def test_the_sums_count_all_spans_and_only_the_first_are_kept(times: int) -> None:
    rows = numbered([each for number in range(times) for each in (sent(1_000 * number), acked(1_000 * number + 500))])
    (line,) = entered(rows, 1_000_000).clients
    assert (line.us, line.times, line.longest_us) == (500 * times, times, 500)
    assert line.spans == tuple((1_000 * n, 1_000 * n + 500) for n in range(min(times, SPANS_KEPT)))


def test_the_words(snapshot: SnapshotAssertion) -> None:
    rows = numbered([sent(SECOND), acked(10 * SECOND), sent(11 * SECOND), acked(14_200_000)])
    assert outage_texts(entered(rows, 20 * SECOND)) == snapshot
    assert outage_texts(entered(numbered([sent(5), refused(5), acked(5)]), 9)) == []
    assert [short_seconds(us) for us in (0, 1, 40_000, 99_999, 100_000, 9_149_999)] == [
        "0 s", "1 ms", "40 ms", "100 ms", "0.1 s", "9.1 s",
    ]  # fmt: skip
