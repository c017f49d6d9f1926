"""A group member by the consumer protocol, the client's side (``ConsumerMembershipManager``, KIP-848).

The answers bring its epoch, and what it is to have when that changes. What it has by then it tells in a heartbeat
at once; otherwise they go at the interval that the coordinator says. FENCED_MEMBER_EPOCH and UNKNOWN_MEMBER_ID mean
that everything is to be abandoned before it joins again, under the id that it has.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.coordinator import InGroup, RebalanceEventListener
from cluster_model.clients.consumer.membership import STABLE, UNJOINED, exception
from cluster_model.clients.consumer.offset_commits import PREPARE
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.coordinator_connection import CoordinatorLink
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


class ModernMember:
    """One member. ``generation`` is its epoch, as far as it is a member."""

    __slots__ = (
        "_acknowledges", "_asked", "_draw_id", "_link", "_next_at", "_pattern", "_retry_at", "_sent_at", "_settings",
        "_subscribe", "_topics", "epoch", "failure", "full_requests", "group", "lost_all", "member_id", "name",
        "target",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, str],
        settings: GroupSettings,
        link: CoordinatorLink,
        subscribe: Callable[[], tuple[str, ...]],
        pattern: str,
        draw_id: Callable[[], str] | None,
    ) -> None:
        """``names``: the client's id and the group's; ``pattern`` is one for the coordinator to go by, else empty.

        ``draw_id`` makes the id of a new process; None where the coordinator gives one (before KIP-1082, 4.0).
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
        """The exception that the next poll throws."""
        self.target: tuple[str, ...] | None = None
        """What it is to have, until the application's thread has seen to it."""
        self.lost_all = False
        """It is a member no more: what it owns is to be abandoned, and then it joins again."""
        self.full_requests = 0
        """How many times it has told everything; what is under way then is begun anew with the answer."""
        self._topics: tuple[str, ...] | None = None
        """The subscription as last told; None: everything is to be told."""
        self._acknowledges = False
        """What it has now is to be told at once."""
        self._asked = 0
        """Correlation of the heartbeat under way, 0 for none."""
        self._sent_at = 0
        self._next_at = 0
        self._retry_at = 0

    # --- what commits ask

    @property
    def state(self) -> int:
        """STABLE while it has an epoch: members commit during a reconciliation too."""
        return STABLE if self.generation > 0 else UNJOINED

    @property
    def rebalancing(self) -> bool:
        """Never: there is no phase in which it may not commit."""
        return False

    @property
    def generation(self) -> int:
        """Its epoch, -1 while it is no member."""
        return NO_GENERATION if self.lost_all or self.epoch <= JOIN else self.epoch

    def request_rejoin(self) -> None:
        """Nobody tells a member by this protocol to join again."""

    def refused(self, error: KafkaError, now: int) -> None:
        """A commit was: what it means for the member its next heartbeat will say."""

    # --- heartbeats

    def beat(self, now: int, owned: tuple[str, ...]) -> None:
        """Send a heartbeat if one is due. ``owned`` is what the member has."""
        if self.failure or self.lost_all or self._asked or not self._link.known or now < self._retry_at:
            return
        joins = self.epoch <= JOIN
        # While there is something yet to be taken up or given up, what it has is not told: it is about to change.
        acknowledges = self._acknowledges and self.target is None
        if not joins and self._topics is not None and not acknowledges and now < self._next_at:
            return
        if not self.member_id and self._draw_id is not None:
            self.member_id = self._draw_id()
        full = joins or self._topics is None
        topics = self._subscribe()
        told = topics if full or topics != self._topics else None
        request = ConsumerGroupHeartbeatRequest(
            0, self.group, self.member_id, self.epoch, self.name, self._settings.instance,
            self._settings.rebalance_us if full else -1,
            None if self._pattern else told,
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
        self._asked = self._link.ask(HEARTBEAT, request)

    def answered(self, response: ConsumerGroupHeartbeatResponse, now: int) -> None:
        """An answer to a heartbeat; that to a last one is of no interest."""
        if not self._link.take(response.correlation) or response.correlation != self._asked:
            return
        self._asked = 0
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
            # The next one goes as soon as the coordinator is found (``HeartbeatRequestManager``).
            self._link.unknown()
        elif error is KafkaError.NETWORK_EXCEPTION:
            self._link.unknown()
            self._retry_at = now + self._settings.backoff_us
        elif error is KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            self._retry_at = now + self._settings.backoff_us
        else:
            self.failure = exception(error)

    def acknowledge(self) -> None:
        """What it was to have it has."""
        self._acknowledges = True

    def abandoned(self) -> None:
        """It owns nothing any more: join again."""
        self.lost_all = False
        self._acknowledges = False
        self.epoch = JOIN

    def leave(self) -> None:
        """Say goodbye: a static member only for now. Nothing is waited for."""
        if self._link.known and self.epoch > JOIN and not self.lost_all and not self.failure:
            instance = self._settings.instance
            epoch = LEAVE_FOR_NOW if instance else LEAVE
            request = ConsumerGroupHeartbeatRequest(
                0, self.group, self.member_id, epoch, self.name, instance, version=self._settings.version
            )
            self._link.ask(LEAVING, request)
        self._asked = 0
        self._topics = None
        self.target = None
        self.lost_all = True

    def lost(self, kind: str, correlation: int, now: int) -> None:
        """A request of the member's will not be answered."""
        if kind == HEARTBEAT and correlation == self._asked:
            self._asked = 0
            self._failed(KafkaError.NETWORK_EXCEPTION, now)

    def due(self, now: int) -> int:
        """When the next heartbeat is, -1 while something else has to happen first."""
        if self.failure or self.lost_all or self._asked or not self._link.known:
            return -1
        at_once = self.epoch <= JOIN or self._topics is None or (self._acknowledges and self.target is None)
        return max(self._retry_at, now if at_once else self._next_at)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.member_id, self.epoch, self.failure, self.target, self.lost_all, self.full_requests, self._topics,
            self._acknowledges, self._asked, self._sent_at, self._next_at, self._retry_at,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            self.member_id, self.epoch, self.failure, self.target, self.lost_all, self.full_requests, self._topics,
            self._acknowledges, self._asked, self._sent_at, self._next_at, self._retry_at,
        ) = saved  # fmt: skip


