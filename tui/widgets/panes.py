"""The small live panes and the frame around each."""

from textual import events
from textual.containers import Container
from textual.message import Message

from tui.keybindings.keymap import KEYS, Key, key_of
from tui.keybindings.modes import Mode
from tui.terminal.theme import Look
from tui.viewmodel.control import ControlBar
from tui.viewmodel.row import HEAL
from tui.viewmodel.status_bar import StatusBar
from tui.viewmodel.timeline.feed import Line
from tui.widgets import panes_part as paint
from tui.widgets.line_widget import RIGHT, LineGrid
from tui.widgets.rows import side
from tui.widgets.rows_part import Rows


class Pane(Container):
    """A border with a title around one live widget; the title is only set when it changed."""

    def __init__(self, child: LineGrid, look: Look, *, title: str, id: str) -> None:  # type: ignore[type-arg]  # noqa: A002
        super().__init__(child, id=id)
        self._look = look
        self._child = child
        self._words = (title, "")
        self.caption(title)

    @property
    def heading(self) -> str:
        """What stands above it, as it was asked for."""
        return self._words[0]

    def text(self) -> str:
        """What stands in it."""
        return self._child.text()

    def set_look(self, look: Look) -> None:
        """Write the words on the border in another look."""
        self._look = look
        self.caption(*self._words)

    def caption(self, title: str, subtitle: str = "") -> None:
        """Words on the border, above and below."""
        self._words = (title, subtitle)
        title, subtitle = self._look.text(title).replace("[", "\\["), self._look.text(subtitle).replace("[", "\\[")
        if title != self.border_title:
            self.border_title = title
        if subtitle != (self.border_subtitle or ""):
            self.border_subtitle = subtitle


class Status(LineGrid[StatusBar | ControlBar]):
    """The status bar: the session's line with words that are keys, and the control plane's with nodes to break."""

    class Aimed(Message):
        """A node of the control plane was clicked."""

        def __init__(self, node: int) -> None:
            super().__init__()
            self.node = node

    def __init__(self, look: Look) -> None:
        super().__init__(paint.status, look, id="status")

    class Pressed(Message):
        """A word that stands for a key was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_click(self, event: events.Click) -> None:
        """A node's own name, or a word that stands for a key."""
        row = self.rows[event.y] if 0 <= event.y < len(self.rows) else None
        node = row.node_at(event.x) if isinstance(row, ControlBar) else -1
        if node >= 0:
            self.post_message(self.Aimed(node))
        elif isinstance(row, StatusBar) and (key := row.key_at(event.x)):
            self.post_message(self.Pressed(key))


class FeedPane(LineGrid[Line]):
    """The event feed."""

    def __init__(self, look: Look) -> None:
        super().__init__(paint.feed, look, id="feed")


class SidePane(Rows):
    """Rows of labelled pieces; a click on a fault's row heals it."""

    class Heal(Message):
        """The operator clicked ``[heal]``."""

        def __init__(self, fault: int) -> None:
            super().__init__()
            self.fault = fault

    class Pointed(Message):
        """A line about somebody was clicked with the right button, or twice with the left one."""

        def __init__(self, about: str, *, faults: bool) -> None:
            super().__init__()
            self.about = about
            self.faults = faults
            """Whether faults are asked for."""

    def __init__(self, look: Look, id: str) -> None:  # noqa: A002
        super().__init__(look, id, side)

    def on_click(self, event: events.Click) -> None:
        """Only the word at the right edge heals, so that a stray click does nothing."""
        if not 0 <= event.y < len(self.rows):
            return
        row, right = self.rows[event.y], event.button == RIGHT
        if self.heals(event.x, event.y) and not right:
            self.post_message(self.Heal(row.fault))
        elif row.about and (right or event.chain == 2):
            self.post_message(self.Pointed(row.about, faults=right))

    def heals(self, x: int, y: int) -> bool:
        """Whether the word that heals a fault stands there."""
        return self.rows[y].fault >= 0 and self.size.width - len(HEAL) <= x < self.size.width


class KeyBar(LineGrid[paint.KeyBarRow]):
    """The keys that matter, at the bottom; a click presses one."""

    class Pressed(Message):
        """A key of the bar was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, look: Look, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(paint.key_bar, look, id="keybar")
        self._keys = keys

    def on_resize(self, event: events.Resize) -> None:
        """What fits depends on the width."""
        self.show((paint.KeyBarRow(event.size.width, self._keys),))

    def on_click(self, event: events.Click) -> None:
        """Press the key under the pointer."""
        for start, end, key in paint.bar_places(self.size.width, self._keys):
            if start <= event.x < end:
                slower = key.id == "faster" and event.x < start + len(key_of("slower", self._keys))
                self.post_message(self.Pressed("slower" if slower else key.action))


class ModeBar(LineGrid[paint.ModeBarRow]):
    """The modes, and the keys of this one, at the bottom of a mode; a click changes to another."""

    class Pressed(Message):
        """A mode was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, look: Look, mode: Mode, hints: tuple[str, ...]) -> None:
        super().__init__(paint.mode_bar, look, id="modebar")
        self._row = paint.ModeBarRow(mode.name, hints)
        self.show((self._row,))

    def on_click(self, event: events.Click) -> None:
        """Change to the mode under the pointer, or press the key that is named there."""
        for start, end, mode in paint.mode_places(self._row, self.size.width):
            if start <= event.x < end:
                self.post_message(self.Pressed(f"mode('{mode.name}')"))
        for start, end, key in paint.hint_places(self._row, self.size.width):
            if start <= event.x < end:
                self.app.simulate_key(key)
