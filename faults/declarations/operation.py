"""Declarations of every admin operation, with usual parameters for one partition and broker.

Each operation does what one of Kafka's tools does (``kafka-topics.sh``, ``kafka-reassign-partitions.sh``,
``kafka-configs.sh``, ``kafka-leader-election.sh``, ``kafka-delete-records.sh``, ``kafka-cluster.sh``,
``kafka-consumer-groups.sh``, ``kafka-transactions.sh``), or what an operator does with several of them.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.broker import topic_of
from cluster_model.cluster import Cluster
from cluster_model.protocol.features import METADATA_FEATURE
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.releases import Version, parse_version
from cluster_model.protocol.versions import ELR_FEATURE, GROUP_FEATURE, NEWEST, TRANSACTION_FEATURE
from faults.declarations.fault import HOUR, MS, SECOND, Action, Alias, DeclarationError, Param, Value

ALL_FEATURES: Final = "all"
ALL: Final = -1
"""As a broker: all brokers. As a number: Kafka's own default."""
MOST_PARTITIONS: Final = 10_000
MOST_REPLICAS: Final = 100


@dataclass(frozen=True, slots=True)
class Operation:
    """Declaration of one admin operation: its names, parameters and what it may break."""

    name: str
    letter: str
    """Its key in the TUI, after ``a``."""
    title: str
    summary: str
    """One sentence on the effect of the operation."""
    params: tuple[Param, ...]
    may_break: str
    """Failures that an operator may observe."""
    since: str = ""
    """First Kafka release that supports it; empty: every release."""
    mode: str = ""
    """``kraft`` or ``zookeeper`` if only one mode supports it."""
    one_of: tuple[str, ...] = ()
    """Parameters of which exactly one must be given."""
    aliases: tuple[Alias, ...] = ()
    """Other names, from Kafka's Admin client and its tools."""
    default_params: Callable[["OperationTarget"], dict[str, Value]] = lambda _cursor: {}
    """Parameters used when a key in the TUI starts the operation; empty values are left out."""

    default_duration_us: int = -1
    """Always -1, as for a fault without a usual duration: no operation lasts for a given time."""

    def param(self, name: str) -> Param | None:
        """Return the parameter with this name or earlier name, or None."""
        return next((param for param in self.params if name and name in (param.name, param.old)), None)

    def unsupported_reason(self, kafka: Version, mode: str) -> str:
        """Return why a Kafka version does not support the operation in a mode (empty: unknown); empty if it does."""
        if self.since and kafka < parse_version(self.since):
            return f"{self.title} requires Kafka {self.since}"
        if self.mode and mode and self.mode != mode:
            return f"{self.title} requires {self.mode} mode"
        return ""


# Usual parameters of an operation, for the partition and broker under the cursor.
#
# Like a target selector, this reads the whole cluster state, as an operator who knows the cluster would.


RESTART_US: Final = 5 * SECOND
"""Downtime of a broker that one key shuts down and restarts, in microseconds."""


@dataclass(frozen=True, slots=True)
class OperationTarget:
    """The cluster with the partition and broker that an operation applies to."""

    cluster: Cluster
    partition: str
    """Empty if there is none."""
    broker: int

    @property
    def topic(self) -> str:
        """Topic of the partition."""
        return topic_of(self.partition)

    @property
    def partitions(self) -> int:
        """Number of partitions of the topic."""
        return sum(topic_of(each) == self.topic for each in self.cluster.cluster_state.records)

    @property
    def replicas(self) -> tuple[int, ...]:
        """Replicas of the partition, the preferred leader first."""
        records = self.cluster.cluster_state.records
        return tuple(records[self.partition].assignment) if self.partition in records else ()

    @property
    def group(self) -> str:
        """A group that reads the topic, else any group; empty if there is none."""
        groups = self.cluster.spec.groups
        names = [spec.name for spec in groups]
        return next((spec.name for spec in groups if self.topic in spec.topics), names[0] if names else "")

    def free_topic(self) -> str:
        """Return ``topic-1``, or the first unused name of this form."""
        taken = [topic_of(partition) for partition in self.cluster.cluster_state.records]
        number = 1
        while f"topic-{number}" in taken:
            number += 1
        return f"topic-{number}"


def _new_topic(cursor: OperationTarget) -> dict[str, Value]:
    return {"topic": cursor.free_topic(), "partitions": 3, "replication": min(3, len(cursor.cluster.brokers))}


