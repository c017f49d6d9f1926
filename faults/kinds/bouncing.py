"""Processes that end and start again by themselves after a while, as a supervisor or a deployment has it."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import MS, SECOND, Aim, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import parting, silence
from faults.kinds.process import CleanShutdown, refuse_down

LOOK_US: Final = 100 * MS
"""How often a supervisor looks whether a process has ended."""


class Bounce(CleanShutdown):
    """Down and up again. The memo has (node, when it is started) of every process that was seen down."""

    def holds(self, injury: Injury) -> bool:
        """One that kills has nothing left to hold."""
        return not injury.params["kill"]

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives can end, and only what runs can end in order."""
        if aim.params["kill"]:
            refuse_down(stage.cluster, aim.nodes)
        else:
            super().check(stage, aim)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Kill each, or ask each to end."""
        for node in injury.nodes:
            if injury.params["kill"]:
                stage.take_away(node)
                stage.cluster.crash(node)
            else:
                stage.cluster.shutdown(node)
        injury.memo["starts"] = ()
        self.woken(stage, injury)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """Start what has been down for long enough, and look again while anything is left to do."""
        now, up = stage.cluster.now_us, stage.cluster.is_up
        starts = dict(injury.memo["starts"])
        waits = []
        for node in injury.nodes:
            if node not in starts and up(node):
                waits.append(LOOK_US)
                continue
            starts.setdefault(node, now + int(injury.params["down"]))
            if up(node):
                continue  # Somebody else has started it.
            if starts[node] <= now:
                stage.restart(node)
            else:
                waits.append(starts[node] - now)
        injury.memo["starts"] = tuple(starts.items())
        if waits:
            stage.wake(injury, min(waits))
        else:
            stage.end(injury)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """How it ends."""
        if aim.params["kill"]:
            return silence(cluster, "crash", aim.nodes)
        return parting(cluster, "clean_shutdown", aim.nodes)


FAULTS: Final = table(
    Fault(
        name="bounce",
        letter="b",
        title="bounce",
        family="processes",
        summary="The process is stopped and, after a while, started again; then the fault is over by itself.",
        params=(
            Param("down", "duration", "How long it stays down, looked at every 100 ms.", default=5 * SECOND),
            Param("kill", "bool", "Whether it is killed (SIGKILL) and not ended in order (SIGTERM).", default=False),
        ),
        accepts="processes",
        lasting=True,
        heals="the process starts now, or as soon as it has ended",
        glyph="↻",
        colour="calm",
        cause="a deployment, a supervisor that restarts what fails a health check, kubectl delete pod",
        may_break="the ISR until the replica has caught up; more where another broker bounces before that",
        behaviour=Bounce(),
    ),
)
"""Faults by name."""
