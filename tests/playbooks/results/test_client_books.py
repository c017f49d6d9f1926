"""What the books on clients make of their events, and that they agree with what the clients counted themselves."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.protocol.events import (
    CommitFailed,
    ConsumerFailed,
    ConsumerReset,
    GroupRebalanced,
    HandlerFailed,
    InterceptorFailed,
    NodeDown,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    ProduceRefused,
    ProduceRetried,
    ProducerFenced,
    RecordsAbandoned,
    RecordsAborted,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionUnknown,
    TruncationDetected,
)
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.results.client_stats import ClientStats, process_events, summarize
from playbooks.results.group_progress import DeliveredOffsets, ReadStalls
from tests.support.playbooks import CRASH, timed

RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=30)
A, B = ("g/0", "g"), ("g/1", "g")


def books(*events: Any) -> ClientStats:
    made = ClientStats()
    process_events(made, events)
    return made


def read(member: tuple[str, str], start: int, count: int, partition: str = "t-0", log_branch: int = 0) -> RecordsRead:
    return RecordsRead(0, *member, partition, 1, 0, start, count, 5, log_branch, start + count)


@pytest.mark.slow
@given(RANGES)
def test_redelivered_offsets_are_counted_like_a_set(steps: list[tuple[int, int]]) -> None:
    handed, model = DeliveredOffsets(), set[int]()
    for start, count in steps:
        new = set(range(start, start + count))
        assert handed.add(start, start + count) == len(model & new)
        model |= new
        again = DeliveredOffsets(handed.save())
        assert again.save() == handed.save()
        covered = [offset for lower, upper in handed.save() for offset in range(lower, upper)]
        assert covered == sorted(model)


def test_outcomes_and_attempts_of_a_producer_are_kept_apart() -> None:
    made = books(
        RecordsSent(0, "p", "t-0", 0, 10, -1),
        ProduceRefused(1, "p", "t-0", 1, -1, "NETWORK_EXCEPTION", 0, 4),
        ProduceRetried(2, "p", "t-0", 2, 0, 4),
        ProduceRefused(3, "p", "t-0", 2, -1, "NOT_LEADER_OR_FOLLOWER", 0, 4),
        ProduceRetried(4, "p", "t-0", 2, 0, 4),
        RecordsAcked(5, "p", "t-0", 0, 4, -1, 2, 1, 0, 5, 1),
        RecordsFailed(6, "p", "t-0", 4, 3, -1, "MESSAGE_TOO_LARGE", 1),
        RecordsUnknown(7, "p", "t-0", 7, 1, -1, "REQUEST_TIMED_OUT", 1),
    ).producers["p"]
    assert (made.sent, made.acked, made.failed, made.unknown, made.unanswered, made.retries) == (10, 4, 3, 1, 2, 2)
    assert made.refused == {"NETWORK_EXCEPTION": 1, "NOT_LEADER_OR_FOLLOWER": 1}
    assert made.errors == {"MESSAGE_TOO_LARGE": 3, "REQUEST_TIMED_OUT": 1}


def test_a_record_read_before_by_any_member_is_a_redelivery() -> None:
    made = books(read(A, 0, 10), read(A, 10, 5), read(B, 12, 6), read(B, 0, 10, "t-1")).groups["g"]
    assert (made.members["g/0"].reread, made.members["g/1"].reread) == (0, 3)
    assert (made.total("read"), made.total("reread")) == (31, 3)


def test_reads_after_a_truncation_are_not_redeliveries() -> None:
    cut = TruncationDetected(1, *A, "t-0", 0, 10, 6)
    assert books(read(A, 0, 10), cut, read(A, 6, 8, log_branch=1)).groups["g"].total("reread") == 0
    assert books(read(A, 0, 10), cut, read(A, 4, 2), read(A, 6, 6, log_branch=1)).groups["g"].total("reread") == 2
    assert books(read(A, 0, 10), cut, read(A, 6, 8)).groups["g"].total("reread") == 4
    assert books(cut).groups["g"].truncations == 1


def test_partitions_idle_from_their_owners_word_to_the_next_owner() -> None:
    both = "generation 1: t-0, t-1"
    given = PartitionsAssigned(10, *A, 2, both)
    eager = books(
        given, PartitionsRevoked(100, *A, 2, both), GroupRebalanced(150, *A, 2, "generation 2 by range"),
        PartitionsAssigned(150, *A, 1, "generation 2: t-0"), PartitionsAssigned(170, *B, 1, "generation 2: t-1"),
    ).groups["g"]  # fmt: skip
    assert (eager.rebalances, eager.idle_us) == (1, 50 + 70)
    cooperative = books(
        given, PartitionsRevoked(100, *A, 1, "generation 1: t-1"), PartitionsAssigned(170, *B, 1, "generation 3: t-1"),
    ).groups["g"]  # fmt: skip
    assert cooperative.idle_us == 70
    zombie = books(
        given, PartitionsAssigned(60, *B, 2, both), PartitionsLost(90, *A, 2, both),
        PartitionsAssigned(100, *B, 2, both),
    ).groups["g"]  # fmt: skip
    assert (zombie.idle_us, zombie.members["g/0"].lost) == (0, 2)


def test_partitions_idle_from_the_end_of_their_owners_process() -> None:
    given = PartitionsAssigned(10, *A, 2, "generation 1: t-0, t-1")
    died = NodeDown(100, A[0], -1, "crash")
    taken = PartitionsAssigned(170, *B, 1, "generation 2: t-1")
    assert books(given, died, taken).groups["g"].idle_us == 70
    assert books(given, NodeDown(100, B[0], -1, "crash"), taken).groups["g"].idle_us == 0
    revoked = PartitionsRevoked(90, *A, 1, "generation 1: t-1")
    assert books(given, revoked, died, taken).groups["g"].idle_us == 80
    assert books(given, died).groups["g"].idle_us == 0


def test_a_commit_of_several_partitions_is_one() -> None:
    made = books(
        OffsetsCommitted(5, *A, "t-0", 10, "auto"), OffsetsCommitted(5, *A, "t-1", 12, "auto"),
        OffsetsCommitted(5, *B, "t-2", 12, "auto"), OffsetsCommitted(9, *A, "t-0", 20, "auto"),
        CommitFailed(9, *A, "CommitFailedException", "sync"),
    ).groups["g"]  # fmt: skip
    assert (made.members["g/0"].commits, made.members["g/1"].commits) == (2, 1)
    assert (made.total("failed_commits"), made.commit_errors) == (1, {"CommitFailedException": 1})


def test_resets_skips_and_ends() -> None:
    made = books(
        ConsumerReset(1, *A, "t-0", 0, -1), ConsumerReset(2, *A, "t-0", 7, 90), HandlerFailed(3, *A, "t-0", 4, 2),
        ConsumerFailed(4, *B, "OffsetOutOfRangeException"),
    ).groups["g"]  # fmt: skip
    assert (made.resets, made.total("handler_failed"), made.members["g/1"].failure) == (
        1,
        2,
        "OffsetOutOfRangeException",
    )


def test_transactions_have_their_ends_and_records_their_outcome() -> None:
    found = books(
        RecordsSent(0, "p", "t-0", 0, 10, -1),
        *[TransactionBegun(at, "p", "one, producer id 1, epoch 0") for at in range(5)],
        RecordsAcked(5, "p", "t-0", 0, 4, -1, 2, 1, 0, 5, 1),
        TransactionCommitted(5, "p", "one", 4, 5),
        RecordsAborted(6, "p", "t-0", 4, 3, -1, 2, 1, 4, 5, 1),
        TransactionAborted(6, "p", "one", 3, ""),
        TransactionUnknown(7, "p", "one", 0, "PRODUCER_FENCED"),
        InterceptorFailed(8, "p", "audit", "t-0", 0, 2),
        ProducerFenced(9, "p", "one, producer id 1, epoch 0", "PRODUCER_FENCED"),
    )
    assert (found.producers["p"].aborted, found.producers["p"].unanswered) == (3, 3)
    session = Session.start(loads(CRASH, "crash.yaml"))
    for made in (found, ClientStats.from_saved(found.save())):
        each = next(each for each in summarize(made, session.cluster.view()).producers if each.name == "p")
        ends = (each.transactions_committed, each.transactions_aborted, each.transactions_unknown)
        assert (each.transactions, ends, each.transactions_open) == (5, (1, 1, 1), 2)
        assert (each.interceptor_failures, each.failure) == (2, "PRODUCER_FENCED")


def test_ends_of_processes_are_those_of_clients_and_distinguished() -> None:
    found = books(
        *[NodeDown(at, "g/0", -1, how) for at, how in enumerate(("crash", "close", "crash", "CommitFailedException"))],
        *[NodeDown(at, "g/1", -1, how) for at, how in enumerate(("power_loss", "out_of_memory", "close"))],
        NodeDown(9, "broker 1", 1, "crash"), NodeDown(9, "p", -1, "close"), RecordsSent(0, "p", "t-0", 0, 10, -1),
        read(A, 0, 10), RecordsAbandoned(5, *A, "t-0", 6, 4, "process ended"),
    )  # fmt: skip
    view = Session.start(loads(CRASH, "crash.yaml")).cluster.view()
    for made in (found, ClientStats.from_saved(found.save())):
        clients = summarize(made, view)
        (producer,) = [each for each in clients.producers if each.name == "p"]
        (group,) = [each for each in clients.groups if each.name == "g"]
        assert (producer.killed, producer.closed) == (0, 1)
        assert (group.members[0].killed, group.members[0].closed, group.abandoned) == (2, 1, 4)
    assert (found.killed["g/1"], found.closed["g/1"]) == (2, 1)
    assert "broker 1" not in found.killed


@pytest.mark.slow
def test_a_rewound_session_counts_every_event_once() -> None:
    playbook = loads(CRASH, "crash.yaml")
    whole = Session.start(playbook).finish()
    session = Session.start(playbook)
    session.advance(3_000_000)
    saved = session.save()
    session.advance(20_000_000)
    twin = session.unrecorded_copy()
    for each in (twin, session):
        each.load(*saved)
        assert each.finish().clients == whole.clients


@pytest.mark.slow
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_history_and_the_clients_own_statistics_agree(acks: str) -> None:
    session = Session.start(loads(CRASH.replace("acks: all", f"acks: {acks}"), "crash.yaml"))
    for second in range(1, 12):
        session.advance(second * 1_000_000)
        view = session.cluster.view()
        (producer,) = summarize(session.client_stats, view).producers
        (own,) = view.producers
        assert (producer.sent, producer.acked, producer.failed, producer.unknown) == (
            own.sent, own.acked, own.failed, own.unknown,
        )  # fmt: skip
        assert sum(count for _error, count in producer.refused) == own.refused
        (group,) = summarize(session.client_stats, view).groups
        assert (group.read, group.lag) == (view.groups[0].read, view.groups[0].lag)
    assert producer.retries > 0 or acks == "0"


def test_each_refused_attempt_is_followed_by_another_unless_the_batch_is_given_up() -> None:
    """A broker that answers nothing, then all: no batch is given up, so each refused attempt has one after it."""
    session = Session.start(timed("- at: 1s\n  inject: crash\n  target: leader(orders-0)\n  for: 2s", settle="20s"))
    session.finish()
    book = session.client_stats.producers["checkout"]
    assert (book.failed, book.unknown, book.unanswered) == (0, 0, 0)
    assert book.retries == sum(book.refused.values()) > 0


def test_a_stall_lasts_while_there_is_something_to_read() -> None:
    stalls = ReadStalls()
    stalls.advanced("t-0", 5, 100)
    assert stalls.longest(900) == 0  # it has not begun to read
    stalls.moved("t-0", 5, 5, 1_000)
    stalls.advanced("t-0", 9, 2_000)
    stalls.advanced("t-0", 12, 2_500)
    stalls.moved("t-0", 9, 12, 5_000)
    again = ReadStalls.from_saved(stalls.save())
    assert (again.longest(5_500), again.longest(9_000)) == (3_000, 4_000)
    again.moved("t-0", 12, 12, 9_500)
    again.advanced("t-1", 50, 9_600)
    assert again.longest(99_000) == 4_500
    again.advanced("t-0", 13, 10_000)
    again.partition_deleted("t-0")
    assert again.longest(99_000) == 4_500
