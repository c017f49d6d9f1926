"""Session controller of the TUI: the only module that advances the model, a slice of work in each frame.

A slice ends when the frame's share of virtual time is used up or after eight milliseconds, whichever comes first, so
that keys are handled quickly. Slicing never changes results: the model is advanced by virtual time and whole events,
and does not depend on frames.

The past can be shown as well, while the session itself does not advance. A jump is one seek, so it costs at most the
widest gap between two keyframes; playing from there is sliced again. The module also has branches, the companion of a
comparison, and scrubbing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.observation import ClusterView
from cluster_model.protocol.events import Event
from faults.declarations import Action, FaultError
from playbooks.engine.session import Session
from playbooks.model import action_text
from playbooks.timetravel.branches import Branch, Branches, GrowingBranch, WhatIfBranch
from playbooks.timetravel.history_view import HistoryView, ReopenedSession
from tui.terminal.frame_clock import BATCH, FRAME_S, SLICE_S, SPEEDS, FrameClock, faster, slower
from tui.viewmodel.activity import ActivityHistory
from tui.viewmodel.partition_history import LogHistory, PartitionHistory
from tui.viewmodel.partition_matrix import IN_ORDER, ordered
from tui.viewmodel.timeline import branches
from tui.viewmodel.timeline.branches import BranchLine
from tui.viewmodel.timeline.event_feed import Feed, NotableEvents, Rates, TimelineMarks

# The companion: another branch, kept at the same virtual time if it has run that far.


class ComparisonBranch:
    """Second branch of a comparison; only its past is shown, its session does not advance."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.at_us = 0
        """Requested time."""
        self.lags = False
        """Whether it has not reached that time yet."""

    @property
    def reaches(self) -> bool:
        """Whether the branch has run as far as that time."""
        return self.at_us <= self.branch.session.present_us

    def jump(self, at_us: int) -> None:
        """Show a time; beyond its present, the present."""
        self.at_us, self.lags = at_us, False
        self.branch.session.to_time(at_us)

    def follow(self, at_us: int, out_of_time: Callable[[], bool]) -> bool:
        """Advance to a later time; return False if the slice was used up before."""
        self.at_us = max(at_us, self.at_us)
        self.lags = not self._catch_up(out_of_time)
        return not self.lags

    def _catch_up(self, out_of_time: Callable[[], bool]) -> bool:
        session = self.branch.session
        while session.in_past:
            before = session.cluster.executed
            session.advance(self.at_us, BATCH)
            if not session.in_past:
                break
            session.drain()
            if session.cluster.now_us >= self.at_us and session.cluster.executed - before < BATCH:
                break
            if out_of_time():
                return False
        return True

    def leave(self) -> None:
        """Return to its present."""
        self.branch.session.to_present()


# Scrubbing: a time nearby is shown at once, the exact time when the pointer rests or is released.
#
# Time is changed at most once per frame, and never twice in a row to the same time.


SCRUB_S: Final = 1 / 30
"""Minimum seconds between two seeks of a drag, as a seek replays thousands of events."""
REST_S: Final = 0.12
"""Seconds the pointer rests before the exact time replaces the one nearby."""


