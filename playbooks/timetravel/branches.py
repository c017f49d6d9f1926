"""Branches of a session: sessions that share its past up to a time, forks, and branches with changed settings.

The past of a session cannot be changed, nor can a recording, so who acts there gets a live session of its own. It is
grown by running from the beginning what the old one ran, its operator's actions included: nothing is shared between
the two, each has its own recording, and each replays by itself. The old one stands still meanwhile, is not changed, and
can be gone back to.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cluster_model.protocol.errors import CodedError, ModelError
from cluster_model.snapshots import Packed, pack, unpack
from cluster_model.util.quantities import counted
from faults.declarations import Action, FaultError
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.engine.session_runner import reach, repeat
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import words
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text
from playbooks.recording.reader import RecordedAction
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import BranchOrigin
from playbooks.timetravel.history_view import LookingBack, Reopened
from playbooks.timetravel.timeline import BUDGET, SessionPosition, TimelineAction, place_of, stand

# A session forked anywhere: brought to a point of its past, to be acted on and run there as if it were the present.
#
# A twin as :mod:`playbooks.timetravel.timeline` has it shares its logs with its original, so it must not go other ways.
# Here one scratch session runs the history by itself and keeps keyframes of it. To fork it loads one of them, which
# forgets whatever was written since, and runs on to the instant asked for. What a fork writes stands above that
# keyframe only; so the keyframes behind it are given up, and those before it hold for good. Searching backwards is
# cheap this way, and going forwards costs running what lies between.


NEAREST: Final = 5_000
"""Kernel events between two keyframes at first."""
MOST: Final = 48
"""Keyframes kept; with more of them every second is dropped, and they are taken half as often."""
FOREVER: Final = 1 << 62


class ForkError(CodedError, ValueError):
    """An instant that the session never comes to; the message says how far it goes."""


class ForkAction(NamedTuple):
    """What an operator did, and where the session stood: all three numbers tell it."""

    at_us: int
    executed: int
    steps: int
    verb: str
    action: Action


class _ForkKeyframe(NamedTuple):
    """Right after so many kernel events, before any step or action that followed; ``acted`` actions had been done."""

    at_us: int
    executed: int
    acted: int
    packed: Packed


def acted_of(actions: Iterable[RecordedAction]) -> tuple[ForkAction, ...]:
    """The actions of a recorded session."""
    return tuple(ForkAction(each.at_us, each.executed, each.steps, each.verb, each.action()) for each in actions)


class Forks:
    """The history of one session, to leave it anywhere."""

    def __init__(
        self,
        start: Callable[[], Session],
        actions: Sequence[ForkAction] = (),
        *,
        nearest: int = NEAREST,
        most: int = MOST,
    ) -> None:
        """``start`` makes the session at its beginning, as it was made; ``actions`` are what its operator did.

        Raises:
            ModelError: the cluster cannot be built.
        """
        self._session = session = start()
        self._open_ended = session.open_ended
        self._until_us = session.until_us
        self._actions = tuple(actions)
        self._every = nearest
        self._most = most
        self._frames: list[_ForkKeyframe] = []
        self._acted = 0
        """Of the actions, how many the scratch session has done or passed by."""
        self.replayed = 0
        """Kernel events that were run to come to where forks began, all of them together."""
        self._take()

    @property
    def kept(self) -> list[int]:
        """Where the keyframes stand: each after so many kernel events."""
        return [frame.executed for frame in self._frames]

    def at_event(self, executed: int) -> Session:
        """The session right after so many kernel events, before any step or action that followed.

        What is returned may be acted on and run; it is good until the next call.

        Raises:
            ForkError: it never comes so far.
        """
        if executed < 0:
            raise ForkError(f"no instant after {executed} events", code="before_the_start")
        session = self._load(bisect_right(self._frames, executed, key=lambda frame: frame.executed) - 1)
        for acted in self._actions[self._acted :]:
            if acted.executed >= executed:
                break
            self._repeat(acted)
        self._run_events(executed)
        if session.cluster.executed != executed:
            raise ForkError(
                f"no instant after {executed} events: it ends after {session.cluster.executed}", code="after_the_end"
            )
        if self._frames[-1].executed != executed:
            self._take()  # more than one thing is often tried at a place
        session.drain()
        return session

    def at_time(self, at_us: int) -> Session:
        """The session when its clock has come to ``at_us`` and nothing more is to happen at that time.

        What is returned may be acted on and run; it is good until the next call.

        Raises:
            ForkError: it has ended by then.
        """
        if at_us < 0:
            raise ForkError(f"no instant at {at_us} us", code="before_the_start")
        session = self._load(bisect_right(self._frames, at_us, key=lambda frame: frame.at_us) - 1)
        for acted in self._actions[self._acted :]:
            if acted.at_us > at_us:
                break
            self._repeat(acted)
        while session.cluster.now_us < at_us and session.phase != "ended":
            self._on(at_us, FOREVER)
        session.advance(at_us)
        if session.cluster.now_us != at_us:
            raise ForkError(f"no instant at {at_us} us: it ends at {session.cluster.now_us}", code="after_the_end")
        session.drain()
        return session

    def run_on(self, until_us: int) -> Session:
        """Run the fork on, and let the operator do at their times what they did in the history from here on."""
        session = self._session
        while self._acted < len(self._actions) and self._actions[self._acted].at_us <= until_us:
            acted = self._actions[self._acted]
            self._acted += 1
            session.advance(acted.at_us)
            repeat(session, acted.verb, acted.action)
        session.advance(until_us)
        return session

    # -- the history ------------------------------------------------------------------------------------------------

    def _load(self, place: int) -> Session:
        """Stand at a keyframe; those behind it are of no use any more."""
        del self._frames[place + 1 :]
        frame = self._frames[place]
        session = self._session
        session.load(*unpack(frame.packed))
        session.open_ended = self._open_ended
        session.until_us = self._until_us
        self._acted = frame.acted
        return session

    def _repeat(self, acted: ForkAction) -> None:
        self._run_events(acted.executed, acted.at_us)
        reach(self._session, acted.at_us, acted.executed, acted.steps)
        if self._session.steps_taken == acted.steps and self._session.cluster.now_us == acted.at_us:
            repeat(self._session, acted.verb, acted.action)
        else:
            raise ForkError(
                f"the rerun never stands where its operator acted, at {acted.at_us} us", code="action_not_reached"
            )
        self._acted += 1

    def _run_events(self, executed: int, until_us: int = FOREVER) -> None:
        """Run to right after so many kernel events, or as far as it goes."""
        while self._session.cluster.executed < executed:
            if not self._on(until_us, executed):
                return

    def _on(self, until_us: int, executed: int) -> bool:
        """Run at most to the next keyframe, and take it; whether that changed anything."""
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
        if len(self._frames) > self._most:
            del self._frames[1:-1:2]
            self._every *= 2


# A branch in which something is set otherwise from the very beginning: the same seed, the same faults, another
# course.
#
# No event of it need be one of the session that it is compared with, so what the operator did is done again at its
# times, and not in its places. What cannot be done any more is refused, and counted.


_HEALING: Final = Action("heal", "all")


def playbook_with(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """The playbook with settings made, as ``--set`` takes them.

    Raises:
        SettingError: a path leads nowhere.
        PlaybookError: it is not one that can be run then.
    """
    text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    return loads(text, playbook.path, playbook.fragments)


class Otherwise:
    """Such a branch on its way from the beginning to where the other one stands."""

    then = None

    def __init__(
        self, branch: "Branch", place: SessionPosition, deeds: tuple[TimelineAction, ...], other: Session
    ) -> None:
        """``other`` is what it is compared with: it stands in ``place``, after ``deeds``."""
        self.branch = branch
        self.until_us = place.at_us
        """When it arrives."""
        self.beside = branch.parent
        """What it is to be compared with."""
        self.refused = 0
        """Things that the operator did and that cannot be done here."""
        self._left = list(deeds)
        if other.settles_us >= 0 and all(deed.verb != SETTLE for deed in deeds):
            began = place._replace(at_us=other.settles_us)
            self._left.append(TimelineAction(began, SETTLE, _HEALING))  # a live session does not begin to by itself
        self._harmed_there = _harmed(other)

    @property
    def percent(self) -> int:
        """How much of the way is gone, by virtual time."""
        return self.branch.session.cluster.now_us * 100 // max(1, self.until_us)

    def words(self, _told: str) -> str:
        """What to say when it has come."""
        refused = f"; {counted(self.refused, 'action')} refused" if self.refused else ""
        return (
            f"branch {self.branch.letter}, {self.branch.began} from the beginning: {_harmed(self.branch.live)}"
            f" acknowledged records missing or lost, {self._harmed_there} without{refused}"
        )

    def on(self, events: int) -> bool:
        """Go on by so many kernel events at most; whether it has arrived.

        Raises:
            FaultError: it cannot be recorded.
        """
        session = self.branch.session
        before = session.cluster.executed
        try:
            session.advance(self._left[0].place.at_us if self._left else self.until_us, events)
            if session.cluster.executed - before >= events:
                return False
            if not self._left:
                return True
            deed = self._left.pop(0)
            self.refused += not session.do_again(deed) and not deed.refused
        except RecordingError as error:
            raise FaultError(str(error), code="not_recorded") from None
        return False


def _harmed(session: Session) -> int:
    ledger = session.cluster.view().ledger
    return ledger.missing + ledger.acked_lost


MAIN: Final = "main"
"""Name of the session that was there first."""
LETTERS: Final = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the others, in the order in which they begin."""
LEAST_BUDGET: Final = 8 * 1024 * 1024
"""Bytes of keyframes that every branch may have, however many there are."""


