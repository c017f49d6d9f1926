"""Parser of target selectors: their form is checked by the faults, and their names here by the playbook's cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.clients import NAME as ADMIN
from cluster_model.external_clients import NAME as OUTSIDE
from cluster_model.util.quantities import listed
from faults.declarations import (
    ACCEPTS,
    DIFFERENCE,
    DRAWING_SELECTORS,
    INTERSECTION,
    LINK,
    OTHER_SIDE,
    PARTITION_SELECTORS,
    UNION,
    Selector,
    SelectorError,
    parse,
)
from playbooks.errors import shown
from playbooks.parser.document.context import ErrorNotes, PlaybookNames
from playbooks.parser.document.field_types import BAD, BrokerId, Fields, FieldType, Schema
from playbooks.parser.document.yaml_source import Node, Scalar

LONGEST: Final = 400
"""Maximum number of characters of a target."""
_DIGITS: Final = 9
"""Maximum number of digits of a node number that are parsed; longer ones match no node."""
_MANY: Final = ("followers", "isr", "replicas")
"""Selectors of a partition that can match several brokers; without a leader, all replicas are followers."""


@dataclass(frozen=True, slots=True)
class Target(FieldType):
    """A selector such as ``leader(orders-0)``; ``accepts`` is the kind of nodes that the fault accepts.

    ``sides``: it may name both sides of the links of a fault, ``link(broker(1), broker(2))``;
    ``at_least``: minimum number of nodes of the fault.
    """

    accepts: str
    sides: bool = False
    at_least: int = 1

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, "a target such as leader(orders-0), broker(2) or all")
            return BAD
        if len(node.text) > LONGEST:
            notes.problem(node, key, f"found {len(node.text)} characters, expected at most {LONGEST}")
            return BAD
        try:
            selector = parse(node.text)
        except SelectorError as error:
            notes.inside(node, key, f"found {shown(node.text)}: {error}", error.column + 1)
            return BAD
        for column, wrong in self._problems(selector, notes.facts):
            notes.inside(node, key, wrong, column + 1)
            return BAD
        return node.text

    def _problems(self, selector: Selector, facts: PlaybookNames) -> Iterator[tuple[int, str]]:
        """Yield the errors of a selector with their columns, from 0."""
        if selector.kind == LINK and not self.sides:
            yield selector.column, f"found {LINK}, which has two sides; expected {ACCEPTS[self.accepts]}"
        one = selector.parts[0] if selector.kind == LINK else selector
        for part in _walked(selector):
            if not (part.parts or part.inner):
                message = _reject_reason(part, facts)
                if message:
                    yield part.column, message
        yield from _unfit(one, self.accepts, facts)
        for part in _walked(selector):
            message = _wrong_count(part, facts)
            if message:
                yield _first(part).column, message
        most = _max_matches(one, facts)
        if most is not None and most < self.at_least:
            yield _first(one).column, f"found {one}, expected {self.at_least} nodes or more: it matches fewer"

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


def check_sides(fields: Fields, notes: ErrorNotes) -> None:
    """Report a step that gives the other side of its links twice, in its target and beside it."""
    if parse(fields.get("target", "all")).kind == LINK:
        message = f"found the other side twice, expected a target of one side, or {LINK} alone"
        notes.problem(fields.at(OTHER_SIDE), fields.path(OTHER_SIDE), message)


def _walked(selector: Selector) -> Iterator[Selector]:
    """Yield the selector and all its parts, the innermost first."""
    for part in selector.parts:
        yield from _walked(part)
    if selector.inner is not None:
        yield from _walked(selector.inner)
    yield selector


def _first(selector: Selector) -> Selector:
    """Return the first plain selector of a compound one."""
    if selector.inner is not None:
        return _first(selector.inner)
    return _first(selector.parts[0]) if selector.parts else selector


def _reject_reason(selector: Selector, facts: PlaybookNames) -> str:
    """Return why a plain selector can never match a node of this cluster."""
    kind, argument = selector.kind, selector.argument
    if kind in PARTITION_SELECTORS:
        return facts.wrong_partition(argument)
    if kind == "clients" and facts.producers == () and facts.groups == {}:
        return "found clients, but the playbook has no clients"
    if (kind == "producers" and facts.producers == ()) or (kind == "consumers" and facts.groups == {}):
        return f"found {kind}, but the playbook has no {'groups' if kind == 'consumers' else kind}"
    if kind == "broker":
        return facts.wrong_broker(int(argument)) if BrokerId.is_one(argument) else "found no broker id"
    if kind in ("coordinator", "members"):
        coordinated = kind == "coordinator" and argument in facts.outside_groups
        return "" if coordinated else facts.wrong_name("group", argument)
    if kind == "transaction_coordinator":
        return "" if argument in facts.outside_producers else facts.wrong_name("producer", argument)
    if kind == "rack":
        return facts.wrong_name("rack", argument)
    if kind == "controller" and argument:
        return facts.wrong_controller(int(argument[:_DIGITS]))
    if kind in ("zookeeper", "zookeepers"):
        return facts.wrong_zookeeper(int(argument[:_DIGITS]) if argument else None)
    return _wrong_client(argument, facts) if kind == "client" else ""


def _wrong_count(selector: Selector, facts: PlaybookNames) -> str:
    """Return why this number of nodes can never be selected at random."""
    if selector.kind not in DRAWING_SELECTORS:
        return ""
    limit = _most_drawn_from(selector, facts)
    if selector.kind == "minority" and limit is not None and limit < 3:
        return f"found {selector} of at most {limit}, which matches none; expected one of 3 or more"
    if selector.kind != "random" or selector.inner is None:
        return ""
    if selector.count < 1:
        return f"found random({selector.count}, ...), expected 1 or more"
    if limit is None or selector.count <= limit:
        return ""
    allowed = f"expected 1 to {limit}" if limit > 1 else "expected 1"
    return f"found {selector.count} selected from {selector.inner}, {allowed}: it never matches more"


def _most_drawn_from(selector: Selector, facts: PlaybookNames) -> int | None:
    if selector.inner is not None:
        return _max_matches(selector.inner, facts)
    return None if facts.brokers is None else len(facts.brokers)


def _max_matches(selector: Selector, facts: PlaybookNames) -> int | None:
    """Return the maximum number of nodes that a valid selector can match; None if the file does not determine it."""
    kind, argument = selector.kind, selector.argument
    if kind in DRAWING_SELECTORS:
        of = _most_drawn_from(selector, facts)
        if kind == "random" or of is None:
            return selector.count if kind == "random" else None
        return of // 2 + 1 if kind == "majority" else (of - 1) // 2
    if kind in (UNION, DIFFERENCE, INTERSECTION):
        return _most_of_several(kind, [_max_matches(part, facts) for part in selector.parts])
    if kind in ("clients", "producers", "consumers"):
        return _most_clients(kind, facts)
    if kind == "members":
        return None if facts.groups is None else facts.groups.get(argument)
    if kind in ("all", "brokers") or (kind == "controllers" and facts.mode == "zookeeper"):
        return None if facts.brokers is None else len(facts.brokers)
    if kind in ("controllers", "zookeepers"):
        known = len(facts.voters) if kind == "controllers" else facts.zookeepers
        return None if facts.mode is None else known
    if kind == "rack":
        return None if facts.racks is None else facts.racks.get(argument)
    return facts.replication.get(argument.rpartition("-")[0]) if kind in _MANY else 1


def _most_of_several(kind: str, each: list[int | None]) -> int | None:
    limits = [most for most in each if most is not None]
    if kind == DIFFERENCE:
        return each[0]
    if kind == INTERSECTION:
        return min(limits, default=None)
    return sum(limits) if len(limits) == len(each) else None


def _most_clients(kind: str, facts: PlaybookNames) -> int | None:
    members = None if facts.groups is None else list(facts.groups.values())
    if (kind != "consumers" and facts.producers is None) or (
        kind != "producers" and (members is None or None in members)
    ):
        return None
    producers = 0 if kind == "consumers" else len(facts.producers or ())
    return producers + (0 if kind == "producers" else sum(count for count in members or () if count is not None))


def _wrong_client(name: str, facts: PlaybookNames) -> str:
    """Check a client: a producer by name, a group's member by group, slash and number from 0, or ``admin``."""
    if facts.producers is None or facts.groups is None or name in (ADMIN, OUTSIDE, *facts.producers):
        return ""
    group, slash, number = name.rpartition("/")
    if not slash or group not in facts.groups:
        known = [*facts.producers, *(f"{known}/0" for known in facts.groups), ADMIN]
        return f"found the client {shown(name)}, expected {listed(known)}"
    members = facts.groups[group]
    if members is None or (number.isascii() and number.isdigit() and int(number[:9]) < members):
        return ""
    return f"found the client {shown(name)}, expected {group}/0 to {group}/{members - 1}"


