"""A broker process: the replicas and message handlers of one node (``KafkaApis``, ``ReplicaManager``).

A broker knows its own replicas, and everything else only from messages: a stale metadata cache, a leadership that the
controller has already given to another broker, and responses from before a failover are all part of the model. It never
fences itself: a broker without a controller continues in its last known role.
"""

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from cluster_model.broker.append_queue import TIMER, AppendQueue
from cluster_model.broker.control_plane_client import ControlPlaneClient, Handlers, MetadataUpdate, is_older
from cluster_model.broker.fetch.fetch_reads import missing_replica_error
from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherManager
from cluster_model.broker.fetch.replication_quota import ReplicationQuota
from cluster_model.broker.hosted_coordinators import CoordinatorHost, HostedCoordinator, ProducerIdManager
from cluster_model.broker.muted_connections import MutedConnections
from cluster_model.broker.partition.fetch_sessions import SessionCache
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.purgatory import DelayedDeletions, Purgatory
from cluster_model.broker.replica_manager import DirtyReplicas, ReplicaManager, ReplicaSource
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.broker.storage.disk import Disk
from cluster_model.broker.storage.log_manager import LogManager
from cluster_model.broker.topic_configs import TopicConfigs, format_configs
from cluster_model.connections.network_client import CONNECTIONS
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import BrokerConfigChanged, Event
from cluster_model.protocol.messages import (
    AlterPartitionResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DeleteRecordsRequest,
    EpochEndRequest,
    EpochEndResponse,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    PartitionState,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.versions import Profile


class Broker:
    """A broker node; ``replicas`` is the content of its disk, which outlives the process."""

    __slots__ = (
        "_config", "_emit", "_fetchers", "_handlers", "_hosting", "_muted", "_muted_connections", "_port", "_profile",
        "_readable", "_service", "_touched", "append_queue", "clock_stepped", "connections", "control", "delete_strays",
        "disk", "follower_quota", "hosted", "id", "leader_quota", "logs", "metadata", "producer_ids", "purgatory",
        "refusal", "replicas", "sessions", "settings", "slowed", "states", "strays",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: BrokerConfig,
        metadata: BrokerMetadata,
        emit: Callable[[Event], None],
        settings: TopicConfigs,
        source: ReplicaSource,
        jitter: RandomStream,
    ) -> None:
        """Create a broker; ``settings`` is the topic configuration it knows, ``source`` creates its replicas.

        ``jitter`` is the random stream of its connection attempts.
        """
        self._emit = emit
        self.id = port.node_id
        self.connections = ProcessConnections(port, config.connections, jitter)
        """Connections to other brokers and to controllers."""
        self.metadata, metadata.wall = metadata, port.wall
        self.replicas: dict[str, Replica] = {}
        self.control: ControlPlaneClient
        """The broker's side of the control plane, set by :meth:`join`."""
        self.sessions = SessionCache(config.session_slots)
        self.purgatory = Purgatory(port, self.sessions)
        self.producer_ids = ProducerIdManager(port, metadata)
        self.leader_quota = ReplicationQuota(config.leader_rate, exists=profile.throttles)
        self.follower_quota = ReplicationQuota(config.follower_rate, exists=profile.throttles)
        self._port = port
        self._profile = profile
        self._config = config
        self.states: dict[str, PartitionState] = {}
        """The metadata cache: the last known state of each partition in the cluster."""
        self.logs = LogManager(port, self.replicas, config, emit)
        self._touched = DirtyReplicas(self.replicas)
        self._fetchers = self._make_fetchers()
        self.connections.add(self._fetchers)
        self.slowed = self._fetchers.busy
        """Fault number → delay of the replica fetchers."""
        self._muted_connections = MutedConnections(port)
        self._muted, self._readable = self._muted_connections.muted, self._muted_connections.readable
        self._service = self._make_request_handler()
        self._hosting = ReplicaManager(
            port, profile, self.replicas, self.logs, self._service, self._touched,
            (self.leader_quota, self.follower_quota), settings, source, emit, self._fetchers.leave,
        )  # fmt: skip
        self.refusal, self.strays, self.settings = self._hosting.refusal, self._hosting.strays, settings
        self.delete_strays, self.clock_stepped = self._hosting.delete_strays, self._hosting.clock_stepped
        fresh = self._touched.fresh
        self.purgatory.deletions = DelayedDeletions(port, self.replicas, self.metadata, fresh, self.states)
        self.hosted = self.purgatory.hosted = CoordinatorHost(
            port, self.replicas, self.purgatory, self.complete_delayed, self.states, metadata
        )
        self._handlers = self._make_handlers()
        self.disk = Disk()
        self.append_queue = AppendQueue(
            port, profile, self.disk, self.replicas, self._handlers, (self._service, self._fetchers, self.hosted),
            self._fetched, self.logs, lambda: self._config.io_threads,
        )  # fmt: skip

    def _make_request_handler(self) -> RequestHandler:
        return RequestHandler(
            self._port, self._profile, self.replicas, self.purgatory, self.complete_delayed, self._touched.fresh,
            self.sessions, self.leader_quota, self.states, self._muted_connections, self._config.fetch_max_bytes,
        )  # fmt: skip

    def _make_fetchers(self) -> ReplicaFetcherManager:
        return ReplicaFetcherManager(
            self.connections.connector, self._profile, self._config, self.replicas, self.metadata, self._touched.fresh,
            self.follower_quota, lambda: self.control.broker_epoch if self._profile.fetch_broker_epoch else -1,
        )  # fmt: skip

    def _make_handlers(self) -> Handlers:
        return {
            FetchRequest: self._service.fetch,
            FetchResponse: self._fetched,
            ProduceRequest: self._service.produce,
            InitProducerIdRequest: self.producer_ids.handle_init_producer_id,
            EpochEndRequest: self._service.epoch_ends,
            EpochEndResponse: self._fetchers.epochs_ended,
            ListOffsetsRequest: self._service.list_offsets,
            ListOffsetsResponse: self._fetchers.offset_listed,
            ApiVersionsRequest: self._handle_api_versions,
            MetadataRequest: self._handle_metadata,
            DeleteRecordsRequest: self.purgatory.deletions.handle_request,
            **self.connections.handlers,
        }

    def join(self, control: ControlPlaneClient) -> None:
        """Join a cluster with this side of its control plane; called once, before the run."""
        self.control = control
        self._handlers.update(control.handlers)
        if self._profile.kraft:
            self.append_queue.exempt = tuple(control.handlers)

    def formed(self) -> None:
        """Mark the cluster as formed: threads that start from here on have no connections yet."""
        self._fetchers.connected = False

    def host(self, hosted_coordinator: HostedCoordinator) -> None:
        """Host a coordinator; called once, before the run."""
        self.hosted.add(hosted_coordinator)
        self._handlers.update(hosted_coordinator.handlers)

    def check_writes(self, gate: Callable[[int, str, ProduceRequest], bool]) -> None:
        """Set the verification of transactional writes, once; if ``gate`` returns True a write waits for ``go_on``."""
        self._service.gate = gate

    def continue_produce(self, source: int, request: ProduceRequest, error: KafkaError) -> None:
        """Append a write that was verified, or reject it."""
        if error:
            self._port.send(source, ProduceResponse(request.correlation_id, request.partition, error, -1, -1, -1))
        elif self.append_queue.active:
            self.append_queue.go_on(source, request)
        else:
            self._service.produce(source, request, checked=True)
        self._muted_connections.complete(source, request.request)

    def serve(self) -> None:
        """Start the periodic tasks of a process that has registered."""
        # Brokers do not start at the same time: their periodic tasks are spread over the period.
        share = self.id % 8
        self._port.timer(self._config.shrink_period_us * (8 + share) // 16, "shrink")
        self._port.timer(self._config.hw_checkpoint_us * (8 + share) // 16, "checkpoint")
        self.logs.start_timers()
        self.hosted.started()

    def stopped(self) -> None:
        """Discard everything that a process that died had in memory."""
        self._touched.everything()
        for replica in self.replicas.values():
            replica.stopped()
        self.purgatory.clear()
        self._muted_connections.stopped()
        self._fetchers.stopped()
        self.connections.stopped()
        self.producer_ids.stopped()
        self.sessions.clear()
        self.leader_quota.rate.clear()
        self.follower_quota.rate.clear()
        self.states.clear()
        self.metadata.live.clear()
        self.metadata.racks.clear()
        self.control.stopped()
        self.hosted.stopped()
        self.append_queue.stopped()

    def disk_lost(self) -> None:
        """Discard the log directory, whether the process has just died of it or was down."""
        self._touched.everything()
        self.logs.disk_lost()

    def started(self) -> None:
        """Start the process again: it recovers its logs, then registers."""
        self._touched.everything()
        self._hosting.restarted()
        if self.append_queue.start():
            self.control.started(self.logs.start(self.disk.reading_us))

    def shut_down(self) -> None:
        """Shut down cleanly (SIGTERM): move leaderships away if possible, then :meth:`halt`."""
        self.control.shut_down()

    def halt(self) -> None:
        """Finish a clean shutdown: flush logs, write checkpoints, and exit."""
        self.logs.shut_down()
        self._port.exit("shutdown")

    def receive(self, source: int, message: Message) -> None:
        """Handle a message, or keep it while its connection is muted."""
        if source in self._muted and self._muted_connections.keep(source, message):
            return
        self._handlers[type(message)](source, message)
        if self._readable:
            self._read()

    def _read(self) -> None:
        """Handle the next requests of connections whose response has been sent."""
        self._muted_connections.read(self._handle)

    def _handle(self, source: int, message: Message) -> None:
        self._handlers[type(message)](source, message)

    def on_timer(self, timer: Payload) -> None:
        """Dispatch a timer by its name."""
        name = timer[0]
        if name == "fetcher":
            self._complete_consumer_fetches(self._fetchers.on_timer(timer[1], timer[2]))
        elif name == "fetch wait":
            self._service.on_fetch_wait(*timer[1:])
        elif name == "purgatory":
            self._service.expire()
        elif name == "shrink":
            self._shrink()
        elif name == "checkpoint":
            self._checkpoint()
        elif name == TIMER:
            self.append_queue.on_write_done(timer[1])
        elif name == CONNECTIONS:
            self.connections.on_timer(timer[1])
        elif not self.control.on_timer(timer) and not self.hosted.on_timer(timer):
            changed = {} if self.disk.broken and self.append_queue.task_fails(name) else self.logs.on_timer(name)
            if changed:
                self._touched.fresh.update(changed)
                self._fetchers.report_log_starts(changed)
        if self._readable:
            self._read()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: requests to ``peer`` get no response."""
        self._muted_connections.closed(peer)
        self.connections.disconnected(peer)
        self.control.on_disconnect(peer)
        self.hosted.on_disconnect(peer)
        if self._readable:
            self._read()

    def _shrink(self) -> None:
        overdue_fetchers = self.purgatory.sessions.late(self._port.now, self._config.lag_time_us)
        suspects = {**self._touched.may_lag(), **overdue_fetchers}
        for partition, replica in self.replicas.items() if suspects else ():
            if partition in suspects and replica.leadership is not None:
                replica.leadership.shrink(self._port.now)
                self.complete_delayed(replica)
        self._port.timer(self._config.shrink_period_us, "shrink")

    def _checkpoint(self) -> None:
        if self.disk.broken and self.append_queue.task_fails("checkpoint"):
            return
        self._touched.checkpoint(self._port.now)
        self._port.timer(self._config.hw_checkpoint_us, "checkpoint")

    def apply_metadata(self, decisions: MetadataUpdate, *, act: bool = True, know: bool = True) -> None:
        """Apply a metadata update: lead, follow and cache. States older than the known ones are ignored.

        In ZooKeeper mode LeaderAndIsr only makes the broker ``act``, and UpdateMetadata only lets it ``know``.
        """
        self._invalidate()
        if know:
            self.metadata.live = dict(zip(decisions.brokers, decisions.broker_epochs, strict=True))
            self.metadata.racks = dict(zip(decisions.brokers, decisions.racks, strict=False))
        for state in decisions.partitions:
            known = self.states.get(state.partition)
            if know and (known is None or not is_older(state, known)):
                self.states[state.partition] = state
            if act and (replica := self._hosting.host(state)) and replica.apply(state, self._port.now):
                self._fetchers.follow_or_lead(replica)
                self.complete_delayed(replica)
                self.hosted.applied(replica)
        self._fetchers.start_waiting()
        self._fetchers.end_idle()

    def forget(self, partition: str) -> None:
        """Remove a partition from the metadata cache: its topic is deleted, as far as this broker knows."""
        self.states.pop(partition, None)
        self.hosted.deleted(partition)

    def stop_replica(self, partition: str, *, delete: bool) -> None:
        """Stop leading and fetching a partition (StopReplica); ``delete``: delete the log too.

        Delayed requests fail with NOT_LEADER_OR_FOLLOWER, or with UNKNOWN_TOPIC_OR_PARTITION if the replica is deleted
        and the metadata cache, see :meth:`forget`, does not list the partition either.
        """
        self._hosting.stop(partition, delete=delete)
        self._fetchers.end_idle()

    def configure_topic(self, topic: str, overrides: Mapping[str, ConfigValue]) -> None:
        """Set all overrides of a topic's configuration, for existing and future replicas.

        Raises:
            ModelError: a cleanup policy that the version lacks.
        """
        self._invalidate()
        self._hosting.configure_topic(topic, overrides)

    def update_config(self, overrides: Mapping[str, ConfigValue]) -> KafkaError:
        """Set all dynamic broker configs (KIP-226); returns an error as :meth:`ReplicaManager.validate_config`."""
        error = self._hosting.validate_config(overrides, self._config)
        if error is not KafkaError.NONE:
            return error
        before = self._config
        self._touched.everything()
        self._reconfigured(self._hosting.reconfigure(overrides))
        self._invalidate()
        if before.fetchers != self._config.fetchers:
            self._fetchers.redistribute()
        self._emit(BrokerConfigChanged(self._port.now, self.id, format_configs(overrides)))
        return KafkaError.NONE

    def _reconfigured(self, config: BrokerConfig) -> None:
        self._config = config
        self.logs.reconfigure(config)
        self._fetchers.reconfigure(config)
        self.leader_quota.limit(config.leader_rate)
        self.follower_quota.limit(config.follower_rate)

    def _invalidate(self) -> None:
        """Invalidate what idle fetches and checkpoints rely on, before or after a change."""
        self._touched.everything()
        self._service.end_idle()
        self._fetchers.require_full_fetches()

    def complete_delayed(self, replica: Replica) -> None:
        """Complete delayed requests and send ISR proposals after a possible change of a leader's state."""
        self._touched.fresh[replica.partition] = None
        self._service.answer_waiting(replica)
        if replica.leadership is not None:
            proposal = replica.leadership.take_proposal()
            if proposal is not None:
                self.control.propose(proposal)

    def isr_answered(self, response: AlterPartitionResponse) -> bool:
        """Handle the response to an ISR proposal; True if it is to be sent again a little later."""
        replica = self.replicas.get(response.partition)
        if replica is None or replica.leadership is None:
            return False
        retry = replica.leadership.confirmed(self._port.now, response)
        self.complete_delayed(replica)
        return retry

    def propose_again(self, partition: str) -> None:
        """Send a pending ISR change again, in a request of its own."""
        replica = self.replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is not None and leadership is not None and leadership.pending is not None:
            leadership.propose(leadership.pending)
            self.complete_delayed(replica)

    def pending(self) -> list[str]:
        """Return the partitions whose proposed ISR change has no response yet."""
        leaderships = [(partition, replica.leadership) for partition, replica in self.replicas.items()]
        return [partition for partition, each in leaderships if each is not None and each.pending is not None]

    def registered_anew(self) -> None:
        """Handle a changed broker epoch: fetches carry the new one from now on."""
        self._fetchers.require_full_fetches()

    def leads(self) -> int:
        """Return how many partitions the broker believes it leads."""
        return sum(replica.leadership is not None for replica in self.replicas.values())

    def _fetched(self, source: int, response: FetchResponse) -> None:
        if self._fetchers.fetched(source, response):
            self._complete_consumer_fetches(response)

    def _complete_consumer_fetches(self, response: FetchResponse | None) -> None:
        if response is not None and self._profile.completes_follower_reads and self.purgatory.readers:
            # ReplicaFetcherThread completes the consumers' fetches that wait for its partitions' HW. From 2.4 to 3.3.1
            # they waited for fetch.max.wait.ms (KAFKA-14334).
            for data in response.partitions:
                if self.purgatory.readers.get(data.partition) and data.partition in self.replicas:
                    self._service.answer_waiting(self.replicas[data.partition])

    def delete_records(self, partition: str, before: int) -> KafkaError:
        """Delete records of one partition; followers learn of the new log start offset with their next fetch."""
        if partition not in self.replicas:
            return missing_replica_error(partition, self.states)
        self._touched.fresh[partition] = None
        return self.replicas[partition].delete_records(before, self._port.now)

    def _handle_api_versions(self, source: int, request: ApiVersionsRequest) -> None:
        self._port.send(source, ApiVersionsResponse(request.correlation_id))

    def _handle_metadata(self, source: int, request: MetadataRequest) -> None:
        brokers, controller = tuple(self.metadata.live), self.control.known_controller()
        states = tuple(self.states.values())
        racks = tuple(map(self.metadata.racks.get, brokers, repeat(""))) if self.metadata.racks else ()
        self._port.send(source, MetadataResponse(request.correlation_id, states, brokers, controller, racks))

    def save(self) -> tuple[Any, ...]:
        """Return all state, including the disk."""
        return (
            self._hosting.save(), self.control.save(), tuple(self.metadata.live.items()),
            tuple(self.metadata.racks.items()), tuple(self.states.values()), self.purgatory.save(),
            self._fetchers.save(), self._touched.save(), self.logs.save(), self.sessions.save(),
            self.producer_ids.save(), self.leader_quota.rate.save(), self.follower_quota.rate.save(),
            self.hosted.save(), self.disk.save(), self.append_queue.save(), self.connections.save(),
            self._muted_connections.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; the partitions' batch stores are loaded first."""
        (
            hosting, control, live, racks, states, purgatory, fetchers, replicas, logs, sessions, ids, *rates, hosted,
            disk, writes, connections, muted,
        ) = saved  # fmt: skip
        self._touched.forget_all()
        self._reconfigured(self._hosting.load(hosting))
        self.control.load(control)
        self.metadata.live, self.metadata.racks = dict(live), dict(racks)
        self.states.clear()
        self.states.update((state.partition, state) for state in states)
        self.purgatory.load(purgatory)
        self._fetchers.load(fetchers)
        self.sessions.load(sessions)
        self.producer_ids.load(ids)
        self.leader_quota.rate.load(rates[0])
        self.follower_quota.rate.load(rates[1])
        for replica, state in zip(self.replicas.values(), replicas, strict=True):
            replica.load(state, self.purgatory.sessions)
        self._touched.everything()
        self.logs.load(logs)
        self.hosted.load(hosted)
        self.disk.load(disk)
        self.append_queue.load(writes)
        self.connections.load(connections)
        self._muted_connections.load(muted)
