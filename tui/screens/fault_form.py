"""A fault's target, duration and parameters to be filled in, with what it would do then; enter injects it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from faults.declarations.action import Action
from faults.declarations.fault import Expectation, Fault, FaultError
from tui.keybindings.scopes import bindings_of
from tui.screens.fields import Field, FieldError, fields, read_fields
from tui.screens.reachable import Reachable
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Look

if TYPE_CHECKING:
    from tui.screens.target_actions import Injecting

KEYS_WORDS: Final = (
    f"enter injects {glyphs.NOTHING} {{form_queue}} queues while paused {glyphs.NOTHING} {{form_up}} {{form_down}}"
    f" field {glyphs.NOTHING} esc"
)
LINES: Final = 4
"""Lines for what it would do, or for what is wrong."""


class FaultForm(ModalScreen[None], Reachable):
    """Stays as it is until what stands in it can be done."""

    SCOPE = "form"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("form")

    def __init__(self, look: Look, main: "Injecting", fault: Fault, target: str) -> None:
        super().__init__()
        self._look = look
        self._main = main
        self._fault = fault
        self._fields = fields(fault, target)
        self._inputs = {
            each.name: Input(each.value, classes="form-value", select_on_focus=False) for each in self._fields
        }
        self._page = Static(id="form-page")

    def compose(self) -> ComposeResult:
        """A line for each field, and what it would do."""
        with Vertical(id="form"):
            yield Static(self._styled(f"Inject {self._fault.title}", "calm"))
            for each in self._fields:
                yield self._row(each)
            yield self._page

    def _row(self, field: Field) -> Horizontal:
        label = Static(self._styled(field.name, "key"), classes="form-label")
        words = Static(self._styled(field.words, "quiet"), classes="form-words")
        return Horizontal(label, self._inputs[field.name], words, classes="form-row")

    def on_mount(self) -> None:
        """The first of the parameters is what most people came for."""
        named = list(self._inputs.values())
        named[min(1, len(named) - 1)].focus()
        self.call_after_refresh(self._show)

    def on_input_changed(self, _message: Input.Changed) -> None:
        """It would do something else now."""
        self._show()

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        """Inject it, or say what is wrong."""
        self._do(self._main.injected)

    def action_queue(self) -> None:
        """Have it injected as time goes on."""
        self._do(self._main.queued)

    def _do(self, way: Callable[[Action], str]) -> None:
        try:
            refused = way(self._action())
        except FieldError as error:
            refused = str(error)
        if refused:
            self._say(refused, "warning")
        else:
            self.dismiss()

    def _action(self) -> Action:
        values = {name: field.value.strip() for name, field in self._inputs.items()}
        return read_fields(self._fault, values, self._main.place())

    def _show(self) -> None:
        try:
            found: Expectation = self._main.bridge.session.board.expect(self._action())
        except (FieldError, FaultError) as error:
            self._say(str(error), "warning")
        else:
            self._say(f"Expected now: {found.sentence}", "text")

    def _say(self, text: str, role: str) -> None:
        if not self._page.is_attached or not self._page.size.width:
            return
        lines = [self._styled(line, role) for line in wrap(text, self._page.size.width)[:LINES]]
        lines += [self._styled("", "text")] * (LINES - len(lines))
        self._page.update(Content("\n").join([*lines, self._styled(self.keyed(KEYS_WORDS), "quiet")]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
