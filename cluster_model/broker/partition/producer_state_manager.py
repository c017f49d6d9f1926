"""Checks of a leader before it appends: its ISR, the batch, then the producer id with what is known of it.

``Partition.appendRecordsToLeader``, then ``UnifiedLog.analyzeAndValidateRecords`` with ``LogValidator``, then
``ProducerAppendInfo``.
"""

from typing import TYPE_CHECKING, Final

from cluster_model.log.record_keys import lacks_key
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.records import ABORT, PLAIN, UNTOLD, Batch
from cluster_model.protocol.versions import Profile

if TYPE_CHECKING:
    from cluster_model.broker.partition.partition import Leadership

# What a leader remembers of idempotent producers (``ProducerStateManager``, KIP-98): their last five batches each.
#
# Of transactional ones it also knows the coordinator's epoch that their last marker carried.


REMEMBERED: Final = 5
"""Batches kept per producer (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``)."""
SEQUENCES: Final = 1 << 31
"""A sequence goes from 2**31 - 1 on to 0 (``DefaultRecordBatch.incrementSequence``)."""
EXPIRY_CHECK_US: Final = 600_000_000
"""How often producers that have been silent for too long are forgotten: at full ten minutes of the session's time."""

_Kept = tuple[int, int, int]
"""(first sequence, last sequence, base offset)."""
_Entry = tuple[int, int, tuple[_Kept, ...], int]
"""(epoch, when it last wrote, its last batches in that epoch, epoch of the coordinator whose marker was the last)."""
_NO_COORDINATOR: Final = -1

NONE: Final = KafkaError.NONE


