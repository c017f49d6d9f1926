"""Help page about the current screen, and the glossary."""

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
from tui.screens.base import OverlayPage
from tui.terminal.theme import Appearance
from tui.viewmodel import help as help_text
from tui.viewmodel.help import CLUSTER, Line, ScreenHelp


class HelpScreen(ModalScreen[None], OverlayPage):
    """Help page: the current screen, all keys, the legend of marks, basic terms. The session continues."""

    SCOPE = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("help")

    def __init__(
        self, appearance: Appearance, keys: Sequence[KeyBinding] = all_keys(), help_entry: ScreenHelp = CLUSTER
    ) -> None:
        """``help_entry`` describes the current screen, which comes first."""
        super().__init__()
        self._appearance = appearance
        self._keys = keys
        self._here = help_entry

    def compose(self) -> ComposeResult:
        """Yield one scrolling page."""
        with VerticalScroll(id="help"):
            yield Static(styled(help_text.lines(self._here, self._keys), self._appearance))

    def action_glossary(self) -> None:
        """Open the glossary."""
        self.app.push_screen(GlossaryScreen(self._appearance, self._keys))

    async def action_main(self, action: str) -> None:
        """Run an action of the main screen; help itself closes the page."""
        if action == "help":
            self.dismiss()
        else:
            await super().action_main(action)


class GlossaryScreen(ModalScreen[None], OverlayPage):
    """Glossary of terms and keys, filtered by what is typed."""

    SCOPE = "word"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("word")

    def __init__(self, appearance: Appearance, keys: Sequence[KeyBinding] = all_keys()) -> None:
        super().__init__()
        self._appearance = appearance
        self._keys = keys
        self._prompt = Input(id="glossary-prompt", placeholder="type a term; esc closes")
        self._page = Static()
        self._scroll = VerticalScroll(self._page, id="glossary-page", can_focus=False)

    def compose(self) -> ComposeResult:
        """Yield the prompt, and the terms below it."""
        with VerticalScroll(id="glossary"):
            yield self._prompt
            yield self._scroll

    def on_mount(self) -> None:
        """Show all terms."""
        self._show("")
        self._prompt.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Show the terms that match."""
        self._show(message.value)

    def action_scroll(self, lines: int) -> None:
        """Scroll the page."""
        self._scroll.scroll_relative(y=lines, animate=False)

    def _show(self, typed: str) -> None:
        found = help_text.search_terms(typed)
        lines: list[Line] = [((f"{each.word}  ", "key"), (each.meaning, "text")) for each in found]
        lines += [((f"{key.shown}  ", "key"), (f"key: {words}", "text")) for key, words in self._keys_about(typed)]
        self._page.update(styled(lines or [(("no matching term", "quiet"),)], self._appearance))

    def _keys_about(self, typed: str) -> list[tuple[KeyBinding, str]]:
        """Return keys whose description matches, with their scope; none before something is typed."""
        wanted = typed.strip().lower()
        places = {each.name: f", {each.title[0].lower()}{each.title[1:]}" for each in scopes()}
        return [
            (key, f"{key.description}{places.get(key.group, '')}")
            for key in self._keys
            if wanted and wanted in key.description.lower() and not key.action.startswith("pick('")
        ]


def styled(lines: Sequence[Line], appearance: Appearance) -> Content:
    """Return lines of a page in the colours of an appearance."""
    return Content("\n").join(Content.assemble(*(_piece(*piece, appearance) for piece in line)) for line in lines)


def _piece(text: str, role: str, appearance: Appearance) -> Content:
    shown = "\n".join(appearance.text(part) for part in text.split("\n"))
    return Content.styled(shown, Style.from_rich_style(appearance.style(role)))
