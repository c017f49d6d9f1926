"""What befalls brokers' disks from outside. A broker finds out by what becomes of its writes."""

from collections.abc import Callable, Mapping

from cluster_model.broker.broker import Broker
from cluster_model.broker.storage.disk import FAILED, FULL, READ_ONLY, Broken, Slow
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import ProcessState


class Disks:
    """The disks of all brokers; one each, with the one log directory that a broker has."""

    __slots__ = ("_brokers", "_lose", "_network")

    def __init__(self, network: Network, brokers: Mapping[int, Broker], lose: Callable[[int], None]) -> None:
        """``lose`` takes a broker's log directory away, and its process with it."""
        self._network = network
        self._brokers = brokers
        self._lose = lose

    def slow(self, node: int, fault: int, throughput: int, latency_us: int) -> None:
        """Every write takes its bytes at ``throughput`` bytes per second and ``latency_us`` on top."""
        self._network.rouse(node)
        self._brokers[node].disk.slow[fault] = Slow(throughput, latency_us)
        self._brokers[node].writes.changed()

    def fill(self, node: int, fault: int, free: int) -> None:
        """Leave ``free`` bytes. What the broker deletes later makes room again."""
        broker = self._brokers[node]
        self._refuse(node, fault, Broken(FULL, broker.logs.disk_bytes + free))

    def make_read_only(self, node: int, fault: int) -> None:
        """Nothing can be written, created, renamed or deleted from now on; what is there can be read."""
        self._refuse(node, fault, Broken(READ_ONLY))

    def fail(self, node: int, fault: int, *, lost: bool) -> None:
        """Every access fails from now on; a broker that runs notices at once. ``lost``: what it held is gone."""
        self._refuse(node, fault, Broken(FAILED))
        broker = self._brokers[node]
        state = self._network.processes[node].state
        if lost:
            self._lose(node)
            broker.disk.halted = broker.disk.halted or state in (ProcessState.RUNNING, ProcessState.PAUSED)
        elif state is ProcessState.RUNNING:
            broker.writes.halt(FAILED)

    def _refuse(self, node: int, fault: int, broken: Broken) -> None:
        self._network.rouse(node)
        self._brokers[node].disk.broken[fault] = broken
        self._brokers[node].writes.changed()

    def mend(self, node: int, fault: int) -> None:
        """Undo what that fault did to the disk."""
        self._network.rouse(node)
        self._brokers[node].disk.mend(fault)
        self._brokers[node].writes.changed()

    def halted(self, node: int) -> bool:
        """Whether the broker's last process ended, or is about to end, because of its disk, and the disk works now."""
        disk = self._brokers[node].disk
        return disk.halted and not disk.broken

    def start_again(self, node: int) -> None:
        """Start a process that is about to end as soon as it has."""
        self._brokers[node].disk.again = True

    def starts_again(self, node: int) -> bool:
        """Whether a process that has just ended is to be started at once."""
        return node in self._brokers and self._brokers[node].disk.again
