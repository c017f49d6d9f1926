"""The keys of time: on through the session, and back into its past. Nothing that they show is changed by them."""

from typing import Any, Final

from textual.message import Message

from faults.declarations.fault import FaultError
from tui.keybindings.keymap import word_of
from tui.screens.live import LiveScreen
from tui.screens.pages import Pages
from tui.viewmodel.timeline.bookmarks import Bookmark, Bookmarks
from tui.widgets.lanes_part import Lanes
from tui.widgets.matrix import Matrix

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
        from tui.screens.goto import GotoScreen  # noqa: PLC0415 - first paint does without it

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
