"""Viewer of an imported session: partitions, logs as copied, events, and the page of a finding. It is read-only."""

import os
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import BindingType

from cluster_model.observation import ClusterView, LogView
from cluster_model.util.quantities import clock
from playbooks.errors import BAD_INPUT
from playbooks.recording.reader import RecordedSession
from playbooks.session_format.session_files import LayoutError
from tui.keybindings.keymap import with_keys
from tui.keybindings.scopes import Wanted, bindings_of, remapped, scope_of
from tui.output.console import print_error
from tui.screen_choice import ScreenChoice
from tui.session.destination import SESSION, Destination, ScreenExit
from tui.startup import painted
from tui.terminal import glyphs
from tui.terminal.terminal import CachedStylesheet
from tui.terminal.theme import Appearance, textual_name, textual_themes
from tui.viewmodel.row import Row, fitted
from tui.viewmodel.timeline import imported_session
from tui.viewmodel.timeline.imported_session import EventList, ImportedSession
from tui.widgets.line_widget import LineGrid, Rows, row
from tui.widgets.log import Lanes
from tui.widgets.matrix import Matrix
from tui.widgets.panes import Pane

LEAST_HEIGHT: Final = 18
BARS: Final = 2
"""Lines of the title and of the key hints."""
KEYS: Final = (
    f"{{imported_left}} {{imported_right}} event {glyphs.NOTHING} {{imported_up}} {{imported_down}} partition "
    f"{glyphs.NOTHING} {{imported_own}} its events {glyphs.NOTHING} {{imported_fork}} fork {glyphs.NOTHING} "
    f"{{imported_finding}} finding {glyphs.NOTHING} {{imported_quit}} quit"
)
PAGE_KEYS: Final = (
    f"{{imported_finding}} next finding {glyphs.NOTHING} esc close {glyphs.NOTHING} {{imported_quit}} quit"
)


def open_imported(recorded: RecordedSession, chosen: ScreenChoice) -> ScreenExit:
    """Open an imported session; exit code 0: closed; 2: a file of it cannot be read."""
    try:
        session = ImportedSession.of(recorded)
    except LayoutError as error:
        print_error(str(error))
        return ScreenExit(BAD_INPUT)
    appearance = Appearance(colour="NO_COLOR" not in os.environ, glyphs=chosen.glyphs, theme=chosen.theme)
    app = ImportedApp(session, appearance, chosen.settings.keys)
    app.run()
    return ScreenExit(app.return_code or 0, None, Destination(SESSION, str(recorded.path)))


