"""Markers of transactions without remaining records: which they are, how long they stay, their effect on readers."""

from random import Random

import pytest

from cluster_model.clients.consumer.fetcher import visible_ranges
from cluster_model.log.log_cleaner import clean, empty_markers, to_clean
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import CommittedOffset, OffsetFetchRequest, TxnOffsetCommitRequest
from cluster_model.protocol.records import ABORT, PLAIN, CompactionOverlay
from tests.cluster_model.coordinators.transaction.talks import Talk
from tests.cluster_model.log.logs import Writer
from tests.support.breadth import sample_count

KEPT_US = 1_000_000
"""``delete.retention.ms``: one second."""
HOUR = 3_600_000_000


def writing() -> Writer:
    """Return a writer with a segment for every batch."""
    return Writer(cleanup_policy="compact", segment_bytes=100, min_cleanable_dirty_ratio="0", delete_retention_ms=1_000)


def sweep(writer: Writer, *, horizons: bool = True, expiry_us: int = NEVER) -> list[int]:
    """Clean all of the log except its last batch, a plain one that makes it dirty; returns the offsets before that.

    It starts where the previous pass ended only where that matters: a segment's age is compared with the clean part's.
    """
    log = writer.rig.replica.log
    writer.write(-1, kind=PLAIN, names=("end=1",))
    writer.write(-1, kind=PLAIN, names=("end=2",))
    writer.replicated()
    work = to_clean(log, writer.lso, 0 if horizons else writer.rig.replica.cleaner_offset, writer.now)
    assert work is not None
    done = clean(log, work, writer.now, room=1 << 20, horizons=horizons, expiry_us=expiry_us)
    writer.rig.replica.cleaner_offset = done.cleaned_to
    ends = dict.fromkeys(
        batch.base for _l, batch, _s, _e in log.batches() if batch.name[:1] in (("end=1",), ("end=2",))
    )
    return [at for low, high in log.remaining(0, log.leo) for at in range(low, high) if at not in ends]


def replaced(writer: Writer) -> None:
    """Let producer 7 commit a=1 (0, its marker 1), then a=2 (2, its marker 3)."""
    for number in (1, 2):
        writer.write(7, names=(f"a={number}",))
        writer.commit(7)


def test_a_marker_goes_a_pass_after_its_records_and_a_retention_after_that() -> None:
    writer = writing()
    replaced(writer)
    assert sweep(writer) == [1, 2, 3], "its transaction was still met"
    writer.now += 10 * KEPT_US
    assert sweep(writer) == [1, 2, 3], "only now it is known to be empty"
    writer.now += KEPT_US - 1
    assert sweep(writer) == [1, 2, 3]
    writer.now += 1
    assert sweep(writer) == [2, 3]
    assert 3 not in empty_markers(writer.rig.replica.log, writer.rig.replica.log.leo, writer.now, NEVER)


def test_before_delete_horizons_markers_expire_by_segment_age() -> None:
    writer = writing()
    replaced(writer)
    assert sweep(writer, horizons=False) == [1, 2, 3]
    writer.now += KEPT_US
    assert sweep(writer, horizons=False) == [1, 2, 3], "the clean part is no younger than its segment"
    assert sweep(writer, horizons=False) == [2, 3]


def test_the_last_transaction_of_a_known_producer_always_has_something_left() -> None:
    writer = writing()
    replaced(writer)
    writer.write(-1, kind=PLAIN, names=("a=3",))
    for _ in range(4):
        left = sweep(writer, expiry_us=HOUR)
        writer.now += KEPT_US
    assert left == [3, 4], "record 2 is gone, its batch stays for the sequence"
    writer.now += HOUR
    sweep(writer, expiry_us=HOUR)
    writer.now += KEPT_US
    assert sweep(writer, expiry_us=HOUR) == [4]


def test_only_the_last_marker_of_an_epoch_is_kept() -> None:
    """In 4.0 a marker already has the next epoch (KIP-890)."""
    writer = writing()
    writer.write(7, names=("a=1",))
    writer.commit(7, epoch=1)
    writer.write(-1, kind=PLAIN, names=("a=2",))
    for _ in range(4):
        left = sweep(writer)
        writer.now += KEPT_US
    assert left == [1, 2]
    assert empty_markers(writer.rig.replica.log, 3, writer.now, 1) == {1: None}, "the producer is forgotten"


def test_an_open_transaction_is_never_taken_for_an_ended_one() -> None:
    writer = writing()
    replaced(writer)
    writer.write(7, names=("a=3",))
    log = writer.rig.replica.log
    for _ in range(4):
        writer.replicated()
        work = to_clean(log, writer.lso, 0, writer.now)
        if work is not None:
            clean(log, work, writer.now, room=1 << 20, horizons=True)
        writer.now += KEPT_US
    assert log.remaining(0, log.leo) == [(2, 5)]
    assert list(log.transactions.ongoing) == [7]


def seen(log: ReplicaLog, bound: int) -> dict[str, str]:
    """Return the newest value of every key for a read_committed consumer."""
    names = {batch.base: batch.name for _l, batch, _s, _e in log.batches() if batch.name}
    aborted = [(each.producer_id, each.first_offset) for each in log.transactions.aborted_between(0, bound)]
    found: dict[str, str] = {}
    for start, end in visible_ranges(log.epoch_branches, log.read(0, bound, 1 << 30), aborted):
        for offset in range(start, end):
            key, _sign, value = names[offset][0].partition("=")
            found[key] = value
    return found


