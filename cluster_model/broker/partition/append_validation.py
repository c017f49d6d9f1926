"""Checks of a leader before it appends: its ISR, the batch, then the producer id and its transaction.

``Partition.appendRecordsToLeader``, then ``UnifiedLog.analyzeAndValidateRecords`` with ``LogValidator``, then
``ProducerAppendInfo``.
"""

from typing import TYPE_CHECKING, Final

from cluster_model.broker.partition.producer_state import SEQUENCES, ProducerMemory
from cluster_model.log.record_keys import lacks_key
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.configs import NEVER
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.records import ABORT, PLAIN, UNTOLD
from cluster_model.protocol.versions import Profile

if TYPE_CHECKING:
    from cluster_model.broker.partition.partition import Leadership


# Checks of batches with a producer id: idempotent, transactional, and markers (KIP-98).


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


NONE: Final = KafkaError.NONE
"""Looking a member up costs more than the rest of some of these lines."""
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
