"""The autopsy of one finding over the main screen, as of when it is opened. The session goes on behind it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.worker import Worker

from playbooks.errors import counted
from playbooks.recording.recorder import Recorder
from tui.keybindings.scopes import bindings_of
from tui.screens.base import WHEEL
from tui.screens.reachable import Reachable
from tui.session.asking import recording_of
from tui.session.background_tasks import case_of, findings_so_far
from tui.session.explaining import explain
from tui.session.exporting import playbook_text
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import autopsy_page, remedies
from tui.viewmodel.jump import Place
from tui.widgets.panes import Pane, SidePane

FRAMES: Final = "{autopsy_left} {autopsy_right} frame"
SAVES: Final = f"{{autopsy_what_if}} what if {glyphs.NOTHING} {{autopsy_saves}} what saves {glyphs.NOTHING}"
KEYS_WORDS: Final = (
    f"{FRAMES} {glyphs.NOTHING} {{autopsy_frame_1}}-{{autopsy_frame_5}} go there {glyphs.NOTHING} {SAVES}"
    f" {{autopsy_finding}} {{autopsy_finding_before}} finding {glyphs.NOTHING} {{autopsy_playbook}} copy as playbook"
    f" {glyphs.NOTHING} {{autopsy_export}} export {glyphs.NOTHING} esc"
)
SHORT_WORDS: Final = (
    f"{FRAMES} {glyphs.NOTHING} {{autopsy_frame_1}}-{{autopsy_frame_5}} go {glyphs.NOTHING} {SAVES}"
    f" {{autopsy_finding}} {{autopsy_finding_before}} {glyphs.NOTHING} {{autopsy_playbook}} copy {glyphs.NOTHING}"
    " {autopsy_export} export"
)
ASK_WORDS: Final = "{autopsy_saves}: run it again with one thing set otherwise at a time; takes a while, time goes on"
UNCHOSEN: Final = (
    "no change is marked: {autopsy_saves} finds out what saves, {autopsy_next_change} marks one, {autopsy_take} runs it"
    " as a branch"
)
NO_FRAMES: Final = "no frame is known of it to go to"
UNRECORDED: Final = "this session is not being recorded: it cannot be run again"
NONE_LEFT: Final = "it is whole again: nothing is wrong with records any more"

Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Onward:
    """What is wanted when the page is left."""

    at_us: int
    """The instant of a frame that is to be gone to."""
    branches: bool = False
    """Whether a branch is to begin there."""
    told: str = ""
    """What to say then."""
    change: remedies.Choice | None = None
    """What is to be set otherwise from the beginning, in a branch up to the instant on the screen; None: nothing."""


class AutopsyScreen(ModalScreen[Onward | None], Reachable):
    """One finding at a time. Returns what is wanted next, None when it is just left."""

    SCOPE = "autopsy"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("autopsy")

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
        self.choices: tuple[remedies.Choice, ...] = ()
        """Changes that can be run as a branch."""
        self.marked = -1
        """Which of them is marked, -1: none."""
        self._first = 0
        self._follows = False
        """Whether the marked change is to be brought into sight."""
        self._found: dict[str, Any] | None = None
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
        line = self.choices[self.marked].line if self.marked >= 0 else -1
        rows = autopsy_page.build(self.case, self.at, width - 2, self._saved, line)
        place = autopsy_page.place_of_mark(rows) if self._follows else -1
        if place >= 0 and not self._first <= place < self._first + height - 1:
            self._first = place - height // 2
        self._follows = False
        self._first = max(0, min(self._first, len(rows) - height))
        self._grid.show(rows[self._first : self._first + height])
        words = self.keyed(KEYS_WORDS)
        words = words if width > len(words) + 4 else self.keyed(SHORT_WORDS)
        self._pane.caption(autopsy_page.title(self.case), words)

    def spots(self) -> list[Place]:
        """The frames and the changes that are in sight."""
        left, top = self._grid.region.offset
        width, height = self._grid.size
        found = [
            Place(left + x, top + y, "frame", str(number - 1))
            for y, row in enumerate(self._grid.rows)
            for x, number in autopsy_page.frames_on(row)
        ]
        for at, choice in enumerate(self.choices):
            rows = autopsy_page.build(self.case, self.at, width - 2, self._saved, choice.line)
            y = autopsy_page.place_of_mark(rows) - self._first
            if 0 <= y < height:
                found.append(Place(left, top + y, "change", str(at)))
        return found

    def go_to_spot(self, place: Place) -> None:
        """Look at that frame, or mark that change."""
        if place.kind == "frame":
            self.at = int(place.key)
        else:
            self.marked = int(place.key)
        self.present()

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
        self.dismiss(Onward(self.case.frames[number - 1].at_us))

    def action_what_if(self) -> None:
        """Leave the page for the instant of the marked frame, and begin a branch there."""
        if not self.case.frames:
            self.notify(NO_FRAMES)
            return
        self._stop()
        self.dismiss(Onward(self.case.frames[self.at].at_us, True, remedies.in_short(self._found)))

    def action_mark(self, changes: int) -> None:
        """Mark another change, and bring it into sight."""
        if not self.choices:
            self.notify(self.keyed(UNCHOSEN))
            return
        before = self.marked if self.marked >= 0 else -1 if changes > 0 else 0
        self.marked = (before + changes) % len(self.choices)
        self._follows = True
        self.present()

    def action_take(self) -> None:
        """Leave the page for a branch with the marked change."""
        if self.marked < 0:
            self.notify(self.keyed(UNCHOSEN))
            return
        self._stop()
        self.dismiss(Onward(self.case.now_us, change=self.choices[self.marked]))

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
        self._forget()
        self.present()

    def action_copy(self) -> None:
        """Copy the sentence."""
        self.app.copy_to_clipboard(self.case.finding.sentence)
        self.notify("copied the sentence")

    def action_copy_playbook(self) -> None:
        """Copy what has been done so far as a playbook."""
        path = self._path()
        if path is None:
            self.notify(UNRECORDED)
        else:
            self.notify("making a playbook of it")
            self.run_worker(self._copy(path), group="copy", exclusive=True, exit_on_error=False)

    async def _copy(self, path: Path) -> None:
        text, wrong = await playbook_text(path, self._recorder)
        if wrong:
            self.notify(wrong, severity="error", markup=False)
        else:
            self.app.copy_to_clipboard(text)
            self.notify(f"copied the playbook, {counted(text.count(chr(10)), 'line')}")

    def action_why(self) -> None:
        """Find out what would have saved the records."""
        path = self._path()
        if path is not None and not self.busy:
            self._forget()
            self._work = self.run_worker(self._explain(path), name="why", exclusive=True, exit_on_error=False)

    async def _explain(self, path: Path) -> None:
        case = self.case
        self._tell("running it again")
        found = await explain(case.number, path, case.now_us, self._recorder, self._tell)
        if found.found is None:
            self._say(((found.refusal, "warning"),))
        else:
            self.answered = True
            self._found, self.choices = found.found, remedies.choices(found.found)
            self._say(remedies.lines(found.found, self.keyed(remedies.HEAD_WORDS)))

    def action_leave(self) -> None:
        """Stop asking; leave when nothing is asked."""
        if self.busy:
            self._stop()
            self._forget()
            self._say((("never mind", "text"), *self._saved))
        else:
            self.dismiss(None)

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def _forget(self) -> None:
        """Another finding, or none, is asked about."""
        self._saved, self._found, self.choices, self.marked = self._unasked(), None, (), -1

    def _path(self) -> Path | None:
        return recording_of(self._bridge.session.recorded, self._recorder)

    def _unasked(self) -> Lines:
        return ((UNRECORDED, "quiet"),) if self._path() is None else ((self.keyed(ASK_WORDS), "quiet"),)

    def _tell(self, text: str) -> None:
        self._say(((text, "text"), (f"time goes on {glyphs.NOTHING} esc: never mind", "quiet")))

    def _say(self, lines: Lines) -> None:
        self._saved = lines
        if self._grid.is_attached:
            self.present()
