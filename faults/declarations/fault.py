"""What a fault is: its declaration, the behaviour that goes with it, and an action that injects it.

A declaration says everything that a screen, a playbook, a page of documentation or a person at a prompt needs; the
behaviour beside it does it to a live cluster, undoes it, and tells what it would do now.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import CodedError

# An action: a playbook step and a key press become the same plain value.


Verb = Literal["inject", "heal", "admin", "wire"]
Value = int | str | bool | tuple[Any, ...]
"""Tuples are lists of brokers or keys, placements, and configurations as (key, value) pairs."""


@dataclass(frozen=True, slots=True)
class Action:
    """A verb, what it names, the target selector as text, and parameters in model units (times in microseconds).

    ``inject`` names a fault of the catalogue; ``heal`` names a fault, a fault's number or ``all``; ``admin`` names an
    operation of the administrator (``elect_leaders``). ``for_us`` is how long a fault lasts, -1 until healed.
    """

    verb: Verb
    name: str
    target: str = ""
    params: dict[str, Value] = field(default_factory=dict)
    for_us: int = -1
    if_any: bool = False
    """Whether an injection that finds nobody to strike is skipped, and not refused."""


ParamType = Literal[
    "duration", "int", "bool", "choice", "target", "percent", "size", "throughput",
    "topic", "new topic", "partition", "broker", "brokers", "placement",
    "topic config", "broker config", "topic keys", "broker keys", "text", "group", "scopes", "offset lines",
]  # fmt: skip
"""How a value is written. A duration is in microseconds, a percentage in millionths (``1%`` is 10 000), a size in
bytes, a throughput in bytes per second. A list of brokers or of keys is a tuple, a placement a tuple of those, and
configurations are a tuple of (key, value) pairs. Scopes are topics, ``orders`` or only some partitions, ``orders:0,2``;
offset lines are those of a file, ``orders,0,120``."""

MS: Final = 1_000
SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
PERCENT: Final = 10_000
"""Millionths of one percent."""

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
    "nodes": "everybody, the administrator's client among them",
}
"""Kinds of targets, with who they are."""

Family = Literal["processes", "links", "disks", "control plane", "clients"]
FAMILIES: Final[tuple[Family, ...]] = ("processes", "links", "disks", "control plane", "clients")
"""In the order in which sheets and tables show them."""


class FaultError(CodedError):
    """A fault cannot be done to this target now; ``code`` names the reason, the message is a sentence for a person."""


class NobodyError(FaultError):
    """Its target, or the other side that it names, is nobody at this instant."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter; ``default`` None: it must be given, or is decided when applied. Units are the type's."""

    name: str
    type: ParamType
    doc: str
    default: Value | None = None
    low: int = 0
    high: int = HOUR
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a fault or an operation, as other tools have it. Sessions and traces carry the true one."""

    name: str
    accepts: str = ""
    """One of :data:`ACCEPTS` where the name says whom it can be done to, fewer than the fault itself."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a fault is about to strike: nodes, all its parameters, and, where it is about links, those."""

    nodes: tuple[int, ...]
    params: Mapping[str, Any]
    links: tuple[tuple[int, int], ...] = ()
    """(source, target), each one direction."""
    for_us: int = -1
    """How long it is to last; -1 until healed."""


