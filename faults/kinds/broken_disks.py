"""Disks that refuse: full, read-only, or gone. A broker has one log directory, so the first failure is its end."""

from dataclasses import replace
from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import Aim, Alias, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import silence


class BrokenDisk(Behaviour):
    """A disk on which writes fail; the broker that tries ends, and cannot start again."""

    upon = ""
    """What the broker's end waits for."""

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Make each disk work, and start the broker that it has ended."""
        disks = stage.cluster.disks
        for node in injury.nodes:
            disks.mend(node, injury.id)
            if disks.halted(node) and stage.cluster.is_up(node):
                disks.start_again(node)
            elif disks.halted(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What losing the broker means."""
        lost = silence(cluster, "crash", aim.nodes)
        return replace(lost, sentence=f"halts {self.upon}: {lost.sentence}")


class FullDisk(BrokenDisk):
    """No space left on device."""

    upon = "at the first append or checkpoint that does not fit"

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Leave so many bytes on each."""
        for node in injury.nodes:
            stage.cluster.disks.fill(node, injury.id, int(injury.params["free"]))


class ReadOnlyDisk(BrokenDisk):
    """Remounted read-only."""

    upon = "at its next append or checkpoint"

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Let nothing be written to each."""
        for node in injury.nodes:
            stage.cluster.disks.make_read_only(node, injury.id)


class LogDirFailure(BrokenDisk):
    """The device fails."""

    upon = "at once"

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Let every access to each fail."""
        lost = bool(injury.params["lost"])
        for node in injury.nodes:
            if lost:
                stage.take_away(node)
            stage.cluster.disks.fail(node, injury.id, lost=lost)


_HEALS: Final = "and the broker that has halted starts again, unless something else still ails its disk"

FAULTS: Final = table(
    Fault(
        name="full_disk",
        letter="F",
        title="full disk",
        family="disks",
        summary="The disk has no room: the append or checkpoint that does not fit fails, the log directory goes "
        "offline, and the broker, which has no other, halts; started again, it halts again.",
        params=(Param("free", "size", "Bytes that still fit.", default=0, high=1 << 50),),
        accepts="brokers",
        lasting=True,
        heals=f"there is room, {_HEALS}",
        glyph="▣",
        colour="alarm",
        cause="retention that does not keep up, a consumer's backlog, another tenant of the volume",
        may_break="its leaderships until its session ends, then one broker after another if all fill up alike",
        aliases=(
            Alias("disk_full"),
            Alias("disk_fill"),
            Alias("fill_disk"),
        ),
        behaviour=FullDisk(),
    ),
    Fault(
        name="read_only_disk",
        letter="R",
        title="read-only disk",
        family="disks",
        summary="The file system is remounted read-only: reads go on until the first append, checkpoint or deletion "
        "fails, which ends the broker; started again, it halts again.",
        params=(),
        accepts="brokers",
        lasting=True,
        heals=f"it can be written to, {_HEALS}",
        glyph="▤",
        colour="alarm",
        cause="errors=remount-ro after an I/O error, a storage controller that protects itself",
        may_break="its leaderships until its session ends; an idle broker too, by its next checkpoint",
        behaviour=ReadOnlyDisk(),
    ),
    Fault(
        name="log_dir_failure",
        letter="L",
        title="log directory failure",
        family="disks",
        summary="Every access to the log directory fails: the broker, which has no other, halts at once; started "
        "again, it halts again.",
        params=(Param("lost", "bool", "Whether the disk's content is gone: the broker returns empty.", default=False),),
        accepts="brokers",
        lasting=True,
        heals=f"the directory works with what it held, or an empty disk is in its place, {_HEALS}",
        glyph="◌",
        colour="alarm",
        cause="a dead disk, a volume that is detached, a cable, a RAID controller",
        may_break="its leaderships until its session ends; with the content lost, whatever no other replica has",
        behaviour=LogDirFailure(),
    ),
)
"""Faults by name."""
