"""Faults of disks: slow, full, read-only or failed disks, corrupt batches, and lost writes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import KINDS, VALUE
from cluster_model.util.quantities import counted, exact_duration
from faults.declarations.fault import (
    MS,
    ActiveFault,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Param,
    ResolvedTarget,
    table,
)
from faults.declarations.impact import affected_clients, impact_without_leader_change, names, outage_impact


class CorruptBatch(Behaviour):
    """Bit flip in one stored batch."""

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Choose the partition if none is given."""
        return ResolvedTarget(
            resolved.nodes,
            {**resolved.params, "partition": _partition(context.cluster, resolved.nodes, resolved.params)},
        )

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require each target to have such a batch."""
        for node in resolved.nodes:
            _refuse_no_batch(context.cluster, node, resolved.params)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Corrupt the batch on each target."""
        partition, offset = str(active_fault.params["partition"]), int(active_fault.params["offset"])
        for node in active_fault.nodes:
            context.cluster.broker_faults.damage(node, partition, offset, str(active_fault.params["field"]))

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which replicas and consumers would read the batch."""
        try:
            partition = _partition(cluster, resolved.nodes, resolved.params)
            for node in resolved.nodes:
                _refuse_no_batch(cluster, node, {**resolved.params, "partition": partition})
        except FaultError as error:
            return impact_without_leader_change(f"nothing: {error}")
        leader = cluster.cluster_state.record(partition).leader
        if leader not in resolved.nodes:
            shown = names(cluster, resolved.nodes)
            return impact_without_leader_change(
                f"{shown} does not lead {partition}: no effect until it leads or recovers its log"
            )
        batch = cluster.broker_faults.batch_at(leader, partition, int(resolved.params["offset"]))
        end = batch.end if batch is not None else 0
        followers = [
            each for each in cluster.cluster_state.record(partition).assignment if _end(cluster, each, partition) < end
        ]
        readers = tuple(
            each
            for each in affected_clients(cluster, (), (partition,))
            if each in cluster.consumers and cluster.consumers[each].positions.get(partition, 0) < end
        )
        shown = f"{cluster.name_of(leader)} leads {partition}"
        if not followers and not readers:
            return impact_without_leader_change(
                f"{shown}: all current readers are past that batch; later readers stop at it"
            )
        stop = [names(cluster, followers)] if followers else []
        return impact_without_leader_change(f"{shown}: {', '.join([*stop, *readers])} stops at that batch", readers)


def _end(cluster: Cluster, node: int, partition: str) -> int:
    replica = cluster.brokers[node].replicas.get(partition)
    return 0 if replica is None else replica.log.leo


def _partition(cluster: Cluster, nodes: tuple[int, ...], params: Mapping[str, Any]) -> str:
    """Return the given partition, or the first of a user topic of which every target has a record.

    Raises:
        FaultError: The given partition does not exist, or none is given and there is none.
    """
    named = str(params["partition"])
    if named:
        if named not in cluster.cluster_state.records:
            raise FaultError(
                f"no partition {named!r}; known partitions: {', '.join(cluster.cluster_state.records)}",
                code="no_partition",
            )
        return named
    for partition in cluster.cluster_state.records:
        replicas = [cluster.brokers[node].replicas.get(partition) for node in nodes]
        if not partition.startswith("__") and all(each and each.log.leo > each.log.log_start for each in replicas):
            return partition
    raise FaultError(
        f"{names(cluster, nodes)} has no record of any topic, so there is no batch to corrupt", code="no_record"
    )


def _refuse_no_batch(cluster: Cluster, node: int, params: Mapping[str, Any]) -> None:
    partition, offset = str(params["partition"]), int(params["offset"])
    try:
        batch = cluster.broker_faults.batch_at(node, partition, offset)
    except ModelError as error:
        raise FaultError(f"{error}, so it has no batch to corrupt", code=error.code) from None
    if batch is None:
        where = "below its high watermark" if offset < 0 else f"at offset {offset}"
        raise FaultError(f"{cluster.name_of(node)} has no record of {partition} {where}", code="no_record")


class LostWriteback(Behaviour):
    """Disk that reports writes as flushed without performing them."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Withhold writes from now on."""
        for node in active_fault.nodes:
            context.cluster.broker_faults.lose_writes(node, active_fault.id)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Perform later writes, and withheld ones with the usual delay."""
        for node in active_fault.nodes:
            context.cluster.broker_faults.keep_writes(node, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of a later power loss; the fault alone has none."""
        at_stake = tuple(
            partition
            for partition, record in cluster.cluster_state.records.items()
            if all(each in resolved.nodes for each in record.isr)
        )
        shown = names(cluster, resolved.nodes)
        if at_stake:
            what = at_stake[0] if len(at_stake) == 1 else f"{len(at_stake)} partitions"
            return impact_without_leader_change(
                f"{shown}: nothing until a power loss; then {what} loses all records written from now on",
                affected_clients(cluster, (), at_stake),
            )
        return impact_without_leader_change(
            f"{shown}: nothing until a power loss; then lost records are fetched again from the ISR"
        )


