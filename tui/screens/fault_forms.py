"""Forms: target, duration and parameters of a fault, and a new value of a setting."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from faults.declarations import ACCEPTS, Action, ExpectedImpact, Fault, FaultError
from playbooks.model import action_of, allowed_text, default_text, value_text
from playbooks.parser.document import ErrorNotes, Node, Scalar
from playbooks.parser.document import Mapping as YamlMapping
from playbooks.parser.steps import TimedSteps
from tui.keybindings.scopes import bindings_of
from tui.screens.base import OverlayPage
from tui.session.typed_commands import CommandContext, node
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Appearance

if TYPE_CHECKING:
    from tui.screens.cluster import MainScreen

VALUE_KEYS_HELP: Final = f"enter sets it {glyphs.NOTHING} esc"
CHOICE_WORDS: Final = f"{{value_up}} {{value_down}} next value {glyphs.NOTHING} {VALUE_KEYS_HELP}"
VALUE_LINES: Final = 7
"""Lines below the field."""


@dataclass(frozen=True, slots=True)
class SettingPrompt:
    """Setting to change in a form: title, description, current and allowed values."""

    title: str
    about: str
    now: str
    allowed: str
    check: Callable[[str], str]
    """Returns why a text is not a valid value; empty if it is."""
    use: Callable[[str], Awaitable[str]]
    """Sets the value; returns the error, empty for none."""
    choices: tuple[str, ...] = ()


class ValueForm(ModalScreen[None], OverlayPage):
    """Form of one setting; stays open until the value is set."""

    SCOPE = "value"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("value")

    def __init__(self, appearance: Appearance, prompt: SettingPrompt) -> None:
        super().__init__()
        self._appearance = appearance
        self._prompt = prompt
        self._input = Input(prompt.now, id="value-input", classes="form-value", select_on_focus=False)
        self._page = Static(id="value-page")

    def compose(self) -> ComposeResult:
        """Yield the field, and its description."""
        with Vertical(id="value"):
            yield Static(self._styled(self._prompt.title, "calm"))
            label = Static(self._styled("value", "key"), classes="form-label")
            yield Horizontal(label, self._input, classes="form-row")
            yield self._page

    def on_mount(self) -> None:
        """Focus the field."""
        self._input.focus()
        self._input.cursor_position = len(self._input.value)
        self.call_after_refresh(self._show)

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap the lines for the new size."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, _message: Input.Changed) -> None:
        """Check the new text."""
        self._show()

    def action_step(self, by: int) -> None:
        """Select the next allowed value, if there is a list of them."""
        choices = self._prompt.choices
        if not choices:
            self._show("no list of values: type one")
            return
        typed = self._input.value.strip()
        at = (choices.index(typed) + by) % len(choices) if typed in choices else 0
        self._input.value = choices[at]
        self._input.cursor_position = len(choices[at])

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        """Set the value, or show the error."""
        text = message.value.strip()
        refused = self._prompt.check(text) or await self._prompt.use(text)
        if refused:
            self._show(refused)
        else:
            self.dismiss()

    def _show(self, refused: str = "") -> None:
        if not self._page.is_attached or not self._page.size.width:
            return
        form, text, width = self._prompt, self._input.value.strip(), self._page.size.width
        wrong = refused or form.check(text)
        last = (wrong, "warning") if wrong else ("current value" if text == form.now else "valid", "calm")
        texts = (
            (form.about, "text"),
            (f"current: {form.now or 'default'}", "quiet"),
            (f"allowed: {form.allowed}", "text"),
        )
        lines = [self._styled(line, role) for each, role in (*texts, last) for line in wrap(each, width)[:2]]
        lines = [*lines[:VALUE_LINES], *[self._styled("", "text")] * (VALUE_LINES - len(lines))]
        words = self.keyed(CHOICE_WORDS if form.choices else VALUE_KEYS_HELP)
        self._page.update(Content("\n").join([*lines, self._styled(words, "quiet")]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))


# The fields of a fault's form, and the action that they make.


TARGET: Final = "target"
FOR: Final = "for"
PATH: Final = "form"


class FormFieldError(ValueError):
    """Invalid value of a field; the message names what was found and what is allowed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Field:
    """Field of the form: name, initial value, description."""

    name: str
    value: str
    """Initial value."""
    words: str
    """Description and allowed values."""


