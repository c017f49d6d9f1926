"""An application that writes in transactions: when it begins, commits and aborts them, and what it makes of errors.

After an abortable error it aborts and goes on with its next records. A fatal one ends it. A commit that is not answered
in ``max.block.ms`` is called again, for nobody knows whether the first call had effect.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.transaction_manager import State, TransactionManager
from cluster_model.clients.producer.transactional_books import TransactionalBooks
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.events import (
    Event,
    ProducerFenced,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionLeftOpen,
    TransactionOverdue,
    TransactionUnknown,
)
from cluster_model.spec.cluster_spec import TransactionPlan

TIMER: Final = "transaction"
COMMIT: Final = "commit"
ABORT: Final = "abort"
USUAL_US: Final = 100_000
"""Between commits, where nothing else is said: ``commit.interval.ms`` of Kafka Streams with exactly-once."""


class Transacting:
    """One application's transactions."""

    __slots__ = (
        "_alarm", "_asked_at", "_began_at", "_block_us", "_books", "_emit", "_id", "_manager", "_name", "_overdue",
        "_plan", "_port", "_pump", "_reason", "_wanted", "begun", "ended", "hanging", "on_end",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        name: str,
        plan: TransactionPlan,
        config: ProducerConfig,
        manager: TransactionManager,
        books: TransactionalBooks,
        pump: Callable[[], None],
        emit: Callable[[Event], None],
    ) -> None:
        """``pump`` has the I/O thread do what it can."""
        if not plan.records and not plan.every_us:
            plan = plan._replace(every_us=USUAL_US)
        self._port = port
        self._name = name
        self._plan = plan
        self._id = config.transactional_id
        self._block_us = config.block_us
        self._manager = manager
        self._books = books
        self._pump = pump
        self._emit = emit
        self._alarm = Alarm(port, TIMER)
        self.begun = 0
        """Transactions so far."""
        self.ended = False
        """By a fatal error."""
        self.hanging = False
        """The open transaction is left so."""
        self.on_end: Callable[[str], object] = _nothing
        """Told what became of a transaction: commit, abort, or empty for neither."""
        self._began_at = -1
        self._wanted = ""
        """What the application waits for."""
        self._reason = ""
        self._asked_at = -1
        self._overdue = False

    # -- what the producer asks -------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """The application begins: ``initTransactions``."""
        self._manager.initialize()
        self._pump()

    def open(self) -> bool:
        """Whether records can be handed over now; begins a transaction if it is time for one."""
        manager = self._manager
        if manager.state is State.READY and not self._wanted and not self.hanging:
            manager.begin()
            self.begun += 1
            now = self._port.now
            self._began_at = now
            detail = f"{self._id}, producer id {manager.producer_id}, epoch {manager.epoch}"
            self._emit(TransactionBegun(now, self._name, detail))
            if self._plan.every_us:
                self._alarm.want(now + self._plan.every_us)
        return manager.state is State.IN_TRANSACTION and not self.hanging

    @property
    def idle(self) -> bool:
        """Whether nothing is left to be ended."""
        return not self._wanted and (self.hanging or self._manager.state is not State.IN_TRANSACTION)

    @property
    def waiting(self) -> bool:
        """Whether the application waits for a transaction's end: nothing lingers."""
        return bool(self._wanted)

    def rang(self) -> None:
        """A timer; :meth:`look` is to follow."""
        self._alarm.rang()

    def finish(self) -> None:
        """The application ends: what is open is ended, unless it is to hang."""
        if self._manager.state is State.IN_TRANSACTION and not self.hanging and not self._wanted:
            self._end()

    def look(self) -> None:
        """Go on as far as it can; the application is not in ``send``."""
        manager = self._manager
        if self.ended:
            return
        if manager.state is State.FATAL_ERROR:
            self._die()
            return
        if manager.state is State.ABORTABLE_ERROR:
            self._reason = manager.error.name
            self._call(ABORT)
        elif self._wanted and manager.state is State.READY:
            self._over()
        elif not self._wanted and manager.state is State.IN_TRANSACTION and not self.hanging and self._is_due():
            self._end()
        if self._wanted and not self._overdue and self._port.now >= self._asked_at + self._block_us:
            self._overdue = True
            waited = self._port.now - self._asked_at
            self._emit(TransactionOverdue(self._port.now, self._name, self._id, self._wanted, waited))

    def _is_due(self) -> bool:
        plan = self._plan
        by_count = plan.records and self._books.open_records >= plan.records
        return bool(by_count or (plan.every_us and self._port.now >= self._began_at + plan.every_us))

    # -- the end of a transaction -----------------------------------------------------------------------------------

    def _end(self) -> None:
        plan = self._plan
        if self.begun == plan.hang:
            self.hanging = True
            self._emit(TransactionLeftOpen(self._port.now, self._name, self._id, self._books.open_records))
            return
        self._reason = ""
        self._call(ABORT if plan.abort and self.begun % plan.abort == 0 else COMMIT)

    def _call(self, wanted: str) -> None:
        now = self._port.now
        self._wanted = wanted
        self._asked_at = now
        self._overdue = False
        self._alarm.want(now + self._block_us)
        if wanted == COMMIT:
            self._manager.commit()
        else:
            self._manager.abort()
        self._pump()
        self.look()

    def _over(self) -> None:
        wanted, self._wanted = self._wanted, ""
        now = self._port.now
        if wanted == COMMIT:
            count = self._books.committed(now)
            self._emit(TransactionCommitted(now, self._name, self._id, count, now - self._asked_at))
        else:
            count = self._books.undone(now)
            self._emit(TransactionAborted(now, self._name, self._id, count, self._reason))
        self.on_end(wanted)

    def given_up(self, error: str) -> None:
        """Nobody will hear of the open transaction's end: only where a commit was asked for can it be committed."""
        now = self._port.now
        if self._wanted == COMMIT and self._manager.end_sent:
            count = self._books.undecided(now, error)
            self._emit(TransactionUnknown(now, self._name, self._id, count, error))
        else:
            self._books.undone(now)
        self._wanted = ""

    def _die(self) -> None:
        """A fatal error."""
        self.ended = True
        manager, now = self._manager, self._port.now
        error = manager.error.name
        self.given_up(error)
        detail = f"{self._id}, producer id {manager.producer_id}, epoch {manager.epoch}"
        self._emit(ProducerFenced(now, self._name, detail, error))
        self.on_end("")

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.begun, self.ended, self.hanging, self._began_at, self._wanted, self._reason, self._asked_at,
            self._overdue, self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            self.begun, self.ended, self.hanging, self._began_at, self._wanted, self._reason, self._asked_at,
            self._overdue, alarm,
        ) = saved  # fmt: skip
        self._alarm.load(alarm)


def _nothing(_wanted: str) -> None:
    """Nobody wants to know."""
