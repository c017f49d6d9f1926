"""The help page over what is looked at, and the glossary behind it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.keymap import KEYS, Key
from tui.theme import Look
from tui.viewmodel import glossary, help_page
from tui.viewmodel.help_page import CLUSTER, Here, Line


class HelpScreen(ModalScreen[None]):
    """What you see, and what you can press. The session goes on behind it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "app.pop_screen", "close"),
        Binding("g", "glossary", "all words", show=False),
    ]

    def __init__(self, look: Look, keys: Sequence[Key] = KEYS, here: Here = CLUSTER) -> None:
        """``here`` is what is looked at, which comes first."""
        super().__init__()
        self._look = look
        self._keys = keys
        self._here = here

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="help"):
            yield Static(styled(help_page.lines(self._here, self._keys), self._look))

    def action_glossary(self) -> None:
        """Every word."""
        self.app.push_screen(GlossaryScreen(self._look))


class GlossaryScreen(ModalScreen[None]):
    """Words and what they mean; what is typed chooses among them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "close"),
        Binding("up", "scroll(-1)", "a line up", show=False, priority=True),
        Binding("down", "scroll(1)", "a line down", show=False, priority=True),
        Binding("pageup", "scroll(-10)", "ten lines up", show=False, priority=True),
        Binding("pagedown", "scroll(10)", "ten lines down", show=False, priority=True),
    ]

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._prompt = Input(id="glossary-prompt", placeholder="type a word; esc")
        self._page = Static()
        self._scroll = VerticalScroll(self._page, id="glossary-page", can_focus=False)

    def compose(self) -> ComposeResult:
        """The prompt, and the terms below it."""
        with VerticalScroll(id="glossary"):
            yield self._prompt
            yield self._scroll

    def on_mount(self) -> None:
        """All of them."""
        self._show("")
        self._prompt.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Those that are meant."""
        self._show(message.value)

    def action_scroll(self, lines: int) -> None:
        """Read on."""
        self._scroll.scroll_relative(y=lines, animate=False)

    def _show(self, typed: str) -> None:
        found = glossary.found(typed)
        lines: list[Line] = [((f"{each.word}  ", "key"), (each.meaning, "text")) for each in found]
        self._page.update(styled(lines or [(("no such word", "quiet"),)], self._look))


def styled(lines: Sequence[Line], look: Look) -> Content:
    """Lines of a page in the colours of a look."""
    return Content("\n").join(Content.assemble(*(_piece(*piece, look) for piece in line)) for line in lines)


def _piece(text: str, role: str, look: Look) -> Content:
    shown = "\n".join(look.text(part) for part in text.split("\n"))
    return Content.styled(shown, Style.from_rich_style(look.style(role)))
