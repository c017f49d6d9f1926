"""A leader's validation of a batch before the append: the ISR, the batch, then the producer's state.

The order is that of ``Partition.appendRecordsToLeader``, ``UnifiedLog.analyzeAndValidateRecords`` with
``LogValidator``, and ``ProducerAppendInfo``.
"""

from typing import TYPE_CHECKING, Final

from cluster_model.log.record_keys import lacks_key
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.records import ABORT, NO_TIMESTAMP, PLAIN, Batch
from cluster_model.protocol.versions import Profile

if TYPE_CHECKING:
    from cluster_model.broker.partition.partition import PartitionLeaderState

# Producer state of a leader (``ProducerStateManager``, KIP-98): the last five batches of each idempotent producer.
#
# For transactional producers it also holds the coordinator epoch of their last marker.


REMEMBERED: Final = 5
"""Number of batches kept per producer since 1.0 (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``); before, the last."""
SEQUENCES: Final = 1 << 31
"""Modulus of sequence numbers: 2**31 - 1 is followed by 0 (``DefaultRecordBatch.incrementSequence``)."""
EXPIRY_CHECK_US: Final = 600_000_000
"""Period of the expiry of idle producers, at multiples of ten minutes of virtual time."""

_Kept = tuple[int, int, int]
"""(first sequence, last sequence, base offset)."""
_Entry = tuple[int, int, tuple[_Kept, ...], int]
"""(epoch, time of the last write, last batches in that epoch, coordinator epoch of the last marker)."""
_NO_COORDINATOR: Final = -1

NONE: Final = KafkaError.NONE


