"""Faults of processes: crashes, power losses, restarts, pauses, slow CPUs, and exhausted heaps."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.log import TAILS, WRITTEN_BACK
from cluster_model.protocol.events import OUT_OF_MEMORY
from faults.declarations.fault import (
    MS,
    SECOND,
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
from faults.declarations.impact import client_impact_line, names, outage_impact, shutdown_impact, slow_impact

_UP: Final = (ProcessState.RUNNING, ProcessState.PAUSED)


def require_up(cluster: Cluster, nodes: tuple[int, ...]) -> None:
    """Refuse processes that are not running or paused, with :class:`FaultError`."""
    for node in nodes:
        if cluster.state_of(node) not in _UP:
            raise FaultError(f"{cluster.name_of(node)} is down already", code="down_already")


class ProcessStop(Behaviour):
    """Base of faults after which a process is down until it is started again."""

    ends_process = True

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down already."""
        require_up(context.cluster, resolved.nodes)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start the processes that are still down."""
        for node in active_fault.nodes:
            if not context.cluster.is_up(node):
                context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of losing the nodes for longer than their sessions."""
        return outage_impact(cluster, "crash", resolved.nodes)


class Crash(ProcessStop):
    """Kill of a process (SIGKILL), optionally in the middle of a write."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Kill each process."""
        for node in active_fault.nodes:
            context.release_process(node)
            context.cluster.crash(node, torn=bool(active_fault.params["torn"]))


class PowerLoss(ProcessStop):
    """Power loss of a machine: unflushed data is lost."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Stop each process and truncate its logs to the contents of the disk."""
        for node in active_fault.nodes:
            context.release_process(node)
            context.cluster.power_loss(node, int(active_fault.params["keep"]), str(active_fault.params["tail"]))


class CleanShutdown(ProcessStop):
    """Clean shutdown of a process (SIGTERM)."""

    holds_process = True

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are not running or already shutting down."""
        require_up(context.cluster, resolved.nodes)
        for node in resolved.nodes:
            name = context.cluster.name_of(node)
            if context.cluster.state_of(node) is ProcessState.PAUSED:
                raise FaultError(f"{name} is paused", code="paused")
            if context.cluster.processes.is_leaving(node):
                raise FaultError(f"{name} is shutting down already", code="closing_already")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Send SIGTERM to each process."""
        for node in active_fault.nodes:
            context.cluster.shutdown(node, int(active_fault.params["timeout"]))

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start processes that have exited; those still shutting down start as soon as they have exited."""
        for node in active_fault.nodes:
            if not context.cluster.is_up(node):
                context.restart(node)
            elif context.cluster.processes.is_leaving(node):
                context.cluster.processes.start_again(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of a clean shutdown."""
        return shutdown_impact(cluster, "clean_shutdown", resolved.nodes)


class Restart(Behaviour):
    """Start of a process that is down."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are up."""
        for node in resolved.nodes:
            if context.cluster.is_up(node):
                raise FaultError(
                    f"{context.cluster.name_of(node)} is not down, so it cannot be restarted", code="not_down"
                )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start each process."""
        for node in active_fault.nodes:
            context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the effect of the start."""
        if len(resolved.nodes) == 1 and resolved.nodes[0] in cluster.clients.names:
            return ExpectedImpact(client_impact_line(cluster, "restart", resolved.nodes[0]))
        up = tuple(node for node in resolved.nodes if cluster.is_up(node))
        if up:
            return ExpectedImpact(f"{names(cluster, up)} is up: nothing to restart")
        return ExpectedImpact(f"{names(cluster, resolved.nodes)} recovers its logs, registers and catches up")


class Pause(Behaviour):
    """Pause of a process, as by a stop-the-world garbage collection."""

    holds_process = True

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down; pauses may overlap."""
        require_up(context.cluster, resolved.nodes)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Pause each process."""
        for node in active_fault.nodes:
            context.pause(active_fault, node)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Resume each process that no other fault pauses."""
        for node in active_fault.nodes:
            context.unpause(active_fault, node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of the pause, which depends on its duration."""
        return outage_impact(cluster, "gc_pause", resolved.nodes, resolved.for_us)


