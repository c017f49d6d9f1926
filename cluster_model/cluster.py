"""A whole simulated Kafka cluster on one virtual clock, built from its spec.

Build it from a spec, advance its time in slices of any size, act on its processes and links, read immutable views. The
size of the slices never changes the outcome: the same spec, seed and actions give the same trace and digest.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from cluster_model import cluster_overview
from cluster_model.broker.broker import Broker
from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.checker import Checker
from cluster_model.checker.liveness.deadlines import Disturbances, FaultTargets, LivenessDeadlines
from cluster_model.checker.liveness.liveness_checker import LivenessChecker
from cluster_model.checker.liveness.partition_state import LivenessContext
from cluster_model.client_factory import ClientContext, client_settings
from cluster_model.clients.admin_client import ADMIN, NAME, AdminClient, AdminConfig
from cluster_model.cluster_overview import overview
from cluster_model.controller.cluster_parts import (
    ClusterParts,
    ControlPlane,
    Software,
    build_parts,
    initial_topic_configs,
)
from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    ConsumerGroupConfig,
    PatternCompiler,
    compile_python_pattern,
)
from cluster_model.coordinators.group.group_coordinator import AutoTopicCreationManager, GroupCoordinator
from cluster_model.coordinators.group.group_metadata import GroupConfig
from cluster_model.coordinators.group.offset_commits import commit_error
from cluster_model.coordinators.transaction.transaction_coordinator import TransactionConfig, TransactionCoordinator
from cluster_model.coordinators.transaction.transaction_verification import Write
from cluster_model.external_clients import EXTERNAL_CLIENTS, ExternalClients
from cluster_model.faultpoints import BrokerFaultpoints, DiskFaultpoints, LinkFaultpoints
from cluster_model.inspection import partition_views
from cluster_model.inspection.condition_functions import ClientStatistics, ConditionQuery, GroupQueries
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import CONTROL, ProcessState
from cluster_model.kernel.rng import RandomStream, RandomStreams
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.crash_recovery import WRITTEN_BACK
from cluster_model.node_releases import NodeReleases
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.event_log import EventLog
from cluster_model.observation.views import ClusterView, LogView
from cluster_model.process_control import CLOSE_US, ClientProcesses, ProcessController
from cluster_model.protocol.configs import ZkControllerSettings
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event, NodePaused, NodeResumed, NodeUpgraded
from cluster_model.protocol.messages import NO_LEADER, PartitionState, ProduceRequest
from cluster_model.protocol.transaction_messages import TxnMarker
from cluster_model.protocol.versions import Profile
from cluster_model.snapshots import Snapshot
from cluster_model.spec.cluster_spec import INTERNAL, OFFSETS, ClusterSpec, configured_partitions, with_internal_topics

# Cluster assembly: control plane, coordinators and liveness checks.


def host_coordinators(
    spec: ClusterSpec,
    profile: Profile,
    broker: Broker,
    port: NodeContext,
    streams: RandomStreams,
    emit: Callable[[Event], None],
    compile_pattern: PatternCompiler,
) -> GroupCoordinator:
    """Give a broker its group and transaction coordinators; returns its group coordinator.

    The coordinators fix the number of partitions of each internal topic: from the spec's topic if it has one, else from
    the configuration. An internal topic that is created later gets that number.
    """
    partitions = configured_partitions(spec.profile, spec.config)
    for topic in spec.topics:
        if topic.name in INTERNAL:
            partitions[topic.name] = len(topic.placement) or topic.partitions
    stream = streams.named(f"groups:{broker.id}")
    config = GroupConfig.of(profile, spec.config)
    modern = (ConsumerGroupConfig.of(profile, spec.config), emit, compile_pattern)
    maker = AutoTopicCreationManager(
        port, profile, spec.config, broker.hosted, partitions, broker.control.known_controller
    )  # fmt: skip
    coordinator = GroupCoordinator(port, profile, config, broker.hosted, partitions, stream, modern, maker)
    broker.host(coordinator)
    transactions = TransactionConfig.of(profile, spec.config)
    on_marker = _marker_callback(coordinator)
    host = TransactionCoordinator(
        port, profile, transactions, broker.hosted, partitions, broker.producer_ids, on_marker,
        _write_continuation(broker, coordinator), broker.connections,
    )  # fmt: skip
    broker.host(host)
    if transactions.verifies:
        broker.check_writes(host.verifier.verify)
        coordinator.gate = host.verifier.verify
    return coordinator


def _write_continuation(broker: Broker, groups: GroupCoordinator) -> Callable[[int, Write, KafkaError], None]:
    """Return a function that continues a verified transactional write at the coordinator or leader it came from."""

    def continue_write(source: int, write: Write, error: KafkaError) -> None:
        if isinstance(write, ProduceRequest):
            broker.continue_produce(source, write, error)
        else:
            groups.commit_in_transaction(source, write, commit_error(error))

    return continue_write


def _marker_callback(groups: GroupCoordinator) -> Callable[[str, TxnMarker], None]:
    """Return a callback that completes transactional offset commits at a marker in ``__consumer_offsets``."""

    def on_marker(partition: str, marker: TxnMarker) -> None:
        if partition.rpartition("-")[0] == OFFSETS:
            groups.transaction_ended(partition, marker.producer_id, committed=marker.committed)

    return on_marker


# Choice of the control plane. Only the module that is needed is imported.


def make_plane(
    spec: ClusterSpec,
    parts: ClusterParts,
    port_of: Callable[[int], NodeContext],
    streams: RandomStreams,
    emit: Callable[[Event], None],
    network: Network,
) -> ControlPlane:
    """Build the control plane of the spec's mode; ``port_of`` returns the context of a control plane node."""
    if parts.profile.kraft:
        from cluster_model.controller.kraft.control_plane import KraftControlPlane  # noqa: PLC0415

        return KraftControlPlane(spec, parts, port_of, streams, emit)
    from cluster_model.controller.zookeeper.control_plane import ZooKeeperControlPlane  # noqa: PLC0415

    return ZooKeeperControlPlane(spec, parts, network, streams, emit)