class ProducerStateManager:
    """Epochs and sequence numbers by producer id, rebuilt from the log by each new leader."""

    __slots__ = ("_expiry_us", "_last", "_markers_renew", "_remembered", "transactions")

    def __init__(
        self,
        expiry_us: int = NEVER,
        transactions: TransactionIndex | None = None,
        *,
        remembered: int = REMEMBERED,
        markers_renew: bool = True,
    ) -> None:
        """Start empty; ``expiry_us``: idle time until a producer is forgotten (``producer.id.expiration.ms``).

        ``transactions`` are those of the log: a producer with an open transaction is not forgotten. ``remembered`` is
        the number of batches kept per producer; ``markers_renew``: a marker counts as a write of its producer.
        """
        self._remembered = remembered
        self._markers_renew = markers_renew
        self._last: dict[int, _Entry] = {}
        self._expiry_us = expiry_us
        self.transactions = transactions or TransactionIndex()

    def rebuild(self, log: ReplicaLog, snapshot: int = 0) -> None:
        """Rebuild from the log; below ``snapshot`` from a snapshot file, which holds each producer's last batch."""
        self._last.clear()
        reading_file = snapshot > 0
        for _epoch_branch, batch, start, end in log.batches():
            if reading_file and start >= snapshot:
                self._keep_last_only()
                reading_file = False
            if batch.producer_id >= 0 and batch.end == end:
                self.written(batch, batch.appended_us)
        if reading_file:
            self._keep_last_only()

    def _keep_last_only(self) -> None:
        for producer_id, (epoch, at, kept, coordinator) in self._last.items():
            self._last[producer_id] = (epoch, at, kept[-1:], coordinator)

    def written(self, batch: Batch, now: int) -> None:
        """Record an appended batch with a producer id. Markers and coordinators' batches have no sequence number."""
        producer_id, epoch = batch.producer_id, batch.producer_epoch
        if batch.sequence >= 0:
            self.note(producer_id, epoch, (batch.sequence - batch.origin) % SEQUENCES, batch.records, batch.base, now)
            return
        entry = self._last.get(producer_id)
        kept = entry[2] if entry is not None and entry[0] == epoch else ()
        coordinator = _NO_COORDINATOR if entry is None else entry[3]
        if batch.kind >= ABORT:
            coordinator = batch.coordinator_epoch
            if not self._markers_renew:
                # A producer that wrote nothing, or long ago, expires at the next check.
                expires_next = now - now % EXPIRY_CHECK_US + EXPIRY_CHECK_US - self._expiry_us
                now = max(expires_next, entry[1]) if entry is not None and kept else expires_next
            if self._remembered == 1 and kept:
                # 0.11 takes the marker for a batch of one record with the producer's last sequence number.
                kept = ((kept[-1][1], kept[-1][1], batch.base),)
        self._last[producer_id] = (epoch, now, kept, coordinator)

    def note(self, producer_id: int, epoch: int, first: int, count: int, base: int, now: int) -> None:
        """Record an appended batch; a new epoch starts without remembered batches."""
        entry = self._last.get(producer_id)
        last = first + count - 1
        appended = (first, last if last < SEQUENCES else last - SEQUENCES, base)
        coordinator = _NO_COORDINATOR if entry is None else entry[3]
        kept = entry[2] if entry is not None and entry[0] == epoch else ()
        self._last[producer_id] = (epoch, now, (*kept, appended)[-self._remembered :], coordinator)

    def truncate_head(self, log_start: int) -> None:
        """Forget producers without a batch from the log start on (``truncateHead``, until KAFKA-7190)."""
        self._last = {
            producer_id: entry
            for producer_id, entry in self._last.items()
            if entry[2] and _last_offset(entry[2][-1]) >= log_start
        }

    def follows(self, producer_id: int, epoch: int, first: int, now: int) -> bool:
        """Whether a batch is clearly the next one of its producer; any other needs :meth:`validate_append`."""
        entry = self._last.get(producer_id)
        if entry is None or producer_id in self.transactions.ongoing:
            return False
        stored, at, kept, _coordinator = entry
        return bool(kept) and first == kept[-1][1] + 1 and stored == epoch and now - at < self._expiry_us

    def check_append(
        self, profile: Profile, producer_id: int, epoch: int, first: int, count: int, now: int
    ) -> tuple[KafkaError, int]:
        """Return the error of a client's batch, and the base offset of its duplicate, -1 for none.

        In Kafka's order: a duplicate of a remembered batch, the epoch, the sequence number (``ProducerAppendInfo``). An
        unknown producer may start with any sequence number, but up to 2.4 only with 0.
        """
        entry = self._entry(producer_id, now)
        if entry is None:
            return (_unknown_producer_error(profile) if first else NONE), -1
        stored, _at, kept, _coordinator = entry
        last = (first + count - 1) % SEQUENCES
        if epoch == stored:
            for known_first, known_last, base in kept:
                if known_first == first and known_last == last:
                    return NONE, base
        if epoch < stored:
            return KafkaError.INVALID_PRODUCER_EPOCH, -1
        if first == (0 if epoch > stored else _next(kept)):
            return NONE, -1
        if profile.unknown_after_marker and epoch == stored and not kept:
            return KafkaError.UNKNOWN_PRODUCER_ID, -1
        return KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, -1

    def epoch_of(self, producer_id: int, now: int) -> int:
        """Return the last epoch of a producer, -1 if it is unknown."""
        entry = self._entry(producer_id, now)
        return -1 if entry is None else entry[0]

    def coordinator_epoch_of(self, producer_id: int) -> int:
        """Return the coordinator epoch of the last marker for a producer, -1 without one."""
        entry = self._last.get(producer_id)
        return _NO_COORDINATOR if entry is None else entry[3]

    def active(self, now: int) -> tuple[tuple[int, int, int, int, int, int], ...]:
        """Return every known producer, in the order of its first batch (``ProducerStateManager.activeProducers``).

        Each is (id, epoch, last sequence, time of its last write, coordinator epoch, first offset of its open
        transaction); -1 where there is none.
        """
        rows = []
        for producer_id in tuple(self._last):
            entry = self._entry(producer_id, now)
            if entry is not None:
                epoch, at, kept, coordinator = entry
                last = kept[-1][1] if kept else -1
                rows.append((producer_id, epoch, last, at, coordinator, self.transactions.ongoing.get(producer_id, -1)))
        return tuple(rows)

    def _entry(self, producer_id: int, now: int) -> _Entry | None:
        """Return a producer's entry, None if it is unknown or had expired at the last check."""
        entry = self._last.get(producer_id)
        checked_at = now - now % EXPIRY_CHECK_US
        silent = entry is not None and checked_at - entry[1] >= self._expiry_us
        if silent and producer_id not in self.transactions.ongoing:
            del self._last[producer_id]
            return None
        return entry

    def save(self) -> tuple[tuple[int, _Entry], ...]:
        """Return all state as nested tuples."""
        return tuple(self._last.items())

    def load(self, saved: tuple[tuple[int, _Entry], ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._last = dict(saved)


def producer_state(profile: Profile, expiry_us: int, transactions: TransactionIndex) -> ProducerStateManager:
    """Return the empty producer state of a log of this release."""
    return ProducerStateManager(
        expiry_us,
        transactions,
        remembered=REMEMBERED if profile.five_batches else 1,
        markers_renew=not profile.markers_renew_nothing,
    )


def _unknown_producer_error(profile: Profile) -> KafkaError:
    """Return the error of an unknown producer's batch that does not begin with sequence number 0."""
    if profile.unknown_producer_id:
        return KafkaError.UNKNOWN_PRODUCER_ID
    return NONE if profile.five_batches else KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER


def _last_offset(kept: _Kept) -> int:
    first, last, base = kept
    return base + (last - first) % SEQUENCES


def _next(kept: tuple[_Kept, ...]) -> int:
    """Return the next sequence number; 0 where an epoch has begun with a marker."""
    return (kept[-1][1] + 1) % SEQUENCES if kept else 0


# A leader's validation before the append: its ISR, the batch, then the producer id and its transaction.


_VALID = (KafkaError.NONE, -1)


def admit(
    producers: ProducerStateManager, profile: Profile, request: ProduceRequest, now: int
) -> tuple[KafkaError, int]:
    """Return a batch's error and its duplicate's base offset, -1 for none (``ProducerAppendInfo.append``).

    A coordinator's batch has no sequence number to check, only an epoch. A producer with an open transaction may not
    write outside of it.
    """
    producer_id, epoch = request.producer_id, request.producer_epoch
    if request.kind >= ABORT:
        return _marker(producers, profile, request, now)
    if request.sequence < 0:
        is_fenced = epoch < producers.epoch_of(producer_id, now)
        return (KafkaError.INVALID_PRODUCER_EPOCH, -1) if is_fenced else _VALID
    first = (request.sequence - request.origin) % SEQUENCES
    error, duplicate = producers.check_append(profile, producer_id, epoch, first, request.records, now)
    if not error and duplicate < 0 and request.kind == PLAIN and producer_id in producers.transactions.ongoing:
        error = KafkaError.INVALID_TXN_STATE
    return error, duplicate


def _marker(
    producers: ProducerStateManager, profile: Profile, request: ProduceRequest, now: int
) -> tuple[KafkaError, int]:
    """Fence a marker by producer epoch and coordinator epoch (``ProducerAppendInfo.appendEndTxnMarker``).

    Since 4.2 the marker of version 2 must have a newer epoch than an open transaction (KIP-1228). Without an open
    transaction the same epoch is a repeated marker (KAFKA-19999).
    """
    latest_epoch = producers.epoch_of(request.producer_id, now)
    is_strict = profile.strict_markers and request.transaction_version > 1
    is_late = (
        is_strict and request.producer_epoch == latest_epoch and request.producer_id in producers.transactions.ongoing
    )
    if request.producer_epoch < latest_epoch or is_late:
        return KafkaError.INVALID_PRODUCER_EPOCH, -1
    if request.coordinator_epoch < producers.coordinator_epoch_of(request.producer_id):
        return KafkaError.TRANSACTION_COORDINATOR_FENCED, -1
    return _VALID


_ADMITTED: Final = (NONE, -1)


def validate_append(leadership: "PartitionLeaderState", request: ProduceRequest, now: int) -> tuple[KafkaError, int]:
    """Return the error of a batch, NONE if it is to be written; and the base offset of its duplicate, -1 for none."""
    replica = leadership.replica
    if request.acks == ALL and len(leadership.isr) < replica.min_isr:
        return KafkaError.NOT_ENOUGH_REPLICAS, -1
    if request.size > replica.usual_size or request.payload:
        error = batch_error(replica.profile, replica.log, request, replica.wall_time(now))
        if error is not NONE:
            return error, -1
    pid, producers = request.producer_id, leadership.producers
    if pid < 0 or (
        not request.kind and producers.follows(pid, request.producer_epoch, request.sequence - request.origin, now)
    ):
        return _ADMITTED
    return admit(producers, replica.profile, request, now)


def unchecked_size(log: ReplicaLog) -> int:
    """Return the batch size up to which the model's clients need no full validation; 0 if every batch does.

    Every batch does in a compacted topic and with limits of timestamps. Timestamps of the model's clients are never in
    the future as long as all clocks agree; those of real clients may be anything.
    """
    rules = log.rules
    return 0 if rules.compact or rules.oldest_us < NEVER else min(rules.max_message, rules.segment_bytes)


def batch_error(profile: Profile, log: ReplicaLog, request: ProduceRequest, wall: int) -> KafkaError:
    """Return the error of a batch by its size, keys and timestamps, NONE if it is valid.

    Before message format 2 (0.11) each uncompressed record is a message with a size limit of its own; a compressed set
    is one message. A record without a key in a compacted topic is INVALID_RECORD since 2.4 (KIP-467) and
    CORRUPT_MESSAGE before; 0.8.2 accepts it, which breaks its cleaner. Markers are always accepted. ``wall`` is the
    time of the broker's clock; no timestamp may differ from it by more than ``message.timestamp.before.max.ms`` and
    ``message.timestamp.after.max.ms`` (``LogValidator.validateTimestamp``; KIP-32, KIP-937, KIP-1030).
    """
    if request.kind >= ABORT:
        return KafkaError.NONE
    rules = log.rules
    is_message = not profile.idempotence and request.codec == 0
    message = -(-request.size // max(1, request.records)) if is_message else request.size
    if message > rules.max_message:
        return KafkaError.MESSAGE_TOO_LARGE
    if (
        rules.compact
        and profile.compaction_needs_keys
        and lacks_key(log.epoch_branches.keys, request.client, request.names)
    ):
        return KafkaError.INVALID_RECORD if profile.invalid_record else KafkaError.CORRUPT_MESSAGE
    stamp = request.timestamp_us
    oldest = stamp if request.oldest_us == NO_TIMESTAMP else request.oldest_us
    known = not rules.log_append_time and stamp != NO_TIMESTAMP
    if known and (oldest < wall - rules.oldest_us or stamp > wall + rules.newest_us):
        return KafkaError.INVALID_TIMESTAMP
    if request.size > rules.segment_bytes:
        return KafkaError.RECORD_LIST_TOO_LARGE
    return KafkaError.NONE