def _another_factor(cursor: OperationTarget) -> dict[str, Value]:
    replicas = len(cursor.replicas)
    more = replicas < len(cursor.cluster.brokers)
    return {"topic": cursor.topic, "factor": replicas + 1 if more else max(1, replicas - 1)}


def _election(cursor: OperationTarget) -> dict[str, Value]:
    records, partition = cursor.cluster.cluster_state.records, cursor.partition
    offline = partition in records and records[partition].leader == NO_LEADER
    return {"partition": partition, "unclean": True} if offline else {"partition": partition}


def _another_min_isr(cursor: OperationTarget) -> dict[str, Value]:
    cluster_state, partition = cursor.cluster.cluster_state, cursor.partition
    needed = cluster_state.effective_min_isr(partition) if partition in cluster_state.records else 1
    return {"topic": cursor.topic, "set": (("min.insync.replicas", 2 if needed < 2 else 1),)}


def _moved(replicas: Sequence[int], broker: int, brokers: Sequence[int]) -> tuple[int, ...]:
    """Return the replicas with the broker as the last one, or without it if it is one of them already.

    A broker that is removed is replaced by the first broker without a replica; if there is none, the list is rotated.
    """
    others = [each for each in brokers if each not in replicas]
    if broker not in replicas:
        return (*replicas[:-1], broker)
    if not others:
        return (*replicas[1:], *replicas[:1])
    return tuple(others[0] if each == broker else each for each in replicas)


def _move(cursor: OperationTarget) -> dict[str, Value]:
    brokers = _moved(cursor.replicas, cursor.broker, tuple(cursor.cluster.brokers))
    return {"partition": cursor.partition, "brokers": brokers}


def _reset_to_earliest(cursor: OperationTarget) -> dict[str, Value]:
    return {"group": cursor.group, "topics": (cursor.topic,), "to_earliest": True, "execute": True}


# The operations.


def _table(*operations: Operation) -> dict[str, Operation]:
    by_name: dict[str, Operation] = {}
    for operation in operations:
        if operation.name in by_name:
            titles = f"{by_name[operation.name].title!r} and {operation.title!r}"
            raise DeclarationError(f"found the name {operation.name!r} of two operations, {titles}")
        by_name[operation.name] = operation
    return by_name


_TOPIC: Final = Param("topic", "topic", "The topic.")
_BROKER: Final = Param("broker", "broker", "The broker.")
_MOVED: Final = (
    Param("partition", "partition", "The partition to move.", default=""),
    Param("topic", "topic", "The topic whose partitions all move.", default=""),
)
_THROTTLE: Final = Param(
    "throttle",
    "int",
    "Bytes per second that the move may use on each broker; 0: no limit. Removed when the move is over.",
    default=0,
    high=1 << 40,
)

_ORDER: Final = Param(
    "brokers",
    "brokers",
    "Brokers in the order of their restarts; all, ordered by id, by default.",
    default=(),
)
_WAIT: Final = Param(
    "wait",
    "choice",
    "Before the next broker: wait until all replicas are in sync (isr), or only for the pause (none).",
    default="isr",
    choices=("isr", "none"),
)
_DOWN: Final = Param("down", "duration", "How long each stays down.", default=500 * MS)

