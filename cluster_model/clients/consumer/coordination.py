"""What a consumer does about its group by the consumer protocol (``AsyncKafkaConsumer``, KIP-848).

A thread in the background sends the heartbeats. In polls the application takes up what the member is to have: its
positions are committed if they are automatically, what is to go is given up, what is to come is taken, and then the
coordinator is told. Partitions that stay are read all the while.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer_protocol import ModernMember
from cluster_model.clients.consumer.in_group import InGroup
from cluster_model.clients.consumer.offset_commits import PREPARE
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.consumer.telling import Telling
from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.events import Event, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from cluster_model.protocol.group_messages import FindCoordinatorResponse
from cluster_model.protocol.messages_part import ConsumerGroupHeartbeatResponse
from cluster_model.protocol.versions import Profile


class ModernCoordination(InGroup[ModernMember]):
    """A member's side of its group."""

    __slots__ = ("_since", "_towards")

    def __init__(
        self,
        port: Port,
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
            port, named, profile, settings, metadata, positions, Telling(port, named, "epoch", emit),
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
