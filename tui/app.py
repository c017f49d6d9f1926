"""Textual app of a session: frames, signals, exports, a clean exit, and hints that explain Kafka terms."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import BindingType
from textual.command import Provider
from textual.dom import DOMNode
from textual.driver import Driver
from textual.geometry import Region
from textual.screen import Screen
from textual.timer import Timer

from playbooks.recording.recorder import Recorder
from playbooks.session_format.session_files import sessions_root
from tui.keybindings.keymap import key_of, program_bindings
from tui.keybindings.keymap import word_of as key_word
from tui.keybindings.scopes import keymap_of, remapped
from tui.screens.base import LiveScreen
from tui.screens.cluster import MainScreen, WakeMessage
from tui.session.destination import Destination
from tui.session.session_controller import READ_ONLY, SessionController
from tui.session.settings_changes import SettingUndo
from tui.settings.schema import Settings
from tui.settings.settings_file import ExplainedTerms
from tui.startup import painted
from tui.terminal.frame_clock import FRAME_S
from tui.terminal.glyphs import GlyphSet
from tui.terminal.terminal import CachedStylesheet, TerminalTitle, animated, reduced_output_driver
from tui.terminal.theme import Appearance, ThemeName, textual_name, textual_themes
from tui.viewmodel.help import term, word_at
from tui.viewmodel.status_bar import terminal_title
from tui.widgets.line_widget import LineGrid
from tui.widgets.panes import Pane

if TYPE_CHECKING:
    from tui.tour import TourGuide


# Hints: a Kafka term is explained the first time that the pointer or cursor rests on it.


REST_S: Final = 0.5
"""Seconds the pointer rests on a term before it is explained."""
STANDS_S: Final = 12.0
"""Seconds an explanation is shown."""


class TermHints:
    """Hints on terms under the pointer, or at the cursor of the matrix."""

    def __init__(self, app: "FloodmarkApp", seen: ExplainedTerms) -> None:
        self._app = app
        self._seen = seen
        self._word = ""
        self._timer: Timer | None = None

    def moved(self, x: int, y: int) -> None:
        """Handle that the pointer moved."""
        word = self._under(x, y)
        if word == self._word:
            return
        self._word = word
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._wants(word):
            self._timer = self._app.set_timer(REST_S, self.rested)

    def rested(self) -> None:
        """Explain the term that the pointer has rested on."""
        self.looked_at(self._word)

    def looked_at(self, word: str) -> None:
        """Explain a term, unless it was explained before or hints are off."""
        if not self._wants(word):
            return
        self._seen.add(word)
        keys = self._app.main.keys
        more = f"{key_word('help', keys)}, g: glossary; {key_word('settings', keys)}: turn hints off"
        self._app.main.toast(f"{word}: {term(word).meaning} ({more})", seconds=STANDS_S)

    def _wants(self, word: str) -> bool:
        return bool(word) and self._app.settings.hints and word not in self._seen

    def _under(self, x: int, y: int) -> str:
        screen = self._app.screen
        if not screen.region.contains(x, y):
            return ""
        widget, region = screen.get_widget_at(x, y)
        if not isinstance(widget, LineGrid):
            return ""
        (line,) = widget.render_lines(Region(0, y - region.y, region.width, 1))
        return word_at("".join(segment.text for segment in line), x - region.x)


NOTE_S: Final = 12
"""Seconds that a message about the whole session is shown."""
LOOK_S: Final = 0.1
"""Seconds between two checks of the tour while paused."""
FAILED: Final = 70
"""Exit code of an internal error."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


def _later(module: str, name: str) -> Callable[[], type[Provider]]:
    """Return a function that imports a palette provider when the palette is first opened."""

    def load() -> type[Provider]:
        found: type[Provider] = getattr(import_module(module), name)
        return found

    return load


PROVIDERS: Final = (
    ("tui.palette", "UsefulProvider"),
    ("tui.palette", "FaultProvider"),
    ("tui.palette", "KeyProvider"),
    ("tui.palette", "FindingProvider"),
    ("tui.palette", "TimeProvider"),
    ("tui.palette", "GoProvider"),
    ("tui.palette", "ViolationProvider"),
    ("tui.palette", "PlaybookProvider"),
    ("tui.palette", "SettingsProvider"),
    ("tui.palette", "ViewProvider"),
)
"""Module and class of each palette provider."""


