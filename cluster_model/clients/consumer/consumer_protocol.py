"""The consumer's side of a group under the consumer protocol (``ConsumerMembershipManager``, KIP-848).

Heartbeat responses carry the member epoch, and the target assignment when it changes. The member acknowledges a new
assignment with an immediate heartbeat; other heartbeats are sent at the coordinator's interval. After
FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID it abandons all partitions and rejoins with the same member id.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.coordinator import GroupClient, RebalanceEventListener
from cluster_model.clients.consumer.membership import STABLE, UNJOINED, exception
from cluster_model.clients.consumer.offset_commits import PREPARE
from cluster_model.clients.consumer.subscription_state import SubscriptionState
from cluster_model.clients.coordinator_connection import CoordinatorConnection
from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from cluster_model.protocol.group_messages import (
    JOIN,
    LEAVE,
    LEAVE_FOR_NOW,
    NO_GENERATION,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    FindCoordinatorResponse,
)
from cluster_model.protocol.versions import Profile

HEARTBEAT: Final = "consumer heartbeat"
LEAVING: Final = "consumer leave"

_COORDINATOR_GONE: Final = (KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR)
_FENCED: Final = (KafkaError.FENCED_MEMBER_EPOCH, KafkaError.UNKNOWN_MEMBER_ID)


class ConsumerMembershipManager:
    """State of one member of a consumer protocol group; ``generation`` is its epoch while it is a member."""

    __slots__ = (
        "_acknowledges", "_draw_id", "_heartbeat_id", "_link", "_next_at", "_pattern", "_retry_at", "_sent_at",
        "_settings", "_subscribe", "_topics", "epoch", "failure", "full_requests", "group", "lost_all", "member_id",
        "name", "target",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, str],
        settings: GroupSettings,
        link: CoordinatorConnection,
        subscribe: Callable[[], tuple[str, ...]],
        pattern: str,
        draw_id: Callable[[], str] | None,
    ) -> None:
        """Make it; ``names`` is (client id, group), ``pattern`` a topic pattern evaluated by the coordinator, or empty.

        ``draw_id`` generates the member id of a new process; None where the coordinator does (before KIP-1082, 4.0).
        """
        self.name, self.group = names
        self._settings = settings
        self._link = link
        self._subscribe = subscribe
        self._pattern = pattern
        self._draw_id = draw_id
        self.member_id = ""
        self.epoch = JOIN
        self.failure = ""
        """Exception that the next poll throws."""
        self.target: tuple[str, ...] | None = None
        """Target assignment, until the application's thread has reconciled it."""
        self.lost_all = False
        """It is no longer a member: its partitions are to be abandoned before it rejoins."""
        self.full_requests = 0
        """Number of full heartbeats sent; each restarts a reconciliation in progress with its response."""
        self._topics: tuple[str, ...] | None = None
        """Subscription last sent; None: the next heartbeat is a full one."""
        self._acknowledges = False
        """Whether to acknowledge the current assignment at once."""
        self._heartbeat_id = 0
        """Correlation of the heartbeat in flight, 0 for none."""
        self._sent_at = 0
        self._next_at = 0
        self._retry_at = 0

    # --- for commits

    @property
    def state(self) -> int:
        """STABLE while it has an epoch: members may commit during a reconciliation too."""
        return STABLE if self.generation > 0 else UNJOINED

    @property
    def rebalancing(self) -> bool:
        """Always False: a member may commit at any time."""
        return False

    @property
    def generation(self) -> int:
        """Member epoch, -1 while it is not a member."""
        return NO_GENERATION if self.lost_all or self.epoch <= JOIN else self.epoch

    def request_rejoin(self) -> None:
        """Do nothing: this protocol has no request to rejoin."""

    def refused(self, error: KafkaError, now: int) -> None:
        """Do nothing: the next heartbeat has the consequences of a rejected commit."""

    # --- heartbeats

    def beat(self, now: int, owned: tuple[str, ...]) -> None:
        """Send a heartbeat if one is due; ``owned`` are the member's partitions."""
        if self.failure or self.lost_all or self._heartbeat_id or not self._link.is_known or now < self._retry_at:
            return
        joins = self.epoch <= JOIN
        # The owned partitions are not sent during a reconciliation: they are about to change.
        acknowledges = self._acknowledges and self.target is None
        if not joins and self._topics is not None and not acknowledges and now < self._next_at:
            return
        if not self.member_id and self._draw_id is not None:
            self.member_id = self._draw_id()
        full = joins or self._topics is None
        topics = self._subscribe()
        changed_topics = topics if full or topics != self._topics else None
        request = ConsumerGroupHeartbeatRequest(
            0, self.group, self.member_id, self.epoch, self.name, self._settings.instance,
            self._settings.rebalance_us if full else -1,
            None if self._pattern else changed_topics,
            self._pattern if self._pattern and full else None,
            self._settings.remote_assignor or None if full else None,
            owned if full or acknowledges else None,
            self._settings.version,
        )  # fmt: skip
        if full:
            self.full_requests += 1
            self.target = None
        if full or acknowledges:
            self._acknowledges = False
        self._topics = topics
        self._sent_at = now
        self._heartbeat_id = self._link.send(HEARTBEAT, request)

    def on_response(self, response: ConsumerGroupHeartbeatResponse, now: int) -> None:
        """Handle the response to a heartbeat; that to a leave is ignored."""
        if not self._link.complete(response.correlation_id) or response.correlation_id != self._heartbeat_id:
            return
        self._heartbeat_id = 0
        if response.error:
            self._failed(KafkaError(response.error), now)
            return
        self.epoch, self.member_id = response.member_epoch, response.member_id
        self._next_at = self._sent_at + response.heartbeat_us
        if response.assignment is not None:
            self.target = response.assignment

    def _failed(self, error: KafkaError, now: int) -> None:
        self._topics = None
        if error in _FENCED:
            self.lost_all = True
            self.target = None
        elif error in _COORDINATOR_GONE:
            # The next one is sent as soon as the coordinator is found (``HeartbeatRequestManager``).
            self._link.unknown()
        elif error is KafkaError.NETWORK_EXCEPTION:
            if not self._settings.keeps_lost_coordinator:
                self._link.unknown()
            self._retry_at = now + self._settings.backoff_us
        elif error is KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            self._retry_at = now + self._settings.backoff_us
        else:
            self.failure = exception(error)

    def acknowledge(self) -> None:
        """Acknowledge the reconciled assignment with the next heartbeat."""
        self._acknowledges = True

    def abandoned(self) -> None:
        """Rejoin, after all partitions were abandoned."""
        self.lost_all = False
        self._acknowledges = False
        self.epoch = JOIN

    def leave(self) -> None:
        """Leave the group without waiting for the response; a static member leaves temporarily."""
        if self._link.is_known and self.epoch > JOIN and not self.lost_all and not self.failure:
            instance = self._settings.instance
            epoch = LEAVE_FOR_NOW if instance else LEAVE
            request = ConsumerGroupHeartbeatRequest(
                0, self.group, self.member_id, epoch, self.name, instance, version=self._settings.version
            )
            self._link.send(LEAVING, request)
        self._heartbeat_id = 0
        self._topics = None
        self.target = None
        self.lost_all = True

    def on_request_failed(self, kind: str, correlation_id: int, now: int) -> None:
        """Handle the failure of a request."""
        if kind == HEARTBEAT and correlation_id == self._heartbeat_id:
            self._heartbeat_id = 0
            self._failed(KafkaError.NETWORK_EXCEPTION, now)

    def next_action_us(self, now: int) -> int:
        """Return the time of the next heartbeat, -1 while it waits for another event."""
        if self.failure or self.lost_all or self._heartbeat_id or not self._link.is_known:
            return -1
        at_once = self.epoch <= JOIN or self._topics is None or (self._acknowledges and self.target is None)
        return max(self._retry_at, now if at_once else self._next_at)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.member_id, self.epoch, self.failure, self.target, self.lost_all, self.full_requests, self._topics,
            self._acknowledges, self._heartbeat_id, self._sent_at, self._next_at, self._retry_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            self.member_id, self.epoch, self.failure, self.target, self.lost_all, self.full_requests, self._topics,
            self._acknowledges, self._heartbeat_id, self._sent_at, self._next_at, self._retry_at,
        ) = saved  # fmt: skip


