"""What every property stands on: the world, who is registered, what excuses a loss, and where violations go."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Protocol

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.base import Excuses
from cluster_model.checker.invariants.promise import LOSSY, Promise
from cluster_model.controller.committed import PartitionRecord
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import Event, HwAdvanced, InvariantViolated, TraceEvent

BY_HAND: Final = "known for steps by hand: a replica may lead that lost its log, as no controller would have it"


class Registrations(Protocol):
    """What the plane has committed of brokers."""

    def is_live(self, broker: int) -> bool:
        """Registered, and not fenced."""

    def is_shutting_down(self, broker: int) -> bool:
        """In controlled shutdown."""

    def broker_epoch(self, broker: int) -> int:
        """Of its registration, -1 for none."""

    def obeyed_epoch(self, broker: int) -> int:
        """The newest controller epoch that the running process goes by."""


class Ground:
    """Shared by all properties of one cluster; counts what was found broken."""

    __slots__ = ("_emit", "_reported", "excuses", "plane", "unexpected", "violations", "world")

    def __init__(self, world: World, emit: Callable[[Event], None], plane: Registrations | None) -> None:
        """``plane`` is None where a person decides, step by step."""
        self.world = world
        self.plane = plane
        self.excuses = Excuses(world)
        self._emit = emit
        self._reported: dict[tuple[str, str, str, int, int], None] = {}
        self.violations: dict[str, int] = {}
        """Property → how many violations."""
        self.unexpected: dict[str, int] = {}
        """Those of them that this version is not known for."""

    def circumstances(self, partition: str, epoch: int) -> tuple[str, ...]:
        """Of records of a leader epoch: whether they were hit by the loss of what was on no disk."""
        return (LOSSY,) if self.excuses.lossy(partition, epoch) else ()

    def report(
        self,
        promise: Promise,
        at_us: int,
        partition: str,
        broker: int,
        detail: str,
        *,
        fault: str = "",
        offsets: tuple[int, int] = (-1, -1),
        epoch: int = -1,
        when: tuple[str, ...] = (),
        cause: str = "",
    ) -> None:
        """A violation, told when the fault is first seen and never again.

        It is the same one as long as property, ``fault``, partition, broker and leader epoch are the same: what it does
        to one record after another is no other fault. ``fault`` tells apart what else can be wrong in one property.

        A person who decides by hand may have a replica lead that lost its log, as no controller would that sees it
        come back: what only that explains is known, and says so.
        """
        known = promise.known(self.world.profile, when)
        if self.plane is None and LOSSY in when and not known:
            known = BY_HAND
        key = (promise.name, fault, partition, broker, epoch)
        if key in self._reported:
            return
        self._reported[key] = None
        self.violations[promise.name] = self.violations.get(promise.name, 0) + 1
        if not known:
            self.unexpected[promise.name] = self.unexpected.get(promise.name, 0) + 1
        self._emit(InvariantViolated(at_us, promise.name, partition, broker, detail, cause, *offsets, epoch, known))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self.violations, self.unexpected)
        return (tuple(self._reported), *(tuple(table.items()) for table in tables), self.excuses.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        reported, violations, unexpected, excuses = saved
        self._reported = dict.fromkeys(reported)
        self.violations, self.unexpected = dict(violations), dict(unexpected)
        self.excuses.load(excuses)


Heard = dict[type[TraceEvent], Callable[[Any], None]]
"""Kinds of rare events and what hears them."""
HwHeard = Callable[[HwAdvanced, Replica, PartitionRecord], None]
"""Hears that a leader's HW rose, with its replica and what is committed of the partition."""


class Property:
    """A property of the protocol, checked as events come. State is integers and tuples, saved for rewinds."""

    __slots__ = ("ground", "world")
    promise: ClassVar[Promise]

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.world = ground.world

    def hears(self) -> Heard:
        """What it listens to, of the rare events."""
        return {}

    def parted(self, partition: str, now: int) -> None:
        """A HW rose, and the in-sync replicas do not all hold the same below it."""

    def forget(self, partition: str) -> None:
        """A partition is deleted; one that is created again begins with other epochs and another log."""

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


def listed(values: Iterable[Any]) -> str:
    """As lists are written."""
    return str(list(values))
