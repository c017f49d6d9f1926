"""The plane of ZooKeeper mode: an ensemble of servers, and a KafkaController in every broker."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.controller.cluster_parts import Parts
from cluster_model.controller.control_plane_interface import Server
from cluster_model.controller.view import ControllerRole, ControllerView
from cluster_model.controller.zookeeper.broker_side import ZooKeeperControl
from cluster_model.controller.zookeeper.forming import form
from cluster_model.controller.zookeeper.kafka_zk_client import CONTROLLER, TopicNode, broker_path, topic_path
from cluster_model.controller.zookeeper.truth import Truth
from cluster_model.controller.zookeeper.zk_admin_manager import Drawn
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import Streams
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.cluster_spec import ClusterSpec
from cluster_model.zookeeper.ensemble import ZooKeeperService
from cluster_model.zookeeper.peers import ServerState

_ROLES: Final[dict[ServerState, ControllerRole]] = {
    ServerState.LOOKING: "looking",
    ServerState.FOLLOWING: "follower",
    ServerState.LEADING: "leader",
}


class ZooKeeperPlane:
    """One per cluster."""

    def __init__(
        self,
        spec: ClusterSpec,
        parts: Parts,
        network: Network,
        streams: Streams,
        emit: Callable[[Event], None],
    ) -> None:
        self._spec = spec
        self._parts = parts
        self._network = network
        self._streams = streams
        self._emit = emit
        truth = Truth(parts.registry, emit, lambda: network.kernel.now, self._topic_node, self._config)
        self.service = ZooKeeperService(network, spec.zookeepers, on_commit=truth.commit)
        self.servers: dict[int, tuple[str, Server]] = dict(self.service.nodes)
        self.controls: dict[int, ZooKeeperControl] = {}

    def join(self, broker: Broker, port: Port, rack: str) -> ZooKeeperControl:
        """A broker's side."""
        control = ZooKeeperControl(
            broker, port, rack, self.service.servers, self._parts.profile, self._parts.config, dict(self._spec.config),
            self._emit, self._draw, lambda: tuple(self.controls),
        )  # fmt: skip
        self.controls[broker.id] = control
        return control

    def _draw(self, topic: str, brokers: int) -> Drawn:
        stream = self._streams.named(f"placement:{topic}")
        return Drawn(self._parts.registry.new_topic_id(), stream.below(brokers), stream.below(brokers))

    def _topic_node(self, topic: str) -> TopicNode:
        node: TopicNode = self.service.tree.nodes[topic_path(topic)].data  # type: ignore[assignment]
        return node

    def _config(self, path: str) -> dict[str, Any]:
        node = self.service.tree.nodes.get(path)
        return {} if node is None else dict(node.data)

    def begin(self) -> None:
        """Everybody registered, the broker with the lowest id controller in epoch 1, everything told."""
        form(self.service, self.controls, self._spec, self._parts.committed.records)

    def _newest(self) -> ZooKeeperControl | None:
        active = [control for control in self.controls.values() if control.controller.is_active]
        return max(active, key=lambda control: control.controller.work.context.epoch, default=None)

    def controllers(self) -> tuple[int, ...]:
        """Every broker, and the ensemble's servers, without which none of them can be it."""
        return tuple(self.controls)

    def active(self) -> int:
        """The broker that takes itself to be the controller."""
        newest = self._newest()
        return NOBODY if newest is None else newest.controller.work.broker_id

    def controller_epoch(self) -> int:
        """As it stands in ZooKeeper."""
        node = self.service.tree.nodes.get("/controller_epoch")
        return 0 if node is None else int(node.data[0])

    def view(self) -> tuple[ControllerView, ...]:
        """The servers, then the broker that is controller, and those that merely believe to be."""
        views = [self._server_view(number, name) for number, (name, _node) in self.service.nodes.items()]
        newest = self._newest()
        for broker, control in self.controls.items():
            if control.controller.is_active:
                role: ControllerRole = "active" if control is newest else "zombie"
                epoch = control.controller.work.context.epoch
                views.append(ControllerView(broker, f"broker {broker}", role, epoch, -1, -1))
        return tuple(views)

    def _server_view(self, number: int, name: str) -> ControllerView:
        node = self.service.server(number)
        role = _ROLES[node.state]
        if self._network.processes[number].state in (ProcessState.DOWN, ProcessState.OFF):
            role = "down"
        elif node.state is ServerState.LEADING and not node.leading.established:
            role = "candidate"
        store = node.store
        return ControllerView(number, name, role, store.current_epoch, store.last_zxid, store.committed)

    def is_live(self, broker: int) -> bool:
        """Whether its node is there."""
        return broker_path(broker) in self.service.tree.nodes

    @property
    def session_us(self) -> int:
        """``zookeeper.session.timeout.ms``."""
        return self._parts.config.session_us

    def is_shutting_down(self, broker: int) -> bool:
        """Whether the newest controller has it so."""
        newest = self._newest()
        return newest is not None and broker in newest.controller.work.context.shutting_down

    def broker_epoch(self, broker: int) -> int:
        """The czxid of its node (KIP-380)."""
        node = self.service.tree.nodes.get(broker_path(broker))
        return NOBODY if node is None else node.czxid

    def obeyed_epoch(self, broker: int) -> int:
        """The highest that any request to it had."""
        return self.controls[broker].obedience.controller_epoch

    def controller_known_to(self, broker: int) -> int:
        """Who the controller is by the last UpdateMetadata; a broker that takes itself to be it says so."""
        control = self.controls[broker]
        return broker if control.controller.is_active else control.obedience.controller

    def expire_session(self, broker: int) -> bool:
        """The ensemble ends its session: its ephemeral nodes go."""
        return self.service.expire_session(broker)

    def depose_controller(self) -> bool:
        """An operator deletes /controller, the session of who made it stands."""
        return self.service.delete(CONTROLLER)

    def hold_metadata(self, broker: int, fault: int, delay_us: int, *, cache_only: bool) -> None:
        """Of the controller's requests to it."""
        self.controls[broker].obedience.hold_metadata(fault, delay_us, cache_only=cache_only)

    def pass_metadata(self, broker: int, fault: int) -> None:
        """Undo of :meth:`hold_metadata`."""
        self.controls[broker].obedience.pass_metadata(fault)

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """An administrator's election: judged at once by what the controller knows, held by its event thread."""
        newest = self._newest()
        if newest is None:
            return KafkaError.LEADER_NOT_AVAILABLE
        return newest.controller.elect(partition, unclean=unclean)

    def save(self) -> tuple[Any, ...]:
        """The ensemble; what is the brokers' they save."""
        return self.service.save()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.service.load(saved)
