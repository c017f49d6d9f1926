"""A cluster with groups of the consumer protocol, whose members are real consumers that start and stop."""

from collections.abc import Callable
from typing import Any

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import CLOSED, Consumer
from cluster_model.clients.consumer.consumer_protocol import ConsumerGroupClient
from cluster_model.coordinators.group.consumer_group_manager import ConsumerGroups
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroup
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.events import Event
from cluster_model.protocol.group_messages import ConsumerGroupHeartbeatResponse
from cluster_model.spec.cluster_spec import OFFSETS, Application, coordinator_partition
from tests.cluster_model.coordinators.group.members import Talk

FIRST = 3_601


class ModernTalk(Talk):
    """Cluster of the module; consumers have the nodes from :data:`FIRST` on, in order of creation."""

    def __init__(self, kafka: str = "4.0", *, config: dict[str, ConfigValue] | None = None, **more: Any) -> None:
        asked: dict[str, ConfigValue] = {} if kafka >= "4" else {
            "group.coordinator.rebalance.protocols": "classic,consumer"
        }  # fmt: skip
        super().__init__(kafka, config={**asked, **(config or {})}, **more)
        self.consumers: dict[str, Consumer] = {}
        self.listen: Callable[[Event], None] = self.cluster.emit
        """Called with every event of a consumer."""
        self.heard: dict[str, int] = {}
        """Consumer → time of the last heartbeat that was answered without error."""

    def consumer(
        self, name: str, *, instance: str = "", pattern: str = "", processing_us: int = 0, **config: ConfigValue
    ) -> Consumer:
        """Start a new member of ``g``, which reads ``orders`` from the start."""
        cluster = self.cluster
        given: dict[str, ConfigValue] = {"group.protocol": "consumer", "auto.offset.reset": "earliest"}
        given |= {key.replace("_", "."): value for key, value in config.items()}
        node = FIRST + len(self.consumers)
        consumer = Consumer(
            NodeContext(cluster.network, node), name, "g", cluster.profile, ConsumerConfig.of(cluster.profile, given),
            (),
            (1, 2, 3), Application(processing_us), cluster.epoch_branches, self._tell, 0,
            cluster.streams.named(f"retry:{name}"),
        )  # fmt: skip
        stream = cluster.streams.named(f"member:{name}")
        topics = () if pattern else ("orders",)
        consumer.subscribe(GroupSettings.of(cluster.profile, given, instance), topics, pattern, stream)
        self.consumers[name] = consumer
        cluster.network.add(node, name, consumer)
        process = cluster.network.processes[node]
        hear = self._hearing(name, process.receive)
        process.receive = self._watching(name, hear)  # type: ignore[assignment]
        consumer.begin(tuple(cluster.brokers[1].states.values()))
        return consumer

    def _tell(self, event: Event) -> None:
        self.listen(event)

    def _hearing(self, name: str, receive: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        def hear(source: int, message: Any) -> None:
            if isinstance(message, ConsumerGroupHeartbeatResponse) and not message.error:
                member = member_of(self.consumers[name]).member
                if member._heartbeat_id == message.correlation_id:
                    self.heard[name] = member._sent_at
            receive(source, message)

        return hear

    def node(self, name: str) -> int:
        """Return the node of a consumer."""
        return FIRST + list(self.consumers).index(name)

    @property
    def owner(self) -> int:
        """Return the broker that is to coordinate the group."""
        return self.cluster.query.leader(f"{OFFSETS}-{coordinator_partition('g', 3)}")

    @property
    def host(self) -> ConsumerGroups:
        """Return the groups at its coordinator."""
        return self.cluster.coordinators[self.owner].consumer_groups

    @property
    def group(self) -> ConsumerGroup:
        """Return the group at its coordinator."""
        return self.host.groups["g"]

    def owned(self) -> dict[str, tuple[str, ...]]:
        """Return the partitions that each running consumer owns."""
        return {
            name: consumer.assignment
            for name, consumer in self.consumers.items()
            if consumer._phase != CLOSED and not consumer.failed
        }


def member_of(consumer: Consumer) -> ConsumerGroupClient:
    """Return the membership of a consumer."""
    assert isinstance(consumer.coordination, ConsumerGroupClient)
    return consumer.coordination
