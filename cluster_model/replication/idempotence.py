"""What a leader remembers of idempotent producers (``ProducerStateManager``, KIP-98): their last five batches each."""

from typing import Final

from cluster_model.errors import KafkaError
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.rules import NEVER
from cluster_model.profiles import Profile

REMEMBERED: Final = 5
"""Batches kept per producer (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``)."""
SEQUENCES: Final = 1 << 31
"""A sequence goes from 2**31 - 1 on to 0 (``DefaultRecordBatch.incrementSequence``)."""
EXPIRY_CHECK_US: Final = 600_000_000
"""How often producers that have been silent for too long are forgotten: at full ten minutes of the session's time."""

_Kept = tuple[int, int, int]
"""(first sequence, last sequence, base offset)."""
_Entry = tuple[int, int, tuple[_Kept, ...]]
"""(epoch, when it last wrote, its last batches in that epoch)."""

NONE: Final = KafkaError.NONE


class ProducerMemory:
    """Epochs and sequences by producer id, rebuilt from the log by each new leader."""

    __slots__ = ("_expiry_us", "_last")

    def __init__(self, expiry_us: int = NEVER) -> None:
        """``expiry_us``: silence after which a producer is forgotten (``producer.id.expiration.ms``)."""
        self._last: dict[int, _Entry] = {}
        self._expiry_us = expiry_us

    def rebuild(self, log: ReplicaLog, snapshot: int = 0) -> None:
        """Read what the log says. Below ``snapshot`` a file said it: it keeps the last batch of each producer only."""
        self._last.clear()
        reading_file = snapshot > 0
        for _lineage, batch, start, end in log.batches():
            if reading_file and start >= snapshot:
                self._keep_last_only()
                reading_file = False
            if batch.producer_id >= 0 and batch.end == end:
                first = (batch.sequence - batch.origin) % SEQUENCES
                self.note(
                    batch.producer_id, batch.producer_epoch, first, batch.records, batch.base, batch.appended_us
                )  # fmt: skip
        if reading_file:
            self._keep_last_only()

    def _keep_last_only(self) -> None:
        for producer_id, (epoch, at, kept) in self._last.items():
            self._last[producer_id] = (epoch, at, kept[-1:])

    def note(self, producer_id: int, epoch: int, first: int, count: int, base: int, now: int) -> None:
        """A batch was appended; a new epoch begins with nothing remembered."""
        entry = self._last.get(producer_id)
        one = (first, (first + count - 1) % SEQUENCES, base)
        if entry is None or entry[0] != epoch:
            self._last[producer_id] = (epoch, now, (one,))
        else:
            self._last[producer_id] = (epoch, now, (*entry[2][1 - REMEMBERED :], one))

    def follows(self, producer_id: int, epoch: int, first: int, now: int) -> bool:
        """Whether a batch is plainly the next one of its producer; any other needs :meth:`judge`."""
        entry = self._last.get(producer_id)
        return (
            entry is not None
            and entry[0] == epoch
            and first == (entry[2][-1][1] + 1) % SEQUENCES
            and now - entry[1] < self._expiry_us
        )

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
            strict = (1, 0, 0) <= profile.number < (2, 5, 0)
            return (KafkaError.UNKNOWN_PRODUCER_ID if strict and first else NONE), -1
        stored, _at, kept = entry
        last = (first + count - 1) % SEQUENCES
        if epoch == stored:
            for known_first, known_last, base in kept:
                if known_first == first and known_last == last:
                    return NONE, base
        if epoch < stored:
            return KafkaError.INVALID_PRODUCER_EPOCH, -1
        if first == (0 if epoch > stored else (kept[-1][1] + 1) % SEQUENCES):
            return NONE, -1
        if profile.number[:2] == (1, 0) and epoch == stored and last < kept[0][0]:
            return KafkaError.DUPLICATE_SEQUENCE_NUMBER, -1
        return KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, -1

    def _known(self, producer_id: int, now: int) -> _Entry | None:
        """What is known of a producer that has not been silent for too long at the last look."""
        entry = self._last.get(producer_id)
        looked_at = now - now % EXPIRY_CHECK_US
        if entry is not None and looked_at - entry[1] >= self._expiry_us:
            del self._last[producer_id]
            return None
        return entry

    def save(self) -> tuple[tuple[int, _Entry], ...]:
        """All state."""
        return tuple(self._last.items())

    def load(self, saved: tuple[tuple[int, _Entry], ...]) -> None:
        """Undo of :meth:`save`."""
        self._last = dict(saved)