def share_metadata_log(plane: ControlPlane, original: ControlPlane) -> None:
    """Let a twin's control plane read what keyframes leave out from the original's."""
    from cluster_model.controller.kraft.control_plane import KraftControlPlane  # noqa: PLC0415 - looking back comes later, if ever

    if isinstance(plane, KraftControlPlane) and isinstance(original, KraftControlPlane):
        plane.load_from(original)


# The liveness checker of a timed cluster.


def make_liveness_checker(cluster: "Cluster") -> LivenessChecker:
    """Return the liveness checker of a cluster at virtual time 0."""
    spec, cluster_state, plane, brokers, network = (
        cluster.spec, cluster.cluster_state, cluster.plane, cluster.brokers, cluster.network,
    )  # fmt: skip

    def is_disturbed(node: int) -> bool:
        broker = brokers.get(node)
        slowed = broker is not None and bool(broker.slowed or not broker.disk.healthy)
        return slowed or network.is_slowed(node)

    disturbances = Disturbances(network, (*brokers, *plane.servers), is_disturbed)
    voters = spec.voters if cluster_state.profile.kraft else tuple(plane.servers)
    if not all(voter in network.processes for voter in voters):
        voters = ()  # a control plane of tests that decides without a quorum
    percentage = (
        0
        if cluster_state.profile.kraft
        else ZkControllerSettings.of(cluster_state.profile, spec.config).imbalance_percentage
    )
    return LivenessChecker(
        LivenessContext(cluster_state, plane, brokers, disturbances, LivenessDeadlines.of(spec), voters, percentage),
        cluster.emit,
    )


# A whole simulated cluster on one virtual clock.


_FINALIZED: Final = ("features",)
"""Payload of the control event at which a node begins to follow feature levels that it has replayed."""


class StopReason(Enum):
    """Reason why :meth:`Cluster.run` returned: time reached, event limit reached, or condition met."""

    TIME = "time"
    EVENTS = "events"
    CONDITION = "condition"


