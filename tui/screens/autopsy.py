"""Autopsy page of one finding, and the "is it safe?" prompt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, Static
from textual.worker import Worker

from cluster_model.util.quantities import compact_duration, counted
from playbooks.recording.recorder import Recorder
from tui.keybindings.scopes import bindings_of
from tui.screens.base import WHEEL, OverlayPage
from tui.session.background_tasks import (
    QuestionReply,
    case_of,
    explain,
    findings_so_far,
    playbook_text,
    put_question,
    recording_of,
)
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import finding_page
from tui.viewmodel.row import LabelPosition
from tui.widgets.panes import Pane, SidePane

FRAMES: Final = "{autopsy_left} {autopsy_right} frame"
SAVES: Final = f"{{autopsy_what_if}} what if {glyphs.NOTHING} {{autopsy_saves}} prevention {glyphs.NOTHING}"
AUTOPSY_KEYS_HELP: Final = (
    f"{FRAMES} {glyphs.NOTHING} {{autopsy_frame_1}}-{{autopsy_frame_5}} go there {glyphs.NOTHING} {SAVES}"
    f" {{autopsy_finding}} {{autopsy_finding_before}} finding {glyphs.NOTHING} {{autopsy_playbook}} copy as playbook"
    f" {glyphs.NOTHING} {{autopsy_export}} export {glyphs.NOTHING} esc"
)
SHORT_WORDS: Final = (
    f"{FRAMES} {glyphs.NOTHING} {{autopsy_frame_1}}-{{autopsy_frame_5}} go {glyphs.NOTHING} {SAVES}"
    f" {{autopsy_finding}} {{autopsy_finding_before}} {glyphs.NOTHING} {{autopsy_playbook}} copy {glyphs.NOTHING}"
    " {autopsy_export} export"
)
ASK_WORDS: Final = (
    "{autopsy_saves}: run the session again with one setting changed per run; takes a while, time continues"
)
UNCHOSEN: Final = (
    "no change marked: {autopsy_saves} finds changes that prevent it, {autopsy_next_change} marks one, {autopsy_take}"
    " runs it as a branch"
)
NO_FRAMES: Final = "this finding has no frames"
UNRECORDED: Final = "this session is not recorded, so it cannot be run again"
NONE_LEFT: Final = "no findings any more: the missing records are back"

Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AutopsyRequest:
    """Navigation request after the page is closed: a time, a branch, or a branch with a changed setting."""

    at_us: int
    """Time of the frame to go to."""
    branches: bool = False
    """Whether to start a branch there."""
    message: str = ""
    """Message to show then."""
    change: finding_page.RemedyChoice | None = None
    """Setting to change from the beginning, in a branch up to the time shown; None: no change."""


class AutopsyScreen(ModalScreen[AutopsyRequest | None], OverlayPage):
    """Autopsy page of one finding at a time; its result is a navigation request, None if it is just closed."""

    SCOPE = "autopsy"
    CHANGES: ClassVar[frozenset[str]] = frozenset({"what_if", "take"})
    """Actions that a read-only TUI refuses."""
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("autopsy")

    def __init__(
        self, appearance: Appearance, session_controller: SessionController, number: int, recorder: Recorder | None
    ) -> None:
        """``number`` is that of the finding, from 1, which has to exist."""
        super().__init__()
        self._session_controller = session_controller
        self._recorder = recorder
        self._grid = SidePane(appearance, "autopsy-page")
        self._pane = Pane(self._grid, appearance, title="Autopsy", id="autopsy-pane")
        self.case = case_of(session_controller, findings_so_far(session_controller), number)
        self.at = 0
        """Index of the marked frame."""
        self.answered = False
        """Whether the page shows what would have prevented the finding."""
        self.choices: tuple[finding_page.RemedyChoice, ...] = ()
        """Changes that can be run as a branch."""
        self.marked = -1
        """Index of the marked change, -1: none."""
        self._first = 0
        self._follows = False
        """Whether to scroll to the marked change."""
        self._explanation: dict[str, Any] | None = None
        self._saved: Lines = self._unasked()
        self._work: Worker[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether the search for changes that prevent the finding is running."""
        return self._work is not None and self._work.is_running

    def compose(self) -> ComposeResult:
        """Yield the page."""
        yield self._pane

    def on_mount(self) -> None:
        """Present once the size is known."""
        self.call_after_refresh(self.present)

    def on_resize(self, _event: events.Resize) -> None:
        """Present for the new size."""
        self.call_after_refresh(self.present)

    def present(self) -> None:
        """Show the page."""
        width, height = self._grid.size
        if not self.is_mounted or not height:
            return
        line = self.choices[self.marked].line if self.marked >= 0 else -1
        rows = finding_page.build(self.case, self.at, width - 2, self._saved, line)
        place = finding_page.place_of_mark(rows) if self._follows else -1
        if place >= 0 and not self._first <= place < self._first + height - 1:
            self._first = place - height // 2
        self._follows = False
        self._first = max(0, min(self._first, len(rows) - height))
        self._grid.show(rows[self._first : self._first + height])
        words = self.keyed(AUTOPSY_KEYS_HELP)
        words = words if width > len(words) + 4 else self.keyed(SHORT_WORDS)
        self._pane.caption(finding_page.title(self.case), words)

    def spots(self) -> list[LabelPosition]:
        """Return the visible frames and changes as jump targets."""
        left, top = self._grid.region.offset
        width, height = self._grid.size
        positions = [
            LabelPosition(left + x, top + y, "frame", str(number - 1))
            for y, row in enumerate(self._grid.rows)
            for x, number in finding_page.frames_on(row)
        ]
        for at, choice in enumerate(self.choices):
            rows = finding_page.build(self.case, self.at, width - 2, self._saved, choice.line)
            y = finding_page.place_of_mark(rows) - self._first
            if 0 <= y < height:
                positions.append(LabelPosition(left, top + y, "change", str(at)))
        return positions

    def go_to_spot(self, position: LabelPosition) -> None:
        """Mark that frame or that change."""
        if position.kind == "frame":
            self.at = int(position.key)
        else:
            self.marked = int(position.key)
        self.present()

    def action_frame(self, frames: int) -> None:
        """Mark another frame."""
        self.at = max(0, min(self.at + frames, len(self.case.frames) - 1))
        self.present()

    def action_go(self, number: int) -> None:
        """Close the page and go to the time of a frame."""
        if number > len(self.case.frames):
            self.notify(f"no frame {number}; the last one is {len(self.case.frames)}")
            return
        self._stop()
        self.dismiss(AutopsyRequest(self.case.frames[number - 1].at_us))

    def action_what_if(self) -> None:
        """Close the page, and start a branch at the time of the marked frame."""
        if not self.case.frames:
            self.notify(NO_FRAMES)
            return
        self._stop()
        self.dismiss(AutopsyRequest(self.case.frames[self.at].at_us, True, finding_page.in_short(self._explanation)))

    def action_mark(self, changes: int) -> None:
        """Mark another change, and scroll to it."""
        if not self.choices:
            self.notify(self.keyed(UNCHOSEN))
            return
        before = self.marked if self.marked >= 0 else -1 if changes > 0 else 0
        self.marked = (before + changes) % len(self.choices)
        self._follows = True
        self.present()

    def action_take(self) -> None:
        """Close the page, and start a branch with the marked change."""
        if self.marked < 0:
            self.notify(self.keyed(UNCHOSEN))
            return
        self._stop()
        self.dismiss(AutopsyRequest(self.case.now_us, change=self.choices[self.marked]))

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self.action_scroll(WHEEL)

    def on_mouse_scroll_up(self) -> None:
        """Scroll."""
        self.action_scroll(-WHEEL)

    def action_scroll(self, lines: int) -> None:
        """Scroll; :meth:`present` limits it to the page."""
        self._first = max(0, self._first + lines)
        self.present()

    def action_finding(self, findings: int) -> None:
        """Show another finding; the session may have more or fewer of them by now."""
        findings_found = findings_so_far(self._session_controller)
        if not findings_found:
            self.notify(NONE_LEFT)
            return
        self._stop()
        number = min(self.case.number, len(findings_found)) - 1
        self.case = case_of(self._session_controller, findings_found, (number + findings) % len(findings_found) + 1)
        self.at = self._first = 0
        self._forget()
        self.present()

    def action_copy(self) -> None:
        """Copy the sentence of the finding."""
        self.app.copy_to_clipboard(self.case.finding.sentence)
        self.notify("copied the finding")

    def action_copy_playbook(self) -> None:
        """Copy the session so far as a playbook."""
        path = self._path()
        if path is None:
            self.notify(UNRECORDED)
        else:
            self.notify("exporting the session as a playbook")
            self.run_worker(self._copy(path), group="copy", exclusive=True, exit_on_error=False)

    async def _copy(self, path: Path) -> None:
        text, wrong = await playbook_text(path, self._recorder)
        if wrong:
            self.notify(wrong, severity="error", markup=False)
        else:
            self.app.copy_to_clipboard(text)
            self.notify(f"copied the playbook, {counted(text.count(chr(10)), 'line')}")

    def action_why(self) -> None:
        """Search for setting changes that would have prevented the finding."""
        path = self._path()
        if path is not None and not self.busy:
            self._forget()
            self._work = self.run_worker(self._explain(path), name="why", exclusive=True, exit_on_error=False)

    async def _explain(self, path: Path) -> None:
        case = self.case
        self._tell("running the session again")
        explanation = await explain(case.number, path, case.now_us, self._recorder, self._tell)
        if explanation.document is None:
            self._say(((explanation.refusal, "warning"),))
        else:
            self.answered = True
            self._explanation, self.choices = explanation.document, finding_page.choices(explanation.document)
            self._say(finding_page.lines(explanation.document, self.keyed(finding_page.HEAD_WORDS)))

    def action_leave(self) -> None:
        """Cancel a running search, else close the page."""
        if self.busy:
            self._stop()
            self._forget()
            self._say((("cancelled", "text"), *self._saved))
        else:
            self.dismiss(None)

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def _forget(self) -> None:
        """Reset the results of the search."""
        self._saved, self._explanation, self.choices, self.marked = self._unasked(), None, (), -1

    def _path(self) -> Path | None:
        return recording_of(self._session_controller.session.recorded, self._recorder)

    def _unasked(self) -> Lines:
        return ((UNRECORDED, "quiet"),) if self._path() is None else ((self.keyed(ASK_WORDS), "quiet"),)

    def _tell(self, text: str) -> None:
        self._say(((text, "text"), (f"time continues {glyphs.NOTHING} esc: cancel", "quiet")))

    def _say(self, lines: Lines) -> None:
        self._saved = lines
        if self._grid.is_attached:
            self.present()