class Scrubbing:
    """Target time of a drag; only the latest position counts."""

    def __init__(self, clock: FrameClock, near: Callable[[int], int], go: Callable[[int, bool], None]) -> None:
        """``near`` returns a time that is cheap to show near another one; ``go`` shows a time, exact or not."""
        self.rewinds = 0
        """Number of seeks."""
        self._clock = clock
        self._near = near
        self._go = go
        self._wanted_us = -1
        self._meant_us = -1
        """Exact time for which a time nearby is shown, -1 if the time shown is exact."""
        self._shown_us = -1
        self._next_s = self._rested_s = clock.now()

    def want(self, at_us: int) -> bool:
        """Request a time; return True if it is shown exactly, False if later frames have to continue."""
        self._wanted_us = at_us
        self._rested_s = self._clock.now() + REST_S
        return self.frame() is None

    def frame(self) -> float | None:
        """Seek to the latest position if due; return seconds until the next call, None if nothing is left to do."""
        now = self._clock.now()
        if self._wanted_us >= 0:
            if now < self._next_s:
                return self._next_s - now
            at_us, self._wanted_us = self._wanted_us, -1
            self._next_s = now + SCRUB_S
            near_us = self._near(at_us)
            self._meant_us = -1 if near_us == at_us else at_us
            self._show(near_us, exact=near_us == at_us)
        if self._meant_us < 0:
            return None
        if now < self._rested_s:
            return self._rested_s - now
        self.settle()
        return None

    def forget(self) -> None:
        """Drop the exact time, as another time was shown meanwhile."""
        self._meant_us = self._shown_us = -1

    def settle(self) -> None:
        """Show the exact time, as the pointer rests or was released."""
        at_us = self._wanted_us if self._wanted_us >= 0 else self._meant_us
        self._wanted_us = self._meant_us = -1
        if at_us >= 0:
            self._show(at_us, exact=True)
        self._shown_us = -1

    def _show(self, at_us: int, *, exact: bool) -> None:
        if at_us == self._shown_us and not exact:
            return
        self._shown_us = -1 if exact else at_us
        self.rewinds += 1
        self._go(at_us, exact)


# State of the TUI for each branch, so that one can switch between branches.


class BranchHistory:
    """History of one branch as the TUI shows it: feed, timeline, chronicle, rates."""

    def __init__(self) -> None:
        self.chronicle = PartitionHistory()
        self.happened = NotableEvents()
        self.feed = Feed()
        self.log_book = LogHistory()
        self.tape = TimelineMarks()
        self.rates = Rates()
        self.activity = ActivityHistory()
        self.ended = False
        """Whether the branch has ended."""

    def take(self, fresh: Sequence[Event], count: int) -> None:
        """Add events in order; ``count`` is the number of trace events after them."""
        self.feed.take(fresh)
        self.happened.take(fresh, count)
        self.chronicle.take(fresh)
        self.log_book.take(fresh)
        self.tape.take(fresh)
        self.activity.take(fresh)


BEHIND_PAINT_S: Final = 0.1
"""Seconds between paints while the machine is the limit; faster changes are unreadable."""
AWAY_PAINT_S: Final = 1 / 4
"""Seconds between paints while the terminal is not focused."""
BEHIND_REST_S: Final = 0.004
"""Seconds between slices while the machine is the limit."""
LONGEST_FRAME_S: Final = 0.25
"""Maximum elapsed seconds of a frame, for example after a suspended laptop wakes up."""
SEEK_LIMIT_US: Final = 120_000_000
"""Virtual time that a search for the next notable event looks ahead."""
READ_ONLY: Final = "read-only: nothing can be changed here; look around, go back in time, open autopsies"
"""Response to everything that would change the session, in a read-only TUI."""


@dataclass(frozen=True, slots=True)
class FrameResult:
    """Result of a frame: whether to paint, and when the next frame is due."""

    paint: bool
    delay: float | None
    """Seconds until the next frame; None: not before a key is pressed."""


