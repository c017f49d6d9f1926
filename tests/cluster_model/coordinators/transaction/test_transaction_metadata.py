"""States of a transactional id in isolation: valid changes, epochs, fences, and results of requests."""

import pytest

from cluster_model.coordinators.transaction.transaction_state_manager import (
    IDLE,
    LAST_EPOCH,
    PREDECESSORS,
    TransactionMetadata,
    TransitMetadata,
    TxnState,
    TxnValue,
    decode,
    encode,
)
from cluster_model.protocol.errors import KafkaError

E = KafkaError
S = TxnState
MS = 1_000


def known(
    state: TxnState, *, epoch: int = 5, last: int = -1, previous: int = -1, partitions: bool = False
) -> TransactionMetadata:
    value = TxnValue(7, epoch, 60_000 * MS, state, ("orders-0",) if partitions else (), 100, 100, previous)
    return TransactionMetadata("pay", value, last)


def done(metadata: TransactionMetadata, transit: TransitMetadata | None) -> TxnValue:
    assert transit is not None
    metadata.complete(transit)
    return metadata.value


@pytest.mark.parametrize("before", list(TxnState))
@pytest.mark.parametrize("after", list(TxnState))
def test_only_legal_changes_can_be_prepared(before: TxnState, after: TxnState) -> None:
    metadata = known(before)
    wanted = metadata.value._replace(state=after)
    legal = {
        (0, 0), (4, 0), (5, 0), (0, 1), (1, 1), (4, 1), (5, 1), (1, 2), (1, 3), (7, 3), (0, 3), (4, 3), (5, 3),
        (2, 4), (3, 5), (0, 6), (4, 6), (5, 6), (1, 7),
    }  # fmt: skip
    if (before, after) in legal:
        metadata.prepare(wanted, -1)
        assert metadata.pending is after
        assert metadata.state is before, "not before it is written"
    else:
        with pytest.raises(ValueError, match="pay"):
            metadata.prepare(wanted, -1)
    assert set(PREDECESSORS) == set(TxnState)


def test_one_change_at_a_time() -> None:
    metadata = known(S.EMPTY)
    metadata.prepare_partitions(("orders-0",), 0)
    with pytest.raises(ValueError, match="pending"):
        metadata.prepare_partitions(("orders-1",), 0)


@pytest.mark.parametrize("state", IDLE)
def test_a_new_epoch_is_one_more_and_the_first_is_zero(state: TxnState) -> None:
    metadata = known(state)
    value = done(metadata, metadata.prepare_epoch(9, -1, 300))
    assert value == TxnValue(7, 6, 9, S.EMPTY, (), 300, -1)
    assert metadata.last_epoch == -1
    fresh = known(S.EMPTY, epoch=-1)
    assert done(fresh, fresh.prepare_epoch(9, -1, 0)).producer_epoch == 0


def test_a_producer_that_knows_its_epoch_gets_the_next_once_however_often_it_asks() -> None:
    metadata = known(S.EMPTY)
    assert done(metadata, metadata.prepare_epoch(9, 5, 0)).producer_epoch == 6
    assert metadata.last_epoch == 5
    assert done(metadata, metadata.prepare_epoch(9, 5, 0)).producer_epoch == 6, "the same request again"
    assert metadata.prepare_epoch(9, 4, 0) is None
    assert done(metadata, metadata.prepare_epoch(9, 6, 0)).producer_epoch == 7


def test_after_a_takeover_the_former_owner_is_not_taken_for_one_that_asks_again() -> None:
    metadata = known(S.EMPTY)
    done(metadata, metadata.prepare_epoch(9, -1, 0))
    assert metadata.prepare_epoch(9, 5, 0) is None


def test_which_producers_may_request_an_epoch() -> None:
    metadata = known(S.EMPTY, previous=3)
    assert metadata.knows(7, 1)
    assert not metadata.knows(3, 1)
    assert metadata.knows(3, LAST_EPOCH)
    assert not metadata.knows(8, LAST_EPOCH)
    assert known(S.EMPTY, epoch=-1).knows(8, 0)


def test_a_replaced_producer_id_is_known_until_the_next_epoch() -> None:
    metadata = known(S.EMPTY, previous=3)
    assert done(metadata, metadata.prepare_epoch(9, -1, 0)).previous_producer_id == -1


@pytest.mark.parametrize(("keeps", "previous"), [(True, 3), (False, -1)])
def test_since_4_1_a_replaced_producer_id_is_known_until_the_next_transaction(*, keeps: bool, previous: int) -> None:
    metadata = known(S.EMPTY, previous=3)
    value = done(metadata, metadata.prepare_partitions(("a-0",), 0, keeps_previous=keeps))
    assert value.previous_producer_id == previous


