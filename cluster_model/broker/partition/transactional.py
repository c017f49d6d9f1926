"""What a leader says of batches with a producer id: idempotent ones, those of transactions, and markers (KIP-98)."""

from cluster_model.broker.partition.producer_state import SEQUENCES, ProducerMemory
from cluster_model.protocol.batch import ABORT, PLAIN
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.versions import Profile

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
