"""What the screen has been told of one branch, so that another can be looked at in between."""

from collections.abc import Sequence

from cluster_model.protocol.events import Event
from tui.viewmodel.log_book import LogBook
from tui.viewmodel.partition_history import Chronicle
from tui.viewmodel.timeline.event_feed import Tape
from tui.viewmodel.timeline.feed import Feed, Happened
from tui.viewmodel.timeline.rates import Rates


class Seen:
    """Grows with the branch."""

    def __init__(self) -> None:
        self.chronicle = Chronicle()
        self.happened = Happened()
        self.feed = Feed()
        self.log_book = LogBook()
        self.tape = Tape()
        self.rates = Rates()
        self.ended = False
        """Whether there is nothing more of it to run."""

    def take(self, fresh: Sequence[Event], count: int) -> None:
        """Events in order, after which there were ``count`` in all."""
        self.feed.take(fresh)
        self.happened.take(fresh, count)
        self.chronicle.take(fresh)
        self.log_book.take(fresh)
        self.tape.take(fresh)
