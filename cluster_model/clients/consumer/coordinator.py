"""A consumer's part in its group, in a poll and between polls (``ConsumerCoordinator``).

In a poll: find the coordinator, take over what the last rebalance brought, join if need be, commit automatically, ask
what is committed for new partitions. Between polls heartbeats go on, by a thread of their own since 0.10.1 (KIP-62),
which also leaves the group when the application has not polled for ``max.poll.interval.ms``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.membership import STABLE, UNJOINED, ConsumerMembership, topic_of
from cluster_model.clients.consumer.offset_commits import CLOSE, PREPARE, CommitOutcome, Commits, Committer
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.coordinator_connection import CoordinatorLink
from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.events import (
    CommitFailed,
    Event,
    GroupRebalanced,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from cluster_model.protocol.group_messages import (
    Assignment,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from cluster_model.protocol.versions import Profile

# Callbacks of a member's application: assigned and revoked partitions, and commits.


Told = type[PartitionsAssigned] | type[PartitionsRevoked] | type[PartitionsLost]


class RebalanceEventListener:
    """The listener of one member, as events."""

    __slots__ = ("_committed", "_emit", "_named", "_port", "_word")

    def __init__(self, port: NodeContext, named: tuple[str, str], word: str, emit: Callable[[Event], None]) -> None:
        """``named``: the member's and the group's name; ``word`` is what its protocol calls a generation."""
        self._port = port
        self._named = named
        self._word = word
        self._emit = emit
        self._committed: dict[str, int] = {}
        """What this member knows to be committed by itself."""

    def tell(self, kind: Told, partitions: Iterable[str], generation: int) -> None:
        """Partitions came or went, if any did."""
        names = tuple(partitions)
        if names:
            words = (f"{self._word} {generation}: " if generation >= 0 else "") + ", ".join(names)
            self._emit(kind(self._port.now, *self._named, len(names), words))

    def done(self, outcome: CommitOutcome) -> None:
        """A commit came to its end; of offsets that were committed before nothing is said."""
        now = self._port.now
        if outcome.error:
            self._emit(CommitFailed(now, *self._named, outcome.error, outcome.kind))
            return
        for each in outcome.offsets:
            if self._committed.get(each.partition) != each.offset:
                self._committed[each.partition] = each.offset
                self._emit(OffsetsCommitted(now, *self._named, each.partition, each.offset, outcome.kind))

    def keep(self, partitions: Iterable[str]) -> None:
        """Forget what was committed of others than these."""
        kept = tuple(partitions)
        self._committed = {name: offset for name, offset in self._committed.items() if name in kept}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._committed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._committed = dict(saved)


# A member in its group, whatever its protocol: its commits, its end, responses that never come.


CLOSE_US: Final = 30_000_000
"""How long a close waits for its commit."""


class Leaver(Committer, Protocol):
    """A member that can end."""

    def leave(self) -> None:
        """It is a member no more."""

    def lost(self, kind: str, correlation: int, now: int) -> None:
        """A request will not be answered."""


Member = TypeVar("Member", bound=Leaver)


class InGroup(Generic[Member]):
    """Base of both protocols' sides of a member."""

    __slots__ = (
        "_polled_at", "_port", "_positions", "_settings", "_telling", "commits", "link", "member", "on_outcome",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: Positions,
        telling: RebalanceEventListener,
        make_member: Callable[[CoordinatorLink], Member],
    ) -> None:
        """``named``: the member's and the group's name."""
        self._port = port
        self._settings = settings
        self._positions = positions
        self._telling = telling
        self.link = CoordinatorLink(port, metadata, named[1], (settings.backoff_us, settings.request_timeout_us))
        self.member = make_member(self.link)
        self.commits = Commits(profile, settings, self.link, self.member, positions, self._done)
        self.on_outcome: Callable[[CommitOutcome], None] = _nothing
        """Told how the application's own commits end."""
        self._polled_at = 0

    @property
    def settings(self) -> GroupSettings:
        """What the consumer's configuration says of its group."""
        return self._settings

    def _done(self, outcome: CommitOutcome) -> None:
        """A commit came to its end."""
        self._telling.done(outcome)
        self.on_outcome(outcome)

    def clock_stepped(self, by: int) -> None:
        """The machine's clock was set: ``max.poll.interval.ms`` goes by it (``Timer``), but only ahead."""
        self._polled_at -= max(0, by)

    def close(self, now: int) -> bool:
        """Begin to leave: with automatic commits after a last one. True when that has ended, and the member left."""
        if self._settings.auto_commit and not self.commits.busy(CLOSE):
            self.commits.commit(CLOSE, self.commits.consumed(), now, CLOSE_US)
        return self.closed(now)

    def closed(self, now: int) -> bool:
        """Whether the last commit has ended; then the member leaves."""
        self.link.find()
        self.commits.poll(now)
        if self.commits.busy(CLOSE):
            return False
        self.member.leave()
        return True

    def _receive_offsets(self, message: Any) -> bool:
        """Handle an answer about offsets; False if it is none."""
        if isinstance(message, OffsetCommitResponse):
            self.commits.committed(message, self._port.now)
        elif isinstance(message, OffsetFetchResponse):
            self.commits.fetched(message, self._port.now)
        else:
            return False
        return True

    def lost(self, broker: int) -> None:
        """What was asked of a broker will not be answered."""
        now = self._port.now
        for kind, correlation in self.link.lost(broker):
            self.member.lost(kind, correlation, now)
            self.commits.lost(kind, correlation, now)

    def overdue(self, now: int) -> list[int]:
        """Brokers that have not answered in time."""
        return self.link.overdue(now)


def _nothing(_outcome: CommitOutcome) -> None:
    """Nobody wants to know."""