def test_an_exhausted_id_gives_way_to_a_new_one() -> None:
    metadata = known(S.COMPLETE_COMMIT, epoch=LAST_EPOCH)
    assert metadata.exhausted
    assert not known(S.EMPTY, epoch=LAST_EPOCH - 1).exhausted
    value = done(metadata, metadata.prepare_rotation(70, 9, 0, expected=True))
    assert (value.producer_id, value.producer_epoch, value.previous_producer_id) == (70, 0, 7)
    assert metadata.last_epoch == LAST_EPOCH


def test_partitions_are_added_once_and_the_clock_runs_from_the_first() -> None:
    metadata = known(S.COMPLETE_ABORT)
    done(metadata, metadata.prepare_partitions(("a-0",), 1_000))
    value = done(metadata, metadata.prepare_partitions(("a-0", "b-1", "b-1"), 2_000))
    assert (value.partitions, value.start_us, value.last_update_us) == (("a-0", "b-1"), 1_000, 2_000)
    assert not metadata.timed_out(1_000 + 60_000 * MS)
    assert metadata.timed_out(1_001 + 60_000 * MS)


def test_a_fence_raises_the_epoch_once_even_if_it_could_not_be_written() -> None:
    metadata = known(S.ONGOING, partitions=True)
    fence = metadata.prepare_fence()
    assert (fence, metadata.pending) == (6, S.PREPARE_EPOCH_FENCE)
    transit = metadata.prepare_end(committed=False, now=0, fence=fence)
    assert (metadata.value.producer_epoch, metadata.pending) == (6, S.PREPARE_ABORT)
    metadata.pending, metadata.failed_fence = None, True
    assert metadata.prepare_fence() == 6
    metadata.pending = None
    metadata.complete(transit)
    done(metadata, metadata.prepare_complete(0))
    assert not metadata.failed_fence
    assert metadata.value == TxnValue(7, 6, 60_000 * MS, S.COMPLETE_ABORT, (), 0, 100)


def test_a_transaction_of_version_2_ends_with_a_new_epoch() -> None:
    metadata = known(S.ONGOING)
    value = done(metadata, metadata.prepare_end(committed=True, now=0, bumps=True))
    assert (value.producer_epoch, metadata.last_epoch, value.client_version) == (6, 5, 2)
    metadata = known(S.ONGOING, epoch=LAST_EPOCH)
    value = done(metadata, metadata.prepare_end(committed=True, now=0, bumps=True, next_id=70))
    assert (value.producer_id, value.producer_epoch, value.next_producer_id) == (7, LAST_EPOCH + 1, 70)
    value = done(metadata, metadata.prepare_complete(0))
    assert (value.producer_id, value.producer_epoch, value.previous_producer_id) == (70, 0, 7)
    assert metadata.may_end(7, LAST_EPOCH, committed=True, bumps=True) == (E.NONE, True)
    assert metadata.may_end(7, 3, committed=True, bumps=True)[0] is E.INVALID_PRODUCER_ID_MAPPING


ENDS = [
    # state, result, response
    (S.ONGOING, True, (E.NONE, False)),
    (S.ONGOING, False, (E.NONE, False)),
    (S.COMPLETE_COMMIT, True, (E.NONE, True)),
    (S.COMPLETE_COMMIT, False, (E.INVALID_TXN_STATE, False)),
    (S.COMPLETE_ABORT, False, (E.NONE, True)),
    (S.COMPLETE_ABORT, True, (E.INVALID_TXN_STATE, False)),
    (S.PREPARE_COMMIT, True, (E.CONCURRENT_TRANSACTIONS, False)),
    (S.PREPARE_COMMIT, False, (E.INVALID_TXN_STATE, False)),
    (S.PREPARE_ABORT, False, (E.CONCURRENT_TRANSACTIONS, False)),
    (S.PREPARE_ABORT, True, (E.INVALID_TXN_STATE, False)),
    (S.EMPTY, True, (E.INVALID_TXN_STATE, False)),
    (S.EMPTY, False, (E.INVALID_TXN_STATE, False)),
]


@pytest.mark.parametrize(("state", "committed", "told"), ENDS)
def test_which_producers_may_end_a_transaction(state: TxnState, committed: bool, told: tuple[KafkaError, bool]) -> None:
    assert known(state).may_end(7, 5, committed=committed, bumps=False) == told


