"""Pure rules of replication: ISR, high watermark, truncation, and a follower out of its leader's range.

Offsets are exclusive ends: LEO is the next offset to be written, HW the first not known to be committed.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.fetch_sessions import FetchSession
from cluster_model.log.leader_epoch_cache import UNDEFINED, EpochCache
from cluster_model.protocol.versions import Profile

UNKNOWN_LEO: Final = -1
"""What a leader knows of a follower that has not fetched in this leadership."""

LONG_AGO: Final = -(1 << 62)
"""Time of what never happened: further back than any lag time reaches."""

DIVERGING_EPOCH: Final = "diverging epoch in fetch"
"""``rule`` of a cut that a fetch's answer told the follower to make (KIP-595)."""

EPOCH_UNKNOWN: Final = "high watermark, epoch unknown to the leader"
"""``rule`` of a cut to the follower's own HW, as the leader knew nothing of the epoch that it was asked for."""

LEADER_IS_SHORTER: Final = "out of range, leader is shorter"
"""``rule`` of a cut down to the end of the leader's log, beyond which the follower had asked."""


class Remote:
    """What a leader knows of one follower (``kafka.cluster.Replica``). Times are when the fetch was being served."""

    __slots__ = (
        "_place", "_session", "broker_epoch", "last_caught_up", "last_fetch", "last_fetch_leader_leo", "leo",
        "log_start", "rests", "told_hw",
    )  # fmt: skip

    def __init__(self, last_caught_up: int, last_fetch: int = LONG_AGO) -> None:
        self.leo = UNKNOWN_LEO
        self.last_fetch_leader_leo = UNKNOWN_LEO
        self.last_fetch = last_fetch
        self.last_caught_up = last_caught_up
        self.broker_epoch = -1
        self.log_start = -1
        """Where its log begins, by its last fetch."""
        self.told_hw = 0
        """The newest HW it has been sent; kept where the HW is pushed."""
        self.rests = False
        """Whether fetches of this follower are not looked at."""
        self._session: FetchSession | None = None
        self._place = 0

    def rest(self, session: FetchSession, place: int) -> None:
        """From here on every fetch of the session finds this follower at the leader's end, in the ISR."""
        self._session = session
        self._place = place
        self.rests = True
        del session.dirty[place]

    def settle(self) -> None:
        """Book the fetches that have arrived while resting: only the last one's time is left to tell."""
        if self._session is not None:
            arrived = self._session.arrived
            if arrived > self.last_caught_up:
                self.last_caught_up = arrived
            self.last_fetch = arrived

    def disturb(self) -> None:
        """The leader's log, HW or ISR is about to change: the next fetch must be looked at."""
        session = self._session
        if session is not None:
            self.settle()
            self._session = None
            self.rests = False
            session.mark(self._place)

    def fetched(self, profile: Profile, offset: int, leader_leo: int, now: int) -> bool:
        """Book a fetch at ``offset`` (``Replica.updateFetchStateOrThrow``); True when the follower's LEO changed."""
        if self.rests:
            self.disturb()
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
        """The leader's clock was set (``Partition`` reckons by ``Time.milliseconds``)."""
        self.last_fetch -= by
        self.last_caught_up -= by

    def save(self) -> tuple[Any, ...]:
        """All state; the session has the newer times, so that a resting follower's state is the same for long."""
        return (
            self.leo, self.last_fetch_leader_leo, self.last_fetch, self.last_caught_up, self.broker_epoch,
            self.log_start, self.told_hw, self._place if self.rests else -1,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...], session: FetchSession | None) -> None:
        """Undo of :meth:`save`; ``session`` is the one that has this follower's replica."""
        (
            self.leo, self.last_fetch_leader_leo, self.last_fetch, self.last_caught_up, self.broker_epoch,
            self.log_start, self.told_hw, place,
        ) = saved  # fmt: skip
        self.rests = place >= 0 and session is not None
        self._session = session if self.rests else None
        self._place = place


def loaded_remotes(saved: Iterable[tuple[int, tuple[Any, ...]]], sessions: list[FetchSession]) -> dict[int, Remote]:
    """A leader's followers as they were saved; ``sessions`` are those that watch the partition."""
    by_follower = {session.source[0]: session for session in sessions}
    remotes: dict[int, Remote] = {}
    for broker, state in saved:
        remotes[broker] = Remote(0)
        remotes[broker].load(state, by_follower.get(broker))
    return remotes


def high_watermark(leader_leo: int, needed: tuple[Remote, ...]) -> int:
    """Where the HW may be: the least LEO of all that must have a record (``Partition.maybeIncrementLeaderHW``)."""
    candidate = leader_leo
    for remote in needed:
        if remote.leo < candidate:
            candidate = remote.leo
    return candidate


def caught_up(profile: Profile, remote: Remote, leader_leo: int, now: int, lag_time_us: int) -> bool:
    """Whether a replica is close enough for the HW to wait for it (``Replica.isCaughtUp``)."""
    if profile.caught_up_at_leo and remote.leo == leader_leo:
        return True
    remote.settle()
    return now - remote.last_caught_up <= lag_time_us


def out_of_sync(
    profile: Profile, remote: Remote, leader_leo: int, now: int, lag_time_us: int, lag_messages: int
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
    """Whether a follower has what the ISR must have (``Partition.isFollowerInSync``). Time plays no part."""
    return follower_leo >= leader_hw and (not profile.isr_epoch_start or follower_leo >= epoch_start)


def truncation_by_epoch_end(
    cache: EpochCache, leo: int, fallback: int, leader_epoch: int, leader_end: int
) -> tuple[int, bool]:
    """Where to truncate to after the leader's answer, and whether that settles it (``getOffsetTruncationState``).

    ``leader_epoch`` UNDEFINED with an end is the answer of KIP-101 leaders, which name no epoch. ``fallback`` is the
    local HW, for when the leader knows nothing. KIP-279: an epoch that this replica lacks means truncating to the end
    of its nearest older one, and asking again.
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
    """Whether a new decision makes a follower start over, truncation included (``Partition.makeFollower``).

    Before 1.1 only a change of leader did, so a same-leader epoch bump left an unchecked log behind.
    """
    if profile.restarts_by_epoch:
        return new_epoch > epoch
    if profile.kip_320:
        return new_leader != leader or new_epoch > epoch
    if profile.isr_epoch_start:
        return new_leader != leader or new_epoch > epoch + 1
    return new_leader != leader


# A follower whose log its leader's does not reach: two questions, in turn (``fetchOffsetAndTruncate``).
#
# First where the leader's log ends: if before the follower's end, the follower cuts its own there. Only otherwise
# where it begins: if behind the follower's end, the follower drops everything and begins there. Else the leader's log
# has grown back into reach meanwhile, and the follower goes on as it is.


class Seek(NamedTuple):
    """Which of the two questions stands, and the leader epoch it is asked in (-1 where the version tells none)."""

    epoch: int
    earliest: bool


def settled_by_end(own_end: int, leader_end: int) -> bool:
    """Whether the follower is too long: it must cut."""
    return leader_end < own_end


def settled_by_start(own_end: int, leader_start: int) -> bool:
    """Whether the follower is too far behind: it must begin anew at the leader's start."""
    return leader_start > own_end
