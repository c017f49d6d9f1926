"""What is owed now, as a property sees it: from when on it counts is the conductor's to say."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from cluster_model.checker.liveness.partition_state import Scene, Sight


class Owed(NamedTuple):
    """Something that has to change. It is the same obligation as long as place and token are the same."""

    partition: str
    """Empty where it concerns no single one."""
    broker: int
    """Who owes it, -1 for nobody in particular."""
    token: Any
    """What may not change without the obligation being another one: an epoch, an offset, a request's number."""
    scope: tuple[int, ...]
    """Nodes whose disturbances, and those of the links between them, stop the clock."""
    bound_us: int
    grace_us: int
    """Waited for in addition after a disturbance: peers that were told nothing find out by their own timeouts."""
    words: str
    """One line of what is still not so; with places for ``facts``."""
    facts: tuple[Any, ...] = ()
    known: str = ""
    """Why this version need not keep it; empty where it must."""
    since_us: int = -1
    """When it began to be owed, as far as records tell; -1 where only looking does. Later decisions about the partition
    count from when they were taken."""


class OfPartition(Protocol):
    """A property of single partitions."""

    def __call__(self, sight: Sight, scene: Scene) -> Iterator[Owed]:
        """What is owed of a partition now."""


class OfCluster(Protocol):
    """A property of the whole cluster, or of its brokers."""

    def __call__(self, sight: Sight) -> Iterator[Owed]:
        """What is owed now."""


@dataclass(frozen=True, slots=True)
class Property:
    """One liveness property, in the words of its documentation."""

    name: str
    promise: str
    bound: str
    """How long it may take, in words; the figures are in :mod:`~cluster_model.checker.liveness.deadlines`."""
    disturbed_by: str
    """What stops its clock."""
    known: str = "none"
    """Versions that are known not to keep it, and what mended that."""
