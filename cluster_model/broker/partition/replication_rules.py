"""Pure rules of replication: ISR, high watermark, truncation, and a follower out of its leader's range.

Offsets are exclusive ends: LEO is the next offset to be written, HW the first offset not known to be committed.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import FetchSession
from cluster_model.log.leader_epoch_cache import UNDEFINED, EpochCache
from cluster_model.protocol.versions import Profile

UNKNOWN_LEO: Final = -1
"""LEO of a follower that has not fetched in this leadership."""

LONG_AGO: Final = -(1 << 62)
"""Time of an event that never happened: longer ago than any lag time."""

DIVERGING_EPOCH: Final = "diverging epoch in fetch"
"""``rule`` of a truncation that a fetch response requires (KIP-595)."""

EPOCH_UNKNOWN: Final = "high watermark, epoch unknown to the leader"
"""``rule`` of a truncation to the follower's own HW, as the leader does not know the requested epoch."""

LEADER_IS_SHORTER: Final = "out of range, leader is shorter"
"""``rule`` of a truncation to the end of the leader's log, above which the follower had fetched."""


class RemoteReplicaState:
    """A leader's state of one follower (``kafka.cluster.Replica``); times are those of handling its fetches."""

    __slots__ = (
        "_session", "_slot", "broker_epoch", "idle", "last_caught_up", "last_fetch", "last_fetch_leader_leo", "leo",
        "log_start", "sent_hw",
    )  # fmt: skip

    def __init__(self, last_caught_up: int, last_fetch: int = LONG_AGO) -> None:
        self.leo = UNKNOWN_LEO
        self.last_fetch_leader_leo = UNKNOWN_LEO
        self.last_fetch = last_fetch
        self.last_caught_up = last_caught_up
        self.broker_epoch = -1
        self.log_start = -1
        """The follower's log start, by its last fetch."""
        self.sent_hw = 0
        """The highest HW sent to it; kept only where the HW is pushed."""
        self.idle = False
        """Whether the follower is idle: its fetches are not read."""
        self._session: FetchSession | None = None
        self._slot = 0

    def rest(self, session: FetchSession, slot: int) -> None:
        """Make the follower idle: from here on every fetch finds it at the leader's log end and in the ISR."""
        self._session = session
        self._slot = slot
        self.idle = True
        del session.dirty[slot]

    def settle(self) -> None:
        """Account for fetches that arrived while idle, of which only the last one's time matters."""
        if self._session is not None:
            arrived = self._session.arrived
            if arrived > self.last_caught_up:
                self.last_caught_up = arrived
            self.last_fetch = arrived

    def end_idle(self) -> None:
        """End the idle state, before the leader's log, HW or ISR changes: the next fetch must be read."""
        session = self._session
        if session is not None:
            self.settle()
            self._session = None
            self.idle = False
            session.mark(self._slot)

    def fetched(self, profile: Profile, offset: int, leader_leo: int, now: int) -> bool:
        """Apply a fetch at ``offset`` (``Replica.updateFetchStateOrThrow``); True if the follower's LEO changed."""
        if self.idle:
            self.end_idle()
        if offset >= leader_leo:
            if now > self.last_caught_up:
                self.last_caught_up = now
        elif profile.caught_up_previous and offset >= self.last_fetch_leader_leo:
            self.last_caught_up = max(self.last_caught_up, self.last_fetch)
        changed = offset != self.leo
        self.leo = offset
        if not profile.leo_max_at_fetch or leader_leo > self.last_fetch_leader_leo:
            self.last_fetch_leader_leo = leader_leo
        self.last_fetch = now
        return changed

    def clock_stepped(self, by: int) -> None:
        """Handle a change of the leader's clock (``Partition`` uses ``Time.milliseconds``)."""
        self.last_fetch -= by
        self.last_caught_up -= by

    def save(self) -> tuple[Any, ...]:
        """Return all state; newer times are in the session, so that an idle follower's state stays the same."""
        return (
            self.leo, self.last_fetch_leader_leo, self.last_fetch, self.last_caught_up, self.broker_epoch,
            self.log_start, self.sent_hw, self._slot if self.idle else -1,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...], session: FetchSession | None) -> None:
        """Restore the state returned by :meth:`save`; ``session`` is the follower's session with this partition."""
        (
            self.leo, self.last_fetch_leader_leo, self.last_fetch, self.last_caught_up, self.broker_epoch,
            self.log_start, self.sent_hw, slot,
        ) = saved  # fmt: skip
        self.idle = slot >= 0 and session is not None
        self._session = session if self.idle else None
        self._slot = slot


