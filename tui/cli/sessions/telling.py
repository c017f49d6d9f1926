"""What the commands that tell a session line by line have in common: how they say things, and what they say of it."""

from collections.abc import Iterable

from rich.console import Console

from cluster_model.cluster import Cluster
from cluster_model.observation.views import ClusterView
from cluster_model.protocol.events import Event
from faults.injector import FaultBoard
from tui.output.console import say
from tui.terminal.format import clock, duration
from tui.viewmodel.timeline.feed import Feed


class Teller:
    """Says one line after the other, each with the virtual time of what it is about."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def line(self, at: str, text: str) -> None:
        """One line."""
        say(self._console, f"{at}  {text}")
        self._console.file.flush()

    def say(self, cluster: Cluster, *texts: str) -> None:
        """About now."""
        for text in texts:
            self.line(clock(cluster.now_us), text)

    def happened(self, events: Iterable[Event]) -> None:
        """What is rare, in the words of the screen's list of events: equal things of one moment are one line."""
        fresh = Feed()
        fresh.take(events)
        if fresh.notable:
            for line in fresh.lines(1_000):
                self.line(line.at, line.text)


def standing(view: ClusterView, board: FaultBoard) -> Iterable[str]:
    """What became of records so far, and the faults that are active."""
    ledger = view.ledger
    yield f"acknowledged {ledger.acked}, missing now {ledger.missing}, lost {ledger.acked_lost}"
    for each in board.active():
        left = f", {duration(each.until_us - view.now_us)} left" if each.until_us >= 0 else ""
        yield f"fault {each.id}: {each.name} on {each.target}{left}"
