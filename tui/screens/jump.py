"""Labels over whatever is beneath: a letter goes there."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from tui.keybindings.scopes import bindings_of
from tui.terminal.theme import Look
from tui.viewmodel import jump
from tui.viewmodel.jump import Place


class JumpScreen(ModalScreen[None]):
    """Leaves at the first key that is no letter of a label, at a click, and when the size changes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("label")

    def __init__(self, look: Look, places: Sequence[Place], go: Callable[[Place], None]) -> None:
        super().__init__()
        self._places = places
        self._names = jump.labels(len(places))
        self._go = go
        self._typed = ""
        self._size_before: Size | None = None
        style = Style.from_rich_style(look.style("jump"))
        self._labels: list[Static] = []
        for name, place in zip(self._names, places, strict=True):
            label = Static(Content.styled(name, style), classes="jump-label")
            label.styles.offset = (place.x, place.y)
            self._labels.append(label)

    def compose(self) -> ComposeResult:
        """One label for each place."""
        yield from self._labels

    def on_key(self, event: events.Key) -> None:
        """Narrow it down, and go where one is left."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        self._typed += event.character or event.key
        found = jump.left(self._names, self._typed)
        if found and self._names[found[0]] != self._typed:
            for number, label in enumerate(self._labels):
                label.display = number in found
            return
        self.dismiss()
        if found:
            self._go(self._places[found[0]])

    def on_click(self, _event: events.Click) -> None:
        """Never mind."""
        self.dismiss()

    def on_resize(self, event: events.Resize) -> None:
        """Everything stands somewhere else."""
        if self._size_before not in (None, event.size):
            self.dismiss()
        self._size_before = event.size