_GROUP: Final = Param("group", "group", "The consumer group; it need not be defined in the playbook.")
_STRATEGIES: Final = (
    Param("to_earliest", "bool", "The start of each log.", default=False),
    Param("to_latest", "bool", "The high watermark of each partition.", default=False),
    Param("to_current", "bool", "The committed offset, else the high watermark.", default=False),
    Param("to_offset", "int", "This offset, or the nearest one in the log.", ALL, 0, 1 << 62),
    Param("shift_by", "int", "Records to skip after the committed offset; back if negative.", "", -1 << 62, 1 << 62),
    Param(
        "to_datetime", "duration", "The first record at or after this time: virtual time since the start.", ALL, 0,
        10_000 * HOUR,
    ),
    Param("by_duration", "duration", "The first record within this duration before now.", ALL, 0, 10_000 * HOUR),
    Param("from_file", "offset lines", "Offsets as lines of a CSV file: topic,partition,offset.", default=()),
)  # fmt: skip
_PARTITION: Final = Param("partition", "partition", "The partition.")
_LARGEST: Final = Param(
    "max_transaction_timeout",
    "duration",
    "The largest transaction timeout of producers: transactions open for longer are suspect.",
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
        summary="Creates a topic; its replicas are placed as given, or spread over the brokers as the Kafka version "
        "does.",
        params=(
            Param("topic", "new topic", "Name of the new topic."),
            Param("partitions", "int", "Number of partitions; -1: num.partitions.", ALL, ALL, MOST_PARTITIONS),
            Param(
                "replication",
                "int",
                "Replicas of each partition; -1: default.replication.factor.",
                ALL,
                ALL,
                MOST_REPLICAS,
            ),
            Param("placement", "placement", "The replicas of each partition, the preferred leader first.", default=()),
            Param("config", "topic config", "Configuration overrides of the topic.", default=()),
        ),
        may_break="nothing; a replica on a broker that is down starts out of sync",
        aliases=(Alias("create_topics"),),
        default_params=_new_topic,
    ),
    Operation(
        name="delete_topic",
        letter="d",
        title="delete topic",
        summary="Deletes a topic with all its records.",
        params=(_TOPIC,),
        may_break="its producers and consumers; in ZooKeeper mode a broker that is down delays the deletion",
        aliases=(Alias("delete_topics"),),
        default_params=lambda cursor: {"topic": cursor.topic},
    ),
    Operation(
        name="add_partitions",
        letter="n",
        title="add partitions",
        summary="Increases the partition count of a topic; it can never be decreased.",
        params=(
            _TOPIC,
            Param("total", "int", "New total number of partitions.", low=1, high=MOST_PARTITIONS),
            Param(
                "placement", "placement", "The replicas of the new partitions, the preferred leader first.", default=()
            ),
        ),
        may_break="the order of records with keys: a key may map to another partition from then on",
        aliases=(Alias("create_partitions"),),
        default_params=lambda cursor: {"topic": cursor.topic, "total": cursor.partitions + 1},
    ),
    Operation(
        name="reassign",
        letter="m",
        title="move replicas",
        summary="Moves a partition, or all partitions of a topic, to other brokers, and waits until the new replicas "
        "are in sync and the old ones are removed; with cancel, cancels such a move.",
        params=(
            *_MOVED,
            Param("brokers", "brokers", "Target brokers, the preferred leader first; a topic is spread over them.", ()),
            _THROTTLE,
            Param("cancel", "bool", "Cancel a move in progress instead.", default=False),
        ),
        may_break="latency while the new replicas fetch whole logs; with a throttle below the produce rate they never "
        "catch up",
        one_of=("partition", "topic"),
        aliases=(
            Alias("reassign_partitions"),
            Alias("alter_partition_reassignments"),
        ),
        default_params=_move,
    ),
    Operation(
        name="set_replication",
        letter="f",
        title="replication factor",
        summary="Changes the replication factor of a topic by a reassignment: new replicas go to the brokers with the "
        "fewest, surplus ones are removed from the end of each list.",
        params=(
            _TOPIC,
            Param("factor", "int", "Replicas of each partition.", low=1, high=MOST_REPLICAS),
            _THROTTLE,
        ),
        may_break="the same as moving replicas; with fewer replicas, fewer brokers may fail",
        default_params=_another_factor,
    ),
    Operation(
        name="elect_leaders",
        letter="e",
        title="elect leaders",
        summary="Elects the preferred leader, or with unclean any live replica of a partition without a leader.",
        params=(
            Param("partition", "partition", "The partition; all partitions by default.", default=""),
            Param("unclean", "bool", "Allow a replica outside the ISR, if the partition has no leader.", default=False),
        ),
        may_break="records that the unclean leader lacks, including acks=all records",
        aliases=(Alias("leader_election"),),
        default_params=_election,
    ),
    Operation(
        name="alter_topic_config",
        letter="t",
        title="topic configuration",
        summary="Changes the configuration of a topic while it is in use.",
        params=(
            _TOPIC,
            Param("set", "topic config", "Configurations and their new values.", default=()),
            Param("reset", "topic keys", "Configurations to reset to the brokers' values.", default=()),
        ),
        may_break="whatever the configuration protects: acks=all below min.insync.replicas, retention, elections",
        default_params=_another_min_isr,
    ),
    Operation(
        name="alter_broker_config",
        letter="b",
        title="broker configuration",
        summary="Changes the configuration of one broker, or of all brokers, while they run.",
        params=(
            Param("broker", "broker", "The broker; all brokers by default.", default=ALL),
            Param("set", "broker config", "Configurations and their new values.", default=()),
            Param(
                "reset",
                "broker keys",
                "Configurations to reset to the values that the brokers started with.",
                default=(),
            ),
        ),
        may_break="whatever the configuration protects, on every topic that does not override it",
        since="1.1",
        default_params=lambda _cursor: {"set": (("unclean.leader.election.enable", True),)},
    ),
    Operation(
        name="delete_records",
        letter="x",
        title="delete records",
        summary="Deletes a partition's records below an offset, and waits until every live replica has deleted them.",
        params=(
            Param("partition", "partition", "The partition."),
            Param("before", "int", "The first offset to keep; -1: the high watermark.", ALL, ALL, 1 << 62),
        ),
        may_break="consumers that have yet to read the records: their offsets are out of range",
        since="0.11",
        default_params=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="shutdown",
        letter="s",
        title="shut down",
        summary="Shuts a broker down cleanly (SIGTERM): it transfers its leaderships, flushes its logs and exits.",
        params=(
            _BROKER,
            Param(
                "restart_after",
                "duration",
                "Restart the broker after it has been down for this long; never by default.",
                ALL,
            ),
        ),
        may_break="partitions of which it held the last in-sync replica",
        default_params=lambda cursor: {"broker": cursor.broker, "restart_after": RESTART_US},
    ),
    Operation(
        name="decommission",
        letter="w",
        title="decommission",
        summary="Moves every replica off a broker, shuts it down, and in KRaft mode unregisters it.",
        params=(_BROKER, _THROTTLE),
        may_break="the same as moving replicas; it never ends while there are too few other brokers",
        since="2.4",
        default_params=lambda cursor: {"broker": cursor.broker},
    ),
    Operation(
        name="rolling_restart",
        letter="o",
        title="rolling restart",
        summary="Restarts brokers one after another, each with a clean shutdown.",
        params=(
            _ORDER,
            _WAIT,
            Param("pause", "duration", "Pause between one broker's return and the next broker's shutdown.", default=0),
            _DOWN,
        ),
        may_break="with wait: none, two replicas of a partition may be out of sync at the same time",
        aliases=(Alias("rolling_bounce"),),
    ),
    Operation(
        name="rolling_upgrade",
        letter="v",
        title="rolling upgrade",
        summary="Restarts nodes one after another with the software of another release. The protocol between them "
        "and the feature levels stay, until they are upgraded too.",
        params=(
            Param("to", "release", "The release to upgrade to: a line, which is its last patch, or a patch."),
            _ORDER,
            Param("controllers", "bool", "Upgrade the dedicated KRaft controllers first.", default=True),
            Param(
                "protocol",
                "release",
                "ZooKeeper mode: restart with the inter.broker.protocol.version of this release; unchanged by default.",
                default="",
            ),
            _WAIT,
            Param("pause", "duration", "Pause between one node's return and the next node's shutdown.", default=0),
            _DOWN,
        ),
        may_break="what the new release changes; with wait: none, two replicas may be out of sync at the same time",
        default_params=lambda _cursor: {"to": NEWEST},
    ),
    Operation(
        name="upgrade_features",
        letter="y",
        title="upgrade features",
        summary="Raises feature levels such as metadata.version to those of a release, as kafka-features.sh upgrade "
        "--release-version does. Kafka refuses while a broker is too old for them.",
        params=(
            Param("release", "release", "The release whose levels are to be used."),
            Param(
                "feature",
                "choice",
                "The feature to upgrade.",
                default=ALL_FEATURES,
                choices=(ALL_FEATURES, METADATA_FEATURE, GROUP_FEATURE, TRANSACTION_FEATURE, ELR_FEATURE),
            ),
        ),
        may_break="the way back: a cluster with new levels cannot return to the old release",
        since="3.3",
        mode="kraft",
        default_params=lambda _cursor: {"release": NEWEST},
    ),
    Operation(
        name="reset_offsets",
        letter="r",
        title="reset offsets",
        summary="Changes the committed offsets of a group without members, by one of the strategies; without execute "
        "it is a dry run that only shows the new offsets.",
        params=(
            _GROUP,
            Param("topics", "scopes", "Topics, or some partitions of one, such as orders:0,2.", default=()),
            Param("all_topics", "bool", "Every partition for which the group has committed an offset.", default=False),
            *_STRATEGIES,
            Param("execute", "bool", "Commit the new offsets instead of only showing them.", default=False),
        ),
        may_break="records that are skipped, or processed again, once the group has members",
        since="0.11",
        one_of=tuple(param.name for param in _STRATEGIES),
        default_params=_reset_to_earliest,
    ),
    Operation(
        name="describe_group",
        letter="g",
        title="describe group",
        summary="Shows a group's committed offsets with their lag, its members, or its state.",
        params=(
            _GROUP,
            Param(
                "show",
                "choice",
                "Which table of the tool to show.",
                default="offsets",
                choices=("offsets", "members", "state"),
            ),
            Param("verbose", "bool", "Show the members' partitions too.", default=False),
        ),
        may_break="nothing",
        since="0.9",
        aliases=(Alias("describe_consumer_groups"),),
        default_params=lambda cursor: {"group": cursor.group},
    ),
    Operation(
        name="list_groups",
        letter="l",
        title="list groups",
        summary="Queries every broker for the groups that it coordinates.",
        params=(
            Param("state", "choice", "Only groups in this state (Kafka 2.6 or later).", default="any", choices=_STATES),
        ),
        may_break="nothing",
        since="0.9",
        aliases=(Alias("list_consumer_groups"),),
    ),
    Operation(
        name="delete_group",
        letter="k",
        title="delete group",
        summary="Deletes a group without members, and all its committed offsets.",
        params=(_GROUP,),
        may_break="the starting position of its members when it is used again: auto.offset.reset decides",
        since="1.1",
        aliases=(Alias("delete_consumer_groups"),),
        default_params=lambda cursor: {"group": cursor.group},
    ),
    Operation(
        name="delete_offsets",
        letter="u",
        title="delete offsets",
        summary="Deletes a group's committed offsets for topics to which no member subscribes.",
        params=(_GROUP, Param("topics", "scopes", "Topics, or some partitions of one, such as orders:0,2.")),
        may_break="the starting position of a member that subscribes to them again",
        since="2.4",
        aliases=(Alias("delete_consumer_group_offsets"),),
        default_params=lambda cursor: {"group": cursor.group, "topics": (cursor.topic,)},
    ),
    Operation(
        name="list_transactions",
        letter="i",
        title="list transactions",
        summary="Queries every broker for the transactional ids that it coordinates, and their states.",
        params=(),
        may_break="nothing",
        since="3.0",
    ),
    Operation(
        name="describe_producers",
        letter="p",
        title="describe producers",
        summary="Shows the producer state of a partition's leader: the producers that wrote to the partition, and "
        "where their transactions begin.",
        params=(_PARTITION,),
        may_break="nothing",
        since="3.0",
        default_params=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="find_hanging",
        letter="h",
        title="find hanging",
        summary="Finds transactions that are open for longer than any timeout allows and that no coordinator will end.",
        params=(
            Param("partition", "partition", "The partition to search.", default=""),
            Param("topic", "topic", "The topic whose partitions are all searched.", default=""),
            _LARGEST,
        ),
        may_break="nothing",
        since="3.0",
        one_of=("partition", "topic"),
        default_params=lambda cursor: {"topic": cursor.topic},
    ),
    Operation(
        name="abort_transaction",
        letter="a",
        title="abort transaction",
        summary="Ends a transaction in one partition with an ABORT marker: the one that begins at the given offset, "
        "or the first hanging one.",
        params=(
            _PARTITION,
            Param(
                "start_offset", "int", "First offset of the transaction; -1: the first hanging one.", ALL, ALL, 1 << 62
            ),
            _LARGEST,
        ),
        may_break="a transaction that is not hanging: part of it is aborted, whatever the outcome of the rest",
        since="3.0",
        default_params=lambda cursor: {"partition": cursor.partition},
    ),
    Operation(
        name="cancel",
        letter="z",
        title="cancel",
        summary="Cancels an operation in progress: a move is reverted, a rolling restart stops after the current "
        "broker.",
        params=(Param("operation", "text", "Number of the operation, its name, or all.", default="all"),),
        may_break="nothing; replicas added by the operation are removed again",
    ),
)
"""Operations by name."""

POLL_US: Final = SECOND
"""Interval at which an operator checks whether an operation is done, in microseconds."""


def nearest_operation(name: str) -> str:
    """Return a hint with the most similar operation name; empty if none is similar."""
    near = difflib.get_close_matches(name, OPERATIONS, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def default_action(name: str, cluster: Cluster, partition: str, broker: int) -> Action:
    """Return the operation with its usual parameters, as a key in the TUI starts it.

    ``partition`` may be empty if there is none.
    """
    params = OPERATIONS[name].default_params(OperationTarget(cluster, partition, broker))
    return Action("admin", name, "", {key: value for key, value in params.items() if value not in ("", None)})