class Cluster:
    """A running cluster; brokers are addressed by broker id, all other processes by their node id."""

    experience: Callable[[], ClientStatistics] | None = None
    """Statistics of the session's clients, set by the session; None where nothing counts them."""

    def __init__(
        self,
        spec: ClusterSpec,
        seed: int,
        *,
        naive: bool = False,
        full_stores: Mapping[str, BatchStore] | None = None,
        compile_pattern: PatternCompiler = compile_python_pattern,
    ) -> None:
        """Create a cluster; see :meth:`build` for ``naive`` and ``compile_pattern``, :meth:`twin` for the others."""
        self.spec = spec = with_internal_topics(spec)
        self.seed, self.naive, self.compile_pattern = seed, naive, compile_pattern
        self.trace = EventLog()
        self.streams = RandomStreams(seed)
        links = spec.network
        self.network = Network(self.streams, links.latency_us, links.jitter_us, self._control, naive=naive)
        self.on_control: Callable[[int], None] | None = None
        """Called with a token at the time given to :meth:`call_at`."""
        ids = tuple(broker.id for broker in spec.brokers)
        parts = build_parts(spec, self.streams, self.trace.emit, dict.fromkeys(ids, 0), full_stores)
        self.profile = parts.profile
        """Rules of the oldest release among the nodes, which all of them follow."""
        self.committed = parts.committed
        self.topics = parts.registry
        """Registry of topics; the control plane reports created, changed and deleted topics to it."""
        self.epoch_branches = parts.epoch_branches
        self._make_nodes(parts)
        self._assign_replicas(parts.replicas)
        self._add_nodes(ids)
        self.disks = DiskFaultpoints(self.network, self.brokers, self.disk_loss)
        self.clients = ClientProcesses(ClientContext(spec, parts, self.network, self.emit, self.streams))
        self.producers, self.consumers = self.clients.producers, self.clients.consumers
        self.link_faults = LinkFaultpoints(self.network, self.clients.nodes_of_process, parts.epoch_branches)
        self.admin = AdminClient(self._port(ADMIN), AdminConfig.of(parts.profile), ids, self.streams.named("admin"))
        self.network.add(ADMIN, NAME, self.admin)
        self.external_clients = ExternalClients(
            self._port(EXTERNAL_CLIENTS), self.network, self.emit, self.epoch_branches
        )
        """The gateway's external clients."""
        self.processes = ProcessController(self.network, self.brokers, self.plane, self.clients, self.emit)
        """Lifecycle and CPU speed of processes."""
        self.broker_faults = BrokerFaultpoints(self.brokers, self.network)
        self.cluster_state = self._make_state(parts, ids)
        settings = client_settings(spec, parts.profile, self.external_clients.settings)
        self.checker = Checker(self.cluster_state, self.emit, self.plane, settings)
        self.checker.liveness = make_liveness_checker(self)
        self.trace.set_observer(self.checker.observe, self.checker.handlers())
        parts.registry.observer.out_of_bounds = self.checker.invariants.out_of_bounds
        # Number of operations under way, and number of active faults of a name (empty: of all); set by their owners.
        self.operations: Callable[[], int] = lambda: 0
        self.faults: Callable[[str], int] = lambda name: 0
        self.group_facts = {spec.name: cluster_overview.facts(self, spec) for spec in self.spec.groups}
        facts = (self._groups, self.plane, self._count_operations, self._count_faults, self._client_statistics)
        self.query = ConditionQuery(self.cluster_state, self.checker, lambda: self.now_us, *facts)
        self._begin()

    def _make_nodes(self, parts: ClusterParts) -> None:
        """Make the brokers with their coordinators, and the control plane, all of the release of the spec."""
        software = Software(parts.profile, parts.config)
        self._metadata = parts.metadata
        self._racks = {broker.id: broker.rack for broker in self.spec.brokers}
        self.brokers = {number: self._make_broker(number, software) for number in self._racks}
        self.plane: ControlPlane = make_plane(self.spec, parts, self._port, self.streams, self.emit, self.network)
        self.plane.on_features = self._features_replayed
        controllers = self.plane.servers if parts.profile.kraft else ()
        self.releases = NodeReleases(self.spec, parts.profile, (*self.brokers, *controllers))
        """Release of each broker and controller, which an upgrade changes."""
        self._installed = dict.fromkeys(self.releases.nodes, parts.profile)
        for broker in self.brokers.values():
            self._join(broker, software)
        self.coordinators = {number: self._host_coordinators(number, parts.profile) for number in self.brokers}
        """Group coordinators, by broker id."""

    def _make_broker(self, number: int, software: Software) -> Broker:
        return Broker(
            self._port(number), software.profile, software.config, self._metadata[number], self.emit,
            initial_topic_configs(self.spec, software.profile), self.topics,
            self.streams.named(f"connections:{number}"),
        )  # fmt: skip

    def _join(self, broker: Broker, software: Software) -> None:
        broker.join(self.plane.join(broker, self._port(broker.id), self._racks[broker.id], software))

    def _host_coordinators(self, number: int, profile: Profile) -> GroupCoordinator:
        broker, port = self.brokers[number], self._port(number)
        return host_coordinators(self.spec, profile, broker, port, self.streams, self.emit, self.compile_pattern)

    def _make_state(self, parts: ClusterParts, ids: tuple[int, ...]) -> ClusterState:
        objects = (self.profile, parts.committed.records, parts.replicas, parts.epoch_branches)
        plane = self.plane
        queries = (plane.broker_epoch, plane.being_deleted, lambda: plane.session_us)
        return ClusterState(*objects, self.is_up, ids, self._cached_states, *queries)

    def _assign_replicas(self, replicas: Mapping[str, Mapping[int, Replica]]) -> None:
        for name, by_broker in replicas.items():
            for broker, replica in by_broker.items():
                self.brokers[broker].replicas[name] = replica

    @classmethod
    def build(
        cls,
        spec: ClusterSpec,
        seed: int,
        *,
        naive: bool = False,
        compile_pattern: PatternCompiler = compile_python_pattern,
    ) -> "Cluster":
        """Build a cluster at virtual time 0: formed, topics created, every replica in sync, logs empty.

        ``naive``: also handle events that change nothing, to check the optimisation that skips them.
        ``compile_pattern`` compiles the regular expressions that members send to the group coordinator.

        Raises:
            ModelError: the spec contradicts itself, or names an unknown version.
        """
        return cls(spec, seed, naive=naive, compile_pattern=compile_pattern)

    def twin(self) -> "Cluster":
        """Return a second cluster that can load any keyframe of this one; the two share nothing but this one's logs."""
        twin = Cluster(
            self.spec,
            self.seed,
            naive=self.naive,
            full_stores=self.epoch_branches,
            compile_pattern=self.compile_pattern,
        )
        share_metadata_log(twin.plane, self.plane)
        return twin

    def _port(self, node: int) -> NodeContext:
        return NodeContext(self.network, node)

    def _add_nodes(self, ids: tuple[int, ...]) -> None:
        for node, (name, server) in self.plane.servers.items():
            self.network.add(node, name, server)
        for broker in ids:
            self.network.add(broker, f"broker {broker}", self.brokers[broker])

    def _begin(self) -> None:
        servers = (*self.brokers, *self.plane.controllers())
        unconnected = (EXTERNAL_CLIENTS, *[node for node in self.plane.servers if node not in servers])
        self.network.open_connections([node for node in self.network.processes if node not in unconnected], servers)
        self.plane.begin()
        for broker in self.brokers.values():
            broker.formed()
        states = tuple([record.state for record in self.committed.records.values()])
        self.clients.begin(states)

    @property
    def now_us(self) -> int:
        """Virtual microseconds since the start."""
        return self.network.kernel.now

    @property
    def executed(self) -> int:
        """Number of kernel events handled so far."""
        return self.network.kernel.executed

    def next_event_us(self) -> int:
        """Return the time of the next kernel event in virtual microseconds, -1 if there is none."""
        return self.network.kernel.next_at()

    def run(self, until_us: int, max_events: int = 0, stop: Callable[[], bool] | None = None) -> StopReason:
        """Handle all kernel events due up to and including ``until_us``.

        Returns earlier after ``max_events`` kernel events (0: no limit), or when ``stop`` returns True; ``stop`` is
        called after every kernel event that added to the trace. The clock is at ``until_us`` only after
        :attr:`StopReason.TIME`.
        """
        kernel = self.network.kernel
        if not max_events and stop is None:
            kernel.run_until(until_us)
            return StopReason.TIME
        remaining = max_events or -1
        while True:
            # The limit is checked first: the clock's time after ``max_events`` must not depend on ``until_us``.
            if remaining == 0:
                return StopReason.EVENTS
            at = kernel.next_at()
            if at < 0 or at > until_us:
                kernel.advance(until_us)
                return StopReason.TIME
            traced = self.trace.count
            kernel.step()
            remaining -= 1
            if stop is not None and self.trace.count != traced and stop():
                return StopReason.CONDITION

    def emit(self, event: Event) -> None:
        """Add an event to the trace, and so to the digest."""
        self.trace.emit(event)

    def drain(self) -> list[Event]:
        """Return the trace events since the last drain."""
        return self.trace.drain()

    def digest(self) -> str:
        """Return the hex digest of everything that happened so far; slices and drains do not affect it."""
        return self.trace.digest(self.now_us, self.executed)

    def _control(self, target: int, payload: Payload) -> None:
        if payload == _FINALIZED:
            self.releases.finalize(target, self.plane.finalized_features(target).levels)
            self._install_releases()
        elif payload:
            self.processes.exited(target, *payload, again=self.disks.starts_again(target))
        elif self.on_control is not None:
            self.on_control(target)

    def call_at(self, at_us: int, token: int) -> None:
        """Schedule a call of :attr:`on_control` with ``token`` at a virtual time, in order with all other events."""
        self.network.kernel.schedule(at_us, CONTROL, token, ())

    def stream(self, name: str) -> RandomStream:
        """Return a named random stream of the session, for callers outside the model that need random numbers."""
        return self.streams.named(name)

    def reseed(self, seed: int) -> None:
        """Replace the seed from here on, keeping stream positions: another future of the same past.

        Properties of a record stay the same: its key, its size, its processing time.
        """
        if seed == self.streams.seed:
            return
        self.network.wake_exchanges()
        self.streams.reseed(seed)
        self.load(self.save())  # rebuilds links and in-flight messages with the new seed

    def is_up(self, node: int) -> bool:
        """Whether a process is running or paused."""
        process = self.network.processes.get(node)
        return process is not None and process.state in (ProcessState.RUNNING, ProcessState.PAUSED)

    def _cached_states(self, broker: int) -> Mapping[str, PartitionState]:
        return self.brokers[broker].states

    def state_of(self, node: int) -> ProcessState:
        """Return the state of a process.

        Raises:
            ModelError: no such node.
        """
        process = self.network.processes.get(node)
        if process is None:
            raise ModelError(f"no node {node}", code="no_node")
        return process.state

    def name_of(self, node: int) -> str:
        """Return the name of a node."""
        return self.network.processes[node].name

    def _broker_id(self, node: int) -> int:
        return node if node in self.brokers else -1

    def crash(self, node: int, *, torn: bool = False) -> None:
        """Kill a process (SIGKILL); see :meth:`ProcessController.crash`."""
        self.processes.crash(node, torn=torn)

    def power_loss(self, node: int, keep: int = -1, tail: str = WRITTEN_BACK) -> None:
        """Cut the power of a process's machine; see :meth:`ProcessController.power_loss`."""
        self.processes.power_loss(node, keep, tail)

    def disk_loss(self, node: int) -> None:
        """Remove a broker's only log directory, checkpoints included: the broker halts and restarts empty."""
        broker = self.brokers[node]
        if self.is_up(node):
            self.processes.crash(node, "disk_loss")
        broker.disk_lost()

    def shutdown(self, node: int, timeout_us: int = CLOSE_US) -> None:
        """Shut a running process down cleanly (SIGTERM); see :meth:`ProcessController.shutdown`.

        Raises:
            ModelError: no such process, or it is not running.
        """
        self.processes.shutdown(node, timeout_us)

    def restart(self, node: int) -> None:
        """Start a process that is down."""
        self.processes.restart(node)

    def upgrade(self, node: int, version: str, protocol: str = "") -> None:
        """Replace the software of a broker or controller that is down; it takes effect when the node starts.

        ``protocol`` is its new ``inter.broker.protocol.version`` in ZooKeeper mode, empty for the one it has.

        Raises:
            ModelError: the node runs, or :meth:`NodeReleases.upgrade` refuses.
        """
        if self.is_up(node):
            raise ModelError(f"{self.name_of(node)} runs: stop it before its software is replaced", code="running")
        before = self.releases.of(node)
        self.releases.upgrade(node, version, protocol)
        after = self.releases.of(node)
        if after != before:
            detail = f"from {before.text} to {after.text}"
            self.emit(NodeUpgraded(self.now_us, self.name_of(node), self._broker_id(node), detail))
        self._install_releases()

    def profile_of(self, node: int) -> Profile:
        """Return the rules that a broker or controller follows."""
        return self._installed[node]

    def _features_replayed(self, node: int) -> None:
        """Let a node follow the feature levels that it has replayed, right after the current event."""
        self.network.kernel.schedule(self.now_us, CONTROL, node, _FINALIZED)

    def _install_releases(self) -> None:
        """Rebuild every node whose rules have changed: its own, or those that depend on the oldest node's."""
        for node in self.releases.nodes:
            profile = self.releases.profile(node)
            if profile != self._installed[node]:
                self.install(node, profile)
        self.profile = self.cluster_state.profile = self.releases.least_profile()

    def install(self, node: int, profile: Profile) -> None:
        """Let a broker or dedicated controller follow other rules from here on.

        All that its process has in memory and on disk is kept: the node is built anew with the state that it had.
        """
        self.network.wake_exchanges(node)
        software = Software.of(profile, self.spec.config)
        if node in self.brokers:
            saved = self.brokers[node].save()
            self.topics.install(node, *software)
            self.brokers[node] = broker = self._make_broker(node, software)
            self._join(broker, software)
            self.coordinators[node] = self._host_coordinators(node, profile)
            broker.formed()
            broker.load(saved)
            self.network.processes[node].run(broker)
        else:
            self.plane.install(node, software)
            self.network.processes[node].run(self.plane.servers[node][1])
        self._installed[node] = profile

    def pause(self, node: int) -> None:
        """Pause a process (SIGSTOP); the process does not notice."""
        for each in self.clients.nodes_of_process(node):
            self.network.pause(each)
        self.emit(NodePaused(self.now_us, self.name_of(node), self._broker_id(node)))

    def resume(self, node: int) -> None:
        """Resume a paused process; it then handles everything that waits for it."""
        self.emit(NodeResumed(self.now_us, self.name_of(node), self._broker_id(node)))
        for each in self.clients.nodes_of_process(node):
            self.network.resume(each)

    def add_lag(self, source: int, target: int, fault: int, latency_us: int, jitter_us: int) -> None:
        """Add latency and jitter to one direction of a link, in microseconds."""
        for one, other in self.link_faults.links(source, target):
            lag = self.network.link(one, other).lag
            self.network.slow_down(one, other, (*lag, (fault, latency_us, jitter_us)))
        self._link_changed(source, target)

    def remove_lag(self, source: int, target: int, fault: int) -> None:
        """Remove the latency that the fault added by :meth:`add_lag`."""
        for one, other in self.link_faults.links(source, target):
            lag = self.network.link(one, other).lag
            self.network.slow_down(one, other, tuple(entry for entry in lag if entry[0] != fault))
        self._link_changed(source, target)

    def cut(self, source: int, target: int, fault: int) -> None:
        """Drop all packets of one direction of a link until the last fault that cuts it has ended."""
        for one, other in self.link_faults.links(source, target):
            self.network.cut(one, other, fault)
        self._link_changed(source, target)

    def heal_cut(self, source: int, target: int, fault: int) -> None:
        """Remove the cut that the fault made by :meth:`cut`."""
        for one, other in self.link_faults.links(source, target):
            self.network.heal_cut(one, other, fault)
        self._link_changed(source, target)

    def _link_changed(self, source: int, target: int) -> None:
        """Restart the deadlines of liveness checks that involve these two nodes."""
        if self.checker.liveness is not None:
            self.checker.liveness.context.disturbances.link_changed(source, target, self.now_us)

    def observe_faults(self, strikes: FaultTargets) -> None:
        """Set which liveness checks active faults disturb, as their owner reports them (:mod:`~.checker.liveness`)."""
        if self.checker.liveness is not None:
            self.checker.liveness.context.disturbances.fault_targets = strikes

    def nodes(self) -> tuple[int, ...]:
        """Return the node id of every process; a process with two clients is listed once, by its main node."""
        hidden = [each for node in self.clients.names for each in self.clients.nodes_of_process(node)[1:]]
        hidden += self.clients.duplicate_nodes.absent
        return tuple([node for node in self.network.processes if node not in hidden])

    def elect_leaders(self, partition: str, *, unclean: bool) -> KafkaError:
        """Run an administrator's leader election; LEADER_NOT_AVAILABLE while no controller is running."""
        self.cluster_state.record(partition)
        active = self.plane.active()
        if active == NO_LEADER or self.state_of(active) is not ProcessState.RUNNING:
            return KafkaError.LEADER_NOT_AVAILABLE
        return self.plane.elect_leaders(partition, unclean=unclean)

    def delete_records(self, partition: str, before: int) -> KafkaError:
        """Run an administrator's DeleteRecords; complete when ``cluster_state.low_watermark`` reaches it."""
        leader = self.cluster_state.record(partition).leader
        if leader not in self.brokers or self.state_of(leader) is not ProcessState.RUNNING:
            return KafkaError.LEADER_NOT_AVAILABLE
        return self.brokers[leader].delete_records(partition, before)

    def stop_producers(self) -> None:
        """Stop all producing applications; records in flight continue."""
        self.clients.stop_producers()

    def close(self) -> None:
        """End the session and make the ledger final."""
        self.external_clients.close()
        self.checker.close(self.now_us)

    def _groups(self) -> dict[str, GroupQueries]:
        return self.group_facts

    def _client_statistics(self) -> ClientStatistics | None:
        return None if self.experience is None else self.experience()

    def _count_operations(self) -> int:
        return self.operations()

    def _count_faults(self, name: str) -> int:
        return self.faults(name)

    def view(self) -> ClusterView:
        """Return a view of the whole cluster now; active faults are added by the fault injector."""
        return overview(self)

    def log_view(self, partition: str, start: int, end: int) -> LogView:
        """Return the logs of a partition side by side over offsets ``[start, end)``."""
        return partition_views.log_view(self.cluster_state, self.checker, partition, start, end)

    def save(self) -> Snapshot:
        """Return a keyframe of the whole cluster, for :meth:`load`."""
        return Snapshot(
            self.releases.save(),
            self.network.save(),
            self.streams.save(),
            self.topics.save(),
            self.committed.save(),
            self.plane.save(),
            tuple(broker.save() for broker in self.brokers.values()),
            self.clients.save(),
            self.processes.save(),
            self.admin.save(),
            self.external_clients.save(),
            self.checker.save(),
            self.trace.save(),
        )

    def load(self, keyframe: Snapshot) -> None:
        """Restore a keyframe exactly; everything that happened after it is discarded.

        Raises:
            ValueError: the keyframe belongs to another history.
        """
        (
            releases, network, streams, topics, committed, plane, brokers, clients, lives, admin, outside, checker,
            trace,
        ) = keyframe  # fmt: skip
        if releases != self.releases.save():
            self.releases.load(releases)
            self._install_releases()
        self.streams.load(streams)
        self.clients.prepare(clients)
        self.external_clients.prepare(outside)
        self.network.load(network)
        self.topics.load(topics)
        self.committed.load(committed)
        self.plane.load(plane)
        for node, state in zip(self.brokers.values(), brokers, strict=True):
            node.load(state)
        self.clients.load(clients)
        self.processes.load(lives)
        self.admin.load(admin)
        self.external_clients.load(outside)
        self.checker.load(checker)
        self.trace.load(trace)
