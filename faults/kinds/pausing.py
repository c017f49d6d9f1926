"""Pauses one after the other: a process that stands still again and again."""

from typing import Final

from cluster_model.cluster import Cluster
from faults.declarations.fault import (
    MS,
    SECOND,
    Aim,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import silence, slowness
from faults.kinds.process import refuse_down

Train = tuple[int, int, bool, int]
"""(node, when something happens next, whether it stands still until then, pauses left; 0: no end)."""


class PauseTrain(Behaviour):
    """Each node has a train of its own. A process that is down is passed over: the trains are the machine's."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives can be paused, and it must run between two pauses."""
        refuse_down(stage.cluster, aim.nodes)
        if aim.params["pause"] >= aim.params["every"]:
            raise FaultError("pause_train: pause must be shorter than every, for the process runs in between")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """The first pause begins at once."""
        now, count = stage.cluster.now_us, int(injury.params["count"])
        injury.memo["trains"] = tuple([(node, now, False, count) for node in injury.nodes])
        self.woken(stage, injury)

    def woken(self, stage: Stage, injury: Injury) -> None:
        """Begin and end what is due; with the last pause of all the fault is over."""
        now = stage.cluster.now_us
        trains: list[Train] = []
        for train in injury.memo["trains"]:
            following = train if train[1] > now else self._next(stage, injury, train)
            if following is not None:
                trains.append(following)
        injury.memo["trains"] = tuple(trains)
        if trains:
            stage.wake(injury, min(at for _node, at, _still, _left in trains) - now)
        else:
            stage.end(injury)

    def _next(self, stage: Stage, injury: Injury, train: Train) -> Train | None:
        node, _at, still, left = train
        now, length = stage.cluster.now_us, int(injury.params["pause"])
        gap = int(injury.params["every"]) - length
        if still:
            stage.unpause(injury, node)
            return None if left == 1 else (node, now + self._span(stage, injury, node, gap), False, max(0, left - 1))
        if not stage.cluster.is_up(node):
            return (node, now + length + gap, False, left)
        stage.pause(injury, node)
        return (node, now + self._span(stage, injury, node, length), True, left)

    def _span(self, stage: Stage, injury: Injury, node: int, mean: int) -> int:
        """So long, or by chance from next to nothing to twice that, all alike."""
        if not injury.params["random"]:
            return mean
        stream = stage.cluster.stream(f"pauses {injury.id}: {stage.cluster.name_of(node)}")
        return 1 + stream.below(2 * mean - 1)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Let each go on that nothing else holds."""
        for node in injury.nodes:
            stage.unpause(injury, node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Silence where a pause outlasts a session, mere slowness where it does not."""
        longest = 2 * aim.params["pause"] if aim.params["random"] else aim.params["pause"]
        if longest < cluster.plane.session_us and not any(node in cluster.brokers for node in aim.nodes):
            return slowness(cluster, "pause_train", aim.nodes)
        return silence(cluster, "gc_pause", aim.nodes, longest)


FAULTS: Final = table(
    Fault(
        name="pause_train",
        letter="t",
        title="pause train",
        family="processes",
        summary="The process stands still again and again, and runs in between; requests and timers wait through each "
        "pause.",
        params=(
            Param("pause", "duration", "How long each pause is, on average if random.", default=500 * MS, low=1),
            Param("every", "duration", "From the beginning of one to that of the next.", default=5 * SECOND, low=2),
            Param("random", "bool", "Draw pauses and gaps, each up to twice its mean.", default=False),
            Param("count", "int", "How many pauses; 0: until healed.", default=0, high=1_000_000),
        ),
        accepts="nodes",
        lasting=True,
        heals="the process goes on where it stood, and stands still no more",
        glyph="⋯",
        colour="warning",
        cause="a heap too small for its load, a noisy neighbour, a virtual machine that is moved in rounds",
        may_break="tail latency; the ISR or a session where pauses add up to more than their timeouts",
        usual_for_us=30 * SECOND,
        behaviour=PauseTrain(),
    ),
)
"""Faults by name."""
