"""How a transactional producer numbers its batches: nothing is sent outside of a transaction, and no gap is healed.

What an idempotent producer would go on after by itself, with a new epoch, costs a transactional one its transaction.
"""

from cluster_model.clients.producer.era import Era
from cluster_model.clients.producer.record_accumulator import Line, Outgoing
from cluster_model.clients.producer.sequence_numbers import FORGOTTEN, GAP, SEQUENCES, Sequences
from cluster_model.clients.producer.transaction_manager import State, TransactionManager
from cluster_model.protocol.errors import RETRIABLE, KafkaError


class TransactionalSequences(Sequences):
    """Its id and epoch are the manager's."""

    __slots__ = ("_manager",)

    def __init__(self, era: Era, manager: TransactionManager) -> None:
        super().__init__(era, on=True)
        self._manager = manager

    def allows(self, line: Line, head: Outgoing) -> bool:
        """Only to partitions of the transaction (``isSendToPartitionAllowed``), and not beside another request."""
        manager = self._manager
        if manager.state is State.FATAL_ERROR or manager.asking is not None or line.name not in manager.partitions:
            return False
        return super().allows(line, head)

    def may_retry(self, line: Line, batch: Outgoing, error: KafkaError, log_start: int) -> bool:
        """``TransactionManager.canRetry``."""
        if error is FORGOTTEN:
            if log_start == -1 or batch.renumbered:
                return True
            if line.last_offset < log_start:
                self._begin(line)
                return True
            return False
        if error is GAP:
            return line.unresolved < 0 and (batch.renumbered or batch.first != line.last_acked + 1)
        return error in RETRIABLE

    def gave_up(self, line: Line, batch: Outgoing, error: KafkaError, *, for_good: bool) -> None:
        """A batch has failed, and the transaction with it."""
        self._manager.batch_failed(error)
        if batch not in line.drained or self._manager.state is State.FATAL_ERROR:
            return
        place = line.drained.index(batch)
        del line.drained[place]
        if for_good:
            # What follows takes the numbers that have become free (``adjustSequencesDueToFailedBatch``).
            line.next_sequence = (line.next_sequence - batch.records) % SEQUENCES
            for later in line.drained[place:]:
                later.first -= batch.records
                later.renumbered = True
        elif batch.epoch == self.epoch and batch.producer_id == self.producer_id:
            line.unresolved = max(line.unresolved, batch.first + batch.records)
            self._unresolved[line.name] = line
            self.unsettled = True

    def settle(self) -> None:
        """Before anything is sent: where nothing is under way any more, a batch is there or it is not known."""
        for line in tuple(self._unresolved.values()):
            if line.drained:
                continue
            if line.next_sequence != line.last_acked + 1:
                self._manager.unresolved()
            line.unresolved = -1
            del self._unresolved[line.name]
        self.unsettled = bool(self._unresolved)
