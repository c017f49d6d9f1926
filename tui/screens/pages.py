"""The pages that a key puts over the main screen. Each is read when it is first wanted, for the first paint's sake."""

from textual.screen import Screen

from tui.bridge import SimBridge
from tui.theme import Look
from tui.viewmodel import side
from tui.widgets.linegrid import LineGrid


class Pages(Screen[None]):
    """A screen with pages over it."""

    bridge: SimBridge
    look: Look
    toosmall: LineGrid[side.SideRow]

    def action_clients(self) -> None:
        """All clients, wherever anything fits."""
        from tui.screens.clients import ClientsScreen  # noqa: PLC0415

        if not self.toosmall.display:
            self.app.push_screen(ClientsScreen(self.look, self.bridge))

    @property
    def target(self) -> int:
        """Id of the node that is aimed at."""
        return -1

    def action_ask(self) -> None:
        """Ask whether something is safe to do now."""
        from tui.asking import recording_of  # noqa: PLC0415
        from tui.screens.ask import AskScreen  # noqa: PLC0415

        recorder = getattr(self.app, "recorder", None)
        path = recording_of(self.bridge.session.recorded, recorder)
        if path is None:
            self.notify("this session is not being recorded: nothing can be asked about it", severity="warning")
        elif not self.toosmall.display and self.bridge.view.brokers:
            self.app.push_screen(AskScreen(self.look, self.bridge, path, recorder, self.target))

    def action_help(self) -> None:
        """Keys and glyphs."""
        from tui.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(self.look))
