"""Playbooks mode: library, recorded sessions, progress of steps and state of expectations."""

from pathlib import Path
from typing import Any, ClassVar, Final

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from playbooks.errors import PlaybookError
from playbooks.library.bundled import path_of
from playbooks.library.index import library_entries
from playbooks.model import Playbook
from playbooks.parser.loader import load
from playbooks.session_format.session_files import sessions_root
from tui.keybindings.scopes import bindings_of
from tui.screens.base import ModeScreen
from tui.session.destination import Destination
from tui.session.destination_check import DestinationError, playbook_destination, session_destination, shown
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import playbook_pages
from tui.viewmodel.playbook_pages import PlaybookListEntry
from tui.viewmodel.row import LabelPosition, Row
from tui.widgets.line_widget import Rows
from tui.widgets.panes import Pane

LISTS: Final = ("Playbooks", "Sessions")
FILTER: Final = "filter: words of a name, title, theme or tag; ! before a word excludes; enter keeps it, esc drops it"
OPEN: Final = "playbook file, bundled name or session directory; enter opens it, esc cancels"
UNREADABLE: Final = "cannot be read: "


class PlaybooksScreen(ModeScreen):
    """Playbooks mode: lists on the left, details of the selected entry on the right."""

    MODE = "playbooks"
    SCOPE = "playbooks"
    CHANGES = ModeScreen.CHANGES | {"open"}
    HINTS = (
        "{playbooks_start} start",
        "{playbooks_filter} filter",
        "{playbooks_other} sessions",
        "{help} help",
        "{take_over} take over",
        "{fault} fault",
        "{playbooks_open} open",
        "{playbooks_back} back",
        "{playbooks_text_down} {playbooks_text_up} text",
        "{export} save",
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("playbooks")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self._list, self._about = Rows(appearance, "plays-list"), Rows(appearance, "plays-about")
        self._text, self._expected = Rows(appearance, "plays-text"), Rows(appearance, "plays-expected")
        self._message_rows = Rows(appearance, "plays-said")
        self._prompt = Input(id="plays-prompt")
        self._list_pane = Pane(self._list, appearance, title=LISTS[0], id="plays-list-pane")
        self._about_pane = Pane(self._about, appearance, title="", id="plays-about-pane")
        self._text_pane = Pane(self._text, appearance, title="", id="plays-text-pane")
        self._expected_pane = Pane(self._expected, appearance, title="", id="plays-expected-pane")
        self._which = 0
        """Index of the list shown, in :data:`LISTS`."""
        self._words = ""
        self._asks = ""
        """Purpose of the prompt: ``filter``, ``open``, or empty."""
        self._chosen = [0, 0]
        self._first = self._left = 0
        self._down = -1
        """First line of the text shown, -1: follow the steps."""
        self._loaded: dict[str, Playbook | str] = {}
        self._own: tuple[Playbook, Playbook] | None = None
        self._shelf = library_entries()

    def body(self) -> list[Widget]:
        """Return the list, three panes beside it, and the prompt."""
        return [
            Horizontal(self._list_pane, Vertical(self._about_pane, self._text_pane, self._expected_pane)),
            self._message_rows,
            self._prompt,
        ]

    # -- entries ----------------------------------------------------------------------------------------------------

    @property
    def _root(self) -> Path:
        """Directory of recorded sessions."""
        return getattr(self.app, "sessions", None) or sessions_root()

    @property
    def _here(self) -> Path | None:
        """Path of the recording of this session."""
        recorded, recorder = self.session_controller.session.recorded, getattr(self.app, "recorder", None)
        found: Path | None = recorded.path if recorded is not None else recorder.path if recorder is not None else None
        return found

    def entries(self) -> tuple[PlaybookListEntry, ...]:
        """Return the lines of the current list."""
        if self._which:
            paths = playbook_pages.newest_first(self._root)
            return playbook_pages.entries(paths, self._root, self._here)
        return playbook_pages.playbooks(
            self._shelf, self.session_controller.session.viewed_session.playbook.name, self._words
        )

    def marked(self, entries: tuple[PlaybookListEntry, ...]) -> PlaybookListEntry | None:
        """Return the selected entry, None without any."""
        at = playbook_pages.next_selectable(entries, self._chosen[self._which], 0)
        self._chosen[self._which] = max(0, at)
        return entries[at] if at >= 0 else None

    def _playbook(self, name: str) -> Playbook | str:
        """Return a bundled playbook, or the running one; a message if it cannot be read."""
        if name == playbook_pages.RUNNING:
            own = self.session_controller.session.viewed_session.playbook
            if self._own is None or self._own[0] is not own:
                self._own = (own, shown(own))
            return self._own[1]
        if name not in self._loaded:
            try:
                self._loaded[name] = shown(load(path_of(name)))
            except (PlaybookError, OSError) as error:
                self._loaded[name] = UNREADABLE + " ".join(str(error).split())
        return self._loaded[name]

    # -- showing ----------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Show the list and the details."""
        width, height = self.size
        entries = self.entries()
        chosen = self.marked(entries)
        self._left = max(26, min(48, width // 3))
        self._list_pane.styles.width = self._left
        self._show_list(entries)
        about, text, title, below = self._details(chosen)
        self._about_pane.styles.height = 2 + min(len(about), max(2, height // 5))
        self._expected_pane.styles.height = 2 + min(len(below[1]), max(2, height // 5))
        self._about.show(about)
        self._text.show(text)
        self._text_pane.caption(title)
        self._expected.show(below[1])
        self._expected_pane.caption(below[0])

    def _show_list(self, entries: tuple[PlaybookListEntry, ...]) -> None:
        at, height, width = self._chosen[self._which], self._list.size.height, self._left - 2
        self._first, rows = playbook_pages.window(entries, at, self._first, max(1, height))
        if self._which and not entries[0].heading:
            numbered = enumerate(entries[self._first : self._first + height], self._first)
            rows = tuple(
                playbook_pages.row(each, playbook_pages.card(Path(each.key)), width, n == at) for n, each in numbered
            )
        self._list.show(rows)
        filtered = f" {glyphs.NOTHING} {self._words}" if self._words and not self._which else ""
        self._list_pane.caption(
            LISTS[self._which] + filtered, self.keyed(f"{{playbooks_other}}: {LISTS[1 - self._which].lower()}")
        )

    def _details(
        self, chosen: PlaybookListEntry | None
    ) -> tuple[tuple[Row, ...], tuple[Row, ...], str, tuple[str, tuple[Row, ...]]]:
        """Return lines about the selected entry, its text with a title, and its expectations with a title."""
        if chosen is None:
            return (Row((("nothing selected", "quiet"),)),), (), "", ("", ())
        if self._which:
            path = Path(chosen.key)
            text = playbook_pages.text_of(path)
            first = self._first_of(text, 0)
            self._about_pane.caption("Session")
            below = ("Expectations", playbook_pages.expected(path))
            return (
                playbook_pages.about_session(playbook_pages.card(path)),
                text[first:],
                "Operator actions and playbook",
                below,
            )
        playbook = self._playbook(chosen.key)
        self._about_pane.caption(chosen.text)
        if isinstance(playbook, str):
            return (Row(((playbook, "warning"),)),), (), "", ("", ())
        return self._of_playbook(playbook, runs=chosen.key == playbook_pages.RUNNING)

    def _of_playbook(
        self, playbook: Playbook, *, runs: bool
    ) -> tuple[tuple[Row, ...], tuple[Row, ...], str, tuple[str, tuple[Row, ...]]]:
        progress = self._progress() if runs else None
        text = playbook_pages.source(playbook, progress)
        first = self._first_of(text, playbook_pages.first_line(playbook, progress, self._text.size.height))
        room = max(2, self.size.height // 5)
        about = playbook_pages.about_playbook(playbook, progress, max(10, self.size.width - self._left - 4), room)
        if runs:
            session = self.session_controller.session.viewed_session
            stands = tuple(
                playbook_pages.expectation_status(watch, session.cluster.query, session.healed_us)
                for watch in session.watches
            )
        else:
            stands = tuple(playbook_pages.idle_expectation(each) for each in playbook.expectations)
        title = f"{Path(playbook.path).name} {glyphs.NOTHING} running" if runs else Path(playbook.path).name
        return about, text[first:], title, (playbook_pages.title(stands, runs=runs), playbook_pages.rows(stands))

    def _progress(self) -> playbook_pages.PlaybookProgress:
        session = self.session_controller.session.viewed_session
        step = session.next_step
        return playbook_pages.PlaybookProgress(
            session.steps_taken,
            -1 if step is None else step.index,
            session.due_us,
            session.cluster.now_us,
            session.phase,
        )

    def _first_of(self, text: tuple[Row, ...], follows: int) -> int:
        """Return the first line of the text to show."""
        if self._down < 0:
            return follows
        self._down = max(0, min(self._down, len(text) - self._text.size.height))
        return self._down

    def under_cursor(self) -> tuple[str, str]:
        """Return the name of the selected entry for the command line; for the running playbook its file."""
        entry = self.marked(self.entries())
        if entry is None or self.chosen_pane not in ("", "plays-list-pane"):
            return "", ""
        text = entry.key or self.session_controller.session.viewed_session.playbook.path
        return text, text

    def spots(self) -> list[LabelPosition]:
        """Return the lines of the list as jump targets."""
        left, top = self._list.region.offset
        shown = self.entries()[self._first : self._first + self._list.size.height]
        if self.maximised not in ("", "plays-list-pane"):
            return []
        return [
            LabelPosition(left, top + at, "line", str(self._first + at))
            for at, each in enumerate(shown)
            if not each.heading
        ]

    def go_to_spot(self, position: LabelPosition) -> None:
        """Select that line."""
        self._choose(int(position.key))

    def _choose(self, line: int) -> None:
        self._chosen[self._which] = line
        self._down = -1
        self.present()

    # -- moving -----------------------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Select another playbook or session."""
        self._chosen[self._which] = max(
            0, playbook_pages.next_selectable(self.entries(), self._chosen[self._which], lines)
        )
        self._down = -1
        self._say("")
        self.present()

    def wheeled(self, lines: int, over: Widget | None) -> None:
        """Move the selection over the list, else scroll the text."""
        if over is self._list:
            self.action_move(1 if lines > 0 else -1)
        else:
            self.action_text(lines)

    def action_text(self, lines: int) -> None:
        """Scroll the text."""
        if self._down < 0:
            entry = self.marked(self.entries())
            playbook = self._playbook(entry.key) if entry is not None and not self._which else ""
            progress = self._progress() if entry is not None and entry.key == playbook_pages.RUNNING else None
            height = self._text.size.height
            self._down = 0 if isinstance(playbook, str) else playbook_pages.first_line(playbook, progress, height)
        self._down = max(0, self._down + lines)
        self.present()

    def action_other(self) -> None:
        """Change to the other list."""
        self._which, self._first, self._down = 1 - self._which, 0, -1
        self._say("")
        self.present()

    def on_rows_line_clicked(self, message: Rows.LineClicked) -> None:
        """Select the clicked line of the list."""
        if message.rows is self._list:
            self._choose(self._first + message.line)

    # -- the prompt -------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Open the filter of playbooks."""
        self._which = 0
        self._ask("filter", FILTER, self._words)

    def action_open(self) -> None:
        """Open the prompt for a playbook or session."""
        self._ask("open", OPEN, "")

    def _ask(self, what: str, words: str, value: str) -> None:
        self._asks = what
        self._prompt.placeholder = words
        self._prompt.value = value
        self._prompt.display = True
        self._prompt.focus()
        self._say(words, "quiet")

    def on_input_changed(self, message: Input.Changed) -> None:
        """Apply the filter while it is typed."""
        if self._asks == "filter" and message.value != self._words:
            self._words = message.value
            self._chosen[0], self._first, self._down = 0, 0, -1
            self.present()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Open the typed playbook or session, or keep the filter."""
        if self._asks == "open":
            text = message.value.strip()
            self._go(
                lambda: session_destination(Path(text)) if text and Path(text).is_dir() else playbook_destination(text)
            )
        else:
            self._close_prompt()

    def _close_prompt(self) -> None:
        self._asks = ""
        self._prompt.display = False
        self.set_focus(None)
        self._say("")
        self.present()

    async def action_out(self) -> None:
        """Close the prompt, or leave the mode."""
        if self._asks:
            if self._asks != "open":
                self._words = ""
            self._close_prompt()
        else:
            await super().action_out()

    async def leave(self) -> None:
        """Drop the filter, or leave the mode."""
        if self._words:
            self._words = ""
            self._close_prompt()
        else:
            await super().leave()

    def _say(self, text: str, role: str = "warning") -> None:
        """Show one line above the bar until the next action."""
        self._message_rows.show((Row(((text, role),)),) if text else ())
        self._message_rows.display = bool(text)

    # -- opening ----------------------------------------------------------------------------------------------------

    def action_start(self) -> None:
        """Open the selected entry; the current session is sealed first."""
        entry = self.marked(self.entries())
        if entry is None:
            return
        if self._which:
            path = Path(entry.key)
            if path == self._here:
                self._say("this is the current session")
            else:
                self._go(lambda: session_destination(path))
        elif entry.key == playbook_pages.RUNNING:
            self._say("already running; select it in the library below to start it again")
        else:
            self._go(lambda: playbook_destination(entry.key))

    def action_back(self) -> None:
        """Return to the previous session of this program run."""
        back: Destination | None = getattr(self.app, "previous_destination", None)
        if back is None:
            self._say("no previous session to go back to")
        else:
            self._leave_for(back)

    def _go(self, find: Any) -> None:
        try:
            request = find()
        except DestinationError as error:
            self._say(str(error))
            return
        self._leave_for(request)

    def _leave_for(self, request: Destination) -> None:
        leave = getattr(self.app, "exit_to", None)
        if leave is not None:
            leave(request)