class FloodmarkApp(App[None]):
    """App of one session; starting and sealing the session is done by :mod:`tui.launcher`."""

    CSS_PATH = "tui.tcss"
    TITLE = "floodmark"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_later(*each) for each in PROVIDERS}
    BINDINGS: ClassVar[list[BindingType]] = program_bindings()
    CHANGES: ClassVar[frozenset[str]] = frozenset({"export"})
    """Actions that a read-only TUI refuses; screens have their own."""

    def __init__(
        self,
        session_controller: SessionController,
        *,
        playbook: str,
        seed: int,
        glyphs: GlyphSet = "unicode",
        theme: ThemeName = "dark",
        settings: Settings | None = None,
        keep_errors: bool = False,
        notes: Sequence[str] = (),
        recorder: Recorder | None = None,
        seen: ExplainedTerms | None = None,
    ) -> None:
        """``keep_errors``: exit with :data:`FAILED` and the error in :attr:`failure`, instead of printing it.

        ``settings`` are the user's; only their keys are used here, as options have already been resolved. ``notes`` are
        shown at the start; ``recorder`` records the session. ``seen`` are the terms explained before; without it there
        are no hints.
        """
        # With NO_COLOR only the terminal's own two colours are used; Textual's grey replacement would be a colour.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.session_controller = session_controller
        self.failure: BaseException | None = None
        self.request: Destination | None = None
        """Next destination, after the session is sealed."""
        self.previous_destination: Destination | None = None
        """Previous destination."""
        self.sessions: Path | None = None
        """Directory of recorded sessions; None: the default."""
        self.guide: TourGuide | None = None
        """Guide of the tour, None without a tour."""
        self.undoable_settings: list[SettingUndo] = []
        """Settings that were changed and written to the file, the latest last."""
        self.frames = 0
        """Number of frames painted."""
        self.recorder = recorder
        self.hinting = TermHints(self, seen) if seen is not None else None
        """Hints on terms, None if they are off."""
        self._notes = tuple(notes)
        self._end_told = False
        self._painted_s = 0.0
        self._title: TerminalTitle | None = None
        self._keep_errors = keep_errors
        self._wake = asyncio.Event()
        self.appearance = Appearance(colour=not self.no_color, glyphs=glyphs, theme=theme)
        self.settings = settings or Settings()
        keys = remapped(self.settings.keys)
        if self.settings.keys:
            self.set_keymap(keymap_of(keys))
        self.main = MainScreen(session_controller, self.appearance, playbook=playbook, seed=seed, keys=keys)
        for each in textual_themes():
            self.register_theme(each)
        self.theme = textual_name(theme)
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        self.set_class(glyphs == "ascii", "-ascii")

    def set_look(self, appearance: Appearance) -> None:
        """Redraw everything, including open pages, with another appearance."""
        self.appearance = appearance
        self.set_class(appearance.glyphs == "ascii", "-ascii")
        self.theme = textual_name(appearance.theme)
        self.refresh_css(animate=False)  # for every screen, as only the glyphs may have changed
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen | LiveScreen):
                screen.appearance = appearance
            for pane in screen.query(Pane):
                pane.set_look(appearance)
            for grid in screen.query(LineGrid):
                grid.set_look(appearance)
        self.main.present()

    @property
    def read_only(self) -> bool:
        """Whether every change is refused, for an audience."""
        return self.session_controller.read_only

    @read_only.setter
    def read_only(self, read_only: bool) -> None:
        self.session_controller.read_only = read_only

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, unless it changes something and the TUI is read-only, which a short notice says."""
        if self.read_only:
            node, name, _parameters = self._parse_action(action, default_namespace or self, namespaces)
            if name in getattr(node, "CHANGES", ()):
                self.main.toast(READ_ONLY, "warning")
                return True
        return await super().run_action(action, default_namespace, namespaces)

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen."""
        return self.main

    def get_driver_class(self) -> type[Driver]:
        """Return the terminal driver that saves bytes."""
        return reduced_output_driver(super().get_driver_class())

    def on_mount(self) -> None:
        """Show notes, and set up animation, title, tour and signal handlers."""
        for note in self._notes:
            self.main.toast(note, "warning", seconds=NOTE_S)
        if self.session_controller.clock.automatic:
            self.main.motion.on = animated(os.environ)
            if self._driver is not None and not self.is_headless:
                self._title = TerminalTitle(self._driver.write, os.environ)
            if self.guide is not None:
                self.set_interval(LOOK_S, self.guide.refresh)
            loop = asyncio.get_running_loop()
            for number in SIGNALS:
                with contextlib.suppress(RuntimeError, ValueError):
                    loop.add_signal_handler(number, self._stop_by_signal, number)

    def on_ready(self) -> None:
        """Start frames after the first paint."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Start frames, as the first paint is done."""
        painted()
        if self.session_controller.clock.automatic:
            self.run_worker(self._drive(), name="frames", exit_on_error=True)

    def frame(self) -> float | None:
        """Run one frame; return seconds until the next one, None while paused."""
        if not self.session_controller.is_approximate:
            self.main.scrubbing.forget()
        dragged = self.main.scrubbing.frame()
        done = self.session_controller.frame()
        for text, good in self.session_controller.queued_results:
            self.main.toast(text, "information" if good else "warning")
        self.session_controller.queued_results.clear()
        stands = done.delay is None
        if done.paint or (stands and self._moves_on()):
            self._paint()
        if done.paint and self.session_controller.ran_out:
            self.session_controller.ran_out = False
            self.main.toast("no notable event in the next two minutes", "warning")
        if self.session_controller.news:
            self.main.branches.report_news()
        if self.session_controller.stopped_at_loss:
            self.session_controller.stopped_at_loss = False
            self.main.toast(
                f"paused: an acknowledged record went missing; {key_of('finding', self.main.keys)} opens the autopsy",
                "warning",
                seconds=NOTE_S,
            )
        at_end = self.session_controller.at_end if self.session_controller.session.recorded is not None else None
        if self.session_controller.ended and not self._end_told and at_end is not None:
            self._end_told = True
            self.main.toast(at_end(), seconds=NOTE_S)
        if self.guide is not None:
            self.guide.refresh()
        self._update_title()
        delay = FRAME_S if stands and not self.main.motion.idle(self._painted_s) else done.delay
        return delay if dragged is None else min(dragged, delay or dragged)

    def _paint(self) -> None:
        """Present the latest view."""
        self.frames += 1
        self._painted_s = self.session_controller.clock.now()
        self.main.present()
        for screen in self.screen_stack:
            if isinstance(screen, LiveScreen):
                screen.present()

    def _moves_on(self) -> bool:
        """Return whether a frame is due for an animation while time is paused."""
        due = self.session_controller.clock.now() - self._painted_s >= FRAME_S / 2
        return due and not self.session_controller.unfocused and not self.main.motion.idle(self._painted_s)

    def _update_title(self) -> None:
        """Update the title of the terminal."""
        if self._title is not None:
            session_controller = self.session_controller
            running = not (session_controller.paused or session_controller.ended)
            text = self.appearance.text(terminal_title(session_controller.view, running=running))
            self._title.show(text, session_controller.clock.now(), at_once=not running)

    def on_app_blur(self) -> None:
        """Paint fewer frames while the terminal is not focused."""
        self.session_controller.unfocused = True

    def on_app_focus(self) -> None:
        """Paint at the normal rate again."""
        self.session_controller.unfocused = False
        self._wake.set()

    def on_unmount(self) -> None:
        """Restore the title of the terminal."""
        if self._title is not None:
            self._title.give_back()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Track the pointer for hints."""
        if self.hinting is not None:
            self.hinting.moved(event.screen_x, event.screen_y)

    def on_wake(self, _message: WakeMessage) -> None:
        """Run the next frame at once."""
        self._wake.set()

    def action_export(self) -> None:
        """Export the session so far as a playbook."""
        recorded = self.session_controller.session.recorded
        if self.recorder is None and recorded is None:
            self.main.toast("this session is not recorded, so it cannot be exported", "warning")
            return
        self.main.toast(
            f"exporting {'the session so far' if recorded is None else 'the whole recording'} as a playbook"
        )
        self.run_worker(self._export(), group="export", exclusive=True, exit_on_error=False)

    async def _export(self) -> None:
        from tui.session.background_tasks import export_beside, export_recorded  # noqa: PLC0415 - seldom wanted

        recorded = self.session_controller.session.recorded
        if recorded is not None:
            folder = self.sessions or sessions_root()
            text, good = await export_recorded(recorded.path, recorded.start.session_id, folder)
        elif self.recorder is not None:
            text, good = await export_beside(self.recorder)
        self.main.toast(text, "information" if good else "error", seconds=NOTE_S)

    def action_leave(self) -> None:
        """Quit; the launcher seals the session."""
        self.exit(return_code=0)

    def begin_tour(self) -> None:
        """Start the guided tour."""
        from tui.tour import TourGuide  # noqa: PLC0415 - seldom wanted

        self.guide = TourGuide(self)

    def action_tour(self) -> None:
        """Leave or resume the tour."""
        if self.guide is None:
            where = f"tour among the playbooks ({key_word('playbooks', self.main.keys)})"
            self.main.toast(f"the tour is not running: start it with t on the welcome page, or {where}", "warning")
        elif message := self.guide.toggle():
            self.main.toast(message)

    def exit_to(self, request: Destination) -> None:
        """Quit for another destination."""
        self.request = request
        self.exit(return_code=0)

    def action_hint(self) -> None:
        """Show the key that quits: ctrl+c copies in many terminals."""
        self.main.toast(f"{key_word('quit', self.main.keys)} quits and saves the session")

    async def _drive(self) -> None:
        """Run frames as the session controller requests them, until the app ends."""
        while self.is_running:
            self._wake.clear()
            delay = self.frame()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), delay)

    def _stop_by_signal(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def _handle_exception(self, error: Exception) -> None:
        """Exit and restore the terminal first; the launcher writes the error beside the session."""
        if not self._keep_errors:
            super()._handle_exception(error)
            return
        if self.failure is None:
            self.failure = error
        self.exit(return_code=FAILED)
