"""Welcome page: tour, bundled playbooks, sandbox, recorded sessions. It does not load the cluster model."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import BindingType

from tui.keybindings.keymap import with_keys
from tui.keybindings.scopes import Wanted, bindings_of, remapped, scope_of
from tui.session.destination import PLAYBOOK, WELCOME, Destination, ScreenExit
from tui.startup import BackgroundImport, painted
from tui.terminal import glyphs
from tui.terminal.terminal import CachedStylesheet
from tui.terminal.theme import Appearance, textual_name, textual_themes
from tui.viewmodel.row import Row, first_shown, fitted
from tui.widgets.line_widget import Rows

if TYPE_CHECKING:
    from tui.program import ProgramOptions


# The choices of the welcome page: the tour, eight incidents, the sandbox, recorded sessions.


TOUR: Final = "tour"
SANDBOX: Final = "sandbox"
SESSIONS: Final = "sessions"
"""Key of the list of recorded sessions, in place of a playbook's name."""

GALLERY: Final = (
    ("acks-1-lost-tail", "Lose an acknowledged record"),
    ("both-followers-paused", "Why min.insync.replicas=2 saved you"),
    ("zombie-leader", "A zombie leader and stale clients"),
    ("zone-loss", "An availability zone loses power"),
    ("rolling-restart-blind", "Rolling restart without health checks"),
    ("quorum-lost", "Controller quorum lost: no elections"),
    ("consumer-bounce-eager", "A deployment that stops all consumers"),
    ("exactly-once", "Exactly-once billing despite crashes"),
)
"""Bundled playbook and its description."""


@dataclass(frozen=True, slots=True)
class WelcomeEntry:
    """Line that can be selected, or a heading or blank line without a key."""

    key: str
    text: str
    more: str = ""


OFFERS: Final = (
    WelcomeEntry(TOUR, "Tour", "4 min: lose a record and see why"),
    WelcomeEntry("", ""),
    WelcomeEntry("", "Watch an incident"),
    *(WelcomeEntry(name, title, name) for name, title in GALLERY),
    WelcomeEntry("", ""),
    WelcomeEntry("", "Explore"),
    WelcomeEntry(SANDBOX, "Sandbox", "healthy, under load, yours to break"),
    WelcomeEntry(SESSIONS, "Recorded sessions", "replay a past session"),
)
CHOICES: Final = tuple(number for number, offer in enumerate(OFFERS) if offer.key)
"""Indexes of the lines that can be selected."""
COLUMN: Final = 39
HEADER: Final = (
    (f"{glyphs.LOGO} floodmark", "strong"),
    ("a chaos lab for Kafka: a whole cluster in your terminal", "quiet"),
)


def gallery_header() -> tuple[Row, ...]:
    """Return the header of the page."""
    return (Row(), *(Row(((f"  {text}", role),)) for text, role in HEADER), Row())


def gallery_rows(at: int) -> tuple[Row, ...]:
    """Return the lines of the page, with choice number ``at`` marked."""
    chosen = CHOICES[at]
    return tuple(_row(offer, number == chosen) for number, offer in enumerate(OFFERS))


def _row(offer: WelcomeEntry, chosen: bool) -> Row:
    if not offer.key:
        return Row(((f"  {offer.text}", "calm"),) if offer.text else ())
    marker = f"{glyphs.MARKER} " if chosen else "  "
    return Row(
        ((f"  {marker}", "key"), (f"{offer.text:<{COLUMN}}", "strong" if chosen else "text"), (offer.more, "quiet")),
        chosen=chosen,
    )


CHOOSE: Final = f"{{welcome_up}} {{welcome_down}} choose {glyphs.NOTHING} {{welcome_choose}} open {glyphs.NOTHING}"
QUIT: Final = f"{glyphs.NOTHING} {{welcome_quit}} quit"
LEAVE_WORDS: Final = f"{CHOOSE} {{welcome_tour}} tour {glyphs.NOTHING} {{welcome_sandbox}} sandbox {QUIT}"
BACK_WORDS: Final = f"{CHOOSE} esc back {QUIT}"


def welcome(_request: Destination, options: "ProgramOptions", _back: Destination | None) -> ScreenExit:
    """Run the welcome page; leaving it without a choice ends the program."""
    from playbooks.errors import BAD_INPUT  # noqa: PLC0415 - only on errors
    from tui.output.console import print_error  # noqa: PLC0415 - only on errors
    from tui.screen_choice import ScreenChoiceError, check  # noqa: PLC0415

    try:
        chosen = check(options.glyphs, options.theme, options.speed)
    except ScreenChoiceError as error:
        print_error(str(error))
        return ScreenExit(BAD_INPUT)
    appearance = Appearance(colour="NO_COLOR" not in os.environ, glyphs=chosen.glyphs, theme=chosen.theme)
    ahead = BackgroundImport()
    app = WelcomeApp(appearance, options.parent, ahead, chosen.settings.keys)
    request = app.run()
    if request is not None:
        ahead.wait()
    return ScreenExit(app.return_code or 0, request, Destination(WELCOME))