@pytest.mark.parametrize(("state", "committed", "again", "anew"), [
    # state, result, responses in the previous epoch and in the current one: the table of ``TransactionCoordinator``
    (S.EMPTY, False, (E.PRODUCER_FENCED, False), (E.NONE, False)),
    (S.EMPTY, True, (E.PRODUCER_FENCED, False), (E.INVALID_TXN_STATE, False)),
    (S.ONGOING, False, (E.PRODUCER_FENCED, False), (E.NONE, False)),
    (S.ONGOING, True, (E.PRODUCER_FENCED, False), (E.NONE, False)),
    (S.COMPLETE_ABORT, False, (E.NONE, True), (E.NONE, False)),
    (S.COMPLETE_ABORT, True, (E.INVALID_TXN_STATE, False), (E.INVALID_TXN_STATE, False)),
    (S.COMPLETE_COMMIT, False, (E.INVALID_TXN_STATE, False), (E.NONE, False)),
    (S.COMPLETE_COMMIT, True, (E.NONE, True), (E.INVALID_TXN_STATE, False)),
    (S.PREPARE_ABORT, False, (E.CONCURRENT_TRANSACTIONS, False), (E.PRODUCER_FENCED, False)),
    (S.PREPARE_ABORT, True, (E.INVALID_TXN_STATE, False), (E.PRODUCER_FENCED, False)),
    (S.PREPARE_COMMIT, False, (E.INVALID_TXN_STATE, False), (E.PRODUCER_FENCED, False)),
    (S.PREPARE_COMMIT, True, (E.CONCURRENT_TRANSACTIONS, False), (E.PRODUCER_FENCED, False)),
])  # fmt: skip
def test_with_transactions_v2_a_retry_is_recognised_by_the_previous_epoch(
    state: TxnState, committed: bool, again: tuple[KafkaError, bool], anew: tuple[KafkaError, bool]
) -> None:
    assert known(state).may_end(7, 4, committed=committed, bumps=True) == again
    assert known(state).may_end(7, 5, committed=committed, bumps=True) == anew
    assert known(state).may_end(7, 6, committed=committed, bumps=True) == (E.PRODUCER_FENCED, False)


def test_in_version_2_what_is_under_way_comes_before_the_owner() -> None:
    metadata = known(S.ONGOING)
    metadata.pending = S.PREPARE_COMMIT
    assert metadata.may_end(8, 0, committed=True, bumps=True)[0] is E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_in_version_2_what_has_nothing_in_it_is_aborted_with_a_new_epoch(state: TxnState) -> None:
    metadata = known(state)
    value = done(metadata, metadata.prepare_end(committed=False, now=9, bumps=True))
    assert (value.state, value.producer_epoch, value.start_us, value.partitions) == (S.PREPARE_ABORT, 6, 9, ())
    assert metadata.last_epoch == 5
    assert done(metadata, metadata.prepare_complete(9)).state is S.COMPLETE_ABORT


def test_strangers_and_former_owners_end_nothing() -> None:
    metadata = known(S.ONGOING)
    assert metadata.may_end(8, 5, committed=True, bumps=False)[0] is E.INVALID_PRODUCER_ID_MAPPING
    assert metadata.may_end(7, 4, committed=True, bumps=False)[0] is E.PRODUCER_FENCED
    assert metadata.may_end(7, 6, committed=True, bumps=False)[0] is E.PRODUCER_FENCED
    metadata.pending = S.ONGOING
    assert metadata.may_end(7, 5, committed=True, bumps=False)[0] is E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("state", list(TxnState)[:6])
def test_which_producers_may_add_partitions_and_write(state: TxnState) -> None:
    metadata = known(state)
    busy = state in (S.PREPARE_ABORT, S.PREPARE_COMMIT)
    for ask in (metadata.check_add, metadata.may_write):
        assert ask(8, 5) is E.INVALID_PRODUCER_ID_MAPPING
        assert ask(7, 4) is E.PRODUCER_FENCED
        assert ask(7, 5) is (E.CONCURRENT_TRANSACTIONS if busy else E.NONE)
    metadata.pending = S.ONGOING
    assert metadata.check_add(7, 5) is E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("state", list(TxnState)[:6])
def test_an_id_expires_when_nobody_uses_it(state: TxnState) -> None:
    metadata = known(state)
    assert metadata.expired(150, 50) is (state in IDLE)
    assert not metadata.expired(149, 50)
    metadata.pending = S.EMPTY
    assert not metadata.expired(1_000, 50)


def test_records_and_state_survive_their_text() -> None:
    value = TxnValue(7, 5, 60, S.ONGOING, ("orders-0", "__consumer_offsets-3"), 9, 8, 6, 5, 2)
    assert decode(encode("a=b", value)) == ("a=b", value)
    assert decode(encode("a=b", None)) == ("a=b", None)
    assert encode("a=b", None).count("=") == 1
    with pytest.raises(ValueError, match="transaction"):
        decode('[1,"g"]=')
    metadata = TransactionMetadata("pay", value, 4)
    metadata.pending, metadata.failed_fence = S.PREPARE_ABORT, True
    assert TransactionMetadata.from_saved(metadata.save()).save() == metadata.save()