class BranchError(FaultError):
    """A branch that cannot be had; the message says why, and the code names it."""


class Branch:
    """One of the sessions that share a beginning. All know where they left which other one; ``main`` left none."""

    def __init__(
        self,
        letter: str,
        session: LookingBack,
        parent: "Branch | None" = None,
        left: SessionPosition | None = None,
        began: str = "",
    ) -> None:
        self.letter = letter
        self.session = session
        self.parent = parent
        self.left = left
        self.began = began
        """What it began with, in a few words."""
        self.undoes: Branch | None = None
        """The branch whose last action is undone in it, None unless an undo made it."""

    @property
    def live(self) -> Session:
        """The session itself, as it is now, whatever instant is looked at."""
        return self.session.timeline.session

    @property
    def recorder(self) -> Recorder | None:
        """Who writes it down; None when nobody does."""
        return self.live.recorder

    @property
    def left_us(self) -> int:
        """When it left its parent, -1 for one that has none."""
        return self.left.at_us if self.left is not None else -1

    def so_far(self) -> tuple[SessionPosition, tuple[TimelineAction, ...]]:
        """Where it stands at the instant that is looked at, and what the operator had done by then."""
        return self.session.timeline.so_far(past=self.session.in_past)

    def untouched_at(self, place: SessionPosition, deeds: int) -> bool:
        """Whether it stands at that place still, after so many actions."""
        here, done = self.session.timeline.so_far()
        return here == place and len(done) == deeds


