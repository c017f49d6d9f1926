"""ListOffsets as a partition's leader answers it (``Partition.fetchOffsetForTimestamp``)."""

from cluster_model.broker.partition.partition import Replica
from cluster_model.log.offset_index import largest_timestamp, offset_before, offset_for_timestamp
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    ListOffsetsRequest,
    ListOffsetsResponse,
)

Answer = tuple[KafkaError, int, int]
"""(error, offset, timestamp); -1 where there is none."""

_UNKNOWN: Answer = (KafkaError.NONE, -1, -1)


def list_offset(replica: Replica | None, refused: KafkaError, request: ListOffsetsRequest, now: int) -> Answer:
    """The answer for one partition; ``refused`` is what the check of the asker's epoch gave.

    Consumers are told nothing at or above the high watermark, or by isolation the last stable offset, a follower the
    end of the log. A leader whose high watermark is still below the start of its own epoch does not know yet what is
    committed, and tells consumers so instead (KIP-207, 2.2).
    """
    if replica is None:
        return (KafkaError.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    leadership = replica.leadership
    if refused is not KafkaError.NONE or leadership is None:
        return (refused or KafkaError.NOT_LEADER_OR_FOLLOWER, -1, -1)
    timestamp = request.timestamp_us
    if timestamp == MAX_TIMESTAMP and replica.profile.number < (3, 0, 0):
        return (KafkaError.UNSUPPORTED_VERSION, -1, -1)
    if timestamp == EARLIEST:
        return (KafkaError.NONE, replica.log.log_start, -1)
    if timestamp == LATEST and request.replica != CONSUMER:
        return (KafkaError.NONE, replica.log.leo, -1)
    catching_up = replica.profile.offset_not_available and replica.hw < leadership.epoch_start
    late: Answer = (KafkaError.OFFSET_NOT_AVAILABLE, -1, -1)
    bound = replica.lso if request.isolation == READ_COMMITTED else replica.hw
    if timestamp == LATEST:
        return late if catching_up else (KafkaError.NONE, bound, -1)
    found = _by_time(replica, timestamp, bound, now)
    return late if found == _UNKNOWN and catching_up else found


def _by_time(replica: Replica, timestamp: int, bound: int, now: int) -> Answer:
    log = replica.log
    if replica.profile.number < (0, 10, 1):
        # Version 0 of the request (before KIP-79) knows segments only, by their files' age.
        return (KafkaError.NONE, min(offset_before(log, timestamp - replica.metadata.wall.ahead_us, now), bound), -1)
    found = largest_timestamp(log) if timestamp == MAX_TIMESTAMP else offset_for_timestamp(log, timestamp)
    if found is None or found.offset >= bound:
        return _UNKNOWN
    return (KafkaError.NONE, found.offset, found.timestamp_us)


def answer(replica: Replica | None, refused: KafkaError, request: ListOffsetsRequest, now: int) -> ListOffsetsResponse:
    """:func:`list_offset` as a message."""
    error, offset, timestamp = list_offset(replica, refused, request, now)
    epoch = -1 if replica is None or offset < 0 else _epoch_of(replica, request.timestamp_us, offset)
    return ListOffsetsResponse(request.correlation, request.partition, error, offset, timestamp, epoch)


def _epoch_of(replica: Replica, timestamp: int, offset: int) -> int:
    """The end's is the leader's own, that of any other offset the one that its record was written in."""
    return replica.leader_epoch if timestamp == LATEST else replica.log.epochs.epoch_at(offset)
