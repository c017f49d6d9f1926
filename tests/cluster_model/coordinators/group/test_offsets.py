"""Offsets committed in a transaction (KIP-98, KIP-447): pending until its marker, and also after a failover."""

import pytest

from cluster_model.coordinators.group.group_metadata import OffsetAndMetadata, OffsetRecord, encode
from cluster_model.coordinators.group.group_metadata_manager import replay_batches
from cluster_model.coordinators.group.offset_commits import may_commit_in_transaction
from cluster_model.protocol.admin_messages import DeleteTopicsRequest
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CommittedOffset,
    FetchedOffset,
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cluster_model.protocol.records import ABORT, COMMIT, TRANSACTIONAL, Batch
from cluster_model.spec.cluster_spec import OFFSETS
from tests.cluster_model.again import comes_out_again
from tests.cluster_model.coordinators.group.tables import Table
from tests.cluster_model.coordinators.transaction.talks import Script, Talk

E = KafkaError
GROUP = "a"
PLACE = f"{OFFSETS}-1"


@pytest.fixture
def talk() -> Talk:
    found = Talk()
    found.run(3)
    return found


def begun(talk: Talk) -> Script:
    """A producer whose transaction has the group's partition."""
    producer = talk.producer("pay")
    producer.init()
    assert producer.add_offsets(GROUP) is E.NONE
    return producer


def commit(talk: Talk, producer: Script, offset: int, **more: str | int) -> KafkaError:
    offsets = (CommittedOffset("orders-0", offset),)
    request = TxnOffsetCommitRequest(0, "pay", GROUP, producer.producer_id, producer.epoch, offsets, **more)  # type: ignore[arg-type]
    answer = producer.ask(talk.cluster.query.leader(PLACE), request)
    assert isinstance(answer, TxnOffsetCommitResponse)
    return KafkaError(dict(answer.partitions)["orders-0"])


def plain(talk: Talk, producer: Script, offset: int) -> None:
    offsets = (CommittedOffset("orders-0", offset),)
    producer.ask(talk.cluster.query.leader(PLACE), OffsetCommitRequest(0, GROUP, -1, "", offsets))


def answered(talk: Talk, producer: Script, *, stable: bool = True) -> FetchedOffset:
    request = OffsetFetchRequest(0, GROUP, ("orders-0",), stable)
    answer = producer.ask(talk.cluster.query.leader(PLACE), request)
    assert isinstance(answer, OffsetFetchResponse)
    return answer.partitions[0]


def fetched(talk: Talk, producer: Script, *, stable: bool = True) -> tuple[int, KafkaError]:
    answer = answered(talk, producer, stable=stable)
    return answer.offset, KafkaError(answer.error)


def test_offsets_wait_for_the_commit_and_a_member_that_asks_for_stable_ones_waits_too(talk: Talk) -> None:
    producer = begun(talk)
    plain(talk, producer, 3)
    assert commit(talk, producer, 7) is E.NONE
    assert answered(talk, producer) == FetchedOffset("orders-0", -1, -1, "", E.UNSTABLE_OFFSET_COMMIT)
    assert fetched(talk, producer, stable=False) == (3, E.NONE)
    producer.end(commit=True)
    talk.run(1)
    assert fetched(talk, producer) == (7, E.NONE)


def test_an_abort_leaves_the_old_offset(talk: Talk) -> None:
    producer = begun(talk)
    plain(talk, producer, 3)
    commit(talk, producer, 7)
    producer.end(commit=False)
    talk.run(1)
    assert fetched(talk, producer) == (3, E.NONE)


def test_a_plain_commit_behind_it_in_the_log_wins(talk: Talk) -> None:
    producer = begun(talk)
    commit(talk, producer, 7)
    plain(talk, producer, 9)
    producer.end(commit=True)
    talk.run(1)
    assert fetched(talk, producer) == (9, E.NONE)


def test_a_former_epoch_commits_nothing(talk: Talk) -> None:
    producer = begun(talk)
    commit(talk, producer, 7)
    new = talk.producer("pay", "pay-2")
    new.init()
    talk.run(1)
    assert commit(talk, producer, 8) is E.INVALID_PRODUCER_EPOCH
    assert fetched(talk, producer) == (-1, E.NONE), "aborted, and nothing pending"


def test_a_member_that_names_a_generation_must_be_a_member(talk: Talk) -> None:
    producer = begun(talk)
    assert commit(talk, producer, 7, generation_id=1, member_id="nobody") is E.UNKNOWN_MEMBER_ID
    assert fetched(talk, producer) == (-1, E.NONE)


