"""The guide of the tour: looks at the screen, and keeps its pane on whichever screen is on top."""

from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.keybindings.keymap import key_of
from tui.screens.fault_sheet import Sheets
from tui.screens.finding import AutopsyScreen
from tui.terminal.theme import Look
from tui.tour import WIDTH, Sight, Tour
from tui.widgets.panes import Pane
from tui.widgets.rows_part import Rows

if TYPE_CHECKING:
    from tui.app import FloodmarkApp

STATUS_LINES = 2


class CoachPane(Pane):
    """Tells what is to be done."""

    def __init__(self, look: Look) -> None:
        self.rows = Rows(look, "coach")
        super().__init__(self.rows, look, title="", id="coach-pane")

    def present(self, tour: Tour, at_top: bool) -> None:
        """Show it in the lower right corner of the screen, or at the top."""
        width, height = self.screen.size
        own = min(WIDTH, width)
        rows = tour.rows(own - 4)
        lines = len(rows) + 2
        self.styles.width, self.styles.height = own, lines
        self.styles.offset = (width - own, STATUS_LINES if at_top else max(0, height - 1 - lines))
        self.rows.show(rows)
        self.caption(tour.title())


class Guide:
    """Leads through a session of the tour's playbook."""

    def __init__(self, app: "FloodmarkApp") -> None:
        """Time stands still, to begin with; it does again where records go missing."""
        self.tour = Tour(app.main.keys)
        self.hidden = False
        self._app = app
        app.bridge.pause(True)
        app.bridge.stops_at_loss = True

    def look(self) -> None:
        """Go on past what was done, and show what is to be done."""
        screen = self._app.screen
        if not self.hidden and self.tour.look(self._sight()):
            self._app.bridge.pause(True)
            self._app.main.present()
        found = screen.query(CoachPane)
        if self.hidden:
            found.remove()
        elif not screen.size.width or not screen.is_mounted:
            return
        elif not found:
            pane = CoachPane(self._app.look)
            screen.mount(pane)
            pane.call_after_refresh(self.look)
        else:
            found.first().present(self.tour, self._in_the_way(screen))

    @staticmethod
    def _in_the_way(screen: Screen[object]) -> bool:
        """Whether what matters on the screen stands at its bottom."""
        if isinstance(screen, AutopsyScreen):
            return screen.busy or screen.answered
        return isinstance(screen, Sheets) and screen.sheet.has_focus

    def toggle(self) -> str:
        """Leave the tour, or go on with it where it was left; what to say."""
        self.hidden = not self.hidden
        self.look()
        key = key_of("tour", self._app.main.keys)
        return f"the tour is left, the session goes on; {key} goes on with the tour" if self.hidden else ""

    def _sight(self) -> Sight:
        bridge, main = self._app.bridge, self._app.main
        view, screen = bridge.view, self._app.screen
        partition = view.partitions[0]
        row, column = main.matrix.cursor
        followers = [each.broker for each in partition.replicas if each.broker != partition.leader]
        states = {broker.id: broker for broker in view.brokers}
        autopsy = screen if isinstance(screen, AutopsyScreen) else None
        return Sight(
            now_us=view.now_us,
            paused=bridge.paused,
            at_follower=row == 0 and view.brokers[column].id in followers,
            follower_paused=any(states[each].state == "paused" for each in followers),
            in_sync=len(partition.isr),
            leader_down=any(states[each.broker].state == "down" for each in partition.replicas),
            missing=view.ledger.missing + view.ledger.acked_lost,
            autopsy=autopsy is not None,
            asked=autopsy is not None and (autopsy.busy or autopsy.answered),
            in_past=bridge.session.in_past,
        )
