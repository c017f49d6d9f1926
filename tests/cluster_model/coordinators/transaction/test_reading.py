"""Transactions as consumers read them, by isolation level: at the leader, while they wait, and their filter."""

import pytest

from cluster_model.broker.request_handler import list_offset
from cluster_model.clients.consumer.fetcher import visible_ranges
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
)
from cluster_model.protocol.records import CompactionOverlay
from tests.cluster_model.leaders import CONSUMER_NODE
from tests.cluster_model.log.logs import P, Writer

E = KafkaError


def fetch(
    writer: Writer, offset: int, isolation: int = READ_COMMITTED, *, wait_us: int = 0, most: int = 1 << 20
) -> FetchData | None:
    """Send a consumer's fetch; None while it is delayed."""
    rig = writer.rig
    before = len(rig.wire.sent)
    asked = FetchPartition(P, offset, rig.replica.leader_epoch, -1)
    rig.service.fetch(
        CONSUMER_NODE, FetchRequest(1, CONSUMER, -1, wait_us, most, (asked,), isolation=isolation)
    )  # fmt: skip
    return rig.answer(CONSUMER_NODE, before)


def mixed() -> Writer:
    """plain 0, aborted 1-2 of 7, committed 3 of 8, markers 4 and 5, open 6 of 9, plain 7."""
    writer = Writer()
    writer.plain()
    writer.write(7, 2)
    writer.write(8)
    writer.abort(7)
    writer.commit(8)
    writer.write(9)
    writer.plain()
    writer.replicated()
    return writer


def read(writer: Writer, offset: int, isolation: int = READ_COMMITTED) -> list[int]:
    """Return the offsets that an application sees."""
    data = fetch(writer, offset, isolation)
    assert data is not None
    ranges = visible_ranges(writer.rig.replica.log.epoch_branches, data.records, data.aborted)
    return [each for start, end in ranges for each in range(start, end)]


def test_reading_committed_ends_at_the_stable_offset_and_names_what_was_aborted() -> None:
    data = fetch(mixed(), 0)
    assert data is not None
    assert (data.records.end, data.hw, data.last_stable_offset, data.aborted) == (6, 8, 6, ((7, 1),))


def test_reading_uncommitted_ends_at_the_high_watermark_and_names_nothing() -> None:
    data = fetch(mixed(), 0, READ_UNCOMMITTED)
    assert data is not None
    assert (data.records.end, data.last_stable_offset, data.aborted) == (8, 6, ())


def test_an_application_sees_no_marker_and_by_isolation_nothing_aborted() -> None:
    writer = mixed()
    assert read(writer, 0) == [0, 3]
    assert read(writer, 0, READ_UNCOMMITTED) == [0, 1, 2, 3, 6, 7]


def test_a_fetch_from_within_an_aborted_transaction_learns_of_it() -> None:
    assert read(mixed(), 2) == [3]


def test_only_what_the_answer_reaches_is_named() -> None:
    data = fetch(mixed(), 0, most=1)
    assert data is not None
    assert (data.records.end, data.aborted) == (1, ())


def test_a_producer_s_next_transaction_is_read_after_its_aborted_one() -> None:
    writer = Writer()
    writer.write(7)
    writer.abort(7)
    writer.write(7)
    writer.commit(7)
    writer.write(7)
    writer.abort(7)
    writer.replicated()
    assert read(writer, 0) == [2]


def test_the_filter_knows_the_holes_of_a_cleaned_log() -> None:
    writer = mixed()
    data = fetch(writer, 0, READ_UNCOMMITTED)
    assert data is not None
    records = data.records._replace(cleaned=CompactionOverlay(((0, 1), (2, 3))))
    assert list(visible_ranges(writer.rig.replica.log.epoch_branches, records)) == [(1, 2), (3, 4), (6, 8)]
    plain = Writer()
    plain.plain(4)
    found = plain.rig.replica.log.read(0, 4, 1_000)
    assert list(visible_ranges(plain.rig.replica.log.epoch_branches, found)) == [(0, 4)]
    cleaned = found._replace(cleaned=CompactionOverlay(((1, 2),)))
    assert list(visible_ranges(plain.rig.replica.log.epoch_branches, cleaned)) == [(0, 1), (2, 4)]


def test_a_fetch_that_waits_is_answered_when_the_marker_is_replicated() -> None:
    writer = Writer()
    writer.write(7)
    writer.replicated()
    rig = writer.rig
    assert fetch(writer, 0, wait_us=500_000) is None
    writer.commit(7)
    rig.settle(rig.replica)
    before = len(rig.wire.sent)
    writer.replicated()
    rig.settle(rig.replica)
    data = rig.answer(CONSUMER_NODE, before)
    assert data is not None
    assert (data.records.end, data.last_stable_offset) == (2, 2)


def test_records_behind_an_open_transaction_wake_nobody_who_reads_committed() -> None:
    writer = Writer()
    writer.write(7)
    writer.replicated()
    assert fetch(writer, 0, wait_us=500_000) is None
    answers = writer.rig.answers(CONSUMER_NODE)
    writer.plain()
    writer.replicated()
    writer.rig.settle(writer.rig.replica)
    assert writer.rig.answers(CONSUMER_NODE) == answers


@pytest.mark.parametrize(("isolation", "offset"), [(READ_COMMITTED, 6), (READ_UNCOMMITTED, 8)])
def test_the_latest_offset_depends_on_the_isolation_level(isolation: int, offset: int) -> None:
    replica = mixed().rig.replica
    request = ListOffsetsRequest(1, P, LATEST, -1, isolation=isolation)
    assert list_offset(replica, E.NONE, request, 0) == (E.NONE, offset, -1)


def test_a_time_that_only_unstable_records_have_is_unknown_to_a_producer_that_reads_committed() -> None:
    writer = Writer()
    writer.plain()
    writer.now = 5_000
    writer.write(7)
    writer.replicated()
    replica = writer.rig.replica
    request = ListOffsetsRequest(1, P, 4_000, -1)
    assert list_offset(replica, E.NONE, request, 0) == (E.NONE, 1, 5_000)
    assert list_offset(replica, E.NONE, request._replace(isolation=READ_COMMITTED), 0) == (E.NONE, -1, -1)