def fields(fault: Fault, target: str) -> tuple[Field, ...]:
    """Return the fields of a fault's form for a target; the initial values are those of the fault's letter."""
    form_fields = [Field(TARGET, target, ACCEPTS[fault.accepts])]
    if fault.is_lasting:
        usual = value_text("duration", fault.default_duration_us) if fault.default_duration_us >= 0 else ""
        form_fields.append(Field(FOR, usual, "duration, such as 8s; empty: until it is healed"))
    for each in fault.params:
        allowed = allowed_text(each)
        form_fields.append(Field(each.name, default_text(each), f"{allowed}: {each.doc}" if allowed else each.doc))
    return tuple(form_fields)


def read_fields(fault: Fault, values: Mapping[str, str], context: CommandContext) -> Action:
    """Return the action of the filled-in fields; empty fields and defaults are left out.

    Raises:
        FormFieldError: a field is invalid.
    """
    given = {name: " ".join(node(word, context) for word in text.split()) for name, text in values.items()}
    for each in fault.params:
        if given.get(each.name) == default_text(each):
            del given[each.name]
    entries: dict[str, tuple[Scalar, Node]] = {"inject": (_scalar("inject"), _scalar(fault.name))}
    entries |= {name: (_scalar(name), _scalar(text)) for name, text in given.items() if text}
    notes = ErrorNotes(PATH, [], context.facts)
    step = TimedSteps().read(YamlMapping(1, 1, entries), 0, "", notes)
    if notes.problems or step is None:
        problem = min(notes.problems)
        raise FormFieldError(problem.key, problem.message)
    return action_of(step)


def _scalar(text: str) -> Scalar:
    return Scalar(1, 1, text, plain=True, exact=0)


# The form of a fault: target, duration and parameters, with the predicted impact; enter injects it.


FAULT_KEYS_HELP: Final = (
    f"enter injects {glyphs.NOTHING} {{form_queue}} queues while paused {glyphs.NOTHING} {{form_up}} {{form_down}}"
    f" field {glyphs.NOTHING} esc"
)
FAULT_LINES: Final = 4
"""Lines for the predicted impact, or for the error."""


class FaultForm(ModalScreen[None], OverlayPage):
    """Form of a fault; stays open until the fault is injected or queued."""

    SCOPE = "form"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("form")

    def __init__(self, appearance: Appearance, main: "MainScreen", fault: Fault, target: str) -> None:
        super().__init__()
        self._appearance = appearance
        self._main = main
        self._fault = fault
        self._fields = fields(fault, target)
        self._inputs = {
            each.name: Input(each.value, classes="form-value", select_on_focus=False) for each in self._fields
        }
        self._page = Static(id="form-page")

    def compose(self) -> ComposeResult:
        """Yield a line for each field, and the predicted impact."""
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
        """Focus the second field, which is the most likely to be changed."""
        named = list(self._inputs.values())
        named[min(1, len(named) - 1)].focus()
        self.call_after_refresh(self._show)

    def on_input_changed(self, _message: Input.Changed) -> None:
        """Update the predicted impact."""
        self._show()

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        """Inject the fault, or show the error."""
        self._do(self._main.operator.injected)

    def action_queue(self) -> None:
        """Queue the fault until time continues."""
        self._do(self._main.operator.queued)

    def _do(self, run: Callable[[Action], str]) -> None:
        try:
            refused = run(self._action())
        except FormFieldError as error:
            refused = str(error)
        if refused:
            self._say(refused, "warning")
        else:
            self.dismiss()

    def _action(self) -> Action:
        values = {name: field.value.strip() for name, field in self._inputs.items()}
        return read_fields(self._fault, values, self._main.commands.context())

    def _show(self) -> None:
        try:
            found: ExpectedImpact = self._main.session_controller.session.board.predict_action(self._action())
        except (FormFieldError, FaultError) as error:
            self._say(str(error), "warning")
        else:
            self._say(f"Impact now: {found.sentence}", "text")

    def _say(self, text: str, role: str) -> None:
        if not self._page.is_attached or not self._page.size.width:
            return
        lines = [self._styled(line, role) for line in wrap(text, self._page.size.width)[:FAULT_LINES]]
        lines += [self._styled("", "text")] * (FAULT_LINES - len(lines))
        self._page.update(Content("\n").join([*lines, self._styled(self.keyed(FAULT_KEYS_HELP), "quiet")]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))
