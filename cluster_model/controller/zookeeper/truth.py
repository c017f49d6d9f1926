"""What the ensemble commits, told to the omniscient registry of topics and to the trace.

No node reads that. It is written the moment a majority of the ensemble has a write, before anybody has been told.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.controller.committed_state import TopicRegistry
from cluster_model.controller.rules.change import Change
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_IDS,
    TopicNode,
    broker_config_path,
    config_path,
    partition_at,
    state_of,
    topic_at,
    topic_of,
    topic_with_config_at,
)
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered, Event


class Truth:
    """The listener at the ensemble's commits."""

    __slots__ = ("_config", "_emit", "_now", "_registry", "_topic_node")

    def __init__(
        self,
        registry: TopicRegistry,
        emit: Callable[[Event], None],
        now: Callable[[], int],
        topic_node: Callable[[str], TopicNode],
        config: Callable[[str], dict[str, Any]],
    ) -> None:
        """``topic_node`` and ``config`` read what is committed: a topic's node, what stands at a path."""
        self._registry = registry
        self._emit = emit
        self._now = now
        self._topic_node = topic_node
        self._config = config

    def commit(self, path: str, data: Any, version: int, _zxid: int, operation: str) -> None:
        """One node was created, set or deleted."""
        if path.startswith(f"{BROKER_IDS}/"):
            self._lives(int(path.rpartition("/")[2]), operation)
        elif partition_at(path):
            if operation != "delete":
                self._decided(partition_at(path), data, version)
        elif topic_at(path):
            self._topic(topic_at(path), data, operation)
        elif topic_with_config_at(path):
            topic = topic_with_config_at(path)
            if operation == "set" and self._registry.partitions(topic):
                self._registry.configure(topic, dict(data), self._now())
        elif path == broker_config_path("") and operation != "delete":
            self._registry.configure_brokers(dict(data))

    def _lives(self, broker: int, operation: str) -> None:
        if operation == "create":
            self._emit(BrokerRegistered(self._now(), broker))
        elif operation == "delete":
            self._emit(BrokerFenced(self._now(), broker, "its session with ZooKeeper is over"))

    def _decided(self, partition: str, node: Any, version: int) -> None:
        now = self._now()
        topic = topic_of(partition)
        state = state_of(partition, self._topic_node(topic), node, version)
        if partition in self._registry.committed.records:
            self._registry.committed.commit(Change(state, node.by, node.clean), now)
        else:
            first = not self._registry.partitions(topic)
            self._registry.created((state,), self._config(config_path(topic)) if first else None, now)

    def _topic(self, topic: str, node: Any, operation: str) -> None:
        if operation == "delete":
            if self._registry.partitions(topic):
                self._registry.delete(topic, self._now())
        elif operation == "set":
            for number, replicas, adding, removing in node.partitions:
                record = self._registry.committed.records.get(f"{topic}-{number}")
                if record is not None:
                    state = record.state._replace(replicas=replicas, adding=adding, removing=removing)
                    self._registry.committed.commit(Change(state, "reassignment"), self._now())