def test_an_aborted_markers_entry_goes_with_it_so_that_what_follows_is_read() -> None:
    writer = writing()
    writer.write(7, names=("a=1",))
    writer.abort(7)
    writer.write(7, names=("b=1",))
    writer.commit(7)
    for _ in range(4):
        left = sweep(writer)
        writer.now += KEPT_US
    log = writer.rig.replica.log
    assert (left, log.transactions.aborted) == ([2, 3], [])
    assert seen(log, writer.lso)["b"] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(sample_count(4, 8)))
@pytest.mark.parametrize("horizons", [True, False])
def test_whatever_is_cleaned_when_readers_of_committed_data_see_the_same(seed: int, horizons: bool) -> None:
    random = Random(seed)
    writer = writing()
    log = writer.rig.replica.log
    truth: dict[str, str] = {}
    staged: dict[int, dict[str, str]] = {}
    for number in range(150):
        writer.now += random.choice((0, KEPT_US // 2, 2 * KEPT_US))
        pid, what = random.choice((7, 8, 9)), random.random()
        if what < 0.5:
            key = random.choice("abc")
            writer.write(pid, names=(f"{key}={number}",))
            staged.setdefault(pid, {})[key] = str(number)
        elif what < 0.8 and pid in staged:
            commit = random.random() < 0.5
            writer.end(pid, commit=commit)
            mine = staged.pop(pid)
            truth.update(mine if commit else {})
            # A later record that another producer has committed already comes after it.
            for other in list(staged):
                writer.end(other, commit=False)
                del staged[other]
        writer.replicated()
        work = to_clean(log, writer.lso, random.randrange(log.leo + 1), writer.now) if what > 0.7 else None
        if work is not None:
            clean(log, work, writer.now, room=1 << 20, horizons=horizons, expiry_us=random.choice((1, HOUR)))
        committed = {key: value for key, value in seen(log, writer.lso).items() if key in truth}
        assert committed == truth
        if number % 10:
            continue
        copy = ReplicaLog(log.epoch_branches, uses_epochs=True, replaces=True)
        while copy.leo < log.leo:
            copy.append_slice(log.read(copy.leo, log.leo, 200))
        assert seen(copy, writer.lso) == seen(log, writer.lso)
    markers = [batch.base for _l, batch, _s, _e in log.batches() if batch.kind >= ABORT]
    dropped = sum(log.cleaned is not None and log.cleaned.covers(base) for base in markers)
    assert dropped > 0


def test_a_reader_does_not_learn_of_a_marker_that_is_gone() -> None:
    """A response that still named the transaction would hide later committed records of its producer."""
    writer = writing()
    writer.write(7, names=("a=1",))
    writer.abort(7)
    writer.write(7, names=("b=1",))
    log = writer.rig.replica.log
    whole = log.read(0, log.leo, 1 << 20)
    assert list(visible_ranges(log.epoch_branches, whole, [(7, 0)])) == [(2, 3)]
    assert (
        list(visible_ranges(log.epoch_branches, whole._replace(cleaned=CompactionOverlay(((0, 2),))), [(7, 0)])) == []
    )


def test_a_partition_of_offsets_stays_small_and_a_new_coordinator_reads_the_same_of_it() -> None:
    cleaned: dict[str, int | str | bool] = {
        "log.segment.bytes": 1_000, "log.cleaner.min.cleanable.ratio": "0", "log.cleaner.delete.retention.ms": 500,
        "log.cleaner.backoff.ms": 500,
    }  # fmt: skip
    talk = Talk(config=cleaned)
    talk.run(3)
    producer = talk.producer("pay")
    producer.init()
    for offset in range(1, 41):
        assert producer.add_offsets("a") is KafkaError.NONE
        commit = TxnOffsetCommitRequest(
            0, "pay", "a", producer.producer_id, producer.epoch, (CommittedOffset("orders-0", offset),)
        )
        producer.ask(talk.cluster.query.leader("__consumer_offsets-1"), commit)
        producer.end(commit=offset % 4 > 0)
        talk.run(0.3)
    talk.run(3)
    leader = talk.cluster.query.leader("__consumer_offsets-1")
    for broker in (1, 2, 3):
        log = talk.cluster.brokers[broker].replicas["__consumer_offsets-1"].log
        markers = [batch.base for _l, batch, _s, _e in log.batches() if batch.kind >= ABORT]
        assert len(markers) == 40
        left = [base for base in markers if log.remaining(base, base + 1)]
        assert 0 < len(left) < 20
        assert sum(entry.last_offset in left for entry in log.transactions.aborted) == len(log.transactions.aborted)
    talk.cluster.crash(leader)
    talk.run(25)
    now = talk.cluster.query.leader("__consumer_offsets-1")
    assert now not in (leader, -1)
    answer = producer.ask(now, OffsetFetchRequest(0, "a", None, True), seconds=2)
    assert [(each.partition, each.offset) for each in answer.partitions] == [("orders-0", 39)]