class Coordination(InGroup[ConsumerMembership]):
    """A member's side of its group."""

    __slots__ = ("_emit", "_last", "_named", "_preparing")

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: Positions,
        subscribe: Callable[[], tuple[str, ...]],
        rack: str,
        emit: Callable[[Event], None],
    ) -> None:
        """``named``: the member's and the group's name."""
        super().__init__(
            port, named, profile, settings, metadata, positions,
            RebalanceEventListener(port, named, "generation", emit),
            lambda link: ConsumerMembership(named, settings, link, metadata, subscribe, rack),
        )  # fmt: skip
        self._named = named
        self._emit = emit
        self._preparing = False
        self._last: tuple[tuple[str, ...], int] = ((), -1)
        """What the member was given last, and in which generation."""

    # --- a poll

    def poll(self, now: int) -> bool:
        """One round; False while there is no coordinator, or a rebalance: then positions are left alone."""
        self._polled_at = now
        member = self.member
        self.link.find()
        self.commits.poll(now)
        if member.failure:
            self._positions.failure = member.failure
            return False
        outcome = member.taken_over()
        if outcome is not None:
            self._take_over(outcome, now)
        if not self.link.known:
            return False
        if member.wants_to_join() and (not member.must_prepare or self._prepare(now)):
            member.join(now, tuple(self._positions.assigned), *self._last)
        if not self._settings.own_thread:
            member.beat(now)
        if member.state != STABLE or self._preparing:
            return False
        self.commits.auto(now)
        self.commits.fetch(self._positions.initializing(), now)
        return True

    def _prepare(self, now: int) -> bool:
        """Before a join: commit automatically and wait for it, then give partitions up (``onJoinPrepare``)."""
        if not self._preparing:
            self._preparing = True
            if self._settings.auto_commit:
                consumed = self.commits.consumed()
                # What is about to be revoked is not handed out any more.
                self._positions.frozen = not self._settings.cooperative
                self.commits.commit(PREPARE, consumed, now, self._settings.rebalance_us)
        if self.commits.busy(PREPARE):
            return False
        self._preparing = False
        self._positions.frozen = False
        owned = tuple(self._positions.assigned)
        if self.member.reset:
            self._tell(PartitionsLost if self._settings.tells_lost else PartitionsRevoked, owned)
            self._positions.assign(())
        elif not self._settings.cooperative:
            self._tell(PartitionsRevoked, owned)
            self._positions.assign(())
        else:
            kept = tuple([name for name in owned if topic_of(name) in self.member.subscription()])
            self._tell(PartitionsRevoked, [name for name in owned if name not in kept])
            self._positions.assign(kept)
        self.member.prepared()
        return True

    def _take_over(self, assignment: Assignment, now: int) -> None:
        """The assignment of a new generation (``onJoinComplete``)."""
        member = self.member
        if member.assigned_beyond(assignment):
            member.request_rejoin()
            return
        owned, given = tuple(self._positions.assigned), assignment.partitions
        revoked = [name for name in owned if name not in given]
        if revoked:
            self._tell(PartitionsRevoked, revoked)
            member.request_rejoin()
        self.commits.rearm(now)
        self._positions.assign(given)
        self._telling.keep(given)
        self._last = (given, member.generation)
        if member.leads and member.led:
            detail = f"generation {member.generation} by {member.protocol}"
            self._emit(GroupRebalanced(now, *self._named, member.led, detail))
        self._tell(PartitionsAssigned, [name for name in given if name not in owned])

    def _tell(self, kind: Told, partitions: Iterable[str]) -> None:
        self._telling.tell(kind, partitions, self.member.generation)

    # --- between polls

    def background(self, now: int, *, polling: bool) -> None:
        """The heartbeat's thread; ``polling``: the application waits in a poll."""
        if not self._settings.own_thread or self.member.failure:
            return
        member = self.member
        if member.state != UNJOINED:
            self.link.find()
        if not polling and member.state != UNJOINED and now - self._polled_at >= self._settings.max_poll_us:
            member.leave()
        member.beat(now)

    def wait(self, now: int) -> None:
        """The application waits in a commit."""
        self.link.find()
        self.commits.poll(now)
        if not self._settings.own_thread:
            self.member.beat(now)

    # --- messages

    def receive(self, message: Any) -> bool:
        """Handle an answer; False if it is none of a coordinator's."""
        now = self._port.now
        if isinstance(message, FindCoordinatorResponse):
            self.link.found(message)
            if self.link.known:
                self.member.coordinator_found(now)
        elif isinstance(message, JoinGroupResponse):
            self.member.joined(message, now)
        elif isinstance(message, SyncGroupResponse):
            self.member.synced(message, now)
        elif isinstance(message, HeartbeatResponse):
            self.member.beaten(message, now)
        elif isinstance(message, LeaveGroupResponse):
            self.link.take(message.correlation)
        else:
            return self._receive_offsets(message)
        return True

    def due(self, now: int, *, polling: bool, idle: bool) -> int:
        """When something is to be done, -1 never. ``idle``: the application's thread is in the client."""
        times: list[int] = []
        if idle or self._settings.own_thread:
            times += [self.link.due(), self.member.due(now)]
        if idle:
            times.append(self.commits.due(now))
        elif self._settings.own_thread and not polling and self.member.state != UNJOINED:
            times.append(self._polled_at + self._settings.max_poll_us)
        # What is overdue waits for something else, such as a coordinator, and hides nothing that is still to come.
        return min([at for at in times if at > now], default=-1)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.link.save(), self.member.save(), self.commits.save(), self._polled_at, self._preparing, self._last,
            self._telling.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        link, member, commits, self._polled_at, self._preparing, self._last, told = saved
        self.link.load(link)
        self.member.load(member)
        self.commits.load(commits)
        self._telling.load(told)
