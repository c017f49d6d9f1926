"""A mode in which something can be selected and struck: the keys that act work there as on the main screen."""

from typing import Final

from textual.app import ComposeResult

from cluster_model.observation.views import ClusterView
from tui.keybindings.keymap import KEYS
from tui.keybindings.scopes import ACTS
from tui.screens.base import ModeScreen
from tui.screens.fault_sheet import Sheets
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look

BY_SHEET: Final = ("fault", "admin", "control")
"""Ids of the keys that open a sheet on this screen; all others are pressed on the main one."""
THERE: Final = ("heal", "undo", "what_if", "ask", "bookmark")
"""Ids of those that are about the instant that is selected."""
LASTING: Final = ("ask", "bookmark")
"""Those after which it stays selected."""


def led_by(view: ClusterView, name: str, otherwise: int) -> int:
    """Id of the broker that leads a partition; another where nobody does."""
    leaders = (each.leader for each in view.partitions if each.name == name and each.leader >= 0)
    return next(leaders, otherwise)


class ActingMode(ModeScreen, Sheets):
    """What is selected is the target; a mode with somebody to choose adds its own :meth:`chosen`."""

    AUTO_FOCUS = ""  # not the closed sheet

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self.make_sheets()

    def compose(self) -> ComposeResult:
        """The mode, and the sheets over it."""
        yield from super().compose()
        yield from self.sheet_panes()

    def chosen(self) -> int:
        """The broker under the main screen's cursor, where the mode has nobody of its own to choose."""
        return self.desk.broker_under_cursor

    def present(self) -> None:
        """Show the session, and in an open sheet what would be done to it."""
        super().present()
        if self.sheet.has_focus:
            self.show_sheet()

    async def action_act(self, name: str) -> None:
        """A key that acts, on what is selected here."""
        if name in BY_SHEET:
            await self.run_action(name)
            return
        if name in THERE:
            self.arrive()
        await self._main.run_action(next(key.action for key in KEYS if key.id == name))
        if name in THERE and name not in LASTING:
            self.done()

    async def press(self, name: str) -> None:
        """Do what the key of an id does here."""
        if name in ACTS:
            await self.action_act(name)
        else:
            await super().press(name)
