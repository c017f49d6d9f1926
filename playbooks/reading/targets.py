"""Target selectors of steps: checked in form by the faults, and here against the playbook's own cluster."""

from dataclasses import dataclass
from typing import Any, Final

from cluster_model.clients.admin import NAME as ADMIN
from faults.fault import ACCEPTS
from faults.selectors import JOIN, PARTITION_SELECTORS, Selector, SelectorError, parse
from playbooks.problems import listed, shown
from playbooks.reading.kinds import BAD, Kind, Schema
from playbooks.reading.notes import Facts, Notes
from playbooks.reading.references import BrokerId
from playbooks.yamlpos import Node, Scalar

LONGEST: Final = 400
"""Characters of a target."""
_DIGITS: Final = 9
"""Digits of a node's number that are looked at: longer ones name nobody either."""


@dataclass(frozen=True, slots=True)
class Target(Kind):
    """A selector such as ``leader(orders-0)``; ``accepts`` is what the fault can be done to."""

    accepts: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, "a target such as leader(orders-0), broker(2) or all")
            return BAD
        if len(node.text) > LONGEST:
            notes.problem(node, key, f"found {len(node.text)} characters, allowed are at most {LONGEST}")
            return BAD
        try:
            selector = parse(node.text)
        except SelectorError as error:
            notes.inside(node, key, f"found {shown(node.text)}: {error}", error.column + 1)
            return BAD
        for part in (*_leaves(selector), *(selector.parts or (selector,))):
            wrong = _wrong(part, notes.facts) or _unfit(part, self.accepts, notes.facts)
            if wrong:
                notes.inside(node, key, wrong, _leaves(part)[0].column + 1)
                return BAD
        return node.text

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


def _leaves(selector: Selector) -> list[Selector]:
    """The plain selectors that it draws from and joins."""
    if selector.inner is not None:
        return _leaves(selector.inner)
    return [leaf for part in selector.parts for leaf in _leaves(part)] if selector.parts else [selector]


def _wrong(selector: Selector, facts: Facts) -> str:
    """Why the selector can never find anybody in this cluster."""
    kind, argument = selector.kind, selector.argument
    if selector.inner is not None:
        return _wrong(selector.inner, facts) or _wrong_count(selector.count, selector.inner, facts)
    if kind == JOIN:
        return next(filter(None, (_wrong(part, facts) for part in selector.parts)), "")
    if kind in PARTITION_SELECTORS:
        return facts.wrong_partition(argument)
    if kind == "clients" and facts.producers == () and facts.groups == {}:
        return "found clients, but the playbook has no clients"
    if kind == "broker":
        return facts.wrong_broker(int(argument)) if BrokerId.is_one(argument) else "found no broker id"
    if kind in ("coordinator", "members"):
        return facts.wrong_name("group", argument)
    if kind == "transaction_coordinator":
        return facts.wrong_name("producer", argument)
    if kind == "rack":
        return facts.wrong_name("rack", argument)
    if kind == "controller" and argument:
        return facts.wrong_controller(int(argument[:_DIGITS]))
    if kind in ("zookeeper", "zookeepers"):
        return facts.wrong_zookeeper(int(argument[:_DIGITS]) if argument else None)
    return _wrong_client(argument, facts) if kind == "client" else ""


def _wrong_count(count: int, inner: Selector, facts: Facts) -> str:
    """Why so many can never be drawn from the inner selector."""
    if count < 1:
        return f"found random({count}, ...), allowed is 1 or more"
    most = _most(inner, facts)
    if most is None or count <= most:
        return ""
    drawn = " + ".join(
        f"{each.kind}({each.argument})" if each.argument else each.kind for each in inner.parts or [inner]
    )
    allowed = f"allowed are 1 to {most}" if most > 1 else "allowed is 1"
    return f"found {count} drawn from {drawn}, {allowed}: it never means more"


def _most(selector: Selector, facts: Facts) -> int | None:
    """How many nodes a sound selector can ever mean; None where the file does not say."""
    kind, argument = selector.kind, selector.argument
    if selector.inner is not None:
        return selector.count
    if kind == JOIN:
        each = [_most(part, facts) for part in selector.parts]
        return None if None in each else sum(most for most in each if most is not None)
    if kind == "clients":
        members = None if facts.groups is None else list(facts.groups.values())
        if facts.producers is None or members is None or None in members:
            return None
        return len(facts.producers) + sum(count for count in members if count is not None)
    if kind == "members":
        return None if facts.groups is None else facts.groups.get(argument)
    if kind in ("all", "brokers") or (kind == "controllers" and facts.mode == "zookeeper"):
        return None if facts.brokers is None else len(facts.brokers)
    if kind in ("controllers", "zookeepers"):
        known = len(facts.voters) if kind == "controllers" else facts.zookeepers
        return None if facts.mode is None else known
    if kind == "rack":
        return None if facts.racks is None else facts.racks[argument]
    if kind in PARTITION_SELECTORS and kind != "leader":  # without a leader, everybody is a follower
        return facts.replication.get(argument.rpartition("-")[0])
    return 1


def _wrong_client(name: str, facts: Facts) -> str:
    """A client is a producer by its name, a group's member by group, slash and number from 0, or ``admin``."""
    if facts.producers is None or facts.groups is None or name in (ADMIN, *facts.producers):
        return ""
    group, slash, number = name.rpartition("/")
    if not slash or group not in facts.groups:
        known = [*facts.producers, *(f"{known}/0" for known in facts.groups), ADMIN]
        return f"found the client {shown(name)}, allowed are {listed(known)}"
    members = facts.groups[group]
    if members is None or (number.isascii() and number.isdigit() and int(number[:9]) < members):
        return ""
    return f"found the client {shown(name)}, allowed are {group}/0 to {group}/{members - 1}"


def _unfit_client(leaf: Selector, accepts: str, facts: Facts) -> str:
    """The same of clients: the fault is for some of them, or for others only."""
    if leaf.kind not in ("client", "clients", "members"):
        if accepts not in ("clients", "consumers", "producers"):
            return ""
        return f"found {shown(leaf.kind)}, which are no clients; allowed are {ACCEPTS[accepts]}"
    if accepts in ("brokers", "controllers", "plane"):
        return f"found a client, allowed are {ACCEPTS[accepts]}"
    if leaf.argument == ADMIN and accepts != "nodes":
        return f"found the administrator's client, allowed are {ACCEPTS[accepts]}"
    produces = leaf.kind == "clients" and facts.producers != ()
    if accepts == "consumers" and (produces or leaf.argument in (facts.producers or ())):
        return "found a producer, allowed are consumers"
    if accepts == "producers" and (leaf.kind == "members" or (leaf.kind == "client" and "/" in leaf.argument)):
        return "found a consumer, allowed are producers"
    return ""


def _unfit(selector: Selector, accepts: str, facts: Facts) -> str:
    """Why the fault cannot be done to such a target, by the words of the catalogue."""
    for leaf in _leaves(selector):
        wrong = _unfit_client(leaf, accepts, facts)
        if wrong:
            return wrong
        if accepts in ("brokers", "hosts") and leaf.kind in ("zookeeper", "zookeepers"):
            return f"found a ZooKeeper server, allowed are {ACCEPTS[accepts]}"
        own = facts.mode is not None and not facts.controllers_are_brokers
        if accepts in ("brokers", "hosts") and own and leaf.kind in ("controller", "controllers"):
            allowed = ACCEPTS[accepts]
            return f"found the {leaf.kind}, allowed are {allowed}; here controllers have processes of their own"
    return ""
