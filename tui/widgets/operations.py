"""The sheet of the administrator's operations: open it with ``a``, a second letter asks for one at once."""

from typing import ClassVar

from textual.binding import BindingType

from faults.declarations.operation import OPERATIONS
from tui.keybindings.keymap import with_keys
from tui.keybindings.scopes import bindings_of, in_force
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import sheet
from tui.widgets.which_key import Told, WhichKey


class OperationSheet(WhichKey, inherit_bindings=False):
    """Operations with their letters, for the partition and the broker under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("operations")

    SCOPE = "operations"

    def __init__(self, look: Look) -> None:
        super().__init__(look, tuple(OPERATIONS.values()), name="operations", title="Administer")

    def keys_words(self, width: int) -> str:
        """The keys of the sheet, beside the letters."""
        arrows = f"arrows: other one, other node {glyphs.NOTHING} " if width >= 90 else ""
        words = f"letter acts at once {glyphs.NOTHING} {arrows}{{operations_ask}}: the marked one {glyphs.NOTHING} esc"
        return with_keys(words, in_force(self.app))

    def build(self, title: str, told: Told) -> sheet.Sheet:
        """Operations in columns, and what the marked one would be asked to do."""
        expected = told.expected(self.choices[self.chosen].name).sentence
        return sheet.build(self.choices, chosen=self.chosen, title=title, expectation=expected, width=self.room.width)

    def action_page(self, step: int) -> None:
        """There is only one page."""