class SessionController:
    """Session controller: drives the session for the TUI, and keeps the view, feed and timeline that it shows."""

    def __init__(
        self,
        session: Session | ReopenedSession | Branches,
        clock: FrameClock,
        *,
        speed: float = 1.0,
        frame_s: float = FRAME_S,
        at_end: Callable[[], str] | None = None,
    ) -> None:
        """``at_end``, for a recording, returns the message at its end."""
        self.branches = session if isinstance(session, Branches) else Branches(session)
        self.comparison: ComparisonBranch | None = None
        """Other branch of a comparison, kept at the same time."""
        self.news: list[tuple[str, bool]] = []
        """Messages about new branches, and whether each succeeded."""
        self.compare_next: Branch | None = None
        """Branch to compare a new branch with."""
        self._seen = {self.branches.current: BranchHistory()}
        self.at_end = at_end
        self.clock = clock
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self.paused = False
        self.stops_at_loss = False
        """Whether to pause when the next acknowledged record goes missing; doing so clears it."""
        self.stopped_at_loss = False
        """Whether it has just paused for that."""
        self.rates: dict[str, float] = {}
        self.queued: tuple[Action, ...] = ()
        """Actions to perform as soon as time continues."""
        self.queued_results: list[tuple[str, bool]] = []
        """Messages about queued actions, and whether each succeeded; the app shows and removes them."""
        self.ran_out = False
        """Whether the last search found no notable event."""
        self.is_approximate = False
        """Whether the time shown is only near the requested one."""
        self.shows_internal = False
        """Whether internal topics are shown among the others."""
        self.order = IN_ORDER
        """Order of the partitions."""
        self.read_only = False
        """Whether every change of the session is refused, for an audience."""
        self._feed_then = Feed()
        self._rates_then = Rates()
        self.frame_s = frame_s
        """Seconds between frames while time is running."""
        self.unfocused = False
        """Whether the terminal is not focused."""
        self._last = clock.now()
        self._painted = self._last
        self._fraction_us = 0.0
        self._behind = False
        self._seek_until_us = -1
        self._seek_from = -1
        """Number of notable events at the start of the search, -1 if it is not for one."""
        self.view = self.refresh_view()

    @property
    def session(self) -> HistoryView:
        """Session of the current branch at the time shown."""
        return self.branches.current.session

    @property
    def chronicle(self) -> PartitionHistory:
        """History of leaders, ISRs and node states of the current branch."""
        return self._now.chronicle

    @property
    def log_history(self) -> LogHistory:
        """Times of acknowledgements and truncations of the whole branch, also while the past is shown."""
        return self._now.log_book

    @property
    def activity(self) -> ActivityHistory:
        """Throughput and latency over time of the whole branch."""
        return self._now.activity

    @property
    def tape(self) -> TimelineMarks:
        """Marks of the timeline, up to the present."""
        return self._now.tape

    @property
    def growing(self) -> GrowingBranch | WhatIfBranch | None:
        """Branch that is being created, None without one."""
        return self.branches.growing

    @property
    def _now(self) -> BranchHistory:
        return self._seen[self.branches.current]

    def _check_writable(self) -> None:
        """Raise :class:`FaultError` in a read-only TUI."""
        if self.read_only:
            raise FaultError(READ_ONLY, code="read_only")

    def fork(self) -> str:
        """Start a branch at the current time. Raises :class:`FaultError` in a read-only TUI."""
        self._check_writable()
        self.branches.fork()
        return self._begun()

    def branch_with_settings(self, name: str, settings: Mapping[str, str]) -> str:
        """Start a branch that runs to the current time with changed settings; ``name`` describes them."""
        self._check_writable()
        self.branches.what_if(name, settings)
        return self._begun()

    def undo(self) -> str:
        """Start a branch from right before the operator's last action, without it, and pause."""
        self._check_writable()
        self.pause(True)
        return self._begun() if self.branches.undo() is not None else self._switched()

    def redo(self) -> str:
        """Return to the branch that contains the undone action."""
        self._check_writable()
        self.branches.redo()
        return self._switched()

    def switch(self, branch: Branch) -> str:
        """Switch to another branch at its present, and pause."""
        self.branches.switch(branch)
        return self._switched()

    def compare(self, branch: Branch | None) -> None:
        """Keep another branch at the time of this one for a comparison; None ends the comparison."""
        if self.comparison is not None:
            self.comparison.leave()
        self.comparison = ComparisonBranch(branch) if branch is not None else None
        if self.comparison is not None:
            self.pause(True)
            self.comparison.jump(self.view.now_us)

    def _abreast(self, end: float) -> bool:
        """Advance the comparison to the current time; return False if the slice was used up before."""
        if self.comparison is None:
            return True
        return self.comparison.follow(self.session.cluster.now_us, self._until(end))

    def _begun(self) -> str:
        """Run the first slice of a new branch, which often completes it."""
        self._seek_until_us = -1
        growing = self.growing
        assert growing is not None
        self._seen[growing.branch] = BranchHistory()
        self._grow(self.clock.now() + SLICE_S)
        return ""

    def _switched(self) -> str:
        self.compare(None)
        self.pause(True)
        self._fraction_us = 0.0
        self.refresh_view()
        branch = self.branches.current
        return f"branch {branch.letter}"

    def _grow(self, end: float) -> None:
        """Advance the new branch for a slice, and switch to it when it is ready."""
        growing = self.growing
        assert growing is not None
        out_of_time, seen, session = self._until(end), self._seen[growing.branch], growing.branch.session
        try:
            while not (ready := growing.advance(BATCH)) and not out_of_time():
                pass
            seen.take(session.drain(), session.cluster.trace.count)
            if ready:
                message = self.branches.adopt()
                self._switched()
                self.news.append((growing.words(message), True))
                self.compare_next = growing.beside
        except FaultError as error:
            self.branches.discard()
            self.news.append((f"branch not created: {error}", False))

    def _until(self, end: float) -> Callable[[], bool]:
        return lambda: self.clock.now() >= end

    @property
    def ended(self) -> bool:
        """Whether the session has ended and its present is shown."""
        return self._now.ended and not self.session.in_past

    @property
    def feed(self) -> Feed:
        """Event feed up to the time shown."""
        return self._feed_then if self.session.in_past else self._now.feed

    def notable_events(self, first_us: int, last_us: int, limit: int) -> list[Any]:
        """Return the first ``limit`` notable events within a time span, both ends included."""
        return self._now.happened.during(first_us, last_us, limit)

    @property
    def seeking(self) -> bool:
        """Whether a search for the next notable event is running."""
        return self._seek_until_us >= 0

    def frame(self) -> FrameResult:
        """Do one frame's share of the work."""
        now = self.clock.now()
        elapsed = min(max(now - self._last, 0.0), LONGEST_FRAME_S)
        self._last = now
        if self.growing is not None:
            self._grow(now + SLICE_S)
            return FrameResult(True, BEHIND_REST_S)
        lags = self.comparison is not None and self.comparison.lags
        if not lags and not self.seeking and (self.paused or self.ended):
            return FrameResult(False, None)
        if not lags:
            self._fire()
        if lags:
            pass  # the companion catches up first
        elif self.seeking:
            self._seek(now)
        else:
            self._play(now, elapsed)
        if not self._abreast(now + SLICE_S):
            return FrameResult(False, BEHIND_REST_S)
        if not self.paused and now - self._painted < self._rest_s():
            return FrameResult(False, BEHIND_REST_S if self._behind else self.frame_s)
        self._painted = now
        self.refresh_view()
        return FrameResult(True, BEHIND_REST_S if self._behind else None if self.paused else self.frame_s)

    def _rest_s(self) -> float:
        """Return the minimum seconds between two paints."""
        if self.unfocused:
            return AWAY_PAINT_S
        return BEHIND_PAINT_S if self._behind else 0.0

    def refresh_view(self) -> ClusterView:
        """Update and return the view after a change."""
        self._listen()
        view, board = self.session.cluster.view(), self.session.board
        brokers = tuple(replace(each, faults=board.on_node(each.id)) for each in view.brokers)
        controllers = tuple(replace(each, faults=board.on_node(each.node)) for each in view.controllers)
        internal = () if self.shows_internal else tuple(each for each in view.partitions if each.internal)
        own = tuple(each for each in view.partitions if not each.internal) if internal else view.partitions
        own = ordered(own, view.groups, self.order)
        self.view = replace(
            view, partitions=own, internal=internal, brokers=brokers, controllers=controllers, faults=board.active(),
            operations=board.operations(),
        )  # fmt: skip
        self.rates = (self._rates_then if self.session.in_past else self._now.rates).of(self.view)
        return self.view

    def pause(self, paused: bool) -> None:
        """Pause or resume; pausing also ends a search."""
        self.is_approximate = False
        self.paused = paused
        self._seek_until_us = -1
        self._last = self.clock.now()

    def faster(self) -> float:
        """Increase the speed by one step, and return the requested speed."""
        return self.set_speed(faster(self.speed))

    def slower(self) -> float:
        """Decrease the speed by one step, and return the requested speed."""
        return self.set_speed(slower(self.speed))

    def set_speed(self, speed: float) -> float:
        """Set the requested speed, which the machine may not reach."""
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self._fraction_us = 0.0
        return self.speed

    def step(self) -> bool:
        """Execute exactly one event of the event loop, and pause; return False when none is pending."""
        self.pause(True)
        if self.session.in_past:
            self.session.one_event_on()
            self._abreast(self.clock.now() + SLICE_S)
            self.refresh_view()
            return True
        self._fire()
        due = self.session.cluster.next_event_us()
        if due < 0 or self.ended:
            return False
        self._now.ended = not self.session.advance(due, 1)
        self._abreast(self.clock.now() + SLICE_S)
        self.refresh_view()
        return True

    def seek(self) -> bool:
        """Run at full speed until the next notable event, then pause.

        In the past this is a jump; return False if it led to the present, as there is no notable event before.
        """
        if not self.session.in_past:
            self._go(SEEK_LIMIT_US, self._now.feed.notable)
            return True
        at_us = self._now.happened.after(self.session.cluster.trace.count)
        self.to_time(at_us if at_us >= 0 else self.session.present_us)
        return at_us >= 0

    def _go(self, span_us: int, seek_from: int) -> None:
        self._last = self.clock.now()
        self.ran_out = False
        self._seek_from = seek_from
        self._seek_until_us = self.session.cluster.now_us + span_us

    # -- looking back -----------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """Show the session at a virtual time, limited to its first time and its present, and pause."""
        self._listen()
        self.session.to_time(at_us)
        self._arrived()

    def to_near(self, at_us: int) -> None:
        """Show a time near the requested one, and mark it as approximate."""
        self.to_time(at_us)
        self.is_approximate = True
        self.refresh_view()

    def to_present(self) -> bool:
        """Return to the present and pause; return False if it is already shown."""
        if not self.session.in_past:
            return False
        self.to_time(self.session.present_us)
        return True

    def back(self) -> bool:
        """Go one event back and pause; return False at the beginning."""
        self._listen()
        moved = self.session.one_event_back()
        self._arrived()
        return moved

    def previous(self) -> bool:
        """Go back to the previous notable event; return False if there is none."""
        self._listen()
        cluster = self.session.cluster
        at_us = self._now.happened.before(cluster.now_us, cluster.trace.count)
        if at_us < self.session.timeline.first_us:
            self.pause(True)
            return False
        self.to_time(at_us)
        return True

    def move_time(self, span_us: int) -> bool:
        """Go forward by virtual time and pause, or back if negative; return False at the beginning."""
        now_us, first_us = self.session.cluster.now_us, self.session.timeline.first_us
        if span_us > 0 and not self.session.in_past:
            self._go(span_us, -1)
        else:
            self.to_time(now_us + span_us)
        return span_us > 0 or now_us > first_us

    def _arrived(self) -> None:
        """Update state after a jump."""
        self.pause(True)
        self._fraction_us = 0.0
        if self.session.in_past:
            self._feed_then = self._now.happened.feed(self.session.cluster.trace.count)
            self._rates_then = Rates()
        self.refresh_view()
        if self.comparison is not None:
            self.comparison.jump(self.view.now_us)

    # -- work -------------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> str:
        """Perform an operator's action now; in the past, and in a recording, it starts a branch, reported as news.

        Raises :class:`FaultError` as the session does, and in a read-only TUI.
        """
        self._check_writable()
        if self.session.read_only:
            self.branches.fork(action)
            return self._begun()
        try:
            return self.session.act(action)
        finally:
            self.refresh_view()

    def take_over(self) -> str:
        """Skip the remaining steps of the playbook. Raises :class:`FaultError` as the session does."""
        self._check_writable()
        try:
            return self.session.take_over()
        finally:
            self.refresh_view()

    def queue(self, action: Action) -> None:
        """Queue an action until time continues.

        Raises:
            FaultError: the past or a recording is shown, or the TUI is read-only.
        """
        self._check_writable()
        if self.session.read_only:
            raise FaultError("faults can be queued only at the present of a live session", code="not_the_present")
        self.queued = (*self.queued, action)

    def _fire(self) -> None:
        """Perform the queued actions in order, before time continues."""
        if self.session.in_past:
            return
        queued, self.queued = self.queued, ()
        for action in queued:
            try:
                self.queued_results.append((self.session.act(action), True))
            except FaultError as error:
                self.queued_results.append((f"not done: {action_text(action)}: {error}", False))

    def _listen(self) -> None:
        fresh = self.session.drain()
        if self.session.in_past:
            self._feed_then.take(fresh)
        else:
            self._now.take(fresh, self.session.cluster.trace.count)

    def _play(self, now: float, elapsed: float) -> None:
        start_us = self.session.cluster.now_us
        share = self.speed * elapsed * 1e6 + self._fraction_us
        target = start_us + int(share)
        self._fraction_us = share - int(share)
        seen = self.chronicle.losses
        batch = 1 if self.stops_at_loss else BATCH
        reached = self._run(target, now + SLICE_S, batch, lambda: self._alarmed(seen))
        self._behind = not reached and not self.ended
        if self._alarmed(seen):
            self.pause(True)
            self.stops_at_loss, self.stopped_at_loss = False, True
        if elapsed > 0:
            real = (self.session.cluster.now_us - start_us) / 1e6 / elapsed
            weight = min(1.0, elapsed * 2)
            self.real_speed += (real - self.real_speed) * weight

    def _alarmed(self, seen: int) -> bool:
        return self.stops_at_loss and self.chronicle.losses > seen

    def _seek(self, now: float) -> None:
        wanted = self._seek_from
        found = self._run(self._seek_until_us, now + SLICE_S, 1, lambda: -1 < wanted < self.feed.notable)
        self._behind = not found
        if found:
            self.ran_out = wanted == self.feed.notable
            self.pause(True)

    def _run(self, target: int, end: float, batch: int, stop: Callable[[], bool]) -> bool:
        """Advance to ``target``, or until ``stop`` or the end of the session; return False if the slice was used up.

        Playing the past continues in the present when it reaches it.
        """
        while True:
            before = self.session.cluster.executed
            if not self.session.advance(target, batch):
                self._now.ended = True
                return True
            self._listen()
            cluster = self.session.cluster
            if stop() or (cluster.now_us >= target and cluster.executed - before < batch):
                return True
            if self.clock.now() >= end:
                return False


