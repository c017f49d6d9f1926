"""Steps of a playbook on real brokers: which can be taken, why the others cannot, and the nodes of their targets."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.spec import OFFSETS, TRANSACTIONS, ClusterSpec, coordinator_partition
from faults.catalogue import CATALOGUE
from faults.declarations import (
    DIFFERENCE,
    INTERSECTION,
    LINK,
    OTHER_SIDE,
    UNION,
    NoMatchError,
    Selector,
    parse,
)
from playbooks.model import Playbook, Step
from tests.real_kafka.metadata_view import MetadataView, PartitionRegistrationView, unanswered
from tests.real_kafka.router import Link
from tests.real_kafka.settings import Refusal, members, refused_settings

FAULTS: Final = (
    "crash", "restart", "clean_shutdown", "gc_pause", "bounce", "pause_train",
    "lag", "bandwidth", "loss", "partition", "isolate", "flapping", "quorum_loss",
    "poll_stall", "slow_processing", "rate_change", "traffic_spike", "zombie_producer",
)  # fmt: skip
"""Faults that are injected into real clusters."""
LINK_FAULTS: Final = ("lag", "bandwidth", "loss", "partition", "isolate", "flapping")
OPERATIONS: Final = (
    "create_topic", "delete_topic", "add_partitions", "reassign", "elect_leaders", "alter_topic_config",
    "alter_broker_config", "delete_records", "shutdown", "rolling_restart", "reset_offsets", "cancel",
    "describe_group", "list_groups", "delete_group", "list_transactions", "describe_producers", "find_hanging",
    "abort_transaction",
)  # fmt: skip
"""Operations of an administrator on real clusters."""
VERBS: Final = ("inject", "heal", "admin", "settle", "stop", "reseed", "round")

_NO_EQUIVALENT: Final = {
    "power_loss": "no process can lose the page cache, which belongs to the operating system",
    "lost_writeback": "the operating system writes pages back by itself",
    "slow_disk": "this kernel has no honest way to slow a file system",
    "slow_cpu": "all processes share the processors of one machine",
    "out_of_memory": "a heap that is exhausted on purpose fails in other places than one by accident",
    "clock_skew": "all processes share the clock of one machine",
    "stale_metadata": "a real broker cannot be kept from metadata alone",
    "slow_follower": "a real follower cannot be slowed apart from its broker",
    "slow_responses": "the router sees packets, not responses",
    "duplicate_responses": "TCP removes duplicates",
    "slow_close": "the kernel closes connections",
    "lost_ack": "the router sees packets, not responses",
    "session_expiry": "a session of KRaft ends by a pause or a cut alone; inject those",
    "controller_failover": "KRaft has no request to resign; inject a crash or a pause of the controller",
}
"""Fault → why nothing on real brokers is the same."""
_NOT_BUILT: Final = "the runner of real clusters does not have it"


def refusals(playbook: Playbook) -> list[Refusal]:
    """Return everything in a playbook that cannot be run on real brokers, in order of its lines."""
    found = refused_settings(playbook.spec)
    if playbook.guards is not None:
        found.append(Refusal(0, "guards", "faults on real brokers are not guarded"))
    for step in playbook.steps:
        found += [Refusal(step.where.line, _shown(step), reason) for reason in _reasons(step, playbook.spec)]
    return sorted(found, key=lambda refusal: refusal.line)


def _shown(step: Step) -> str:
    return f"{step.verb} {step.name}".strip()


def _reasons(step: Step, spec: ClusterSpec) -> Iterator[str]:
    if step.verb not in VERBS:
        yield _NOT_BUILT
    elif step.verb == "inject":
        yield from _fault_reasons(step, spec)
    elif step.verb == "admin" and step.name not in OPERATIONS:
        yield _NOT_BUILT
    elif step.verb == "admin":
        yield from _operation_reasons(step)
    if step.then:
        yield "a state after a step (then) is not compared on real brokers"
    condition = step.trigger.condition
    for name in unanswered(condition) if condition is not None else ():
        yield f"when: {name}() is not known of a real cluster while it runs"


def _fault_reasons(step: Step, spec: ClusterSpec) -> Iterator[str]:
    if step.name not in FAULTS:
        yield _NO_EQUIVALENT.get(step.name, _NOT_BUILT)
        return
    for name, value in _unlike(step).items():
        yield f"{name}: {value} has no equivalent on real brokers"
    if any(selector.kind == "client" and selector.argument == "admin" for selector in _selectors(step)):
        yield "the admin client shares its process with other clients"
    if step.name == "quorum_loss" and spec.combined:
        yield "controllers that are brokers too are not chosen by quorum_loss here"
    for selector in _selectors(step):
        if selector.kind == "replica":
            yield "the lengths of logs are not known of a real cluster while it runs"


def _unlike(step: Step) -> dict[str, object]:
    """Return the parameters of a fault that a real cluster cannot have."""
    unlike = {"crash": "torn", "pause_train": "random", "flapping": "random", "bandwidth": "shared"}
    name = unlike.get(step.name, "")
    return {name: step.params[name]} if step.params.get(name) else {}


def _operation_reasons(step: Step) -> Iterator[str]:
    if step.name == "reset_offsets":
        if any(step.params.get(name) for name in ("topics", "from_file", "shift_by")):
            yield "only to_earliest, to_latest and to_offset for all topics are supported"
        if any(int(step.params.get(name, -1)) >= 0 for name in ("to_datetime", "by_duration")):
            yield "only to_earliest, to_latest and to_offset for all topics are supported"
    if step.name == "cancel" and step.params.get("operation", "all") != "all":
        yield "only all operations together can be cancelled"
    if step.name == "reassign" and step.params.get("topic"):
        yield "a reassignment names a partition"


def _selectors(step: Step) -> Iterator[Selector]:
    """Yield every selector of a step's targets, nested ones too."""
    if step.verb != "inject":
        return
    fault = CATALOGUE[step.name]
    texts = [step.target or fault.target, str(step.params.get(OTHER_SIDE, ""))]
    waiting = [parse(text) for text in texts if text]
    while waiting:
        selector = waiting.pop()
        yield selector
        waiting += [*selector.parts, *([selector.inner] if selector.inner else [])]


