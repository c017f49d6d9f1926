"""Branches of a session: sessions that share its past up to a time, forks, and branches with changed settings.

The past of a session, like a recording, cannot be changed, so an action there needs a live session of its own. A branch
is built by running from the start what the old session ran, its operator's actions included: the two share nothing,
each has its own recording, and each replays by itself. The old session is paused meanwhile, stays unchanged, and can be
returned to.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cluster_model.protocol.errors import CodedError, ModelError
from cluster_model.snapshots import PackedKeyframe, pack, unpack
from cluster_model.util.quantities import counted
from faults.declarations import Action, FaultError
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.engine.session_runner import repeat_action, run_to_position
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import action_text
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text
from playbooks.recording.reader import RecordedAction
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import BranchOrigin
from playbooks.timetravel.history_view import HistoryView, ReopenedSession
from playbooks.timetravel.timeline import BUDGET, SessionPosition, TimelineAction, move_to_position, position_of

# Forks: a session brought to a point of its past, to act and run there as if it were the present.
#
# A twin of :mod:`playbooks.timetravel.timeline` shares its logs with its original, so it must not diverge. Here one
# scratch session runs the history by itself and keeps keyframes of it. A fork loads one of them, which forgets
# everything written since, and runs to the requested time. What a fork writes is newer than that keyframe; so later
# keyframes are dropped, and earlier ones stay valid. Searching backwards is cheap this way; going forwards costs
# running the events in between.


NEAREST: Final = 5_000
"""Initial number of kernel events between two keyframes."""
MOST: Final = 48
"""Maximum number of keyframes; beyond it every second is dropped, and the interval is doubled."""
FOREVER: Final = 1 << 62


class ForkError(CodedError, ValueError):
    """A time that the session never reaches; the message says how far it goes."""


class ForkAction(NamedTuple):
    """An operator's action with the position of the session, which takes all three numbers."""

    at_us: int
    executed: int
    steps: int
    verb: str
    action: Action


class _ForkKeyframe(NamedTuple):
    """Keyframe right after a kernel event, before any step or action; ``acted``: number of actions before."""

    at_us: int
    executed: int
    acted: int
    packed: PackedKeyframe


def acted_of(actions: Iterable[RecordedAction]) -> tuple[ForkAction, ...]:
    """Return the actions of a recorded session."""
    return tuple(ForkAction(each.at_us, each.executed, each.steps, each.verb, each.action()) for each in actions)


