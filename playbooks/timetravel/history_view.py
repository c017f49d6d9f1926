"""A recorded session that is run again while somebody looks: as it went, compared with its recording, never changed."""

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from faults.injector import FaultBoard
from playbooks.engine.replay import ReplayMismatchError, begin
from playbooks.engine.session import Session
from playbooks.errors import counted
from playbooks.recording.reader import Recorded, RecordedAction
from playbooks.results.client_books import ClientBooks
from playbooks.session_format.session_errors import SessionError
from playbooks.timetravel.timeline import Timeline
from playbooks.units import duration_text


class Reopened:
    """The rerun, with the surface that a screen needs of a session. It is over where the recording ends."""

    def __init__(self, recorded: Recorded) -> None:
        """Stand at its beginning.

        Raises:
            SessionError: it holds nothing to look at, or time stands still in it.
            PlaybookError: the session's playbook is not one that this version runs.
        """
        self._comparison = begin(recorded)
        session = self._comparison.session
        if not isinstance(session, Session):
            raise SessionError(f"{recorded.path} was stepped by hand: time stands still in it; use: floodmark replay")
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
                " session: branches leave it before that"
            )
        if instant.phase != "steps":
            what = "settles" if instant.phase == "settling" else "has ended, and settled"
            since = f"{what} since {duration_text(instant.settles_us)}" if instant.settles_us >= 0 else "has ended"
            raise FaultError(f"it {since}: branches leave it before that")

    def drain(self) -> list[Event]:
        """Trace events since the last call, in order."""
        fresh = self._fresh.copy()
        self._fresh.clear()
        return fresh

    def act(self, action: Action) -> str:
        """Refuse. Raises :class:`FaultError`."""
        raise FaultError(f"this is a recording: {action.name} cannot be done in it any more")

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
