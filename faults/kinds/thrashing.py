"""Processes that run out of heap."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.endings import OUT_OF_MEMORY
from faults.declarations.fault import SECOND, Aim, Alias, Behaviour, Expectation, Fault, Injury, Param, Stage, table
from faults.declarations.impact import silence
from faults.kinds.bouncing import LOOK_US
from faults.kinds.process import refuse_down

ROUNDS: Final = 10
"""Collections before the end: in the first a tenth of the time is paused, in the last all of it."""
_LAST: Final = 2 * ROUNDS - 1


def _at(step: int, thrash_us: int) -> int:
    """When a step is due: an even one begins the pause of its round, an odd one ends it."""
    turn, ends = divmod(step, 2)
    return turn * thrash_us // ROUNDS + ends * (turn + 1) * thrash_us // (ROUNDS * ROUNDS)


class OutOfMemory(Behaviour):
    """Ever longer pauses, then the end. The memo has the step that is next, and who has died of it."""

    ends_process = True

    def holds(self, injury: Injury) -> bool:
        """Until it ends them itself."""
        return bool(injury.memo["step"] < _LAST)

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives has a heap."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """The first collection begins."""
        injury.memo |= {"step": 0, "dead": ()}
        self.woken(stage, injury)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """The next pause begins or ends; the last one ends with the process."""
        elapsed, thrash_us = stage.cluster.now_us - injury.since_us, int(injury.params["thrash"])
        step: int = injury.memo["step"]
        while step < _LAST and _at(step, thrash_us) <= elapsed:
            for node in injury.nodes:
                if step % 2:
                    stage.unpause(injury, node)
                elif stage.cluster.is_up(node):
                    stage.pause(injury, node)
            step += 1
        injury.memo["step"] = step
        if _at(step, thrash_us) > elapsed:
            stage.wake(injury, _at(step, thrash_us) - elapsed)
        elif not self._end(stage, injury):
            stage.wake(injury, LOOK_US)

    def _end(self, stage: Stage, injury: Injury) -> bool:
        """Nothing could be freed: each exits, but for those that something else holds; whether none is left."""
        cluster = stage.cluster
        for node in injury.nodes:
            stage.unpause(injury, node)
            if node not in injury.memo["dead"] and cluster.state_of(node) is ProcessState.RUNNING:
                injury.memo["dead"] += (node,)
                stage.take_away(node)
                cluster.lives.crash(node, OUT_OF_MEMORY)
        return all(node in injury.memo["dead"] or not cluster.is_up(node) for node in injury.nodes)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Start what has died of it; what is still at it goes on, with a heap that suffices."""
        for node in injury.nodes:
            stage.unpause(injury, node)
            if node in injury.memo["dead"] and not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Its silence, until its session is over."""
        return silence(cluster, "crash", aim.nodes)


FAULTS: Final = table(
    Fault(
        name="out_of_memory",
        letter="o",
        title="out of memory",
        family="processes",
        summary="The heap is exhausted: stop-the-world collections take more and more of the time, then the process "
        "exits (-XX:+ExitOnOutOfMemoryError).",
        params=(
            Param(
                "thrash",
                "duration",
                "From the first collection to the exit: ten rounds, the first paused for a tenth, the last throughout.",
                default=10 * SECOND,
            ),
        ),
        accepts="processes",
        lasting=True,
        heals="the process starts again; one that still collects goes on",
        glyph="✕",
        colour="alarm",
        cause="a leak, a heap too small, a request or a fetch far larger than any before",
        may_break="its session or its place in ISRs before it dies; then what a crash breaks",
        aliases=(Alias("oom"),),
        behaviour=OutOfMemory(),
    ),
)
"""Faults by name."""
