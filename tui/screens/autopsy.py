"""The autopsy of one finding over the main screen, as of when it is opened. The session goes on behind it."""

from pathlib import Path
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.worker import Worker

from playbooks.recorder import Recorder
from tui import glyphs
from tui.asking import recording_of
from tui.bridge import SimBridge
from tui.evidence import case_of, findings_so_far
from tui.explaining import explain
from tui.screens.mode import WHEEL
from tui.theme import Look
from tui.viewmodel import autopsy_page, remedies
from tui.viewmodel.autopsy import MOST_FRAMES
from tui.widgets.panes import Pane, SidePane

KEYS_WORDS: Final = (
    f"← → frame {glyphs.NOTHING} 1-5 go there {glyphs.NOTHING} ↑ ↓ scroll {glyphs.NOTHING} n N finding"
    f" {glyphs.NOTHING} w what saves"
    f" {glyphs.NOTHING} c copy {glyphs.NOTHING} e export {glyphs.NOTHING} esc"
)
SHORT_WORDS: Final = (
    f"← → frame {glyphs.NOTHING} 1-5 go there {glyphs.NOTHING} n N finding {glyphs.NOTHING} w what saves"
    f" {glyphs.NOTHING} c copy {glyphs.NOTHING} e export"
)
ASK_WORDS: Final = "w: run it again with one thing set otherwise at a time; takes a while, time goes on"
UNRECORDED: Final = "this session is not being recorded: it cannot be run again"
NONE_LEFT: Final = "it is whole again: nothing is wrong with records any more"

Lines = tuple[tuple[str, str], ...]


class AutopsyScreen(ModalScreen[int | None]):
    """One finding at a time. Returns the time of a frame that is to be gone to, None when it is just left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("left,h", "frame(-1)", "the frame before", show=False),
        Binding("right,l", "frame(1)", "the next frame", show=False),
        *(
            Binding(str(number), f"go({number})", f"to frame {number}", show=False)
            for number in range(1, MOST_FRAMES + 1)
        ),
        Binding("up,k", "scroll(-1)", "a line up", show=False),
        Binding("down,j", "scroll(1)", "a line down", show=False),
        Binding("pageup", "scroll(-10)", "ten lines up", show=False),
        Binding("pagedown", "scroll(10)", "ten lines down", show=False),
        Binding("n", "finding(1)", "the next finding", show=False),
        Binding("N", "finding(-1)", "the finding before", show=False),
        Binding("w", "why", "what would have saved it", show=False),
        Binding("c,y", "copy", "copy the sentence", show=False),
        Binding("e", "app.export", "a playbook of the session so far", show=False),
    ]

    def __init__(self, look: Look, bridge: SimBridge, number: int, recorder: Recorder | None) -> None:
        """``number`` is that of the finding, from 1; there has to be one of that number."""
        super().__init__()
        self._bridge = bridge
        self._recorder = recorder
        self._grid = SidePane(look, "autopsy-page")
        self._pane = Pane(self._grid, look, title="Autopsy", id="autopsy-pane")
        self.case = case_of(bridge, findings_so_far(bridge), number)
        self.at = 0
        """The frame that is marked, from 0."""
        self.answered = False
        """Whether the page tells what would have saved the records."""
        self._first = 0
        self._saved: Lines = self._unasked()
        self._work: Worker[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether it is being found out what would have saved the records."""
        return self._work is not None and self._work.is_running

    def compose(self) -> ComposeResult:
        """One page."""
        yield self._pane

    def on_mount(self) -> None:
        """The first look, when the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Another number of frames and lines fits."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the page."""
        width, height = self._grid.size
        if not self.is_mounted or not height:
            return
        rows = autopsy_page.build(self.case, self.at, width - 2, self._saved)
        self._first = max(0, min(self._first, len(rows) - height))
        self._grid.show(rows[self._first : self._first + height])
        self._pane.caption(autopsy_page.title(self.case), KEYS_WORDS if width > len(KEYS_WORDS) + 4 else SHORT_WORDS)

    def action_frame(self, frames: int) -> None:
        """Another frame."""
        self.at = max(0, min(self.at + frames, len(self.case.frames) - 1))
        self.present()

    def action_go(self, number: int) -> None:
        """Leave the page for the instant of a frame."""
        if number > len(self.case.frames):
            self.notify(f"there is no frame {number}: the last one is {len(self.case.frames)}")
            return
        self._stop()
        self.dismiss(self.case.frames[number - 1].at_us)

    def on_mouse_scroll_down(self) -> None:
        """The wheel."""
        self.action_scroll(WHEEL)

    def on_mouse_scroll_up(self) -> None:
        """The wheel."""
        self.action_scroll(-WHEEL)

    def action_scroll(self, lines: int) -> None:
        """Scroll; :meth:`present` knows where the page ends."""
        self._first = max(0, self._first + lines)
        self.present()

    def action_finding(self, findings: int) -> None:
        """Another finding of the session so far, which may have more of them by now, or none."""
        found = findings_so_far(self._bridge)
        if not found:
            self.notify(NONE_LEFT)
            return
        self._stop()
        number = min(self.case.number, len(found)) - 1
        self.case = case_of(self._bridge, found, (number + findings) % len(found) + 1)
        self.at = self._first = 0
        self._saved = self._unasked()
        self.present()

    def action_copy(self) -> None:
        """Copy the sentence."""
        self.app.copy_to_clipboard(self.case.finding.sentence)
        self.notify("copied the sentence")

    def action_why(self) -> None:
        """Find out what would have saved the records."""
        path = self._path()
        if path is not None and not self.busy:
            self._work = self.run_worker(self._explain(path), name="why", exclusive=True, exit_on_error=False)

    async def _explain(self, path: Path) -> None:
        case = self.case
        self._tell("running it again")
        found = await explain(case.number, path, case.now_us, self._recorder, self._tell)
        if found.found is None:
            self._say(((found.refusal, "warning"),))
        else:
            self.answered = True
            self._say(remedies.lines(found.found))

    def action_leave(self) -> None:
        """Stop asking; leave when nothing is asked."""
        if self.busy:
            self._stop()
            self._say((("never mind", "text"), *self._unasked()))
        else:
            self.dismiss(None)

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def _path(self) -> Path | None:
        return recording_of(self._bridge.session.recorded, self._recorder)

    def _unasked(self) -> Lines:
        return ((UNRECORDED, "quiet"),) if self._path() is None else ((ASK_WORDS, "quiet"),)

    def _tell(self, text: str) -> None:
        self._say(((text, "text"), (f"time goes on {glyphs.NOTHING} esc: never mind", "quiet")))

    def _say(self, lines: Lines) -> None:
        self._saved = lines
        if self._grid.is_attached:
            self.present()