def alone(playbook: Playbook) -> frozenset[str]:
    """Return the clients that steps target: each needs a process and a namespace of its own."""
    return _targeted(playbook.spec, playbook.steps)


def duplicated(playbook: Playbook) -> frozenset[str]:
    """Return the producers of which a step starts a second process."""
    return _targeted(playbook.spec, [step for step in playbook.steps if step.name == "zombie_producer"])


def _targeted(spec: ClusterSpec, steps: Iterable[Step]) -> frozenset[str]:
    producers = [producer.name for producer in spec.producers]
    consumers = {group.name: members(group) for group in spec.groups}
    everyone = [name for group in consumers.values() for name in group]
    found: set[str] = set()
    for selector in (selector for step in steps for selector in _selectors(step)):
        found.update(
            {
                "client": [selector.argument],
                "clients": [*producers, *everyone],
                "producers": producers,
                "consumers": everyone,
                "members": consumers.get(selector.argument, []),
            }.get(selector.kind, [])
        )
    return frozenset(found & {*producers, *everyone})


def controllers_needed(playbook: Playbook) -> int:
    """Return the number of controllers that a run needs: one, unless steps or conditions are about the quorum."""
    spec = playbook.spec
    selectors = [selector.kind for step in playbook.steps for selector in _selectors(step)]
    names = [step.name for step in playbook.steps]
    conditions = [step.trigger.condition.text for step in playbook.steps if step.trigger.condition is not None]
    about = "controller" in selectors or "controllers" in selectors or "quorum_loss" in names
    about = about or any("controller" in text for text in conditions)
    return spec.controllers if about else 1


# Targets.


def links_between(nodes: Iterable[str], others: Iterable[str], direction: str) -> tuple[Link, ...]:
    """Return the links between two sides, once each: ``out`` of the nodes, ``in`` to them, or ``both``."""
    found: dict[Link, None] = {}
    sides = [(node, other) for node in nodes for other in others if other != node]
    for node, other in sides:
        if direction in ("both", "out"):
            found[node, other] = None
        if direction in ("both", "in"):
            found[other, node] = None
    return tuple(found)


