"""Faults of disks: slow, full, read-only or failed, corrupt batches, and writes that are lost."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import KINDS, VALUE
from cluster_model.util.quantities import exact_duration
from faults.declarations.fault import (
    MS,
    Aim,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Injury,
    Param,
    table,
)
from faults.declarations.impact import hit, names, plain, silence


class CorruptBatch(Behaviour):
    """Bits turn in one stored batch."""

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """The partition that is meant, where none is named."""
        return Aim(aim.nodes, {**aim.params, "partition": _partition(stage.cluster, aim.nodes, aim.params)})

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Each target must have such a batch."""
        for node in aim.nodes:
            _refuse_no_batch(stage.cluster, node, aim.params)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Damage each copy."""
        partition, offset = str(injury.params["partition"]), int(injury.params["offset"])
        for node in injury.nodes:
            stage.cluster.harm.damage(node, partition, offset, str(injury.params["what"]))

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who would come upon it, by who reads from whom."""
        try:
            partition = _partition(cluster, aim.nodes, aim.params)
            for node in aim.nodes:
                _refuse_no_batch(cluster, node, {**aim.params, "partition": partition})
        except FaultError as error:
            return plain(f"nothing: {error}")
        leader = cluster.world.record(partition).leader
        if leader not in aim.nodes:
            who = names(cluster, aim.nodes)
            return plain(f"{who} does not lead {partition}: nobody will notice before it does, or recovers")
        batch = cluster.harm.batch_at(leader, partition, int(aim.params["offset"]))
        end = batch.end if batch is not None else 0
        behind = [each for each in cluster.world.record(partition).assignment if _end(cluster, each, partition) < end]
        readers = tuple(
            each
            for each in hit(cluster, (), (partition,))
            if each in cluster.consumers and cluster.consumers[each].positions.get(partition, 0) < end
        )
        who = f"{cluster.name_of(leader)} leads {partition}"
        if not behind and not readers:
            return plain(f"{who}: everybody has read that batch, who comes later stops at it")
        stop = [names(cluster, behind)] if behind else []
        return plain(f"{who}: {', '.join([*stop, *readers])} stops at that batch", readers)


def _end(cluster: Cluster, node: int, partition: str) -> int:
    replica = cluster.brokers[node].replicas.get(partition)
    return 0 if replica is None else replica.log.leo


def _partition(cluster: Cluster, nodes: tuple[int, ...], params: Mapping[str, Any]) -> str:
    """The partition named, or the first of a user's topic of which every target has any record.

    Raises:
        FaultError: no topic has that partition, or none is named and there is none.
    """
    named = str(params["partition"])
    if named:
        if named not in cluster.world.records:
            raise FaultError(
                f"there is no partition {named}; there are {', '.join(cluster.world.records)}", code="no_partition"
            )
        return named
    for partition in cluster.world.records:
        replicas = [cluster.brokers[node].replicas.get(partition) for node in nodes]
        if not partition.startswith("__") and all(each and each.log.leo > each.log.log_start for each in replicas):
            return partition
    raise FaultError(
        f"{names(cluster, nodes)} has no record of any topic, so there is no batch to damage", code="no_record"
    )


def _refuse_no_batch(cluster: Cluster, node: int, params: Mapping[str, Any]) -> None:
    partition, offset = str(params["partition"]), int(params["offset"])
    try:
        batch = cluster.harm.batch_at(node, partition, offset)
    except ModelError as error:
        raise FaultError(f"{error}, so it has no batch to damage", code=error.code) from None
    if batch is None:
        where = "below its high watermark" if offset < 0 else f"at offset {offset}"
        raise FaultError(f"{cluster.name_of(node)} has no record of {partition} {where}", code="no_record")


class LostWriteback(Behaviour):
    """A disk that lies."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """From here on."""
        for node in injury.nodes:
            stage.cluster.harm.lose_writes(node, injury.id)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """It writes again, and what it withheld soon."""
        for node in injury.nodes:
            stage.cluster.harm.keep_writes(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Nothing now; what the loss of power would then mean."""
        at_stake = tuple(
            partition
            for partition, record in cluster.world.records.items()
            if all(each in aim.nodes for each in record.isr)
        )
        who = names(cluster, aim.nodes)
        if at_stake:
            what = at_stake[0] if len(at_stake) == 1 else f"{len(at_stake)} partitions"
            return plain(
                f"{who}: nothing until the power goes; then all that {what} gets from now on is on no disk",
                hit(cluster, (), at_stake),
            )
        return plain(f"{who}: nothing until the power goes; then what others in the ISR have is fetched again")


