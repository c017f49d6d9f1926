"""Target selectors: their language, such as ``all - broker(1)``, and what each finds in a live cluster.

Selectors look at everything, as an operator would; the model's own nodes never do. They are resolved at the moment
their fault strikes.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cluster_model.clients import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.external_clients import NAME, OUTSIDE
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec import FIRST_CONTROLLER, FIRST_ZOOKEEPER, OFFSETS, TRANSACTIONS, coordinator_partition
from faults.declarations.fault import Action, Aim, Fault, FaultContext, FaultError, Param

# The language of target selectors: ``leader(orders-0)``, ``all - broker(1)``, ``random(2, isr(orders-0) & rack(a))``.
#
# A selector is read once, from text to a tree; what it means is found out where it is resolved against a live cluster.
#
# ``&`` binds closer than ``+`` and ``-``, which go from left to right; brackets say otherwise. Names may hold dashes,
# as partitions do, so ``-`` takes away only where it stands by itself between blanks.


_TOKEN: Final = re.compile(r"\s*([A-Za-z0-9._/-]+|[(),+&])")

_LONGEST: Final = 1_000
"""Characters of a selector."""
_DEEPEST: Final = 100
"""Brackets within brackets: what is nested deeper than that was not meant."""

JOIN: Final = "+"
WITHOUT: Final = "-"
COMMON: Final = "&"
OPERATORS: Final = (JOIN, WITHOUT, COMMON)
"""Kinds of selectors that are made of others."""
LINK: Final = "link"
"""Kind of the selector that names two sides, for faults of links."""

PARTITION_SELECTORS: Final = ("leader", "follower", "followers", "isr", "replica", "replicas")
SELECTORS: Final = {
    "leader": "leader(PARTITION): the broker that leads by the controller's word",
    "follower": "follower(PARTITION): one of its other replicas, drawn by the session's seed among those that are up",
    "followers": "followers(PARTITION): all its other replicas",
    "isr": "isr(PARTITION): its in-sync replicas, the leader among them",
    "replica": (
        "replica(PARTITION, longest|shortest): the one that is up with the longest or shortest log; of equal ones the "
        "first in the partition's assignment"
    ),
    "replicas": "replicas(PARTITION): everybody who holds it",
    "controller": "controller: the active controller; controller(ID): one node of the KRaft quorum, active or not",
    "controllers": "controllers: every node that is or may become the controller; in ZooKeeper mode every broker",
    "zookeeper": "zookeeper(N): one server of the ZooKeeper ensemble, from 1",
    "zookeepers": "zookeepers: every server of the ZooKeeper ensemble",
    "coordinator": "coordinator(GROUP): the broker that leads the group's partition of __consumer_offsets",
    "transaction_coordinator": (
        "transaction_coordinator(PRODUCER): the broker that leads its transactional.id's part of __transaction_state"
    ),
    "broker": "broker(ID): one broker",
    "rack": "rack(NAME): all brokers of a rack",
    "client": "client(NAME): a producer, a member of a group as in billing/0, or admin",
    "members": "members(GROUP): every member of a group",
    "random": "random(N, SELECTOR): N of those, drawn by the session's seed; random(SELECTOR) draws one",
    "majority": "majority(SELECTOR): more than half of those, as few as that takes, drawn; majority: of all brokers",
    "minority": "minority(SELECTOR): less than half of those, as many as that allows, drawn; minority: of all brokers",
    LINK: "link(SELECTOR, SELECTOR): what connects the two sides, for faults of links: the second side is their to",
    "clients": "clients: every producer and every member of a group",
    "producers": "producers: every producer",
    "consumers": "consumers: every member of a group",
    "brokers": "brokers: every broker",
    "all": "all: every broker",
    JOIN: "SELECTOR + SELECTOR: everybody of either",
    WITHOUT: "SELECTOR - SELECTOR: those of the first who are not of the second; with blanks around the -",
    COMMON: "SELECTOR & SELECTOR: who is of both; it binds closer than + and -, and ( ) closest",
}
"""Selector → how it is written and what it means."""
BARE: Final = (
    "all", "brokers", "clients", "producers", "consumers", "controller", "controllers", "zookeepers",
    "majority", "minority",
)  # fmt: skip
"""Selectors that are one word; those of :data:`EITHER` may take something in brackets, all others must."""
EITHER: Final = ("controller", "majority", "minority")
NUMBERED: Final = ("broker", "controller", "zookeeper")
"""Selectors whose argument is a number."""
CONTROL_SELECTORS: Final = ("controller", "controllers", "zookeeper", "zookeepers")
"""Selectors of the control plane's nodes."""
OF_OTHERS: Final = ("random", "majority", "minority")
"""Selectors that draw from another one."""
LENGTHS: Final = ("longest", "shortest")
FIXED: Final = (
    "broker", "brokers", "all", "rack", "client", "clients", "producers", "consumers", "members", "controllers",
    "zookeeper", "zookeepers",
)  # fmt: skip
"""Selectors that mean the same whenever they are asked."""