@pytest.mark.parametrize("committed", [True, False])
def test_a_new_group_coordinator_knows_what_is_pending_and_learns_its_end(talk: Talk, committed: bool) -> None:
    producer = begun(talk)
    plain(talk, producer, 3)
    commit(talk, producer, 7)
    old = talk.cluster.query.leader(PLACE)
    talk.cluster.crash(old)
    talk.run(30)
    assert talk.cluster.query.leader(PLACE) != old
    assert fetched(talk, producer) == (-1, E.UNSTABLE_OFFSET_COMMIT)
    producer.end(commit=committed)
    talk.run(1)
    assert fetched(talk, producer) == (7 if committed else 3, E.NONE)


def test_a_new_group_coordinator_reads_how_a_transaction_ended(talk: Talk) -> None:
    producer = begun(talk)
    commit(talk, producer, 7)
    producer.end(commit=True)
    talk.run(1)
    assert producer.add_offsets(GROUP) is E.NONE
    commit(talk, producer, 8)
    producer.end(commit=False)
    talk.run(1)
    talk.cluster.crash(talk.cluster.query.leader(PLACE))
    talk.run(30)
    assert fetched(talk, producer) == (7, E.NONE)


def test_keyframes_keep_what_is_pending(talk: Talk) -> None:
    producer = begun(talk)
    commit(talk, producer, 7)
    producer.end(commit=True)

    def act(cluster: object) -> None:
        talk.run(1)
        talk.cluster.crash(1)
        talk.run(20)

    assert comes_out_again(talk.cluster, act)
    assert fetched(talk, producer) == (7, E.NONE)


def record(offset: int, kind: int, value: int, pid: int = 7) -> tuple[Batch, list[tuple[int, str]]]:
    text = encode(OffsetRecord("g", "orders-0", OffsetAndMetadata(value, -1, "", 0)))
    batch = Batch(offset, 1, 78, 0, "", pid if kind else -1, -1, 1, kind=kind)
    return batch, [] if kind >= ABORT else [(offset, text)]


@pytest.mark.parametrize(
    ("story", "committed", "pending"),
    [
        ([(0, TRANSACTIONAL, 5)], None, 5),
        ([(0, TRANSACTIONAL, 5), (1, COMMIT, 0)], 5, None),
        ([(0, TRANSACTIONAL, 5), (1, ABORT, 0)], None, None),
        ([(0, 0, 3), (1, TRANSACTIONAL, 5), (2, COMMIT, 0)], 5, None),
        ([(0, TRANSACTIONAL, 5), (1, 0, 3), (2, COMMIT, 0)], 3, None),
        ([(0, TRANSACTIONAL, 5), (1, COMMIT, 0), (2, TRANSACTIONAL, 6)], 5, 6),
    ],
)
def test_offsets_replayed_from_a_log(
    story: list[tuple[int, int, int]], committed: int | None, pending: int | None
) -> None:
    found = replay_batches([record(*each) for each in story])
    values = [value.offset for value, _at in found.offsets.values()]
    staged = [value.offset for each in found.pending.values() for value, _at in each.values()]
    assert (values, staged) == ([] if committed is None else [committed], [] if pending is None else [pending])


def test_a_group_with_members_takes_them_and_a_member_that_names_none() -> None:
    table = Table()
    (member_id,) = table.settled(1)
    generation = table.group.generation

    def may(*named: int | str) -> KafkaError:
        return may_commit_in_transaction(table.group, TxnOffsetCommitRequest(0, "pay", "g", 7, 0, (), *named))  # type: ignore[arg-type]

    assert may() is E.NONE, "as clients before 2.5 do"
    assert may(generation, member_id) is E.NONE
    assert may(generation + 1, member_id) is E.ILLEGAL_GENERATION
    assert may(generation - 1, member_id) is E.ILLEGAL_GENERATION
    assert may(generation, "stranger") is E.UNKNOWN_MEMBER_ID
    assert may(-1, "stranger") is E.UNKNOWN_MEMBER_ID


def test_offsets_are_part_of_a_transaction_before_their_topic_is_made(talk: Talk) -> None:
    producer = talk.producer("pay")
    producer.init()
    talk.cluster.admin.ask(1, DeleteTopicsRequest(0, (OFFSETS,)))
    talk.run(3)
    assert PLACE not in talk.cluster.cluster_state.records
    assert producer.add_offsets(GROUP) is E.NONE
    producer.send(1, FindCoordinatorRequest(0, GROUP))
    talk.run(3)
    assert commit(talk, producer, 7) is E.NONE
    assert producer.end(commit=True) is E.NONE
    talk.run(2)
    assert fetched(talk, producer) == (7, E.NONE)
