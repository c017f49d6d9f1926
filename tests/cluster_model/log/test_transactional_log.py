"""Transactions in one log (KIP-98): last stable offset, index of aborted transactions, fences, and rebuilds."""

from cluster_model.broker.partition.partition import AppendResult
from cluster_model.log.batch_store import BatchStore, BatchStoreView
from cluster_model.log.log_cleaner import clean, to_clean
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.transaction_index import AbortedTxn
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.records import COMMIT, PLAIN
from tests.cluster_model.log.logs import P, Writer

E = KafkaError


def error(result: AppendResult) -> tuple[KafkaError, int]:
    return result.error, result.base


def follower_of(log: ReplicaLog, max_bytes: int) -> ReplicaLog:
    copy = ReplicaLog(log.epoch_branches, uses_epochs=True, replaces=True)
    while copy.leo < log.leo:
        copy.append_slice(log.read(copy.leo, log.leo, max_bytes))
    return copy


def test_without_transactions_everything_replicated_is_stable() -> None:
    writer = Writer()
    writer.plain(3)
    assert writer.lso == 0
    writer.replicated()
    assert writer.lso == 3


def test_an_open_transaction_holds_back_everything_behind_its_first_record() -> None:
    writer = Writer()
    writer.plain(2)
    writer.write(7)
    writer.plain(5)
    writer.write(8)
    writer.replicated()
    assert (writer.lso, writer.rig.replica.hw) == (2, 9)
    writer.commit(7)
    writer.replicated()
    assert writer.lso == 8
    writer.abort(8)
    writer.replicated()
    assert writer.lso == 11


def test_a_marker_counts_only_when_it_is_replicated() -> None:
    writer = Writer()
    writer.write(7, 2)
    writer.commit(7)
    writer.plain()
    writer.replicated(2)
    assert writer.lso == 0
    writer.replicated(3)
    assert writer.lso == 3
    assert writer.rig.replica.log.transactions.ended == [], "not looked at again"


def test_a_high_watermark_below_the_transaction_is_the_lso() -> None:
    writer = Writer()
    writer.plain(4)
    writer.write(7)
    writer.replicated(3)
    assert writer.lso == 3


def test_the_stable_offset_never_lies_below_the_log_s_start() -> None:
    writer = Writer()
    writer.write(7, 4)
    writer.plain(2)
    writer.replicated()
    writer.rig.replica.delete_records(3, 0)
    assert writer.lso == 3


def test_the_index_keeps_what_was_aborted_with_what_was_stable_behind_it() -> None:
    writer = Writer()
    writer.write(7, 2)
    writer.write(8)
    writer.abort(7)
    writer.commit(8)
    writer.write(9)
    writer.abort(9)
    assert writer.rig.replica.log.transactions.aborted == [AbortedTxn(7, 0, 3, 2), AbortedTxn(9, 5, 6, 7)]


def test_a_marker_of_a_transaction_that_wrote_nothing_here_leaves_no_entry() -> None:
    writer = Writer()
    writer.abort(7)
    transactions = writer.rig.replica.log.transactions
    assert (transactions.aborted, transactions.ended, writer.rig.replica.log.leo) == ([], [], 1)


def test_a_read_learns_of_the_aborted_ones_that_it_meets() -> None:
    writer = Writer()
    for pid in (7, 8, 9):
        writer.write(pid)
        writer.abort(pid)
    found = writer.rig.replica.log.transactions.aborted_between
    assert [each.producer_id for each in found(0, 6)] == [7, 8, 9]
    assert [each.producer_id for each in found(2, 6)] == [8, 9]
    assert [each.producer_id for each in found(1, 2)] == [7], "its marker is at 1"
    assert [each.producer_id for each in found(0, 3)] == [7, 8]


def test_the_aborted_scan_covers_the_whole_range() -> None:
    writer = Writer()
    writer.write(7)
    writer.write(8)
    writer.abort(8)
    writer.abort(7)
    assert [each.producer_id for each in writer.rig.replica.log.transactions.aborted_between(0, 2)] == [8, 7]


