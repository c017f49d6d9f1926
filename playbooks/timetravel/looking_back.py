"""A session as somebody looks at it: as it is, or as it was at an instant that has passed.

Looking back is looking only. The session stands still meanwhile, and nothing of it or of its recording changes; what
is shown of the past is a twin (:mod:`playbooks.timetravel.timeline`), which runs on through what happened until it has come to
the present. Who wants to act there, or in a recording, begins a branch (:mod:`playbooks.timetravel.branches`).
"""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from faults.injector import FaultBoard
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.engine.so_far import SoFar, so_far
from playbooks.results.client_books import ClientBooks
from playbooks.timetravel.history_view import Reopened
from playbooks.timetravel.timeline import Deed, Timeline

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
            raise FaultError("this is the past, which stays as it was: begin a branch to act there")
        return self._present.act(action)

    def take_over(self) -> str:
        """Drop what is left of the playbook's steps, now. Raises :class:`FaultError` as :meth:`act` does."""
        if self.recorded is not None:
            raise FaultError("this is a recording, whose steps went as they went: begin a branch to take over there")
        if self._past is not None:
            raise FaultError("this is the past, where the steps went as they went: take over in the present")
        return self.timeline.take_over()

    def do_again(self, deed: Deed) -> bool:
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