@dataclass(slots=True)
class TargetResolver:
    """Resolution of target selectors in a real cluster, by the state of its metadata log now."""

    spec: ClusterSpec
    view: MetadataView
    voters: tuple[int, ...]
    hosts: Mapping[str, str]
    """Client → the node that it runs on."""
    server: Callable[[int], str]
    """Return the name of a server."""
    is_up: Callable[[str], bool]
    active_controller: Callable[[], int]
    random: random.Random

    def resolve(self, text: str) -> list[str]:
        """Return the nodes of a selector.

        Raises:
            NoMatchError: it matches no node now.
        """
        found = self._resolve(parse(text))
        if not found:
            raise NoMatchError(f"{text} matches no node now", code="nobody")
        return found

    def links(self, step: Step, nodes: list[str], everyone: list[str]) -> tuple[Link, ...]:
        """Return the links that a link fault affects, as in the model: to all other nodes by default."""
        to, direction = str(step.params.get(OTHER_SIDE, "")), str(step.params.get("direction", "both"))
        selector = parse(step.target)
        if selector.kind == LINK:
            to = str(selector.parts[1])
        others = self.resolve(to) if to else everyone
        if not to and step.name in ("partition", "flapping"):
            others = [node for node in others if node not in nodes]
        return links_between(nodes, others, direction)

    def _resolve(self, selector: Selector) -> list[str]:
        kind = selector.kind
        if kind == LINK:
            return self._resolve(selector.parts[0])
        if kind in (UNION, DIFFERENCE, INTERSECTION):
            return self._combined(kind, [self._resolve(part) for part in selector.parts])
        if kind in ("random", "majority", "minority"):
            return self._drawn(selector)
        if kind in ("client", "clients", "producers", "consumers", "members"):
            return list(dict.fromkeys(self.hosts[name] for name in self._clients(selector) if name in self.hosts))
        return list(dict.fromkeys(self.server(node) for node in self._servers(selector) if node >= 0))

    @staticmethod
    def _combined(kind: str, parts: list[list[str]]) -> list[str]:
        if kind == UNION:
            return list(dict.fromkeys(node for part in parts for node in part))
        first, *others = parts
        if kind == INTERSECTION:
            return [node for node in first if all(node in other for other in others)]
        return [node for node in first if not any(node in other for other in others)]

    def _drawn(self, selector: Selector) -> list[str]:
        brokers = [self.server(broker.id) for broker in self.spec.brokers]
        of = brokers if selector.inner is None else self._resolve(selector.inner)
        counts = {"random": selector.count, "majority": len(of) // 2 + 1, "minority": max(0, (len(of) - 1) // 2)}
        drawn = self.random.sample(of, min(len(of), counts[selector.kind]))
        return [node for node in of if node in drawn]

    def _clients(self, selector: Selector) -> list[str]:
        producers = [producer.name for producer in self.spec.producers]
        groups = {group.name: members(group) for group in self.spec.groups}
        consumers = [name for group in groups.values() for name in group]
        return {
            "client": [selector.argument],
            "clients": [*producers, *consumers],
            "producers": producers,
            "consumers": consumers,
            "members": groups.get(selector.argument, []),
        }[selector.kind]

    def _servers(self, selector: Selector) -> list[int]:
        kind, argument = selector.kind, selector.argument
        if kind in ("all", "brokers"):
            return [broker.id for broker in self.spec.brokers]
        if kind == "broker":
            return [int(argument)]
        if kind == "rack":
            return [broker.id for broker in self.spec.brokers if broker.rack == argument]
        if kind == "controllers":
            return list(self.voters)
        if kind == "controller":
            return [int(argument) if argument else self.active_controller()]
        if kind == "coordinator":
            return [self._leader_of(OFFSETS, argument)]
        if kind == "transaction_coordinator":
            ids = {each.name: str(each.config.get("transactional.id", "")) for each in self.spec.producers}
            return [self._leader_of(TRANSACTIONS, ids[argument])]
        return self._replicas(kind, argument)

    def _replicas(self, kind: str, partition: str) -> list[int]:
        state = self.view.partitions.get(partition, _NOTHING)
        followers = [broker for broker in state.replicas if broker != state.leader]
        if kind == "leader":
            return [state.leader]
        if kind == "follower":
            running = [broker for broker in followers if self.is_up(self.server(broker))] or followers
            return self.random.sample(running, min(1, len(running)))
        if kind == "isr":
            return [broker for broker in state.replicas if broker in state.isr]
        return followers if kind == "followers" else list(state.replicas)

    def _leader_of(self, topic: str, key: str) -> int:
        partitions = sum(name.rpartition("-")[0] == topic for name in self.view.partitions)
        if not partitions:
            return -1
        return self.view.partitions[f"{topic}-{coordinator_partition(key, partitions)}"].leader


_NOTHING: Final = PartitionRegistrationView(-1, -1, -1, (), ())