class SessionForks:
    """History of one session, for forks at any point."""

    def __init__(
        self,
        start: Callable[[], Session],
        actions: Sequence[ForkAction] = (),
        *,
        nearest: int = NEAREST,
        limit: int = MOST,
    ) -> None:
        """``start`` creates the session at its beginning; ``actions`` are those of its operator.

        Raises:
            ModelError: the cluster cannot be built.
        """
        self._session = session = start()
        self._open_ended = session.open_ended
        self._until_us = session.until_us
        self._actions = tuple(actions)
        self._every = nearest
        self._limit = limit
        self._frames: list[_ForkKeyframe] = []
        self._acted = 0
        """Number of actions that the scratch session has repeated or passed."""
        self.replayed = 0
        """Total number of kernel events run to reach the points of forks."""
        self._take()

    @property
    def kept(self) -> list[int]:
        """Positions of the keyframes, as numbers of kernel events."""
        return [frame.executed for frame in self._frames]

    def at_event(self, executed: int) -> Session:
        """Return the session right after this many kernel events, before any step or action that followed.

        It may be acted on and run, and is valid until the next call.

        Raises:
            ForkError: the session ends before.
        """
        if executed < 0:
            raise ForkError(f"no position after {executed} events", code="before_the_start")
        session = self._load(bisect_right(self._frames, executed, key=lambda frame: frame.executed) - 1)
        for acted in self._actions[self._acted :]:
            if acted.executed >= executed:
                break
            self._repeat(acted)
        self._run_events(executed)
        if session.cluster.executed != executed:
            raise ForkError(
                f"no position after {executed} events: it ends after {session.cluster.executed}", code="after_the_end"
            )
        if self._frames[-1].executed != executed:
            self._take()  # several actions are often tried at one position
        session.drain()
        return session

    def at_time(self, at_us: int) -> Session:
        """Return the session at ``at_us``, when nothing more is to happen at that time.

        It may be acted on and run, and is valid until the next call.

        Raises:
            ForkError: the session ends before.
        """
        if at_us < 0:
            raise ForkError(f"no position at {at_us} us", code="before_the_start")
        session = self._load(bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1)
        for acted in self._actions[self._acted :]:
            if acted.at_us > at_us:
                break
            self._repeat(acted)
        while session.cluster.now_us < at_us and session.phase != "ended":
            self._on(at_us, FOREVER)
        session.advance(at_us)
        if session.cluster.now_us != at_us:
            raise ForkError(f"no position at {at_us} us: it ends at {session.cluster.now_us}", code="after_the_end")
        session.drain()
        return session

    def run_on(self, until_us: int) -> Session:
        """Continue the fork, with the later actions of the operator at their original times."""
        session = self._session
        while self._acted < len(self._actions) and self._actions[self._acted].at_us <= until_us:
            acted = self._actions[self._acted]
            self._acted += 1
            session.advance(acted.at_us)
            repeat_action(session, acted.verb, acted.action)
        session.advance(until_us)
        return session

    # -- the history ------------------------------------------------------------------------------------------------

    def _load(self, index: int) -> Session:
        """Load a keyframe, and drop later ones."""
        del self._frames[index + 1 :]
        frame = self._frames[index]
        session = self._session
        session.load(*unpack(frame.packed))
        session.open_ended = self._open_ended
        session.until_us = self._until_us
        self._acted = frame.acted
        return session

    def _repeat(self, acted: ForkAction) -> None:
        self._run_events(acted.executed, acted.at_us)
        run_to_position(self._session, acted.at_us, acted.executed, acted.steps)
        if self._session.steps_taken == acted.steps and self._session.cluster.now_us == acted.at_us:
            repeat_action(self._session, acted.verb, acted.action)
        else:
            raise ForkError(
                f"the rerun never reaches the operator's action at {acted.at_us} us", code="action_not_reached"
            )
        self._acted += 1

    def _run_events(self, executed: int, until_us: int = FOREVER) -> None:
        """Run to right after this many kernel events, or to the end of the session."""
        while self._session.cluster.executed < executed:
            if not self._on(until_us, executed):
                return

    def _on(self, until_us: int, executed: int) -> bool:
        """Run at most to the next keyframe, and take it; return whether anything ran."""
        session = self._session
        cluster = session.cluster
        before = cluster.executed, cluster.now_us, session.steps_taken, session.phase
        due = self._frames[-1].executed + self._every
        session.advance(until_us, min(due, executed) - before[0])
        session.drain()
        self.replayed += cluster.executed - before[0]
        if cluster.executed >= due:
            self._take()
        return before != (cluster.executed, cluster.now_us, session.steps_taken, session.phase)

    def _take(self) -> None:
        session = self._session
        cluster = session.cluster
        session.drain()
        self._frames.append(_ForkKeyframe(cluster.now_us, cluster.executed, self._acted, pack(*session.save())))
        if len(self._frames) > self._limit:
            del self._frames[1:-1:2]
            self._every *= 2


# Branches with changed settings from the very beginning: the same seed and faults, a different course.
#
# No event need be the same as in the other session, so the operator's actions are repeated at their times, not at their
# exact positions. Actions that are impossible are refused, and counted.


_HEALING: Final = Action("heal", "all")


