"""View of a session now or at a past time, and reopened recordings that are replayed to be viewed."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event
from cluster_model.util.quantities import counted
from faults.declarations import Action, FaultError
from faults.injector import FaultInjector
from playbooks.engine.replay import ReplayMismatchError, begin
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.engine.session_runner import PreliminaryResult, so_far
from playbooks.recording.reader import RecordedAction, RecordedSession
from playbooks.results.client_stats import ClientStats
from playbooks.session_format.session_files import SessionError
from playbooks.timetravel.timeline import Timeline, TimelineAction
from playbooks.units import duration_text


class ReopenedSession:
    """Replay of a recording with the interface of a session for the TUI. It ends where the recording ends."""

    def __init__(self, recorded: RecordedSession) -> None:
        """Start the replay.

        Raises:
            SessionError: there is nothing to view, or the session is manual.
            PlaybookError: the session's playbook is not valid in this version.
        """
        self._comparison = begin(recorded)
        session = self._comparison.session
        if not isinstance(session, Session):
            raise SessionError(
                f"{recorded.path} has manual steps, so no time to view; use: floodmark replay",
                code="stepped_by_hand",
            )
        self.recorded = recorded
        self.over = False
        """Whether the recording has ended, or the replay differs."""
        self.difference = ""
        """Message about the first difference; empty as long as there is none."""
        self.timeline = Timeline(session)
        """Timeline of the replay so far."""
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
    def board(self) -> FaultInjector:
        """The fault injector."""
        return self._session.board

    @property
    def client_stats(self) -> ClientStats:
        """Statistics of the clients so far."""
        return self._session.client_stats

    def check_branch(self, instant: Session) -> None:
        """Check whether a branch can start at a time that the replay has reached.

        Raises:
            FaultError: it is not possible; the message says why.
        """
        sure = self._comparison.compared
        if self.difference and instant.cluster.trace.count > sure:
            raise FaultError(
                f"the replay differs from the recording after the first {counted(sure, 'event')}, so it is another"
                " session: start branches before that",
                code="differs_from_recording",
            )
        if instant.phase != "steps":
            what = "settles" if instant.phase == "settling" else "has ended, and settled"
            since = f"{what} since {duration_text(instant.settles_us)}" if instant.settles_us >= 0 else "has ended"
            raise FaultError(f"the session {since}: start branches before that", code="steps_over")

    def drain(self) -> list[Event]:
        """Return the trace events since the last call, in order."""
        fresh = self._fresh.copy()
        self._fresh.clear()
        return fresh

    def act(self, action: Action) -> str:
        """Reject actions. Raises :class:`FaultError`."""
        raise FaultError(f"this is a recording: {action.name} is not possible; start a branch", code="recording")

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Continue, with the operator's actions, up to a virtual time or for ``max_events`` kernel events.

        Return whether the recording continues. A replay that differs from it stops there.
        """
        try:
            while not self.over and self._go(until_us, max_events):
                pass
        except ReplayMismatchError as error:
            self.difference = str(error)
            self.over = True
        return not self.over

    def _go(self, until_us: int, max_events: int) -> bool:
        """Run to the operator's next action, and repeat it; return False if it is later than requested."""
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
        """Run as far as requested, but not past an action; return whether its position is reached with budget left."""
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
            self._comparison.run_to_action(action)  # it raises the error
        moved = cluster.executed - before
        return self._stands(action) and (not max_events or moved < max_events)

    def _on(self, until_us: int, max_events: int) -> None:
        """Run to the end of the recording after the last action."""
        running = self._advance(until_us, max_events)
        if not running and not self._comparison.done:
            self._comparison.run_to_end()
            self.over = True
        elif self._comparison.done or self._at_the_last:
            self.over = True

    @property
    def _at_the_last(self) -> bool:
        """Return whether an incomplete recording has reached the time of its last event."""
        return self.recorded.cut_short and self.cluster.now_us >= self.recorded.last_us

    def _advance(self, until_us: int, max_events: int) -> bool:
        target = min(until_us, self.recorded.last_us) if self.recorded.cut_short else until_us
        running = self.timeline.advance(target, max_events)
        self._comparison.compare(self._session.drain())
        return running