class Growing:
    """A branch on its way from the beginning to where it leaves its parent."""

    def __init__(
        self, branch: Branch, place: SessionPosition, deeds: tuple[TimelineAction, ...], then: Action | None
    ) -> None:
        self.branch = branch
        self.then = then
        """What the operator does in it first of all."""
        self.until_us = place.at_us
        """When it arrives."""
        self.beside: Branch | None = None
        """What it is to be compared with."""
        self._place = place
        self._left = list(deeds)

    def words(self, told: str) -> str:
        """What to say when it has come; ``told`` is what came of what was done first of all."""
        return f"branch {self.branch.letter} begins here{f': {told}' if told else ''}"

    @property
    def percent(self) -> int:
        """How much of the way is gone, by the events that the model has handled."""
        return self.branch.session.cluster.executed * 100 // max(1, self._place.executed)

    def on(self, events: int) -> bool:
        """Go on by so many kernel events at most; whether it has arrived.

        Raises:
            BranchError: it goes other ways, or cannot be recorded.
        """
        try:
            return self._on(events)
        except RecordingError as error:
            raise BranchError(str(error), code="not_recorded") from None

    def _on(self, events: int) -> bool:
        session = self.branch.session
        place = self._left[0].place if self._left else self._place
        before = session.cluster.executed
        if before < place.executed:
            session.advance(place.at_us, min(events, place.executed - before))
            if session.cluster.executed == before:
                raise BranchError(
                    f"branch {self.branch.letter}: the rerun ends before {place.at_us} us", code="rerun_ends_early"
                )
            return False
        stand(self.branch.live, place)
        if place_of(self.branch.live) != place:
            raise BranchError(
                f"branch {self.branch.letter}: the rerun never stands as it did at {place.at_us} us",
                code="rerun_differs",
            )
        if not self._left:
            return True
        self._repeat(self._left.pop(0))
        return False

    def _repeat(self, deed: TimelineAction) -> None:
        if not self.branch.session.do_again(deed) and not deed.refused:
            raise BranchError(f"branch {self.branch.letter}: the rerun refuses {_told(deed)}", code="rerun_refuses")


