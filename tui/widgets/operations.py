"""The sheet of the administrator's operations: open it with ``a``, a second letter asks for one at once."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from faults.operations import OPERATIONS
from tui.theme import Look
from tui.widgets.whichkey import WhichKey


class OperationSheet(WhichKey, inherit_bindings=False):
    """Operations with their letters, for the partition and the broker under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(each.letter, f"pick('{each.name}')", each.title, show=False) for each in OPERATIONS.values()),
        *WhichKey.MOVES,
    ]

    def __init__(self, look: Look) -> None:
        super().__init__(look, tuple(OPERATIONS.values()), name="operations", title="Administer")