class WelcomeApp(App[Destination]):
    """Textual app of the welcome page; its result is the choice."""

    CSS_PATH = "tui.tcss"
    TITLE = "floodmark"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("welcome")

    def __init__(
        self, appearance: Appearance, sessions: Path, ahead: BackgroundImport | None = None, keys: Wanted | None = None
    ) -> None:
        """``ahead`` starts to import what a choice needs after the first paint; ``keys`` are the user's own."""
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._keys = remapped(keys or {}, scope_of("welcome").keys)
        self.set_keymap({key.id: key.keys for key in self._keys if keys})
        self._rows = Rows(appearance, "welcome")
        self._sessions = sessions
        self._ahead = ahead
        self._paths: list[Path] | None = None
        """Paths of the recorded sessions, once their list is open."""
        self._at = self._first = self._top = 0
        self._error_text = ""
        """Why the selected session cannot be opened."""
        for each in textual_themes():
            self.register_theme(each)
        self.theme = textual_name(appearance.theme)
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())

    def compose(self) -> ComposeResult:
        """Yield the rows of the page."""
        yield self._rows

    def on_mount(self) -> None:
        """Present the page once the size is known."""
        self.call_after_refresh(self.present)

    def on_ready(self) -> None:
        """Start to import ahead after the first paint."""
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        painted()
        if self._ahead is not None:
            self._ahead.begin()

    def _read(self) -> None:
        """Wait until the imports are done, before the model is used."""
        if self._ahead is not None:
            self._ahead.wait()

    def on_resize(self) -> None:
        """Present the page again for the new size."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show header, choices and key hints."""
        height = self.size.height
        header = gallery_header() if height > len(OFFERS) + 5 else ()
        body, words = self._body(height - len(header) - 2)
        blank = (Row(),) * max(0, height - len(header) - len(body) - 1)
        self._rows.show((*header, *body, *blank, Row(((fitted(words, self.size.width - 2), "quiet"),))))
        self._top = len(header)

    def _body(self, room: int) -> tuple[tuple[Row, ...], str]:
        if self._paths is not None:
            return self._session_rows(self._paths, max(1, room)), self._error_text or with_keys(BACK_WORDS, self._keys)
        rows = gallery_rows(self._at)
        self._first = first_shown(self._first, CHOICES[self._at], len(rows), max(1, room))
        return rows[self._first : self._first + max(1, room)], with_keys(LEAVE_WORDS, self._keys)

    def _session_rows(self, paths: list[Path], room: int) -> tuple[Row, ...]:
        self._read()
        from tui.viewmodel import playbook_pages  # noqa: PLC0415 - only when sessions are wanted

        entries = playbook_pages.entries(paths, self._sessions, None)
        if not paths:
            return (Row(((f"  {entries[0].text}", "quiet"),)),)
        self._first = first_shown(self._first, self._at, len(paths), room)
        return tuple(
            playbook_pages.row(entries[at], playbook_pages.card(paths[at]), self.size.width, at == self._at)
            for at in range(self._first, min(self._first + room, len(paths)))
        )

    def action_move(self, lines: int) -> None:
        """Select another line."""
        count = len(CHOICES) if self._paths is None else len(self._paths)
        self._at = max(0, min(self._at + lines, count - 1))
        self._error_text = ""
        self.present()

    def action_choose(self) -> None:
        """Open the selected line."""
        if self._paths is not None:
            if self._paths:
                self._look_at(self._paths[self._at])
            return
        self.action_open(OFFERS[CHOICES[self._at]].key)

    def _look_at(self, path: Path) -> None:
        self._read()
        from tui.session.destination_check import DestinationError, session_destination  # noqa: PLC0415 - imports the model

        try:
            self.exit(session_destination(path))
        except DestinationError as error:
            self._error_text = str(error)
            self.present()

    def action_open(self, key: str) -> None:
        """Open a playbook, or the list of recorded sessions."""
        if key != SESSIONS:
            self.exit(Destination(PLAYBOOK, key))
            return
        self._read()
        from tui.viewmodel.playbook_pages import newest_first  # noqa: PLC0415 - only when sessions are wanted

        self._paths = newest_first(self._sessions)
        self._at = self._first = 0
        self.present()

    def action_leave(self) -> None:
        """Return from the sessions to the choices, or quit."""
        if self._paths is None:
            self.exit()
            return
        self._paths = None
        self._at, self._first = len(CHOICES) - 1, 0
        self.present()

    def on_rows_line_clicked(self, message: Rows.LineClicked) -> None:
        """Select the clicked line, and open it if it was already selected."""
        line = message.line - self._top + self._first
        places = CHOICES if self._paths is None else tuple(range(len(self._paths)))
        if line not in places:
            return
        again = self._at == places.index(line)
        self._at = places.index(line)
        self.action_choose() if again else self.present()
