"""Report mode: interim report of the session, and how to get the full report later."""

from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from playbooks.engine.session_runner import PreliminaryResult
from tui.keybindings.scopes import bindings_of
from tui.screens.base import ModeScreen, leader_of
from tui.session.background_tasks import recording_of
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import clipboard_text, report_page, side_panes
from tui.widgets.panes import Pane, SidePane

AGAIN_S = 1.0
"""Minimum seconds between two updates while time is running: faster changes are unreadable."""
KEYS_WORDS = (
    f"{{report_up}} {{report_down}} scroll {glyphs.NOTHING} {{report_left}} {{report_right}} finding {glyphs.NOTHING}"
    f" {{report_open}} autopsy {glyphs.NOTHING} {{report_export}} export"
)
PATIENCE = 15
"""Updates take at most one part in this many of the time."""


class ReportScreen(ModeScreen):
    """Report mode: one page that is updated as time passes."""

    MODE = "report"
    SCOPE = "report"
    HINTS = ("{pause} pause", "{help} help", "esc cluster", "{fault} fault", "{report_export} export", "{undo} undo")
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("report")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self._table = SidePane(appearance, "report-page")
        self._pane = Pane(self._table, appearance, title="Report", id="report-pane")
        self._first = 0
        self.marked = 0
        """Number of the finding under the cursor; 0: none."""
        self._result: PreliminaryResult | None = None
        self._laid: tuple[tuple[int, int, int], report_page.ReportPage] | None = None
        self._looks = 0
        """Number of updates."""
        self._due_s = 0.0

    def body(self) -> list[Widget]:
        """Return the page."""
        return [self._pane]

    def show(self) -> None:
        """Show the page, updated at most every second or so."""
        so_far = self.so_far()
        width, height = self._table.size
        self.marked = min(self.marked, len(so_far.result.findings))
        page = self._page(so_far, width)
        self._first = min(self._first, side_panes.last_window(page.rows, height))
        self._table.show(side_panes.window(page.rows, self._first, height))
        self._pane.caption(report_page.summary(so_far), self.keyed(KEYS_WORDS))

    def _page(self, so_far: PreliminaryResult, width: int) -> report_page.ReportPage:
        """Return the page, built again only when something has changed."""
        state = (self._looks, width, self.marked)
        if self._laid is None or self._laid[0] != state:
            self._laid = (state, report_page.build(so_far, self._session(), width, self.marked))
        return self._laid[1]

    def so_far(self) -> PreliminaryResult:
        """Return the state of the session: current if paused, else at most a moment old."""
        session_controller = self.session_controller
        now_s, now_us = session_controller.clock.now(), session_controller.view.now_us
        cached = self._result
        if cached is not None:
            moved = cached.result.virtual_us != now_us
            stands = session_controller.paused or session_controller.ended or now_us < cached.result.virtual_us
            if not moved or (not stands and now_s < self._due_s):
                return cached
        self._result = session_controller.session.so_far()
        self._looks += 1
        took_s = session_controller.clock.now() - now_s
        self._due_s = now_s + max(AGAIN_S, took_s * PATIENCE)
        return self._result

    def _session(self) -> str:
        path = recording_of(self.session_controller.session.recorded, getattr(self.app, "recorder", None))
        return "" if path is None else str(path)

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Scroll the page."""
        self.action_move(lines)

    def under_cursor(self) -> tuple[str, str]:
        """Return the sentence of the marked finding, or the whole page."""
        so_far = self.so_far()
        if self.marked:
            return "the finding", so_far.result.findings[self.marked - 1].sentence
        return "the report so far", clipboard_text.plain_text(
            report_page.build(so_far, self._session(), clipboard_text.CELLS, 0).rows
        )

    def partition_name(self) -> str:
        """Return the partition of the marked finding if it still exists, else the one under the main cursor."""
        marked = self.so_far().result.findings[self.marked - 1].blocks if self.marked else ()
        here = [each.name for each in self.session_controller.view.partitions]
        return next((each.partition for each in marked if each.partition in here), super().partition_name())

    def chosen(self) -> int:
        """Return the leader of the marked finding's partition."""
        if not self.marked:
            return super().chosen()
        return leader_of(self.session_controller.view, self.partition_name(), super().chosen())

    def action_move(self, lines: int) -> None:
        """Scroll the page."""
        self._first = max(0, self._first + lines)
        self.present()

    def action_choose(self, findings: int) -> None:
        """Mark another finding, and scroll to it."""
        so_far = self.so_far()
        total = len(so_far.result.findings)
        if not total:
            self.notify("no findings so far")
            return
        self.marked = (self.marked - 1 + findings) % total + 1 if self.marked else (1 if findings > 0 else total)
        width, height = self._table.size
        place = self._page(so_far, width).findings[self.marked - 1]
        if not self._first <= place < self._first + height - 4:
            self._first = max(0, place - height // 3)
        self.present()

    def action_open(self) -> None:
        """Open the autopsy of the marked finding, or of the first one."""
        found = len(self.so_far().result.findings)
        if not found:
            self.notify("no findings so far")
        else:
            self.main.open_autopsy(self.marked or 1)