class Branches:
    """A session with all that branched off it. One of them is looked at; the others stand still."""

    def __init__(self, session: Session | Reopened, beside: Recorder | None = None) -> None:
        """``beside`` is for a recording: the recorders of its branches are made from it; without it there are none."""
        self._beside = beside
        self._all = [Branch(MAIN, LookingBack(session))]
        self.current = self._all[0]
        """The one that is looked at."""
        self.growing: Growing | Otherwise | None = None
        """The one that is on its way, to be brought on by :meth:`Growing.on` and taken by :meth:`arrive`."""

    def __iter__(self) -> Iterator[Branch]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    # -- beginning --------------------------------------------------------------------------------------------------

    def fork(self, then: Action | None = None) -> Growing:
        """Begin a branch at the instant that is looked at, with an action or without.

        Raises:
            BranchError: there can be none.
        """
        place, deeds = self.current.so_far()
        return self._grow(place, deeds, _named(then) if then is not None else "what if", then)

    def undo(self) -> Growing | None:
        """Go back to right before the last action that was done by the instant looked at, without it.

        That is a branch; None when it was there already, and is looked at now.

        Raises:
            BranchError: nothing was done, or there can be no branch.
        """
        here = self.current
        _place, deeds = here.so_far()
        last = max((number for number, deed in enumerate(deeds) if not deed.refused), default=-1)
        if last < 0:
            self._check()
            raise BranchError("nothing to undo: nothing has been done by now", code="nothing_to_undo")
        place = deeds[last].place
        again = [each for each in self._all if each.undoes is here and each.untouched_at(place, last)]
        if again:
            self.switch(again[0])
            return None
        growing = self._grow(place, deeds[:last], f"without {_done(deeds[last])}", None)
        growing.branch.undoes = here
        return growing

    def redo(self) -> Branch:
        """Back to the branch whose last action was undone.

        Raises:
            BranchError: nothing was.
        """
        if self.current.undoes is None:
            self._check()
            raise BranchError(
                "nothing to do again: this branch was not made by undoing something", code="nothing_to_redo"
            )
        self.switch(self.current.undoes)
        return self.current

    def otherwise(self, name: str, settings: Mapping[str, str]) -> Otherwise:
        """Begin a branch with settings that are other ones from the very beginning, up to the instant looked at.

        ``name`` says in a few words what is other, ``settings`` are paths and values as ``--set`` takes them.

        Raises:
            BranchError: there can be none.
        """
        self._check()
        old = self.current
        try:
            playbook = playbook_with(old.live.playbook, settings)
        except (PlaybookError, SettingError) as error:
            raise BranchError(f"{name}: {' '.join(str(error).split())}", code="wrong_settings") from None
        first = SessionPosition(old.session.timeline.first_us, 0, 0, "steps", -1)
        branch = self._begin(first, name, playbook)
        self.growing = Otherwise(branch, *old.so_far(), old.session.instant)
        self._share_memory()
        return self.growing

    def _grow(
        self, place: SessionPosition, deeds: tuple[TimelineAction, ...], began: str, then: Action | None
    ) -> Growing:
        self._check()
        self.current.session.check_branch()
        self.growing = growing = Growing(self._begin(place, began), place, deeds, then)
        self._share_memory()
        return growing

    def _begin(self, place: SessionPosition, began: str, playbook: Playbook | None = None) -> Branch:
        """A branch at its beginning, which is to leave the one looked at in that place."""
        old, letter = self.current, LETTERS[len(self._all) - 1]
        recorder, recorded = old.recorder or self._beside, old.session.recorded
        if recorder is not None:
            parent = recorded.start.session_id if recorded is not None else recorder.session_id
            recorder = recorder.of_branch(BranchOrigin(letter, parent, place.at_us))
        try:
            session = _another(old.live, recorder, playbook, goes_on=recorded is not None)
        except (ModelError, RecordingError) as error:
            raise BranchError(str(error), code="not_started") from None
        return Branch(letter, LookingBack(session), old, place, began)

    def _check(self) -> None:
        if self.growing is not None:
            raise BranchError(
                f"branch {self.growing.branch.letter} is on its way: one at a time", code="branch_on_its_way"
            )
        if len(self._all) > len(LETTERS):
            raise BranchError(
                f"there are {len(self._all)} branches already, and no letter is left", code="no_letter_left"
            )

    # -- going to them ----------------------------------------------------------------------------------------------

    def arrive(self) -> str:
        """Take the branch that has grown, look at it, and do what it was begun for; a line about that.

        Raises:
            FaultError: that was refused; there is no such branch then.
        """
        growing = self.growing
        assert growing is not None
        told = ""
        if growing.then is not None:
            try:
                told = growing.branch.session.act(growing.then)
            except FaultError:
                self.give_up()
                raise
        self.growing = None
        self._all.append(growing.branch)
        self.switch(growing.branch)
        return told

    def give_up(self) -> None:
        """Forget the branch that is on its way, and its recording; everything else stays as it is."""
        if self.growing is not None:
            recorder = self.growing.branch.recorder
            self.growing = None
            if recorder is not None:
                recorder.discard()

    def switch(self, branch: Branch) -> None:
        """Look at another one, at its present; the one before stands still from now on."""
        self.current.session.to_present()
        branch.session.to_present()
        self.current = branch

    def _share_memory(self) -> None:
        growing = [self.growing.branch] if self.growing is not None else []
        each = max(LEAST_BUDGET, BUDGET // (len(self._all) + len(growing)))
        for branch in (*self._all, *growing):
            branch.session.timeline.keep_within(each)


def _named(action: Action) -> str:
    return words(action).removeprefix("inject ")


def _told(deed: TimelineAction) -> str:
    return "taking over" if deed.verb == TAKE_OVER else words(deed.action)


def _done(deed: TimelineAction) -> str:
    return _told(deed).removeprefix("inject ")


def _another(session: Session, recorder: Recorder | None, playbook: Playbook | None, *, goes_on: bool) -> Session:
    """One that begins as this one began; ``goes_on``: a live one, whatever this one was."""
    return Session.start(
        playbook or session.playbook, seed=session.cluster.seed, recorder=recorder,
        until_us=-1 if goes_on else session.until_us, open_ended=goes_on or session.open_ended,
    )  # fmt: skip
