"""What a reading of one file knows so far: the mistakes found, and the names that later parts may refer to."""

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
    """Names a playbook has given to its parts. None stands for a part that could not be read: nothing is known."""

    kafka: str | None = None
    """Version of the cluster."""
    brokers: tuple[int, ...] | None = None
    racks: Table[str, int] | None = None
    """Rack → number of its brokers."""
    topics: Table[str, int | None] | None = None
    """Topic → number of partitions."""
    replication: Table[str, int] = field(default_factory=dict)
    """Topic → number of replicas of each of its partitions."""
    replicas: Table[str, tuple[int, ...]] = field(default_factory=dict)
    """Partition → its replicas, where the playbook says so itself (by a placement)."""
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
    """Groups that clients outside of the model have joined: they have coordinators, and no members here ..."""
    outside_producers: tuple[str, ...] = ()
    """... and clients outside with a transactional id."""

    @property
    def controllers_are_brokers(self) -> bool:
        """Whether the controller shares a broker's process: in ZooKeeper mode, and where the playbook says so."""
        return self.mode == "zookeeper" or (self.brokers is not None and any(v in self.brokers for v in self.voters))

    def wrong_controller(self, node: int) -> str:
        """Why there is no such node in the KRaft quorum; empty when there is, or when nobody knows the mode."""
        if self.mode == "zookeeper":
            return (
                f"found controller({node}) in ZooKeeper mode, allowed are controller and controllers: those are brokers"
            )
        if self.mode is None or node in self.voters:
            return ""
        return f"found controller {node}, allowed are the quorum's {listed(map(str, self.voters))}"

    def wrong_zookeeper(self, number: int | None) -> str:
        """Why there is no ZooKeeper server of that number, from 1; None stands for all of them."""
        if self.mode == "kraft":
            return "found a ZooKeeper server in KRaft mode, allowed with 'mode: zookeeper' only"
        if self.mode is None or number is None or 1 <= number <= self.zookeepers:
            return ""
        allowed = f"allowed are 1 to {self.zookeepers}" if self.zookeepers > 1 else "allowed is 1"
        return f"found ZooKeeper server {number}, {allowed}"

    def wrong_broker(self, broker: int) -> str:
        """Why there is no such broker, as ``found ..., allowed ...``; empty when there is."""
        if self.brokers is None or broker in self.brokers:
            return ""
        return f"found broker {broker}, allowed are the cluster's brokers {listed(map(str, self.brokers))}"

    def wrong_replica(self, broker: int, partition: str) -> str:
        """Why the broker holds no replica of the partition; empty when it does, or when nobody knows yet."""
        holders = self.replicas.get(partition)
        if holders is None or broker in holders:
            return ""
        return f"found broker {broker}, allowed are the replicas of {partition}: {listed(map(str, holders))}"

    def wrong_partition(self, name: str) -> str:
        """Why there is no such partition; empty when there is, or when its topic could not be read."""
        topic, dash, number = name.rpartition("-")
        if not dash or not number.isascii() or not number.isdigit() or len(number) > 9:
            return f"found {shown(name)}, allowed is a partition such as orders-0 (topic, dash, number)"
        if self.topics is None:
            return ""
        if topic not in self.topics:
            return f"found a partition of {shown(topic)}, {_among('topics', self.topics)}{nearest(topic, self.topics)}"
        count = self.topics[topic]
        if count is None or (int(number) < count and str(int(number)) == number):
            return ""
        allowed = "allowed is" if count == 1 else f"allowed are {topic}-0 to"
        return f"found {shown(name)}, {allowed} {topic}-{count - 1}"

    def wrong_lag(self, group: str, function: str) -> str:
        """Why a function of committed offsets says nothing of a group; empty where it does."""
        if group not in self.uncoordinated or function not in OF_COMMITS:
            return ""
        instead = f"; position_lag({group}) is what it has yet to read" if function == "lag" else ""
        allowed = "allowed for groups that commit, and 'coordinated: false' commits nothing"
        return f"found {function}({group}), {allowed}{instead}"

    def wrong_name(self, kind: str, name: str) -> str:
        """Why there is no such ``topic``, ``group``, ``producer`` or ``rack``; empty when there is."""
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


def _among(kind: str, known: Collection[str]) -> str:
    return f"allowed are the playbook's {kind} {listed(known)}" if known else f"but the playbook has no {kind}"


OF_COMMITS: Final = ("lag", "committed")
"""Functions of conditions that go by what a group has committed."""


@dataclass(slots=True)
class Notes:
    """Mistakes of one file as they are found, and the facts for checking what comes later in it."""

    path: str
    problems: list[Problem] = field(default_factory=list)
    facts: PlaybookNames = field(default_factory=PlaybookNames)
    unsure: list[Problem] = field(default_factory=list)
    """Those of the problems that are about values nobody knows, and so are none."""
    root: Mapping | None = None
    """The whole file, for parts that depend on what stands elsewhere in it."""
    variables: tuple[str, ...] = ()
    """Names of its variables, and of those of the fragments at its head."""
    values: Table[str, Node] = field(default_factory=dict)
    """What those are declared to be, as far as they have a value."""

    @property
    def told(self) -> list[Problem]:
        """The mistakes that there are for certain."""
        return [problem for problem in self.problems if problem not in self.unsure]

    def problem(self, node: Node, key: str, message: str, column: int = 0) -> None:
        """A mistake at ``node``, or at another column of its line; in the file that the node is from."""
        origin = node.origin or _HERE
        if origin.notes:
            message = f"{message} ({'; '.join(origin.notes)})"
        problem = Problem(origin.path or self.path, node.line, column or node.column, key, message)
        self.problems.append(problem)
        if origin.unknown:
            self.unsure.append(problem)

    def refuse(self, node: Node, key: str, allowed: str) -> None:
        """``found ..., allowed ...`` at ``node``."""
        self.problem(node, key, f"found {found(node)}, allowed is {allowed}")

    def inside(self, node: Scalar, key: str, message: str, column: int) -> None:
        """A mistake at a column (from 1) of a scalar's own text, where the file shows that text as it is."""
        self.problem(node, key, message, node.exact + column - 1 if node.exact else 0)
