"""Headless run of one session to its end, with progress."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console

from cluster_model.protocol.events import Event
from cluster_model.util.quantities import time_in_seconds
from playbooks.engine.manual_session import ManualSession, ShowResult
from playbooks.engine.session import Session
from playbooks.engine.session_runner import stage, start_session
from playbooks.engine.worker_pool import SLICE_US
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from tui.output.console import ProgressLine, stderr_console
from tui.output.result import print_events, print_heading, print_shown, print_trace
from tui.session.playbook_choice import PlaybookChoice

if TYPE_CHECKING:
    from tui.cli.runs.narration import LivePrinter


@dataclass(slots=True)
class SessionDriver:
    """Runs sessions to a virtual time and prints their events, tables and progress."""

    console: Console
    until_us: int = -1
    events: Console | None = None
    """Console for a line per notable event; None: events are not printed."""
    live_printer: "LivePrinter | None" = None
    """Prints the session live at a pace; None: it runs as fast as possible."""
    _rows: int = field(default=0, init=False)
    """Rows of a manual session's step table that have been printed."""

    def run(self, chosen: PlaybookChoice, recorder: Recorder | None) -> SessionResult:
        """Run one playbook and return its result.

        Raises:
            ModelError: its cluster cannot be built.
            RecordingError: the session cannot be written.
        """
        playbook = chosen.playbook
        session = start_session(playbook, seed=chosen.seed, recorder=recorder, until_us=self.until_us)
        print_heading(self.console, playbook, chosen.seed, session.cluster.profile.name)
        if self.live_printer is not None and isinstance(session, Session):
            return self.live_printer.run(session)
        with ProgressLine(stderr_console()) as progress_line:
            if isinstance(session, ManualSession):
                session.on_show = self._shower(progress_line, session)
            self._rows = 0
            while session.advance(session.cluster.now_us + SLICE_US, int(isinstance(session, ManualSession))):
                self._print(session.drain(), progress_line, session)
                progress_line.update(lambda: progress(session))
            progress_line.update(lambda: f"{playbook.name}: sealing the session")
            if isinstance(session, ManualSession):
                self._tell_rows(progress_line, session)
            result = session.finish()
            self._print(session.drain(), progress_line, session)
        return result

    def _tell_rows(self, progress_line: ProgressLine, session: ManualSession) -> None:
        """Print the rows of the step table that are not printed yet."""
        progress_line.hide()
        self._rows = print_trace(self.console, session.table, self._rows)

    def _shower(self, progress_line: ProgressLine, session: ManualSession) -> Callable[[ShowResult], None]:
        def show(shown: ShowResult) -> None:
            self._tell_rows(progress_line, session)
            print_shown(self.console, shown)

        return show

    def _print(self, events: list[Event], progress_line: ProgressLine, session: Session | ManualSession) -> None:
        if self.events is not None and events:
            progress_line.hide()
            print_events(self.events, events, everything=isinstance(session, ManualSession))


def progress(session: Session | ManualSession) -> str:
    """Return a session's progress in one line: playbook, virtual time, stage."""
    return f"{session.playbook.name}: {time_in_seconds(session.cluster.now_us)}, {stage(session)}"
