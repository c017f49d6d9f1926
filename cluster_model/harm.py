"""What befalls a broker from within: batches damaged on its disk, a disk that lies, threads that are busy.

It stands for the hardware, and for what else runs on the machine. Nobody is told: a broker finds out, or does not.
"""

from collections.abc import Mapping

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.busy import Busy
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.storage.damaging import batch_to_damage, damage
from cluster_model.kernel.network import Network
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.errors import ModelError


class Harm:
    """Of all brokers. It keeps nothing: what lasts is kept by their disks and threads, by the number of the fault."""

    __slots__ = ("_brokers", "_network")

    def __init__(self, brokers: Mapping[int, Broker], network: Network) -> None:
        self._brokers = brokers
        self._network = network

    def _replica(self, node: int, partition: str) -> Replica:
        replica = self._brokers[node].replicas.get(partition)
        if replica is None:
            raise ModelError(f"broker {node} holds no replica of {partition}")
        return replica

    def batch_at(self, node: int, partition: str, offset: int) -> Batch | None:
        """The batch that :meth:`damage` would strike, None where there is none.

        Raises:
            ModelError: the broker has no replica of the partition.
        """
        return batch_to_damage(self._replica(node, partition), offset)

    def damage(self, node: int, partition: str, offset: int, kind: str) -> None:
        """Turn bits of a stored batch; ``offset`` -1: the last one below the high watermark.

        ``kind`` is one of ``log.damage.KINDS``.

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
