"""A broker process: many replicas behind the messages of one node (``KafkaApis``, ``ReplicaManager``).

It knows its replicas, and of everybody else only what messages told it: a stale metadata cache, a leadership that the
controller has long given away, and answers from the dead past are all part of the model. It never fences itself: a
broker that loses the controller goes on in its last known role.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.config import BrokerConfig
from cluster_model.errors import KafkaError
from cluster_model.events import Event
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Port
from cluster_model.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    EpochEndRequest,
    EpochEndResponse,
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    PartitionState,
    ProduceRequest,
)
from cluster_model.profiles import Profile
from cluster_model.replication.fetcher import Fetcher
from cluster_model.replication.fetcher_ids import fetcher_id, fetcher_of
from cluster_model.replication.log_manager import LogManager
from cluster_model.replication.purgatory import Purgatory
from cluster_model.replication.replica import BrokerMetadata, Replica
from cluster_model.replication.service import Service
from cluster_model.replication.session_cache import SessionCache
from cluster_model.replication.throttling import Throttle
from cluster_model.replication.touched import Touched

ALTER_PARTITION_RETRY_US: Final = 50_000
"""Pause after an AlterPartition answer that asks for another try (``AlterPartitionManager``)."""
FIRST_REGISTRATION_RETRY_US: Final = 100_000
LAST_REGISTRATION_RETRY_US: Final = 9_000_000
STARTUP_US: Final = 2_000_000
"""From loaded logs until the process registers. Kafka has no figure for it; a small broker takes a few seconds."""


class Broker:
    """A broker node. ``replicas`` are its disks: they outlive the process."""

    __slots__ = (
        "_config", "_controller", "_controller_epoch", "_fetchers", "_handlers", "_port", "_profile", "_rack",
        "_registration_retry_us", "_retrying", "_service", "_states", "_touched", "broker_epoch", "follower_quota",
        "id", "leader_quota", "logs", "metadata", "purgatory", "registered", "replicas", "sessions", "starting",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        controller: int,
        profile: Profile,
        config: BrokerConfig,
        metadata: BrokerMetadata,
        emit: Callable[[Event], None],
        rack: str = "",
    ) -> None:
        self.id = port.node_id
        self._rack = rack
        self.metadata = metadata
        self.replicas: dict[str, Replica] = {}
        self.broker_epoch = 0
        self.registered = True
        self.starting = False
        self.sessions = SessionCache(config.session_slots)
        self.purgatory = Purgatory(port, self.sessions)
        self.leader_quota = Throttle(config.leader_rate, exists=profile.throttles)
        self.follower_quota = Throttle(config.follower_rate, exists=profile.throttles)
        self._port = port
        self._controller = controller
        self._controller_epoch = 0
        self._profile = profile
        self._config = config
        self._states: dict[str, PartitionState] = {}
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        """By leader and number (``num.replica.fetchers``)."""
        self._registration_retry_us = FIRST_REGISTRATION_RETRY_US
        self._retrying: dict[str, None] = {}
        """Partitions whose ISR change is about to be proposed again."""
        self.logs = LogManager(port, self.replicas, config, emit)
        self._touched = Touched(self.replicas)
        self._service = Service(
            port,
            profile,
            self.replicas,
            self.purgatory,
            self.settle,
            self._touched.fresh,
            self.sessions,
            self.leader_quota,
        )
        self._handlers: dict[type[Any], Callable[[int, Any], None]] = {
            FetchRequest: self._service.fetch,
            FetchResponse: self._fetched,
            ProduceRequest: self._service.produce,
            EpochEndRequest: self._service.epoch_ends,
            EpochEndResponse: self._epochs_ended,
            ListOffsetsRequest: self._service.list_offsets,
            ListOffsetsResponse: self._offset_listed,
            MetadataRequest: self._metadata_asked,
            AlterPartitionResponse: self._alter_partition_answered,
            BrokerRegistrationResponse: self._registration_answered,
            BrokerHeartbeatResponse: self._heartbeat_answered,
            LeaderAndIsrRequest: self._leader_and_isr_received,
        }

    def begin(self, request: LeaderAndIsrRequest, broker_epoch: int) -> None:
        """Stand in a running cluster at its first instant: registered, roles taken, timers set."""
        self.broker_epoch = broker_epoch
        self._leader_and_isr(request)
        self._start_timers()

    def _start_timers(self) -> None:
        # Brokers do not start in the same instant: their periodic tasks are spread by a share of the period.
        share = self.id % 8
        self._port.timer(self._config.heartbeat_us * (8 + share) // 16, "heartbeat")
        self._port.timer(self._config.shrink_period_us * (8 + share) // 16, "shrink")
        self._port.timer(self._config.hw_checkpoint_us * (8 + share) // 16, "checkpoint")
        self.logs.start_timers()

    def stopped(self) -> None:
        """The process died: memory is gone."""
        self._touched.everything()
        for replica in self.replicas.values():
            replica.stopped()
        self.purgatory.clear()
        for fetcher in self._fetchers.values():
            fetcher.stopped()
        self.sessions.clear()
        self.leader_quota.rate.clear()
        self.follower_quota.rate.clear()
        self._fetchers.clear()
        self._states.clear()
        self._retrying.clear()
        self.metadata.live.clear()
        self.metadata.racks.clear()
        self.registered = False
        self.starting = False
        self._controller_epoch = 0

    def disk_lost(self) -> None:
        """The log directory is gone, whether the process has just died of it or was down."""
        self._touched.everything()
        self.logs.disk_lost()

    def started(self) -> None:
        """The process runs again: it recovers its logs, then registers."""
        self._touched.everything()
        self.starting = True
        self._registration_retry_us = FIRST_REGISTRATION_RETRY_US
        self._port.timer(self.logs.start() + STARTUP_US, "register")

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        self._handlers[type(message)](source, message)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        name = timer[0]
        if name == "fetcher":
            fetcher = self._fetchers.get((timer[1], timer[2]))
            if fetcher is not None:
                fetcher.rang()
        elif name == "fetch wait":
            self._service.waited(*timer[1:])
        elif name == "purgatory":
            self._service.expire()
        elif name == "heartbeat":
            self._heartbeat()
        elif name == "shrink":
            self._shrink()
        elif name == "checkpoint":
            self._checkpoint()
        elif name == "register":
            self._register()
        elif name == "alter_partition":
            self._propose_again(timer[1])
        else:
            changed = self.logs.on_timer(name)
            if changed:
                self._touched.fresh.update(changed)
                for fetcher in self._fetchers.values():
                    fetcher.tell_log_starts(changed)

    def on_disconnect(self, peer: int) -> None:
        """Whatever was asked of ``peer`` will not be answered."""
        for fetcher in self._fetchers.values():
            if fetcher.leader == peer:
                fetcher.disconnected()
        if peer == self._controller:
            for partition, replica in self.replicas.items():
                if replica.leadership is not None and replica.leadership.pending is not None:
                    self._retry(partition)

    def _heartbeat(self) -> None:
        self._port.send(self._controller, BrokerHeartbeatRequest(self.id, self.broker_epoch))
        self._port.timer(self._config.heartbeat_us, "heartbeat")

    def _heartbeat_answered(self, _source: int, response: BrokerHeartbeatResponse) -> None:
        if response.error and self.registered:
            self.registered = False
            self._register()

    def _register(self) -> None:
        if not self.registered:
            self._port.send(self._controller, BrokerRegistrationRequest(self.id, self._port.incarnation, self._rack))
            self._port.timer(LAST_REGISTRATION_RETRY_US, "register")

    def _registration_answered(self, _source: int, response: BrokerRegistrationResponse) -> None:
        if self.registered:
            return
        if response.error:
            self._port.timer(self._registration_retry_us, "register")
            self._registration_retry_us = min(2 * self._registration_retry_us, LAST_REGISTRATION_RETRY_US)
            return
        self.registered = True
        for fetcher in self._fetchers.values():
            fetcher.disturb()
        self.broker_epoch = response.broker_epoch
        if self.starting:
            self.starting = False
            self._start_timers()

    def _shrink(self) -> None:
        late = self.purgatory.sessions.late(self._port.now, self._config.lag_time_us)
        suspects = {**self._touched.may_lag(), **late}
        if suspects:
            self._shrink_among(suspects)
        self._port.timer(self._config.shrink_period_us, "shrink")

    def _shrink_among(self, suspects: dict[str, None]) -> None:
        for partition, replica in self.replicas.items():
            if partition in suspects and replica.leadership is not None:
                replica.leadership.shrink(self._port.now)
                self.settle(replica)

    def _checkpoint(self) -> None:
        self._touched.checkpoint(self._port.now)
        self._port.timer(self._config.hw_checkpoint_us, "checkpoint")

    def _leader_and_isr(self, request: LeaderAndIsrRequest) -> None:
        self._touched.everything()
        self._service.disturb()
        for fetcher in self._fetchers.values():
            fetcher.disturb()
        self.metadata.live = dict(zip(request.brokers, request.broker_epochs, strict=True))
        self.metadata.racks = dict(zip(request.brokers, request.racks, strict=False))
        for state in request.partitions:
            known = self._states.get(state.partition)
            newer = known is None or (known.leader_epoch, known.partition_epoch) <= (
                state.leader_epoch,
                state.partition_epoch,
            )
            if newer:
                self._states[state.partition] = state
            replica = self.replicas.get(state.partition)
            if replica is not None and replica.apply(state, self._port.now):
                self._follow_or_lead(replica)
                self.settle(replica)
        self._start_waiting_followers()

    def _leader_and_isr_received(self, _source: int, request: LeaderAndIsrRequest) -> None:
        if request.controller_epoch >= self._controller_epoch:
            self._controller_epoch = request.controller_epoch
            self._leader_and_isr(request)

    def _follow_or_lead(self, replica: Replica) -> None:
        for fetcher in self._fetchers.values():
            if fetcher.leader != replica.leader:
                fetcher.remove(replica.partition)
        if replica.following is not None and replica.leader in self.metadata.live:
            self._fetcher(replica).add(replica.partition)

    def _start_waiting_followers(self) -> None:
        """A leader that was not alive when its followers heard of it may be by now."""
        for replica in self.replicas.values():
            following = replica.following
            if following is not None and not following.failed and replica.leader in self.metadata.live:
                fetcher = self._fetcher(replica)
                if not fetcher.has(replica.partition):
                    fetcher.add(replica.partition)

    def _fetcher(self, replica: Replica) -> Fetcher:
        index = fetcher_id(replica.partition, self._config.fetchers)
        fetcher = self._fetchers.get((replica.leader, index))
        return self._new_fetcher(replica.leader, index) if fetcher is None else fetcher

    def _new_fetcher(self, leader: int, index: int) -> Fetcher:
        fetcher = Fetcher(
            self._port, leader, self.replicas, self._profile, self._config, self._fetch_broker_epoch,
            self._touched.fresh,
            self.follower_quota, index,
        )  # fmt: skip
        self._fetchers[leader, index] = fetcher
        return fetcher

    def _fetch_broker_epoch(self) -> int:
        return self.broker_epoch if self._profile.fetch_broker_epoch else -1

    def settle(self, replica: Replica) -> None:
        """After anything that may have changed a leader's state: answer who waited, send what it proposes."""
        self._touched.fresh[replica.partition] = None
        self._service.answer_waiting(replica)
        if replica.leadership is not None:
            proposal = replica.leadership.take_proposal()
            if proposal is not None:
                self._propose(proposal)

    def _propose(self, proposal: AlterPartitionRequest) -> None:
        self._port.send(self._controller, proposal._replace(broker_epoch=self.broker_epoch))

    def _retry(self, partition: str) -> None:
        """Propose again a little later, once: every proposal that is lost brings a reset of its own."""
        if partition not in self._retrying:
            self._retrying[partition] = None
            self._port.timer(ALTER_PARTITION_RETRY_US, "alter_partition", partition)

    def _propose_again(self, partition: str) -> None:
        self._retrying.pop(partition, None)
        leadership = self.replicas[partition].leadership
        if leadership is not None and leadership.pending is not None:
            leadership.propose(leadership.pending)
            self.settle(self.replicas[partition])

    def _alter_partition_answered(self, _source: int, response: AlterPartitionResponse) -> None:
        replica = self.replicas[response.partition]
        if replica.leadership is not None:
            if replica.leadership.confirmed(self._port.now, response):
                self._retry(response.partition)
            self.settle(replica)

    def _fetched(self, source: int, response: FetchResponse) -> None:
        fetcher = self._fetchers.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.fetched(response)
            if self._profile.reads_from_followers and self.purgatory.readers:
                # ReplicaFetcherThread completes the consumers' fetches that wait for its partitions' HW.
                for data in response.partitions:
                    if self.purgatory.readers.get(data.partition):
                        self._service.answer_waiting(self.replicas[data.partition])

    def _epochs_ended(self, source: int, response: EpochEndResponse) -> None:
        fetcher = self._fetchers.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.epochs_ended(response)

    def _offset_listed(self, source: int, response: ListOffsetsResponse) -> None:
        fetcher = self._fetchers.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.offset_listed(response)

    def delete_records(self, partition: str, before: int) -> KafkaError:
        """DeleteRecords for one partition; followers hear of the new log start with their next fetch."""
        self._touched.fresh[partition] = None
        return self.replicas[partition].delete_records(before, self._port.now)

    def _metadata_asked(self, source: int, request: MetadataRequest) -> None:
        brokers = tuple(self.metadata.live)
        self._port.send(source, MetadataResponse(request.correlation, tuple(self._states.values()), brokers))

    def save(self) -> tuple[Any, ...]:
        """All state, disks included."""
        return (
            self.broker_epoch, self.registered, self.starting, tuple(self.metadata.live.items()),
            tuple(self.metadata.racks.items()),
            self._controller_epoch, tuple(self._states.values()), self._registration_retry_us, self.purgatory.save(),
            tuple((key, fetcher.save()) for key, fetcher in self._fetchers.items()),
            self._touched.save(), self.logs.save(), self.sessions.save(),
            self.leader_quota.rate.save(), self.follower_quota.rate.save(), tuple(self._retrying),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the partitions' lineages are loaded first."""
        (
            self.broker_epoch, self.registered, self.starting, live, racks, self._controller_epoch, states,
            self._registration_retry_us, purgatory, fetchers, replicas, logs, sessions, leader_rate,
            follower_rate, retrying,
        ) = saved  # fmt: skip
        self._retrying = dict.fromkeys(retrying)
        self.metadata.live = dict(live)
        self.metadata.racks = dict(racks)
        self._states = {state.partition: state for state in states}
        self.purgatory.load(purgatory)
        self._fetchers.clear()
        for (leader, index), state in fetchers:
            self._new_fetcher(leader, index).load(state)
        self.sessions.load(sessions)
        self.leader_quota.rate.load(leader_rate)
        self.follower_quota.rate.load(follower_rate)
        for replica, state in zip(self.replicas.values(), replicas, strict=True):
            replica.load(state, self.purgatory.sessions)
        self._touched.everything()
        self.logs.load(logs)
