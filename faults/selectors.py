"""Target selectors: ``leader(orders-0)``, ``rack(a)``, ``random(2, isr(orders-0))``, ``broker(1) + clients`` ...

They look at everything, as an operator would; the model's own nodes never do. A selector is parsed once and resolved
against the live cluster at the moment its fault strikes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cluster_model.clients.admin import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.internal_topics import OFFSETS, TRANSACTIONS, coordinator_partition
from cluster_model.messages import NOBODY
from cluster_model.spec import FIRST_CONTROLLER, FIRST_ZOOKEEPER

_TOKEN: Final = re.compile(r"\s*([A-Za-z0-9._/-]+|[(),+])")

TARGETS: Final = "targets"
"""The random stream that draws among candidates."""

_LONGEST: Final = 1_000
"""Characters of a selector: what is nested deeper than that was not meant."""

JOIN: Final = "+"
"""Kind of a selector that joins several."""

PARTITION_SELECTORS: Final = ("leader", "followers", "isr", "replicas")
SELECTORS: Final = {
    "leader": "leader(PARTITION): the broker that leads by the controller's word",
    "followers": "followers(PARTITION): all its other replicas",
    "isr": "isr(PARTITION): its in-sync replicas, the leader among them",
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
    "clients": "clients: every producer and every member of a group",
    "brokers": "brokers: every broker",
    "all": "all: every broker",
    JOIN: "SELECTOR + SELECTOR: everybody of either",
}
"""Selector → how it is written and what it means."""
BARE: Final = ("all", "brokers", "clients", "controller", "controllers", "zookeepers")
"""Selectors that are one word; all others take something in brackets, and ``controller`` may."""
NUMBERED: Final = ("broker", "controller", "zookeeper")
"""Selectors whose argument is a number."""


CONTROL_SELECTORS: Final = ("controller", "controllers", "zookeeper", "zookeepers")
"""Selectors of the control plane's nodes."""


class SelectorError(Exception):
    """A selector that cannot be read or finds nothing; ``column`` counts from 0 within its text."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, slots=True)
class Selector:
    """A parsed selector: its kind, one plain argument, what it draws from, and what it joins."""

    kind: str
    argument: str = ""
    count: int = 1
    inner: "Selector | None" = None
    parts: tuple["Selector", ...] = ()
    column: int = field(default=0, compare=False)


def parse(text: str) -> Selector:
    """Read a selector.

    Raises:
        SelectorError: with the place and what is allowed.
    """
    if len(text) > _LONGEST:
        raise SelectorError(f"a target of {len(text)} characters; {_LONGEST} are allowed", _LONGEST)
    tokens = _tokens(text)
    selector, rest = _joined(tokens, 0)
    if rest < len(tokens):
        word, column = tokens[rest]
        raise SelectorError(f"nothing may follow the selector, found {word!r}", column)
    return selector


def _tokens(text: str) -> list[tuple[str, int]]:
    tokens: list[tuple[str, int]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            wrong = len(text) - len(text[at:].lstrip())
            raise SelectorError(f"unexpected character {text[wrong]!r}", wrong)
        tokens.append((match.group(1), match.start(1)))
        at = match.end()
    if not tokens:
        raise SelectorError(f"empty; a target is one of {_KINDS}")
    return tokens


_KINDS: Final = ", ".join(kind for kind in SELECTORS if kind != JOIN)


def _joined(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    first, at = _selector(tokens, at)
    parts = [first]
    while at < len(tokens) and tokens[at][0] == JOIN:
        _word(tokens, at + 1, SELECTORS[JOIN])
        part, at = _selector(tokens, at + 1)
        parts.append(part)
    return (first if len(parts) == 1 else Selector(JOIN, parts=tuple(parts), column=first.column)), at


def _selector(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    kind, column = tokens[at]
    if kind.isdigit():
        return Selector("broker", kind, column=column), at + 1
    if kind not in SELECTORS or kind == JOIN:
        raise SelectorError(f"unknown target {kind!r}; a target is one of {_KINDS}", column)
    if kind in BARE and not (kind == "controller" and at + 1 < len(tokens) and tokens[at + 1][0] == "("):
        return Selector(kind, column=column), at + 1
    at = _expect(tokens, at + 1, "(", SELECTORS[kind])
    if kind == "random":
        return _random(tokens, at, column)
    argument, where = _word(tokens, at, SELECTORS[kind])
    if kind in NUMBERED and not argument.isdigit():
        raise SelectorError(f"{kind} takes a number, found {argument!r}", where)
    return Selector(kind, argument, column=where), _expect(tokens, at + 1, ")", SELECTORS[kind])


def _random(tokens: list[tuple[str, int]], at: int, column: int) -> tuple[Selector, int]:
    count = 1
    if at + 1 < len(tokens) and tokens[at][0].isdigit() and tokens[at + 1][0] == ",":
        count = int(tokens[at][0])
        at += 2
    _word(tokens, at, SELECTORS["random"])
    inner, at = _joined(tokens, at)
    return Selector("random", "", count, inner, column=column), _expect(tokens, at, ")", SELECTORS["random"])


def _expect(tokens: list[tuple[str, int]], at: int, wanted: str, usage: str) -> int:
    if at >= len(tokens) or tokens[at][0] != wanted:
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"expected {wanted!r}; write {usage}", column)
    return at + 1


def _word(tokens: list[tuple[str, int]], at: int, usage: str) -> tuple[str, int]:
    if at >= len(tokens) or tokens[at][0] in "(),+":
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"something is missing; write {usage}", column)
    return tokens[at]


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
        SelectorError: an unknown name, or nobody to be found.
    """
    selector = parse(text)
    found = _resolve(selector, cluster)
    if not found:
        raise SelectorError(f"{text} means nobody right now", selector.column)
    return found


