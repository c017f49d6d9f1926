"""The pages that a key puts over the main screen. Each is read when it is first wanted, for the first paint's sake."""

from importlib import import_module
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.keybindings.keymap import KEYS, Key
from tui.keybindings.modes import Mode, mode_of
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look
from tui.viewmodel import help
from tui.viewmodel.control import ControlBar
from tui.viewmodel.help import Here
from tui.viewmodel.row import Row
from tui.viewmodel.status_bar import StatusBar
from tui.widgets.line_widget import LineGrid

if TYPE_CHECKING:
    from tui.screens.base import ModeScreen


if TYPE_CHECKING:
    from tui.screens.finding import Onward


SHEET_HELP = {"whichkey": help.SHEET, "operations": help.OPERATIONS}
"""Id of a sheet → its help."""


class Pages(Screen[None]):
    """A screen with pages over it."""

    bridge: SimBridge
    look: Look
    keys: tuple[Key, ...] = KEYS
    """The key map, with the keys that the user wants otherwise."""
    toosmall: LineGrid[Row]
    finding = 0
    """Number of the finding that was looked at last, 0: none."""

    def action_mode(self, name: str) -> None:
        """Another mode over the whole terminal, wherever anything fits; pages over this one are left."""
        mode = mode_of(name)
        if self.toosmall.display:
            return
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        if mode.where:
            self.app.push_screen(screen_class(mode)(self.look, self.bridge))

    def status_rows(self, width: int) -> tuple[StatusBar | ControlBar, ...]:
        """The lines of the status bar, the same in every mode."""
        return ()

    def broker_meant(self) -> int:
        """Id of the broker that a question is about."""
        return -1

    def go_to(self, at_us: int | None) -> None:
        """Show a time; None shows what is shown."""

    def go_onward(self, onward: "Onward") -> None:
        """Do what is wanted after an autopsy."""

    def action_ask(self) -> None:
        """Ask whether something is safe to do now."""
        from tui.screens.ask import AskScreen  # noqa: PLC0415
        from tui.session.asking import recording_of  # noqa: PLC0415

        recorder = getattr(self.app, "recorder", None)
        path = recording_of(self.bridge.session.recorded, recorder)
        if path is None:
            self.notify("this session is not being recorded: nothing can be asked about it", severity="warning")
        elif not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(AskScreen(self.look, self.bridge, path, recorder, self.broker_meant()))

    def action_finding(self, findings: int) -> None:
        """The autopsy of the next finding, or of the one before, as many as there are so far."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        found = len(findings_so_far(self.bridge))
        if not found:
            self.notify(self._nothing_found())
        elif self.finding < 1:
            self.open_autopsy(1 if findings > 0 else found)
        else:
            self.open_autopsy((min(self.finding, found) - 1 + findings) % found + 1)

    def open_autopsy(self, number: int) -> None:
        """The autopsy of the finding of a number from 1, of which there is one."""
        from tui.screens.finding import AutopsyScreen  # noqa: PLC0415

        if self.toosmall.display:
            return
        page = AutopsyScreen(self.look, self.bridge, number, getattr(self.app, "recorder", None))

        def closed(onward: "Onward | None") -> None:
            self.finding = page.case.number
            if onward is not None:
                self.call_later(self.go_onward, onward)

        self.app.push_screen(page, closed)

    def _nothing_found(self) -> str:
        violations = self.bridge.view.violations
        broken = f"; the events tell of {violations} broken rules" if violations else ""
        return f"no finding so far: nothing is wrong with any record{broken}"

    def action_autopause(self) -> None:
        """Pause by itself where the next acknowledged record goes missing, or no longer."""
        self.bridge.stops_at_loss = not self.bridge.stops_at_loss
        armed = "pausing where the next acknowledged record goes missing"
        self.notify(armed if self.bridge.stops_at_loss else "not pausing by itself any more")

    def _here(self) -> Here:
        """What is looked at."""
        focused = getattr(self.app.screen.focused, "id", "")
        if focused in SHEET_HELP:
            return SHEET_HELP[focused]
        name, scope = getattr(self.app.screen, "MODE", ""), getattr(self.app.screen, "SCOPE", "")
        if name:
            return help.MODES["compare" if scope == "compare" else name]
        return help.of_page(scope) if scope else help.CLUSTER

    def action_help(self) -> None:
        """What is looked at, then keys and glyphs."""
        from tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.look, self.keys, self._here()))

    def action_settings(self) -> None:
        """Colours, glyphs, speed, and the file that keeps them."""
        from tui.screens.settings import SettingsScreen  # noqa: PLC0415

        if not self.toosmall.display:
            self.app.push_screen(SettingsScreen(self.look, self.bridge))


def screen_class(mode: Mode) -> "type[ModeScreen]":
    """The screen of a mode that has one of its own."""
    module, _colon, name = mode.where.partition(":")
    found: type[ModeScreen] = getattr(import_module(module), name)
    return found
