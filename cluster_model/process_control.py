"""The lives of a cluster's processes: how each of them ends, begins again, and how fast it works.

This is what the operating system, the machine or an operator does to a process. What becomes of a broker's logs, a
voter's vote or a client's records is theirs to say; whatever they learn of each other comes by messages, and by
connections that break or do not.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import FETCHER
from cluster_model.broker.partition.fetch_sessions import FETCH_WAIT
from cluster_model.client_processes import CLOSE_US, ClientProcesses
from cluster_model.controller.cluster_parts import Plane
from cluster_model.controller.raft.raft_client import ALARM, LATE, WAIT
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import ProcessState
from cluster_model.log.crash_recovery import WRITTEN_BACK, tear
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import CRASH, POWER_LOSS, Event, NodeDown, NodeUp
from cluster_model.protocol.messages import NOBODY

_FREE: Final = (ALARM, LATE, WAIT, FETCH_WAIT, FETCHER)
"""Timers that take no time of a slow CPU: waits that are over, and looking whether anything is due at all."""


class Lives:
    """Of all processes of one cluster. A process with two clients goes by the node of its consumer."""

    def __init__(
        self,
        network: Network,
        brokers: Mapping[int, Broker],
        plane: Plane,
        clients: ClientProcesses,
        emit: Callable[[Event], None],
    ) -> None:
        self._network = network
        self._brokers = brokers
        self._plane = plane
        self._clients = clients
        self._emit = emit
        self._leaving: dict[int, None] = {}
        """Nodes that were told to end in order, and are at it."""
        self._again: dict[int, None] = {}
        """... and are to be started at once when they have."""

    # -- ends -----------------------------------------------------------------------------------------------------

    def crash(self, node: int, detail: str = CRASH, *, torn: bool = False) -> None:
        """Kill a process; ``torn``: a broker's in the middle of a write.

        The page cache stays, peers are told by resets; a half batch is cut off by the next start.
        """
        self._network.rouse(node)
        self._stopped(node)
        if torn and node in self._brokers:
            tear([replica.log for replica in self._brokers[node].replicas.values()])
        self._network.crash(node)
        self._gone(node, detail)

    def power_loss(self, node: int, keep: int = -1, tail: str = WRITTEN_BACK) -> None:
        """Take a process's machine away: what was not yet on disk is gone, and nobody is told.

        Of a broker's logs that is left which ``tail`` says, one of ``log.crash_recovery.TAILS``, or the first ``keep``
        records of each, unless that is -1. Voters and ZooKeeper's servers force to disk whatever they answer for.
        """
        self._network.rouse(node)
        self._stopped(node)
        self._network.power_off(node)
        self._gone(node, POWER_LOSS, silent=True)
        if node in self._brokers:
            self._brokers[node].logs.power_lost(keep, tail)

    def _stopped(self, node: int) -> None:
        """Its memory is gone."""
        if node in self._brokers:
            self._brokers[node].stopped()
        elif node in self._plane.servers:
            self._plane.servers[node][1].stopped()

    def _gone(self, node: int, detail: str, *, silent: bool = False) -> None:
        self._leaving.pop(node, None)
        self._again.pop(node, None)
        now, name = self._network.kernel.now, self._network.processes[node].name
        self._emit(NodeDown(now, name, self._broker_id(node), detail))
        if node in self._clients.names:
            self._clients.died(node, silent=silent)

    def _broker_id(self, node: int) -> int:
        return node if node in self._brokers else NOBODY

    def shutdown(self, node: int, timeout_us: int = CLOSE_US) -> None:
        """Tell a running process to end in order (SIGTERM); it takes its time.

        A broker leaves as its version does, flushes and exits. A voter that leads resigns first. A client closes what
        it has; ``timeout_us`` is how long a producer may take to deliver.

        Raises:
            ModelError: no such process, or one that does not run.
        """
        process = self._network.processes.get(node)
        if process is None or process.state is not ProcessState.RUNNING:
            raise ModelError(f"node {node} is not a running process", code="not_running")
        self._network.rouse(node)
        if node in self._brokers:
            self._leaving[node] = None
            self._brokers[node].shut_down()
        elif node in self._plane.servers:
            self._leaving[node] = None
            self._plane.servers[node][1].shut_down()
        elif node in self._clients.names:
            self._leaving[node] = None
            self._clients.shut_down(node, timeout_us)
        else:
            raise ModelError(f"node {node} cannot be shut down", code="no_shutdown")

    def is_leaving(self, node: int) -> bool:
        """Whether a process was told to end in order, and has not ended yet."""
        return node in self._leaving

    def start_again(self, node: int) -> None:
        """Start a process that is about to end as soon as it has."""
        self._again[node] = None

    def exited(self, node: int, incarnation: int, reason: str, *, again: bool = False) -> None:
        """A process has ended itself in that life; ``again``: it is to be started at once, whoever else wants it."""
        if self._network.processes[node].incarnation == incarnation:
            again = again or node in self._again
            self.crash(node, reason)
            if again:
                self.restart(node)

    # -- beginnings -------------------------------------------------------------------------------------------------

    def restart(self, node: int) -> None:
        """Start a process that is down."""
        network = self._network
        network.restart(node)
        self._emit(NodeUp(network.kernel.now, network.processes[node].name, self._broker_id(node)))
        if node in self._brokers:
            self._brokers[node].started()
        elif node in self._plane.servers:
            self._plane.servers[node][1].started()
        elif node in self._clients.names:
            self._clients.started(node)

    # -- pace -------------------------------------------------------------------------------------------------------

    def slow(self, node: int, fault: int, cost_us: int) -> None:
        """Let every message and timer that a process handles take so much of its one CPU; several faults add up."""
        self._network.slow_cpu(self._clients.together(node), fault, cost_us, _FREE)

    def quicken(self, node: int, fault: int) -> None:
        """Undo of :meth:`slow` by that fault; with the last one, what waits is handled at once, in order."""
        self._network.quicken_cpu(self._clients.together(node), fault)

    def save(self) -> tuple[Any, ...]:
        """All state; slow CPUs are the network's."""
        return (tuple(self._leaving), tuple(self._again))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        leaving, again = saved
        self._leaving, self._again = dict.fromkeys(leaving), dict.fromkeys(again)