def _resolve(selector: Selector, cluster: Cluster) -> list[int]:
    kind = selector.kind
    if kind in PARTITION_SELECTORS:
        return _of_partition(selector, cluster)
    if kind == JOIN:
        return list(dict.fromkeys(node for part in selector.parts for node in _resolve(part, cluster)))
    if kind in CONTROL_SELECTORS:
        return _of_control_plane(selector, cluster)
    if kind == "coordinator":
        return _coordinator(selector, cluster)
    if kind == "transaction_coordinator":
        return _transaction_coordinator(selector, cluster)
    if kind == "clients":
        return list(cluster.clients.names)
    if kind == "members":
        return _members(selector, cluster)
    if kind == "broker":
        broker = int(selector.argument)
        if broker not in cluster.brokers:
            raise SelectorError(f"no broker {broker}; there are {list(cluster.brokers)}", selector.column)
        return [broker]
    if kind == "rack":
        found = [broker.id for broker in cluster.spec.brokers if broker.rack == selector.argument]
        if not found:
            racks = sorted({broker.rack for broker in cluster.spec.brokers if broker.rack})
            raise SelectorError(f"no rack {selector.argument!r}; there are {racks}", selector.column)
        return found
    if kind == "client":
        clients = {name: node for node, name in cluster.clients.names.items()} | {cluster.name_of(ADMIN): ADMIN}
        if selector.argument not in clients:
            raise SelectorError(f"no client {selector.argument!r}; there are {list(clients)}", selector.column)
        return [clients[selector.argument]]
    if kind == "random" and selector.inner is not None:
        return _draw(_resolve(selector.inner, cluster), selector.count, cluster)
    return list(cluster.brokers)


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
        raise SelectorError("there is no ZooKeeper in KRaft mode", selector.column)
    if kind == "zookeepers":
        return servers
    numbers = [node - FIRST_ZOOKEEPER + 1 for node in servers]
    return [_one_of(int(argument), numbers, "ZooKeeper server", selector)[0] + FIRST_ZOOKEEPER - 1]


def _one_of(number: int, known: Sequence[int], what: str, selector: Selector) -> list[int]:
    if number not in known:
        raise SelectorError(f"no {what} {number}; there are {list(known)}", selector.column)
    return [number]


def _members(selector: Selector, cluster: Cluster) -> list[int]:
    group = selector.argument
    known = [spec.name for spec in cluster.spec.groups]
    if group not in known:
        raise SelectorError(f"no group {group!r}; there are {known}", selector.column)
    consumers = cluster.consumers
    return [
        node for node, name in cluster.clients.names.items() if name in consumers and consumers[name].group == group
    ]


def _of_partition(selector: Selector, cluster: Cluster) -> list[int]:
    record = cluster.world.records.get(selector.argument)
    if record is None:
        known = ", ".join(cluster.world.records)
        raise SelectorError(f"no partition {selector.argument!r}; there are {known}", selector.column)
    if selector.kind == "leader":
        return [record.leader] if record.leader >= 0 else []
    if selector.kind == "followers":
        return [broker for broker in record.assignment if broker != record.leader]
    if selector.kind == "isr":
        return [broker for broker in record.assignment if broker in record.isr]
    return list(record.assignment)


def _coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """By Java's hash of the group's id, as many partitions as the topic has now (``GroupMetadataManager``)."""
    group = selector.argument
    known = [spec.name for spec in cluster.spec.groups]
    if group not in known:
        raise SelectorError(f"no group {group!r}; there are {known}", selector.column)
    leader = _leader_of(OFFSETS, group, cluster)
    if leader is None:
        why = f"there is no topic {OFFSETS}, which needs offsets.topic.replication.factor brokers"
        raise SelectorError(f"group {group!r} has no coordinator: {why}", selector.column)
    return [] if leader == NOBODY else [leader]


def _transaction_coordinator(selector: Selector, cluster: Cluster) -> list[int]:
    """The same of a transactional id (``TransactionStateManager.partitionFor``)."""
    name = selector.argument
    ids = {each.name: str(each.config.get("transactional.id", "")) for each in cluster.spec.producers}
    if not ids.get(name):
        known = [producer for producer, whose in ids.items() if whose]
        raise SelectorError(f"no producer {name!r} with a transactional.id; there are {known}", selector.column)
    leader = _leader_of(TRANSACTIONS, ids[name], cluster)
    if leader is None:
        why = f"there is no topic {TRANSACTIONS}, which needs transaction.state.log.replication.factor brokers"
        raise SelectorError(f"producer {name!r} has no coordinator: {why}", selector.column)
    return [] if leader == NOBODY else [leader]


def _leader_of(topic: str, key: str, cluster: Cluster) -> int | None:
    """Who leads a key's partition of an internal topic, None where there is no such topic."""
    partitions = sum(name.rpartition("-")[0] == topic for name in cluster.world.records)
    return cluster.query.leader(f"{topic}-{coordinator_partition(key, partitions)}") if partitions else None


def _draw(candidates: list[int], count: int, cluster: Cluster) -> list[int]:
    stream = cluster.stream(TARGETS)
    left = list(candidates)
    drawn = [left.pop(stream.below(len(left))) for _turn in range(min(count, len(left)))]
    return [candidate for candidate in candidates if candidate in drawn]
