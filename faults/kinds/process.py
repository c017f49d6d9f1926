"""Processes that end, start again, or are held: crashes, power losses, restarts, clean shutdowns, pauses."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.log.crash_recovery import TAILS, WRITTEN_BACK
from faults.declarations.client_fates import client_fate
from faults.declarations.fault import (
    SECOND,
    Aim,
    Alias,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import names, parting, silence

_UP: Final = (ProcessState.RUNNING, ProcessState.PAUSED)


def refuse_down(cluster: Cluster, nodes: tuple[int, ...]) -> None:
    """Refuse with :class:`FaultError` where a process does not live any more."""
    for node in nodes:
        if cluster.state_of(node) not in _UP:
            raise FaultError(f"{cluster.name_of(node)} is down already")


class Ending(Behaviour):
    """The process is gone until it is started again."""

    ends_process = True

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives can die."""
        refuse_down(stage.cluster, aim.nodes)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Start what is still down."""
        for node in injury.nodes:
            if not stage.cluster.is_up(node):
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Its silence, until its session is over."""
        return silence(cluster, "crash", aim.nodes)


class Crash(Ending):
    """SIGKILL."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Kill each."""
        for node in injury.nodes:
            stage.take_away(node)
            stage.cluster.crash(node, torn=bool(injury.params["torn"]))


class PowerLoss(Ending):
    """The machine goes dark."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Cut each log where the disk would have it."""
        for node in injury.nodes:
            stage.take_away(node)
            stage.cluster.power_loss(node, int(injury.params["keep"]), str(injury.params["tail"]))


class CleanShutdown(Ending):
    """SIGTERM."""

    holds_process = True

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what runs can do what it does at its end."""
        refuse_down(stage.cluster, aim.nodes)
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if stage.cluster.state_of(node) is ProcessState.PAUSED:
                raise FaultError(f"{name} is paused")
            if stage.cluster.lives.is_leaving(node):
                raise FaultError(f"{name} is being closed already")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Ask each to end."""
        for node in injury.nodes:
            stage.cluster.shutdown(node, int(injury.params["timeout"]))

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Start what has ended; what is still at it starts again as soon as it has."""
        for node in injury.nodes:
            if not stage.cluster.is_up(node):
                stage.restart(node)
            elif stage.cluster.lives.is_leaving(node):
                stage.cluster.lives.start_again(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What it does before it goes."""
        return parting(cluster, "clean_shutdown", aim.nodes)


class Restart(Behaviour):
    """A process that is down starts."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what is down can be started."""
        for node in aim.nodes:
            if stage.cluster.is_up(node):
                raise FaultError(f"{stage.cluster.name_of(node)} is not down, so it cannot be restarted")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Start each."""
        for node in injury.nodes:
            stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What a new process does first."""
        if len(aim.nodes) == 1 and aim.nodes[0] in cluster.clients.names:
            return Expectation(client_fate(cluster, "restart", aim.nodes[0]))
        up = tuple(node for node in aim.nodes if cluster.is_up(node))
        if up:
            return Expectation(f"{names(cluster, up)} is up: nothing to restart")
        return Expectation(f"{names(cluster, aim.nodes)} recovers, registers, catches up")


class Pause(Behaviour):
    """Stop-the-world."""

    holds_process = True

    def check(self, stage: Stage, aim: Aim) -> None:
        """Only what lives can be paused; two pauses overlap."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Hold each."""
        for node in injury.nodes:
            stage.pause(injury, node)

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Let each go on that nothing else holds."""
        for node in injury.nodes:
            stage.unpause(injury, node)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Its silence, if it is longer than its session."""
        return silence(cluster, "gc_pause", aim.nodes, aim.for_us)


FAULTS: Final = table(
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
