"""What a state of an exploration is: plain tuples, small and hashable. Replicas are numbered from 0.

The abstraction is that of Kafka's public TLA+ modules (``KafkaReplication``): one partition; controller decisions that
any replica may take up late or never; no time, no messages under way. A step is one replica's, whole: a follower
truncates as it begins to follow, a fetch brings one record, the HW moves by one. What a follower keeps of the ISR
follows from its epoch and is left out.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

NOBODY: Final = -1

ACTIONS: Final = ("elect", "drop", "lead", "follow", "write", "fetch", "hw", "shrink", "expand", "restart")
"""Kinds of steps: the controller's two first, then those of replicas."""

Entry = tuple[int, int]
"""A record: (leader epoch, number)."""


class Local(NamedTuple):
    """One replica, as it stands between two steps."""

    log: tuple[Entry, ...]
    hw: int
    epoch: int
    """The newest decision it has taken up, -1 none."""
    leader: int
    """Whom it takes for the leader."""
    isr: tuple[int, ...]
    """A leader's ISR; empty for a follower."""
    start: int = -1
    """Where a leader's log ended when it took up its epoch."""


class Decision(NamedTuple):
    """What the controller has decided: the number of its epoch is its place in the list of all."""

    leader: int
    isr: tuple[int, ...]


Held = tuple[tuple[Decision, ...], tuple[int, ...]]
"""What the controller holds: all its decisions, by epoch, and the ISR now."""


FRESH: Final = Local((), 0, -1, NOBODY, ())
"""A replica that nobody has told anything."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far an exploration goes; beyond them nothing happens any more."""

    replicas: int = 3
    log_size: int = 2
    """Records that a log may hold."""
    records: int = 2
    """Records that are ever written."""
    epochs: int = 2
    """Decisions with an epoch of their own that the controller may take."""
    restarts: int = 0
    """How often a broker's process may die and start again."""
    actions: frozenset[str] = frozenset(ACTIONS)
    """The kinds of steps that are taken at all."""