# View of a session now or at a past time.
#
# The past is read-only. The session is paused meanwhile, and neither it nor its recording changes; the past is shown by
# a twin (:mod:`playbooks.timetravel.timeline`), which can be run up to the present. Actions in the past, or in a
# recording, start a branch (:mod:`playbooks.timetravel.branches`).


_FOREVER: Final = 1 << 62


class HistoryView:
    """Interface of a session for the TUI, at the viewed time: initially the present."""

    def __init__(self, session: Session | ReopenedSession) -> None:
        """Earlier events of a live ``session`` cannot be viewed."""
        self.recorded = session.recorded if isinstance(session, ReopenedSession) else None
        """The recording that is replayed; None for a live session."""
        self.timeline = session.timeline if isinstance(session, ReopenedSession) else Timeline(session)
        self._present: Timeline | ReopenedSession = session if isinstance(session, ReopenedSession) else self.timeline
        self._past: Session | None = None

    @property
    def in_past(self) -> bool:
        """Whether a time before the present is viewed."""
        return self._past is not None

    @property
    def present_us(self) -> int:
        """Present time of the session, also while the past is viewed."""
        return self._present.cluster.now_us

    @property
    def cluster(self) -> Cluster:
        """The model at the viewed time."""
        return (self._past or self._present).cluster

    @property
    def board(self) -> FaultInjector:
        """The fault injector at the viewed time."""
        return (self._past or self._present).board

    @property
    def viewed_session(self) -> Session:
        """The session at the viewed time: read-only."""
        return self._past or self.timeline.session

    @property
    def read_only(self) -> bool:
        """Whether only branches are possible here: in the past, and in a recording."""
        return self.in_past or self.recorded is not None

    def check_branch(self) -> None:
        """Check whether a branch can start here. Raises :class:`FaultError` with the reason if not."""
        if isinstance(self._present, ReopenedSession):
            self._present.check_branch(self.viewed_session)

    @property
    def client_stats(self) -> ClientStats:
        """Statistics of the clients up to the viewed time."""
        return (self._past or self._present).client_stats

    def so_far(self) -> PreliminaryResult:
        """Result up to the viewed time."""
        return so_far(self.viewed_session)

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Continue; in the past up to the present.

        Return whether there is more to run.
        """
        if self._past is None:
            return self._present.advance(until_us, max_events)
        if not self.timeline.continue_past(until_us, max_events):
            self._past = None
        return True

    def act(self, action: Action) -> str:
        """Execute an operator's action now. Raises :class:`FaultError`, always in the past and in a recording."""
        if self._past is not None and self.recorded is None:
            raise FaultError("this is the past, which is read-only: start a branch to act there", code="past")
        return self._present.act(action)

    def take_over(self) -> str:
        """Cancel the remaining steps now. Raises :class:`FaultError` as :meth:`act` does."""
        if self.recorded is not None:
            raise FaultError(
                "this is a recording, which is read-only: start a branch to take over there",
                code="recording",
            )
        if self._past is not None:
            raise FaultError("this is the past, which is read-only: take over in the present", code="past")
        return self.timeline.take_over()

    def repeat(self, fault_record: TimelineAction) -> bool:
        """Repeat an operator's action now; return whether it was not refused."""
        try:
            if fault_record.verb == SETTLE:
                self.timeline.settle()
            elif fault_record.verb == TAKE_OVER:
                self.take_over()
            else:
                self.act(fault_record.action)
        except FaultError:
            return False
        return True

    def drain(self) -> list[Event]:
        """Return the trace events since the last call, in order; after a jump those that follow it."""
        return (self._past or self._present).drain()

    # -- jumps ------------------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """View the session at a virtual time, limited to the earliest and the present one."""
        if at_us >= self.present_us:
            self.to_present()
        else:
            self._past = self.timeline.seek_time(max(at_us, self.timeline.first_us))

    def to_present(self) -> None:
        """View the present."""
        self._past = None

    def one_event_back(self) -> bool:
        """Go one event back; return False at the beginning."""
        executed, first = self.cluster.executed, self.timeline.kept[0]
        if executed > first:
            self._past = self.timeline.seek_event(executed - 1)
        elif self.cluster.now_us > self.timeline.first_us:
            self.to_time(self.timeline.first_us)
        else:
            return False
        return True

    def one_event_on(self) -> None:
        """In the past, go to right after the next event, or to the present if there is none."""
        self.advance(_FOREVER, 1)
