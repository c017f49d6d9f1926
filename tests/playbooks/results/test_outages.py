"""When nobody served: the engine's sums are those of the report's plain rule, and of sessions told by hand."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import changed, load
from playbooks.results.client_stats import ClientBooks
from playbooks.results.outages import SPANS_KEPT, Availability, Unavailable, drawn_up, outage_words, short_seconds
from tests.spark_report import twins
from tests.spark_report.random_sessions import random_session
from tests.support.breadth import many
from tests.support.sessions import Row, event, numbered

SECOND = 1_000_000


def entered(rows: list[Row], end_us: int, cut: int = -1) -> Unavailable:
    """What the rows amount to; at ``cut`` the books are saved and loaded on the way."""
    books = Availability()
    for place, row in enumerate(rows):
        if place == cut:
            books = Availability.loaded(books.save())
        books.enter([SimpleNamespace(**row)])
    return drawn_up(books, ClientBooks(), seen(end_us))


def seen(now_us: int, *partitions: str) -> Any:
    """A view with one producer of ``orders`` and these partitions; only the names in it count."""
    named = [SimpleNamespace(name=name) for name in partitions]
    producers = [SimpleNamespace(name="checkout", acks=-1, topic="orders")] if partitions else []
    return SimpleNamespace(now_us=now_us, producers=producers, partitions=named)


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
    }


@pytest.mark.parametrize("seed", range(many(5, 12)))
def test_the_sums_are_those_of_the_reports_rule(seed: int) -> None:
    rows = random_session(seed)
    end_us, end_seq = rows[-1]["at_us"] + 50, len(rows) - 1
    found = entered(rows, end_us, cut=len(rows) // 2)
    by_client = twins.client_unavailability(rows, end_us, end_seq)
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
    assert told(result.unavailable.clients) == sums(twins.client_unavailability(rows, *end), slice(0, 3))
    assert told(result.unavailable.partitions) == sums(twins.partition_unavailability(rows, *end), slice(0, 1))
    document = result.to_json()["unavailable"]
    assert document["us"] == result.unavailable.us == sum(each["us"] for each in document["unserved"].values()) > 0
    assert document["longest_us"] == max(each["longest_us"] for each in document["unserved"].values())
    for client, told_of in document["clients"].items():
        assert document["unserved"][client]["us"] >= told_of["us"]


def _row(each: Any) -> Row:
    names = each.__slots__ if hasattr(each, "__slots__") else vars(each)
    return {"kind": each.kind, **{name: getattr(each, name) for name in names}}


@pytest.mark.slow
def test_a_rewind_takes_the_outages_back() -> None:
    session = Session.start(few("both-followers-paused"))
    session.advance(12 * SECOND)
    state = session.save()
    first = session.finish().unavailable
    twin = session.twin()
    twin.load(*state)
    assert twin.finish().unavailable == first
    assert first.us > 0


def refused(at_us: int, error: str = "NOT_ENOUGH_REPLICAS", acks: int = -1) -> Row:
    return event("produce_refused", at_us, client="checkout", partition="orders-0", acks=acks, error=error, count=1)


def acked(at_us: int, acks: int = -1, partition: str = "orders-0") -> Row:
    return event("records_acked", at_us, client="checkout", partition=partition, acks=acks, count=1)


def test_from_the_first_refusal_to_the_next_acknowledgement() -> None:
    rows = numbered([acked(1), refused(5), refused(9), acked(11, partition="orders-1"), acked(12), refused(20)])
    (line,) = entered(rows, 50).clients
    assert (line.us, line.longest_us, line.times, line.refusals) == (37, 30, 2, 3)
    assert line.spans == ((5, 12), (20, 50))
    assert (line.client, line.acks, line.partition) == ("checkout", -1, "orders-0")


def test_each_level_of_acks_is_counted_alone() -> None:
    rows = numbered([refused(5), refused(6, acks=1), acked(8, acks=1), acked(20)])
    assert {line.acks: line.us for line in entered(rows, 50).clients} == {-1: 15, 1: 2}


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
def test_who_is_started_again_leads_nothing_until_it_is_told_to(ended: str, back: str) -> None:
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
    books = ClientBooks()
    books.group("billing").owners["orders-0"] = "billing/0"
    books.group("audit").owners["orders-1"] = "audit/0"
    availability = Availability()
    for row in (
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=0),
        event("partition_offline", 4, partition="orders-0", leader_epoch=1),
    ):
        availability.enter([SimpleNamespace(**row)])
    found = drawn_up(availability, books, seen(10))
    assert found.to_json()["groups"] == {
        "billing": {"us": 6, "longest_us": 6, "times": 1, "partitions": ["orders-0"]}
    }  # fmt: skip
    assert found.us == 0


def test_a_producer_that_waits_for_a_paused_leader_is_not_served() -> None:
    availability = Availability()
    for row in (
        event("became_leader", 1, partition="orders-0", broker=1, leader_epoch=0),
        event("became_leader", 1, partition="orders-1", broker=2, leader_epoch=0),
        event("became_leader", 1, partition="carts-0", broker=1, leader_epoch=0),
        event("node_paused", 10, broker=1),
        event("node_resumed", 22, broker=1),
        refused(20),
        acked(25),
    ):
        availability.enter([SimpleNamespace(**row)])
    found = drawn_up(availability, ClientBooks(), seen(50, "orders-0", "orders-1", "carts-0"))
    (line,) = found.unserved
    assert (line.client, line.acks, line.partition, line.spans) == ("checkout", -1, "orders-0", ((10, 25),))
    assert (found.us, found.longest_us) == (15, 15)
    assert found.to_json()["unserved"] == {"checkout": {"acks": "all", "us": 15, "longest_us": 15, "times": 1}}
    assert found.clients[0].us == 5
    careless = seen(50, "orders-0")
    careless.producers[0].acks = 0
    assert [line.acks for line in drawn_up(availability, ClientBooks(), careless).unserved] == [-1]


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=8)


@pytest.mark.slow
@given(SPANS, SPANS)
def test_unserved_is_every_instant_of_either(refusals: list[tuple[int, int]], pauses: list[tuple[int, int]]) -> None:
    availability = Availability()
    instants: dict[int, list[Row]] = {0: [event("became_leader", 0, partition="orders-0", broker=1, leader_epoch=0)]}
    wanted = set()
    for begun, rows in ((refusals, (refused, acked)), (pauses, ("node_paused", "node_resumed"))):
        for start, end in _apart(begun):
            wanted |= set(range(start, end))
            for at_us, row in zip((start, end), rows, strict=True):
                made = event(row, at_us, broker=1) if isinstance(row, str) else row(at_us)
                instants.setdefault(at_us, []).append(made)
    for at_us in sorted(instants):
        availability.enter([SimpleNamespace(**row) for row in instants[at_us]])
    found = drawn_up(availability, ClientBooks(), seen(100, "orders-0"))
    told_of = {us for line in found.unserved for start, end in line.spans for us in range(start, end)}
    assert told_of == wanted
    assert found.us == len(wanted)


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the spans, given as beginning and length, that begin after the one before has ended."""
    kept: list[tuple[int, int]] = []
    for start, length in sorted(spans):
        if not kept or start > kept[-1][1]:
            kept.append((start, start + length))
    return kept


@pytest.mark.slow
@given(st.integers(1, 3 * SPANS_KEPT))
def test_the_sums_count_all_spans_and_only_the_first_are_kept(times: int) -> None:
    rows = numbered([each for number in range(times) for each in (refused(10 * number), acked(10 * number + 3))])
    (line,) = entered(rows, 1_000_000).clients
    assert (line.us, line.times, line.longest_us) == (3 * times, times, 3)
    assert line.spans == tuple((10 * n, 10 * n + 3) for n in range(min(times, SPANS_KEPT)))


def test_the_words(snapshot: SnapshotAssertion) -> None:
    rows = numbered([refused(SECOND), acked(10 * SECOND), refused(11 * SECOND), acked(14_200_000)])
    assert outage_words(entered(rows, 20 * SECOND)) == snapshot
    assert outage_words(entered(numbered([refused(5), acked(5)]), 9)) == []
    assert [short_seconds(us) for us in (0, 1, 40_000, 99_999, 100_000, 9_149_999)] == [
        "0 s", "1 ms", "40 ms", "100 ms", "0.1 s", "9.1 s",
    ]  # fmt: skip
