"""A screen over the main one that moves with the session."""

from textual.screen import ModalScreen

from tui.terminal.theme import Look


class LiveScreen(ModalScreen[None]):
    """The app has it painted anew with every frame."""

    look: Look

    def present(self) -> None:
        """Show the session as it is now; a page without anything that moves shows nothing new."""
