"""Faults of processes: crashes, power losses, restarts, pauses, slow CPUs, and heaps that run out."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.log import TAILS, WRITTEN_BACK
from cluster_model.protocol.events import OUT_OF_MEMORY
from faults.declarations.fault import (
    MS,
    SECOND,
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
from faults.declarations.impact import client_fate, names, parting, silence, slowness

_UP: Final = (ProcessState.RUNNING, ProcessState.PAUSED)


def refuse_down(cluster: Cluster, nodes: tuple[int, ...]) -> None:
    """Refuse with :class:`FaultError` where a process does not live any more."""
    for node in nodes:
        if cluster.state_of(node) not in _UP:
            raise FaultError(f"{cluster.name_of(node)} is down already", code="down_already")


class ProcessStop(Behaviour):
    """The process is gone until it is started again."""

    ends_process = True

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives can die."""
        refuse_down(stage.cluster, aim.nodes)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Start what is still down."""
        for node in injury.nodes:
            if not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Its silence, until its session is over."""
        return silence(cluster, "crash", aim.nodes)


class Crash(ProcessStop):
    """SIGKILL."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Kill each."""
        for node in injury.nodes:
            stage.take_away(node)
            stage.cluster.crash(node, torn=bool(injury.params["torn"]))


class PowerLoss(ProcessStop):
    """The machine goes dark."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Cut each log where the disk would have it."""
        for node in injury.nodes:
            stage.take_away(node)
            stage.cluster.power_loss(node, int(injury.params["keep"]), str(injury.params["tail"]))


class CleanShutdown(ProcessStop):
    """SIGTERM."""

    holds_process = True

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what runs can do what it does at its end."""
        refuse_down(stage.cluster, aim.nodes)
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if stage.cluster.state_of(node) is ProcessState.PAUSED:
                raise FaultError(f"{name} is paused", code="paused")
            if stage.cluster.lives.is_leaving(node):
                raise FaultError(f"{name} is being closed already", code="closing_already")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Ask each to end."""
        for node in injury.nodes:
            stage.cluster.shutdown(node, int(injury.params["timeout"]))

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Start what has ended; what is still at it starts again as soon as it has."""
        for node in injury.nodes:
            if not stage.cluster.is_up(node):
                stage.restart(node)
            elif stage.cluster.lives.is_leaving(node):
                stage.cluster.lives.start_again(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What it does before it goes."""
        return parting(cluster, "clean_shutdown", aim.nodes)


class Restart(Behaviour):
    """A process that is down starts."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what is down can be started."""
        for node in aim.nodes:
            if stage.cluster.is_up(node):
                raise FaultError(
                    f"{stage.cluster.name_of(node)} is not down, so it cannot be restarted", code="not_down"
                )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Start each."""
        for node in injury.nodes:
            stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What a new process does first."""
        if len(aim.nodes) == 1 and aim.nodes[0] in cluster.clients.names:
            return ExpectedImpact(client_fate(cluster, "restart", aim.nodes[0]))
        up = tuple(node for node in aim.nodes if cluster.is_up(node))
        if up:
            return ExpectedImpact(f"{names(cluster, up)} is up: nothing to restart")
        return ExpectedImpact(f"{names(cluster, aim.nodes)} recovers, registers, catches up")


class Pause(Behaviour):
    """Stop-the-world."""

    holds_process = True

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives can be paused; two pauses overlap."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Hold each."""
        for node in injury.nodes:
            stage.pause(injury, node)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Let each go on that nothing else holds."""
        for node in injury.nodes:
            stage.unpause(injury, node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Its silence, if it is longer than its session."""
        return silence(cluster, "gc_pause", aim.nodes, aim.for_us)


