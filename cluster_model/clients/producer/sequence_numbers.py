"""A producer's identity towards brokers, and what it makes of their refusals (``TransactionManager``, KIP-98, KIP-360).

The identity is (producer id, epoch). Each partition numbers its records for itself, and begins at 0 in every epoch.
"""

from typing import Any, Final

from cluster_model.clients.producer.record_accumulator import Outgoing, PartitionBatches
from cluster_model.protocol.errors import RETRIABLE, KafkaError
from cluster_model.protocol.versions import ClientProfile

MOST_EPOCHS: Final = 32_767
"""Epochs are 16 bits: behind the last one comes a new producer id."""
SEQUENCES: Final = 1 << 31

GAP: Final = KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
FORGOTTEN: Final = KafkaError.UNKNOWN_PRODUCER_ID


class Sequences:
    """Without idempotence it lets everything pass, and nothing is numbered."""

    __slots__ = ("_client", "_rewrite", "_unresolved", "epoch", "on", "producer_id", "unsettled")

    def __init__(self, client: ClientProfile, *, on: bool) -> None:
        self._client = client
        self.on = on
        self.producer_id = -1
        """-1: none yet, or not any more."""
        self.epoch = -1
        self._rewrite: dict[str, PartitionBatches] = {}
        """Partitions for which a new epoch has been asked for."""
        self._unresolved: dict[str, PartitionBatches] = {}
        self.unsettled = False
        """Whether :meth:`settle` may have something to do."""

    @property
    def ready(self) -> bool:
        """Whether there is an identity to send under, if one is needed."""
        return not self.on or self.producer_id >= 0

    def given(self, producer_id: int, epoch: int) -> None:
        """A broker gave an id."""
        self.producer_id, self.epoch = producer_id, epoch
        self._renumber()

    def _renumber(self) -> None:
        for line in self._rewrite.values():
            self._begin(line)
            line.unresolved = -1
            self._unresolved.pop(line.name, None)
        self._rewrite.clear()

    def allows(self, line: PartitionBatches, head: Outgoing) -> bool:
        """Whether the head of a line may be sent now (``shouldStopDrainBatchesForPartition``)."""
        if not self.on:
            return True
        if self.producer_id < 0:
            return False
        drained = line.drained
        if head.producer_id < 0:
            stale = line.producer_id != self.producer_id or line.epoch != self.epoch
            return line.unresolved < 0 and not (stale and drained)
        return not drained or drained[0] is head

    def stamp(self, line: PartitionBatches, batch: Outgoing) -> None:
        """Number a batch at its first attempt."""
        if line.producer_id != self.producer_id or line.epoch != self.epoch:
            self._begin(line)
        batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
        line.next_sequence = (line.next_sequence + batch.records) % SEQUENCES
        line.drained.append(batch)

    def _begin(self, line: PartitionBatches) -> None:
        """Number a line from 0 under the present identity (``startSequencesAtBeginning``)."""
        line.producer_id, line.epoch = self.producer_id, self.epoch
        line.next_sequence = 0
        line.last_acked = line.last_offset = -1
        for batch in line.drained:
            batch.producer_id, batch.epoch, batch.first = self.producer_id, self.epoch, line.next_sequence
            batch.renumbered = True
            line.next_sequence += batch.records

    def acked(self, line: PartitionBatches, batch: Outgoing, offset: int) -> None:
        """A batch is in the log."""
        drained = line.drained
        if drained and drained[0] is batch:
            del drained[0]
        elif batch in drained:
            drained.remove(batch)
        if batch.producer_id == line.producer_id and batch.epoch == line.epoch:
            last = batch.first + batch.records - 1
            if last > line.last_acked:
                line.last_acked = last
            if offset > line.last_offset:
                line.last_offset = offset

    def may_retry(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, log_start: int) -> bool:
        """Whether an attempt is followed by another, as far as the error goes (``TransactionManager.canRetry``)."""
        if error is FORGOTTEN and self.on:
            return self._may_retry_forgotten(line, batch, log_start)
        if error is GAP and self.on:
            next_in_line = batch.first == line.last_acked + 1
            if line.unresolved < 0 and (batch.renumbered or not next_in_line):
                return True
            if not self._client.bumps_epoch:
                return False
            if line.unresolved < 0 or batch.first == line.unresolved:
                self._want_epoch(line)
            return True
        return error in RETRIABLE

    def _may_retry_forgotten(self, line: PartitionBatches, batch: Outgoing, log_start: int) -> bool:
        """The broker has forgotten the producer: because retention took what it knew, if the log begins behind it."""
        if log_start == -1 or batch.renumbered:
            return True
        if self._client.bumps_epoch:
            self._want_epoch(line)
            return True
        if line.last_offset < log_start:
            self._begin(line)
            return True
        return False

    def _want_epoch(self, line: PartitionBatches) -> None:
        self._rewrite[line.name] = line
        self.unsettled = True

    def gave_up(self, line: PartitionBatches, batch: Outgoing, error: KafkaError, *, for_good: bool) -> None:
        """A batch has failed. ``for_good``: the broker refused it, so its sequence is free (``handleFailedBatch``).

        Otherwise it ran out of time or retries, and if it was ever sent its sequence may be taken.
        """
        if batch not in line.drained:
            return
        line.drained.remove(batch)
        if not self._client.bumps_epoch:
            if error in (GAP, FORGOTTEN):
                if batch.producer_id == self.producer_id:
                    self.producer_id = self.epoch = -1
                    self.unsettled = True
                return
        elif for_good:
            self._want_epoch(line)
            return
        if batch.epoch == self.epoch and batch.producer_id == self.producer_id:
            line.unresolved = max(line.unresolved, batch.first + batch.records)
            self._unresolved[line.name] = line
            self.unsettled = True

    def settle(self) -> None:
        """Before anything is sent: close what is unresolved, raise the epoch (``bumpIdempotentEpochAndResetId...``)."""
        for line in tuple(self._unresolved.values()):
            if line.drained:
                continue
            if line.next_sequence != line.last_acked + 1:
                self._want_epoch(line)
            line.unresolved = -1
            del self._unresolved[line.name]
        if self._rewrite and self.producer_id >= 0:
            if self._client.bumps_epoch and self.epoch < MOST_EPOCHS:
                self.epoch += 1
                self._renumber()
            else:  # The numbering begins anew with the id that is asked for now.
                self.producer_id = self.epoch = -1
        self.unsettled = bool(self._unresolved)

    def is_of_the_past(self, batch: Outgoing) -> bool:
        """Whether a retry carries an id that the producer has lost: before KIP-360 such a batch is dropped."""
        return (
            self.on
            and not self._client.bumps_epoch
            and 0 <= self.producer_id != batch.producer_id
            and batch.attempts > 0
        )

    def save(self) -> tuple[Any, ...]:
        """All state but the lines'."""
        return (self.producer_id, self.epoch, tuple(self._rewrite), tuple(self._unresolved), self.unsettled)

    def load(self, saved: tuple[Any, ...], lines: dict[str, PartitionBatches]) -> None:
        """Undo of :meth:`save`; the lines are loaded first."""
        self.producer_id, self.epoch, rewrite, unresolved, self.unsettled = saved
        self._rewrite = {name: lines[name] for name in rewrite}
        self._unresolved = {name: lines[name] for name in unresolved}
