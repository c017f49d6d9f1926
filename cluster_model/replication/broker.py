"""A broker process: many replicas behind the messages of one node (``KafkaApis``, ``ReplicaManager``).

It knows its replicas, and of everybody else only what messages told it: a stale metadata cache, a leadership that the
controller has long given away, and answers from the dead past are all part of the model. It never fences itself: a
broker that loses the controller goes on in its last known role.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.config import BrokerConfig
from cluster_model.errors import KafkaError
from cluster_model.events import Event
from cluster_model.kernel.kernel import Payload
from cluster_model.kernel.port import Port
from cluster_model.messages import (
    AlterPartitionResponse,
    DeleteRecordsRequest,
    EpochEndRequest,
    EpochEndResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    PartitionState,
    ProduceRequest,
)
from cluster_model.profiles import Profile
from cluster_model.replication.control import Control, Decisions, Handlers
from cluster_model.replication.deleting import Deletions
from cluster_model.replication.fetcher import Fetcher
from cluster_model.replication.fetcher_ids import fetcher_id, fetcher_of
from cluster_model.replication.log_manager import LogManager
from cluster_model.replication.purgatory import Purgatory
from cluster_model.replication.replica import BrokerMetadata, Replica
from cluster_model.replication.service import Service
from cluster_model.replication.session_cache import SessionCache
from cluster_model.replication.throttling import Throttle
from cluster_model.replication.touched import Touched


class Broker:
    """A broker node. ``replicas`` are its disks: they outlive the process."""

    __slots__ = (
        "_config", "_deletions", "_fetchers", "_handlers", "_port", "_profile", "_service", "_states", "_touched",
        "control", "follower_quota", "id", "leader_quota", "logs", "metadata", "purgatory", "replicas", "sessions",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        profile: Profile,
        config: BrokerConfig,
        metadata: BrokerMetadata,
        emit: Callable[[Event], None],
    ) -> None:
        self.id = port.node_id
        self.metadata = metadata
        self.replicas: dict[str, Replica] = {}
        self.control: Control
        """Its side of the control plane, given by :meth:`join`."""
        self.sessions = SessionCache(config.session_slots)
        self.purgatory = Purgatory(port, self.sessions)
        self.leader_quota = Throttle(config.leader_rate, exists=profile.throttles)
        self.follower_quota = Throttle(config.follower_rate, exists=profile.throttles)
        self._port = port
        self._profile = profile
        self._config = config
        self._states: dict[str, PartitionState] = {}
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        """By leader and number (``num.replica.fetchers``)."""
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
        self._deletions = Deletions(port, self.replicas, self.metadata, self._touched.fresh)
        self._service.watched = self._deletions.waiting
        self._handlers: Handlers = {
            FetchRequest: self._service.fetch,
            FetchResponse: self._fetched,
            ProduceRequest: self._service.produce,
            EpochEndRequest: self._service.epoch_ends,
            EpochEndResponse: self._epochs_ended,
            ListOffsetsRequest: self._service.list_offsets,
            ListOffsetsResponse: self._offset_listed,
            MetadataRequest: self._metadata_asked,
            DeleteRecordsRequest: self._deletions.asked,
        }

    def join(self, control: Control) -> None:
        """Take part in a cluster by this side of its control plane; once, before anything happens."""
        self.control = control
        self._handlers.update(control.handlers)

    def serve(self) -> None:
        """The process has registered: its periodic tasks begin."""
        # Brokers do not start in the same instant: their periodic tasks are spread by a share of the period.
        share = self.id % 8
        self._port.timer(self._config.shrink_period_us * (8 + share) // 16, "shrink")
        self._port.timer(self._config.hw_checkpoint_us * (8 + share) // 16, "checkpoint")
        self.logs.start_timers()

    def stopped(self) -> None:
        """The process died: memory is gone."""
        self._touched.everything()
        for replica in self.replicas.values():
            replica.stopped()
        self.purgatory.clear()
        self._deletions.stopped()
        for fetcher in self._fetchers.values():
            fetcher.stopped()
        self.sessions.clear()
        self.leader_quota.rate.clear()
        self.follower_quota.rate.clear()
        self._fetchers.clear()
        self._states.clear()
        self.metadata.live.clear()
        self.metadata.racks.clear()
        self.control.stopped()

    def disk_lost(self) -> None:
        """The log directory is gone, whether the process has just died of it or was down."""
        self._touched.everything()
        self.logs.disk_lost()

    def started(self) -> None:
        """The process runs again: it recovers its logs, then registers."""
        self._touched.everything()
        self.control.started(self.logs.start())

    def shut_down(self) -> None:
        """SIGTERM: hand over what can be handed over, then :meth:`halt`."""
        self.control.shut_down()

    def halt(self) -> None:
        """The end of an orderly shutdown: logs flushed, checkpoints current, and the process exits."""
        self.logs.shut_down()
        self._port.exit("shutdown")

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
        elif name == "deletions":
            self._deletions.expire()
        elif name == "shrink":
            self._shrink()
        elif name == "checkpoint":
            self._checkpoint()
        elif not self.control.on_timer(timer):
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
        self.control.on_disconnect(peer)

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

    def take(self, decisions: Decisions) -> None:
        """Lead, follow and know what the control plane has decided; what is older than what is known is passed over."""
        self._touched.everything()
        self._service.disturb()
        for fetcher in self._fetchers.values():
            fetcher.disturb()
        self.metadata.live = dict(zip(decisions.brokers, decisions.broker_epochs, strict=True))
        self.metadata.racks = dict(zip(decisions.brokers, decisions.racks, strict=False))
        for state in decisions.partitions:
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
        return self.control.broker_epoch if self._profile.fetch_broker_epoch else -1

    def settle(self, replica: Replica) -> None:
        """After anything that may have changed a leader's state: answer who waited, send what it proposes."""
        self._touched.fresh[replica.partition] = None
        self._service.answer_waiting(replica)
        if self._deletions.waiting:
            self._deletions.check(replica.partition)
        if replica.leadership is not None:
            proposal = replica.leadership.take_proposal()
            if proposal is not None:
                self.control.propose(proposal)

    def isr_answered(self, response: AlterPartitionResponse) -> bool:
        """The word on a proposal; True: it is to be proposed again a little later."""
        replica = self.replicas[response.partition]
        if replica.leadership is None:
            return False
        again = replica.leadership.confirmed(self._port.now, response)
        self.settle(replica)
        return again

    def propose_again(self, partition: str) -> None:
        """Propose a pending ISR change once more, as one of its own."""
        leadership = self.replicas[partition].leadership
        if leadership is not None and leadership.pending is not None:
            leadership.propose(leadership.pending)
            self.settle(self.replicas[partition])

    def pending(self) -> list[str]:
        """Partitions whose proposed ISR change has no word yet."""
        return [
            partition
            for partition, replica in self.replicas.items()
            if replica.leadership is not None and replica.leadership.pending is not None
        ]

    def registered_anew(self) -> None:
        """The broker epoch has changed: fetches carry another one from now on."""
        for fetcher in self._fetchers.values():
            fetcher.disturb()

    def leads(self) -> int:
        """How many partitions it believes to lead."""
        return sum(replica.leadership is not None for replica in self.replicas.values())

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
        controller = self.control.told_controller()
        response = MetadataResponse(request.correlation, tuple(self._states.values()), brokers, controller)
        self._port.send(source, response)

    def save(self) -> tuple[Any, ...]:
        """All state, disks included."""
        return (
            self.control.save(), tuple(self.metadata.live.items()), tuple(self.metadata.racks.items()),
            tuple(self._states.values()), self.purgatory.save(),
            tuple((key, fetcher.save()) for key, fetcher in self._fetchers.items()),
            self._touched.save(), self.logs.save(), self.sessions.save(),
            self.leader_quota.rate.save(), self.follower_quota.rate.save(), self._deletions.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the partitions' lineages are loaded first."""
        (
            control, live, racks, states, purgatory, fetchers, replicas, logs, sessions, leader_rate, follower_rate,
            deletions,
        ) = saved  # fmt: skip
        self.control.load(control)
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
        self._deletions.load(deletions)
        for replica, state in zip(self.replicas.values(), replicas, strict=True):
            replica.load(state, self.purgatory.sessions)
        self._touched.everything()
        self.logs.load(logs)
