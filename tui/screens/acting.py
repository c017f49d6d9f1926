"""A mode in which something can be selected and struck: the keys that act work there as on the main screen."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.bridge import SimBridge
from tui.keymap import KEYS
from tui.screens.mode import ModeScreen
from tui.screens.sheets import Sheets
from tui.theme import Look

BY_SHEET: Final = ("fault", "admin", "control")
"""Ids of the keys that open a sheet on this screen; all others are pressed on the main one."""
THERE: Final = ("heal", "undo", "what_if", "ask", "bookmark")
"""Ids of those that are about the instant that is selected."""
LASTING: Final = ("ask", "bookmark")
"""Those after which it stays selected."""
ACTS: Final = tuple(key for key in KEYS if key.group == "act" or key.id in ("bookmark", "playbooks"))


class ActingMode(ModeScreen, Sheets):
    """What is selected is the target; a mode adds :meth:`chosen`."""

    AUTO_FOCUS = ""  # not the closed sheet
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, f"act({key.id!r})", key.words, id=key.id, show=False) for key in ACTS
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self.make_sheets()

    def compose(self) -> ComposeResult:
        """The mode, and the sheets over it."""
        yield from super().compose()
        yield from self.sheet_panes()

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
        if name in [key.id for key in ACTS]:
            await self.action_act(name)
        else:
            await super().press(name)
