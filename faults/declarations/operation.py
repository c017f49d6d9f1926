"""The declaration of every operation of an administrator, with usual parameters for one partition and broker.

Each is what a tool of Kafka's does (``kafka-topics.sh``, ``kafka-reassign-partitions.sh``, ``kafka-configs.sh``,
``kafka-leader-election.sh``, ``kafka-delete-records.sh``, ``kafka-cluster.sh``,
``kafka-consumer-groups.sh``, ``kafka-transactions.sh``), or what an operator does with several.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.broker import topic_of
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import NOBODY
from cluster_model.protocol.versions import Version, parse_version
from faults.declarations.fault import HOUR, MS, SECOND, Action, Alias, DeclarationError, Param, Value

ALL: Final = -1
"""A broker that stands for all of them; a number that Kafka's own default stands for."""
MOST_PARTITIONS: Final = 10_000
MOST_REPLICAS: Final = 100


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the administrator."""

    name: str
    letter: str
    """Its key on the screen, after ``a``."""
    title: str
    summary: str
    """What it does, in one sentence."""
    params: tuple[Param, ...]
    may_break: str
    """What an operator may see break."""
    since: str = ""
    """The first Kafka release that has it; empty: all of them."""
    mode: str = ""
    """``kraft`` or ``zookeeper`` where only one has it."""
    one_of: tuple[str, ...] = ()
    """Parameters of which exactly one is to be given."""
    aliases: tuple[Alias, ...] = ()
    """What else it is called, in Kafka's Admin client and its tools."""
    usual: Callable[["Cursor"], dict[str, Value]] = lambda _cursor: {}
    """Parameters for one key on the screen; empty values are left out."""

    usual_for_us: int = -1
    """As for faults: none lasts for a time that a key could give it."""

    def param(self, name: str) -> Param | None:
        """A parameter by name."""
        return next((param for param in self.params if param.name == name), None)

    def lacking(self, kafka: Version, mode: str) -> str:
        """Why a version does not have it in a mode; empty when it does."""
        if self.since and kafka < parse_version(self.since):
            return f"{self.title} came with Kafka {self.since}"
        if self.mode and self.mode != mode:
            return f"{self.title} is for {self.mode} mode"
        return ""


# Usual parameters of an operation, for the partition and broker under the cursor.
#
# Like a target selector, this looks at everything: it stands for an operator who knows the cluster.


RESTART_US: Final = 5 * SECOND
"""How long a broker stays down that one key shuts down and starts again."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A cluster, and the partition and broker that an operation is asked for."""

    cluster: Cluster
    partition: str
    """Empty where there is none."""
    broker: int

    @property
    def topic(self) -> str:
        """The partition's topic."""
        return topic_of(self.partition)

    @property
    def partitions(self) -> int:
        """How many the topic has."""
        return sum(topic_of(each) == self.topic for each in self.cluster.world.records)

    @property
    def replicas(self) -> tuple[int, ...]:
        """The partition's, the preferred leader first."""
        records = self.cluster.world.records
        return tuple(records[self.partition].assignment) if self.partition in records else ()

    @property
    def group(self) -> str:
        """A group that reads the topic, else any; empty if there is none."""
        groups = self.cluster.spec.groups
        names = [spec.name for spec in groups]
        return next((spec.name for spec in groups if self.topic in spec.topics), names[0] if names else "")

    def free_topic(self) -> str:
        """``topic-1``, or the first such name that is free."""
        taken = [topic_of(partition) for partition in self.cluster.world.records]
        number = 1
        while f"topic-{number}" in taken:
            number += 1
        return f"topic-{number}"


def _new_topic(cursor: Cursor) -> dict[str, Value]:
    return {"topic": cursor.free_topic(), "partitions": 3, "replication": min(3, len(cursor.cluster.brokers))}


def _another_factor(cursor: Cursor) -> dict[str, Value]:
    replicas = len(cursor.replicas)
    more = replicas < len(cursor.cluster.brokers)
    return {"topic": cursor.topic, "factor": replicas + 1 if more else max(1, replicas - 1)}


def _election(cursor: Cursor) -> dict[str, Value]:
    records, partition = cursor.cluster.world.records, cursor.partition
    offline = partition in records and records[partition].leader == NOBODY
    return {"partition": partition, "unclean": True} if offline else {"partition": partition}


def _another_min_isr(cursor: Cursor) -> dict[str, Value]:
    world, partition = cursor.cluster.world, cursor.partition
    needed = world.effective_min_isr(partition) if partition in world.records else 1
    return {"topic": cursor.topic, "set": (("min.insync.replicas", 2 if needed < 2 else 1),)}


