"""Context of parsing one file: the errors found so far, and the names that later parts may refer to."""

from collections.abc import Collection
from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from typing import Final

from cluster_model.util.quantities import listed
from playbooks.errors import Problem, nearest, shown
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, ValueOrigin, found

_HERE: Final = ValueOrigin()


@dataclass(frozen=True, slots=True)
class PlaybookNames:
    """Names that a playbook has given to its parts. None stands for a part with errors: its names are unknown."""

    kafka: str | None = None
    """Kafka version of the cluster."""
    brokers: tuple[int, ...] | None = None
    racks: Table[str, int] | None = None
    """Rack → number of its brokers."""
    topics: Table[str, int | None] | None = None
    """Topic → number of partitions."""
    replication: Table[str, int] = field(default_factory=dict)
    """Topic → number of replicas of each of its partitions."""
    replicas: Table[str, tuple[int, ...]] = field(default_factory=dict)
    """Partition → its replicas, if the playbook has a placement."""
    mode: str | None = None
    voters: tuple[int, ...] = ()
    """Node ids of the KRaft quorum."""
    zookeepers: int = 0
    """Servers of the ZooKeeper ensemble."""
    producers: tuple[str, ...] | None = None
    groups: Table[str, int | None] | None = None
    """Group → number of members."""
    uncoordinated: tuple[str, ...] = ()
    """Groups without a coordinator: they commit nothing."""
    outside_groups: tuple[str, ...] = ()
    """Groups joined by external clients: they have coordinators, but no members in the playbook ..."""
    outside_producers: tuple[str, ...] = ()
    """... and external producers with a transactional id."""

    @property
    def controllers_are_brokers(self) -> bool:
        """Whether controllers share the processes of brokers: in ZooKeeper mode, and if the playbook says so."""
        return self.mode == "zookeeper" or (self.brokers is not None and any(v in self.brokers for v in self.voters))

    def wrong_controller(self, node: int) -> str:
        """Return why there is no such node in the KRaft quorum; empty if there is, or if the mode is unknown."""
        if self.mode == "zookeeper":
            return f"found controller({node}) in ZooKeeper mode, expected controller and controllers: those are brokers"
        if self.mode is None or node in self.voters:
            return ""
        return f"found controller {node}, expected the quorum's {listed(map(str, self.voters))}"

    def wrong_zookeeper(self, number: int | None) -> str:
        """Return why there is no ZooKeeper server of that number, from 1; None stands for all of them."""
        if self.mode == "kraft":
            return "found a ZooKeeper server in KRaft mode, allowed with 'mode: zookeeper' only"
        if self.mode is None or number is None or 1 <= number <= self.zookeepers:
            return ""
        allowed = f"expected 1 to {self.zookeepers}" if self.zookeepers > 1 else "expected 1"
        return f"found ZooKeeper server {number}, {allowed}"

    def wrong_broker(self, broker: int) -> str:
        """Return why there is no such broker, as ``found ..., allowed ...``; empty if there is."""
        if self.brokers is None or broker in self.brokers:
            return ""
        return f"found broker {broker}, expected the cluster's brokers {listed(map(str, self.brokers))}"

    def wrong_replica(self, broker: int, partition: str) -> str:
        """Return why the broker has no replica of the partition; empty if it has, or if that is unknown."""
        holders = self.replicas.get(partition)
        if holders is None or broker in holders:
            return ""
        return f"found broker {broker}, expected the replicas of {partition}: {listed(map(str, holders))}"

    def wrong_partition(self, name: str) -> str:
        """Return why there is no such partition; empty if there is, or if its topic has errors."""
        topic, dash, number = name.rpartition("-")
        if not dash or not number.isascii() or not number.isdigit() or len(number) > 9:
            return f"found {shown(name)}, expected a partition such as orders-0 (topic, dash, number)"
        if self.topics is None:
            return ""
        if topic not in self.topics:
            return f"found a partition of {shown(topic)}, {_among('topics', self.topics)}{nearest(topic, self.topics)}"
        count = self.topics[topic]
        if count is None or (int(number) < count and str(int(number)) == number):
            return ""
        allowed = "expected" if count == 1 else f"expected {topic}-0 to"
        return f"found {shown(name)}, {allowed} {topic}-{count - 1}"

    def wrong_lag(self, group: str, function: str) -> str:
        """Return why a function of committed offsets does not apply to a group; empty if it does."""
        if group not in self.uncoordinated or function not in OF_COMMITS:
            return ""
        instead = f"; position_lag({group}) is the lag of its position" if function == "lag" else ""
        allowed = "allowed only for groups that commit, not with 'coordinated: false'"
        return f"found {function}({group}), {allowed}{instead}"

    def wrong_name(self, kind: str, name: str) -> str:
        """Return why there is no such ``topic``, ``group``, ``producer`` or ``rack``; empty if there is."""
        table: dict[str, Collection[str] | None] = {
            "topic": self.topics,
            "group": self.groups,
            "producer": self.producers,
            "rack": self.racks,
        }
        known = table[kind]
        if known is None or name in known:
            return ""
        return f"found {shown(name)}, {_among(kind + 's', known)}{nearest(name, known)}"


def _among(kind: str, names: Collection[str]) -> str:
    return f"expected the playbook's {kind} {listed(names)}" if names else f"but the playbook has no {kind}"


OF_COMMITS: Final = ("lag", "committed")
"""Functions of conditions about committed offsets."""


@dataclass(slots=True)
class ErrorNotes:
    """Errors of one file as they are found, and the names for checking later parts."""

    path: str
    problems: list[Problem] = field(default_factory=list)
    facts: PlaybookNames = field(default_factory=PlaybookNames)
    uncertain: list[Problem] = field(default_factory=list)
    """Problems about values that are unknown, which therefore are no errors."""
    root: Mapping | None = None
    """The whole file, for parts that depend on other parts of it."""
    variables: tuple[str, ...] = ()
    """Names of its variables, and of those of the fragments at its head."""
    values: Table[str, Node] = field(default_factory=dict)
    """Their declared values, as far as they have any."""

    @property
    def errors(self) -> list[Problem]:
        """The problems that are certainly errors."""
        return [problem for problem in self.problems if problem not in self.uncertain]

    def problem(self, node: Node, key: str, message: str, column: int = 0) -> None:
        """Add an error at ``node``, or at another column of its line; in the file of the node."""
        origin = node.origin or _HERE
        if origin.notes:
            message = f"{message} ({'; '.join(origin.notes)})"
        problem = Problem(origin.path or self.path, node.line, column or node.column, key, message)
        self.problems.append(problem)
        if origin.unknown:
            self.uncertain.append(problem)

    def refuse(self, node: Node, key: str, allowed: str) -> None:
        """Add the error ``found ..., allowed ...`` at ``node``."""
        self.problem(node, key, f"found {found(node)}, expected {allowed}")

    def inside(self, node: Scalar, key: str, message: str, column: int) -> None:
        """Add an error at a column (from 1) of a scalar's own text, if the file contains that text unchanged."""
        self.problem(node, key, message, node.exact + column - 1 if node.exact else 0)
