"""Applications that are slow to call their client."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import SECOND, Aim, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import slowness
from faults.kinds.lifting import Lifted


class PollStall(Lifted):
    """Time on top of every poll's records."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Later polls come so much later."""
        for node in injury.nodes:
            stage.cluster.clients.faults.stall(node, injury.id, int(injury.params["extra"]))

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Whether its group throws it out."""
        return slowness(cluster, "poll_stall", aim.nodes)


FAULTS: Final = table(
    Fault(
        name="poll_stall",
        letter="s",
        title="poll stall",
        family="clients",
        summary="The application takes longer for the records of every poll, and calls the next one so much later.",
        params=(
            Param("extra", "duration", "Added to the processing of each poll's records.", default=10 * SECOND, low=1),
        ),
        accepts="consumers",
        lasting=True,
        heals="records of later polls take their usual time",
        glyph="…",
        colour="warning",
        cause="a slow database behind the handler, a lock, retries without end",
        may_break="max.poll.interval.ms: its member leaves the group, and its records are read again by another",
        behaviour=PollStall(),
    ),
)
"""Faults by name."""
