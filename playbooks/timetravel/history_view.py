"""A session as it is viewed, now or at a past time, and recorded sessions that are run again to be viewed."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event
from cluster_model.util.quantities import counted
from faults.declarations import Action, FaultError
from faults.injector import FaultBoard
from playbooks.engine.replay import ReplayMismatchError, begin
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.engine.session_runner import SoFar, so_far
from playbooks.recording.reader import RecordedAction, RecordedSession
from playbooks.results.client_stats import ClientBooks
from playbooks.session_format.session_files import SessionError
from playbooks.timetravel.timeline import Timeline, TimelineAction
from playbooks.units import duration_text


class Reopened:
    """The rerun, with the surface that a screen needs of a session. It is over where the recording ends."""

    def __init__(self, recorded: RecordedSession) -> None:
        """Stand at its beginning.

        Raises:
            SessionError: it holds nothing to look at, or time stands still in it.
            PlaybookError: the session's playbook is not one that this version runs.
        """
        self._comparison = begin(recorded)
        session = self._comparison.session
        if not isinstance(session, Session):
            raise SessionError(
                f"{recorded.path} was stepped by hand: time stands still in it; use: floodmark replay",
                code="stepped_by_hand",
            )
        self.recorded = recorded
        self.over = False
        """Whether the recording is at its end, or the rerun came out differently."""
        self.difference = ""
        """Where it came out differently; empty as long as it did not."""
        self.timeline = Timeline(session)
        """Goes back in the rerun so far."""
        self._session = session
        self._left = list(recorded.actions)
        self._fresh: list[Event] = []
        self._comparison.on_events = self._fresh.extend
        self._comparison.compare(session.drain())

    @property
    def cluster(self) -> Cluster:
        """The model."""
        return self._session.cluster

    @property
    def board(self) -> FaultBoard:
        """Active faults."""
        return self._session.board

    @property
    def client_books(self) -> ClientBooks:
        """What the clients saw so far."""
        return self._session.client_books

    def check_branch(self, instant: Session) -> None:
        """Whether a branch can leave it at an instant that it has come to.

        Raises:
            FaultError: none can, the message says why.
        """
        sure = self._comparison.compared
        if self.difference and instant.cluster.trace.count > sure:
            raise FaultError(
                f"the rerun differs from the recording after the first {counted(sure, 'event')}, so this is another"
                " session: branches leave it before that",
                code="differs_from_recording",
            )
        if instant.phase != "steps":
            what = "settles" if instant.phase == "settling" else "has ended, and settled"
            since = f"{what} since {duration_text(instant.settles_us)}" if instant.settles_us >= 0 else "has ended"
            raise FaultError(f"it {since}: branches leave it before that", code="steps_over")

    def drain(self) -> list[Event]:
        """Trace events since the last call, in order."""
        fresh = self._fresh.copy()
        self._fresh.clear()
        return fresh

    def act(self, action: Action) -> str:
        """Refuse. Raises :class:`FaultError`."""
        raise FaultError(f"this is a recording: {action.name} cannot be done in it any more", code="recording")

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Run on, the operator's actions included, up to a virtual time or for so many kernel events.

        Returns whether the recording goes on. A rerun that differs from it stops there.
        """
        try:
            while not self.over and self._go(until_us, max_events):
                pass
        except ReplayMismatchError as error:
            self.difference = str(error)
            self.over = True
        return not self.over

    def _go(self, until_us: int, max_events: int) -> bool:
        """Up to the next thing that the operator did, and do it; False when that is farther than was asked for."""
        if self._comparison.done:
            self.over = True
        elif self._left and self._stands(self._left[0]):
            action = self._left.pop(0)
            noted = self.timeline.note(action.verb, action.action())
            if not self._comparison.repeat(action) and noted:
                self.timeline.note_refused()
            return True
        elif not self._left:
            self._on(until_us, max_events)
        else:
            return self._towards(self._left[0], until_us, max_events)
        return False

    def _stands(self, action: RecordedAction) -> bool:
        wanted = {"at_us": action.at_us, "executed": action.executed, "steps": action.steps}
        return self._session.position() == wanted

    def _towards(self, action: RecordedAction, until_us: int, max_events: int) -> bool:
        """Go as far as asked for, but not past an action; whether it stands there now, with something left to do."""
        cluster = self._session.cluster
        before = cluster.executed
        left = action.executed - before
        if left > 0:
            self._advance(min(until_us, action.at_us), min(max_events or left, left))
        elif cluster.now_us <= until_us:
            self._advance(min(until_us, action.at_us), 0)
        if self._comparison.done or (self._at_the_last and not self._stands(action)):
            self.over = True
            return False
        past = cluster.now_us >= action.at_us and cluster.executed >= action.executed
        if not self._stands(action) and (past or self._session.phase == "ended"):
            self._comparison.stand(action)  # it says what is wrong
        moved = cluster.executed - before
        return self._stands(action) and (not max_events or moved < max_events)

    def _on(self, until_us: int, max_events: int) -> None:
        """After the last action: to the end of the recording."""
        running = self._advance(until_us, max_events)
        if not running and not self._comparison.done:
            self._comparison.to_the_end()
            self.over = True
        elif self._comparison.done or self._at_the_last:
            self.over = True

    @property
    def _at_the_last(self) -> bool:
        """Whether a recording that breaks off has come to the time of its last event."""
        return self.recorded.cut_short and self.cluster.now_us >= self.recorded.last_us

    def _advance(self, until_us: int, max_events: int) -> bool:
        target = min(until_us, self.recorded.last_us) if self.recorded.cut_short else until_us
        running = self.timeline.advance(target, max_events)
        self._comparison.compare(self._session.drain())
        return running