def playbook_with(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """Return the playbook with settings applied, as with ``--set``.

    Raises:
        SettingError: a path has no target.
        PlaybookError: the result is invalid.
    """
    text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    return loads(text, playbook.path, playbook.fragments)


class WhatIfBranch:
    """Branch with a changed setting that is being built, up to the time of the session it is compared with."""

    then = None

    def __init__(
        self, branch: "Branch", position: SessionPosition, fault_records: tuple[TimelineAction, ...], other: Session
    ) -> None:
        """``other`` is the branch to compare with, at position ``position``, after the actions ``fault_records``."""
        self.branch = branch
        self.until_us = position.at_us
        """Virtual time at which it is complete."""
        self.beside = branch.parent
        """Lost or missing records of the other branch."""
        self.refused = 0
        """Number of the operator's actions that were refused here."""
        self._left = list(fault_records)
        if other.settles_us >= 0 and all(fault_record.verb != SETTLE for fault_record in fault_records):
            began = position._replace(at_us=other.settles_us)
            self._left.append(TimelineAction(began, SETTLE, _HEALING))  # a live session does not settle by itself
        self._harmed_there = _harmed(other)

    @property
    def percent(self) -> int:
        """Progress in percent, by virtual time."""
        return self.branch.session.cluster.now_us * 100 // max(1, self.until_us)

    def words(self, _result: str) -> str:
        """Return the message of the complete branch."""
        refused = f"; {counted(self.refused, 'action')} refused" if self.refused else ""
        return (
            f"branch {self.branch.letter}, {self.branch.began} from the start: {_harmed(self.branch.live)}"
            f" acknowledged records missing or lost, {self._harmed_there} without the change{refused}"
        )

    def advance(self, events: int) -> bool:
        """Continue by at most ``events`` kernel events; return whether it is complete.

        Raises:
            FaultError: it cannot be recorded.
        """
        session = self.branch.session
        before = session.cluster.executed
        try:
            session.advance(self._left[0].position.at_us if self._left else self.until_us, events)
            if session.cluster.executed - before >= events:
                return False
            if not self._left:
                return True
            fault_record = self._left.pop(0)
            self.refused += not session.repeat(fault_record) and not fault_record.refused
        except RecordingError as error:
            raise FaultError(str(error), code="not_recorded") from None
        return False


def _harmed(session: Session) -> int:
    ledger = session.cluster.view().ledger
    return ledger.missing + ledger.acked_lost


MAIN: Final = "main"
"""Name of the original session."""
LETTERS: Final = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of branches, in order of creation."""
LEAST_BUDGET: Final = 8 * 1024 * 1024
"""Minimum number of bytes of keyframes for every branch."""


class BranchError(FaultError):
    """A branch that is not possible; the message says why, and the code names the reason."""


class Branch:
    """A session in the tree of branches, with its parent and fork position; ``main`` has no parent."""

    def __init__(
        self,
        letter: str,
        session: HistoryView,
        parent: "Branch | None" = None,
        left: SessionPosition | None = None,
        began: str = "",
    ) -> None:
        self.letter = letter
        self.session = session
        self.parent = parent
        self.left = left
        self.began = began
        """Short description of its first action."""
        self.undoes: Branch | None = None
        """The branch whose last action is undone in it, None unless it was created by undo."""

    @property
    def live(self) -> Session:
        """The present session, also while the past is viewed."""
        return self.session.timeline.session

    @property
    def recorder(self) -> Recorder | None:
        """Its recorder; None without a recording."""
        return self.live.recorder

    @property
    def left_us(self) -> int:
        """Time at which it forked from its parent, -1 without one."""
        return self.left.at_us if self.left is not None else -1

    def so_far(self) -> tuple[SessionPosition, tuple[TimelineAction, ...]]:
        """Return the viewed position, and the operator's actions up to it."""
        return self.session.timeline.so_far(past=self.session.in_past)

    def untouched_at(self, position: SessionPosition, fault_records: int) -> bool:
        """Return whether it is still at that position, after this many actions."""
        here, done = self.session.timeline.so_far()
        return here == position and len(done) == fault_records


class GrowingBranch:
    """Branch that is being built, up to the position where it forks from its parent."""

    def __init__(
        self, branch: Branch, position: SessionPosition, fault_records: tuple[TimelineAction, ...], then: Action | None
    ) -> None:
        self.branch = branch
        self.then = then
        """First action of the operator in it."""
        self.until_us = position.at_us
        """Virtual time at which it is complete."""
        self.beside: Branch | None = None
        """Position of the fork."""
        self._position = position
        self._left = list(fault_records)

    def words(self, result: str) -> str:
        """Return the message of the complete branch; ``result`` is that of its first action."""
        return f"branch {self.branch.letter} begins here{f': {result}' if result else ''}"

    @property
    def percent(self) -> int:
        """Progress in percent, by the events handled."""
        return self.branch.session.cluster.executed * 100 // max(1, self._position.executed)

    def advance(self, events: int) -> bool:
        """Continue by at most ``events`` kernel events; return whether it is complete.

        Raises:
            BranchError: the rerun differs, or cannot be recorded.
        """
        try:
            return self._on(events)
        except RecordingError as error:
            raise BranchError(str(error), code="not_recorded") from None

    def _on(self, events: int) -> bool:
        session = self.branch.session
        position = self._left[0].position if self._left else self._position
        before = session.cluster.executed
        if before < position.executed:
            session.advance(position.at_us, min(events, position.executed - before))
            if session.cluster.executed == before:
                raise BranchError(
                    f"branch {self.branch.letter}: the rerun ends before {position.at_us} us", code="rerun_ends_early"
                )
            return False
        move_to_position(self.branch.live, position)
        if position_of(self.branch.live) != position:
            raise BranchError(
                f"branch {self.branch.letter}: the rerun never reaches the fork position at {position.at_us} us",
                code="rerun_differs",
            )
        if not self._left:
            return True
        self._repeat(self._left.pop(0))
        return False

    def _repeat(self, fault_record: TimelineAction) -> None:
        if not self.branch.session.repeat(fault_record) and not fault_record.refused:
            raise BranchError(
                f"branch {self.branch.letter}: the rerun refuses {_text(fault_record)}", code="rerun_refuses"
            )


class Branches:
    """A session with all its branches. One of them is viewed; the others are paused."""

    def __init__(self, session: Session | ReopenedSession, recorder: Recorder | None = None) -> None:
        """``recorder`` is for a recording: the recorders of branches are derived from it; without it there are none."""
        self._recorder = recorder
        self._all = [Branch(MAIN, HistoryView(session))]
        self.current = self._all[0]
        """The viewed branch."""
        self.growing: GrowingBranch | WhatIfBranch | None = None
        """The branch being built, continued with :meth:`GrowingBranch.advance` and adopted by :meth:`adopt`."""

    def __iter__(self) -> Iterator[Branch]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    # -- beginning --------------------------------------------------------------------------------------------------

    def fork(self, then: Action | None = None) -> GrowingBranch:
        """Start a branch at the viewed time, with or without an action.

        Raises:
            BranchError: it is not possible.
        """
        place, fault_records = self.current.so_far()
        return self._grow(place, fault_records, _named(then) if then is not None else "what if", then)

    def undo(self) -> GrowingBranch | None:
        """Go back to right before the last action up to the viewed time, without it.

        That is a branch; None if it existed already, and is viewed now.

        Raises:
            BranchError: there is no action, or no branch is possible.
        """
        here = self.current
        _place, fault_records = here.so_far()
        last = max(
            (number for number, fault_record in enumerate(fault_records) if not fault_record.refused), default=-1
        )
        if last < 0:
            self._check()
            raise BranchError("nothing to undo: no actions so far", code="nothing_to_undo")
        position = fault_records[last].position
        again = [each for each in self._all if each.undoes is here and each.untouched_at(position, last)]
        if again:
            self.switch(again[0])
            return None
        growing = self._grow(position, fault_records[:last], f"without {_done(fault_records[last])}", None)
        growing.branch.undoes = here
        return growing

    def redo(self) -> Branch:
        """Return to the branch whose last action was undone.

        Raises:
            BranchError: no action was undone.
        """
        if self.current.undoes is None:
            self._check()
            raise BranchError("nothing to redo: this branch was not created by undo", code="nothing_to_redo")
        self.switch(self.current.undoes)
        return self.current

    def what_if(self, name: str, settings: Mapping[str, str]) -> WhatIfBranch:
        """Start a branch with changed settings from the beginning, up to the viewed time.

        ``name`` describes the change in a few words, ``settings`` are paths and values as for ``--set``.

        Raises:
            BranchError: it is not possible.
        """
        self._check()
        old = self.current
        try:
            playbook = playbook_with(old.live.playbook, settings)
        except (PlaybookError, SettingError) as error:
            raise BranchError(f"{name}: {' '.join(str(error).split())}", code="wrong_settings") from None
        first = SessionPosition(old.session.timeline.first_us, 0, 0, "steps", -1)
        branch = self._begin(first, name, playbook)
        self.growing = WhatIfBranch(branch, *old.so_far(), old.session.viewed_session)
        self._share_memory()
        return self.growing

    def _grow(
        self, position: SessionPosition, fault_records: tuple[TimelineAction, ...], began: str, then: Action | None
    ) -> GrowingBranch:
        self._check()
        self.current.session.check_branch()
        self.growing = growing = GrowingBranch(self._begin(position, began), position, fault_records, then)
        self._share_memory()
        return growing

    def _begin(self, position: SessionPosition, began: str, playbook: Playbook | None = None) -> Branch:
        """Start a branch that forks from the viewed one at that position."""
        old, letter = self.current, LETTERS[len(self._all) - 1]
        recorder, recorded = old.recorder or self._recorder, old.session.recorded
        if recorder is not None:
            parent = recorded.start.session_id if recorded is not None else recorder.session_id
            recorder = recorder.of_branch(BranchOrigin(letter, parent, position.at_us))
        try:
            session = _another(old.live, recorder, playbook, goes_on=recorded is not None)
        except (ModelError, RecordingError) as error:
            raise BranchError(str(error), code="not_started") from None
        return Branch(letter, HistoryView(session), old, position, began)

    def _check(self) -> None:
        if self.growing is not None:
            raise BranchError(
                f"branch {self.growing.branch.letter} is still being built: one at a time", code="branch_on_its_way"
            )
        if len(self._all) > len(LETTERS):
            raise BranchError(f"there are {len(self._all)} branches, the most allowed", code="no_letter_left")

    # -- switching -------------------------------------------------------------------------------------------------

    def adopt(self) -> str:
        """Adopt the complete branch, view it, and execute its first action; return a line about it.

        Raises:
            FaultError: the action was refused; the branch is dropped then.
        """
        growing = self.growing
        assert growing is not None
        result = ""
        if growing.then is not None:
            try:
                result = growing.branch.session.act(growing.then)
            except FaultError:
                self.discard()
                raise
        self.growing = None
        self._all.append(growing.branch)
        self.switch(growing.branch)
        return result

    def discard(self) -> None:
        """Drop the branch that is being built, and its recording."""
        if self.growing is not None:
            recorder = self.growing.branch.recorder
            self.growing = None
            if recorder is not None:
                recorder.discard()

    def switch(self, branch: Branch) -> None:
        """View another branch, at its present; the previous one is paused."""
        self.current.session.to_present()
        branch.session.to_present()
        self.current = branch

    def _share_memory(self) -> None:
        growing = [self.growing.branch] if self.growing is not None else []
        each = max(LEAST_BUDGET, BUDGET // (len(self._all) + len(growing)))
        for branch in (*self._all, *growing):
            branch.session.timeline.keep_within(each)


def _named(action: Action) -> str:
    return action_text(action).removeprefix("inject ")


def _text(fault_record: TimelineAction) -> str:
    return "taking over" if fault_record.verb == TAKE_OVER else action_text(fault_record.action)


def _done(fault_record: TimelineAction) -> str:
    return _text(fault_record).removeprefix("inject ")


def _another(session: Session, recorder: Recorder | None, playbook: Playbook | None, *, goes_on: bool) -> Session:
    """Return a new session that starts as this one; ``goes_on``: a live one in any case."""
    return Session.start(
        playbook or session.playbook, seed=session.cluster.seed, recorder=recorder,
        until_us=-1 if goes_on else session.until_us, open_ended=goes_on or session.open_ended,
    )  # fmt: skip
