"""The fault sheet at the bottom: open it with ``f``, a second letter acts at once."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from faults.catalogue import CATALOGUE
from faults.fault import Fault
from faults.operations import Operation
from tui.paint import panes as paint
from tui.theme import Look
from tui.viewmodel import sheet
from tui.widgets.linegrid import LineGrid


class WhichKey(LineGrid[sheet.ItemRow | sheet.TextRow], can_focus=True):
    """Faults with their letters.

    Letters are bindings and not a key handler: two keys typed in one go both reach the program before the first one
    has moved the focus, and bindings are looked up only when a key's turn comes.
    """

    MOVES: ClassVar[list[BindingType]] = [
        Binding("enter", "pick_marked", "inject the marked one", show=False),
        Binding("up", "mark(-1)", "fault above", show=False),
        Binding("down", "mark(1)", "fault below", show=False),
        Binding("left,shift+tab", "aim(-1)", "broker to the left", show=False),
        Binding("right,tab", "aim(1)", "broker to the right", show=False),
        Binding("escape", "close", "leave", show=False),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(fault.letter, f"pick('{fault.name}')", fault.title, show=False) for fault in CATALOGUE.values()),
        *MOVES,
    ]

    class Chosen(Message):
        """A fault or an operation was picked."""

        def __init__(self, choice: Fault | Operation) -> None:
            super().__init__()
            self.choice = choice

    class Closed(Message):
        """The operator went back without picking one."""

    class Aimed(Message):
        """Another broker is wanted: so many to the right of this one."""

        def __init__(self, brokers: int) -> None:
            super().__init__()
            self.brokers = brokers

    def __init__(
        self,
        look: Look,
        choices: Sequence[Fault | Operation] = tuple(CATALOGUE.values()),
        *,
        name: str = "whichkey",
        title: str = "Inject a fault on",
    ) -> None:
        super().__init__(paint.sheet, look, id=name)
        self.choices = tuple(choices)
        self.title = title
        self.chosen = 0

    def present(self, target: str, expect: Callable[[str], str], width: int) -> sheet.Sheet:
        """Show the sheet for a target; ``expect`` tells what the marked one would do to it now."""
        built = sheet.build(
            self.choices,
            chosen=self.chosen,
            title=f"{self.title} {target}",
            expectation=expect(self.choices[self.chosen].name),
            width=width,
        )
        self.show(built.rows)
        return built

    def action_pick(self, name: str) -> None:
        """A fault's letter."""
        self.post_message(self.Chosen(next(each for each in self.choices if each.name == name)))

    def action_pick_marked(self) -> None:
        """The fault that the sheet explains."""
        self.post_message(self.Chosen(self.choices[self.chosen]))

    def action_mark(self, step: int) -> None:
        """Explain another fault."""
        self.chosen = (self.chosen + step) % len(self.choices)
        self.post_message(self.Aimed(0))

    def action_aim(self, step: int) -> None:
        """Aim at another broker."""
        self.post_message(self.Aimed(step))

    def action_close(self) -> None:
        """Leave."""
        self.post_message(self.Closed())
