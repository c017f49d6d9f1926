"""Where acknowledged records may be gone: stints of which some log lost records, or some leader lacked any.

Nothing else need be looked at to say what is missing or lost, so that a long quiet past costs nothing.
"""

from collections.abc import Iterable
from typing import Any

from cluster_model.checker.ledger.causes import Trigger


class Doubt:
    """By partition and stint."""

    __slots__ = ("_stints", "_unsure")

    def __init__(self) -> None:
        self._stints: dict[str, dict[int, Trigger | None]] = {}
        """Partition → stint → the newest cut of a log that took some of it, if any did."""
        self._unsure: dict[str, None] = {}

    def note(self, partition: str, stints: Iterable[int], trigger: Trigger | None = None) -> None:
        """Records of these may be gone, by what ``trigger`` did if that is a cut."""
        known = self._stints.setdefault(partition, {})
        for stint in stints:
            known[stint] = trigger or known.get(stint)

    def leader_cut(self, partition: str) -> None:
        """The leader's log has less than when it was last looked at."""
        self._unsure[partition] = None

    def looked(self, partition: str) -> None:
        """It has been looked at."""
        self._unsure.pop(partition, None)

    def unsure(self, partition: str) -> bool:
        """Whether the leader's log was cut since it was looked at."""
        return partition in self._unsure

    def stints(self, partition: str) -> Iterable[int]:
        """Those of a partition."""
        return self._stints.get(partition, ())

    @property
    def partitions(self) -> Iterable[str]:
        """Those that have any."""
        return self._stints

    def cut_of(self, partition: str, stint: int) -> Trigger | None:
        """The newest cut that took records of a stint, None where none did."""
        return self._stints.get(partition, {}).get(stint)

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        self._stints.pop(partition, None)
        self._unsure.pop(partition, None)

    @property
    def count(self) -> int:
        """Stints of all partitions."""
        return sum(map(len, self._stints.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(partition, tuple(stints.items())) for partition, stints in self._stints.items()]),
            tuple(self._unsure),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        stints, unsure = saved
        self._stints = {partition: dict(table) for partition, table in stints}
        self._unsure = dict.fromkeys(unsure)
