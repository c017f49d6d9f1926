"""Log mode: the logs of all replicas of one partition, and details of the record under the cursor."""

from typing import ClassVar, Final

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from cluster_model.cluster import Cluster
from cluster_model.inspection.log_inspector import copies, inspect
from cluster_model.observation import PartitionView, inflight_fetches
from playbooks.model.record_contents import inspect_record
from tui.keybindings.scopes import bindings_of
from tui.screens.base import ModeScreen
from tui.session.session_controller import SessionController
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import clipboard_text, log_view, record_inspector
from tui.viewmodel.log_view import PaneSizes, share, title
from tui.viewmodel.row import LabelPosition, Row
from tui.widgets import tooltips
from tui.widgets.log import Microscope
from tui.widgets.panes import Pane, SidePane

LEGEND: Final = (
    f"{glyphs.ABOVE_HW} above its HW {glyphs.NOTHING} {glyphs.DIVERGED} differs {glyphs.NOTHING} {glyphs.LOST} acked,"
    f" missing {glyphs.NOTHING} {glyphs.HOLE} compacted {glyphs.NOTHING} {glyphs.CONTROL} control record"
    f" {glyphs.NOTHING} {glyphs.OPENED}{glyphs.CLOSED} open transaction"
)


class LogScreen(ModeScreen):
    """Log mode: microscope of the selected partition; record inspector, leader epochs and fetches below."""

    MODE = "log"
    SCOPE = "microscope"
    HINTS = (
        "{microscope_up}{microscope_down}{microscope_left}{microscope_right} cell", "{fault} fault",
        "{microscope_next_partition} partition", "{help} help", "{microscope_more} {microscope_fewer} scale",
        "{microscope_hw} HW", "{microscope_fork} fork", "{microscope_tail} tail", "{microscope_start} start",
        "{microscope_peek} record",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("microscope")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self.microscope = Microscope(appearance)
        self.microscope.printer = tooltips.of_log(self.microscope, session_controller)
        self._record = SidePane(appearance, "log-record")
        self._epochs = SidePane(appearance, "log-epochs")
        self._wires = SidePane(appearance, "log-wires")
        self._log_pane = Pane(self.microscope, appearance, title="Log", id="log-pane")
        self._record_pane = Pane(self._record, appearance, title="Record", id="log-record-pane")
        self._epochs_pane = Pane(self._epochs, appearance, title="Leader epochs", id="log-epochs-pane")
        self._wires_pane = Pane(self._wires, appearance, title="Fetches", id="log-wires-pane")
        self._shared: PaneSizes | None = None
        self._side_panes = Vertical(self._epochs_pane, self._wires_pane, id="log-beside")

    def body(self) -> list[Widget]:
        """Return the lanes, and the panes below them."""
        return [self._log_pane, Horizontal(self._record_pane, self._side_panes, id="log-below")]

    @property
    def partition(self) -> PartitionView | None:
        """Partition selected on the main screen; None without one."""
        partitions = self.session_controller.view.partitions
        return partitions[min(self.main.matrix.cursor[0], len(partitions) - 1)] if partitions else None

    def broker(self, partition: PartitionView) -> int:
        """Return the broker whose replica the cursor is on: the selected one, else the leader, else the first."""
        brokers, at = self.session_controller.view.brokers, self.main.matrix.cursor[1]
        chosen = brokers[at].id if at < len(brokers) else -1
        held = list(self.session_controller.session.cluster.cluster_state.replicas[partition.name])
        return next((each for each in (chosen, partition.leader) if each in held), held[0] if held else -1)

    def resized(self) -> None:
        """Reset the sizes of the panes."""
        self._shared = None

    def show(self) -> None:
        """Show the current logs of the partition."""
        partition = self.partition
        if partition is None:
            self._show_nothing()
            return
        self._share(len(partition.replicas))
        cluster, session_controller = self.session_controller.session.cluster, self.session_controller
        cuts = session_controller.log_history.truncations(partition.name, session_controller.view.now_us)
        broker = self.broker(partition)
        self.microscope.motion = self.main.motion
        self.microscope.present(cluster, partition, broker, cuts)
        self._log_pane.caption(title(partition), self._legend())
        offset = self.microscope.log_offset
        self._record_pane.caption(
            f"{partition.name} offset {offset}", self.keyed("{microscope_written}: go to when it was written")
        )
        self._record.show(self._inspected(cluster, partition, broker, offset, self._record.size))
        if self._side_panes.display:
            size = self._epochs.size
            self._epochs.show(log_view.build_epochs(partition, broker, size.width, size.height))
            found = inflight_fetches(cluster, partition.name)
            self._wires.show(
                log_view.build_fetches(found, partition, session_controller.view)[: max(1, self._wires.size.height)]
            )

    def _legend(self) -> str:
        scale = log_view.scale(self.microscope.scope)
        legend = f"{scale} {glyphs.NOTHING} {LEGEND}"
        return legend if len(legend) + 6 <= self.size.width else scale

    def _share(self, replicas: int) -> None:
        shared = share(self.size.width, self.size.height, replicas)
        if shared == self._shared:
            return
        self._shared = shared
        self._log_pane.styles.height = shared.lanes
        self._side_panes.display = bool(shared.side_columns)
        self._side_panes.styles.width = shared.side_columns or 1
        self._epochs_pane.styles.height = shared.epochs

    def on_side_pane_resized(self, _message: SidePane.Resized) -> None:
        """Present again, as other columns fit beside the record."""
        self.present()

    def _show_nothing(self) -> None:
        self._log_pane.caption("Log")
        own = "only internal topics: i shows them"
        text = own if self.session_controller.view.internal else "no partitions"
        self.microscope.show((log_view.LogTextRow(text, "quiet"),))
        for pane in (self._record, self._epochs, self._wires):
            pane.show((Row(()),))

    def _inspected(
        self, cluster: Cluster, partition: PartitionView, broker: int, offset: int, room: tuple[int, int]
    ) -> tuple[Row, ...]:
        name, book, now_us = partition.name, self.session_controller.log_history, self.session_controller.view.now_us
        known = inspect(cluster.cluster_state, cluster.checker, name, offset)
        seen = []
        for peeked, each in zip(inspect_record(cluster, name, offset), known, strict=True):
            acked_us = book.acked_us(name, each.log_branch, offset)
            seen.append(record_inspector.InspectedRecord(peeked, each, acked_us if acked_us <= now_us else -1))
        handed = cluster.checker.readings.groups_that_read(name, offset, offset + 1)
        read = record_inspector.readers(self.session_controller.view, name, handed)
        here = copies(cluster.cluster_state, name, offset, -1)
        place = record_inspector.RecordPosition(name, offset, broker, partition.leader)
        return record_inspector.build(seen, here, place, read, room)

    def under_cursor(self) -> tuple[str, str]:
        """Return the record under the cursor with all details."""
        partition = self.partition
        if partition is None or self.chosen_pane not in ("", "log-pane", "log-record-pane"):
            return "", ""
        cluster, offset = self.session_controller.session.cluster, self.microscope.log_offset
        what, room = f"{partition.name} offset {offset}", (clipboard_text.CELLS, clipboard_text.LINES)
        rows = self._inspected(cluster, partition, self.broker(partition), offset, room)
        return what, f"{what}\n{clipboard_text.plain_text(rows)}"

    def spots(self) -> list[LabelPosition]:
        """Return the replicas as jump targets."""
        if self.maximised not in ("", "log-pane"):
            return []
        return self.microscope.places()

    def go_to_spot(self, position: LabelPosition) -> None:
        """Move the cursor to that replica."""
        self._select(int(position.key))

    # -- acting on the replica under the cursor ---------------------------------------------------------------------

    def chosen(self) -> int:
        """Return the broker of the replica under the cursor."""
        partition = self.partition
        return -1 if partition is None else self.broker(partition)

    def no_target(self) -> str:
        """Return why there is no target: no partitions."""
        return "" if self.partition is not None else "there are no partitions"

    def aim_at(self, node: int) -> None:
        """Select another target; the cursor moves to its replica, if it has one."""
        super().aim_at(node)
        self._select(node)

    # -- moving -----------------------------------------------------------------------------------------------------

    def action_offset(self, cells: int) -> None:
        """Move the cursor over offsets."""
        if self.partition is not None:
            self.microscope.move(cells, self.partition)
            self.present()

    def action_window(self, windows: int) -> None:
        """Move the cursor by whole windows."""
        self.action_offset(windows * self.microscope.scope.size)

    def action_replica(self, lanes: int) -> None:
        """Move the cursor over replicas; one that follows the end follows that of the new replica."""
        partition = self.partition
        if partition is None:
            return
        held = [each.broker for each in self.microscope.lanes]
        at = held.index(self.broker(partition)) if self.broker(partition) in held else 0
        self._select(held[min(max(at + lanes, 0), len(held) - 1)] if held else -1)

    def _select(self, broker: int) -> None:
        ids = [each.id for each in self.session_controller.view.brokers]
        if broker in ids:
            self.main.matrix.move_to(self.main.matrix.cursor[0], ids.index(broker))
        self.present()

    def action_partition(self, partitions: int) -> None:
        """Select another partition, wrapping around."""
        if self.session_controller.view.partitions:
            self.main.matrix.turn(partitions)
            self.microscope.follow()
            self.present()

    def action_zoom(self, steps: int) -> None:
        """Change the scale."""
        self.microscope.zoom(steps)
        self.present()

    def action_tail(self) -> None:
        """Follow the end of the log."""
        self.microscope.follow()
        self.present()

    def action_log_start(self) -> None:
        """Go to the log start offset of the replica."""
        partition = self.partition
        if partition is not None:
            broker = self.broker(partition)
            self._go(next((each.log_start for each in partition.replicas if each.broker == broker), 0))

    def action_high_watermark(self) -> None:
        """Go to the leader's high watermark; without a leader, to the replica's own."""
        partition = self.partition
        if partition is not None:
            lane = partition.leader if partition.leader >= 0 else self.broker(partition)
            self._go(next((each.hw for each in partition.replicas if each.broker == lane), 0))

    def action_fork(self) -> None:
        """Go to the first offset where the replicas differ."""
        partition = self.partition
        if partition is None:
            return
        at = self.microscope.fork(self.session_controller.session.cluster, partition)
        if at < 0:
            self.main.toast(f"all replicas of {partition.name} agree with their leader")
        else:
            self._go(at)

    def _go(self, offset: int) -> None:
        self.microscope.go(offset)
        self.present()

    def on_microscope_cell_clicked(self, message: Microscope.CellClicked) -> None:
        """Move the cursor to the clicked cell."""
        self.microscope.scope = self.microscope.scope.at(message.log_offset)
        self._select(message.broker)

    def on_microscope_wheel_turned(self, message: Microscope.WheelTurned) -> None:
        """Move the cursor, or zoom with ctrl."""
        if message.zooms:
            self.action_zoom(1 if message.cells > 0 else -1)
        else:
            self.action_offset(message.cells)

    def on_microscope_cell_double_clicked(self) -> None:
        """Go to when the record was written."""
        self.action_written()

    def on_microscope_lane_right_clicked(self, message: Microscope.LaneRightClicked) -> None:
        """Open the fault sheet on the replica's broker."""
        self._select(message.broker)
        self.action_fault()

    # -- going further ----------------------------------------------------------------------------------------------

    def action_written(self) -> None:
        """Go to the time at which the record under the cursor was written."""
        partition = self.partition
        if partition is None:
            return
        cluster, offset = self.session_controller.session.cluster, self.microscope.log_offset
        found = inspect(cluster.cluster_state, cluster.checker, partition.name, offset)
        broker = self.broker(partition)
        held = [each for each in found if broker in each.record.holders] or list(found)
        if not held:
            self.main.toast(f"no record was written at {partition.name} offset {offset} so far")
        elif held[-1].record.appended_us < self.session_controller.session.timeline.first_us:
            self.main.toast("the history of this session does not go back that far")
        else:
            self.microscope.scope = self.microscope.scope.at(offset)
            self.main.go_to(held[-1].record.appended_us)

    def action_peek(self) -> None:
        """Open the page of the record."""
        from tui.screens.record import RecordScreen  # noqa: PLC0415 - seldom wanted

        partition = self.partition
        if partition is not None:
            offset = self.microscope.log_offset
            self.app.push_screen(RecordScreen(self.appearance, self.session_controller, partition.name, offset))

    async def action_internal(self) -> None:
        """Show or hide internal topics."""
        await self.main.run_action("internal")
        self.microscope.follow()
        self.present()