# The rails of the timeline: the branches of a session, each with its result so far.


class RailCache:
    """Rails of all branches; rows of branches that do not change are cached."""

    def __init__(self) -> None:
        self._row_cache: dict[Branch, tuple[int, branches.BranchRow]] = {}

    def rails(self, session_controller: SessionController) -> tuple[BranchLine, ...]:
        """Return the rails in order of creation; none if there is only one branch."""
        all_branches = session_controller.branches
        if len(all_branches) < 2:
            return ()
        undone = {each.undoes: each.left_us for each in all_branches if each.undoes is not None}
        return tuple(
            BranchLine(
                self._row(each, session_controller), undone.get(each, -1) if each is not all_branches.current else -1
            )
            for each in all_branches
        )

    def _row(self, branch: Branch, session_controller: SessionController) -> branches.BranchRow:
        shown, executed = branch is session_controller.branches.current, branch.live.cluster.executed
        cached = self._row_cache.get(branch)
        if cached is None or cached[0] != executed or cached[1].shown != shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = session_controller.view if shown and not branch.session.in_past else branch.live.cluster.view()
            row = branches.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            cached = self._row_cache[branch] = (executed, row)
        return cached[1]


def reach_us(rails: tuple[BranchLine, ...], present_us: int) -> int:
    """Return the latest time that any branch has reached."""
    return max((each.branch.now_us for each in rails), default=present_us)
