"""Declaration of a fault, the behaviour that belongs to it, and the action that injects it.

The declaration holds everything that the TUI, a playbook, the documentation or the command line needs. The behaviour
applies the fault to a live cluster, heals it, and predicts its impact on the current state.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import CodedError

# An action: a playbook step and a key press produce the same plain value.


Verb = Literal["inject", "heal", "admin", "wire"]
Value = int | str | bool | tuple[Any, ...]
"""Tuples are lists of brokers or keys, placements, and configurations as (key, value) pairs."""


@dataclass(frozen=True, slots=True)
class Action:
    """A verb, the name it applies to, a target selector, and parameters in model units (times in microseconds).

    ``inject`` names a fault of the catalogue; ``heal`` names a fault, a fault's number or ``all``; ``admin`` names an
    operation (``elect_leaders``). ``for_us`` is the duration of a fault; -1: until healed.
    """

    verb: Verb
    name: str
    target: str = ""
    params: dict[str, Value] = field(default_factory=dict)
    for_us: int = -1
    if_any: bool = False
    """Whether an injection whose target resolves to no node is skipped instead of refused."""


ParamType = Literal[
    "duration", "int", "bool", "choice", "target", "percent", "size", "throughput",
    "topic", "new topic", "partition", "broker", "brokers", "placement",
    "topic config", "broker config", "topic keys", "broker keys", "text", "group", "scopes", "offset lines", "release",
]  # fmt: skip
"""Types of parameters.

A duration is in microseconds, a percentage in millionths (``1%`` is 10 000), a size in bytes, a throughput in bytes per
second. A list of brokers or of keys is a tuple, a placement a tuple of those, and configurations are a tuple of (key,
value) pairs. A release is a release line or patch, as text. Scopes are topics, ``orders``, or some partitions of one,
``orders:0,2``; offset lines are lines of a file, ``orders,0,120``.
"""

MS: Final = 1_000
SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
PERCENT: Final = 10_000
"""One percent in millionths."""

NUMERIC: Final = ("int", "duration", "percent", "size", "throughput")
"""Types whose values are whole numbers between a parameter's ``low`` and ``high``."""

ACCEPTS: Final = {
    "brokers": "brokers",
    "processes": "brokers, nodes of the control plane, producers and consumers",
    "hosts": "brokers, producers and consumers",
    "clients": "producers and consumers",
    "producers": "producers",
    "consumers": "consumers",
    "controllers": "nodes that are or may become the controller",
    "plane": "nodes of the control plane: controllers and ZooKeeper servers",
    "nodes": "all nodes, including the admin client",
}
"""Kinds of targets, and the nodes of each kind."""

Family = Literal["processes", "links", "disks", "control plane", "clients"]
FAMILIES: Final[tuple[Family, ...]] = ("processes", "links", "disks", "control plane", "clients")
"""Families in the order in which sheets and tables show them."""


class FaultError(CodedError):
    """A fault or operation cannot be applied to its target now.

    ``code`` identifies the reason; the message is text for a person.
    """


class NoTargetError(FaultError):
    """The target of a fault, or its other side, resolves to no node now."""


@dataclass(frozen=True, slots=True)
class Param:
    """Parameter of a fault or an operation; the type determines its unit.

    ``default`` None: it must be given, or is determined when the fault is applied.
    """

    name: str
    type: ParamType
    doc: str
    default: Value | None = None
    low: int = 0
    high: int = HOUR
    choices: tuple[str, ...] = ()
    old: str = ""
    """Earlier name, which is still accepted, as in recordings."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a fault or an operation, as other tools call it; recordings contain the true name."""

    name: str
    accepts: str = ""
    """One of :data:`ACCEPTS` if the alias accepts fewer kinds of targets than the fault."""


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """Nodes that a fault is about to affect, all its parameters and, for link faults, the links."""

    nodes: tuple[int, ...]
    params: Mapping[str, Any]
    links: tuple[tuple[int, int], ...] = ()
    """(source, target) pairs, each one direction."""
    for_us: int = -1
    """Duration of the fault in microseconds; -1: until healed."""


@dataclass(slots=True)
class ActiveFault:
    """An injected fault; a lasting fault stays active until it is healed.

    ``memo`` is the state of the behaviour, by name; it holds plain values only (integers, strings, tuples of them).
    """

    id: int
    fault: str
    nodes: tuple[int, ...]
    params: dict[str, Any]
    links: tuple[tuple[int, int], ...]
    since_us: int
    until_us: int
    """-1 if it lasts until healed."""
    detail: str
    memo: dict[str, Any] = field(default_factory=dict)

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        params, memo = tuple(self.params.items()), tuple(self.memo.items())
        return (
            self.id, self.fault, self.nodes, params, self.links, self.since_us, self.until_us, self.detail, memo,
        )  # fmt: skip

    @classmethod
    def load(cls, saved: tuple[Any, ...]) -> "ActiveFault":
        """Return the fault that :meth:`save` saved."""
        number, fault, nodes, params, links, since_us, until_us, detail, memo = saved
        return cls(number, fault, nodes, dict(params), links, since_us, until_us, detail, dict(memo))


