"""A member whose application reads, processes and writes: one record to another topic for each that it was handed.

With transactions the offsets of what a poll handed out are committed together with what came out of it, so both are
there once, or neither (exactly once). The offsets go in the name of the member as it was when it last joined
(``ConsumerGroupMetadata``, KIP-447): who has been left behind by a rebalance is refused, and aborts. After an abort the
application goes back to what is committed, as Kafka's ``ExactlyOnceMessageProcessor`` does; a fatal error ends it.

Without transactions it waits for its output and then commits as any application: what was written before a crash and
not committed is written again (at least once). If some of it failed, it goes back to the poll's first records.
"""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.clients.consumer.consumer import CLOSED, CLOSING, DELIVERING, NO_RACKS, POLLING, STARTING, Consumer
from cluster_model.clients.consumer.fetcher import PolledRecords
from cluster_model.clients.consumer.membership import STABLE
from cluster_model.clients.consumer.record_handler import RETRY
from cluster_model.clients.producer.application_producers import FATAL, WRITTEN, Output, TransactionalOutput
from cluster_model.clients.producer.transaction_manager import TransactionOffsets
from cluster_model.protocol.events import ConsumerFailed
from cluster_model.protocol.messages import PartitionState
from cluster_model.spec.cluster_spec import Failing

ABORTED: Final = "transaction aborted"
"""Why an application goes back to records ..."""
NOT_SENT: Final = "output not written"
"""... and why without transactions."""
FENCED: Final = "ProducerFencedException"


class ReadProcessWrite(Consumer):
    """The consumer's node; the producer has one of its own."""

    __slots__ = ("_identity", "_offsets", "_written", "output")

    output: Output

    def __init__(self, *parts: Any) -> None:
        """``parts`` are those of every consumer; :meth:`write_with` is to follow."""
        super().__init__(*parts)
        self._identity: tuple[int, str] = (-1, "")
        """Generation and member id of the last assignment that was taken over."""
        self._offsets: tuple[tuple[str, int], ...] = ()
        """Partition → the offset behind what the last poll handed out."""
        self._written = False
        """The output of what is in hand is written."""

    def write_with(self, output: Output) -> None:
        """Have the producer; before :meth:`begin`."""
        self.output = output
        output.told = self._told

    def begin(self, states: tuple[PartitionState, ...], racks: Mapping[int, str] = NO_RACKS) -> None:
        """Start; polls begin when ``initTransactions`` has returned."""
        super().begin(states, racks)
        if not self.output.ready:
            self._phase = STARTING

    def _go_on(self) -> None:
        if self._phase != STARTING or self.output.ready:
            super()._go_on()

    def _poll(self, now: int) -> bool:
        handed = super()._poll(now)
        self._learn_identity()
        return handed

    def _learn_identity(self) -> None:
        member = None if self.coordination is None else self.coordination.member
        if member is not None and member.state == STABLE:
            self._identity = (member.generation, member.member_id)

    def _hand_out(self, handed: list[PolledRecords], now: int) -> None:
        ends = self._positions.offsets
        self._offsets = tuple([(each.partition, ends[each.partition]) for each in handed])
        super()._hand_out(handed, now)

    def _processed(self, now: int) -> None:
        if self._written:
            self._written = False
            super()._processed(now)
            return
        if self.handling.broke:
            if self.handling.broke == RETRY:
                self._go_back()
            else:
                self._thrown(now)
            return
        self._phase = DELIVERING
        self.output.write(self.handling.processed, self._group_offsets())

    def _group_offsets(self) -> TransactionOffsets:
        coordination = self.coordination
        if coordination is None:
            return TransactionOffsets(self.group, ())
        settings = coordination.settings
        if settings.modern:
            # The thread in the background keeps the epoch up to date between polls.
            self._learn_identity()
        offsets = coordination.commits.named(dict(self._offsets))
        return TransactionOffsets(self.group, offsets, *self._identity, settings.instance)

    def _told(self, outcome: str) -> None:
        """What became of the output; empty: it is ready for the first."""
        if outcome == FATAL:
            self._stop(self._port.now)
        elif outcome == WRITTEN:
            self._written = True
            self._processed(self._port.now)
        elif outcome:
            self._go_back()
        self._go_on()

    def _go_back(self) -> None:
        """The records in hand are to be polled again."""
        left: tuple[Failing, ...] = self._hand.left(self._port.now)
        transactional = isinstance(self.output, TransactionalOutput)
        self.abandon(ABORTED if transactional else NOT_SENT)
        self.handling.failing = self.handling.skipped = self.handling.left = ()
        self.handling.broke = ""
        self._phase = POLLING
        if transactional:
            self._positions.to_committed()
            return
        # The first of a partition is what counts.
        for partition, first, _count in reversed(left):
            self._positions.seek(partition, first)

    def _stop(self, now: int) -> None:
        if self._phase == STARTING:
            self.failed = FENCED
            self._emit(ConsumerFailed(now, self.name, self.group, FENCED))
            self._end()
        elif self._phase not in (CLOSING, CLOSED):
            self._fail(FENCED)

    def save(self) -> tuple[Any, ...]:
        """All state, the producer's included."""
        return (super().save(), self._identity, self._offsets, self._written, self.output.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        consumer, self._identity, self._offsets, self._written, output = saved
        super().load(consumer)
        self.output.load(output)
