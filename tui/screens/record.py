"""Page of the records at an offset: contents, producer, and the replicas that hold them."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from playbooks.model.record_contents import inspect_record
from tui.keybindings.scopes import bindings_of
from tui.screens.base import OverlayPage
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import record_inspector

KEYS_WORDS: Final = (
    f"{{record_left}} {{record_right}} other offset {glyphs.NOTHING} {{record_back}} {{record_on}} ten"
    f" {glyphs.NOTHING} {{record_copy}} copy {glyphs.NOTHING} esc"
)


class RecordScreen(ModalScreen[None], OverlayPage):
    """Page of the records written at an offset up to the time of the screen below; the session continues."""

    SCOPE = "record"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("record")

    def __init__(
        self, appearance: Appearance, session_controller: SessionController, partition: str, offset: int
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._session_controller = session_controller
        self._partition = partition
        self._page = Static()
        self._text = ""
        self.log_offset = offset

    def compose(self) -> ComposeResult:
        """Yield one scrolling page."""
        with VerticalScroll(id="record"):
            yield self._page

    def on_mount(self) -> None:
        """Show the first offset."""
        self.action_move(0)

    def action_move(self, offsets: int) -> None:
        """Show another offset, not below 0."""
        self.log_offset = max(0, self.log_offset + offsets)
        records = inspect_record(self._session_controller.session.cluster, self._partition, self.log_offset)
        lines: list[Content] = []
        self._text = record_inspector.text(records, self._partition, self.log_offset)
        for each in records:
            lines.append(self._styled(record_inspector.heading(each), "calm"))
            lines += [self._line(label, words) for label, words in record_inspector.rows(each)]
        if not records:
            lines.append(self._styled(f"{self._partition} offset {self.log_offset}", "calm"))
            lines.append(self._styled(record_inspector.NOTHING_YET, "text"))
        lines.append(self._styled(self.keyed(KEYS_WORDS), "quiet"))
        self._page.update(Content("\n").join(lines))

    def action_copy(self) -> None:
        """Copy the page as text."""
        self.app.copy_to_clipboard(self._text)
        self.notify(f"copied {self._partition} offset {self.log_offset}", markup=False)

    def _line(self, label: str, words: str) -> Content:
        return Content.assemble(
            self._styled(label.ljust(record_inspector.RECORD_LABEL), "key"), self._styled(words, "text")
        )

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))
