"""Batches that are no longer what was written, and disks that never wrote them: nobody is told of either."""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.protocol.damage import KINDS, VALUE
from cluster_model.protocol.errors import ModelError
from faults.declarations.fault import Aim, Alias, Behaviour, Expectation, Fault, FaultError, Injury, Param, Stage, table
from faults.declarations.impact import hit, names, plain


class CorruptBatch(Behaviour):
    """Bits turn in one stored batch."""

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """The partition that is meant, where none is named."""
        return Aim(aim.nodes, {**aim.params, "partition": _partition(stage.cluster, aim.nodes, aim.params)})

    def check(self, stage: Stage, aim: Aim) -> None:
        """Each target must have such a batch."""
        for node in aim.nodes:
            _refuse_no_batch(stage.cluster, node, aim.params)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Damage each copy."""
        partition, offset = str(injury.params["partition"]), int(injury.params["offset"])
        for node in injury.nodes:
            stage.cluster.harm.damage(node, partition, offset, str(injury.params["what"]))

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
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
            raise FaultError(f"there is no partition {named}; there are {', '.join(cluster.world.records)}")
        return named
    for partition in cluster.world.records:
        replicas = [cluster.brokers[node].replicas.get(partition) for node in nodes]
        if not partition.startswith("__") and all(each and each.log.leo > each.log.log_start for each in replicas):
            return partition
    raise FaultError(f"{names(cluster, nodes)} has no record of any topic, so there is no batch to damage")


def _refuse_no_batch(cluster: Cluster, node: int, params: Mapping[str, Any]) -> None:
    partition, offset = str(params["partition"]), int(params["offset"])
    try:
        batch = cluster.harm.batch_at(node, partition, offset)
    except ModelError as error:
        raise FaultError(f"{error}, so it has no batch to damage") from None
    if batch is None:
        where = "below its high watermark" if offset < 0 else f"at offset {offset}"
        raise FaultError(f"{cluster.name_of(node)} has no record of {partition} {where}")


class LostWriteback(Behaviour):
    """A disk that lies."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """From here on."""
        for node in injury.nodes:
            stage.cluster.harm.lose_writes(node, injury.id)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """It writes again, and what it withheld soon."""
        for node in injury.nodes:
            stage.cluster.harm.keep_writes(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
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


FAULTS: Final = table(
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
