"""Sheets of faults (``f``) and operations (``a``) at the bottom; a second letter acts at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import events
from textual.binding import BindingType
from textual.message import Message

from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS, ExpectedImpact, Fault, Operation
from tui.keybindings.keymap import with_keys
from tui.keybindings.scopes import bindings_of, current_keys, keys_of
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import fault_sheet
from tui.viewmodel.fault_sheet import SheetSize
from tui.widgets import panes
from tui.widgets.line_widget import LineGrid


class TargetInfo(Protocol):
    """Information about the target of the sheet."""

    def expected(self, name: str) -> ExpectedImpact:
        """Return the predicted impact of a fault or operation on it."""
        ...

    def fitting(self) -> tuple[str, ...]:
        """Return the names of the faults that apply to it."""
        ...


class WhichKey(LineGrid[fault_sheet.ItemRow | fault_sheet.SheetTextRow], can_focus=True):
    """Sheet of faults with their letters.

    Letters are bindings, not a key handler: two keys typed in quick succession both arrive before the first one has
    moved the focus, and bindings are looked up only when a key is processed.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("faults")

    class FaultChosen(Message):
        """A fault or an operation was picked."""

        def __init__(self, choice: Fault | Operation) -> None:
            super().__init__()
            self.choice = choice

    class Edited(Message):
        """The form of a fault's parameters is requested."""

        def __init__(self, fault: Fault) -> None:
            super().__init__()
            self.fault = fault

    class FaultQueued(Message):
        """A fault is to be injected once time continues; None removes the last queued one."""

        def __init__(self, fault: Fault | None) -> None:
            super().__init__()
            self.fault = fault

    class SheetCancelled(Message):
        """The sheet was closed without a choice."""

    class TargetMoved(Message):
        """Another node is to be the target: ``brokers`` to the right of this one."""

        def __init__(self, brokers: int) -> None:
            super().__init__()
            self.brokers = brokers

    SCOPE: ClassVar[str] = "faults"
    """Name of its scope in :data:`tui.keybindings.scopes.SCOPES`."""

    def __init__(
        self,
        appearance: Appearance,
        choices: Sequence[Fault | Operation] = tuple(CATALOGUE.values()),
        *,
        name: str = "whichkey",
        title: str = "Inject a fault on",
    ) -> None:
        super().__init__(panes.sheet, appearance, id=name)
        self.choices = tuple(choices)
        self.title = title
        self.chosen = 0
        self.room = SheetSize(80, 24)

    def on_mount(self) -> None:
        """Replace the letters by the user's own."""
        letters = {key.id: key.shown.split()[0] for key in keys_of(self.SCOPE, current_keys(self.app))}
        self.choices = tuple(replace(each, letter=letters[f"{self.SCOPE}_{each.name}"]) for each in self.choices)

    def keys_words(self, width: int) -> str:
        """Return the hint of the keys besides the letters, as far as it fits."""
        arrows = f"arrows: other fault, other node {glyphs.NOTHING} " if width >= 110 else ""
        words = (
            f"letter: inject now {glyphs.NOTHING} {arrows}{{faults_edit}}: parameters {glyphs.NOTHING}"
            f" {{faults_queue}}: queue {glyphs.NOTHING} esc"
        )
        return with_keys(words, current_keys(self.app))

    def present(self, target: str, info: TargetInfo, size: SheetSize) -> fault_sheet.Sheet:
        """Show the sheet for a target; ``info`` predicts the impact on it."""
        self.room = size
        built = self.build(f"{self.title} {target}", info)
        self.show(built.rows)
        return built

    def build(self, title: str, info: TargetInfo) -> fault_sheet.Sheet:
        """Return faults by family, and the predicted impact of the marked one."""
        faults = [each for each in self.choices if isinstance(each, Fault)]
        expected, fitting = info.expected(faults[self.chosen].name), info.fitting()
        return fault_sheet.build_columns(
            faults, chosen=self.chosen, title=title, expected=expected, fitting=fitting, size=self.room
        )

    def on_click(self, event: events.Click) -> None:
        """Mark the item under the pointer; a double click picks it."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        at = event.x // row.width if isinstance(row, fault_sheet.ItemRow) else -1
        item = row.items[at] if isinstance(row, fault_sheet.ItemRow) and 0 <= at < len(row.items) else None
        if not isinstance(item, fault_sheet.Item):
            return
        self.chosen = next(number for number, each in enumerate(self.choices) if each.letter == item.letter)
        if event.chain == 2:
            self.action_pick_marked()
        else:
            self.post_message(self.TargetMoved(0))

    def action_pick(self, name: str) -> None:
        """Pick an item by its letter."""
        self.post_message(self.FaultChosen(next(each for each in self.choices if each.name == name)))

    def action_pick_marked(self) -> None:
        """Pick the marked item."""
        self.post_message(self.FaultChosen(self.choices[self.chosen]))

    def action_edit(self) -> None:
        """Request the form of the marked fault's parameters."""
        marked = self.choices[self.chosen]
        if isinstance(marked, Fault):
            self.post_message(self.Edited(marked))

    def action_queue(self) -> None:
        """Queue the marked fault until time continues."""
        marked = self.choices[self.chosen]
        if isinstance(marked, Fault):
            self.post_message(self.FaultQueued(marked))

    def action_unqueue(self) -> None:
        """Remove the last queued fault."""
        self.post_message(self.FaultQueued(None))

    def action_mark(self, step: int) -> None:
        """Mark another item."""
        self.chosen = (self.chosen + step) % len(self.choices)
        self.post_message(self.TargetMoved(0))

    def action_page(self, step: int) -> None:
        """Mark the first fault of another page."""
        faults = [each for each in self.choices if isinstance(each, Fault)]
        self.chosen = fault_sheet.other_page(faults, self.chosen, step, self.room)
        self.post_message(self.TargetMoved(0))

    def action_aim(self, step: int) -> None:
        """Select another node as the target."""
        self.post_message(self.TargetMoved(step))

    def action_close(self) -> None:
        """Close the sheet."""
        self.post_message(self.SheetCancelled())


# The sheet of the administrator's operations: open it with ``a``; a second letter requests one at once.


class OperationSheet(WhichKey, inherit_bindings=False):
    """Sheet of operations with their letters, for the partition and the broker under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("operations")

    SCOPE = "operations"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, tuple(OPERATIONS.values()), name="operations", title="Administer")

    def keys_words(self, width: int) -> str:
        """Return the hint of the keys besides the letters."""
        arrows = f"arrows: other operation, other node {glyphs.NOTHING} " if width >= 90 else ""
        words = f"letter: request now {glyphs.NOTHING} {arrows}{{operations_ask}}: marked one {glyphs.NOTHING} esc"
        return with_keys(words, current_keys(self.app))

    def build(self, title: str, info: TargetInfo) -> fault_sheet.Sheet:
        """Return operations in columns, and the predicted impact of the marked one."""
        expected = info.expected(self.choices[self.chosen].name).sentence
        return fault_sheet.build_list(
            self.choices, chosen=self.chosen, title=title, expectation=expected, width=self.room.width
        )

    def action_page(self, step: int) -> None:
        """Do nothing: there is only one page."""
