"""Guardrails: limits of a session that refuse a fault, or heal active faults when a limit is exceeded.

A broker counts as down while its process is dead or paused, or while it cannot reach the control plane: the controller
in KRaft mode, a server of the ensemble in ZooKeeper mode. Guardrails read the whole cluster state, as an operator who
monitors the cluster would; their actions are recorded as :class:`cluster_model.protocol.events.GuardActed`.
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
    """Limits of a session and the reaction when one is exceeded; -1: no limit."""

    max_brokers_down: int = -1
    """Brokers that may be down at the same time."""
    keep_last_in_sync: bool = False
    """Whether every partition must keep an in-sync replica on a broker that is not down."""
    max_faults: int = -1
    """Lasting faults that may be active at the same time."""
    on_breach: str = REFUSE
    """``refuse``: a fault that would exceed a limit is not injected. ``heal``: it is injected, and all faults are
    healed once a limit is exceeded."""


class Breach(NamedTuple):
    """A limit that is or would be exceeded, and the reason."""

    guard: str
    reason: str


class GuardedInjector(Protocol):
    """Faults that guardrails monitor; :class:`faults.injector.FaultInjector` implements it."""

    @property
    def cluster(self) -> Cluster:
        """The cluster in which faults are injected."""
        ...

    def active(self) -> tuple[FaultView, ...]:
        """Return lasting faults, oldest first."""
        ...

    def heal(self, name: str) -> int:
        """Heal faults by name; ``all`` heals every fault."""
        ...


class GuardError(FaultError):
    """A guardrail refused a fault; the code is the name of the guardrail."""


class Guardrails:
    """Guardrails of one session: check faults before injection, and heal them when a limit is exceeded.

    ``stop`` returns whether chaos is to end; ``stop_text`` is its condition as text.
    """

    def __init__(
        self, limits: Limits, board: GuardedInjector, stop: Callable[[], bool] | None = None, stop_text: str = ""
    ) -> None:
        self.limits = limits
        self._board = board
        self._stop = stop
        self._stop_text = stop_text
        self._stopped_us = -1

    @property
    def stopped(self) -> bool:
        """Whether fault injection has ended."""
        return self._stopped_us >= 0

    # -- before a fault -----------------------------------------------------------------------------------------------

    def admit(self, fault: Fault, target: str, expected: ExpectedImpact) -> None:
        """Allow a fault, or refuse it and record the refusal.

        Raises:
            GuardError: A limit would be exceeded, or chaos has ended.
        """
        breach = self.refusal(fault, expected)
        if breach is None:
            return
        cluster = self._board.cluster
        cluster.emit(GuardActed(cluster.now_us, breach.guard, "refused", fault.name, target, breach.reason))
        raise GuardError(f"refused by {breach.guard}: {breach.reason}", code=breach.guard)

    def refusal(self, fault: Fault, expected: ExpectedImpact) -> Breach | None:
        """Return why a fault would be refused now, given its predicted impact; None if it would not."""
        if self.stopped:
            when = exact_duration(self._stopped_us)
            return Breach("stop_when", f"chaos ended at {when}, when {self._stop_text} became true")
        if self.limits.on_breach != REFUSE:
            return None
        return self.exceeded_limit(fault, expected)

    def exceeded_limit(self, fault: Fault, expected: ExpectedImpact) -> Breach | None:
        """Return the limit that a fault would exceed, for any reaction; None if there is none."""
        down = self._down()
        return (
            self._last_replica(down, (*down, *expected.down), expected)
            or self._too_low(down, (*down, *[each for each in expected.down if each not in down]))
            or self._too_many(len(self._board.active()) + fault.is_lasting, fault.is_lasting)
        )

    def _too_many(self, count: int, lasting: bool) -> Breach | None:
        most = self.limits.max_faults
        if not lasting or most < 0 or count <= most:
            return None
        return Breach("max_faults", f"{counted(count, 'fault')} at once, allowed: {most}")

    def _too_low(self, before: Collection[int], after: Collection[int]) -> Breach | None:
        most = self.limits.max_brokers_down
        if most < 0 or len(after) <= most or len(after) <= len(before):
            return None
        shown = names(self._board.cluster, sorted(after))
        return Breach("max_brokers_down", f"{counted(len(after), 'broker')} down ({shown}), allowed: {most}")

    def _last_replica(self, before: Collection[int], after: Collection[int], expected: ExpectedImpact) -> Breach | None:
        if not self.limits.keep_last_in_sync:
            return None
        records = self._board.cluster.cluster_state.records
        taken = [name for name, record in records.items() if _held(record.isr, before) and not _held(record.isr, after)]
        if not taken and not expected.quorum_lost:
            taken = list(expected.offline)
        return Breach("keep_last_in_sync", f"the last in-sync replica of {_some(taken)}") if taken else None

    # -- when the state changes ---------------------------------------------------------------------------------------

    def is_triggered(self) -> bool:
        """Return whether a limit is exceeded now, or chaos is to end; nothing changes."""
        return not self.stopped and (self._ends() or self._crossed() is not None)

    def enforce(self) -> None:
        """Heal all faults if a limit is exceeded or chaos is to end, and record why."""
        if self.stopped:
            return
        cluster = self._board.cluster
        if self._ends():
            self._stopped_us = cluster.now_us
            cluster.emit(GuardActed(cluster.now_us, "stop_when", "stopped", "", "", f"{self._stop_text} is true"))
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
        """Return the exceeded limit; None if there is none or no fault is active."""
        active = len(self._board.active())
        if not active:
            return None
        down = self._down()
        return (
            self._last_replica((), down, ExpectedImpact("")) or self._too_low((), down) or self._too_many(active, True)
        )

    def _down(self) -> tuple[int, ...]:
        """Return the brokers that are down now."""
        cluster = self._board.cluster
        net = Reachability(cluster, (), ())
        counted = [node for node in net.registered_brokers(cluster.brokers) if net.runs(node)]
        return tuple(node for node in cluster.brokers if node not in counted)

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (self._stopped_us,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (self._stopped_us,) = saved


def _held(isr: tuple[int, ...], down: Collection[int]) -> bool:
    return any(each not in down for each in isr)


def _some(partitions: list[str]) -> str:
    more = len(partitions) - 2
    return ", ".join(partitions[:2]) + (f" and {more} more" if more > 0 else "")
