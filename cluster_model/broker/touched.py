"""Which of a broker's replicas may have changed since somebody last looked: keyframes, checkpoints, the ISR task."""

from typing import Any

from cluster_model.broker.partition.partition import Replica


class Touched:
    """Whoever changes a replica puts its partition into ``fresh``; each who looks has a list of what is new to it."""

    __slots__ = ("_replicas", "_saved", "fresh", "moved", "restless")

    def __init__(self, replicas: dict[str, Replica]) -> None:
        self._replicas = replicas
        self._saved: dict[str, tuple[Any, ...]] = {}
        """Each replica's state when it was last saved: keyframes share what has not been touched since."""
        self.fresh: dict[str, None] = {}
        self.moved: dict[str, None] = {}
        """Replicas that a checkpoint may find otherwise than the last one did."""
        self.restless: dict[str, None] = {}
        """Replicas that lead and may have a follower that does not rest."""

    def collect(self) -> None:
        """Hand on what has been touched by now."""
        for partition in self.fresh:
            self._saved.pop(partition, None)
            if partition in self._replicas:
                self.moved[partition] = None
                self.restless[partition] = None
        self.fresh.clear()

    def forget(self, partition: str) -> None:
        """A replica is gone."""
        for table in (self._saved, self.fresh, self.moved, self.restless):
            table.pop(partition, None)

    def forget_all(self) -> None:
        """Another set of replicas takes the place of all."""
        for table in (self._saved, self.fresh, self.moved, self.restless):
            table.clear()

    def everything(self) -> None:
        """Any replica may have changed."""
        self.fresh.update(dict.fromkeys(self._replicas))

    def checkpoint(self, now: int) -> None:
        """Write down the high watermarks that may have moved, and age the pages behind them."""
        self.collect()
        for partition in tuple(self.moved):
            replica = self._replicas[partition]
            replica.checkpoint(now)
            self._saved.pop(partition, None)
            if not replica.log.ages:
                del self.moved[partition]

    def may_lag(self) -> dict[str, None]:
        """Partitions led here with a follower whose fetches are looked at; the ISR task need ask of no others."""
        self.collect()
        for partition in tuple(self.restless):
            leadership = self._replicas[partition].leadership
            if leadership is None or leadership.rests:
                del self.restless[partition]
        return self.restless

    def save(self) -> tuple[tuple[Any, ...], ...]:
        """All replicas' state."""
        self.collect()
        saved = self._saved
        for partition, replica in self._replicas.items():
            if partition not in saved:
                saved[partition] = replica.save()
        return tuple([saved[partition] for partition in self._replicas])
