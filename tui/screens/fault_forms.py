"""A setting to be given another value: what it is for, what it is now, what it takes; nothing else is let through."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.keybindings.scopes import bindings_of
from tui.screens.reachable import Reachable
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Look

KEYS_WORDS: Final = f"enter sets it {glyphs.NOTHING} esc"
CHOICE_WORDS: Final = f"{{value_up}} {{value_down}} another one {glyphs.NOTHING} {KEYS_WORDS}"
LINES: Final = 7
"""Lines below the field."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A setting."""

    title: str
    about: str
    now: str
    allowed: str
    check: Callable[[str], str]
    """Why a text is no value of it; empty where it is one."""
    use: Callable[[str], Awaitable[str]]
    """Set it; why not, where that was refused."""
    choices: tuple[str, ...] = ()


class ValueForm(ModalScreen[None], Reachable):
    """Stays open until what stands in it can be set."""

    SCOPE = "value"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("value")

    def __init__(self, look: Look, asked: Asked) -> None:
        super().__init__()
        self._look = look
        self._asked = asked
        self._input = Input(asked.now, id="value-input", classes="form-value", select_on_focus=False)
        self._page = Static(id="value-page")

    def compose(self) -> ComposeResult:
        """The field, and what there is to know."""
        with Vertical(id="value"):
            yield Static(self._styled(self._asked.title, "calm"))
            label = Static(self._styled("value", "key"), classes="form-label")
            yield Horizontal(label, self._input, classes="form-row")
            yield self._page

    def on_mount(self) -> None:
        """Ready to be typed at."""
        self._input.focus()
        self._input.cursor_position = len(self._input.value)
        self.call_after_refresh(self._show)

    def on_resize(self, _event: events.Resize) -> None:
        """Lines break elsewhere."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, _message: Input.Changed) -> None:
        """It may be right or wrong now."""
        self._show()

    def action_step(self, by: int) -> None:
        """The next of the allowed values, where they can be counted."""
        choices = self._asked.choices
        if not choices:
            self._show("there is no list of values to choose from: type one")
            return
        typed = self._input.value.strip()
        at = (choices.index(typed) + by) % len(choices) if typed in choices else 0
        self._input.value = choices[at]
        self._input.cursor_position = len(choices[at])

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        """Set it, or say why not."""
        text = message.value.strip()
        refused = self._asked.check(text) or await self._asked.use(text)
        if refused:
            self._show(refused)
        else:
            self.dismiss()

    def _show(self, refused: str = "") -> None:
        if not self._page.is_attached or not self._page.size.width:
            return
        asked, text, width = self._asked, self._input.value.strip(), self._page.size.width
        wrong = refused or asked.check(text)
        last = (wrong, "warning") if wrong else ("as it is now" if text == asked.now else "can be set", "calm")
        told = (
            (asked.about, "text"),
            (f"now: {asked.now or 'its default'}", "quiet"),
            (f"takes: {asked.allowed}", "text"),
        )
        lines = [self._styled(line, role) for each, role in (*told, last) for line in wrap(each, width)[:2]]
        lines = [*lines[:LINES], *[self._styled("", "text")] * (LINES - len(lines))]
        words = self.keyed(CHOICE_WORDS if asked.choices else KEYS_WORDS)
        self._page.update(Content("\n").join([*lines, self._styled(words, "quiet")]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