CORRUPTION_FAULTS: Final = table(
    Fault(
        name="corrupt_batch",
        letter="C",
        title="corrupt batch",
        family="disks",
        summary="Bit flip in a stored batch, on the disk or in the page cache: the checksum no longer matches. A "
        "leader sends the batch without validating it; whatever validates the checksum rejects the batch.",
        params=(
            Param(
                "partition",
                "partition",
                "Partition of the batch; by default the first of which every target has a record.",
                default="",
            ),
            Param(
                "offset",
                "int",
                "Offset of a record in the batch; -1: the last record below the high watermark.",
                default=-1,
                low=-1,
                high=1 << 40,
            ),
            Param(
                "field",
                "choice",
                "Which bits flip: in a record's value, so that only the checksum shows it, or in the length of a "
                "record, so that the batch cannot be parsed.",
                default=VALUE,
                choices=KINDS,
                old="what",
            ),
        ),
        accepts="brokers",
        is_lasting=False,
        heals="",
        glyph="╳",
        colour="alarm",
        cause="a bad sector, a faulty cable, memory without ECC, a bug in a disk controller or file system",
        may_break="a follower that has yet to fetch the batch, which leaves the ISR; a consumer that reaches it; log "
        "recovery at startup, which truncates the log there; the log cleaner; acknowledged records, if no intact copy "
        "leads",
        aliases=(Alias("bitflip"),),
        behaviour=CorruptBatch(),
    ),
    Fault(
        name="lost_writeback",
        letter="W",
        title="lost write-back",
        family="disks",
        summary="The disk reports writes and flushes as complete but has not performed them. A process crash loses "
        "nothing; a power loss resets logs and checkpoints to the state they had when the fault began.",
        params=(),
        accepts="brokers",
        is_lasting=True,
        heals="later writes reach the disk; withheld writes follow with the usual write-back delay, or with the next "
        "flush of a log",
        glyph="?",
        colour="warning",
        cause="a write cache without a battery, a hypervisor or network disk that ignores flushes",
        may_break="nothing until a power loss; then flushed records, even below the checkpointed recovery point and "
        "high watermark",
        behaviour=LostWriteback(),
    ),
)
"""Faults by name."""


# Broken disks: full, read-only or failed. A broker has one log directory, so it halts at the first failure.


class BrokenDisk(Behaviour):
    """Base of faults in which writes to a disk fail: the broker halts, and halts again if restarted."""

    halts_text = ""
    """When the broker halts, as text."""

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Repair each disk, and restart the broker if it halted."""
        disks = context.cluster.disks
        for node in active_fault.nodes:
            disks.heal(node, active_fault.id)
            if disks.halted(node) and context.cluster.is_up(node):
                disks.start_again(node)
            elif disks.halted(node):
                context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of losing the broker."""
        lost = outage_impact(cluster, "crash", resolved.nodes)
        return replace(lost, sentence=f"halts {self.halts_text}: {lost.sentence}")


class FullDisk(BrokenDisk):
    """Disk on which an append or checkpoint fails for lack of space (ENOSPC)."""

    halts_text = "at the first append or checkpoint that does not fit"

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Limit the free space of each disk."""
        for node in active_fault.nodes:
            context.cluster.disks.fill(node, active_fault.id, int(active_fault.params["free"]))


class ReadOnlyDisk(BrokenDisk):
    """Disk whose file system was remounted read-only."""

    halts_text = "at its next append or checkpoint"

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Make each disk read-only."""
        for node in active_fault.nodes:
            context.cluster.disks.make_read_only(node, active_fault.id)