@dataclass(slots=True)
class Injury:
    """A fault that was injected; one that lasts stays on the board until it is healed.

    ``memo`` is the behaviour's own, by name; all that it holds are plain values (whole numbers, texts, tuples of them).
    """

    id: int
    fault: str
    nodes: tuple[int, ...]
    params: dict[str, Any]
    links: tuple[tuple[int, int], ...]
    since_us: int
    until_us: int
    """-1 when it lasts until healed."""
    detail: str
    memo: dict[str, Any] = field(default_factory=dict)

    def save(self) -> tuple[Any, ...]:
        """All state as plain values."""
        params, memo = tuple(self.params.items()), tuple(self.memo.items())
        return (
            self.id, self.fault, self.nodes, params, self.links, self.since_us, self.until_us, self.detail, memo,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Injury":
        """Undo of :meth:`save`."""
        number, fault, nodes, params, links, since_us, until_us, detail, memo = saved
        return cls(number, fault, nodes, dict(params), links, since_us, until_us, detail, dict(memo))


@dataclass(frozen=True, slots=True)
class ExpectedImpact:
    """What a fault is expected to do now: a sentence, and what it would hit, by name."""

    sentence: str
    leaders_moved: tuple[str, ...] = ()
    """Partitions that would get another leader."""
    offline: tuple[str, ...] = ()
    """Partitions that would be left without one."""
    under_min_isr: tuple[str, ...] = ()
    """Partitions that would refuse acks=all for want of in-sync replicas."""
    clients: tuple[str, ...] = ()
    """Producers and members of groups that would notice."""
    shrunk: tuple[str, ...] = ()
    """Partitions whose ISR would get smaller, and have a leader."""
    groups: tuple[str, ...] = ()
    """Groups whose coordinator would move, or be missing."""
    transactional: tuple[str, ...] = ()
    """Producers whose transaction coordinator would."""
    down: tuple[int, ...] = ()
    """Brokers that would be dead, paused, or cut off from the controller."""
    controller_moves: bool = False
    """Whether another node would have to be the controller."""
    quorum_lost: bool = False
    """Whether nothing could be decided any more: no majority of the quorum or the ensemble is left."""


class FaultContext(Protocol):
    """What behaviours act by. It is the board, seen from below."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that suffers."""
        ...

    def targets(self, text: str) -> tuple[int, ...]:
        """Nodes that a selector means now; raises :class:`FaultError`."""
        ...

    def wake(self, injury: Injury, after_us: int) -> None:
        """Have the behaviour's ``woken`` called, unless the fault is healed by then."""
        ...

    def pause(self, injury: Injury, node: int) -> None:
        """Stop a process without its noticing; it stays stopped as long as any fault holds it."""
        ...

    def unpause(self, injury: Injury, node: int) -> None:
        """Undo :meth:`pause` of that fault."""
        ...

    def take_away(self, node: int) -> None:
        """A process is about to end: what held or was ending it is over, faults of that kind are healed for it."""
        ...

    def restart(self, node: int) -> None:
        """Start a process that is down: the faults that had ended it are healed for it."""
        ...

    def end(self, injury: Injury) -> None:
        """A lasting fault is over by itself; nothing is undone."""
        ...


class Behaviour(ABC):
    """What a fault does. It keeps no state of its own: what it must remember is in the injury's memo."""

    ends_process: bool = False
    """Whether its targets are down while it lasts: a restart heals it for the node."""
    holds_process: bool = False
    """Whether it holds processes that run: the end of the process heals it for the node."""

    def ends(self, injury: Injury) -> bool:
        """:attr:`ends_process` of one injury, where it depends on its parameters."""
        del injury
        return self.ends_process

    def holds(self, injury: Injury) -> bool:
        """:attr:`holds_process` likewise."""
        del injury
        return self.holds_process

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Settle what is struck, links for instance; raises :class:`FaultError` where nothing can be."""
        del stage
        return aim

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Refuse with :class:`FaultError` what cannot be done now; nothing has happened yet."""
        del stage, aim

    @abstractmethod
    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Do it."""

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Undo it; the fault is off the board already. What does not last is never healed."""
        del stage, injury

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """A time that was asked for by :meth:`FaultContext.wake` has come."""
        del stage, injury

    @abstractmethod
    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What it would do now."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the catalogue."""

    name: str
    letter: str
    """Its key on the screen, after ``f``."""
    title: str
    family: Family
    summary: str
    """What it does to its target, in one sentence."""
    params: tuple[Param, ...]
    accepts: str
    """Whom it can be done to, one of :data:`ACCEPTS`."""
    lasting: bool
    """Whether it stays until healed; ``for:`` heals it after a time."""
    heals: str
    """What healing does; empty where there is nothing to heal."""
    glyph: str
    colour: str
    cause: str
    """The real-world causes that it stands for."""
    may_break: str
    """What an operator may see break."""
    behaviour: Behaviour = field(repr=False, compare=False)
    """What applies and heals it."""
    usual_for_us: int = -1
    """How long it lasts when one key injects it; -1: until healed."""
    target: str = ""
    """Whom it strikes where nobody is named; empty: somebody must be."""
    example: str = ""
    """A target that makes sense in documentation; empty: :attr:`target`, or one for its kind of targets."""
    mode: str = ""
    """``kraft`` or ``zookeeper`` where only one has what it breaks."""
    at_least: int = 1
    """How many nodes it takes; where more than one, a key strikes :attr:`target` and not the node under the cursor."""
    aliases: tuple[Alias, ...] = ()
    """What else it is called, where that is unambiguous."""

    def param(self, name: str) -> Param | None:
        """A parameter by name."""
        return next((param for param in self.params if param.name == name), None)


class DeclarationError(Exception):
    """A fault or an operation is declared in a way that cannot be, or that contradicts another declaration."""


def table(*faults: Fault) -> dict[str, Fault]:
    """Faults by name.

    Raises:
        DeclarationError: two of them have one name.
    """
    found: dict[str, Fault] = {}
    for fault in faults:
        if fault.name in found:
            raise DeclarationError(
                f"found the name {fault.name!r} of two faults, {found[fault.name].title!r} and {fault.title!r}; "
                "allowed is a name that no other fault has"
            )
        found[fault.name] = fault
    return found