# A session as it is viewed: now, or at a past time.
#
# Looking back is looking only. The session stands still meanwhile, and nothing of it or of its recording changes;
# what is shown of the past is a twin (:mod:`playbooks.timetravel.timeline`), which runs on through what happened
# until it has come to the present. Who wants to act there, or in a recording, begins a branch
# (:mod:`playbooks.timetravel.branches`).


_FOREVER: Final = 1 << 62


class LookingBack:
    """The session's surface for a screen, at the instant that is looked at: the present, to begin with."""

    def __init__(self, session: Session | Reopened) -> None:
        """What a live ``session`` did before cannot be looked at."""
        self.recorded = session.recorded if isinstance(session, Reopened) else None
        """The recording that is run again; None for a live session."""
        self.timeline = session.timeline if isinstance(session, Reopened) else Timeline(session)
        self._present: Timeline | Reopened = session if isinstance(session, Reopened) else self.timeline
        self._past: Session | None = None

    @property
    def in_past(self) -> bool:
        """Whether an instant before the present is looked at."""
        return self._past is not None

    @property
    def present_us(self) -> int:
        """How far the session has come, whatever is looked at."""
        return self._present.cluster.now_us

    @property
    def cluster(self) -> Cluster:
        """The model, then."""
        return (self._past or self._present).cluster

    @property
    def board(self) -> FaultBoard:
        """Active faults, then."""
        return (self._past or self._present).board

    @property
    def instant(self) -> Session:
        """The session as it stands at the instant that is looked at: to be read, and to be left as it is."""
        return self._past or self.timeline.session

    @property
    def stays_as_it_is(self) -> bool:
        """Whether nothing can be done here but begin a branch: in the past, and in a recording."""
        return self.in_past or self.recorded is not None

    def check_branch(self) -> None:
        """Whether a branch can begin here. Raises :class:`FaultError` with the reason where none can."""
        if isinstance(self._present, Reopened):
            self._present.check_branch(self.instant)

    @property
    def client_books(self) -> ClientBooks:
        """What the clients had seen by then."""
        return (self._past or self._present).client_books

    def so_far(self) -> SoFar:
        """What it had come to by then."""
        return so_far(self.instant)

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Run on; in the past through what happened, up to the present and no further.

        Returns whether there is more to run.
        """
        if self._past is None:
            return self._present.advance(until_us, max_events)
        if not self.timeline.go_on(until_us, max_events):
            self._past = None
        return True

    def act(self, action: Action) -> str:
        """Do what an operator asks, now. Raises :class:`FaultError`, always so in the past and in a recording."""
        if self._past is not None and self.recorded is None:
            raise FaultError("this is the past, which stays as it was: begin a branch to act there", code="past")
        return self._present.act(action)

    def take_over(self) -> str:
        """Drop what is left of the playbook's steps, now. Raises :class:`FaultError` as :meth:`act` does."""
        if self.recorded is not None:
            raise FaultError(
                "this is a recording, whose steps went as they went: begin a branch to take over there",
                code="recording",
            )
        if self._past is not None:
            raise FaultError(
                "this is the past, where the steps went as they went: take over in the present", code="past"
            )
        return self.timeline.take_over()

    def do_again(self, deed: TimelineAction) -> bool:
        """Do what an operator did elsewhere, now; whether it was done, and not refused."""
        try:
            if deed.verb == SETTLE:
                self.timeline.settle()
            elif deed.verb == TAKE_OVER:
                self.take_over()
            else:
                self.act(deed.action)
        except FaultError:
            return False
        return True

    def drain(self) -> list[Event]:
        """Trace events since the last call, in order; after a jump those that follow it."""
        return (self._past or self._present).drain()

    # -- jumps ------------------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """Look at the session as it was at a virtual time: the earliest that there is, or the present at most."""
        if at_us >= self.present_us:
            self.to_present()
        else:
            self._past = self.timeline.seek_time(max(at_us, self.timeline.first_us))

    def to_present(self) -> None:
        """Look at it as it is."""
        self._past = None

    def one_event_back(self) -> bool:
        """Take one event back; False at the beginning, where there is none."""
        executed, first = self.cluster.executed, self.timeline.kept[0]
        if executed > first:
            self._past = self.timeline.seek_event(executed - 1)
        elif self.cluster.now_us > self.timeline.first_us:
            self.to_time(self.timeline.first_us)
        else:
            return False
        return True

    def one_event_on(self) -> None:
        """In the past: go on to right after the next event, or to the present where none is left."""
        self.advance(_FOREVER, 1)
