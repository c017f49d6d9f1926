"""The checker of client-side anomalies: takes a history from the trace and gives the verdict on it."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import EXAMPLES, Case, Example
from cluster_model.checker.anomalies.client_settings import ClientSettings, InForce
from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.anomalies.history_builder import Listening, read_all
from cluster_model.checker.anomalies.history_checker import Anomalies
from cluster_model.checker.anomalies.operations import ASSIGN, Run
from cluster_model.checker.invariants.base import Excuses
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import TraceEvent

NO_CLIENTS: Final = ClientSettings()


class Seen(NamedTuple):
    """An anomaly that was found at clients and partitions for which the verdict is the same."""

    name: str
    found: int
    """How often: the anomaly's rule says of what."""
    legal: bool
    reason: str
    """Why it is legal, in one phrase; empty if it is not."""
    where: tuple[tuple[str, str], ...]
    """(client, partition) of each, either empty where it names none."""
    examples: tuple[Example, ...]


class Witness:
    """Listens on behalf of the clients."""

    __slots__ = ("_world", "in_force", "listening")

    def __init__(
        self, world: World, clients: ClientSettings, excuses: Excuses, undone: Callable[[str | None], int]
    ) -> None:
        """``excuses`` and ``undone`` are for the verdict only: nothing is found by them."""
        self._world = world
        anomalies = Anomalies(self._payload, self.empty)
        self.listening = Listening(
            anomalies, lambda client, group: clients.readers.get(client) or clients.groups.get(group, ASSIGN),
            clients.copiers,
            lambda key: len(world.lineages[key].by_id) if key in world.lineages else 0,
        )  # fmt: skip
        self.in_force = InForce(world, clients, anomalies.facts, excuses, undone)

    def _payload(self, key: str, strand: int, start: int, end: int) -> list[Run]:
        """What records hold that were read or acknowledged: that is never looked up of any others."""
        return self._world.lineages[key].by_id[strand].runs(start, end)

    def empty(self, key: str, strand: int, start: int, end: int) -> bool:
        """Whether there are only markers at ``[start, end)`` of a strand."""
        return self._world.lineages[key].by_id[strand].markers_only(start, end)

    def observe(self, event: TraceEvent) -> None:
        """Hear a rare event."""
        self.listening.observe(event)
        self.in_force.observe(event)

    def close(self, now: int) -> None:
        """The session is over: the last read, and what had to wait for it."""
        read_all(self._world, self.listening.anomalies, now)
        self.listening.anomalies.close(now)

    def found(self, now: int) -> tuple[Seen, ...]:
        """What was found, illegal first; before the end only what does not depend on it."""
        merged: dict[tuple[str, str], list[Case]] = {}
        for case in self.listening.anomalies.cases(now):
            merged.setdefault((case.name, KINDS[case.name].excuse(case, self.in_force)), []).append(case)
        seen = [
            Seen(
                name, sum(case.found for case in cases), bool(why), why,
                tuple(dict.fromkeys((case.who, case.key) for case in cases)),
                tuple([example for case in cases for example in case.examples])[:EXAMPLES],
            )
            for (name, why), cases in merged.items()
        ]  # fmt: skip
        order = list(KINDS)
        return tuple(sorted(seen, key=lambda each: (each.legal, order.index(each.name))))

    def count(self, now: int, name: str = "") -> int:
        """How often the named anomaly was found, legal or not; without a name all that are not legal."""
        cases = self.listening.anomalies.cases(now)
        if name:
            return sum(case.found for case in cases if case.name == name)
        return sum(case.found for case in cases if not KINDS[case.name].excuse(case, self.in_force))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.listening.save(), self.in_force.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        listening, in_force = saved
        self.listening.load(listening)
        self.in_force.load(in_force)
