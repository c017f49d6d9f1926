"""The help page over what is looked at, and the glossary behind it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static

from tui.keybindings.keymap import KeyBinding
from tui.keybindings.scopes import all_keys, bindings_of, scopes
from tui.screens.base import Reachable
from tui.terminal.theme import Look
from tui.viewmodel import help as help_text
from tui.viewmodel.help import CLUSTER, Here, Line


class HelpScreen(ModalScreen[None], Reachable):
    """What you see, and what you can press. The session goes on behind it."""

    SCOPE = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("help")

    def __init__(self, look: Look, keys: Sequence[KeyBinding] = all_keys(), here: Here = CLUSTER) -> None:
        """``here`` is what is looked at, which comes first."""
        super().__init__()
        self._look = look
        self._keys = keys
        self._here = here

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="help"):
            yield Static(styled(help_text.lines(self._here, self._keys), self._look))

    def action_glossary(self) -> None:
        """Every word."""
        self.app.push_screen(GlossaryScreen(self._look, self._keys))

    async def action_main(self, action: str) -> None:
        """A key that is the main screen's; asking for help again closes it."""
        if action == "help":
            self.dismiss()
        else:
            await super().action_main(action)


class GlossaryScreen(ModalScreen[None], Reachable):
    """Words and what they mean; what is typed chooses among them."""

    SCOPE = "word"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("word")

    def __init__(self, look: Look, keys: Sequence[KeyBinding] = all_keys()) -> None:
        super().__init__()
        self._look = look
        self._keys = keys
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
        found = help_text.found(typed)
        lines: list[Line] = [((f"{each.word}  ", "key"), (each.meaning, "text")) for each in found]
        lines += [((f"{key.shown}  ", "key"), (f"key: {words}", "text")) for key, words in self._keys_about(typed)]
        self._page.update(styled(lines or [(("no such word", "quiet"),)], self._look))

    def _keys_about(self, typed: str) -> list[tuple[KeyBinding, str]]:
        """Keys by what they do, with where they do it; none before something is typed."""
        wanted = typed.strip().lower()
        places = {each.name: f", {each.title[0].lower()}{each.title[1:]}" for each in scopes()}
        return [
            (key, f"{key.words}{places.get(key.group, '')}")
            for key in self._keys
            if wanted and wanted in key.words.lower() and not key.action.startswith("pick('")
        ]


def styled(lines: Sequence[Line], look: Look) -> Content:
    """Lines of a page in the colours of a look."""
    return Content("\n").join(Content.assemble(*(_piece(*piece, look) for piece in line)) for line in lines)


def _piece(text: str, role: str, look: Look) -> Content:
    shown = "\n".join(look.text(part) for part in text.split("\n"))
    return Content.styled(shown, Style.from_rich_style(look.style(role)))
