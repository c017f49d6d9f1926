"""The way of a transactional producer's requests to its coordinators, and of their answers back to its manager."""

from typing import Any, Final

from cluster_model.clients.coordinator_connection import CoordinatorLink
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.transaction_manager import Rules, TransactionManager
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import GROUP, TRANSACTION, FindCoordinatorResponse, TxnOffsetCommitResponse
from cluster_model.protocol.messages import InitProducerIdResponse
from cluster_model.protocol.transaction_messages import (
    FIRST_BUMPING,
    FIRST_IMPLICIT,
    FIRST_VERIFIED,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
)
from cluster_model.protocol.versions import Profile

TIMER: Final = "transaction request"
_OF_GROUPS: Final = 1 << 30
"""Requests to groups' coordinators are numbered from here on: answers are told apart by their number alone."""
_FIRST_ABORTABLE: Final = (3, 8, 0)
"""Requests that know TRANSACTION_ABORTABLE (KIP-890)."""


def rules_of(profile: Profile, config: ProducerConfig) -> Rules:
    """What a client of that age does on a cluster of this one."""
    era = config.era
    number = min(era.number, profile.number)
    epochs = era.offset_fencing == "transactions 2" and profile.transactions_v2
    if epochs:
        versions = (FIRST_IMPLICIT, FIRST_BUMPING, FIRST_BUMPING)
    elif number >= _FIRST_ABORTABLE:
        versions = (FIRST_VERIFIED, FIRST_BUMPING - 1, FIRST_BUMPING - 1)
    else:
        versions = (9, FIRST_BUMPING - 2, FIRST_BUMPING - 2)
    return Rules(
        bumps=era.bumps_epoch and profile.number >= (2, 5, 0),
        epochs=epochs,
        fenced_by_leaders=number < (2, 7, 0),
        members=era.offset_fencing != "none" and profile.stable_offsets,
        versions=versions,
    )


class Transactions:
    """Asks one thing after the other."""

    __slots__ = ("_alarm", "_groups", "_link", "_metadata", "_port", "_timing", "manager")

    def __init__(self, port: Port, config: ProducerConfig, metadata: Metadata, manager: TransactionManager) -> None:
        self._port = port
        self._metadata = metadata
        self._timing = (config.backoff_us, config.request_timeout_us)
        self.manager = manager
        self._link = CoordinatorLink(port, metadata, config.transactional_id, self._timing, TRANSACTION)
        self._groups: dict[str, CoordinatorLink] = {}
        self._alarm = Alarm(port, TIMER)

    def _group(self, group: str) -> CoordinatorLink:
        link = self._groups.get(group)
        if link is None:
            first = _OF_GROUPS * (len(self._groups) + 1)
            link = self._groups[group] = CoordinatorLink(self._port, self._metadata, group, self._timing, GROUP, first)
        return link

    def _links(self) -> list[CoordinatorLink]:
        return [self._link, *self._groups.values()]

    def busy(self, broker: int) -> bool:
        """Whether a request to a broker is unanswered."""
        return any(link.busy(broker) for link in self._links())

    def pump(self, *, idle: bool) -> None:
        """Ask what is to be asked; ``idle``: no batch is without an outcome."""
        manager = self.manager
        now = self._port.now
        if manager.lost_coordinator:
            lost = self._link if manager.lost_coordinator == "own" else self._group(manager.lost_coordinator)
            lost.unknown()
            self._metadata.refresh()
            manager.lost_coordinator = ""
        ask = manager.next(now, idle=idle)
        wanted: list[CoordinatorLink] = []
        if ask is not None:
            link = self._group(ask.group) if ask.group else self._link
            if link.known:
                link.ask(ask.kind, manager.sent(ask))
            else:
                link.find()
                wanted.append(link)
        self._rearm(wanted, now)

    def _rearm(self, wanted: list[CoordinatorLink], now: int) -> None:
        times = [self.manager.due(now)]
        times += [link.due() for link in self._links() if link in wanted or link.waits]
        due = [at for at in times if at >= 0]
        if due:
            self._alarm.want(min(due))

    def rang(self) -> list[int]:
        """The alarm: brokers that have not answered in time; the caller pumps."""
        if not self._alarm.rang():
            return []
        now = self._port.now
        return list(dict.fromkeys(broker for link in self._links() for broker in link.overdue(now)))

    def lost(self, broker: int) -> None:
        """The connection to a broker broke."""
        for link in self._links():
            if link.lost(broker):
                self.manager.unanswered(self._port.now)

    def receive(self, message: Any) -> bool:
        """Handle an answer; False if it is none of a coordinator's."""
        if isinstance(message, FindCoordinatorResponse):
            for link in self._links():
                link.found(message)
            return True
        if not isinstance(
            message,
            InitProducerIdResponse | AddPartitionsToTxnResponse | AddOffsetsToTxnResponse | EndTxnResponse
            | TxnOffsetCommitResponse,
        ):  # fmt: skip
            return False
        if any(link.take(message.correlation) for link in self._links()) and self.manager.asking is not None:
            self._take(message)
        return True

    def _take(self, message: Any) -> None:
        now = self._port.now
        if isinstance(message, TxnOffsetCommitResponse):
            errors = [KafkaError(error) for _partition, error in message.partitions if error]
            self.manager.answered(errors[0] if errors else KafkaError.NONE, now)
        elif isinstance(message, InitProducerIdResponse | EndTxnResponse):
            self.manager.answered(KafkaError(message.error), now, message.producer_id, message.producer_epoch)
        else:
            self.manager.answered(KafkaError(message.error), now)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        groups = tuple([(group, link.save()) for group, link in self._groups.items()])
        return (self.manager.save(), self._link.save(), groups, self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        manager, link, groups, alarm = saved
        self.manager.load(manager)
        self._link.load(link)
        self._groups.clear()
        for group, state in groups:
            self._group(group).load(state)
        self._alarm.load(alarm)
