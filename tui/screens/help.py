"""The help page: keys from the key map, the meaning of the glyphs, five words of Kafka."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style as TextualStyle
from textual.widgets import Static

from tui import glyphs
from tui.keymap import GROUPS, KEYS, Key
from tui.theme import Look

LEGEND: Final = (
    (glyphs.LEADER, "leader", "leader, with its log end offset (LEO)"),
    (glyphs.IN_SYNC, "in_sync", "in-sync follower; = as far as the leader, -n records behind"),
    (glyphs.LAGGING, "lagging", "lagging: not in the ISR"),
    (glyphs.DOWN, "down", "its broker is down"),
    (glyphs.TRUNCATING, "truncating", "is cutting its log back to what the leader has"),
    (glyphs.DIVERGED, "diverged", "holds records that differ from the leader's"),
    (glyphs.LOST, "lost", "acknowledged, and not in the leader's log"),
    (glyphs.SPLIT, "alarm", "takes itself to lead, but another was elected: a split view"),
    (glyphs.FENCED, "lagging", "behind a broker: fenced, the controller does not count on it"),
    (glyphs.LEAVING, "lagging", "behind a broker: in controlled shutdown"),
    (glyphs.STALE, "lagging", "behind a broker, with a number: so many partitions that it knows older than decided"),
    ("7", "epoch2", "one record, written in leader epoch 7, below its replica's high watermark"),
    (glyphs.ABOVE_HW, "above2", "one record above its replica's high watermark: not yet committed there"),
)

WORDS: Final = (
    ("LEO", "log end offset: where the next record goes"),
    ("HW", "high watermark: consumers read below it, it is what all in-sync replicas hold"),
    ("ISR", "in-sync replicas: who must have a record before acks=all answers"),
    ("epoch", "counts the leaders of a partition; digits in the lanes are epochs"),
    ("ELR", "eligible leader replicas: out of the ISR, but known to hold all that is committed"),
    ("lag", "records that the slowest group has yet to read"),
)


class HelpScreen(ModalScreen[None]):
    """What you see, and what you can press. The session goes on behind it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "app.pop_screen", "close"),
    ]

    def __init__(self, look: Look, keys: Sequence[Key] = KEYS) -> None:
        super().__init__()
        self._look = look
        self._keys = keys

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="help"):
            yield Static(self._page())

    def _page(self) -> Content:
        lines: list[Content] = []
        for group, title in GROUPS.items():
            lines.append(self._heading(title))
            lines += [self._line(key.shown, "key", key.words, 11) for key in self._keys if key.group == group]
        lines.append(self._heading("After f"))
        lines.append(self._line("letter", "key", "inject that fault at once on the broker under the cursor", 11))
        lines.append(self._line("arrows", "key", "read about another fault, aim at another broker; esc leaves", 11))
        lines.append(self._heading("What you see"))
        lines += [self._line(glyph, role, words, 3) for glyph, role, words in LEGEND]
        lines.append(self._heading("Words"))
        lines += [self._line(word, "strong", words, 7) for word, words in WORDS]
        return Content("\n").join(lines)

    def _heading(self, text: str) -> Content:
        return self._styled(f"\n{text}" if text != "Time" else text, "calm")

    def _line(self, mark: str, role: str, words: str, width: int) -> Content:
        return Content.assemble(
            self._styled(mark, role), self._styled(" " * max(1, width - cell_len(mark)) + words, "text")
        )

    def _styled(self, text: str, role: str) -> Content:
        shown = "\n".join(self._look.text(part) for part in text.split("\n"))
        style: Style = self._look.style(role)
        return Content.styled(shown, TextualStyle.from_rich_style(style))