class ImportedApp(App[None]):
    """Textual app over an imported session at one of its events."""

    CSS_PATH = "tui.tcss"
    TITLE = "floodmark"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("imported")

    def __init__(self, session: ImportedSession, appearance: Appearance, keys: Wanted | None = None) -> None:
        """``keys`` are the user's own."""
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._keys = remapped(keys or {}, scope_of("imported").keys)
        self.set_keymap({key.id: key.keys for key in self._keys if keys})
        self.session = session
        self.appearance = appearance
        self.events = EventList.of(session)
        self.at = max(0, len(session.events) - 1)
        """Number of the event after which the cluster is shown."""
        self._view: tuple[int, ClusterView] | None = None
        """The last view, and the event that it is after."""
        self.finding = 0
        """Number of the finding whose page is open, from 1; 0: none."""
        self.matrix = Matrix(appearance)
        self.lanes = Lanes(appearance)
        self.listed = Rows(appearance, "imported-events")
        self._title: LineGrid[Row] = LineGrid(row, appearance, id="imported-title")
        self._hints: LineGrid[Row] = LineGrid(row, appearance, id="imported-keys")
        for each in textual_themes():
            self.register_theme(each)
        self.theme = textual_name(appearance.theme)
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        self.set_class(appearance.glyphs == "ascii", "-ascii")

    def compose(self) -> ComposeResult:
        """Yield title, panes and key hints."""
        appearance = self.appearance
        yield self._title
        yield Pane(self.matrix, appearance, title="Partitions", id="imported-matrix")
        yield Pane(self.lanes, appearance, title="Log", id="imported-lanes")
        yield Pane(self.listed, appearance, title="Events", id="imported-list")
        yield self._hints

    def on_mount(self) -> None:
        """Present once the size is known."""
        self.call_after_refresh(self.share_out)

    def on_ready(self) -> None:
        """Collect garbage again after the first paint."""
        self.call_after_refresh(painted)

    def on_resize(self) -> None:
        """Place the panes for the new size."""
        self.call_after_refresh(self.share_out)

    @property
    def view(self) -> ClusterView:
        """The cluster right after the marked event."""
        if self._view is None or self._view[0] != self.at:
            self._view = (self.at, self.session.view(self.at))
        return self._view[1]

    def share_out(self) -> None:
        """Place the panes: partitions and log share the upper part, events or a finding have the rest."""
        width, height = self.size.width, self.size.height
        view = self.view
        replicas = max((len(each.replicas) for each in view.partitions), default=1)
        lanes = replicas + 4 if height >= LEAST_HEIGHT else 0
        matrix = min(len(view.partitions) + 3, max(4, (height - BARS - lanes) // 2))
        remaining_height = height - BARS - matrix - lanes
        page = self.finding > 0
        sizes = (
            ("imported-matrix", 0 if page else matrix),
            ("imported-lanes", 0 if page else lanes),
            ("imported-list", height - BARS if page else remaining_height),
        )
        y = 1
        for name, lines in sizes:
            pane = self.query_one(f"#{name}", Pane)
            pane.display = lines > 2
            pane.styles.offset = (0, y)
            pane.styles.width, pane.styles.height = width, max(lines, 1)
            y += lines
        self._hints.styles.offset = (0, height - 1)
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the cluster right after the marked event."""
        if not self.size.width or not self.listed.is_attached:
            return
        view, width = self.view, self.size.width
        self._title.show((self._title_row(view, width),))
        words = with_keys(PAGE_KEYS if self.finding else KEYS, self._keys)
        self._hints.show((Row(((fitted(words, width - 2), "quiet"),)),))
        if self.finding:
            self._present_finding()
            return
        self.matrix.present(view)
        partitions = self.query_one("#imported-matrix", Pane)
        partitions.caption(f"Partitions {glyphs.TIMES} brokers at {clock(view.now_us)}", self.matrix.position)
        if view.partitions and view.brokers:
            number, broker = self.matrix.cursor
            partition = view.partitions[number]
            self.lanes.present(view, [partition], view.brokers[broker].id, self.log_view)
        else:
            self.lanes.show(())
            self.lanes.title = ""
        self.query_one("#imported-lanes", Pane).caption(self.lanes.title or "Log", "logs as they were copied")
        height = self.listed.size.height
        self.listed.show(self.events.rows(self.at, height, width))
        place = self.events.nearest(self.at) + 1
        of_one = f" of {self.events.only}" if self.events.only else ""
        self.query_one("#imported-list", Pane).caption(f"Events{of_one}", f"{place} of {len(self.events.places)}")

    def _title_row(self, view: ClusterView, width: int) -> Row:
        start = self.session.start
        lost = view.ledger.missing
        state = f"{lost} records lost" if lost else "nothing known lost so far"
        left = f" {start.playbook} {glyphs.NOTHING} imported {glyphs.NOTHING} {clock(view.now_us)}"
        end = (f"{state} {glyphs.NOTHING} {view.controller} ", "lost" if lost else "calm")
        return Row(((fitted(left, max(0, width - len(end[0]) - 2)), "strong"),), end)

    def log_view(self, name: str, start: int, end: int) -> LogView:
        """Return the copied logs of a partition side by side."""
        partition = next(each for each in self.view.partitions if each.name == name)
        return self.session.log_view(partition, start, end)

    def _present_finding(self) -> None:
        findings = self.session.findings
        found = imported_session.finding_rows(
            findings[self.finding - 1], self.finding, len(findings), self.listed.size.width
        )
        self.listed.show(found[: self.listed.size.height])
        self.query_one("#imported-list", Pane).caption("Autopsy", f"{self.finding} of {len(findings)}")

    # -- keys ---------------------------------------------------------------------------------------------------------

    def action_event(self, steps: int) -> None:
        """Mark another event of the list."""
        self.at = self.events.step(self.at, steps)
        self.present()

    def action_first(self) -> None:
        """Mark the first event."""
        self.action_event(-len(self.session.events))

    def action_last(self) -> None:
        """Mark the last event."""
        self.at = max(0, len(self.session.events) - 1)
        self.present()

    def action_partition(self, steps: int) -> None:
        """Move the cursor to another partition."""
        number, broker = self.matrix.cursor
        last = max(0, len(self.view.partitions) - 1)
        self.matrix.cursor = (max(0, min(number + steps, last)), broker)
        self.lanes.follow()
        if self.events.only:
            self.events = EventList.of(self.session, self._partition())
        self.present()

    def _partition(self) -> str:
        partitions = self.view.partitions
        return partitions[self.matrix.cursor[0]].name if partitions else ""

    def action_own(self) -> None:
        """List only the events of the partition under the cursor, or all again."""
        self.events = EventList.of(self.session, "" if self.events.only else self._partition())
        self.present()

    def action_fork(self) -> None:
        """Scroll the log to the first offset at which replicas differ."""
        partitions = self.view.partitions
        if partitions and self.lanes.to_fork(partitions[self.matrix.cursor[0]], self.log_view) < 0:
            self.notify("the logs of this partition do not differ", timeout=3)
        self.present()

    def action_finding(self) -> None:
        """Open the page of the next finding, and mark the event at which its records went missing."""
        findings = self.session.findings
        if not findings:
            self.notify("no committed or acknowledged record is known to be missing", timeout=3)
            return
        self.finding = self.finding % len(findings) + 1
        at_us = max((int(link["at_us"]) for link in findings[self.finding - 1]["chain"]), default=0)
        self.at = max((at for at in self.session.shown if self.session.events[at].values()[0] <= at_us), default=0)
        self.share_out()

    def action_leave(self) -> None:
        """Close the page of the finding, or the session."""
        if not self.finding:
            self.exit()
            return
        self.finding = 0
        self.share_out()