class LogDirFailure(BrokenDisk):
    """Failure of the device of a log directory."""

    halts_text = "at once"

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Fail every access to each disk."""
        lost = bool(active_fault.params["lost"])
        for node in active_fault.nodes:
            if lost:
                context.release_process(node)
            context.cluster.disks.fail(node, active_fault.id, lost=lost)


_HEALS: Final = "and a broker that halted restarts, unless another fault still affects its disk"

BROKEN_DISK_FAULTS: Final = table(
    Fault(
        name="full_disk",
        letter="F",
        title="full disk",
        family="disks",
        summary="The disk is full: the first append or checkpoint that does not fit fails, the log directory goes "
        "offline, and the broker, which has no other log directory, halts. If it is restarted, it halts again.",
        params=(Param("free", "size", "Bytes that still fit.", default=0, high=1 << 50),),
        accepts="brokers",
        is_lasting=True,
        heals=f"space is freed, {_HEALS}",
        glyph="▣",
        colour="alarm",
        cause="retention that does not keep up, a growing backlog of a consumer, another user of the volume",
        may_break="partitions the broker leads, until its session expires; then one broker after another if all disks "
        "fill at the same rate",
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
        summary="The file system is remounted read-only: reads continue until the first append, checkpoint or "
        "deletion fails, and the broker halts. If it is restarted, it halts again.",
        params=(),
        accepts="brokers",
        is_lasting=True,
        heals=f"the disk is writable again, {_HEALS}",
        glyph="▤",
        colour="alarm",
        cause="errors=remount-ro after an I/O error, a storage controller that protects itself",
        may_break="partitions the broker leads, until its session expires; an idle broker too, at its next checkpoint",
        behaviour=ReadOnlyDisk(),
    ),
    Fault(
        name="log_dir_failure",
        letter="L",
        title="log directory failure",
        family="disks",
        summary="Every access to the log directory fails: the broker, which has no other, halts at once. If it is "
        "restarted, it halts again.",
        params=(Param("lost", "bool", "The contents of the disk are lost: the broker returns empty.", default=False),),
        accepts="brokers",
        is_lasting=True,
        heals=f"the directory works again, on an empty replacement disk if its contents are lost, {_HEALS}",
        glyph="◌",
        colour="alarm",
        cause="a dead disk, a detached volume, a faulty cable, a failed RAID controller",
        may_break="partitions the broker leads, until its session expires; with the contents lost, every record that "
        "no other replica has",
        behaviour=LogDirFailure(),
    ),
)
"""Faults by name."""


# Slow disks.


_SAMPLE: Final = 16_384
"""Bytes of the write in a prediction: a full batch of a producer (``batch.size``)."""


class SlowDisk(Behaviour):
    """Disk with limited throughput and extra latency: every append waits for it."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Slow down each disk."""
        throughput, latency = int(active_fault.params["throughput"]), int(active_fault.params["latency"])
        for node in active_fault.nodes:
            context.cluster.disks.slow(node, active_fault.id, throughput, latency)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restore each disk, unless another fault slows it."""
        for node in active_fault.nodes:
            context.cluster.disks.heal(node, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact: all appends wait where the broker leads, acks=all where it is in sync."""
        records = cluster.cluster_state.records
        leads = [name for name, record in records.items() if record.leader in resolved.nodes]
        follows = [
            name
            for name, record in records.items()
            if name not in leads and any(each in resolved.nodes for each in record.isr)
        ]
        each_us = _SAMPLE * 1_000_000 // int(resolved.params["throughput"]) + int(resolved.params["latency"])
        sentence = (
            f"{names(cluster, resolved.nodes)} takes {exact_duration(each_us)} to write 16 KiB: "
            f"every append to the {counted(len(leads), 'partition')} it leads waits, "
            f"and acks=all on {len(follows)} it follows in the ISR"
        )
        return ExpectedImpact(sentence, clients=affected_clients(cluster, (), (*leads, *follows)))


SLOW_DISK_FAULTS: Final = table(
    Fault(
        name="slow_disk",
        letter="D",
        title="slow disk",
        family="disks",
        summary="Every append takes its size divided by the throughput, plus a latency. Appends run one at a time, "
        "and the appending thread waits: a request handler with its connection, or a follower's fetcher thread.",
        params=(
            Param(
                "throughput", "throughput", "Write throughput of the disk.", default=1 << 20, low=1_024, high=1 << 40
            ),
            Param("latency", "duration", "Added to every write, like the time of a sync.", default=10 * MS),
        ),
        accepts="brokers",
        is_lasting=True,
        heals="pending writes finish at once, and later appends take no time",
        glyph="▽",
        colour="warning",
        cause="a throttled cloud volume, a failing disk that retries, a noisy neighbour, too many dirty pages",
        may_break="produce latency of the partitions the broker leads, and of acks=all wherever it is in sync, until "
        "it lags enough to leave the ISR; every connection, once num.io.threads writes are waiting",
        behaviour=SlowDisk(),
    ),
)
"""Faults by name."""
