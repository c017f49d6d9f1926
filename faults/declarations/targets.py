"""Target selectors: their language, such as ``all - broker(1)``, and their resolution in a live cluster.

Selectors read the whole cluster state, as an operator would; the model's own nodes never do. They are resolved when
their fault is injected.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cluster_model.clients import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.external_clients import EXTERNAL_CLIENTS, NAME
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec import FIRST_CONTROLLER, FIRST_ZOOKEEPER, OFFSETS, TRANSACTIONS, coordinator_partition
from faults.declarations.fault import Action, Fault, FaultContext, FaultError, Param, ResolvedTarget

# The language of target selectors: ``leader(orders-0)``, ``all - broker(1)``, ``random(2, isr(orders-0) & rack(a))``.
#
# A selector is parsed once, from text to a tree, and then resolved against a live cluster.
#
# ``&`` binds tighter than ``+`` and ``-``, which are left-associative; brackets group. Names may contain dashes, as
# partitions do, so ``-`` is an operator only between blanks.


_TOKEN: Final = re.compile(r"\s*([A-Za-z0-9._/-]+|[(),+&])")

_LONGEST: Final = 1_000
"""Maximum length of a selector in characters."""
_DEEPEST: Final = 100
"""Maximum nesting depth of brackets."""

UNION: Final = "+"
DIFFERENCE: Final = "-"
INTERSECTION: Final = "&"
OPERATORS: Final = (UNION, DIFFERENCE, INTERSECTION)
"""Kinds of selectors that combine others."""
LINK: Final = "link"
"""Kind of the selector with two sides, for link faults."""

PARTITION_SELECTORS: Final = ("leader", "follower", "followers", "isr", "replica", "replicas")
SELECTORS: Final = {
    "leader": "leader(PARTITION): the leader according to the controller",
    "follower": "follower(PARTITION): one of the other replicas, chosen at random among those that are up",
    "followers": "followers(PARTITION): all other replicas",
    "isr": "isr(PARTITION): the in-sync replicas, including the leader",
    "replica": (
        "replica(PARTITION, longest|shortest): the replica that is up with the longest or shortest log; on a tie the "
        "first in the partition's assignment"
    ),
    "replicas": "replicas(PARTITION): all replicas",
    "controller": "controller: the active controller; controller(ID): one node of the KRaft quorum, active or not",
    "controllers": "controllers: every node that is or may become the controller; in ZooKeeper mode every broker",
    "zookeeper": "zookeeper(N): one server of the ZooKeeper ensemble, numbered from 1",
    "zookeepers": "zookeepers: every server of the ZooKeeper ensemble",
    "coordinator": "coordinator(GROUP): the broker that leads the group's partition of __consumer_offsets",
    "transaction_coordinator": (
        "transaction_coordinator(PRODUCER): the broker that leads its partition of __transaction_state"
    ),
    "broker": "broker(ID): one broker",
    "rack": "rack(NAME): all brokers of a rack",
    "client": "client(NAME): a producer, a group member such as billing/0, or admin",
    "members": "members(GROUP): every member of a group",
    "random": "random(N, SELECTOR): N of those nodes, chosen at random (by the seed); random(SELECTOR): one of them",
    "majority": "majority(SELECTOR): a minimal majority of those nodes, chosen at random; majority: of all brokers",
    "minority": "minority(SELECTOR): a maximal minority of those nodes, chosen at random; minority: of all brokers",
    LINK: "link(SELECTOR, SELECTOR): the links between two sides, for link faults; the second side is their 'to'",
    "clients": "clients: every producer and every member of a group",
    "producers": "producers: every producer",
    "consumers": "consumers: every member of a group",
    "brokers": "brokers: every broker",
    "all": "all: every broker",
    UNION: "SELECTOR + SELECTOR: the nodes of both (union)",
    DIFFERENCE: "SELECTOR - SELECTOR: the nodes of the first that are not in the second; write blanks around the -",
    INTERSECTION: "SELECTOR & SELECTOR: the nodes in both (intersection); binds tighter than + and -; ( ) group",
}
"""Selector → its syntax and meaning."""
NO_ARGUMENT: Final = (
    "all", "brokers", "clients", "producers", "consumers", "controller", "controllers", "zookeepers",
    "majority", "minority",
)  # fmt: skip
"""Selectors without an argument; those of :data:`OPTIONAL_ARGUMENT` may have one, all others must."""
OPTIONAL_ARGUMENT: Final = ("controller", "majority", "minority")
NUMBERED: Final = ("broker", "controller", "zookeeper")
"""Selectors whose argument is a number."""
CONTROL_SELECTORS: Final = ("controller", "controllers", "zookeeper", "zookeepers")
"""Selectors of control plane nodes."""
DRAWING_SELECTORS: Final = ("random", "majority", "minority")
"""Selectors that choose nodes of another selector at random."""
LENGTHS: Final = ("longest", "shortest")
FIXED: Final = (
    "broker", "brokers", "all", "rack", "client", "clients", "producers", "consumers", "members", "controllers",
    "zookeeper", "zookeepers",
)  # fmt: skip
"""Selectors that always resolve to the same nodes."""


class SelectorError(CodedError):
    """A selector that is invalid or resolves to no node; ``column`` counts from 0 within its text.

    ``code`` identifies the reason in a word or two.
    """

    def __init__(self, message: str, column: int = 0, *, code: str) -> None:
        super().__init__(message, code=code)
        self.column = column


class NoMatchError(SelectorError):
    """A valid selector that resolves to no node now."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Parsed selector: its kind, one plain argument, the selector it draws from, and its parts."""

    kind: str
    argument: str = ""
    count: int = 1
    inner: "Selector | None" = None
    parts: tuple["Selector", ...] = ()
    choice: str = ""
    """``longest`` or ``shortest``."""
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """Return the selector as text."""
        if self.kind == LINK:
            return f"{LINK}({self.parts[0]}, {self.parts[1]})"
        if self.kind in OPERATORS:
            return f" {self.kind} ".join(_bracketed(part, self.kind, index) for index, part in enumerate(self.parts))
        if self.inner is not None:
            count = f"{self.count}, " if self.kind == "random" else ""
            return f"{self.kind}({count}{self.inner})"
        arguments = ", ".join(filter(None, (self.argument, self.choice)))
        return f"{self.kind}({arguments})" if arguments else self.kind

    @property
    def fixed(self) -> bool:
        """Whether the selector always resolves to the same nodes."""
        if self.parts:
            return all(part.fixed for part in self.parts)
        return self.kind in FIXED or (self.kind == "controller" and bool(self.argument))