# "Is it safe to ...?": a prompt over the main screen, with the answer below it. The session continues.


TITLE: Final = "Is it safe to"
HINT: Final = (
    "for example: crash leader(orders-0) for 10s, elect_leaders orders-0, heal all;"
    " separate several by ; and prefix them with after 30s or when CONDITION"
)
ASK_KEYS_HELP: Final = f"enter: ask {glyphs.NOTHING} esc"
BUSY_WORDS: Final = f"time continues {glyphs.NOTHING} esc: cancel"


class AskScreen(ModalScreen[None], OverlayPage):
    """Prompt for one "is it safe?" question at a time, about the current time."""

    SCOPE = "question"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("question")

    def __init__(
        self,
        appearance: Appearance,
        session_controller: SessionController,
        path: Path,
        recorder: Recorder | None,
        broker: int,
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._session_controller = session_controller
        self._path = path
        self._recorder = recorder
        self._prompt = Input(f"restart broker({broker})", id="ask-prompt", select_on_focus=False)
        self._page = Static()
        self._work: Worker[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a question is being evaluated."""
        return self._work is not None and self._work.is_running

    def compose(self) -> ComposeResult:
        """Yield the prompt, and the page of the answer."""
        with VerticalScroll(id="ask"):
            yield Static(self._styled(TITLE, "calm"))
            yield self._prompt
            yield self._page

    def on_mount(self) -> None:
        """Focus the prompt."""
        session = self._session_controller.session
        then = f"evaluated at {compact_duration(session.cluster.now_us)}, the time shown, not at the present"
        self._show([*[(then, "warning")] * session.in_past, (HINT, "text"), (ASK_KEYS_HELP, "quiet")])
        self._prompt.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Evaluate the question at the current time."""
        text = message.value.strip()
        if text and not self.busy:
            self._work = self.run_worker(self._ask(text), name="ask", exclusive=True, exit_on_error=False)

    async def _ask(self, text: str) -> None:
        at_us = self._session_controller.session.cluster.now_us
        self._tell(f"evaluating at {compact_duration(at_us)}")
        reply = await put_question(text, self._path, at_us, self._recorder, self._tell)
        self._answer(at_us, reply)

    def _tell(self, text: str) -> None:
        self._show([(text, "text"), (BUSY_WORDS, "quiet")])

    def _answer(self, at_us: int, reply: QuestionReply) -> None:
        first, *rest = reply.lines
        lines = [(f"at {compact_duration(at_us)}: {first}", reply.role), *((line, "text") for line in rest)]
        self._show([*lines, (ASK_KEYS_HELP, "quiet")])

    def action_leave(self) -> None:
        """Cancel a running search, else close the page."""
        if self.busy and self._work is not None:
            self._work.cancel()
            self._work = None
            self._show([("cancelled", "text"), (ASK_KEYS_HELP, "quiet")])
        else:
            self.dismiss()

    def _show(self, lines: list[tuple[str, str]]) -> None:
        if self._page.is_attached:
            self._page.update(Content("\n").join([self._styled(text, role) for text, role in lines]))

    def _styled(self, text: str, role: str) -> Content:
        return Content.styled(self._appearance.text(text), Style.from_rich_style(self._appearance.style(role)))