# A consumer in its group by the consumer protocol (``AsyncKafkaConsumer``, KIP-848).
#
# A thread in the background sends the heartbeats. In polls the application takes up what the member is to have: its
# positions are committed if they are automatically, what is to go is given up, what is to come is taken, and then the
# coordinator is told. Partitions that stay are read all the while.


class ModernCoordination(InGroup[ModernMember]):
    """A member's side of its group."""

    __slots__ = ("_since", "_towards")

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: Positions,
        subscribe: Callable[[], tuple[str, ...]],
        pattern: str,
        draw_id: Callable[[], str] | None,
        emit: Callable[[Event], None],
    ) -> None:
        """``named``: the member's and the group's name; see :class:`ModernMember` for ``pattern`` and ``draw_id``."""
        super().__init__(
            port, named, profile, settings, metadata, positions, RebalanceEventListener(port, named, "epoch", emit),
            lambda link: ModernMember(named, settings, link, subscribe, pattern, draw_id),
        )  # fmt: skip
        self._towards: tuple[str, ...] | None = None
        """What is being taken up ..."""
        self._since = 0
        """... since so many full requests: with another one it is begun anew."""

    # --- a poll

    def poll(self, now: int) -> bool:
        """One round; False if the consumer has come to its end."""
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
        self.commits.auto(now)
        self.commits.fetch(self._positions.initializing(), now)
        return True

    def _abandon(self) -> None:
        """Everything is lost; then the member joins again."""
        self._let_go()
        self.commits.forget(PREPARE)
        self._telling.tell(PartitionsLost, tuple(self._positions.assigned), -1)
        self._telling.keep(())
        self._positions.assign(())
        self.member.abandoned()

    def _let_go(self) -> None:
        self._towards = None
        self._positions.withheld = ()

    def _reconcile(self, now: int) -> bool:
        """Go on with what the member is to have (``maybeReconcile``); whether it has that now."""
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
                # What is about to be given up is not handed out any more; the rest is.
                positions.withheld = tuple([name for name in positions.assigned if name not in target])
                if self.commits.busy(PREPARE):
                    return False
        self._take_up(self._towards, now)
        return True

    def _take_up(self, towards: tuple[str, ...], now: int) -> None:
        member, positions = self.member, self._positions
        owned = tuple(positions.assigned)
        self._telling.tell(PartitionsRevoked, [name for name in owned if name not in towards], member.generation)
        self.commits.rearm(now)
        positions.assign(towards)
        self._telling.keep(towards)
        self._telling.tell(PartitionsAssigned, [name for name in towards if name not in owned], member.generation)
        self._let_go()
        if member.target == towards:
            member.target = None
        member.acknowledge()

    # --- between polls

    def background(self, now: int, *, polling: bool) -> None:
        """The background thread; ``polling``: the application waits in a poll."""
        member = self.member
        if member.failure:
            return
        self.link.find()
        if not polling and member.generation > 0 and now - self._polled_at >= self._settings.max_poll_us:
            member.leave()
        member.beat(now, tuple(self._positions.assigned))

    def wait(self, now: int) -> None:
        """The application waits in a commit."""
        self.commits.poll(now)

    # --- messages

    def receive(self, message: Any) -> bool:
        """Handle an answer; False if it is none of a coordinator's."""
        now = self._port.now
        if isinstance(message, FindCoordinatorResponse):
            self.link.found(message)
        elif isinstance(message, ConsumerGroupHeartbeatResponse):
            self.member.answered(message, now)
        else:
            return self._receive_offsets(message)
        return True

    def due(self, now: int, *, polling: bool, idle: bool) -> int:
        """When something is to be done, -1 never. ``idle``: the application's thread is in the client."""
        times = [self.link.due(), self.member.due(now)]
        if idle:
            times.append(self.commits.due(now))
        elif not polling and self.member.generation > 0:
            times.append(self._polled_at + self._settings.max_poll_us)
        return min([at for at in times if at > now], default=-1)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.link.save(), self.member.save(), self.commits.save(), self._polled_at, self._towards, self._since,
            self._telling.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        link, member, commits, self._polled_at, self._towards, self._since, telling = saved
        self.link.load(link)
        self.member.load(member)
        self.commits.load(commits)
        self._telling.load(telling)
