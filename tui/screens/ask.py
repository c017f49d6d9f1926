"""Is it safe to ...? A prompt over the main screen, and the answer below it. The session goes on behind it."""

from pathlib import Path
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static
from textual.worker import Worker

from playbooks.recording.recorder import Recorder
from tui.keybindings.scopes import bindings_of
from tui.screens.reachable import Reachable
from tui.session.asking import Reply, put_question
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.format import duration
from tui.terminal.theme import Look

TITLE: Final = "Is it safe to"
HINT: Final = (
    "as crash leader(orders-0) for 10s, elect_leaders orders-0, heal all;"
    " several by ; with after 30s or when CONDITION in front"
)
KEYS_WORDS: Final = f"enter: ask {glyphs.NOTHING} esc"
BUSY_WORDS: Final = f"time goes on {glyphs.NOTHING} esc: never mind"


class AskScreen(ModalScreen[None], Reachable):
    """One question at a time, about the instant at which it is put."""

    SCOPE = "question"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("question")

    def __init__(self, look: Look, bridge: SimBridge, path: Path, recorder: Recorder | None, broker: int) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._path = path
        self._recorder = recorder
        self._prompt = Input(f"restart broker({broker})", id="ask-prompt", select_on_focus=False)
        self._page = Static()
        self._work: Worker[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a question is being answered."""
        return self._work is not None and self._work.is_running

    def compose(self) -> ComposeResult:
        """The prompt, and a page that grows."""
        with VerticalScroll(id="ask"):
            yield Static(self._styled(TITLE, "calm"))
            yield self._prompt
            yield self._page

    def on_mount(self) -> None:
        """Ready to be typed at."""
        session = self._bridge.session
        then = f"about {duration(session.cluster.now_us)}, the instant on the screen, and not about the present"
        self._show([*[(then, "warning")] * session.in_past, (HINT, "text"), (KEYS_WORDS, "quiet")])
        self._prompt.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Put the question, as of now."""
        text = message.value.strip()
        if text and not self.busy:
            self._work = self.run_worker(self._ask(text), name="ask", exclusive=True, exit_on_error=False)

    async def _ask(self, text: str) -> None:
        at_us = self._bridge.session.cluster.now_us
        self._tell(f"asking about {duration(at_us)}")
        reply = await put_question(text, self._path, at_us, self._recorder, self._tell)
        self._answer(at_us, reply)

    def _tell(self, text: str) -> None:
        self._show([(text, "text"), (BUSY_WORDS, "quiet")])

    def _answer(self, at_us: int, reply: Reply) -> None:
        first, *rest = reply.lines
        lines = [(f"at {duration(at_us)}: {first}", reply.role), *((line, "text") for line in rest)]
        self._show([*lines, (KEYS_WORDS, "quiet")])

    def action_leave(self) -> None:
        """Stop asking; leave when nothing is asked."""
        if self.busy and self._work is not None:
            self._work.cancel()
            self._work = None
            self._show([("never mind", "text"), (KEYS_WORDS, "quiet")])
        else:
            self.dismiss()

    def _show(self, lines: list[tuple[str, str]]) -> None:
        if self._page.is_attached:
            self._page.update(Content("\n").join([self._styled(text, role) for text, role in lines]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._look.text(text), Style.from_rich_style(self._look.style(role)))