@dataclass(frozen=True, slots=True)
class ExpectedImpact:
    """Predicted impact of a fault on the current state: a sentence, and what it affects, by name."""

    sentence: str
    leaders_moved: tuple[str, ...] = ()
    """Partitions that would get another leader."""
    offline: tuple[str, ...] = ()
    """Partitions that would have no leader."""
    under_min_isr: tuple[str, ...] = ()
    """Partitions that would reject acks=all for lack of in-sync replicas."""
    clients: tuple[str, ...] = ()
    """Producers and group members that would be affected."""
    shrunk_isr: tuple[str, ...] = ()
    """Partitions with a leader whose ISR would shrink."""
    groups: tuple[str, ...] = ()
    """Groups whose coordinator would move or be unavailable."""
    transactional: tuple[str, ...] = ()
    """Producers whose transaction coordinator would move or be unavailable."""
    down: tuple[int, ...] = ()
    """Brokers that would be dead, paused, or cut off from the controller."""
    controller_moves: bool = False
    """Whether another node would have to become the controller."""
    quorum_lost: bool = False
    """Whether the quorum or the ensemble would have no majority, so that no decision is possible."""


class FaultContext(Protocol):
    """Access of a behaviour to the cluster and to other faults; :class:`FaultInjector` implements it."""

    @property
    def cluster(self) -> Cluster:
        """The cluster in which faults are injected."""
        ...

    def targets(self, text: str) -> tuple[int, ...]:
        """Return the nodes that a selector resolves to now.

        Raises:
            FaultError: The selector is invalid or resolves to no node.
        """
        ...

    def schedule(self, active_fault: ActiveFault, after_us: int) -> None:
        """Schedule a call of the behaviour's ``on_timer``, unless the fault is healed by then."""
        ...

    def pause(self, active_fault: ActiveFault, node: int) -> None:
        """Pause a process; it stays paused as long as any fault pauses it."""
        ...

    def unpause(self, active_fault: ActiveFault, node: int) -> None:
        """Undo :meth:`pause` for this fault."""
        ...

    def release_process(self, node: int) -> None:
        """Remove a process that is about to end from the faults that pause or are ending it."""
        ...

    def restart(self, node: int) -> None:
        """Start a process that is down, and remove it from the faults that had ended it."""
        ...

    def end(self, active_fault: ActiveFault) -> None:
        """Mark a lasting fault as over; nothing is undone."""
        ...


class Behaviour(ABC):
    """Implementation of a fault. It has no state of its own; state belongs in the active fault's memo."""

    ends_process: bool = False
    """Whether its targets are down while it lasts: a restart heals it for the node."""
    holds_process: bool = False
    """Whether it pauses or stops running processes: the end of a process heals it for the node."""

    def ends(self, active_fault: ActiveFault) -> bool:
        """Return :attr:`ends_process` for one active fault; overridden if its parameters matter."""
        del active_fault
        return self.ends_process

    def holds(self, active_fault: ActiveFault) -> bool:
        """Return :attr:`holds_process` for one active fault; overridden if its parameters matter."""
        del active_fault
        return self.holds_process

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine what the fault affects, for example its links.

        Raises:
            FaultError: There is nothing to affect.
        """
        del context
        return resolved

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse an injection that is not possible now, before anything has changed.

        Raises:
            FaultError: The fault cannot be applied to its target.
        """
        del context, resolved

    @abstractmethod
    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Apply the fault to the cluster."""

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Undo the fault, which is no longer active; called for lasting faults only."""
        del context, active_fault

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Handle a time scheduled with :meth:`FaultContext.schedule`."""
        del context, active_fault

    @abstractmethod
    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the impact that the fault would have now."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Declaration of a fault in the catalogue."""

    name: str
    letter: str
    """Its key in the TUI, after ``f``."""
    title: str
    family: Family
    summary: str
    """Effect of the fault on its target."""
    params: tuple[Param, ...]
    accepts: str
    """Kind of targets, one of :data:`ACCEPTS`."""
    is_lasting: bool
    """Whether it stays active until healed; ``for:`` heals it after a time."""
    heals: str
    """Effect of healing; empty if there is nothing to heal."""
    glyph: str
    colour: str
    cause: str
    """Real-world causes that the fault represents."""
    may_break: str
    """Failures that an operator may observe."""
    behaviour: Behaviour = field(repr=False, compare=False)
    """Implementation that applies and heals the fault."""
    default_duration_us: int = -1
    """Duration when one key injects it, in microseconds; -1: until healed."""
    target: str = ""
    """Default target; empty: a target must be given."""
    example: str = ""
    """A target for examples in the documentation; empty: :attr:`target`, or one of the accepted kind."""
    mode: str = ""
    """``kraft`` or ``zookeeper`` if the fault only applies in one mode."""
    at_least: int = 1
    """Minimum number of nodes; if more than one, a key uses :attr:`target`, not the node under the cursor."""
    aliases: tuple[Alias, ...] = ()
    """Other unambiguous names."""

    def param(self, name: str) -> Param | None:
        """Return the parameter with this name or earlier name, or None."""
        return next((param for param in self.params if name and name in (param.name, param.old)), None)


class DeclarationError(Exception):
    """The declaration of a fault or an operation is invalid or conflicts with another one."""


def table(*faults: Fault) -> dict[str, Fault]:
    """Return the faults by name.

    Raises:
        DeclarationError: Two faults have the same name.
    """
    faults_by_name: dict[str, Fault] = {}
    for fault in faults:
        if fault.name in faults_by_name:
            titles = f"{faults_by_name[fault.name].title!r} and {fault.title!r}"
            raise DeclarationError(
                f"found the name {fault.name!r} on two faults, {titles}; a fault's name must be unique"
            )
        faults_by_name[fault.name] = fault
    return faults_by_name
