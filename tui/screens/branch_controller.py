"""Keys of the main screen: the pages that it opens, time, branches and bookmarks."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from textual.message import Message
from textual.screen import Screen

from faults.declarations import Action, FaultError
from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import KEYS, Key, Mode, key_of, mode_of, word_of
from tui.screens.base import LiveScreen
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel import help as help_text
from tui.viewmodel.help import Here
from tui.viewmodel.row import Row
from tui.viewmodel.status_bar import ControlBar, StatusBar
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks
from tui.widgets.line_widget import LineGrid
from tui.widgets.log import Lanes
from tui.widgets.matrix import Matrix

if TYPE_CHECKING:
    from tui.screens.base import ModeScreen
    from tui.screens.finding import Onward


# The pages that a key puts over the main screen. Each is read when it is first wanted, for the first paint's sake.


SHEET_HELP = {"whichkey": help_text.SHEET, "operations": help_text.OPERATIONS}
"""Id of a sheet → its help."""


class Pages(Screen[None]):
    """A screen with pages over it."""

    bridge: SimBridge
    look: Look
    keys: tuple[Key, ...] = KEYS
    """The key map, with the keys that the user wants otherwise."""
    toosmall: LineGrid[Row]
    finding = 0
    """Number of the finding that was looked at last, 0: none."""

    def action_mode(self, name: str) -> None:
        """Another mode over the whole terminal, wherever anything fits; pages over this one are left."""
        mode = mode_of(name)
        if self.toosmall.display:
            return
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        if mode.where:
            self.app.push_screen(screen_class(mode)(self.look, self.bridge))

    def status_rows(self, width: int) -> tuple[StatusBar | ControlBar, ...]:
        """The lines of the status bar, the same in every mode."""
        return ()

    def broker_meant(self) -> int:
        """Id of the broker that a question is about."""
        return -1

    def go_to(self, at_us: int | None) -> None:
        """Show a time; None shows what is shown."""

    def go_onward(self, onward: "Onward") -> None:
        """Do what is wanted after an autopsy."""

    def action_ask(self) -> None:
        """Ask whether something is safe to do now."""
        from tui.screens.finding import AskScreen  # noqa: PLC0415
        from tui.session.background_tasks import recording_of  # noqa: PLC0415

        recorder = getattr(self.app, "recorder", None)
        path = recording_of(self.bridge.session.recorded, recorder)
        if path is None:
            self.notify("this session is not being recorded: nothing can be asked about it", severity="warning")
        elif not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(AskScreen(self.look, self.bridge, path, recorder, self.broker_meant()))

    def action_finding(self, findings: int) -> None:
        """The autopsy of the next finding, or of the one before, as many as there are so far."""
        from tui.session.background_tasks import findings_so_far  # noqa: PLC0415

        found = len(findings_so_far(self.bridge))
        if not found:
            self.notify(self._nothing_found())
        elif self.finding < 1:
            self.open_autopsy(1 if findings > 0 else found)
        else:
            self.open_autopsy((min(self.finding, found) - 1 + findings) % found + 1)

    def open_autopsy(self, number: int) -> None:
        """The autopsy of the finding of a number from 1, of which there is one."""
        from tui.screens.finding import AutopsyScreen  # noqa: PLC0415

        if self.toosmall.display:
            return
        page = AutopsyScreen(self.look, self.bridge, number, getattr(self.app, "recorder", None))

        def closed(onward: "Onward | None") -> None:
            self.finding = page.case.number
            if onward is not None:
                self.call_later(self.go_onward, onward)

        self.app.push_screen(page, closed)

    def _nothing_found(self) -> str:
        violations = self.bridge.view.violations
        broken = f"; the events tell of {violations} broken rules" if violations else ""
        return f"no finding so far: nothing is wrong with any record{broken}"

    def action_autopause(self) -> None:
        """Pause by itself where the next acknowledged record goes missing, or no longer."""
        self.bridge.stops_at_loss = not self.bridge.stops_at_loss
        armed = "pausing where the next acknowledged record goes missing"
        self.notify(armed if self.bridge.stops_at_loss else "not pausing by itself any more")

    def _here(self) -> Here:
        """What is looked at."""
        focused = getattr(self.app.screen.focused, "id", "")
        if focused in SHEET_HELP:
            return SHEET_HELP[focused]
        name, scope = getattr(self.app.screen, "MODE", ""), getattr(self.app.screen, "SCOPE", "")
        if name:
            return help_text.MODES["compare" if scope == "compare" else name]
        return help_text.of_page(scope) if scope else help_text.CLUSTER

    def action_help(self) -> None:
        """What is looked at, then keys and glyphs."""
        from tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.look, self.keys, self._here()))

    def action_settings(self) -> None:
        """Colours, glyphs, speed, and the file that keeps them."""
        from tui.screens.settings import SettingsScreen  # noqa: PLC0415

        if not self.toosmall.display:
            self.app.push_screen(SettingsScreen(self.look, self.bridge))


def screen_class(mode: Mode) -> "type[ModeScreen]":
    """The screen of a mode that has one of its own."""
    module, _colon, name = mode.where.partition(":")
    found: type[ModeScreen] = getattr(import_module(module), name)
    return found


# The keys of time: on through the session, and back into its past. Nothing that they show is changed by them.


SECOND_US: Final = 1_000_000
PAST: Final = "this is the past: acting here begins a branch; {pause} plays it on, {present}: back to the present"
BEGINNING: Final = "this is the beginning: there is nothing before it"
PRESENT: Final = "this is the present already"


class Wake(Message):
    """Frames may be needed again."""


class Times(Pages):
    """A screen over a session that can be looked back into."""

    matrix: Matrix
    lanes: Lanes
    bookmarks: Bookmarks

    # -- on ---------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Stop, or go on."""
        self.bridge.pause(not self.bridge.paused)
        self._moved()

    def action_step(self) -> None:
        """One event."""
        if not self.bridge.step():
            self.toast("nothing is pending: no event is left", "warning")
        self._moved()

    def action_seek(self) -> None:
        """On to the next notable event."""
        was_past = self.bridge.session.in_past
        if not self.bridge.seek():
            self.toast("nothing notable from there to the present")
        self._jumped() if was_past else self._moved()

    def action_faster(self) -> None:
        """One step faster."""
        self.bridge.faster()
        self._moved()

    def action_slower(self) -> None:
        """One step slower."""
        self.bridge.slower()
        self._moved()

    def action_speed_one(self) -> None:
        """As fast as real time."""
        self.bridge.set_speed(1.0)
        self._moved()

    def action_take_over(self) -> None:
        """Leave out what is left of the playbook's steps."""
        try:
            self.toast(self.bridge.take_over())
        except FaultError as error:
            self.toast(f"refused: {error}", "warning")
        self._moved()

    # -- back -------------------------------------------------------------------------------------------------------

    def action_back(self) -> None:
        """One event back."""
        self._jump(self.bridge.back)

    def action_previous(self) -> None:
        """Back to the previous notable event."""
        self._jump(self.bridge.previous, "nothing notable happened before this")

    def action_second(self, seconds: int) -> None:
        """Seconds on, or back."""
        self._jump(lambda: self.bridge.by(seconds * SECOND_US))

    def action_beginning(self) -> None:
        """Back to the beginning."""
        self.go_to(self.bridge.session.timeline.first_us)

    def action_present(self) -> None:
        """Back to the present."""
        self._jump(self.bridge.to_present, PRESENT)

    def action_goto(self) -> None:
        """Ask for a time."""
        from tui.screens.time_travel import GotoScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            session = self.bridge.session
            marks = tuple(self.bookmarks)
            page = GotoScreen(self.look, session.timeline.first_us, lambda: session.present_us, marks)
            self.app.push_screen(page, self._gone)

    def _gone(self, chosen: int | Bookmark | None) -> None:
        if isinstance(chosen, Bookmark):
            self.go_to_bookmark(chosen)
        else:
            self.go_to(chosen)

    def go_to_bookmark(self, mark: Bookmark) -> None:
        """Show that instant of that branch."""

    def go_to(self, at_us: int | None) -> None:
        """Show a time; None shows what is shown."""
        if at_us is not None:
            self._jump(lambda: self.bridge.to_time(at_us))

    def _jump(self, jump: Any, failed: str = BEGINNING) -> None:
        was_past = self.bridge.session.in_past
        if jump() is False:
            self.toast(failed)
        elif self.bridge.session.in_past and not was_past:
            self.toast(PAST.format(pause=word_of("pause", self.keys), present=word_of("present", self.keys)))
        self._jumped()

    def _jumped(self) -> None:
        """Another instant may have other partitions, and shorter logs."""
        partitions = self.bridge.view.partitions
        shown = self.lanes.start
        at = min(self.matrix.cursor[0], len(partitions) - 1)
        if shown is not None and (at < 0 or shown >= max((each.leo for each in partitions[at].replicas), default=0)):
            self.lanes.follow()
        self._moved()
        self.share_out()

    # -- showing ----------------------------------------------------------------------------------------------------

    def share_out(self) -> None:
        """Put the panes where they belong; they are painted then."""

    def present(self) -> None:
        """Show the instant that the bridge looks at."""

    def toast(self, text: str, severity: Any = "information", *, seconds: float = 4) -> None:
        """One line about what the operator did; it goes away by itself."""
        self.app.notify(self.look.text(text), severity=severity, timeout=seconds, markup=False)

    def _moved(self) -> None:
        """Something changed by a key: show it, and let frames come again if they had stopped."""
        self.bridge.look()
        self.present()
        for screen in self.app.screen_stack:
            if isinstance(screen, LiveScreen):
                screen.present()
        self.post_message(Wake())


