"""Guardrails: limits of a session that refuse a fault, or heal what is active when they are crossed.

A broker counts as down while its process is dead or paused, or while nobody who decides hears it: in KRaft mode the
controller, in ZooKeeper mode a server of the ensemble. Guards look at everything, as an operator would who watches the
whole cluster; what they do is told by :class:`cluster_model.protocol.events.GuardActed`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.cluster import Cluster
from cluster_model.observation import FaultView
from cluster_model.protocol.events import GuardActed
from cluster_model.util.quantities import counted, exact_duration
from faults.declarations.fault import ExpectedImpact, Fault, FaultError
from faults.declarations.impact import Reachability, names

REFUSE: Final = "refuse"
HEAL: Final = "heal"
ON_BREACH: Final = (REFUSE, HEAL)


@dataclass(frozen=True, slots=True)
class Limits:
    """What must not happen, and what is done about it; -1: no limit."""

    max_brokers_down: int = -1
    """Brokers that may be down at once."""
    keep_last_in_sync: bool = False
    """Whether every partition keeps an in-sync replica on a broker that is not down."""
    max_faults: int = -1
    """Faults that last and may be active at once."""
    on_breach: str = REFUSE
    """``refuse``: what would cross a limit is not injected. ``heal``: it is, and all is healed once it is crossed."""


class Breach(NamedTuple):
    """A limit that is crossed, or would be."""

    guard: str
    reason: str


class Guarded(Protocol):
    """What guards watch over: the board."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that suffers."""
        ...

    def active(self) -> tuple[FaultView, ...]:
        """Faults that last, oldest first."""
        ...

    def heal(self, name: str) -> int:
        """Heal all."""
        ...


class GuardError(FaultError):
    """A guard refused a fault; the code is the guard's name."""


class Guards:
    """The guards of one board. ``stop`` says whether chaos is to end, ``stop_text`` is its condition."""

    def __init__(
        self, limits: Limits, board: Guarded, stop: Callable[[], bool] | None = None, stop_text: str = ""
    ) -> None:
        self.limits = limits
        self._board = board
        self._stop = stop
        self._stop_text = stop_text
        self._stopped_us = -1

    @property
    def stopped(self) -> bool:
        """Whether chaos has ended."""
        return self._stopped_us >= 0

    # -- before a fault -----------------------------------------------------------------------------------------------

    def admit(self, fault: Fault, target: str, expected: ExpectedImpact) -> None:
        """Let a fault pass, or refuse it with :class:`GuardError` and say so in the trace."""
        breach = self.objection(fault, expected)
        if breach is None:
            return
        cluster = self._board.cluster
        cluster.emit(GuardActed(cluster.now_us, breach.guard, "refused", fault.name, target, breach.reason))
        raise GuardError(f"refused by {breach.guard}: {breach.reason}", code=breach.guard)

    def objection(self, fault: Fault, expected: ExpectedImpact) -> Breach | None:
        """Why a fault would be refused now, by what is expected of it; None when it would not."""
        if self.stopped:
            when = exact_duration(self._stopped_us)
            return Breach("stop_when", f"chaos has ended: {self._stop_text} held at {when}")
        if self.limits.on_breach != REFUSE:
            return None
        return self.crossing(fault, expected)

    def crossing(self, fault: Fault, expected: ExpectedImpact) -> Breach | None:
        """The limit that a fault would cross, whatever would be done about it."""
        down = self._down()
        return (
            self._last_replica(down, (*down, *expected.down), expected)
            or self._too_low(down, (*down, *[each for each in expected.down if each not in down]))
            or self._too_many(len(self._board.active()) + fault.lasting, fault.lasting)
        )

    def _too_many(self, count: int, lasting: bool) -> Breach | None:
        most = self.limits.max_faults
        if not lasting or most < 0 or count <= most:
            return None
        return Breach("max_faults", f"{counted(count, 'fault')} at once, allowed {_are(most)}")

    def _too_low(self, before: Collection[int], after: Collection[int]) -> Breach | None:
        most = self.limits.max_brokers_down
        if most < 0 or len(after) <= most or len(after) <= len(before):
            return None
        who = names(self._board.cluster, sorted(after))
        return Breach("max_brokers_down", f"{counted(len(after), 'broker')} down ({who}), allowed {_are(most)}")

    def _last_replica(self, before: Collection[int], after: Collection[int], expected: ExpectedImpact) -> Breach | None:
        if not self.limits.keep_last_in_sync:
            return None
        records = self._board.cluster.world.records
        taken = [name for name, record in records.items() if _held(record.isr, before) and not _held(record.isr, after)]
        if not taken and not expected.quorum_lost:
            taken = list(expected.offline)
        return Breach("keep_last_in_sync", f"the last in-sync replica of {_some(taken)}") if taken else None

    # -- as the state changes -----------------------------------------------------------------------------------------

    def alarm(self) -> bool:
        """Whether a limit is crossed now, or chaos is to end; looking changes nothing."""
        return not self.stopped and (self._ends() or self._crossed() is not None)

    def act(self) -> None:
        """Do what has to be done about it: everything is healed."""
        if self.stopped:
            return
        cluster = self._board.cluster
        if self._ends():
            self._stopped_us = cluster.now_us
            cluster.emit(GuardActed(cluster.now_us, "stop_when", "stopped", "", "", f"{self._stop_text} holds"))
            self._board.heal("all")
            return
        breach = self._crossed()
        if breach is not None:
            active = self._board.active()
            healed, where = ", ".join(each.name for each in active), ", ".join(each.target for each in active)
            cluster.emit(GuardActed(cluster.now_us, breach.guard, "healed", healed, where, breach.reason))
            self._board.heal("all")

    def _ends(self) -> bool:
        return self._stop is not None and self._stop()

    def _crossed(self) -> Breach | None:
        """The limit that is crossed while there is something to heal."""
        active = len(self._board.active())
        if not active:
            return None
        down = self._down()
        return (
            self._last_replica((), down, ExpectedImpact("")) or self._too_low((), down) or self._too_many(active, True)
        )

    def _down(self) -> tuple[int, ...]:
        """Brokers that are down now."""
        cluster = self._board.cluster
        net = Reachability(cluster, (), ())
        counted = [node for node in net.counted(cluster.brokers) if net.runs(node)]
        return tuple(node for node in cluster.brokers if node not in counted)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._stopped_us,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (self._stopped_us,) = saved


def _held(isr: tuple[int, ...], down: Collection[int]) -> bool:
    return any(each not in down for each in isr)


def _are(most: int) -> str:
    return "is none" if most == 0 else "is 1" if most == 1 else f"are {most}"


def _some(partitions: list[str]) -> str:
    more = len(partitions) - 2
    return ", ".join(partitions[:2]) + (f" and {more} more" if more > 0 else "")