class SelectorError(CodedError):
    """A selector that cannot be read or finds nothing; ``column`` counts from 0 within its text.

    ``code`` names the reason in a word or two.
    """

    def __init__(self, message: str, column: int = 0, *, code: str) -> None:
        super().__init__(message, code=code)
        self.column = column


class NobodyFoundError(SelectorError):
    """A sound selector that means nobody at this instant."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A parsed selector: its kind, one plain argument, what it draws from, and what it is made of."""

    kind: str
    argument: str = ""
    count: int = 1
    inner: "Selector | None" = None
    parts: tuple["Selector", ...] = ()
    choice: str = ""
    """``longest`` or ``shortest``."""
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """As it would be written."""
        if self.kind == LINK:
            return f"{LINK}({self.parts[0]}, {self.parts[1]})"
        if self.kind in OPERATORS:
            return f" {self.kind} ".join(_bracketed(part, self.kind, place) for place, part in enumerate(self.parts))
        if self.inner is not None:
            count = f"{self.count}, " if self.kind == "random" else ""
            return f"{self.kind}({count}{self.inner})"
        said = ", ".join(filter(None, (self.argument, self.choice)))
        return f"{self.kind}({said})" if said else self.kind

    @property
    def fixed(self) -> bool:
        """Whether it means the same whenever it is asked."""
        if self.parts:
            return all(part.fixed for part in self.parts)
        return self.kind in FIXED or (self.kind == "controller" and bool(self.argument))


def _bracketed(part: Selector, operator: str, place: int) -> str:
    """A part of an operator's, in brackets where it would be read otherwise."""
    needed = part.kind in (JOIN, WITHOUT) and (operator == COMMON or place > 0)
    return f"({part})" if needed or (part.kind == operator == COMMON and place > 0) else str(part)


def parse(text: str) -> Selector:
    """Read a selector.

    Raises:
        SelectorError: with the place and what is allowed.
    """
    if len(text) > _LONGEST:
        raise SelectorError(f"a target of {len(text)} characters; {_LONGEST} are allowed", _LONGEST, code="too_long")
    tokens = _tokens(text)
    selector, rest = _link(tokens) if tokens[0][0] == LINK else _sum(tokens, 0)
    if rest < len(tokens):
        word, column = tokens[rest]
        told = f"; {BLANKS}" if word.startswith(WITHOUT) else ""
        raise SelectorError(f"nothing may follow the selector, found {word!r}{told}", column, code="word_too_many")
    return selector


BLANKS: Final = "a - that takes away stands between blanks"
_KINDS: Final = ", ".join(kind for kind in SELECTORS if kind not in OPERATORS)


def _tokens(text: str) -> list[tuple[str, int]]:
    tokens: list[tuple[str, int]] = []
    at = depth = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            wrong = len(text) - len(text[at:].lstrip())
            raise SelectorError(f"unexpected character {text[wrong]!r}", wrong, code="unexpected_character")
        word = match.group(1)
        depth += (word == "(") - (word == ")")
        if depth > _DEEPEST:
            raise SelectorError(f"brackets in brackets, more than {_DEEPEST} deep", match.start(1), code="too_deep")
        tokens.append((word, match.start(1)))
        at = match.end()
    if not tokens:
        raise SelectorError(f"empty; a target is one of {_KINDS}", code="empty")
    return tokens


