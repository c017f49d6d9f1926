"""The client's side of group membership under the classic protocol (``AbstractCoordinator``).

A member joins, receives its generation, and syncs to receive its partitions; the group's leader sends the assignment.
Heartbeat responses then signal when to rejoin. After ILLEGAL_GENERATION it keeps its member id (KAFKA-13419, 3.2),
after UNKNOWN_MEMBER_ID it does not; in both cases its partitions are lost. FENCED_INSTANCE_ID is fatal.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from cluster_model.assignors.assignors import client_assignors
from cluster_model.assignors.base import AssignmentError, AssignorRules, MemberSubscription, TopicPartition, Topics
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.coordinator_connection import CoordinatorConnection
from cluster_model.clients.metadata import Metadata
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    NO_GENERATION,
    Assignment,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    MemberProtocol,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)

# The assignment by a group's leader (``ConsumerCoordinator.onLeaderElected``).


Racks = dict[TopicPartition, tuple[str, ...]]
"""Partition → racks with a replica of it."""


def topic_of(partition: str) -> str:
    """Return the topic of a partition such as ``orders-0``."""
    return partition.rpartition("-")[0]


def parsed(partition: str) -> TopicPartition:
    """Parse a partition name into the form that assignors use."""
    topic, _dash, number = partition.rpartition("-")
    return TopicPartition(topic, int(number))


def sizes(metadata: Metadata, topics: Iterable[str]) -> dict[str, int]:
    """Return the number of partitions of each topic in the client's metadata, 0 if it lacks the topic."""
    wanted = dict.fromkeys(sorted(topics), 0)
    for name in metadata.states:
        topic = topic_of(name)
        if topic in wanted:
            wanted[topic] += 1
    return wanted


def racks(metadata: Metadata, topics: Mapping[str, int]) -> Racks:
    """Return the known racks of the replicas of each partition of ``topics`` (topic → size); empty without racks."""
    if not any(metadata.racks.values()):
        return {}
    found: Racks = {}
    for partition in [TopicPartition(topic, number) for topic, size in topics.items() for number in range(size)]:
        replicas = metadata.states[str(partition)].replicas if str(partition) in metadata.states else ()
        found[partition] = tuple(sorted({metadata.racks[broker] for broker in replicas if metadata.racks.get(broker)}))
    return found


def assign(
    protocol: str, members: Sequence[JoinGroupMember], known: dict[str, int], near: Racks, rules: AssignorRules
) -> tuple[tuple[str, Assignment], ...]:
    """Compute the assignment of all members with the chosen assignor over the topics known to the leader.

    ``near`` are the racks of their partitions.
    """
    assignments = client_assignors(rules)[protocol].assign(
        [
            MemberSubscription(
                id=member.member_id,
                topics=member.metadata.topics,
                instance=member.group_instance_id,
                rack=member.metadata.rack,
                owned=tuple([parsed(partition) for partition in member.metadata.owned]),
                generation=member.metadata.generation,
            )
            for member in members
        ],
        Topics(known, near),
    )
    return tuple([(member, Assignment(tuple(map(str, share)))) for member, share in assignments.items()])


def validate_cooperative(members: Sequence[JoinGroupMember], assignments: tuple[tuple[str, Assignment], ...]) -> None:
    """Check that no partition moves to another member while one claims it (``validateCooperativeAssignment``).

    Raises:
        AssignmentError: one does.
    """
    owned = {member.member_id: set(member.metadata.owned) for member in members}
    given = {member_id: set(assignment.partitions) for member_id, assignment in assignments}
    revoked = {name for member_id, claims in owned.items() for name in claims - given[member_id]}
    if any(revoked & (share - owned[member_id]) for member_id, share in given.items()):
        raise AssignmentError


# A member's heartbeat and session timers (``Heartbeat``).


