"""What the mouse does on the main screen, and on the modes over it, beyond the keys that it stands for."""

from tui.railing import Railing
from tui.screens.injecting import Injecting
from tui.screens.times import Wake
from tui.scrubbing import Scrubbing
from tui.viewmodel.rails import letter_of
from tui.widgets.timeline import TimeLanes, TimeStrip


class Pointing(Injecting):
    """A screen that can be pointed at."""

    scrubbing: Scrubbing
    timeline: TimeStrip
    railing: Railing

    def scrub(self, at_us: int) -> None:
        """Show an instant that the pointer is dragged to: now, or with the next frame that may."""
        if not self.scrubbing.want(at_us):
            self.post_message(Wake())

    def on_time_lanes_scrubbed(self, message: TimeLanes.Scrubbed) -> None:
        """The strip at the foot is a scrubber."""
        self.scrub(self.timeline.window.instant(message.column, self.bridge.session.present_us))

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """A rail of the strip: over to that branch."""
        lane, column = message.spot
        window, letter = self.timeline.window, letter_of(lane)
        if letter:
            self.change_over(letter, (window.first + column) * window.unit_us if column >= 0 else -1)

    def change_over(self, letter: str, at_us: int = -1) -> None:
        """To a branch: to an instant of it that is its own, else to its present."""
        branch = next(each for each in self.bridge.branches if each.letter == letter)
        self.switch(branch)
        if max(0, branch.left_us) <= at_us < branch.session.present_us:
            self.go_to(at_us)
