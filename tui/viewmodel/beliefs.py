"""Who believes what, in a few cells: marks behind a broker's name, and what old metadata says."""

from collections.abc import Iterator

from cluster_model.observation.views import BrokerView, PartitionView
from tui.terminal import glyphs
from tui.terminal.format import count


def marks(broker: BrokerView, room: int) -> str:
    """What stands behind a broker's name in ``room`` cells: fenced, leaving, so many stale partitions."""
    signs = glyphs.FENCED if broker.fenced else ""
    signs += glyphs.LEAVING if broker.shutting_down else ""
    stale = f"{glyphs.STALE}{count(broker.stale)}" if broker.stale else ""
    choices = (f" {signs}{stale}", f"{signs}{stale}", f" {signs}{stale[:1]}", f"{signs}{stale[:1]}")
    if not signs and not stale:
        return ""
    return next((text for text in choices if len(text) <= room), "")


def beliefs(partition: PartitionView) -> Iterator[tuple[str, str]]:
    """For each broker whose metadata is old: its name, and what it still takes for true."""
    for each in partition.beliefs:
        if each.leader_epoch < 0:
            yield f"b{each.broker}", "has not heard of it"
            continue
        leader = f"b{each.leader}" if each.leader >= 0 else "nobody"
        isr = f" ISR {','.join(map(str, each.isr))}" if each.isr else ""
        yield f"b{each.broker}", f"still has {leader} epoch {each.leader_epoch}/{each.partition_epoch}{isr}"


def conditions(partition: PartitionView) -> str:
    """What is special about a partition's state, in a few words; empty where nothing is."""
    words = []
    if partition.recovering:
        words.append("recovering")
    if partition.elr:
        words.append(f"ELR {{{','.join(map(str, partition.elr))}}}")
    words += [f"+b{each}" for each in partition.adding] + [f"{glyphs.MINUS}b{each}" for each in partition.removing]
    return f" {glyphs.NOTHING} ".join(words)