class Heartbeat:
    """Heartbeat and session timers of a member, in virtual µs (Kafka's ``Heartbeat``)."""

    __slots__ = ("_next_at", "_received_at", "_request_id", "_settings", "running")

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self.running = False
        self._next_at = 0
        self._received_at = 0
        self._request_id = 0
        """Correlation of the heartbeat in flight, 0 for none."""

    def start(self, now: int) -> None:
        """Start the timers after a join."""
        self.running = True
        self._received_at = now
        self._next_at = now + self._settings.heartbeat_us
        self._request_id = 0

    def stop(self) -> None:
        """Stop the timers as the member rejoins or leaves; a heartbeat in flight is ignored."""
        self.running = False

    def due_now(self, now: int) -> bool:
        """Return whether the next heartbeat is to be sent."""
        return self.running and not self._request_id and now >= self._next_at

    def session_over(self, now: int) -> bool:
        """Return whether the session timeout passed without a response: the coordinator is looked up again."""
        return self.running and now - self._received_at >= self._settings.session_us

    def sent(self, now: int, correlation_id: int) -> None:
        """Record a heartbeat in flight; the next is due an interval after it."""
        self._request_id = correlation_id
        self._next_at = now + self._settings.heartbeat_us

    def expects(self, correlation_id: int) -> bool:
        """Return whether the heartbeat with this correlation is in flight."""
        return self.running and self._request_id == correlation_id

    def reset_session_timeout(self, now: int) -> None:
        """Restart the session timeout."""
        self._received_at = now

    def on_response(self, now: int) -> None:
        """Handle a successful response."""
        self._request_id = 0
        self._received_at = now

    def failed(self, now: int) -> None:
        """Handle a failed heartbeat: the next one is sent after the backoff."""
        self._request_id = 0
        self._next_at = now + self._settings.backoff_us

    def next_action_us(self) -> int:
        """Return the time of the next action, -1 for none."""
        if not self.running:
            return -1
        over = self._received_at + self._settings.session_us
        return over if self._request_id else min(over, self._next_at)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.running, self._next_at, self._received_at, self._request_id)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.running, self._next_at, self._received_at, self._request_id = saved


UNJOINED: Final = 0
"""Not a member."""
PREPARING: Final = 1
"""JoinGroup is in flight."""
COMPLETING: Final = 2
"""SyncGroup is in flight."""
STABLE: Final = 3
"""A member with an assignment."""

JOIN: Final = "join"
SYNC: Final = "sync"
HEARTBEAT: Final = "heartbeat"
LEAVE: Final = "leave"

_RETRY_LATER: Final = (KafkaError.COORDINATOR_LOAD_IN_PROGRESS,)
_COORDINATOR_GONE: Final = (
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NETWORK_EXCEPTION,
)
_JOIN_MARGIN_US: Final = 5_000_000
"""Time by which the timeout of a JoinGroup exceeds the rebalance timeout."""


