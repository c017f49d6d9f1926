"""What the mouse does on the main screen, and on the modes over it, beyond the keys that it stands for."""

from abc import abstractmethod

from tui.screens.target_actions import Injecting
from tui.screens.times import Wake
from tui.session.railing import Railing
from tui.session.scrubbing import Scrubbing
from tui.viewmodel.timeline.branches import letter_of
from tui.viewmodel.timeline.stops import Shown
from tui.widgets.lanes_part import Lanes
from tui.widgets.panes import SidePane, Status
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

    def near(self, at_us: int) -> int:
        """What costs little to show in the place of an instant."""
        return self.bridge.session.timeline.near(at_us)

    def scrub_to(self, at_us: int, exact: bool) -> None:
        """Show an instant: what was meant, or something near it on the way there."""
        if exact:
            self.go_to(at_us)
        else:
            self._jump(lambda: self.bridge.to_near(at_us))

    def on_time_lanes_released(self) -> None:
        """The drag is over: exactly there."""
        self.scrubbing.settle()

    def on_time_lanes_scrubbed(self, message: TimeLanes.Scrubbed) -> None:
        """The strip at the foot is a scrubber."""
        self.scrub(self.timeline.window.instant(message.column, self.bridge.session.present_us))

    def timeline_shown(self) -> Shown:
        """What the strip at the foot shows."""
        bridge = self.bridge
        return Shown(self.timeline.window, bridge.view.now_us, bridge.session.present_us, self.timeline.LANES)

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

    # -- what the keys stand for ------------------------------------------------------------------------------------

    async def press(self, name: str) -> None:
        """Do what the key of an id does."""
        await self.run_action(next(key.action for key in self.keys if key.id == name))

    async def on_status_pressed(self, message: Status.Pressed) -> None:
        """A word of the status bar that stands for a key."""
        await self.press(message.key)

    # -- objects ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def open_faults(self, node: int) -> None:
        """The sheet of faults on a node."""

    def fault_on(self, node: int) -> None:
        """The sheet of faults on a node, over the cluster, whichever mode is looked at."""
        if self.toosmall.display:
            return
        self.action_mode("cluster")
        self.open_faults(node)

    def fault_about(self, name: str) -> None:
        """The same by a name: that of a client, of a group, whose first member it is then, or of a node."""
        view = self.bridge.view
        nodes = [each.node for each in view.clients if each.name == name]
        nodes += [each.node for each in view.controllers if each.name == name]
        nodes += [each.node for each in view.clients if each.name.startswith(f"{name}/")]
        if nodes:
            self.fault_on(nodes[0])
        else:
            self.toast(f"{name} has no process that could be broken", "warning")

    def on_side_pane_pointed(self, message: SidePane.Pointed) -> None:
        """Somebody that a line is about: faults, or two clicks for the mode of all clients."""
        if message.faults:
            self.fault_about(message.about)
        elif message.about not in [each.name for each in self.bridge.view.controllers]:
            self.action_mode("clients")

    def on_matrix_drilled(self) -> None:
        """Two clicks on a cell: its log."""
        self.action_mode("log")

    def on_lanes_pointed(self, message: Lanes.Pointed) -> None:
        """A log at the foot: its replica is chosen, with the right button for a fault, by two clicks for its mode."""
        view, spot = self.bridge.view, message.spot
        partitions, brokers = [each.name for each in view.partitions], [each.id for each in view.brokers]
        if message.faults:
            self.fault_on(spot.broker)
        elif message.times == 1 and spot.partition in partitions and spot.broker in brokers:
            self.matrix.place(partitions.index(spot.partition), brokers.index(spot.broker))
        elif message.times == 2:
            self.action_mode("log")

    def on_lanes_turned(self, message: Lanes.Turned) -> None:
        """The wheel over the log."""
        self.action_log(message.offsets)

    def action_log(self, offsets: int) -> None:
        """Scroll the log."""
