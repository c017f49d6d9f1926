"""A line of a page or a pane as plain data, labels to jump by, and text for the clipboard."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Final

from rich.cells import cell_len, set_cell_size

from cluster_model.observation import BrokerView, ClusterView, PartitionView, ReplicaView
from playbooks.errors import counted
from tui.terminal.format import clock
from tui.viewmodel.partition_matrix import lags_of

MORE: Final = "…"
HEAL: Final = "[heal]"
"""What is clicked to heal a fault, at the end of its line."""


@dataclass(frozen=True, slots=True)
class Row:
    """(text, role) pieces from the left, an end at the right edge, whether it is chosen, and for a fault its number."""

    pieces: tuple[tuple[str, str], ...] = ()
    end: tuple[str, str] = ("", "text")
    chosen: bool = False
    fault: int = -1
    about: str = ""
    """Name of a client, a group or a node of the control plane."""


def fitted(text: str, width: int, more: str = MORE) -> str:
    """``text`` in so many cells at most; what is cut is told by ``more``."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - cell_len(more)) + more if width > 0 else ""


def first_shown(first: int, at: int, count: int, height: int) -> int:
    """The first line of a window of ``height`` lines that has line ``at`` in it, moved as little as can be."""
    first = min(max(first, at - height + 1), at)
    return max(0, min(first, count - height))


# Labels over what is in sight, and the way to it: as few letters as there can be.


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be gone to: where its label stands, in cells of the screen, and what it is."""

    x: int
    y: int
    kind: str
    """``pane``, ``mode``, ``row``, ``column`` ..."""
    key: str
    """Which one of its kind."""


def jump_labels(count: int) -> tuple[str, ...]:
    """So many labels, none of which begins another: one letter each while there are letters, then two for the last.

    Raises:
        ValueError: there are not so many.
    """
    letters = len(ascii_lowercase)
    if count > letters * letters:
        raise ValueError(f"found {count} places, allowed are {letters * letters}")
    pairs = 0
    while letters - pairs + pairs * letters < count:
        pairs += 1
    firsts = ascii_lowercase[letters - pairs :]
    found = [*ascii_lowercase[: letters - pairs], *(first + second for first in firsts for second in ascii_lowercase)]
    return tuple(found[:count])


def labels_left(named: Sequence[str], typed: str) -> tuple[int, ...]:
    """Numbers of the labels that begin with what was typed."""
    return tuple(number for number, label in enumerate(named) if label.startswith(typed))


# What is looked at as text for the clipboard: one line that can be understood without the screen.


LINES, CELLS = 1_000, 200
"""Room for what is copied: more than a screen has."""


def plain_text(rows: Iterable[Row]) -> str:
    """Lines of a pane, what stands at their right edge behind them."""
    return "\n".join(
        "  ".join(each for each in ("".join(text for text, _role in row.pieces).rstrip(), row.end[0].strip()) if each)
        for row in rows
    )


def replica_line(view: ClusterView, partition: PartitionView, broker: BrokerView) -> str:
    """A partition and what a broker has of it, at an instant."""
    held = next((each for each in partition.replicas if each.broker == broker.id), None)
    down = "" if broker.state == "up" else f" ({broker.state})"
    own = "no replica" if held is None else _held(held, partition)
    return f"{partition.name} on b{broker.id}{down}: {own}; {_partition(view, partition)}; at {clock(view.now_us)}"


def _held(held: ReplicaView, partition: PartitionView) -> str:
    said = [held.status.replace("_", " "), f"LEO {held.leo}", f"HW {held.hw}"]
    if held.broker != partition.leader:
        if held.behind:
            side = "behind" if held.behind > 0 else "ahead of"
            said.append(f"{counted(abs(held.behind), 'record')} {side} the leader")
        if held.broker in partition.leaders:
            said.append("takes itself to lead")
    return ", ".join(said)


def _partition(view: ClusterView, partition: PartitionView) -> str:
    isr = ",".join(map(str, partition.isr))
    lag = lags_of((partition,), view.groups).get(partition.name)
    said = [
        f"leader b{partition.leader}" if partition.leader >= 0 else "no leader",
        f"epoch {partition.leader_epoch}", f"ISR {{{isr}}}", f"HW {partition.hw}",
    ]  # fmt: skip
    if lag is not None:
        said.append(f"lag {lag}")
    if partition.missing:
        said.append(f"{counted(partition.missing, 'acknowledged record')} missing")
    return ", ".join(said)