class ProducerMemory:
    """Epochs and sequences by producer id, rebuilt from the log by each new leader."""

    __slots__ = ("_expiry_us", "_last", "transactions")

    def __init__(self, expiry_us: int = NEVER, transactions: TransactionIndex | None = None) -> None:
        """``expiry_us``: silence after which a producer is forgotten (``producer.id.expiration.ms``).

        ``transactions`` are those of the log: who has one open is not forgotten.
        """
        self._last: dict[int, _Entry] = {}
        self._expiry_us = expiry_us
        self.transactions = transactions or TransactionIndex()

    def rebuild(self, log: ReplicaLog, snapshot: int = 0) -> None:
        """Read what the log says. Below ``snapshot`` a file said it: it keeps the last batch of each producer only."""
        self._last.clear()
        reading_file = snapshot > 0
        for _lineage, batch, start, end in log.batches():
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
        """A batch with a producer id was appended. Markers and what coordinators write have no sequence."""
        producer_id, epoch = batch.producer_id, batch.producer_epoch
        if batch.sequence >= 0:
            self.note(producer_id, epoch, (batch.sequence - batch.origin) % SEQUENCES, batch.records, batch.base, now)
            return
        entry = self._last.get(producer_id)
        kept = entry[2] if entry is not None and entry[0] == epoch else ()
        coordinator = _NO_COORDINATOR if entry is None else entry[3]
        self._last[producer_id] = (epoch, now, kept, batch.coordinator_epoch if batch.kind >= ABORT else coordinator)

    def note(self, producer_id: int, epoch: int, first: int, count: int, base: int, now: int) -> None:
        """A batch was appended; a new epoch begins with nothing remembered."""
        entry = self._last.get(producer_id)
        last = first + count - 1
        one = (first, last if last < SEQUENCES else last - SEQUENCES, base)
        coordinator = _NO_COORDINATOR if entry is None else entry[3]
        kept = entry[2][1 - REMEMBERED :] if entry is not None and entry[0] == epoch else ()
        self._last[producer_id] = (epoch, now, (*kept, one), coordinator)

    def follows(self, producer_id: int, epoch: int, first: int, now: int) -> bool:
        """Whether a batch is plainly the next one of its producer; any other needs :meth:`judge`."""
        entry = self._last.get(producer_id)
        if entry is None or producer_id in self.transactions.ongoing:
            return False
        stored, at, kept, _coordinator = entry
        return bool(kept) and first == kept[-1][1] + 1 and stored == epoch and now - at < self._expiry_us

    def judge(
        self, profile: Profile, producer_id: int, epoch: int, first: int, count: int, now: int
    ) -> tuple[KafkaError, int]:
        """What a leader says of a client's batch, and the base offset of its twin, -1 for none.

        In Kafka's order: a duplicate of a batch remembered, the epoch, the sequence (``ProducerAppendInfo``). Who is
        unknown may begin anywhere, but in 1.0 to 2.4 only with sequence 0. 1.0 alone tells a batch older than all it
        remembers by an error of its own.
        """
        entry = self._known(producer_id, now)
        if entry is None:
            return (KafkaError.UNKNOWN_PRODUCER_ID if profile.unknown_producer_id and first else NONE), -1
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
        if profile.duplicate_sequence and epoch == stored and kept and last < kept[0][0]:
            return KafkaError.DUPLICATE_SEQUENCE_NUMBER, -1
        return KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, -1

    def epoch_of(self, producer_id: int, now: int) -> int:
        """The epoch last seen of a producer, -1 of one that is not known."""
        entry = self._known(producer_id, now)
        return -1 if entry is None else entry[0]

    def coordinator_epoch_of(self, producer_id: int) -> int:
        """That of the coordinator whose marker for it was the last here, -1 without one."""
        entry = self._last.get(producer_id)
        return _NO_COORDINATOR if entry is None else entry[3]

    def active(self, now: int) -> tuple[tuple[int, int, int, int, int, int], ...]:
        """Every producer that is known, the first of them first (``ProducerStateManager.activeProducers``).

        (id, epoch, last sequence, when it last wrote, its coordinator's epoch, where its open transaction begins) each;
        -1 stands for what there is none of.
        """
        found = []
        for producer_id in tuple(self._last):
            entry = self._known(producer_id, now)
            if entry is not None:
                epoch, at, kept, coordinator = entry
                last = kept[-1][1] if kept else -1
                found.append(
                    (producer_id, epoch, last, at, coordinator, self.transactions.ongoing.get(producer_id, -1))
                )
        return tuple(found)

    def _known(self, producer_id: int, now: int) -> _Entry | None:
        """What is known of a producer that has not been silent for too long at the last look."""
        entry = self._last.get(producer_id)
        looked_at = now - now % EXPIRY_CHECK_US
        silent = entry is not None and looked_at - entry[1] >= self._expiry_us
        if silent and producer_id not in self.transactions.ongoing:
            del self._last[producer_id]
            return None
        return entry

    def save(self) -> tuple[tuple[int, _Entry], ...]:
        """All state."""
        return tuple(self._last.items())

    def load(self, saved: tuple[tuple[int, _Entry], ...]) -> None:
        """Undo of :meth:`save`."""
        self._last = dict(saved)


def _next(kept: tuple[_Kept, ...]) -> int:
    """The sequence that follows; 0 where an epoch has begun with a marker."""
    return (kept[-1][1] + 1) % SEQUENCES if kept else 0


# Checks of a leader before it appends: its ISR, the batch, then the producer id and its transaction.


_TAKEN = (KafkaError.NONE, -1)


def admit(producers: ProducerMemory, profile: Profile, request: ProduceRequest, now: int) -> tuple[KafkaError, int]:
    """Why a batch is refused, and the base offset of its twin, -1 for none (``ProducerAppendInfo.append``).

    What a coordinator writes has no sequence to check, only an epoch. Who has a transaction open may write nothing
    outside of it.
    """
    producer_id, epoch = request.producer_id, request.producer_epoch
    if request.kind >= ABORT:
        return _marker(producers, request, now)
    if request.sequence < 0:
        old = epoch < producers.epoch_of(producer_id, now)
        return (KafkaError.INVALID_PRODUCER_EPOCH, -1) if old else _TAKEN
    first = (request.sequence - request.origin) % SEQUENCES
    refused, twin = producers.judge(profile, producer_id, epoch, first, request.records, now)
    if not refused and twin < 0 and request.kind == PLAIN and producer_id in producers.transactions.ongoing:
        refused = KafkaError.INVALID_TXN_STATE
    return refused, twin


