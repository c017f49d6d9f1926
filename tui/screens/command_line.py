"""Command line at the bottom: a prompt with completions and error messages."""

from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.keybindings.scopes import bindings_of
from tui.screens.base import OverlayPage
from tui.session.typed_commands import KeyCommand, ShowCommand, TypedError, completed, hints, read_line
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.terminal.theme import Appearance

if TYPE_CHECKING:
    from tui.screens.cluster import MainScreen

KEPT: Final = 50
"""Lines kept in the history."""
KEYS_WORDS: Final = (
    f"enter {glyphs.NOTHING} {{line_complete}} completes {glyphs.NOTHING} {{line_up}} {{line_down}} history"
    f" {glyphs.NOTHING} esc"
)


class CommandScreen(ModalScreen[None], OverlayPage):
    """Command line; stays open with its text until the command succeeds. The session continues."""

    SCOPE = "line"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("line")

    def __init__(self, appearance: Appearance, main: "MainScreen", text: str = "", back: int = 0) -> None:
        """``text`` is the initial text, with the cursor ``back`` characters before its end."""
        super().__init__()
        self._appearance = appearance
        self._main = main
        self._prompt = Input(text, id="command-prompt", select_on_focus=False)
        self._back = back
        self._page = Static(id="command-page")
        self._at = len(main.commands.typed_before)
        self._error = ""

    def compose(self) -> ComposeResult:
        """Yield the prompt, and three lines."""
        with Vertical(id="command"):
            with Horizontal(id="command-line"):
                yield Static(self._styled(":", "key"))
                yield self._prompt
            yield self._page

    def on_mount(self) -> None:
        """Focus the prompt."""
        self._prompt.focus()
        self._prompt.cursor_position = len(self._prompt.value) - self._back
        self.call_after_refresh(self._show)

    def on_resize(self, _event: events.Resize) -> None:
        """Show as many hints as fit the new width."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, _message: Input.Changed) -> None:
        """Show new hints instead of the last error."""
        self._error = ""
        self._show()

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        """Run the command, or show what is wrong and keep the line."""
        text = message.value.strip()
        if not text.lstrip(":"):
            self.dismiss()
            return
        before = self._main.commands.typed_before
        self._main.commands.typed_before = (*[each for each in before if each != text], text)[-KEPT:]
        self._at = len(self._main.commands.typed_before)
        try:
            typed = read_line(text, self._main.commands.context())
        except TypedError as error:
            self._refuse(str(error))
            return
        if isinstance(typed, KeyCommand | ShowCommand):  # it may open a page, which has to be over the main screen
            self.dismiss()
            self._main.call_later(self._main.commands.run, typed)
            return
        self._error = await self._main.commands.run(typed)
        if self._error:
            self._show()
        else:
            self.dismiss()

    def action_complete(self) -> None:
        """Complete the last word as far as it is unambiguous."""
        self._prompt.value = completed(self._prompt.value, self._main.session_controller.view)
        self._prompt.cursor_position = len(self._prompt.value)

    def action_before(self, lines: int) -> None:
        """Show another line of the history."""
        typed = self._main.commands.typed_before
        self._at = max(0, min(len(typed), self._at + lines))
        self._prompt.value = typed[self._at] if self._at < len(typed) else ""
        self._prompt.cursor_position = len(self._prompt.value)

    def _refuse(self, why: str) -> None:
        self._error = why
        self._show()

    def _show(self) -> None:
        if not self._page.is_attached or not self._page.size.width:
            return
        found = hints(self._prompt.value, self._main.session_controller.view)
        width = self._page.size.width
        first = wrap(self._error, width)[:2] if self._error else [_fitting(found.words, width)]
        lines = [(line, "warning" if self._error else "text") for line in first]
        lines += [(found.about, "quiet")] if len(lines) == 1 else []
        lines.append((self.keyed(KEYS_WORDS), "quiet"))
        shown = [self._styled(text if len(text) <= width else f"{text[: width - 1]}…", role) for text, role in lines]
        self._page.update(Content("\n").join(shown))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))


def _fitting(words: tuple[str, ...], width: int) -> str:
    """Return as many words as fit, and the number of others."""
    line = ""
    for at, word in enumerate(words):
        rest = f"  +{len(words) - at}"
        longer = f"{line}  {word}" if line else word
        if len(longer) + (len(rest) if at + 1 < len(words) else 0) > width:
            return f"{line}{rest}"
        line = longer
    return line
