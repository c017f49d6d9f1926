"""What is on the screen as text for the clipboard: lines that can be understood without the screen."""

from collections.abc import Iterable

from cluster_model.observation import BrokerView, ClusterView, PartitionView, ReplicaView
from cluster_model.util.quantities import clock, counted
from tui.viewmodel.partition_matrix import lags_of
from tui.viewmodel.row import Row

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