def _moved(replicas: Sequence[int], broker: int, brokers: Sequence[int]) -> tuple[int, ...]:
    """On to the broker in the place of the last replica; off it, to the first one that has none, if it has one."""
    others = [each for each in brokers if each not in replicas]
    if broker not in replicas:
        return (*replicas[:-1], broker)
    if not others:
        return (*replicas[1:], *replicas[:1])
    return tuple(others[0] if each == broker else each for each in replicas)


def _move(cursor: Cursor) -> dict[str, Value]:
    brokers = _moved(cursor.replicas, cursor.broker, tuple(cursor.cluster.brokers))
    return {"partition": cursor.partition, "brokers": brokers}


def _reset_to_earliest(cursor: Cursor) -> dict[str, Value]:
    return {"group": cursor.group, "topics": (cursor.topic,), "to_earliest": True, "execute": True}


# The operations.


def _table(*operations: Operation) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for operation in operations:
        if operation.name in found:
            titles = f"{found[operation.name].title!r} and {operation.title!r}"
            raise DeclarationError(f"found the name {operation.name!r} of two operations, {titles}")
        found[operation.name] = operation
    return found


_TOPIC: Final = Param("topic", "topic", "The topic.")
_BROKER: Final = Param("broker", "broker", "The broker.")
_MOVED: Final = (
    Param("partition", "partition", "The partition to move.", default=""),
    Param("topic", "topic", "The topic, all of whose partitions move.", default=""),
)
_THROTTLE: Final = Param(
    "throttle",
    "int",
    "Bytes a second that the move may take on each broker; 0: no limit. Taken off again when the move is over.",
    default=0,
    high=1 << 40,
)

_GROUP: Final = Param("group", "group", "The consumer group; it need not be one of the playbook's.")
_STRATEGIES: Final = (
    Param("to_earliest", "bool", "Where each log begins.", default=False),
    Param("to_latest", "bool", "Its high watermark.", default=False),
    Param("to_current", "bool", "What is committed, else the high watermark.", default=False),
    Param("to_offset", "int", "This offset, or the nearest that the log has.", ALL, 0, 1 << 62),
    Param("shift_by", "int", "So many records on from what is committed, or back if negative.", "", -1 << 62, 1 << 62),
    Param(
        "to_datetime", "duration", "The first record of this time or later: virtual time since the start.", ALL, 0,
        10_000 * HOUR,
    ),
    Param("by_duration", "duration", "The first record of the last so much time.", ALL, 0, 10_000 * HOUR),
    Param("from_file", "offset lines", "Offsets as a file would say them: topic,partition,offset.", default=()),
)  # fmt: skip
_PARTITION: Final = Param("partition", "partition", "The partition.")
_LARGEST: Final = Param(
    "max_transaction_timeout",
    "duration",
    "The largest timeout that producers may have: what is open for longer is suspect.",
    HOUR // 4,
    0,
    10_000 * HOUR,
)
_STATES: Final = (
    "any", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling", "Dead",
)  # fmt: skip