def test_every_follower_finds_the_same_out_whatever_a_fetch_brings() -> None:
    writer = Writer()
    writer.plain()
    writer.write(7, 3)
    writer.write(8)
    writer.abort(7)
    writer.write(7, epoch=0)
    log = writer.rig.replica.log
    for size in (1, 150, 250, 10_000):
        assert follower_of(log, size).transactions.save() == log.transactions.save()


def test_truncation_opens_a_transaction_again_and_forgets_what_is_cut() -> None:
    writer = Writer()
    writer.write(7, 2)
    writer.abort(7)
    writer.write(8)
    log = writer.rig.replica.log
    log.truncate(2)
    assert (dict(log.transactions.ongoing), log.transactions.aborted, log.transactions.ended) == ({7: 0}, [], [])
    log.truncate(0)
    assert log.transactions.save() == ()


def test_a_log_begun_anew_knows_of_no_transaction() -> None:
    writer = Writer()
    writer.write(7, 2)
    log = writer.rig.replica.log
    log.restart_at(10)
    assert log.transactions.save() == ()


def test_deleted_segments_take_their_aborted_transactions_along() -> None:
    writer = Writer(segment_bytes=150)
    for pid in (7, 8, 9):
        writer.write(pid)
        writer.abort(pid)
    log = writer.rig.replica.log
    assert len(log.segments.sealed) > 2
    log.delete_segments(2, 0)
    assert [each.last_offset for each in log.transactions.aborted] == [3, 5]
    assert log.log_start == 2


def test_state_saved_is_state_loaded() -> None:
    writer = Writer()
    writer.write(7)
    writer.abort(7)
    writer.write(8)
    log = writer.rig.replica.log
    copy = ReplicaLog(log.epoch_branches, uses_epochs=True, replaces=True)
    copy.load(log.save())
    assert copy.transactions.save() == log.transactions.save() != ()


def test_kind_and_coordinator_epoch_survive_in_the_log_branch_and_in_its_past() -> None:
    writer = Writer()
    writer.write(7)
    writer.commit(7, coordinator=3)
    epoch_branches = writer.rig.replica.log.epoch_branches
    marker = epoch_branches.by_id[0].batch_at(1)
    assert (marker.kind, marker.coordinator_epoch, marker.records) == (COMMIT, 3, 1)
    past = BatchStoreView(epoch_branches)
    past.load((1,))
    assert past.by_id[0].transactional
    past.by_id[0].append(marker)
    assert past.by_id[0].batch_at(1) == marker


def test_a_log_branch_without_transactions_is_reported_from_one_with() -> None:
    plain, mixed = BatchStore().begin(1, 0, 0), BatchStore().begin(1, 0, 0)
    writer = Writer()
    writer.plain()
    plain.append(writer.rig.replica.log.epoch_branches.by_id[0].batch(0))
    writer.write(7)
    mixed.append(writer.rig.replica.log.epoch_branches.by_id[0].batch(1))
    assert (plain.transactional, mixed.transactional) == (False, True)


# -- rejected batches -------------------------------------------------------------------------------------------------


def test_a_producer_in_a_transaction_cannot_append_plain_batches() -> None:
    writer = Writer()
    writer.write(7)
    assert error(writer.write(7, kind=PLAIN)) == (E.INVALID_TXN_STATE, -1)
    writer.commit(7)
    assert error(writer.write(7, kind=PLAIN)) == (E.NONE, 2)


def test_sequences_continue_over_transactions_of_an_epoch_and_begin_anew_with_the_next() -> None:
    writer = Writer()
    writer.write(7, 3)
    writer.commit(7)
    assert error(writer.write(7, 2)) == (E.NONE, 4)
    late = writer.request(7, 1, epoch=0, kind=1, sequence=9)
    assert error(writer.leadership.append(0, late)) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert error(writer.write(7, epoch=1)) == (E.NONE, 6)


def test_a_duplicate_within_a_transaction_is_answered_as_the_first_time() -> None:
    writer = Writer()
    writer.write(7, 2)
    again = writer.request(7, 2, epoch=0, kind=1, sequence=0)
    assert error(writer.leadership.append(0, again)) == (E.NONE, 0)
    assert writer.rig.replica.log.leo == 2


