"""The consumer's side of a group under the classic protocol, in and between polls (``ConsumerCoordinator``).

A poll finds the coordinator, takes over the assignment of the last rebalance, joins if needed, commits automatically,
and fetches the committed offsets of new partitions. Between polls heartbeats continue, in their own thread since 0.10.1
(KIP-62), which also leaves the group when the application has not polled for ``max.poll.interval.ms``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.membership import STABLE, UNJOINED, ConsumerMembership, topic_of
from cluster_model.clients.consumer.offset_commits import CLOSE, PREPARE, CommitOutcome, Commits, Committer
from cluster_model.clients.consumer.subscription_state import SubscriptionState
from cluster_model.clients.coordinator_connection import CoordinatorConnection
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


CallbackEvent = type[PartitionsAssigned] | type[PartitionsRevoked] | type[PartitionsLost]


class RebalanceEventListener:
    """Rebalance and commit callbacks of one member, emitted as events (``ConsumerRebalanceListener``)."""

    __slots__ = ("_committed", "_emit", "_named", "_port", "_word")

    def __init__(self, port: NodeContext, named: tuple[str, str], word: str, emit: Callable[[Event], None]) -> None:
        """Make it; ``named`` is (member, group), ``word`` its protocol's term for a generation."""
        self._port = port
        self._named = named
        self._word = word
        self._emit = emit
        self._committed: dict[str, int] = {}
        """Offsets last committed by this member, by partition."""

    def emit(self, kind: CallbackEvent, partitions: Iterable[str], generation: int) -> None:
        """Emit a callback event for partitions, if there are any."""
        names = tuple(partitions)
        if names:
            detail = (f"{self._word} {generation}: " if generation >= 0 else "") + ", ".join(names)
            self._emit(kind(self._port.now, *self._named, len(names), detail))

    def on_commit(self, outcome: CommitOutcome) -> None:
        """Emit the outcome of a commit; offsets equal to the last committed ones are left out."""
        now = self._port.now
        if outcome.error:
            self._emit(CommitFailed(now, *self._named, outcome.error, outcome.kind))
            return
        for each in outcome.offsets:
            if self._committed.get(each.partition) != each.offset:
                self._committed[each.partition] = each.offset
                self._emit(OffsetsCommitted(now, *self._named, each.partition, each.offset, outcome.kind))

    def keep(self, partitions: Iterable[str]) -> None:
        """Forget the committed offsets of all other partitions."""
        kept = tuple(partitions)
        self._committed = {name: offset for name, offset in self._committed.items() if name in kept}

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return tuple(self._committed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._committed = dict(saved)


# Base of both group protocols: commits, closing and failed requests.


CLOSE_US: Final = 30_000_000
"""Timeout of the commit of a close."""


class GroupMember(Committer, Protocol):
    """Interface of a group member under either protocol."""

    def leave(self) -> None:
        """Leave the group."""

    def on_request_failed(self, kind: str, correlation_id: int, now: int) -> None:
        """Handle the failure of a request."""


Member = TypeVar("Member", bound=GroupMember)


class GroupClient(Generic[Member]):
    """Base class of the consumer's side of a group under either protocol."""

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
        positions: SubscriptionState,
        telling: RebalanceEventListener,
        make_member: Callable[[CoordinatorConnection], Member],
    ) -> None:
        """Make it; ``named`` is (member, group)."""
        self._port = port
        self._settings = settings
        self._positions = positions
        self._telling = telling
        self.link = CoordinatorConnection(
            port, metadata, named[1], (settings.backoff_us, settings.request_timeout_us),
            keeps_node=settings.keeps_lost_coordinator,
        )  # fmt: skip
        self.member = make_member(self.link)
        self.commits = Commits(profile, settings, self.link, self.member, positions, self._on_commit)
        self.on_outcome: Callable[[CommitOutcome], None] = _nothing
        """Called with the outcome of every commit."""
        self._polled_at = 0

    @property
    def settings(self) -> GroupSettings:
        """The consumer's group settings."""
        return self._settings

    def _on_commit(self, outcome: CommitOutcome) -> None:
        """Handle the end of a commit."""
        self._telling.on_commit(outcome)
        self.on_outcome(outcome)

    def clock_stepped(self, by: int) -> None:
        """Handle a step of the machine's clock, which ``max.poll.interval.ms`` uses (``Timer``), but only forward."""
        self._polled_at -= max(0, by)

    def close(self, now: int) -> bool:
        """Start to leave, with automatic commits after a last commit; return True once the member has left."""
        if self._settings.auto_commit and not self.commits.busy(CLOSE):
            self.commits.commit(CLOSE, self.commits.consumed(), now, CLOSE_US)
        return self.closed(now)

    def closed(self, now: int) -> bool:
        """Leave once the last commit has ended; return whether the member has left."""
        self.link.find()
        self.commits.poll(now)
        if self.commits.busy(CLOSE):
            return False
        self.member.leave()
        return True

    def _receive_offsets(self, message: Any) -> bool:
        """Handle a response about offsets; return False if it is another one."""
        if isinstance(message, OffsetCommitResponse):
            self.commits.committed(message, self._port.now)
        elif isinstance(message, OffsetFetchResponse):
            self.commits.fetched(message, self._port.now)
        else:
            return False
        return True

    def on_disconnect(self, broker: int) -> None:
        """Handle the failure of all requests to a broker."""
        now = self._port.now
        for kind, correlation_id in self.link.on_disconnect(broker):
            self.member.on_request_failed(kind, correlation_id, now)
            self.commits.on_request_failed(kind, correlation_id, now)

    def overdue(self, now: int) -> list[int]:
        """Return the brokers of requests that timed out."""
        return self.link.timed_out(now)