LONG_S: Final = 8
"""How long what is to be tried stands on the screen."""


class Forking(Times):
    """A screen over a session that others branch off from."""

    def __init__(self) -> None:
        super().__init__()
        self.bookmarks = Bookmarks()

    # -- branches ---------------------------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Back to right before the last action, without it."""
        self._branch(self.bridge.undo)

    def action_redo(self) -> None:
        """Back to the branch in which it stands."""
        self._branch(self.bridge.redo)

    def action_what_if(self) -> None:
        """A branch from this instant on, in which nothing is done yet."""
        self._branch(self.bridge.fork)

    def action_branches(self) -> None:
        """The list of branches."""
        from tui.screens.time_travel import BranchesScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            self.app.push_screen(BranchesScreen(self.look, self.bridge, self.switch, self.compare, self.keys))

    def switch(self, branch: Branch) -> None:
        """Change over to another branch."""
        if branch is not self.bridge.branches.current:
            self._branch(lambda: self.bridge.switch(branch))

    def compare(self, branch: Branch) -> None:
        """Put another branch beside this one."""
        from tui.screens.time_travel import CompareScreen  # noqa: PLC0415 - first paint does without it

        self.action_mode("cluster")
        self.bridge.compare(branch)
        self.app.push_screen(CompareScreen(self.look, self.bridge))

    def go_onward(self, onward: "Onward") -> None:
        """From an autopsy to the instant of a frame, to a branch from there on, or to one with something else set."""
        change = onward.change
        if change is not None:
            self._branch(lambda: self.bridge.otherwise(change.name, change.settings))
        elif not onward.branches:
            self.go_to(onward.at_us)
        else:
            self.bridge.to_time(onward.at_us)
            self._jumped()
            self._branch(self.bridge.fork)
            if onward.told:
                self.toast(onward.told, seconds=LONG_S)

    def acted(self, action: Action) -> str:
        """Do what is asked, and say what came of it; why not, where it was refused. In the past a branch begins."""
        refused = ""
        try:
            told = self.bridge.act(action)
            if told:
                self.toast(f"{told} {glyphs.NOTHING} {key_of('undo', self.keys)}: undo")
        except FaultError as error:
            refused = f"refused: {error}"
        self._moved()
        self.branched()
        return refused

    def branched(self) -> None:
        """After something that may have begun a branch: show it on its way, or say that it has come."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if self.bridge.growing is not None:
            self.app.push_screen(GrowingScreen(self.look, self.bridge))
            self._moved()
        else:
            self.tell_news()

    def tell_news(self) -> None:
        """Of branches that have come, or did not."""
        from tui.screens.time_travel import GrowingScreen  # noqa: PLC0415 - first paint does without it

        if not self.bridge.news:
            return
        if isinstance(self.app.screen, GrowingScreen):
            self.app.screen.dismiss()
        for text, good in self.bridge.news:
            self.toast(text, "information" if good else "warning")
        self.bridge.news.clear()
        self._changed_over()
        beside, self.bridge.beside = self.bridge.beside, None
        if beside is not None:
            self.compare(beside)

    def _branch(self, begin: Callable[[], str]) -> None:
        try:
            told = begin()
        except FaultError as error:
            self.toast(str(error), "warning")
            return
        if told:
            self.toast(told)
            self._changed_over()
        else:
            self.branched()

    def _changed_over(self) -> None:
        """Another session may be looked at: what belongs to the one before is forgotten."""
        self.finding = 0
        self.app.recorder = self.bridge.branches.current.recorder  # type: ignore[attr-defined]
        self._jumped()

    # -- bookmarks --------------------------------------------------------------------------------------------------

    def action_bookmark(self) -> None:
        """Remember this instant."""
        mark = Bookmark(self.bridge.view.now_us, self.bridge.branches.current.letter)
        new = self.bookmarks.put(mark)
        listed = f"bookmark {mark.words}; {word_of('bookmarks', self.keys)}: all of them"
        self.toast(listed if new else f"there is a bookmark at {mark.words}")

    def action_bookmarks(self) -> None:
        """The list of bookmarks."""
        from tui.screens.time_travel import BookmarksScreen  # noqa: PLC0415 - first paint does without it

        if not self.toosmall.display:
            self.app.push_screen(BookmarksScreen(self.look, self.bookmarks, self.go_to_bookmark, self.keys))

    def go_to_bookmark(self, mark: Bookmark) -> None:
        """Show that instant of that branch."""
        for branch in self.bridge.branches:
            if branch.letter == mark.letter:
                self.switch(branch)
        self.go_to(mark.at_us)