# A consumer in a group of the consumer protocol (``AsyncKafkaConsumer``, KIP-848).
#
# A background thread sends the heartbeats. In polls the application reconciles the target assignment: positions are
# committed with automatic commits, partitions are revoked, new ones are assigned, and then the assignment is
# acknowledged. Retained partitions are read all the time.


class ConsumerGroupClient(GroupClient[ConsumerMembershipManager]):
    """The consumer's side of a group under the consumer protocol."""

    __slots__ = ("_since", "_towards")

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: SubscriptionState,
        subscribe: Callable[[], tuple[str, ...]],
        pattern: str,
        draw_id: Callable[[], str] | None,
        emit: Callable[[Event], None],
    ) -> None:
        """Create it; ``named`` is (member, group); for the others see :class:`ConsumerMembershipManager`."""
        super().__init__(
            port, named, profile, settings, metadata, positions, RebalanceEventListener(port, named, "epoch", emit),
            lambda link: ConsumerMembershipManager(named, settings, link, subscribe, pattern, draw_id),
        )  # fmt: skip
        self._towards: tuple[str, ...] | None = None
        """Target assignment of the reconciliation in progress."""
        self._since = 0
        """Number of full heartbeats at its start: a further one restarts it."""

    # --- a poll

    def poll(self, now: int, *, has_records: bool) -> bool:
        """Run one round of a poll; return False if the consumer has failed."""
        self._polled_at = now
        member = self.member
        self.link.find()
        self.commits.poll(now)
        if member.failure:
            self._positions.failure = member.failure
            return False
        if member.lost_all:
            self._abandon()
        while self._reconcile(now):
            pass
        member.beat(now, tuple(self._positions.assigned))
        if not self._settings.commits_polled:
            self.commits.auto(now)
        self.commits.fetch(self._positions.initializing(), now)
        return True

    def _abandon(self) -> None:
        """Abandon all partitions as lost, then rejoin."""
        self._let_go()
        self.commits.forget(PREPARE)
        self._telling.emit(PartitionsLost, tuple(self._positions.assigned), -1)
        self._telling.keep(())
        self._positions.assign(())
        self.member.abandoned()

    def _let_go(self) -> None:
        self._towards = None
        self._positions.withheld = ()

    def _reconcile(self, now: int) -> bool:
        """Continue the reconciliation (``maybeReconcile``); return whether it was completed."""
        member, positions = self.member, self._positions
        if self._towards is not None and self._since != member.full_requests:
            self._let_go()
        if self.commits.busy(PREPARE):
            return False
        if self._towards is None:
            target = member.target
            if target is None:
                return False
            if sorted(target) == sorted(positions.assigned):
                member.target = None
                return False
            self._towards, self._since = target, member.full_requests
            if self._settings.auto_commit:
                self.commits.commit(PREPARE, self.commits.consumed(), now, self._settings.rebalance_us)
                # Partitions about to be revoked are no longer returned by polls; the others are.
                positions.withheld = tuple([name for name in positions.assigned if name not in target])
                if self.commits.busy(PREPARE):
                    return False
        self._take_up(self._towards, now)
        return True

    def _take_up(self, towards: tuple[str, ...], now: int) -> None:
        member, positions = self.member, self._positions
        owned = tuple(positions.assigned)
        self._telling.emit(PartitionsRevoked, [name for name in owned if name not in towards], member.generation)
        self.commits.rearm(now)
        positions.assign(towards)
        self._telling.keep(towards)
        self._telling.emit(PartitionsAssigned, [name for name in towards if name not in owned], member.generation)
        self._let_go()
        if member.target == towards:
            member.target = None
        member.acknowledge()

    # --- between polls

    def background(self, now: int, *, polling: bool) -> None:
        """Run the background thread; ``polling``: the application waits in a poll."""
        member = self.member
        if member.failure:
            return
        self.link.find()
        if not polling and member.generation > 0 and now - self._polled_at >= self._settings.max_poll_us:
            member.leave()
        member.beat(now, tuple(self._positions.assigned))

    def wait(self, now: int) -> None:
        """Continue while the application waits in a commit."""
        self.commits.poll(now)

    # --- messages

    def receive(self, message: Any) -> bool:
        """Handle a response; return False if it is not a coordinator's."""
        now = self._port.now
        if isinstance(message, FindCoordinatorResponse):
            self.link.on_coordinator_found(message)
        elif isinstance(message, ConsumerGroupHeartbeatResponse):
            self.member.on_response(message, now)
        else:
            return self._receive_offsets(message)
        return True

    def next_action_us(self, now: int, *, polling: bool, idle: bool) -> int:
        """Return the time of the next action, -1 for none; ``idle``: the application's thread is in the client."""
        times = [self.link.next_action_us(), self.member.next_action_us(now)]
        if idle:
            times.append(self.commits.next_action_us(now))
        elif not polling and self.member.generation > 0:
            times.append(self._polled_at + self._settings.max_poll_us)
        return min([at for at in times if at > now], default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.link.save(), self.member.save(), self.commits.save(), self._polled_at, self._towards, self._since,
            self._telling.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        link, member, commits, self._polled_at, self._towards, self._since, listener = saved
        self.link.load(link)
        self.member.load(member)
        self.commits.load(commits)
        self._telling.load(listener)