STOP_FAULTS: Final = table(
    Fault(
        name="crash",
        letter="c",
        title="crash",
        family="processes",
        summary="The process dies at once (SIGKILL); the operating system keeps a broker's page cache and resets its "
        "connections; a client loses everything that it had in memory.",
        params=(Param("torn", "bool", "A broker dies in the middle of a write: half a batch is left.", default=False),),
        accepts="processes",
        lasting=True,
        heals="the process starts again; a broker recovers its logs and registers",
        glyph="✕",
        colour="alarm",
        cause="a bug, the out-of-memory killer, kill -9",
        may_break="its leaderships until its session ends; acks=1 records that no follower had fetched; of a producer "
        "what was not acknowledged yet, of a consumer what it had read and not committed",
        aliases=(
            Alias("kill_broker", "brokers"),
            Alias("hard_shutdown", "brokers"),
            Alias("sigkill"),
            Alias("pod_kill"),
            Alias("container_kill"),
        ),
        behaviour=Crash(),
    ),
    Fault(
        name="power_loss",
        letter="p",
        title="power loss",
        family="processes",
        summary="The machine goes dark: what was not yet on disk is lost, and no connection is closed; controllers and "
        "ZooKeeper servers have on disk all that they answered for, a client has nothing there.",
        params=(
            Param(
                "keep",
                "int",
                "Records left in each of a broker's logs; -1: what the operating system had written back.",
                default=-1,
                low=-1,
                high=1 << 40,
            ),
            Param(
                "tail",
                "choice",
                "Without keep, what a broker's disks hold: what was written back, only what Kafka had flushed, or what "
                "was written back with a torn batch behind it.",
                default=WRITTEN_BACK,
                choices=TAILS,
            ),
        ),
        accepts="processes",
        lasting=True,
        heals="the machine starts again with what its disk held",
        glyph="✕",
        colour="alarm",
        cause="power failure, kernel panic, a host that is taken away",
        may_break="records that only this page cache held, acks=all ones among them if it was the last in sync",
        behaviour=PowerLoss(),
    ),
    Fault(
        name="restart",
        letter="r",
        title="restart",
        family="processes",
        summary="A process that is down starts again: a broker recovers its logs and registers with the controller, a "
        "producer gets another producer id, a member joins its group anew.",
        params=(),
        accepts="processes",
        lasting=False,
        heals="",
        glyph="▲",
        colour="calm",
        cause="a supervisor, an operator",
        may_break="nothing by itself; the returning replica truncates what the new leader does not have, a member that "
        "returns makes its group rebalance",
        behaviour=Restart(),
    ),
    Fault(
        name="clean_shutdown",
        letter="x",
        title="clean shutdown",
        family="processes",
        summary="The process ends in order (SIGTERM): a broker hands its leaderships over and flushes its logs, a "
        "controller that leads resigns, a ZooKeeper server exits; a producer delivers what it has; a consumer "
        "processes what is in its hands, commits as it is configured to and, unless it is a static member, leaves its "
        "group.",
        params=(
            Param(
                "timeout",
                "duration",
                "What a producer has not delivered by then fails.",
                default=30 * SECOND,
            ),
        ),
        accepts="processes",
        lasting=True,
        heals="it starts again, as soon as it has ended",
        glyph="▼",
        colour="calm",
        cause="a deployment, a scale-down, a rolling bounce",
        may_break="with the replica gone min.insync.replicas is nearer; a group rebalances twice for every dynamic "
        "member that goes and comes back",
        usual_for_us=5 * SECOND,
        aliases=(
            Alias("stop_broker", "brokers"),
            Alias("sigterm"),
        ),
        behaviour=CleanShutdown(),
    ),
    Fault(
        name="gc_pause",
        letter="g",
        title="GC pause",
        family="processes",
        summary="The process stops without dying: connections stay open, requests and timers wait, and all of them "
        "are handled when it goes on.",
        params=(),
        accepts="nodes",
        lasting=True,
        heals="the process goes on where it stood",
        glyph="‖",
        colour="warning",
        cause="a stop-the-world collection, SIGSTOP, a frozen virtual machine",
        may_break="its session if longer than the session timeout; a leader that wakes up may not know it was replaced",
        usual_for_us=15 * SECOND,
        aliases=(
            Alias("pause_broker", "brokers"),
            Alias("sigstop"),
            Alias("process_stop"),
            Alias("hammer_time"),
        ),
        behaviour=Pause(),
    ),
)
"""Faults by name."""


# Processes that end and start again after a while, as a supervisor or a deployment does it.


LOOK_US: Final = 100 * MS
"""How often a supervisor looks whether a process has ended."""