class ConsumerMembership:
    """State machine of one member of a classic group: joins, syncs and heartbeats."""

    __slots__ = (
        "_assigned_racks", "_assigned_sizes", "_joined", "_link", "_metadata", "_outcome", "_prepared", "_protocol",
        "_rejoin", "_request_id", "_retry_at", "_seen", "_settings", "_snapshot", "_subscribe", "failure", "generation",
        "group", "heartbeat", "leads", "led", "member_id", "name", "rack", "state",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, str],
        settings: GroupSettings,
        link: CoordinatorConnection,
        metadata: Metadata,
        subscribe: Callable[[], tuple[str, ...]],
        rack: str,
    ) -> None:
        """Make it; ``names`` is (client id, group), ``subscribe`` returns the subscribed topics by current metadata."""
        self.name, self.group = names
        self.rack = rack if settings.racks else ""
        self._settings = settings
        self._link = link
        self._metadata = metadata
        self._subscribe = subscribe
        self.state = UNJOINED
        self.generation = NO_GENERATION
        self.member_id = ""
        self.leads = False
        self.led = 0
        """Members in the leader's JoinGroup response, 0 if it must not assign: it is a returning static leader."""
        self.failure = ""
        """Exception that the next poll throws."""
        self.heartbeat = Heartbeat(settings)
        self._rejoin = True
        self._prepared = False
        """Whether partitions were revoked for the next join."""
        self._joined: tuple[str, ...] | None = None
        """Subscription of the last join."""
        self._assigned_sizes: dict[str, int] = {}
        """Topic sizes used by the leader's last assignment."""
        self._snapshot: dict[str, int] | None = None
        """Topic sizes of the assignment in effect: the leader rejoins when they change."""
        self._assigned_racks: Racks = {}
        """Replica racks used by the leader's last assignment."""
        self._protocol = ""
        self._request_id = 0
        """Correlation of the join or sync in flight."""
        self._retry_at = 0
        self._outcome: Assignment | None = None
        """Assignment of the last sync, until the application's next poll takes it over."""
        self._seen = -1

    # --- for polls

    @property
    def reset(self) -> bool:
        """Whether generation or member id were lost, and with them the owned partitions."""
        return self.generation == NO_GENERATION or not self.member_id

    @property
    def rebalancing(self) -> bool:
        """Whether a join or sync is in flight (``rebalanceInProgress``)."""
        return self.state in (PREPARING, COMPLETING)

    def wants_to_join(self) -> bool:
        """Return whether to rejoin (``rejoinNeededOrPending``): by request, or as subscription or topics changed."""
        if self._seen != self._metadata.version:
            self._seen = self._metadata.version
            if self._joined is not None and self._subscribe() != self._joined:
                self._rejoin = True
            if self._snapshot is not None and self._topics_changed(self._snapshot):
                self._rejoin = True
        return self._rejoin and not self.rebalancing

    def _topics_changed(self, used: dict[str, int]) -> bool:
        """Return whether topic sizes changed, or replica racks if the leader has a rack itself."""
        if sizes(self._metadata, used) != used:
            return True
        return bool(self.rack) and racks(self._metadata, used) != self._assigned_racks

    @property
    def must_prepare(self) -> bool:
        """Whether partitions are still to be revoked before the join (``onJoinPrepare``)."""
        return not self._prepared

    def prepared(self) -> None:
        """Record that partitions were revoked for the join."""
        self._prepared = True

    def subscription(self) -> tuple[str, ...]:
        """Return the subscribed topics by current metadata."""
        return self._subscribe()

    def request_rejoin(self) -> None:
        """Rejoin at the next poll."""
        self._rejoin = True

    def taken_over(self) -> Assignment | None:
        """Return the assignment of the last sync, once; None if there is none, or it is outdated."""
        outcome, self._outcome = self._outcome, None
        if outcome is None or self.state != STABLE or self.reset:
            return None
        self._prepared = False
        return outcome

    @property
    def protocol(self) -> str:
        """Assignor of this generation."""
        return self._protocol

    # --- joining

    def join(self, now: int, owned: tuple[str, ...], last: tuple[str, ...], last_generation: int) -> None:
        """Send a JoinGroup if the coordinator is known and the backoff is over.

        ``owned`` are the member's partitions now; ``last`` its last assignment, sent to a sticky assignor.
        """
        if not self._link.is_known or now < self._retry_at or self.failure:
            return
        settings = self._settings
        self._joined = self._subscribe()
        protocols = tuple(
            [
                MemberProtocol(name, self._subscription(name, owned, last, last_generation))
                for name in settings.assignors
            ]
        )
        request = JoinGroupRequest(
            0, self.group, self.name, self.member_id, settings.session_us, settings.rebalance_us, protocols,
            settings.instance, version=settings.version,
        )  # fmt: skip
        timeout = max(settings.request_timeout_us, settings.rebalance_us + _JOIN_MARGIN_US)
        self.state = PREPARING
        self._rejoin = False
        self.heartbeat.stop()
        self._request_id = self._link.send(JOIN, request, timeout)

    def _subscription(self, name: str, owned: tuple[str, ...], last: tuple[str, ...], generation: int) -> Subscription:
        topics = self._joined or ()
        if name == "sticky":
            return Subscription(topics, last, generation, self.rack)
        if not self._settings.reports_joined_generation:
            return Subscription(topics, owned, generation, self.rack)
        return Subscription(topics, owned, self.generation if owned else NO_GENERATION, self.rack)

    def joined(self, response: JoinGroupResponse, now: int) -> None:
        """Handle the response to a join: sync, with the assignment of all members if this is the leader."""
        if (
            self._link.complete(response.correlation_id)
            and response.correlation_id == self._request_id
            and self.state == PREPARING
        ):
            if response.error:
                self.join_failed(KafkaError(response.error), now, response.member_id)
                return
            self.generation, self.member_id = response.generation_id, response.member_id
            self._protocol = response.protocol_name
            self.state = COMPLETING
            self.heartbeat.start(now)
            self.leads = response.leader == response.member_id
            self._snapshot = None
            assignments: tuple[tuple[str, Assignment], ...] = ()
            if self.leads:
                self.led = 0 if response.skip_assignment else len(response.members)
                topics = {topic for member in response.members for topic in member.metadata.topics}
                self._assigned_sizes = sizes(self._metadata, topics)
                self._assigned_racks = racks(self._metadata, self._assigned_sizes) if self._settings.racks else {}
                if not response.skip_assignment:
                    try:
                        assignments = self._assign(response)
                    except AssignmentError:
                        self._fail("IllegalStateException")
                        return
            if not self._link.is_known:
                self._again(now)
                return
            request = SyncGroupRequest(
                0, self.group, self.generation, self.member_id, assignments, self._settings.instance
            )
            timeout = max(self._settings.request_timeout_us, self._settings.rebalance_us + _JOIN_MARGIN_US)
            self._request_id = self._link.send(SYNC, request, timeout)

    def _assign(self, response: JoinGroupResponse) -> tuple[tuple[str, Assignment], ...]:
        """Compute the assignment of all members as their leader.

        Raises:
            AssignmentError: there is none, or a partition moves before its owner has revoked it (KAFKA-13406: no fault
                of an assignor that knows which claims are outdated).
        """
        assignments = assign(
            response.protocol_name, response.members, self._assigned_sizes, self._assigned_racks,
            self._settings.assignor_rules,
        )  # fmt: skip
        if self._settings.validates_cooperative and response.protocol_name == "cooperative-sticky":
            validate_cooperative(response.members, assignments)
        return assignments

    def join_failed(self, error: KafkaError, now: int, member_id: str = "") -> None:
        """Handle a failed join."""
        if error is KafkaError.MEMBER_ID_REQUIRED:
            self.generation, self.member_id = NO_GENERATION, member_id
            self._again(now, at_once=True)
        elif error in _COORDINATOR_GONE:
            self._link.unknown()
            self._failed_retriably(now)
        elif error is KafkaError.UNKNOWN_MEMBER_ID:
            self._forget(member_id_too=True)
            self._again(now, at_once=True)
        elif error is KafkaError.REBALANCE_IN_PROGRESS:
            self._again(now, at_once=True)
        elif error in _RETRY_LATER:
            self._failed_retriably(now)
        else:
            self._fatal(error)

    def _failed_retriably(self, now: int) -> None:
        """Handle a retriable error of a join or sync: join again after the backoff."""
        if self._settings.forgets_id_after_errors:
            # KAFKA-13214: the coordinator may still have the old member, for its session timeout.
            self._forget(member_id_too=True)
        self._again(now)

    def _again(self, now: int, *, at_once: bool = False) -> None:
        self.state = UNJOINED
        self._rejoin = True
        self._retry_at = now if at_once else now + self._settings.backoff_us

    def _fatal(self, error: KafkaError) -> None:
        self._fail(exception(error))

    def _fail(self, failure: str) -> None:
        self.failure = failure
        self.state = UNJOINED
        self.heartbeat.stop()

    def synced(self, response: SyncGroupResponse, now: int) -> None:
        """Handle the response to a sync, with the member's assignment."""
        if (
            self._link.complete(response.correlation_id)
            and response.correlation_id == self._request_id
            and self.state == COMPLETING
        ):
            if response.error:
                self.sync_failed(KafkaError(response.error), now)
                return
            self.state = STABLE
            self._rejoin = False
            self._outcome = response.assignment
            if self.leads:
                self._snapshot = self._assigned_sizes

    def sync_failed(self, error: KafkaError, now: int) -> None:
        """Handle a failed sync: rejoin, or fail."""
        if error is KafkaError.FENCED_INSTANCE_ID:
            self._fatal(error)
            return
        if error in _COORDINATOR_GONE:
            self._link.unknown()
            self._failed_retriably(now)
        elif error in _RETRY_LATER:
            self._failed_retriably(now)
        elif error in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION):
            self._forget(member_id_too=self._loses_id(error))
            self._again(now, at_once=True)
        elif error is KafkaError.REBALANCE_IN_PROGRESS:
            if self._settings.loses_generation_in_sync:
                self._forget(member_id_too=False)
            self._again(now, at_once=True)
        else:
            self._fatal(error)

    def _loses_id(self, error: KafkaError) -> bool:
        """Return whether an error makes it join as a new member, with a new member id."""
        return error is KafkaError.UNKNOWN_MEMBER_ID or self._settings.forgets_id_of_generation

    def _forget(self, *, member_id_too: bool) -> None:
        """Lose the generation, and the member id if requested (``resetStateOnResponseError``).

        Its partitions are lost then, before it joins again; up to KAFKA-12983 only if it was not joining already.
        """
        self.generation = NO_GENERATION
        if not self._settings.prepares_once:
            self._prepared = False
        if member_id_too:
            self.member_id = ""
        self.state = UNJOINED
        self._rejoin = True
        self._outcome = None
        self.heartbeat.stop()

    # --- heartbeats

    def beat(self, now: int) -> None:
        """Run the heartbeat thread: send a due heartbeat, or handle the session timeout."""
        if not self.heartbeat.running:
            return
        if not self._link.is_known:
            return
        if self.heartbeat.session_over(now):
            self._link.unknown()
            self.heartbeat.on_response(now)
            self._link.find()
        elif self.heartbeat.due_now(now):
            request = HeartbeatRequest(0, self.group, self.generation, self.member_id, self._settings.instance)
            self.heartbeat.sent(now, self._link.send(HEARTBEAT, request))

    def coordinator_found(self, now: int) -> None:
        """Restart the session timeout after a coordinator lookup (``resetSessionTimeout``)."""
        self.heartbeat.reset_session_timeout(now)

    def beaten(self, response: HeartbeatResponse, now: int) -> None:
        """Handle the response to a heartbeat."""
        if self._link.complete(response.correlation_id) and self.heartbeat.expects(response.correlation_id):
            if response.error:
                self.refused(KafkaError(response.error), now)
            else:
                self.heartbeat.on_response(now)

    def refused(self, error: KafkaError, now: int) -> None:
        """Handle an error of a heartbeat or commit."""
        self.heartbeat.failed(now)
        if error in _COORDINATOR_GONE:
            self._link.unknown()
        elif error is KafkaError.REBALANCE_IN_PROGRESS:
            self.heartbeat.on_response(now)
            if self.state == STABLE:
                self._rejoin = True
        elif error in (KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID):
            # Before 0.10.1 heartbeats lose the id only with UNKNOWN_MEMBER_ID.
            own_thread = self._settings.own_thread
            self._forget(member_id_too=error is KafkaError.UNKNOWN_MEMBER_ID or (own_thread and self._loses_id(error)))
        elif error is KafkaError.FENCED_INSTANCE_ID:
            self._fatal(error)

    def leave(self) -> None:
        """Leave the group; a static member only stops, without a LeaveGroup (``maybeLeaveGroup``)."""
        if not self._settings.instance and self._link.is_known and self.state != UNJOINED and self.member_id:
            request = LeaveGroupRequest(0, self.group, (LeavingMember(self.member_id),))
            self._link.send(LEAVE, request)
        self._forget(member_id_too=True)

    def on_request_failed(self, kind: str, correlation_id: int, now: int) -> None:
        """Handle the failure of a request."""
        if kind == JOIN and correlation_id == self._request_id and self.state == PREPARING:
            self.join_failed(KafkaError.NETWORK_EXCEPTION, now)
        elif kind == SYNC and correlation_id == self._request_id and self.state == COMPLETING:
            self.sync_failed(KafkaError.NETWORK_EXCEPTION, now)
        elif kind == HEARTBEAT and self.heartbeat.expects(correlation_id):
            self.refused(KafkaError.NETWORK_EXCEPTION, now)

    def assigned_beyond(self, assignment: Assignment) -> bool:
        """Return whether an assignment has a topic that is not subscribed: then it rejoins."""
        return any(topic_of(partition) not in (self._joined or ()) for partition in assignment.partitions)

    def next_action_us(self, now: int) -> int:
        """Return the time of the next action, -1 for none."""
        beat = self.heartbeat.next_action_us()
        times = [beat] if beat >= 0 and self._link.is_known else []
        if self._rejoin and not self.rebalancing and self._retry_at > now:
            times.append(self._retry_at)
        return min(times, default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        snapshot = None if self._snapshot is None else tuple(self._snapshot.items())
        return (
            self.state, self.generation, self.member_id, self.leads, self.led, self.failure, self.heartbeat.save(),
            self._rejoin, self._prepared, self._joined, tuple(self._assigned_sizes.items()), snapshot, self._protocol,
            self._request_id, self._retry_at, self._outcome, tuple(self._assigned_racks.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            self.state, self.generation, self.member_id, self.leads, self.led, self.failure, heartbeat, self._rejoin,
            self._prepared, self._joined, used, snapshot, self._protocol, self._request_id, self._retry_at,
            self._outcome, used_racks,
        ) = saved  # fmt: skip
        self._assigned_racks = dict(used_racks)
        self.heartbeat.load(heartbeat)
        self._assigned_sizes = dict(used)
        self._snapshot = None if snapshot is None else dict(snapshot)
        self._seen = -1


def exception(error: KafkaError) -> str:
    """Return the name of the exception for an error, such as ``FencedInstanceIdException``."""
    return "".join(word.capitalize() for word in error.name.split("_")) + "Exception"
