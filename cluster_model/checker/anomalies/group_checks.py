"""commit-regression and two-owners: what the members of a group say of its partitions contradicts itself."""

from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally

COMMITS: Final = "commit-regression"
OWNERS: Final = "two-owners"


class GroupChecks:
    """By group and key the offset committed last, and by generation who owns it."""

    __slots__ = ("_committed", "_owners", "_tally")

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._committed: dict[tuple[str, str], int] = {}
        self._owners: dict[tuple[str, str], tuple[int, str]] = {}
        """(group, key) → (generation, process): the newest generation that anybody owned it in."""

    def committed(self, group: str, client: str, key: str, offset: int, now: int) -> None:
        """A commit of a member was accepted."""
        before = self._committed.get((group, key), -1)
        self._committed[group, key] = offset
        if offset < before:
            words = f"{client} committed offset {offset} of {key} for {group}, which had committed {before}"
            self._tally.note(COMMITS, client, key, Example(now, offset, before, words))

    def owns(self, group: str, process: str, key: str, generation: int, now: int) -> None:
        """A member was assigned a key in a generation of its group."""
        known, owner = self._owners.get((group, key), (-1, ""))
        if known == generation and owner not in ("", process):
            words = f"{process} and {owner} both own {key} in generation {generation} of {group}"
            self._tally.note(OWNERS, process.partition("#")[0], key, Example(now, -1, -1, words))
        elif generation >= known:
            self._owners[group, key] = (generation, process)

    def gave_up(self, group: str, process: str, key: str) -> None:
        """A member owns a key no more."""
        known, owner = self._owners.get((group, key), (-1, ""))
        if owner == process:
            self._owners[group, key] = (known, "")

    def over(self, process: str) -> None:
        """A process has ended."""
        for group, key in [who for who, (_generation, owner) in self._owners.items() if owner == process]:
            self.gave_up(group, process, key)

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._committed = {who: offset for who, offset in self._committed.items() if who[1] != key}
        self._owners = {who: owner for who, owner in self._owners.items() if who[1] != key}

    @property
    def entries(self) -> int:
        """How much is remembered."""
        return len(self._committed) + len(self._owners)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._committed.items()), tuple(self._owners.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        committed, owners = saved
        self._committed, self._owners = dict(committed), dict(owners)