def _nothing(_outcome: CommitOutcome) -> None:
    """Ignore the outcome."""


class ClassicGroupClient(GroupClient[ConsumerMembership]):
    """The consumer's side of a group under the classic protocol (``ConsumerCoordinator``)."""

    __slots__ = ("_emit", "_last", "_named", "_preparing")

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: SubscriptionState,
        subscribe: Callable[[], tuple[str, ...]],
        rack: str,
        emit: Callable[[Event], None],
    ) -> None:
        """Make it; ``named`` is (member, group)."""
        super().__init__(
            port, named, profile, settings, metadata, positions,
            RebalanceEventListener(port, named, "generation", emit),
            lambda link: ConsumerMembership(named, settings, link, metadata, subscribe, rack),
        )  # fmt: skip
        self._named = named
        self._emit = emit
        self._preparing = False
        self._last: tuple[tuple[str, ...], int] = ((), -1)
        """(partitions, generation) of the last assignment."""

    # --- a poll

    def poll(self, now: int, *, has_records: bool) -> bool:
        """Run one round of a poll; return False without a coordinator or in a rebalance: positions are unchanged.

        ``has_records``: there are fetched records, which the poll returns.
        """
        starved = has_records and self._settings.starves_heartbeats
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
        if not self.link.is_known:
            return False
        if member.wants_to_join() and (not member.must_prepare or self._prepare(now)):
            member.join(now, tuple(self._positions.assigned), *self._last)
        if not self._settings.own_thread and not starved:
            member.beat(now)
        if member.state != STABLE or self._preparing:
            return False
        if not self._settings.commits_polled and not starved:
            self.commits.auto(now)
        self.commits.fetch(self._positions.initializing(), now)
        return True

    def _prepare(self, now: int) -> bool:
        """Prepare a join: commit automatically and wait for it, then revoke partitions (``onJoinPrepare``).

        In 3.2.0 every call sends a commit and looks whether that one has ended (KAFKA-14024): as long as there is
        something to commit, a cooperative member does not join again. An eager one has nothing the second time.
        """
        settings = self._settings
        again = settings.commits_without_end and settings.cooperative and not self.commits.busy(PREPARE)
        if not self._preparing or again:
            self._preparing = True
            if settings.auto_commit:
                consumed = self.commits.consumed()
                # Partitions about to be revoked are no longer returned by polls (since KAFKA-14196).
                self._positions.frozen = not settings.cooperative and not settings.reads_while_preparing
                self.commits.commit(PREPARE, consumed, now, settings.rebalance_us)
        if self.commits.busy(PREPARE):
            return False
        self._preparing = False
        self._positions.frozen = False
        owned = tuple(self._positions.assigned)
        if self.member.reset:
            self._tell(PartitionsLost if settings.reports_lost else PartitionsRevoked, owned)
            self._positions.assign(())
        elif not settings.cooperative:
            self._tell(PartitionsRevoked, owned)
            self._positions.assign(())
        else:
            kept = tuple([name for name in owned if topic_of(name) in self.member.subscription()])
            self._tell(PartitionsRevoked, [name for name in owned if name not in kept])
            self._positions.assign(kept)
        self.member.prepared()
        return True

    def _take_over(self, assignment: Assignment, now: int) -> None:
        """Take over the assignment of a new generation (``onJoinComplete``)."""
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

    def _tell(self, kind: CallbackEvent, partitions: Iterable[str]) -> None:
        self._telling.emit(kind, partitions, self.member.generation)

    # --- between polls

    def background(self, now: int, *, polling: bool) -> None:
        """Run the heartbeat thread; ``polling``: the application waits in a poll."""
        if not self._settings.own_thread or self.member.failure:
            return
        member = self.member
        if member.state != UNJOINED:
            self.link.find()
        if not polling and member.state != UNJOINED and now - self._polled_at >= self._settings.max_poll_us:
            member.leave()
        member.beat(now)

    def wait(self, now: int) -> None:
        """Continue while the application waits in a commit."""
        self.link.find()
        self.commits.poll(now)
        if not self._settings.own_thread:
            self.member.beat(now)

    # --- messages

    def receive(self, message: Any) -> bool:
        """Handle a response; return False if it is not a coordinator's."""
        now = self._port.now
        if isinstance(message, FindCoordinatorResponse):
            self.link.on_coordinator_found(message)
            if self.link.is_known:
                self.member.coordinator_found(now)
        elif isinstance(message, JoinGroupResponse):
            self.member.joined(message, now)
        elif isinstance(message, SyncGroupResponse):
            self.member.synced(message, now)
        elif isinstance(message, HeartbeatResponse):
            self.member.beaten(message, now)
        elif isinstance(message, LeaveGroupResponse):
            self.link.complete(message.correlation_id)
        else:
            return self._receive_offsets(message)
        return True

    def next_action_us(self, now: int, *, polling: bool, idle: bool) -> int:
        """Return the time of the next action, -1 for none; ``idle``: the application's thread is in the client."""
        times: list[int] = []
        if idle or self._settings.own_thread:
            times += [self.link.next_action_us(), self.member.next_action_us(now)]
        if idle:
            times.append(self.commits.next_action_us(now))
        elif self._settings.own_thread and not polling and self.member.state != UNJOINED:
            times.append(self._polled_at + self._settings.max_poll_us)
        # An action that is overdue waits for another event, such as the coordinator lookup, and needs no timer.
        return min([at for at in times if at > now], default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.link.save(), self.member.save(), self.commits.save(), self._polled_at, self._preparing, self._last,
            self._telling.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        link, member, commits, self._polled_at, self._preparing, self._last, listener = saved
        self.link.load(link)
        self.member.load(member)
        self.commits.load(commits)
        self._telling.load(listener)