def _bracketed(part: Selector, operator: str, index: int) -> str:
    """Return a part of an operator, in brackets if it would be parsed differently without."""
    needed = part.kind in (UNION, DIFFERENCE) and (operator == INTERSECTION or index > 0)
    return f"({part})" if needed or (part.kind == operator == INTERSECTION and index > 0) else str(part)


def parse(text: str) -> Selector:
    """Parse the text of a selector.

    Raises:
        SelectorError: With the column and what is allowed.
    """
    if len(text) > _LONGEST:
        raise SelectorError(f"the target has {len(text)} characters; {_LONGEST} are allowed", _LONGEST, code="too_long")
    tokens = _tokens(text)
    selector, end = _link(tokens) if tokens[0][0] == LINK else _sum(tokens, 0)
    if end < len(tokens):
        word, column = tokens[end]
        hint = f"; {BLANKS}" if word.startswith(DIFFERENCE) else ""
        raise SelectorError(f"unexpected {word!r} after the selector{hint}", column, code="word_too_many")
    return selector


BLANKS: Final = "write blanks around a - that subtracts"
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
            raise SelectorError(f"brackets are nested more than {_DEEPEST} deep", match.start(1), code="too_deep")
        tokens.append((word, match.start(1)))
        at = match.end()
    if not tokens:
        raise SelectorError(f"it is empty; a target is one of {_KINDS}", code="empty")
    return tokens


