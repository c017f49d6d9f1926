"""The key of filters: on every screen that has a list of its own."""

from typing import Any

from textual.screen import Screen

from tui.widgets.filterbar import FilterBar


class Filtering(Screen[Any]):
    """A screen with a :class:`FilterBar`, which its body has to have."""

    filter_bar: FilterBar

    @property
    def filter_words(self) -> str:
        """What is filtered by."""
        return ""

    def filter_by(self, words: str) -> None:
        """Show what fits these words, and nothing else."""

    def action_filter(self) -> None:
        """Type a filter, or change the one that there is."""
        self.filter_bar.open(self.filter_words)

    def unfiltered(self) -> bool:
        """Show everything again, and close the line; False where everything is shown already."""
        if not self.filter_bar.display and not self.filter_words:
            return False
        self.filter_bar.display = False
        self.filter_by("")
        return True

    def on_filter_bar_typed(self, message: FilterBar.Typed) -> None:
        """Filter as one types."""
        self.filter_by(message.words)

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """The keys are the screen's again."""
        if not message.kept:
            self.filter_by("")