OPERATIONS: Final = _table(
    Operation(
        name="create_topic",
        letter="c",
        title="create topic",
        summary="Makes a topic; its replicas are placed as given, or spread over the brokers as the version does.",
        params=(
            Param("topic", "new topic", "Name of the new topic."),
            Param("partitions", "int", "How many; -1: what num.partitions says.", ALL, ALL, MOST_PARTITIONS),
            Param(
                "replication", "int", "Replicas of each; -1: as default.replication.factor.", ALL, ALL, MOST_REPLICAS
            ),
            Param("placement", "placement", "The replicas of each partition, the preferred leader first.", default=()),
            Param("config", "topic config", "Configurations of its own.", default=()),
        ),
        may_break="nothing; a replica on a broker that is down is not in sync from the start",
        aliases=(Alias("create_topics"),),
        usual=_new_topic,
    ),
    Operation(
        name="delete_topic",
        letter="d",
        title="delete topic",
        summary="Deletes a topic with all its records.",
        params=(_TOPIC,),
        may_break="its producers and consumers; in ZooKeeper mode a broker that is down holds the deletion up",
        aliases=(Alias("delete_topics"),),
        usual=lambda cursor: {"topic": cursor.topic},
    ),
    Operation(
        name="add_partitions",
        letter="n",
        title="add partitions",
        summary="Gives a topic more partitions; it can never have fewer again.",
        params=(
            _TOPIC,
            Param("total", "int", "Partitions in all.", low=1, high=MOST_PARTITIONS),
            Param("placement", "placement", "The replicas of the new ones, the preferred leader first.", default=()),
        ),
        may_break="the order of records with keys: a key may belong to another partition from then on",
        aliases=(Alias("create_partitions"),),
        usual=lambda cursor: {"topic": cursor.topic, "total": cursor.partitions + 1},
    ),
    Operation(
        name="reassign",
        letter="m",
        title="move replicas",
        summary="Moves a partition, or all those of a topic, to other brokers, and waits until the new replicas are in "
        "sync and the old ones gone; with cancel takes such a move back.",
        params=(
            *_MOVED,
            Param("brokers", "brokers", "Where to, the preferred leader first; a topic is spread over them.", ()),
            _THROTTLE,
            Param("cancel", "bool", "Take a move under way back instead.", default=False),
        ),
        may_break="latency while the new replicas fetch whole logs; a throttle below the load never lets them catch up",
        one_of=("partition", "topic"),
        aliases=(
            Alias("reassign_partitions"),
            Alias("alter_partition_reassignments"),
        ),
        usual=_move,
    ),
    Operation(
        name="set_replication",
        letter="f",
        title="replication factor",
        summary="Changes how many replicas a topic's partitions have, by a reassignment: new ones go to the brokers "
        "with the fewest, and what is too much is taken from the end of each list.",
        params=(
            _TOPIC,
            Param("factor", "int", "Replicas of each partition.", low=1, high=MOST_REPLICAS),
            _THROTTLE,
        ),
        may_break="as a move does; with fewer replicas, how many brokers may fail",
        usual=_another_factor,
    ),
    Operation(
        name="elect_leaders",
        letter="e",
        title="elect leaders",
        summary="Elects the preferred leader, or with unclean any live replica where nobody leads.",
        params=(
            Param("partition", "partition", "The partition; all of them unless given.", default=""),
            Param("unclean", "bool", "Allow a replica from outside the ISR, where nobody leads.", default=False),
        ),
        may_break="records that the unclean leader lacks, acks=all ones among them",
        aliases=(Alias("leader_election"),),
        usual=_election,
    ),
    Operation(
        name="alter_topic_config",
        letter="t",
        title="topic configuration",
        summary="Changes a topic's configurations while it is in use.",
        params=(
            _TOPIC,
            Param("set", "topic config", "Configurations and their new values.", default=()),
            Param("reset", "topic keys", "Configurations that go back to the brokers' own.", default=()),
        ),
        may_break="what the configuration holds together: acks=all below min.insync.replicas, retention, elections",
        usual=_another_min_isr,
    ),
    Operation(
        name="alter_broker_config",
        letter="b",
        title="broker configuration",
        summary="Changes the configurations of one broker, or of all of them, while they run.",
        params=(
            Param("broker", "broker", "The broker; all of them unless given.", default=ALL),
            Param("set", "broker config", "Configurations and their new values.", default=()),
            Param("reset", "broker keys", "Those that go back to what the brokers started with.", default=()),
        ),
        may_break="what the configuration holds together, on every topic that has none of its own",
        since="1.1",
        usual=lambda _cursor: {"set": (("unclean.leader.election.enable", True),)},
    ),
    Operation(
        name="delete_records",
        letter="x",
        title="delete records",
        summary="Deletes a partition's records below an offset, and waits until every live replica has.",
        params=(
            Param("partition", "partition", "The partition."),
            Param("before", "int", "The first offset that is kept; -1: the high watermark.", ALL, ALL, 1 << 62),
        ),
        may_break="consumers that have yet to read them: they are out of range",
        since="0.11",
        usual=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="shutdown",
        letter="s",
        title="shut down",
        summary="Stops a broker in order (SIGTERM): it hands its leaderships over, flushes its logs and exits.",
        params=(
            _BROKER,
            Param("restart_after", "duration", "Starts it again so long after it is down; never unless given.", ALL),
        ),
        may_break="partitions of which it held the last replica in sync",
        usual=lambda cursor: {"broker": cursor.broker, "restart_after": RESTART_US},
    ),
    Operation(
        name="decommission",
        letter="w",
        title="decommission",
        summary="Moves every replica off a broker, shuts it down, and in KRaft mode unregisters it.",
        params=(_BROKER, _THROTTLE),
        may_break="as a move does; never ends while there are too few other brokers",
        since="2.4",
        usual=lambda cursor: {"broker": cursor.broker},
    ),
    Operation(
        name="rolling_restart",
        letter="o",
        title="rolling restart",
        summary="Restarts brokers one after the other, each shut down in order.",
        params=(
            Param("brokers", "brokers", "Which, in this order; all by their ids unless given.", default=()),
            Param(
                "wait",
                "choice",
                "Before the next broker: until no partition lacks a replica in sync (isr), or only the pause (none).",
                default="isr",
                choices=("isr", "none"),
            ),
            Param("pause", "duration", "From one broker's being back to the next one's shutdown.", default=0),
            Param("down", "duration", "How long each stays down.", default=500 * MS),
        ),
        may_break="with wait: none, two replicas of a partition may be out of its ISR at a time",
        aliases=(Alias("rolling_bounce"),),
    ),
    Operation(
        name="reset_offsets",
        letter="r",
        title="reset offsets",
        summary="Moves what a group without members has committed, by one of the strategies; a dry run that only tells "
        "the new offsets, unless executed.",
        params=(
            _GROUP,
            Param("topics", "scopes", "Topics, or only some partitions of one, as in orders:0,2.", default=()),
            Param("all_topics", "bool", "Every partition that the group has committed.", default=False),
            *_STRATEGIES,
            Param("execute", "bool", "Commit the new offsets, not only tell them.", default=False),
        ),
        may_break="what is skipped, or processed again, once the group has members",
        since="0.11",
        one_of=tuple(param.name for param in _STRATEGIES),
        usual=_reset_to_earliest,
    ),
    Operation(
        name="describe_group",
        letter="g",
        title="describe group",
        summary="Tells a group's committed offsets with their lag, its members or its state.",
        params=(
            _GROUP,
            Param(
                "show",
                "choice",
                "Which of the tool's tables.",
                default="offsets",
                choices=("offsets", "members", "state"),
            ),
            Param("verbose", "bool", "Tell the members' partitions too.", default=False),
        ),
        may_break="nothing",
        since="0.9",
        aliases=(Alias("describe_consumer_groups"),),
        usual=lambda cursor: {"group": cursor.group},
    ),
    Operation(
        name="list_groups",
        letter="l",
        title="list groups",
        summary="Asks every broker for the groups that it coordinates.",
        params=(Param("state", "choice", "Only groups in this state (2.6).", default="any", choices=_STATES),),
        may_break="nothing",
        since="0.9",
        aliases=(Alias("list_consumer_groups"),),
    ),
    Operation(
        name="delete_group",
        letter="k",
        title="delete group",
        summary="Deletes a group without members, and all that it has committed.",
        params=(_GROUP,),
        may_break="where its members begin when it is used again: auto.offset.reset decides",
        since="1.1",
        aliases=(Alias("delete_consumer_groups"),),
        usual=lambda cursor: {"group": cursor.group},
    ),
    Operation(
        name="delete_offsets",
        letter="u",
        title="delete offsets",
        summary="Deletes what a group has committed for topics that none of its members subscribes to.",
        params=(_GROUP, Param("topics", "scopes", "Topics, or only some partitions of one, as in orders:0,2.")),
        may_break="where a member begins that subscribes to them again",
        since="2.4",
        aliases=(Alias("delete_consumer_group_offsets"),),
        usual=lambda cursor: {"group": cursor.group, "topics": (cursor.topic,)},
    ),
    Operation(
        name="list_transactions",
        letter="i",
        title="list transactions",
        summary="Asks every broker for the transactional ids that it coordinates, and their states.",
        params=(),
        may_break="nothing",
        since="3.0",
    ),
    Operation(
        name="describe_producers",
        letter="p",
        title="describe producers",
        summary="Tells what a partition's leader knows of the producers that wrote to it, and where their transactions "
        "begin.",
        params=(_PARTITION,),
        may_break="nothing",
        since="3.0",
        usual=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="find_hanging",
        letter="h",
        title="find hanging",
        summary="Finds transactions open for longer than any timeout allows, that no coordinator will end.",
        params=(
            Param("partition", "partition", "The partition to search.", default=""),
            Param("topic", "topic", "The topic, all of whose partitions are searched.", default=""),
            _LARGEST,
        ),
        may_break="nothing",
        since="3.0",
        one_of=("partition", "topic"),
        usual=lambda cursor: {"topic": cursor.topic},
    ),
    Operation(
        name="abort_transaction",
        letter="a",
        title="abort transaction",
        summary="Ends a transaction in one partition by an ABORT marker: the one that begins at an offset, or the "
        "first that hangs.",
        params=(
            _PARTITION,
            Param("start_offset", "int", "Where it begins; -1: the first one that hangs.", ALL, ALL, 1 << 62),
            _LARGEST,
        ),
        may_break="a transaction that does not hang: part of it is aborted, whatever becomes of the rest",
        since="3.0",
        usual=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="cancel",
        letter="z",
        title="cancel",
        summary="Ends an operation before its time: a move is taken back, a rolling restart stops after its broker.",
        params=(Param("operation", "text", "Number of the operation, its name, or all.", default="all"),),
        may_break="nothing; replicas that had been added go away again",
    ),
)
"""Operations by name."""

POLL_US: Final = SECOND
"""How often an operator looks whether something is done."""


def nearest_operation(name: str) -> str:
    """A hint at the operation that was perhaps meant, empty if none is near."""
    near = difflib.get_close_matches(name, OPERATIONS, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def usual(name: str, cluster: Cluster, partition: str, broker: int) -> Action:
    """The operation as a key asks for it; ``partition`` may be empty where there is none."""
    params = OPERATIONS[name].usual(Cursor(cluster, partition, broker))
    return Action("admin", name, "", {key: value for key, value in params.items() if value not in ("", None)})
