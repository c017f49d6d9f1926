"""Rows of the TUI as text for the clipboard."""

from collections.abc import Iterable

from cluster_model.observation import BrokerView, ClusterView, PartitionView, ReplicaView
from cluster_model.util.quantities import clock, counted
from tui.viewmodel.partition_matrix import lags_of
from tui.viewmodel.row import Row

LINES, CELLS = 1_000, 200
"""Lines and cells for copied text: more than a terminal has."""


def plain_text(rows: Iterable[Row]) -> str:
    """Return the rows of a pane as text, with the text of the right edge at the end of each line."""
    return "\n".join(
        "  ".join(each for each in ("".join(text for text, _role in row.pieces).rstrip(), row.end[0].strip()) if each)
        for row in rows
    )


def replica_line(view: ClusterView, partition: PartitionView, broker: BrokerView) -> str:
    """Return the state of a partition and of a broker's replica at the current time, in one line."""
    held = next((each for each in partition.replicas if each.broker == broker.id), None)
    down = "" if broker.state == "up" else f" ({broker.state})"
    own = "no replica" if held is None else _held(held, partition)
    return f"{partition.name} on b{broker.id}{down}: {own}; {_partition(view, partition)}; at {clock(view.now_us)}"


def _held(held: ReplicaView, partition: PartitionView) -> str:
    parts = [held.status.replace("_", " "), f"LEO {held.leo}", f"HW {held.hw}"]
    if held.broker != partition.leader:
        if held.behind:
            side = "behind" if held.behind > 0 else "ahead of"
            parts.append(f"{counted(abs(held.behind), 'record')} {side} the leader")
        if held.broker in partition.leaders:
            parts.append("believes that it is the leader")
    return ", ".join(parts)


def _partition(view: ClusterView, partition: PartitionView) -> str:
    isr = ",".join(map(str, partition.isr))
    lag = lags_of((partition,), view.groups).get(partition.name)
    parts = [
        f"leader b{partition.leader}" if partition.leader >= 0 else "no leader",
        f"epoch {partition.leader_epoch}", f"ISR {{{isr}}}", f"HW {partition.hw}",
    ]  # fmt: skip
    if lag is not None:
        parts.append(f"lag {lag}")
    if partition.missing:
        parts.append(f"{counted(partition.missing, 'acknowledged record')} missing")
    return ", ".join(parts)
