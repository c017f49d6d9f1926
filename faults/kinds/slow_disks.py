"""Disks that take their time."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, Aim, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import hit, names
from faults.declarations.spelling import spelled

_SAMPLE: Final = 16_384
"""Bytes of the write that an expectation speaks of: a full batch of a producer (``batch.size``)."""


class SlowDisk(Behaviour):
    """Every append waits until the disk has taken it."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Slow each disk down."""
        throughput, latency = int(injury.params["throughput"]), int(injury.params["latency"])
        for node in injury.nodes:
            stage.cluster.disks.slow(node, injury.id, throughput, latency)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Let each write as before, as far as no other fault slows it."""
        for node in injury.nodes:
            stage.cluster.disks.mend(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
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
            f"{names(cluster, aim.nodes)} takes {spelled(each_us)} to write 16 KiB: every append waits where it leads "
            f"({len(leads)}), and acks=all where it follows in the ISR ({len(follows)})"
        )
        return Expectation(sentence, clients=hit(cluster, (), (*leads, *follows)))


FAULTS: Final = table(
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