STOP_FAULTS: Final = table(
    Fault(
        name="crash",
        letter="c",
        title="crash",
        family="processes",
        summary="The process is killed (SIGKILL). A broker keeps what the page cache holds, since the operating "
        "system survives; its connections are reset. A client loses everything it had in memory.",
        params=(
            Param("torn", "bool", "The broker dies in the middle of a write and leaves half a batch.", default=False),
        ),
        accepts="processes",
        is_lasting=True,
        heals="the process restarts; a broker recovers its logs and registers",
        glyph="✕",
        colour="alarm",
        cause="a bug, the out-of-memory killer, kill -9",
        may_break="partitions the broker leads, until its session expires; acks=1 records that no follower had "
        "fetched; a producer's unacknowledged records; records a consumer had read but not committed",
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
        summary="The machine loses power: everything not yet on disk is lost, and no connection is closed. "
        "Controllers and ZooKeeper servers keep everything they acknowledged; a client keeps nothing.",
        params=(
            Param(
                "keep",
                "int",
                "Records left in each log of the broker; -1: as many as the operating system had written back.",
                default=-1,
                low=-1,
                high=1 << 40,
            ),
            Param(
                "tail",
                "choice",
                "Without keep, what the broker's disk holds: everything written back, only what Kafka had flushed, or "
                "everything written back followed by a torn batch.",
                default=WRITTEN_BACK,
                choices=TAILS,
            ),
        ),
        accepts="processes",
        is_lasting=True,
        heals="the machine restarts with the contents of its disk",
        glyph="✕",
        colour="alarm",
        cause="power failure, kernel panic, a host that is reclaimed",
        may_break="records that only this page cache held, including acks=all records if the broker was the last "
        "in-sync replica",
        behaviour=PowerLoss(),
    ),
    Fault(
        name="restart",
        letter="r",
        title="restart",
        family="processes",
        summary="A process that is down starts again: a broker recovers its logs and registers with the controller, a "
        "producer gets a new producer id, a consumer rejoins its group.",
        params=(),
        accepts="processes",
        is_lasting=False,
        heals="",
        glyph="▲",
        colour="calm",
        cause="a supervisor, an operator",
        may_break="nothing by itself; the returning replica truncates records that the new leader does not have, and "
        "a returning member makes its group rebalance",
        behaviour=Restart(),
    ),
    Fault(
        name="clean_shutdown",
        letter="x",
        title="clean shutdown",
        family="processes",
        summary="The process shuts down cleanly (SIGTERM). A broker transfers its leaderships and flushes its logs, "
        "an active controller resigns, a ZooKeeper server exits. A producer delivers its buffered records. A consumer "
        "processes the records it has fetched, commits as configured and, unless it is a static member, leaves its "
        "group.",
        params=(
            Param(
                "timeout",
                "duration",
                "Records that a producer has not delivered by then fail.",
                default=30 * SECOND,
            ),
        ),
        accepts="processes",
        is_lasting=True,
        heals="the process restarts as soon as it has exited",
        glyph="▼",
        colour="calm",
        cause="a deployment, a scale-down, a rolling restart",
        may_break="acks=all where the ISR falls below min.insync.replicas; a group, which rebalances twice for every "
        "dynamic member that leaves and returns",
        default_duration_us=5 * SECOND,
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
        summary="The process is paused without dying: connections stay open, and all waiting requests and timers are "
        "handled when it resumes.",
        params=(),
        accepts="nodes",
        is_lasting=True,
        heals="the process resumes where it was",
        glyph="‖",
        colour="warning",
        cause="a stop-the-world collection, SIGSTOP, a frozen virtual machine",
        may_break="its session, if the pause is longer than the session timeout; a leader that resumes may not know "
        "that it was replaced",
        default_duration_us=15 * SECOND,
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


# Processes that exit and restart after a while, as with a supervisor or a deployment.


CHECK_INTERVAL_US: Final = 100 * MS
"""Interval at which a supervisor checks whether a process has exited, in microseconds."""


class Bounce(CleanShutdown):
    """Stop of a process and its restart after a while.

    The memo holds (node, start time in microseconds) of every process that was seen down.
    """

    def holds(self, active_fault: ActiveFault) -> bool:
        """Return whether processes are shutting down; killed ones are down at once."""
        return not active_fault.params["kill"]

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down, or that cannot shut down cleanly."""
        if resolved.params["kill"]:
            require_up(context.cluster, resolved.nodes)
        else:
            super().check(context, resolved)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Kill each process or send it SIGTERM."""
        for node in active_fault.nodes:
            if active_fault.params["kill"]:
                context.release_process(node)
                context.cluster.crash(node)
            else:
                context.cluster.shutdown(node)
        active_fault.memo["starts"] = ()
        self.on_timer(context, active_fault)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start the processes that have been down long enough, and check again while any is left."""
        now, up = context.cluster.now_us, context.cluster.is_up
        starts = dict(active_fault.memo["starts"])
        waits = []
        for node in active_fault.nodes:
            if node not in starts and up(node):
                waits.append(CHECK_INTERVAL_US)
                continue
            starts.setdefault(node, now + int(active_fault.params["down"]))
            if up(node):
                continue  # It was started by something else.
            if starts[node] <= now:
                context.restart(node)
            else:
                waits.append(starts[node] - now)
        active_fault.memo["starts"] = tuple(starts.items())
        if waits:
            context.schedule(active_fault, min(waits))
        else:
            context.end(active_fault)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of the stop."""
        if resolved.params["kill"]:
            return outage_impact(cluster, "crash", resolved.nodes)
        return shutdown_impact(cluster, "clean_shutdown", resolved.nodes)


BOUNCE_FAULTS: Final = table(
    Fault(
        name="bounce",
        letter="b",
        title="bounce",
        family="processes",
        summary="The process is stopped and started again after a while; then the fault ends by itself.",
        params=(
            Param("down", "duration", "How long the process stays down; checked every 100 ms.", default=5 * SECOND),
            Param("kill", "bool", "Kill the process (SIGKILL) instead of shutting it down (SIGTERM).", default=False),
        ),
        accepts="processes",
        is_lasting=True,
        heals="the process starts now, or as soon as it has exited",
        glyph="↻",
        colour="calm",
        cause="a deployment, a supervisor that restarts a process after a failed health check, kubectl delete pod",
        may_break="the ISR until the replica has caught up, and more if another broker bounces before that",
        behaviour=Bounce(),
    ),
)
"""Faults by name."""


# Repeated pauses.


PauseSchedule = tuple[int, int, bool, int]
"""(node, time of the next change, whether it is paused until then, pauses left; 0: unlimited)."""


class RepeatedPauses(Behaviour):
    """Repeated pauses, scheduled per node; a process that is down when a pause begins skips it."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down, and pauses without a gap."""
        require_up(context.cluster, resolved.nodes)
        if resolved.params["pause"] >= resolved.params["every"]:
            raise FaultError(
                "pause_train: pause must be shorter than every, so that the process runs in between",
                code="pause_not_shorter",
            )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start the first pause at once."""
        now, count = context.cluster.now_us, int(active_fault.params["count"])
        active_fault.memo["trains"] = tuple([(node, now, False, count) for node in active_fault.nodes])
        self.on_timer(context, active_fault)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start and end pauses that are due; the fault ends with the last pause."""
        now = context.cluster.now_us
        trains: list[PauseSchedule] = []
        for train in active_fault.memo["trains"]:
            following = train if train[1] > now else self._next(context, active_fault, train)
            if following is not None:
                trains.append(following)
        active_fault.memo["trains"] = tuple(trains)
        if trains:
            context.schedule(active_fault, min(at for _node, at, _paused, _left in trains) - now)
        else:
            context.end(active_fault)

    def _next(self, context: FaultContext, active_fault: ActiveFault, train: PauseSchedule) -> PauseSchedule | None:
        node, _at, paused, left = train
        now, length = context.cluster.now_us, int(active_fault.params["pause"])
        gap = int(active_fault.params["every"]) - length
        if paused:
            context.unpause(active_fault, node)
            return (
                None
                if left == 1
                else (node, now + self._span(context, active_fault, node, gap), False, max(0, left - 1))
            )
        if not context.cluster.is_up(node):
            return (node, now + length + gap, False, left)
        context.pause(active_fault, node)
        return (node, now + self._span(context, active_fault, node, length), True, left)

    def _span(self, context: FaultContext, active_fault: ActiveFault, node: int, mean: int) -> int:
        """Return the mean, or if random a uniform random duration between 1 µs and twice the mean."""
        if not active_fault.params["random"]:
            return mean
        stream = context.cluster.stream(f"pauses {active_fault.id}: {context.cluster.name_of(node)}")
        return 1 + stream.below(2 * mean - 1)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Resume each process that no other fault pauses."""
        for node in active_fault.nodes:
            context.unpause(active_fault, node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of an outage if a pause outlasts a session, else of a slow node."""
        longest = 2 * resolved.params["pause"] if resolved.params["random"] else resolved.params["pause"]
        if longest < cluster.plane.session_us and not any(node in cluster.brokers for node in resolved.nodes):
            return slow_impact(cluster, "pause_train", resolved.nodes)
        return outage_impact(cluster, "gc_pause", resolved.nodes, longest)


PAUSE_TRAIN_FAULTS: Final = table(
    Fault(
        name="pause_train",
        letter="t",
        title="repeated pauses",
        family="processes",
        summary="The process is paused again and again and runs in between; requests and timers wait during each "
        "pause.",
        params=(
            Param("pause", "duration", "Length of each pause; the mean if random.", default=500 * MS, low=1),
            Param(
                "every", "duration", "From the start of one pause to the start of the next.", default=5 * SECOND, low=2
            ),
            Param("random", "bool", "Randomize pauses and gaps, each up to twice its mean.", default=False),
            Param("count", "int", "Number of pauses; 0: until healed.", default=0, high=1_000_000),
        ),
        accepts="nodes",
        is_lasting=True,
        heals="the process resumes where it was, and is not paused again",
        glyph="⋯",
        colour="warning",
        cause="a heap too small for its load, a noisy neighbour, a live migration of a virtual machine",
        may_break="tail latency; the ISR or a session where the pauses add up to more than the timeouts",
        default_duration_us=30 * SECOND,
        behaviour=RepeatedPauses(),
    ),
)
"""Faults by name."""


# Slow CPUs.


class SlowCpu(Behaviour):
    """CPU time for every message and timer of a process. It belongs to the machine: a restart does not end it."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down."""
        require_up(context.cluster, resolved.nodes)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Add the cost from now on; costs of several faults add up."""
        for node in active_fault.nodes:
            context.cluster.processes.slow(node, active_fault.id, int(active_fault.params["cost"]))

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Remove the cost; without other such faults, waiting messages are handled at once."""
        for node in active_fault.nodes:
            context.cluster.processes.quicken(node, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of a slow node."""
        return slow_impact(cluster, "slow_cpu", resolved.nodes)


SLOW_CPU_FAULTS: Final = table(
    Fault(
        name="slow_cpu",
        letter="u",
        title="slow CPU",
        family="processes",
        summary="Every message and every timer that the process handles takes time on a single CPU: they are handled "
        "one at a time, in order, and the rest wait.",
        params=(
            Param(
                "cost",
                "duration",
                "CPU time for each message or timer; 2 ms allows 500 per second.",
                default=2 * MS,
                low=1,
                high=60 * SECOND,
            ),
        ),
        accepts="nodes",
        is_lasting=True,
        heals="everything that waits is handled at once, in order",
        glyph="◵",
        colour="warning",
        cause="a container's CPU limit, a noisy neighbour, debug logging, compression or TLS on a small machine",
        may_break="latency first; once more arrives than the process can handle, the backlog grows until heartbeats "
        "and fetches exceed session timeouts and replica.lag.time.max.ms",
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


# Exhausted heaps.


ROUNDS: Final = 10
"""Number of collections before the exit: the first pauses for a tenth of its round, the last for all of it."""
_LAST: Final = 2 * ROUNDS - 1


def _at(step: int, thrash_us: int) -> int:
    """Return when a step is due: an even step begins the pause of its round, an odd one ends it."""
    turn, ends = divmod(step, 2)
    return turn * thrash_us // ROUNDS + ends * (turn + 1) * thrash_us // (ROUNDS * ROUNDS)


class OutOfMemory(Behaviour):
    """Increasingly long pauses, then the exit.

    The memo holds the next step, and the nodes that have exited.
    """

    ends_process = True

    def holds(self, active_fault: ActiveFault) -> bool:
        """Return whether the processes have not exited yet."""
        return bool(active_fault.memo["step"] < _LAST)

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down."""
        require_up(context.cluster, resolved.nodes)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start the first collection."""
        active_fault.memo |= {"step": 0, "dead": ()}
        self.on_timer(context, active_fault)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start or end the next pause; after the last one the process exits."""
        elapsed, thrash_us = context.cluster.now_us - active_fault.since_us, int(active_fault.params["thrash"])
        step: int = active_fault.memo["step"]
        while step < _LAST and _at(step, thrash_us) <= elapsed:
            for node in active_fault.nodes:
                if step % 2:
                    context.unpause(active_fault, node)
                elif context.cluster.is_up(node):
                    context.pause(active_fault, node)
            step += 1
        active_fault.memo["step"] = step
        if _at(step, thrash_us) > elapsed:
            context.schedule(active_fault, _at(step, thrash_us) - elapsed)
        elif not self._end(context, active_fault):
            context.schedule(active_fault, CHECK_INTERVAL_US)

    def _end(self, context: FaultContext, active_fault: ActiveFault) -> bool:
        """End each process, except those that another fault pauses; return whether none is left."""
        cluster = context.cluster
        for node in active_fault.nodes:
            context.unpause(active_fault, node)
            if node not in active_fault.memo["dead"] and cluster.state_of(node) is ProcessState.RUNNING:
                active_fault.memo["dead"] += (node,)
                context.release_process(node)
                cluster.processes.crash(node, OUT_OF_MEMORY)
        return all(node in active_fault.memo["dead"] or not cluster.is_up(node) for node in active_fault.nodes)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restart the processes that have exited; those that still collect resume."""
        for node in active_fault.nodes:
            context.unpause(active_fault, node)
            if node in active_fault.memo["dead"] and not context.cluster.is_up(node):
                context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact of losing the nodes for longer than their sessions."""
        return outage_impact(cluster, "crash", resolved.nodes)


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
                "From the first collection to the exit: ten rounds, the first paused for a tenth of its time, the "
                "last for all of it.",
                default=10 * SECOND,
            ),
        ),
        accepts="processes",
        is_lasting=True,
        heals="the process restarts; one that has not exited yet resumes",
        glyph="✕",
        colour="alarm",
        cause="a memory leak, a heap that is too small, an unusually large request or fetch",
        may_break="its session or its membership of ISRs before it exits; then the same as a crash",
        aliases=(Alias("oom"),),
        behaviour=OutOfMemory(),
    ),
)
"""Faults by name."""
