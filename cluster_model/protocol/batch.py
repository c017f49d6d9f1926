"""A batch of records as a leader wrote it, with the kinds of batches (Kafka's RecordBatch)."""

from typing import Final, NamedTuple

PLAIN: Final = 0


TRANSACTIONAL: Final = 1


ABORT: Final = 2


COMMIT: Final = 3
"""Kinds of batches (bits 4 and 5 of a batch's attributes, KIP-98). From ABORT on they are control batches: markers,
one offset each."""


UNTOLD: Final = -1
"""``timestamp_us`` of a batch that says none. Any other is one, from before the session began if negative."""


class Batch(NamedTuple):
    """Records written together. ``sequence`` numbers the client's records in this partition, from 0.

    ``producer_id`` is -1 without idempotence. ``name`` labels the records of a hand-stepped trace. ``timestamp_us`` is
    that of its newest record, by the producer's clock (CreateTime, KIP-32) or the leader's (LogAppendTime); -1 in the
    formats before. ``size`` is as compressed with ``codec`` (bits 0 to 2 of a batch's attributes). Kafka's
    own sequence is ``sequence - origin``: it begins anew with every ``producer_epoch``. ``coordinator_epoch`` is a
    marker's, -1 of any other ``kind``.
    """

    base: int
    records: int
    size: int
    appended_us: int
    client: str
    producer_id: int
    sequence: int
    acks: int
    name: tuple[str, ...] = ()
    timestamp_us: int = -1
    codec: int = 0
    producer_epoch: int = -1
    origin: int = 0
    kind: int = PLAIN
    coordinator_epoch: int = -1

    @property
    def end(self) -> int:
        """Offset behind the last record."""
        return self.base + self.records


EpochEntry = tuple[int, int]
"""(epoch, its first offset)."""