def _sum(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    """Parse selectors joined by + and -, left-associative."""
    selector, at = _product(tokens, at)
    while at < len(tokens) and tokens[at][0] in (UNION, DIFFERENCE):
        operator = tokens[at][0]
        part, at = _product(tokens, _operand(tokens, at + 1, SELECTORS[operator]))
        selector = _made(operator, selector, part)
    return selector, at


def _product(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    found, at = _selector(tokens, at)
    while at < len(tokens) and tokens[at][0] == INTERSECTION:
        part, at = _selector(tokens, _operand(tokens, at + 1, SELECTORS[INTERSECTION]))
        found = _made(INTERSECTION, found, part)
    return found, at


def _made(operator: str, selector: Selector, part: Selector) -> Selector:
    """Return the combination of two selectors; repeated use of one operator makes one selector of many parts."""
    before = selector.parts if selector.kind == operator else (selector,)
    return Selector(operator, parts=(*before, part), column=before[0].column)


def _selector(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    kind, column = tokens[at]
    if kind == "(":
        found, at = _sum(tokens, _operand(tokens, at + 1, "( SELECTOR )"))
        return found, _expect(tokens, at, ")", "( SELECTOR )")
    if kind.isdigit():
        return Selector("broker", kind, column=column), at + 1
    if kind == LINK:
        raise SelectorError(f"{LINK} must be the whole target; it cannot be combined", column, code="link_combined")
    if kind not in SELECTORS or kind in OPERATORS:
        raise SelectorError(
            f"unknown target {kind!r}{_hint(kind)}; a target is one of {_KINDS}", column, code="unknown_target"
        )
    if kind in NO_ARGUMENT and not (kind in OPTIONAL_ARGUMENT and at + 1 < len(tokens) and tokens[at + 1][0] == "("):
        return Selector(kind, column=column), at + 1
    at = _expect(tokens, at + 1, "(", SELECTORS[kind])
    if kind in DRAWING_SELECTORS:
        return _of_others(kind, tokens, at, column)
    argument, where = _word(tokens, at, SELECTORS[kind])
    if kind in NUMBERED and not argument.isdigit():
        raise SelectorError(f"{kind} takes a number, found {argument!r}", where, code="not_a_number")
    choice = ""
    if kind == "replica":
        at = _expect(tokens, at + 1, ",", SELECTORS[kind])
        choice, column_of_choice = _word(tokens, at, SELECTORS[kind])
        if choice not in LENGTHS:
            raise SelectorError(
                f"{kind} takes {' or '.join(LENGTHS)}, found {choice!r}", column_of_choice, code="not_a_choice"
            )
    return Selector(kind, argument, choice=choice, column=where), _expect(tokens, at + 1, ")", SELECTORS[kind])


def _hint(word: str) -> str:
    if word.startswith(DIFFERENCE):
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
    """Return the name at this position."""
    if at >= len(tokens) or tokens[at][0] in "(),+&":
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"an argument is missing; write {usage}", column, code="incomplete")
    return tokens[at]


def _operand(tokens: list[tuple[str, int]], at: int, usage: str) -> int:
    """Return the position, where a selector must begin."""
    if at >= len(tokens) or tokens[at][0] != "(":
        word, column = _word(tokens, at, usage)
        if word == DIFFERENCE:
            raise SelectorError(f"an operand is missing; write {usage}", column, code="incomplete")
    return at


# Resolution of target selectors in a live cluster: nodes, links between them, and kinds of targets.


TARGET_STREAM: Final = "targets"
"""Random stream for the choice among candidates."""


def selector_of(node: int, client: str = "") -> str:
    """Return a broker, a control plane node, or the ``client`` of that name, written as a target."""
    if client:
        return f"client({client})"
    if node >= FIRST_ZOOKEEPER:
        return f"zookeeper({node - FIRST_ZOOKEEPER + 1})"
    return f"controller({node})" if node >= FIRST_CONTROLLER - 1 else f"broker({node})"


def resolve(text: str, cluster: Cluster) -> list[int]:
    """Return the ids of the nodes that a selector resolves to now, in a stable order.

    Raises:
        NoMatchError: It resolves to no node now.
        SelectorError: A name is unknown, or the selector has two sides where nodes are needed.
    """
    selector = parse(text)
    if selector.kind == LINK:
        raise SelectorError(
            "a link has two sides: it must be the whole target of a link fault", selector.column, code="two_sides"
        )
    nodes = _resolve(selector, cluster)
    if not nodes:
        raise NoMatchError(f"{text} matches no node now", selector.column, code="nobody")
    return nodes


def _resolve(selector: Selector, cluster: Cluster) -> list[int]:
    return _RESOLVERS[selector.kind](selector, cluster)


# -- combinations ---------------------------------------------------------------------------------------------------


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
    stream = cluster.stream(TARGET_STREAM)
    left = list(candidates)
    drawn = [left.pop(stream.below(len(left))) for _turn in range(min(count, len(left)))]
    return [candidate for candidate in candidates if candidate in drawn]


# -- brokers and clients --------------------------------------------------------------------------------------------


def _brokers(selector: Selector, cluster: Cluster) -> list[int]:
    del selector
    return list(cluster.brokers)


def _broker(selector: Selector, cluster: Cluster) -> list[int]:
    return _one_of(int(selector.argument), list(cluster.brokers), "broker", selector)


def _names(choices: Iterable[object]) -> str:
    return ", ".join(map(str, choices)) or "none"


def _rack(selector: Selector, cluster: Cluster) -> list[int]:
    brokers = [broker.id for broker in cluster.spec.brokers if broker.rack == selector.argument]
    if not brokers:
        racks = sorted({broker.rack for broker in cluster.spec.brokers if broker.rack})
        raise SelectorError(
            f"no rack {selector.argument!r}; known racks: {_names(racks)}", selector.column, code="no_rack"
        )
    return brokers


def _client(selector: Selector, cluster: Cluster) -> list[int]:
    clients = {name: node for node, name in cluster.clients.names.items()} | {cluster.name_of(ADMIN): ADMIN}
    if cluster.external_clients.is_open:
        clients[NAME] = EXTERNAL_CLIENTS
    if selector.argument not in clients:
        raise SelectorError(
            f"no client {selector.argument!r}; known clients: {_names(clients)}", selector.column, code="no_client"
        )
    return [clients[selector.argument]]


def _clients(selector: Selector, cluster: Cluster) -> list[int]:
    of_kind: dict[str, Collection[str]] = {"producers": cluster.producers, "consumers": cluster.consumers}
    return [node for node, name in cluster.clients.names.items() if name in of_kind.get(selector.kind, (name,))]


# -- the control plane ----------------------------------------------------------------------------------------------


def _of_control_plane(selector: Selector, cluster: Cluster) -> list[int]:
    kind, argument = selector.kind, selector.argument
    if kind == "controllers":
        return list(cluster.plane.controllers())
    if kind == "controller":
        if not argument:
            active = cluster.plane.active()
            return [] if active == NO_LEADER else [active]
        return _one_of(int(argument), cluster.plane.controllers(), "controller", selector)
    servers = [node for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER]
    if not servers:
        raise SelectorError("KRaft mode has no ZooKeeper", selector.column, code="no_zookeeper")
    if kind == "zookeepers":
        return servers
    numbers = [node - FIRST_ZOOKEEPER + 1 for node in servers]
    return [_one_of(int(argument), numbers, "ZooKeeper server", selector)[0] + FIRST_ZOOKEEPER - 1]


def _one_of(number: int, choices: Sequence[int], what: str, selector: Selector) -> list[int]:
    if number not in choices:
        raise SelectorError(
            f"no {what} {number}; known {what}s: {_names(choices)}",
            selector.column,
            code=f"no_{what.lower().replace(' ', '_')}",
        )
    return [number]


def _members(selector: Selector, cluster: Cluster) -> list[int]:
    group = selector.argument
    known = [spec.name for spec in cluster.spec.groups]
    if group not in known:
        raise SelectorError(f"no group {group!r}; known groups: {_names(known)}", selector.column, code="no_group")
    consumers = cluster.consumers
    return [
        node for node, name in cluster.clients.names.items() if name in consumers and consumers[name].group == group
    ]


# -- partitions and groups ------------------------------------------------------------------------------------------


def _of_partition(selector: Selector, cluster: Cluster) -> list[int]:
    record = cluster.cluster_state.records.get(selector.argument)
    if record is None:
        known = ", ".join(cluster.cluster_state.records)
        raise SelectorError(
            f"no partition {selector.argument!r}; known partitions: {known}", selector.column, code="no_partition"
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
    """Return the brokers whose process is up, or all of them if none is."""
    return [broker for broker in brokers if cluster.is_up(broker)] or list(brokers)


def _by_length(selector: Selector, brokers: list[int], cluster: Cluster) -> list[int]:
    """Return the broker with the longest or shortest log; on a tie the first one."""
    ends = [cluster.query.leo(selector.argument, broker) for broker in brokers]
    wanted = max(ends) if selector.choice == "longest" else min(ends)
    return [brokers[ends.index(wanted)]]


def _coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """Return the group's coordinator (``GroupMetadataManager.partitionFor``).

    The partition is Java's hash of the group id modulo the current partition count of ``__consumer_offsets``.
    """
    group = selector.argument
    known = list(dict.fromkeys([*(spec.name for spec in cluster.spec.groups), *cluster.external_clients.groups]))
    if group not in known:
        raise SelectorError(f"no group {group!r}; known groups: {_names(known)}", selector.column, code="no_group")
    leader = _leader_of(OFFSETS, group, cluster)
    if leader is None:
        reason = f"there is no topic {OFFSETS}, which needs offsets.topic.replication.factor brokers"
        raise NoMatchError(f"group {group!r} has no coordinator: {reason}", selector.column, code="no_coordinator")
    return [] if leader == NO_LEADER else [leader]


def _transaction_coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """Return the coordinator of a transactional id (``TransactionStateManager.partitionFor``)."""
    name = selector.argument
    ids = {each.name: str(each.config.get("transactional.id", "")) for each in cluster.spec.producers}
    ids.update(cluster.external_clients.settings.transactional_ids)
    if not ids.get(name):
        known = [producer for producer, transactional_id in ids.items() if transactional_id]
        raise SelectorError(
            f"no producer {name!r} with a transactional.id; known transactional producers: {_names(known)}",
            selector.column,
            code="no_transactional_producer",
        )
    leader = _leader_of(TRANSACTIONS, ids[name], cluster)
    if leader is None:
        reason = f"there is no topic {TRANSACTIONS}, which needs transaction.state.log.replication.factor brokers"
        raise NoMatchError(f"producer {name!r} has no coordinator: {reason}", selector.column, code="no_coordinator")
    return [] if leader == NO_LEADER else [leader]


def _leader_of(topic: str, key: str, cluster: Cluster) -> int | None:
    """Return the leader of a key's partition of an internal topic; None if the topic does not exist."""
    partitions = sum(name.rpartition("-")[0] == topic for name in cluster.cluster_state.records)
    return cluster.query.leader(f"{topic}-{coordinator_partition(key, partitions)}") if partitions else None


_RESOLVERS: Final[Mapping[str, Callable[[Selector, Cluster], list[int]]]] = {
    UNION: _joined,
    DIFFERENCE: _without,
    INTERSECTION: _common,
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


# Links that a network fault affects: between its target and another side, in one direction or both.


DIRECTION: Final = Param(
    "direction",
    "choice",
    "Direction that is affected: out of the target, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def between(nodes: Sequence[int], others: Sequence[int], direction: str) -> tuple[tuple[int, int], ...]:
    """Return (source, target) of each link between the two sides, once each, in a stable order."""
    links: dict[tuple[int, int], None] = {}
    for node in nodes:
        for other in others:
            if other != node:
                if direction in ("both", "out"):
                    links[node, other] = None
                if direction in ("both", "in"):
                    links[other, node] = None
    return tuple(links)


def with_links(
    context: FaultContext, resolved: ResolvedTarget, fault: str, *, others_only: bool = False
) -> ResolvedTarget:
    """Return the aim with its links, given by its parameters ``to`` and ``direction``; by default both directions.

    ``others_only``: without ``to``, links among the targets themselves are excluded.

    Raises:
        FaultError: There is no link between the two sides.
    """
    if resolved.params["to"]:
        others = context.targets(str(resolved.params["to"]))
    else:
        others = context.cluster.nodes()
        if others_only:
            others = tuple(other for other in others if other not in resolved.nodes)
    links = between(resolved.nodes, others, str(resolved.params.get("direction", "both")))
    if not links:
        raise FaultError(f"{fault} needs nodes on both sides of its links, found only one side", code="one_end")
    return ResolvedTarget(resolved.nodes, resolved.params, links)


# A target with two sides, ``link(A, B)``: for a link fault, the same as target A with B as the other side.


OTHER_SIDE = "to"
"""Parameter of link faults that names the other side."""


def split_link_target(fault: Fault, action: Action) -> Action:
    """Return the action with its two sides separated; unchanged if its target is not a link.

    Raises:
        FaultError: The fault applies to nodes, or the other side is given twice.
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
        raise FaultError(f"{action.target!r} already names both sides: remove {OTHER_SIDE}", code="other_side_twice")
    one, other = map(str, selector.parts)
    return replace(action, target=one, params={**action.params, OTHER_SIDE: other})


# Kinds of targets that declarations accept.


def accepts_node(accepts: str, node: int, cluster: Cluster) -> bool:
    """Return whether a node is an accepted kind of target (:data:`faults.declarations.fault.ACCEPTS`)."""
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
