"""Where faults act on a broker: on its disk, on batches of its logs, and on its threads."""

from collections.abc import Callable, Mapping

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import Busy
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.storage.disk import FAILED, FULL, READ_ONLY, DiskFailure, Slow
from cluster_model.broker.storage.log_manager import batch_to_damage, damage
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import Batch


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
        self._refuse(node, fault, DiskFailure(FULL, broker.logs.disk_bytes + free))

    def make_read_only(self, node: int, fault: int) -> None:
        """Nothing can be written, created, renamed or deleted from now on; what is there can be read."""
        self._refuse(node, fault, DiskFailure(READ_ONLY))

    def fail(self, node: int, fault: int, *, lost: bool) -> None:
        """Every access fails from now on; a broker that runs notices at once. ``lost``: what it held is gone."""
        self._refuse(node, fault, DiskFailure(FAILED))
        broker = self._brokers[node]
        state = self._network.processes[node].state
        if lost:
            self._lose(node)
            broker.disk.halted = broker.disk.halted or state in (ProcessState.RUNNING, ProcessState.PAUSED)
        elif state is ProcessState.RUNNING:
            broker.writes.halt(FAILED)

    def _refuse(self, node: int, fault: int, broken: DiskFailure) -> None:
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


# Faults inside a broker: damaged batches on its disk, a disk that loses writes, busy threads.
#
# It stands for the hardware, and for what else runs on the machine. Nobody is told: a broker finds out, or does not.


class Harm:
    """Of all brokers. It keeps nothing: what lasts is kept by their disks and threads, by the number of the fault."""

    __slots__ = ("_brokers", "_network")

    def __init__(self, brokers: Mapping[int, Broker], network: Network) -> None:
        self._brokers = brokers
        self._network = network

    def _replica(self, node: int, partition: str) -> Replica:
        replica = self._brokers[node].replicas.get(partition)
        if replica is None:
            raise ModelError(f"broker {node} holds no replica of {partition}", code="no_replica")
        return replica

    def batch_at(self, node: int, partition: str, offset: int) -> Batch | None:
        """The batch that :meth:`damage` would strike, None where there is none.

        Raises:
            ModelError: the broker has no replica of the partition.
        """
        return batch_to_damage(self._replica(node, partition), offset)

    def damage(self, node: int, partition: str, offset: int, kind: str) -> None:
        """Turn bits of a stored batch; ``offset`` -1: the last one below the high watermark.

        ``kind`` is one of ``protocol.records.KINDS``.

        Raises:
            ModelError: the broker has no replica of the partition.
        """
        replica = self._replica(node, partition)
        damage(replica, offset, kind, self._network.kernel.now)
        self._brokers[node].settle(replica)

    def lose_writes(self, node: int, fault: int) -> None:
        """Nothing that a broker writes or flushes from here on is on its disk, whatever that says."""
        broker = self._brokers[node]
        broker.logs.cache.lie(fault, broker.replicas, self._network.kernel.now, marker=broker.logs.marker)

    def keep_writes(self, node: int, fault: int) -> None:
        """Undo of :meth:`lose_writes` by that fault."""
        self._brokers[node].logs.cache.keep(fault, self._network.kernel.now)

    def slow_fetchers(self, node: int, fault: int, busy: Busy) -> None:
        """Have a broker's replica fetcher threads handle each answer later."""
        self._network.rouse(node)
        self._brokers[node].slowed[fault] = busy

    def quicken_fetchers(self, node: int, fault: int) -> None:
        """Undo of :meth:`slow_fetchers` by that fault; what a thread has in hand takes as long as it was to."""
        self._network.rouse(node)
        self._brokers[node].slowed.pop(fault, None)