def loaded_remotes(
    saved: Iterable[tuple[int, tuple[Any, ...]]], sessions: list[FetchSession]
) -> dict[int, RemoteReplicaState]:
    """Return a leader's followers from saved states; ``sessions`` are those that fetch the partition."""
    by_follower = {session.source[0]: session for session in sessions}
    remotes: dict[int, RemoteReplicaState] = {}
    for broker, state in saved:
        remotes[broker] = RemoteReplicaState(0)
        remotes[broker].load(state, by_follower.get(broker))
    return remotes


def high_watermark(leader_leo: int, needed: tuple[RemoteReplicaState, ...]) -> int:
    """Return the candidate HW: the lowest LEO of the leader and the needed followers (``maybeIncrementLeaderHW``)."""
    candidate = leader_leo
    for remote in needed:
        if remote.leo < candidate:
            candidate = remote.leo
    return candidate


def caught_up(profile: Profile, remote: RemoteReplicaState, leader_leo: int, now: int, lag_time_us: int) -> bool:
    """Whether a replica is close enough for the HW to wait for it (``Replica.isCaughtUp``)."""
    if profile.caught_up_at_leo and remote.leo == leader_leo:
        return True
    remote.settle()
    return now - remote.last_caught_up <= lag_time_us


def out_of_sync(
    profile: Profile, remote: RemoteReplicaState, leader_leo: int, now: int, lag_time_us: int, lag_messages: int
) -> bool:
    """Whether a member must leave the ISR (``Partition.isFollowerOutOfSync``; 0.8.2 ``getOutOfSyncReplicas``)."""
    remote.settle()
    if profile.lag_messages:
        too_far = remote.leo >= 0 and leader_leo - remote.leo > lag_messages
        return now - remote.last_fetch > lag_time_us or too_far
    if profile.leo_is_in_sync and remote.leo == leader_leo:
        return False
    return now - remote.last_caught_up > lag_time_us


def may_join_isr(profile: Profile, follower_leo: int, leader_hw: int, epoch_start: int) -> bool:
    """Whether a follower has all offsets that the ISR requires (``Partition.isFollowerInSync``); time is irrelevant."""
    return follower_leo >= leader_hw and (not profile.isr_epoch_start or follower_leo >= epoch_start)


def truncation_by_epoch_end(
    cache: EpochCache, leo: int, fallback: int, leader_epoch: int, leader_end: int
) -> tuple[int, bool]:
    """Return the truncation offset after the leader's response, and whether it is final (``getOffsetTruncationState``).

    ``leader_epoch`` UNDEFINED with an end is the response of a KIP-101 leader, which names no epoch. ``fallback`` is
    the local HW, used when the leader does not know the epoch. KIP-279: if this replica lacks the leader's epoch, it
    truncates to the end of its nearest older one and asks again.
    """
    if leader_end == UNDEFINED:
        return (fallback, True)
    if leader_epoch == UNDEFINED:
        return (min(leader_end, leo), True)
    own_epoch, own_end = cache.end_offset_for(leader_epoch, leo)
    if own_end == UNDEFINED:
        return (min(leader_end, leo), True)
    if own_epoch != leader_epoch:
        return (min(own_end, leo), False)
    return (min(own_end, leader_end, leo), True)


def restarts_fetcher(profile: Profile, leader: int, epoch: int, new_leader: int, new_epoch: int) -> bool:
    """Whether new metadata makes a follower restart, truncation included (``Partition.makeFollower``).

    Before 2.0.1 only a change of leader did, so a same-leader epoch bump left an unchecked log (KAFKA-7164).
    """
    if profile.restarts_by_epoch:
        return new_epoch > epoch
    if profile.restarts_each_epoch:
        return new_leader != leader or new_epoch > epoch
    if profile.restarts_after_missed_epochs:
        return new_leader != leader or new_epoch > epoch + 1
    return new_leader != leader


# A follower out of its leader's range: two requests, in turn (``fetchOffsetAndTruncate``).
#
# The first one asks for the end of the leader's log: if it is before the follower's end, the follower truncates there.
# Otherwise the second one asks for the leader's log start: if it is after the follower's end, the follower drops
# everything and restarts there. Else the leader's log has grown into reach meanwhile, and the follower continues.


class OffsetLookup(NamedTuple):
    """Pending request of an out-of-range follower, with its leader epoch (-1 where the version sends none)."""

    epoch: int
    earliest: bool


def settled_by_end(own_end: int, leader_end: int) -> bool:
    """Whether the follower's log is too long and must be truncated."""
    return leader_end < own_end


def settled_by_start(own_end: int, leader_start: int) -> bool:
    """Whether the follower is too far behind and must restart at the leader's log start."""
    return leader_start > own_end
