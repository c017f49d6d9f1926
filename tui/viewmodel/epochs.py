"""The leader-epoch caches of a partition's replicas side by side: where each says that an epoch began."""

from typing import Final

from cluster_model.observation.views import PartitionView, ReplicaView
from tui.terminal import glyphs
from tui.viewmodel.row import Row

_LABEL: Final = 7
_LEAST, _MOST = 7, 11
"""Cells of a column."""
EMPTY: Final = "no replica knows of any epoch"


def build(partition: PartitionView, broker: int, width: int, height: int) -> tuple[Row, ...]:
    """A line per epoch, the newest last, a column per replica; what is not as the leader has it is marked."""
    epochs = sorted({epoch for replica in partition.replicas for epoch, _start in replica.epochs})
    if not epochs:
        return (Row(((EMPTY, "quiet"),)),)
    shown, cell, hidden = _shown(partition, broker, width - 2)
    leader = next((each for each in partition.replicas if each.broker == partition.leader), None)
    heads = [(f"b{each.broker}".rjust(cell), "key" if each.broker == broker else "quiet") for each in shown]
    rest = [(f" +{hidden}", "quiet")] if hidden else []
    rows = [Row((("epoch".ljust(_LABEL), "quiet"), *heads, *rest))]
    room = max(1, height - 1)
    if len(epochs) > room:
        room = max(1, room - 1)
        rows.append(Row(((f"{len(epochs) - room} older {glyphs.MORE_ABOVE}", "quiet"),)))
    rows += [_row(epoch, shown, leader, cell) for epoch in epochs[-room:]]
    return tuple(rows[: max(1, height)])


def _shown(partition: PartitionView, broker: int, width: int) -> tuple[tuple[ReplicaView, ...], int, int]:
    """The replicas that fit, that under the cursor and the leader first, with the width of a column."""
    most = max(1, (width - _LABEL) // _LEAST)
    ranked = sorted(partition.replicas, key=lambda each: (each.broker != broker, each.broker != partition.leader))
    kept = {each.broker for each in ranked[:most]}
    shown = tuple(each for each in partition.replicas if each.broker in kept)
    return shown, min(_MOST, (width - _LABEL) // len(shown)), len(partition.replicas) - len(shown)


def _row(epoch: int, shown: tuple[ReplicaView, ...], leader: ReplicaView | None, cell: int) -> Row:
    right = None if leader is None else dict(leader.epochs).get(epoch)
    pieces = [(str(epoch).ljust(_LABEL), "strong")]
    for replica in shown:
        start = dict(replica.epochs).get(epoch)
        odd = leader is not None and start is not None and start != right
        text = glyphs.NOTHING if start is None else f"{glyphs.DIVERGED if odd else ''}{start}"
        pieces.append((text.rjust(cell), "diverged" if odd else "quiet" if start is None else "text"))
    return Row(tuple(pieces))
