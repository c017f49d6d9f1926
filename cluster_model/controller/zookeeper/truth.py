"""What the ensemble commits, told to the omniscient record of partitions and to the trace.

No node reads that record. It is written the moment a majority of the ensemble has a write of a partition's state, before
anybody has been told.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.controller.committed import Committed, PartitionRecord
from cluster_model.controller.zookeeper.znodes import BROKER_IDS, StateNode, TopicNode, partition_at, topic_at
from cluster_model.events import BrokerFenced, BrokerRegistered, Event, IsrChanged, LeaderElected, PartitionOffline
from cluster_model.messages import NOBODY


class Truth:
    """The listener at the ensemble's commits."""

    __slots__ = ("_committed", "_emit", "_now")

    def __init__(self, committed: Committed, emit: Callable[[Event], None], now: Callable[[], int]) -> None:
        self._committed = committed
        self._emit = emit
        self._now = now

    def commit(self, path: str, data: tuple[Any, ...], version: int, _zxid: int, operation: str) -> None:
        """One node was created, set or deleted."""
        if path.startswith(f"{BROKER_IDS}/"):
            self._lives(int(path.rpartition("/")[2]), operation)
        partition = partition_at(path)
        if partition and operation != "delete":
            record = self._committed.records.get(partition)
            if record is not None and isinstance(data, StateNode):
                self._decided(record, data, version)
        topic = topic_at(path)
        if topic and operation == "set" and isinstance(data, TopicNode):
            self._assigned(topic, data)

    def _lives(self, broker: int, operation: str) -> None:
        if operation == "create":
            self._emit(BrokerRegistered(self._now(), broker))
        elif operation == "delete":
            self._emit(BrokerFenced(self._now(), broker, "its session with ZooKeeper is over"))

    def _assigned(self, topic: str, node: TopicNode) -> None:
        for index, replicas, _adding, _removing in node.partitions:
            record = self._committed.records.get(f"{topic}-{index}")
            if record is not None:
                record.assignment = replicas

    def _decided(self, record: PartitionRecord, node: StateNode, version: int) -> None:
        previous = record.isr
        leader, epoch = record.leader, record.leader_epoch
        record.leader, record.leader_epoch, record.isr = node.leader, node.leader_epoch, node.isr
        record.partition_epoch = version
        now, epochs = self._now(), (node.leader_epoch, version)
        same_isr = sorted(previous) == sorted(node.isr)
        if node.leader == NOBODY:
            if leader != NOBODY:
                self._emit(PartitionOffline(now, record.name, *epochs, node.isr))
        elif node.leader != leader or (node.leader_epoch > epoch and same_isr):
            self._emit(LeaderElected(now, record.name, node.leader, *epochs, node.isr, node.clean, node.by))
        if not same_isr:
            by = "leader" if node.by == "leader" else "controller"
            self._emit(IsrChanged(now, record.name, node.leader, *epochs, node.isr, previous, by))
