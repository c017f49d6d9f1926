"""Processes that get too little of a CPU."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, SECOND, Aim, Alias, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import slowness
from faults.kinds.process import refuse_down


class SlowCpu(Behaviour):
    """Whatever the process handles takes time. It stays with the machine: a restart does not end it."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives works."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """From now on; costs of several faults add up."""
        for node in injury.nodes:
            stage.cluster.lives.slow(node, injury.id, int(injury.params["cost"]))

    def heal(self, stage: Stage, injury: Injury) -> None:
        """With the last such fault what waits is handled at once."""
        for node in injury.nodes:
            stage.cluster.lives.quicken(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Who waits for it."""
        return slowness(cluster, "slow_cpu", aim.nodes)


FAULTS: Final = table(
    Fault(
        name="slow_cpu",
        letter="u",
        title="slow CPU",
        family="processes",
        summary="Every message and every timer that the process handles takes some time of one CPU: one is handled "
        "after the other, and the rest waits, in order and without loss.",
        params=(
            Param(
                "cost",
                "duration",
                "For each message or timer; 2 ms are 500 of them a second.",
                default=2 * MS,
                low=1,
                high=60 * SECOND,
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals="what waits is handled at once, in order",
        glyph="◵",
        colour="warning",
        cause="CPU limits of a container, a busy neighbour, a debug log level, compression or TLS on a small machine",
        may_break="latency first; once more comes than it can handle the backlog grows, until heartbeats and fetches "
        "wait longer than sessions and the ISR allow",
        aliases=(
            Alias("cpu_hog"),
            Alias("cpu_stress"),
            Alias("cpu_burn"),
            Alias("pod_cpu_hog"),
            Alias("node_cpu_hog"),
        ),
        behaviour=SlowCpu(),
    ),
)
"""Faults by name."""