CORRUPTION_FAULTS: Final = table(
    Fault(
        name="corrupt_batch",
        letter="C",
        title="corrupt batch",
        family="disks",
        summary="Bits of one stored batch turn on the disk or in the page cache, so that its checksum does not match: "
        "a leader sends it as it is, whoever reckons the checksum will not have it.",
        params=(
            Param("partition", "partition", "Whose batch; by default the first that the target has any.", default=""),
            Param(
                "offset",
                "int",
                "A record of the batch; -1: the last one below the high watermark.",
                default=-1,
                low=-1,
                high=1 << 40,
            ),
            Param(
                "what",
                "choice",
                "Which bits: of a record's value, so that only the checksum tells, or of its length, so that nobody "
                "can take the batch apart.",
                default=VALUE,
                choices=KINDS,
            ),
        ),
        accepts="brokers",
        lasting=False,
        heals="",
        glyph="╳",
        colour="alarm",
        cause="a bad sector, a cable, memory without ECC, a controller or file system with a bug",
        may_break="a replica that has yet to fetch it, which leaves the ISR; a consumer that comes to it; a start that "
        "recovers, which ends the log there; the cleaner; records that were acknowledged, if no whole copy leads",
        aliases=(Alias("bitflip"),),
        behaviour=CorruptBatch(),
    ),
    Fault(
        name="lost_writeback",
        letter="W",
        title="lost write-back",
        family="disks",
        summary="The disk says that it has written and flushed, and has not: a process that dies loses nothing, but a "
        "power loss takes logs and checkpoints back to where they were when this began.",
        params=(),
        accepts="brokers",
        lasting=True,
        heals="what is written from then on is on the disk, what was withheld after the usual time of a write-back, or "
        "with the next flush of a log",
        glyph="?",
        colour="warning",
        cause="a write cache without a battery, a hypervisor or a network disk that ignores flushes",
        may_break="nothing until the power goes; then records that had been flushed, below the recovery point and the "
        "high watermark that were checkpointed",
        behaviour=LostWriteback(),
    ),
)
"""Faults by name."""


# Broken disks: full, read-only, or gone. A broker has one log directory, so the first failure is its end.


class BrokenDisk(Behaviour):
    """A disk on which writes fail; the broker that tries ends, and cannot start again."""

    upon = ""
    """What the broker's end waits for."""

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Make each disk work, and start the broker that it has ended."""
        disks = stage.cluster.disks
        for node in injury.nodes:
            disks.mend(node, injury.id)
            if disks.halted(node) and stage.cluster.is_up(node):
                disks.start_again(node)
            elif disks.halted(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What losing the broker means."""
        lost = silence(cluster, "crash", aim.nodes)
        return replace(lost, sentence=f"halts {self.upon}: {lost.sentence}")


class FullDisk(BrokenDisk):
    """No space left on device."""

    upon = "at the first append or checkpoint that does not fit"

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Leave so many bytes on each."""
        for node in injury.nodes:
            stage.cluster.disks.fill(node, injury.id, int(injury.params["free"]))


class ReadOnlyDisk(BrokenDisk):
    """Remounted read-only."""

    upon = "at its next append or checkpoint"

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Let nothing be written to each."""
        for node in injury.nodes:
            stage.cluster.disks.make_read_only(node, injury.id)


class LogDirFailure(BrokenDisk):
    """The device fails."""

    upon = "at once"

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Let every access to each fail."""
        lost = bool(injury.params["lost"])
        for node in injury.nodes:
            if lost:
                stage.take_away(node)
            stage.cluster.disks.fail(node, injury.id, lost=lost)


_HEALS: Final = "and the broker that has halted starts again, unless something else still ails its disk"

BROKEN_DISK_FAULTS: Final = table(
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


# Slow disks.


_SAMPLE: Final = 16_384
"""Bytes of the write that an expectation speaks of: a full batch of a producer (``batch.size``)."""


class SlowDisk(Behaviour):
    """Every append waits until the disk has taken it."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Slow each disk down."""
        throughput, latency = int(injury.params["throughput"]), int(injury.params["latency"])
        for node in injury.nodes:
            stage.cluster.disks.slow(node, injury.id, throughput, latency)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Let each write as before, as far as no other fault slows it."""
        for node in injury.nodes:
            stage.cluster.disks.mend(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who waits for the disk: everybody where it leads, acks=all where it is in sync."""
        records = cluster.world.records
        leads = [name for name, record in records.items() if record.leader in aim.nodes]
        follows = [
            name
            for name, record in records.items()
            if name not in leads and any(each in aim.nodes for each in record.isr)
        ]
        each_us = _SAMPLE * 1_000_000 // int(aim.params["throughput"]) + int(aim.params["latency"])
        sentence = (
            f"{names(cluster, aim.nodes)} takes {exact_duration(each_us)} to write 16 KiB: "
            f"every append waits where it leads ({len(leads)}), "
            f"and acks=all where it follows in the ISR ({len(follows)})"
        )
        return ExpectedImpact(sentence, clients=hit(cluster, (), (*leads, *follows)))


SLOW_DISK_FAULTS: Final = table(
    Fault(
        name="slow_disk",
        letter="D",
        title="slow disk",
        family="disks",
        summary="Every append takes its bytes at the given throughput and a latency on top, one after another, and the "
        "thread that appends waits: a request handler with its connection, or a follower's fetcher.",
        params=(
            Param("throughput", "throughput", "What the disk takes.", default=1 << 20, low=1_024, high=1 << 40),
            Param("latency", "duration", "Added to every write, as a sync takes it.", default=10 * MS),
        ),
        accepts="brokers",
        lasting=True,
        heals="what is still to be written is written at once, and later appends take no time",
        glyph="▽",
        colour="warning",
        cause="a throttled cloud volume, a failing disk that retries, a neighbour's load, too many dirty pages",
        may_break="the latency of all that its broker leads, of acks=all wherever it is in sync, until it falls so far "
        "behind that it leaves the ISR; every connection once num.io.threads writes wait",
        behaviour=SlowDisk(),
    ),
)
"""Faults by name."""
