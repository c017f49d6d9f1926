"""What a KRaft cluster has decided, told to whoever may know everything: as soon as a quorum node sees it committed."""

from collections.abc import Callable

from cluster_model.controller.committed_state import TopicRegistry
from cluster_model.controller.kraft.metadata import Base, MetadataImage
from cluster_model.controller.kraft.records import (
    FENCE,
    UNFENCE,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    topic_of,
)
from cluster_model.controller.rules.change import Change
from cluster_model.protocol.config_defs import MIN_ISR
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered, Event
from cluster_model.protocol.messages import PartitionState


class Truth:
    """Follows the log's committed records; the first node to see them tells it."""

    __slots__ = ("_emit", "_now", "_registry", "image")

    def __init__(
        self, base: Base, registry: TopicRegistry, now: Callable[[], int], emit: Callable[[Event], None]
    ) -> None:
        self.image = MetadataImage(base)
        self._registry = registry
        self._now = now
        self._emit = emit

    def told(self, base_offset: int, records: tuple[Record, ...]) -> None:
        """A node has seen a batch committed; only the first one brings news."""
        if base_offset < self.image.until:
            return
        for offset, record in enumerate(records, base_offset):
            self._before(record)
            cleared = self.image.with_elr(record.topic) if isinstance(record, ClearElrRecord) else ()
            self.image.replay(offset, (record,))
            self._after(record, records)
            for partition in cleared:
                change = Change(self.image.partitions[partition], f"{MIN_ISR} changed")
                self._registry.committed.commit(change, self._now())

    def _before(self, record: Record) -> None:
        if isinstance(record, RemoveTopicRecord):
            self._registry.delete(record.name, self._now())

    def _after(self, record: Record, records: tuple[Record, ...]) -> None:
        now = self._now()
        if isinstance(record, PartitionChangeRecord):
            self._registry.committed.commit(Change(record.state, record.by, record.clean), now)
        elif isinstance(record, PartitionRecord):
            self._created(record.state, now)
        elif isinstance(record, BrokerRegistrationChangeRecord):
            if record.fenced == FENCE:
                self._emit(BrokerFenced(now, record.broker, record.why))
            elif record.fenced == UNFENCE:
                self._emit(BrokerRegistered(now, record.broker))
        elif isinstance(record, ConfigRecord):
            self._configured(record, records)
        elif isinstance(record, RegisterBrokerRecord) and not record.fenced:
            self._emit(BrokerRegistered(now, record.broker))

    def _created(self, state: PartitionState, now: int) -> None:
        topic = topic_of(state.partition)
        first = not self._registry.partitions(topic)
        self._registry.created((state,), dict(self.image.config("topic", topic)) if first else None, now)

    def _configured(self, record: ConfigRecord, records: tuple[Record, ...]) -> None:
        """Settings are told of once for a batch, by its last record of a resource; a new topic's with its creation."""
        same = [other for other in records if isinstance(other, ConfigRecord) and other[:2] == record[:2]]
        if same[-1] is not record:
            return
        if record.type == "topic":
            if self._registry.partitions(record.name):
                self._registry.configure(record.name, dict(self.image.config("topic", record.name)), self._now())
        elif not record.name:
            self._registry.configure_brokers(dict(self.image.config("broker", "")))