def _unfit(selector: Selector, accepts: str, facts: PlaybookNames) -> Iterator[tuple[int, str]]:
    """Yield why the fault does not accept such a target, in the words of the catalogue, with the column."""
    if selector.kind == INTERSECTION:
        each = [list(_unfit(part, accepts, facts)) for part in selector.parts]
        yield from each[0] if all(each) else ()
    elif selector.kind == DIFFERENCE:
        # The excluded part of a selector may be unsuitable.
        plain = [part for part in _walked(selector.parts[0]) if not (part.parts or part.inner)]
        if all(part.kind != "clients" and list(_unfit(part, accepts, facts)) for part in plain):
            yield from _unfit(selector.parts[0], accepts, facts)
    elif selector.kind == UNION:
        for part in selector.parts:
            yield from _unfit(part, accepts, facts)
    elif selector.inner is not None:
        yield from _unfit(selector.inner, accepts, facts)
    else:
        wrong = _unfit_client(selector, accepts, facts) or _unfit_node(selector, accepts, facts)
        if wrong:
            yield selector.column, wrong


def _unfit_client(leaf: Selector, accepts: str, facts: PlaybookNames) -> str:
    """Return why a fault that accepts some clients, or other targets only, does not accept this one."""
    if leaf.kind not in ("client", "clients", "producers", "consumers", "members"):
        if accepts not in ("clients", "consumers", "producers"):
            return ""
        return f"found {shown(leaf.kind)}, which are not clients; expected {ACCEPTS[accepts]}"
    if accepts in ("brokers", "controllers", "plane"):
        return f"found a client, expected {ACCEPTS[accepts]}"
    if leaf.argument == ADMIN and accepts != "nodes":
        return f"found the administrator's client, expected {ACCEPTS[accepts]}"
    produces = leaf.kind in ("clients", "producers") and facts.producers != ()
    if accepts == "consumers" and (produces or leaf.argument in (facts.producers or ())):
        return "found a producer, expected consumers"
    consumes = leaf.kind in ("members", "consumers") or (leaf.kind == "clients" and bool(facts.groups))
    if accepts == "producers" and (consumes or (leaf.kind == "client" and "/" in leaf.argument)):
        return "found a consumer, expected producers"
    return ""


def _unfit_node(leaf: Selector, accepts: str, facts: PlaybookNames) -> str:
    """Return why a fault that accepts only brokers, or their machines, does not accept this node."""
    if accepts not in ("brokers", "hosts"):
        return ""
    if leaf.kind in ("zookeeper", "zookeepers"):
        return f"found a ZooKeeper server, expected {ACCEPTS[accepts]}"
    own = facts.mode is not None and not facts.controllers_are_brokers
    if own and leaf.kind in ("controller", "controllers"):
        return f"found the {leaf.kind}, expected {ACCEPTS[accepts]}; here controllers have their own processes"
    return ""