def _sum(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    """Selectors joined and taken away, from left to right."""
    found, at = _product(tokens, at)
    while at < len(tokens) and tokens[at][0] in (JOIN, WITHOUT):
        operator = tokens[at][0]
        part, at = _product(tokens, _operand(tokens, at + 1, SELECTORS[operator]))
        found = _made(operator, found, part)
    return found, at


def _product(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    found, at = _selector(tokens, at)
    while at < len(tokens) and tokens[at][0] == COMMON:
        part, at = _selector(tokens, _operand(tokens, at + 1, SELECTORS[COMMON]))
        found = _made(COMMON, found, part)
    return found, at


def _made(operator: str, found: Selector, part: Selector) -> Selector:
    """One selector of two; a row of one operator is one selector of many."""
    before = found.parts if found.kind == operator else (found,)
    return Selector(operator, parts=(*before, part), column=before[0].column)


def _selector(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    kind, column = tokens[at]
    if kind == "(":
        found, at = _sum(tokens, _operand(tokens, at + 1, "( SELECTOR )"))
        return found, _expect(tokens, at, ")", "( SELECTOR )")
    if kind.isdigit():
        return Selector("broker", kind, column=column), at + 1
    if kind == LINK:
        raise SelectorError(f"{LINK} is a target by itself, nothing to combine", column, code="link_combined")
    if kind not in SELECTORS or kind in OPERATORS:
        raise SelectorError(
            f"unknown target {kind!r}{_hint(kind)}; a target is one of {_KINDS}", column, code="unknown_target"
        )
    if kind in BARE and not (kind in EITHER and at + 1 < len(tokens) and tokens[at + 1][0] == "("):
        return Selector(kind, column=column), at + 1
    at = _expect(tokens, at + 1, "(", SELECTORS[kind])
    if kind in OF_OTHERS:
        return _of_others(kind, tokens, at, column)
    argument, where = _word(tokens, at, SELECTORS[kind])
    if kind in NUMBERED and not argument.isdigit():
        raise SelectorError(f"{kind} takes a number, found {argument!r}", where, code="not_a_number")
    choice = ""
    if kind == "replica":
        at = _expect(tokens, at + 1, ",", SELECTORS[kind])
        choice, place = _word(tokens, at, SELECTORS[kind])
        if choice not in LENGTHS:
            raise SelectorError(f"{kind} takes {' or '.join(LENGTHS)}, found {choice!r}", place, code="not_a_choice")
    return Selector(kind, argument, choice=choice, column=where), _expect(tokens, at + 1, ")", SELECTORS[kind])


def _hint(word: str) -> str:
    if word.startswith(WITHOUT):
        return f"; {BLANKS}"
    near = difflib.get_close_matches(word, [kind for kind in SELECTORS if kind not in OPERATORS], n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _of_others(kind: str, tokens: list[tuple[str, int]], at: int, column: int) -> tuple[Selector, int]:
    count = 1
    if kind == "random" and at + 1 < len(tokens) and tokens[at][0].isdigit() and tokens[at + 1][0] == ",":
        count = int(tokens[at][0])
        at += 2
    inner, at = _sum(tokens, _operand(tokens, at, SELECTORS[kind]))
    return Selector(kind, "", count, inner, column=column), _expect(tokens, at, ")", SELECTORS[kind])


def _link(tokens: list[tuple[str, int]]) -> tuple[Selector, int]:
    usage = SELECTORS[LINK]
    one, at = _sum(tokens, _operand(tokens, _expect(tokens, 1, "(", usage), usage))
    other, at = _sum(tokens, _operand(tokens, _expect(tokens, at, ",", usage), usage))
    return Selector(LINK, parts=(one, other), column=tokens[0][1]), _expect(tokens, at, ")", usage)


def _expect(tokens: list[tuple[str, int]], at: int, wanted: str, usage: str) -> int:
    if at >= len(tokens) or tokens[at][0] != wanted:
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"expected {wanted!r}; write {usage}", column, code="unexpected_word")
    return at + 1


def _word(tokens: list[tuple[str, int]], at: int, usage: str) -> tuple[str, int]:
    """The name that must stand here."""
    if at >= len(tokens) or tokens[at][0] in "(),+&":
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"something is missing; write {usage}", column, code="incomplete")
    return tokens[at]


def _operand(tokens: list[tuple[str, int]], at: int, usage: str) -> int:
    """Where a selector must begin."""
    if at >= len(tokens) or tokens[at][0] != "(":
        word, column = _word(tokens, at, usage)
        if word == WITHOUT:
            raise SelectorError(f"something is missing; write {usage}", column, code="incomplete")
    return at


# What a target selector finds in a live cluster: nodes, links between them, and which kinds of targets there are.


TARGETS: Final = "targets"
"""The random stream that draws among candidates."""


def selector_of(node: int, client: str = "") -> str:
    """How a broker, a node of the control plane, or the ``client`` of that name, is written as a target."""
    if client:
        return f"client({client})"
    if node >= FIRST_ZOOKEEPER:
        return f"zookeeper({node - FIRST_ZOOKEEPER + 1})"
    return f"controller({node})" if node >= FIRST_CONTROLLER - 1 else f"broker({node})"


def resolve(text: str, cluster: Cluster) -> list[int]:
    """Ids of the nodes that a selector means now, in a stable order.

    Raises:
        NobodyFoundError: there is nobody to be found now.
        SelectorError: an unknown name, or two sides where nodes are wanted.
    """
    selector = parse(text)
    if selector.kind == LINK:
        raise SelectorError(
            "it has two sides: it is a target for faults of links, by itself", selector.column, code="two_sides"
        )
    found = _resolve(selector, cluster)
    if not found:
        raise NobodyFoundError(f"{text} means nobody right now", selector.column, code="nobody")
    return found


def _resolve(selector: Selector, cluster: Cluster) -> list[int]:
    return _RESOLVERS[selector.kind](selector, cluster)


# -- made of others -------------------------------------------------------------------------------------------------


def _joined(selector: Selector, cluster: Cluster) -> list[int]:
    return list(dict.fromkeys(node for part in selector.parts for node in _resolve(part, cluster)))


def _without(selector: Selector, cluster: Cluster) -> list[int]:
    first, *others = [_resolve(part, cluster) for part in selector.parts]
    return [node for node in first if not any(node in other for other in others)]


def _common(selector: Selector, cluster: Cluster) -> list[int]:
    first, *others = [_resolve(part, cluster) for part in selector.parts]
    return [node for node in first if all(node in other for other in others)]


def _random(selector: Selector, cluster: Cluster) -> list[int]:
    return _draw(_drawn_from(selector, cluster), selector.count, cluster)


def _majority(selector: Selector, cluster: Cluster) -> list[int]:
    of = _drawn_from(selector, cluster)
    return _draw(of, len(of) // 2 + 1, cluster) if of else []


def _minority(selector: Selector, cluster: Cluster) -> list[int]:
    of = _drawn_from(selector, cluster)
    return _draw(of, (len(of) - 1) // 2, cluster) if of else []


def _drawn_from(selector: Selector, cluster: Cluster) -> list[int]:
    return list(cluster.brokers) if selector.inner is None else _resolve(selector.inner, cluster)


def _draw(candidates: list[int], count: int, cluster: Cluster) -> list[int]:
    stream = cluster.stream(TARGETS)
    left = list(candidates)
    drawn = [left.pop(stream.below(len(left))) for _turn in range(min(count, len(left)))]
    return [candidate for candidate in candidates if candidate in drawn]


# -- brokers and clients --------------------------------------------------------------------------------------------


def _brokers(selector: Selector, cluster: Cluster) -> list[int]:
    del selector
    return list(cluster.brokers)


def _broker(selector: Selector, cluster: Cluster) -> list[int]:
    return _one_of(int(selector.argument), list(cluster.brokers), "broker", selector)


def _rack(selector: Selector, cluster: Cluster) -> list[int]:
    found = [broker.id for broker in cluster.spec.brokers if broker.rack == selector.argument]
    if not found:
        racks = sorted({broker.rack for broker in cluster.spec.brokers if broker.rack})
        raise SelectorError(f"no rack {selector.argument!r}; there are {racks}", selector.column, code="no_rack")
    return found


def _client(selector: Selector, cluster: Cluster) -> list[int]:
    clients = {name: node for node, name in cluster.clients.names.items()} | {cluster.name_of(ADMIN): ADMIN}
    if cluster.outside.is_open:
        clients[NAME] = OUTSIDE
    if selector.argument not in clients:
        raise SelectorError(
            f"no client {selector.argument!r}; there are {list(clients)}", selector.column, code="no_client"
        )
    return [clients[selector.argument]]


def _clients(selector: Selector, cluster: Cluster) -> list[int]:
    who: dict[str, Collection[str]] = {"producers": cluster.producers, "consumers": cluster.consumers}
    return [node for node, name in cluster.clients.names.items() if name in who.get(selector.kind, (name,))]


# -- the control plane ----------------------------------------------------------------------------------------------


def _of_control_plane(selector: Selector, cluster: Cluster) -> list[int]:
    kind, argument = selector.kind, selector.argument
    if kind == "controllers":
        return list(cluster.plane.controllers())
    if kind == "controller":
        if not argument:
            active = cluster.plane.active()
            return [] if active == NOBODY else [active]
        return _one_of(int(argument), cluster.plane.controllers(), "controller", selector)
    servers = [node for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER]
    if not servers:
        raise SelectorError("there is no ZooKeeper in KRaft mode", selector.column, code="no_zookeeper")
    if kind == "zookeepers":
        return servers
    numbers = [node - FIRST_ZOOKEEPER + 1 for node in servers]
    return [_one_of(int(argument), numbers, "ZooKeeper server", selector)[0] + FIRST_ZOOKEEPER - 1]


def _one_of(number: int, known: Sequence[int], what: str, selector: Selector) -> list[int]:
    if number not in known:
        raise SelectorError(
            f"no {what} {number}; there are {list(known)}", selector.column, code=f"no_{what.lower().replace(' ', '_')}"
        )
    return [number]


def _members(selector: Selector, cluster: Cluster) -> list[int]:
    group = selector.argument
    known = [spec.name for spec in cluster.spec.groups]
    if group not in known:
        raise SelectorError(f"no group {group!r}; there are {known}", selector.column, code="no_group")
    consumers = cluster.consumers
    return [
        node for node, name in cluster.clients.names.items() if name in consumers and consumers[name].group == group
    ]


# -- partitions and groups ------------------------------------------------------------------------------------------


def _of_partition(selector: Selector, cluster: Cluster) -> list[int]:
    record = cluster.world.records.get(selector.argument)
    if record is None:
        known = ", ".join(cluster.world.records)
        raise SelectorError(
            f"no partition {selector.argument!r}; there are {known}", selector.column, code="no_partition"
        )
    followers = [broker for broker in record.assignment if broker != record.leader]
    if selector.kind == "leader":
        return [record.leader] if record.leader >= 0 else []
    if selector.kind == "followers":
        return followers
    if selector.kind == "follower":
        return _draw(_rather_up(followers, cluster), 1, cluster)
    if selector.kind == "isr":
        return [broker for broker in record.assignment if broker in record.isr]
    if selector.kind == "replica":
        return _by_length(selector, _rather_up(record.assignment, cluster), cluster)
    return list(record.assignment)


def _rather_up(brokers: Sequence[int], cluster: Cluster) -> list[int]:
    """Those whose process is up, or all of them where none is."""
    return [broker for broker in brokers if cluster.is_up(broker)] or list(brokers)


def _by_length(selector: Selector, brokers: list[int], cluster: Cluster) -> list[int]:
    """By the end of its log; of equal ones the first."""
    ends = [cluster.query.leo(selector.argument, broker) for broker in brokers]
    wanted = max(ends) if selector.choice == "longest" else min(ends)
    return [brokers[ends.index(wanted)]]


def _coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """By Java's hash of the group's id, as many partitions as the topic has now (``GroupMetadataManager``)."""
    group = selector.argument
    known = list(dict.fromkeys([*(spec.name for spec in cluster.spec.groups), *cluster.outside.groups]))
    if group not in known:
        raise SelectorError(f"no group {group!r}; there are {known}", selector.column, code="no_group")
    leader = _leader_of(OFFSETS, group, cluster)
    if leader is None:
        why = f"there is no topic {OFFSETS}, which needs offsets.topic.replication.factor brokers"
        raise NobodyFoundError(f"group {group!r} has no coordinator: {why}", selector.column, code="no_coordinator")
    return [] if leader == NOBODY else [leader]


def _transaction_coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """The same of a transactional id (``TransactionStateManager.partitionFor``)."""
    name = selector.argument
    ids = {each.name: str(each.config.get("transactional.id", "")) for each in cluster.spec.producers}
    ids.update(cluster.outside.manners.transactional_ids)
    if not ids.get(name):
        known = [producer for producer, whose in ids.items() if whose]
        raise SelectorError(
            f"no producer {name!r} with a transactional.id; there are {known}",
            selector.column,
            code="no_transactional_producer",
        )
    leader = _leader_of(TRANSACTIONS, ids[name], cluster)
    if leader is None:
        why = f"there is no topic {TRANSACTIONS}, which needs transaction.state.log.replication.factor brokers"
        raise NobodyFoundError(f"producer {name!r} has no coordinator: {why}", selector.column, code="no_coordinator")
    return [] if leader == NOBODY else [leader]


def _leader_of(topic: str, key: str, cluster: Cluster) -> int | None:
    """Who leads a key's partition of an internal topic, None where there is no such topic."""
    partitions = sum(name.rpartition("-")[0] == topic for name in cluster.world.records)
    return cluster.query.leader(f"{topic}-{coordinator_partition(key, partitions)}") if partitions else None


_RESOLVERS: Final[Mapping[str, Callable[[Selector, Cluster], list[int]]]] = {
    JOIN: _joined,
    WITHOUT: _without,
    COMMON: _common,
    "random": _random,
    "majority": _majority,
    "minority": _minority,
    "all": _brokers,
    "brokers": _brokers,
    "broker": _broker,
    "rack": _rack,
    "client": _client,
    **dict.fromkeys(("clients", "producers", "consumers"), _clients),
    "members": _members,
    **dict.fromkeys(CONTROL_SELECTORS, _of_control_plane),
    "coordinator": _coordinator,
    "transaction_coordinator": _transaction_coordinator,
    **dict.fromkeys(PARTITION_SELECTORS, _of_partition),
}


# Which links a fault of the network is about: between its target and another side, one way or both.


DIRECTION: Final = Param(
    "direction",
    "choice",
    "Which way is struck: out of the target, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def between(nodes: Sequence[int], others: Sequence[int], direction: str) -> tuple[tuple[int, int], ...]:
    """(source, target) of each link between the two sides, once each, in a stable order."""
    found: dict[tuple[int, int], None] = {}
    for node in nodes:
        for other in others:
            if other != node:
                if direction in ("both", "out"):
                    found[node, other] = None
                if direction in ("both", "in"):
                    found[other, node] = None
    return tuple(found)


def links_of(stage: FaultContext, aim: Aim, fault: str, *, others_only: bool = False) -> Aim:
    """The aim with its links, by its parameters ``to`` and ``direction``; without the latter, both ways.

    ``others_only``: without ``to``, links among the targets themselves are left alone.

    Raises:
        FaultError: there is no link between the two sides.
    """
    if aim.params["to"]:
        others = stage.targets(str(aim.params["to"]))
    else:
        others = stage.cluster.nodes()
        if others_only:
            others = tuple(other for other in others if other not in aim.nodes)
    found = between(aim.nodes, others, str(aim.params.get("direction", "both")))
    if not found:
        raise FaultError(f"{fault} needs two different ends, found only one", code="one_end")
    return Aim(aim.nodes, aim.params, found)


# A target with two sides, ``link(A, B)``: for a fault of links that stands for target A, and B on the other side.


OTHER_SIDE = "to"
"""The parameter of faults of links that names the other side."""


def two_sided(fault: Fault, action: Action) -> Action:
    """The action with its two sides apart; the same one where its target has only one.

    Raises:
        FaultError: the fault is for nodes, or the other side is named twice.
    """
    try:
        selector = parse(action.target) if action.target else None
    except SelectorError as error:
        raise FaultError(f"target {action.target!r}: {error}", code=error.code) from None
    if selector is None or selector.kind != LINK:
        return action
    if fault.param(OTHER_SIDE) is None:
        raise FaultError(f"{fault.title} affects nodes, not links: found {action.target!r}", code="not_for_links")
    if action.params.get(OTHER_SIDE):
        raise FaultError(
            f"{action.target!r} names both sides, so that {OTHER_SIDE} has nothing to say", code="other_side_twice"
        )
    one, other = map(str, selector.parts)
    return replace(action, target=one, params={**action.params, OTHER_SIDE: other})


# Kinds of targets that declarations accept.


def fits(accepts: str, node: int, cluster: Cluster) -> bool:
    """Whether a node is of a kind of targets (:data:`faults.declarations.fault.ACCEPTS`)."""
    if accepts == "brokers":
        return node in cluster.brokers
    if accepts == "controllers":
        return node in cluster.plane.controllers()
    if accepts == "plane":
        return node in cluster.plane.servers or node in cluster.plane.controllers()
    name = cluster.clients.names.get(node)
    if accepts == "consumers":
        return name is not None and name in cluster.consumers
    if accepts == "producers":
        return name is not None and name in cluster.producers
    if accepts == "clients":
        return name is not None
    if accepts == "hosts":
        return name is not None or node in cluster.brokers
    return accepts == "nodes" or name is not None or node in cluster.brokers or node in cluster.plane.servers