def test_a_marker_of_a_newer_epoch_fences_the_producer() -> None:
    writer = Writer()
    writer.write(7)
    assert error(writer.abort(7, epoch=1)) == (E.NONE, 1)
    assert error(writer.write(7)) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert error(writer.write(7, epoch=1)) == (E.NONE, 2)


def test_after_a_marker_began_an_epoch_its_first_sequence_is_zero() -> None:
    writer = Writer()
    writer.write(7)
    writer.abort(7, epoch=1)
    late = writer.request(7, 1, epoch=1, kind=1, sequence=4)
    assert error(writer.leadership.append(0, late)) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_a_marker_of_an_older_producer_epoch_is_refused() -> None:
    writer = Writer()
    writer.write(7, epoch=2)
    assert error(writer.commit(7, epoch=1)) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_a_marker_of_an_older_coordinator_is_fenced() -> None:
    writer = Writer()
    writer.write(7)
    writer.commit(7, coordinator=5)
    writer.write(7)
    assert error(writer.abort(7, coordinator=4)) == (E.TRANSACTION_COORDINATOR_FENCED, -1)
    assert error(writer.abort(7, coordinator=5)) == (E.NONE, 3)


def test_a_new_leader_finds_epochs_and_coordinators_in_its_log() -> None:
    writer = Writer()
    writer.write(7)
    writer.abort(7, epoch=3, coordinator=5)
    replica = writer.rig.replica
    replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    replica.apply(PartitionState(P, 1, 3, (1, 2, 3), 3, (1, 2, 3)), 0)
    assert error(writer.write(7, epoch=2)) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert error(writer.commit(7, epoch=3, coordinator=4)) == (E.TRANSACTION_COORDINATOR_FENCED, -1)
    assert error(writer.write(7, epoch=3)) == (E.NONE, 2)


def test_a_coordinator_s_records_need_no_sequence_but_a_current_epoch() -> None:
    writer = Writer()
    commit = writer.request(7, 2, epoch=4, kind=1, sequence=-1)
    assert error(writer.leadership.append(0, commit)) == (E.NONE, 0)
    assert error(writer.leadership.append(0, commit)) == (E.NONE, 2)
    assert error(writer.leadership.append(0, commit._replace(producer_epoch=3))) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_a_producer_is_not_forgotten_while_its_transaction_is_open() -> None:
    writer = Writer()
    writer.write(7, epoch=1)
    writer.now = 2 * 86_400_000_000
    assert error(writer.write(7)) == (E.INVALID_PRODUCER_EPOCH, -1)
    writer.commit(7, epoch=1)
    writer.now *= 2
    assert error(writer.write(7)) == (E.NONE, 2)


# -- compaction ---------------------------------------------------------------------------------------------------


def compacted() -> Writer:
    """Return a log with a segment each for a committed record of key a, an aborted one of a and of b, and markers."""
    writer = Writer(cleanup_policy="compact", segment_bytes=100, min_cleanable_dirty_ratio="0")
    writer.write(7, names=("a=1",))
    writer.commit(7)
    writer.write(7, names=("a=2",))
    writer.write(8, names=("b=1",))
    writer.abort(7)
    writer.plain()
    return writer


def test_compaction_drops_what_was_aborted_and_keeps_markers_and_what_it_would_have_replaced() -> None:
    writer = compacted()
    log = writer.rig.replica.log
    writer.commit(8)
    writer.write(9, names=("c=1",))
    writer.replicated()
    work = to_clean(log, writer.lso, 0, 0)
    assert work is not None
    clean(log, work, 0, room=1 << 20, horizons=True)
    left = [offset for low, high in log.remaining(0, log.leo) for offset in range(low, high)]
    assert left == [0, 1, 3, 4, 5, 6]
    assert [each.last_offset for each in log.transactions.aborted] == [4]
    copy = follower_of(log, 10_000).transactions
    assert (copy.ongoing, copy.aborted) == ({9: 6}, []), "there is nothing left that was aborted"


def test_nothing_above_the_stable_offset_is_cleaned() -> None:
    writer = compacted()
    writer.replicated()
    assert writer.lso == 3
    assert writer.rig.replica.clean(0, 1 << 20) > 0
    assert writer.rig.replica.cleaner_offset == 3