def _marker(producers: ProducerMemory, request: ProduceRequest, now: int) -> tuple[KafkaError, int]:
    """``ProducerAppendInfo.appendEndTxnMarker``: fenced by the producer's epoch and by a newer coordinator's marker."""
    if request.producer_epoch < producers.epoch_of(request.producer_id, now):
        return KafkaError.INVALID_PRODUCER_EPOCH, -1
    if request.coordinator_epoch < producers.coordinator_epoch_of(request.producer_id):
        return KafkaError.TRANSACTION_COORDINATOR_FENCED, -1
    return _TAKEN


_ADMITTED: Final = (NONE, -1)


def judge(leadership: "Leadership", request: ProduceRequest, now: int) -> tuple[KafkaError, int]:
    """Why a batch is not written, NONE if it is; and the base offset of its twin that stands already, -1 for none."""
    replica = leadership.replica
    if request.acks == ALL and len(leadership.isr) < replica.min_isr:
        return KafkaError.NOT_ENOUGH_REPLICAS, -1
    if request.size > replica.usual_size or request.payload:
        refused = refusal(replica.profile, replica.log, request, replica.wall_time(now))
        if refused is not NONE:
            return refused, -1
    pid, producers = request.producer_id, leadership.producers
    if pid < 0 or (
        not request.kind and producers.follows(pid, request.producer_epoch, request.sequence - request.origin, now)
    ):
        return _ADMITTED
    return admit(producers, replica.profile, request, now)


def usual_size(log: ReplicaLog) -> int:
    """Batches of the model's clients up to this size need no closer look; 0 where every one does, for keys or time.

    Their timestamps are not from the future as long as all clocks agree. Those of real clients are anything.
    """
    rules = log.rules
    return 0 if rules.compact or rules.oldest_us < NEVER else min(rules.max_message, rules.segment_bytes)


def refusal(profile: Profile, log: ReplicaLog, request: ProduceRequest, wall: int) -> KafkaError:
    """Why a batch is refused, NONE if it is not.

    Before message format 2 (0.11) uncompressed records are messages of their own, each measured by itself; a
    compressed set was one message. A record without a key in a compacted topic is INVALID_RECORD since 2.4 (KIP-467)
    and CORRUPT_MESSAGE before; 0.8.2 took it, to the cleaner's harm. Markers are taken as they are. ``wall`` is what
    the broker's clock shows; no record may be further from it than ``message.timestamp.before.max.ms`` and
    ``message.timestamp.after.max.ms`` say (``LogValidator.validateTimestamp``; KIP-32, KIP-937, KIP-1030).
    """
    if request.kind >= ABORT:
        return KafkaError.NONE
    rules = log.rules
    alone = not profile.epoch_truncation and request.codec == 0
    message = -(-request.size // max(1, request.records)) if alone else request.size
    if message > rules.max_message:
        return KafkaError.MESSAGE_TOO_LARGE
    if rules.compact and profile.compaction_needs_keys and lacks_key(log.lineages.keys, request.client, request.names):
        return KafkaError.INVALID_RECORD if profile.invalid_record else KafkaError.CORRUPT_MESSAGE
    stamp = request.timestamp_us
    oldest = stamp if request.oldest_us == UNTOLD else request.oldest_us
    known = not rules.log_append_time and stamp != UNTOLD
    if known and (oldest < wall - rules.oldest_us or stamp > wall + rules.newest_us):
        return KafkaError.INVALID_TIMESTAMP
    if request.size > rules.segment_bytes:
        return KafkaError.RECORD_LIST_TOO_LARGE
    return KafkaError.NONE