class Bounce(CleanShutdown):
    """Down and up again. The memo has (node, when it is started) of every process that was seen down."""

    def holds(self, injury: Injury) -> bool:
        """One that kills has nothing left to hold."""
        return not injury.params["kill"]

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives can end, and only what runs can end in order."""
        if aim.params["kill"]:
            refuse_down(stage.cluster, aim.nodes)
        else:
            super().check(stage, aim)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Kill each, or ask each to end."""
        for node in injury.nodes:
            if injury.params["kill"]:
                stage.take_away(node)
                stage.cluster.crash(node)
            else:
                stage.cluster.shutdown(node)
        injury.memo["starts"] = ()
        self.woken(stage, injury)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
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

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """How it ends."""
        if aim.params["kill"]:
            return silence(cluster, "crash", aim.nodes)
        return parting(cluster, "clean_shutdown", aim.nodes)


BOUNCE_FAULTS: Final = table(
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


# Pause trains: pauses one after the other.


Train = tuple[int, int, bool, int]
"""(node, when something happens next, whether it stands still until then, pauses left; 0: no end)."""


class PauseTrain(Behaviour):
    """Each node has a train of its own. A process that is down is passed over: the trains are the machine's."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives can be paused, and it must run between two pauses."""
        refuse_down(stage.cluster, aim.nodes)
        if aim.params["pause"] >= aim.params["every"]:
            raise FaultError(
                "pause_train: pause must be shorter than every, for the process runs in between",
                code="pause_not_shorter",
            )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """The first pause begins at once."""
        now, count = stage.cluster.now_us, int(injury.params["count"])
        injury.memo["trains"] = tuple([(node, now, False, count) for node in injury.nodes])
        self.woken(stage, injury)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
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

    def _next(self, stage: FaultContext, injury: Injury, train: Train) -> Train | None:
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

    def _span(self, stage: FaultContext, injury: Injury, node: int, mean: int) -> int:
        """So long, or by chance from next to nothing to twice that, all alike."""
        if not injury.params["random"]:
            return mean
        stream = stage.cluster.stream(f"pauses {injury.id}: {stage.cluster.name_of(node)}")
        return 1 + stream.below(2 * mean - 1)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Let each go on that nothing else holds."""
        for node in injury.nodes:
            stage.unpause(injury, node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Silence where a pause outlasts a session, mere slowness where it does not."""
        longest = 2 * aim.params["pause"] if aim.params["random"] else aim.params["pause"]
        if longest < cluster.plane.session_us and not any(node in cluster.brokers for node in aim.nodes):
            return slowness(cluster, "pause_train", aim.nodes)
        return silence(cluster, "gc_pause", aim.nodes, longest)


PAUSE_TRAIN_FAULTS: Final = table(
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


# Slow CPUs.


class SlowCpu(Behaviour):
    """Whatever the process handles takes time. It stays with the machine: a restart does not end it."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives works."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """From now on; costs of several faults add up."""
        for node in injury.nodes:
            stage.cluster.lives.slow(node, injury.id, int(injury.params["cost"]))

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """With the last such fault what waits is handled at once."""
        for node in injury.nodes:
            stage.cluster.lives.quicken(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who waits for it."""
        return slowness(cluster, "slow_cpu", aim.nodes)


SLOW_CPU_FAULTS: Final = table(
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


# Heaps that run out.


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

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives has a heap."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """The first collection begins."""
        injury.memo |= {"step": 0, "dead": ()}
        self.woken(stage, injury)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
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

    def _end(self, stage: FaultContext, injury: Injury) -> bool:
        """Nothing could be freed: each exits, but for those that something else holds; whether none is left."""
        cluster = stage.cluster
        for node in injury.nodes:
            stage.unpause(injury, node)
            if node not in injury.memo["dead"] and cluster.state_of(node) is ProcessState.RUNNING:
                injury.memo["dead"] += (node,)
                stage.take_away(node)
                cluster.lives.crash(node, OUT_OF_MEMORY)
        return all(node in injury.memo["dead"] or not cluster.is_up(node) for node in injury.nodes)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Start what has died of it; what is still at it goes on, with a heap that suffices."""
        for node in injury.nodes:
            stage.unpause(injury, node)
            if node in injury.memo["dead"] and not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Its silence, until its session is over."""
        return silence(cluster, "crash", aim.nodes)


MEMORY_FAULTS: Final = table(
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
