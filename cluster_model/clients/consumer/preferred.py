"""The replicas that leaders have sent a consumer to, each for a while (``SubscriptionState.preferredReadReplica``)."""

from typing import Any

from cluster_model.clients.metadata import Metadata


class PreferredReplicas:
    """KIP-392: partition → the follower to read from, until its lease ends or anything goes wrong there."""

    __slots__ = ("_lease_us", "_metadata", "_replicas")

    def __init__(self, metadata: Metadata, lease_us: int) -> None:
        """``lease_us`` is ``metadata.max.age.ms``: after that the leader is asked again."""
        self._metadata = metadata
        self._lease_us = lease_us
        self._replicas: dict[str, tuple[int, int]] = {}
        """Partition → (broker, end of its lease)."""

    def set(self, partition: str, broker: int, now: int) -> None:
        """The leader named a replica to read from."""
        self._replicas[partition] = (broker, now + self._lease_us)

    def source(self, partition: str, leader: int, now: int) -> int:
        """Whom to fetch from (``selectReadReplica``): a replica that metadata lacks is given up for ``leader``."""
        known = self._replicas.get(partition)
        if known is None:
            return leader
        broker, until = known
        if now >= until:
            del self._replicas[partition]
            return leader
        if not self._metadata.holds(partition, broker):
            del self._replicas[partition]
            self._metadata.refresh()
            return leader
        return broker

    def clear(self, partition: str) -> bool:
        """Something went wrong: the leader is next. False if there was none to give up."""
        return self._replicas.pop(partition, None) is not None

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._replicas.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._replicas = dict(saved)
