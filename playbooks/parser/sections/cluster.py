"""Parser of cluster, topics and clients to the checked specification of the cluster."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.clients.consumer import GroupSettings, reset_policy
from cluster_model.clients.producer import ProducerConfig
from cluster_model.coordinators.group.consumer_protocol import enabled
from cluster_model.protocol.admin_messages import TOPIC_NAME
from cluster_model.protocol.config_defaults import check_release
from cluster_model.protocol.config_defs import SCOPES, ConfigKey, ConfigValue, Scope, check
from cluster_model.protocol.configs import WRITEBACK_US, ConsumerConfig, TopicConfig
from cluster_model.protocol.errors import ConfigConflictError, ModelError
from cluster_model.protocol.releases import RELEASE_LINES, RELEASES, number_of, unknown_hint
from cluster_model.protocol.versions import DEFAULT_RELEASE, FLAG_BY_NAME, Profile, modes_of
from cluster_model.spec import (
    COMMIT_MODES,
    DEFAULT_QUORUM,
    MAX_BROKER,
    QUORUM_SIZES,
    SEND_MODES,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
)
from cluster_model.util.quantities import counted, listed
from playbooks.errors import nearest, shown
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    NAME,
    BooleanType,
    BrokerId,
    ChoiceType,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    Record,
    Reference,
    Schema,
    TextType,
    TypeByShape,
)
from playbooks.parser.document.includes import FROM
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, found
from playbooks.parser.sections.clients import (
    KEYS,
    LOOP,
    RATE_OF_RECORDS,
    RECORDS,
    SENDING,
    SIZES,
    TRANSACTIONS,
    KeysToPartitions,
    Pattern,
    check_placing,
    conflict,
    dead_letter,
    racks,
    read_keys,
    read_loop,
    read_output,
    read_rate,
    read_sending,
    read_sizes,
    read_transactions,
    subscription,
)

# Tables of a playbook's cluster, topics and clients: every key with its type and a line of documentation.


MAX_BROKERS: Final = 100
MAX_PARTITIONS: Final = 10_000
"""Maximum number of partitions of one topic."""
MAX_TOPICS: Final = 5_000
MOST_PRODUCERS: Final = 1_000
MOST_MEMBERS: Final = 500
"""Maximum number of members of one group."""
MOST_CONSUMERS: Final = 1_000
"""Maximum number of consumers of all groups."""
QUORUM_ALLOWED: Final = "1, 3 or 5"
CONTROLLERS_ALLOWED: Final = "1, 3 or 5, or a list of as many brokers"
BROKERS_ALLOWED: Final = f"a number of brokers from 1 to {MAX_BROKERS}, or a list of {{id, rack}}"


@dataclass(frozen=True, slots=True)
class Config(FieldType):
    """Kafka's configuration of one scope; parsed to name → value in the configuration's type."""

    scope: Scope

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Mapping):
            notes.refuse(
                node, key, f"a mapping of {self.scope} configurations, such as {next(iter(SCOPES[self.scope]))}"
            )
            return BAD
        values: dict[str, ConfigValue] = {}
        for name, (where, value) in node.entries.items():
            if not isinstance(value, Scalar) or value.empty:
                notes.problem(value, f"{key}.{name}", f"found {found(value)}, expected a single value")
                continue
            try:
                values[name] = check(self.scope, name, _typed(SCOPES[self.scope].get(name), value))
            except ModelError as error:
                unknown = name not in SCOPES[self.scope]
                notes.problem(where if unknown else value, f"{key}.{shown(name)[1:-1]}", str(error))
        return values if len(values) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        properties = {name: _config_schema(entry) for name, entry in SCOPES[self.scope].items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}


def check_releases(scope: Scope, fields: Fields, name: str, kafka: str, notes: ErrorNotes) -> bool:
    """Report each configuration under a key that this release of Kafka lacks; return whether it has all of them."""
    node, version = fields.at(name), number_of(kafka)
    if not fields.given(name) or fields.bad(name) or not isinstance(node, Mapping):
        return True
    has_all = True
    for key, (where, _value) in node.entries.items():
        try:
            check_release(scope, key, version)
        except ConfigConflictError as error:
            notes.problem(
                where, f"{fields.path(name)}.{key}", f"found a configuration that Kafka {kafka} lacks: {error}"
            )
            has_all = False
    return has_all


def note_conflict(error: ModelError, fields: Fields, name: str, notes: ErrorNotes) -> None:
    """Report a conflict of configurations, at the offending one if it is known."""
    node, path = fields.at(name), fields.path(name)
    if isinstance(error, ConfigConflictError) and isinstance(node, Mapping) and error.key in node.entries:
        node, path = node.entries[error.key][1], f"{path}.{error.key}"
    notes.problem(node, path, f"found {conflict(error)}: {error}")


def _typed(key: ConfigKey | None, value: Scalar) -> ConfigValue:
    """Convert a number without quotes if the configuration is a number; other values stay text."""
    if key is not None and key.type == "int" and value.plain and re.fullmatch(r"-?[0-9]{1,19}", value.text, re.ASCII):
        return int(value.text)
    return value.text


def _config_schema(key: ConfigKey) -> Schema:
    if key.type == "int":
        return {"type": "integer", "minimum": key.low, "maximum": key.high, "description": key.doc}
    if key.type == "ratio":
        return {"type": "number", "minimum": 0, "maximum": 1, "description": key.doc}
    if key.type == "bool":
        return {"type": "boolean", "description": key.doc}
    if not key.choices:
        return {"type": ["string", "integer"], "pattern": f"^({key.pattern})$", "description": key.doc}
    numbers = [int(choice) for choice in key.choices if choice.isdigit()]
    numbers += [-1] if "all" in key.choices else []  # Kafka's numeric value of "all"
    return {"enum": [*key.choices, *numbers], "description": key.doc}


@dataclass(frozen=True, slots=True)
class KafkaVersion(FieldType):
    """A release line or a patch release. It is compared as text: ``4.10`` is not ``4.1``."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Scalar) and node.text in RELEASES:
            return node.text
        hint = unknown_hint(node.text) if isinstance(node, Scalar) else ""
        notes.refuse(node, key, f"one of {', '.join(RELEASE_LINES)}, or a patch release such as 3.6.1{hint}")
        return BAD

    def _schema(self) -> Schema:
        numbers = [float(version) for version in RELEASE_LINES if version.count(".") == 1]
        return {"enum": [*RELEASES, *numbers]}


RULES_ALLOWED: Final = "a mapping of rules to true or false, such as fenced_last_known: false"


@dataclass(frozen=True, slots=True)
class Rules(FieldType):
    """Rules of the release that are switched on or off, by name."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Mapping):
            notes.refuse(node, key, RULES_ALLOWED)
            return BAD
        rules: dict[str, bool] = {}
        for name, (where, value) in node.entries.items():
            if name not in FLAG_BY_NAME:
                message = f"found {shown(name)}, expected a rule of: floodmark profiles{nearest(name, FLAG_BY_NAME)}"
                notes.problem(where, key, message)
                continue
            on = BooleanType().read(value, f"{key}.{name}", notes)
            if on is not BAD:
                rules[name] = on
        return tuple(rules.items()) if len(rules) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        properties = {name: {"type": "boolean", "description": rule.meaning} for name, rule in FLAG_BY_NAME.items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class QuorumSize(FieldType):
    """A number of voters: odd, for a majority."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        number = Integer(1, max(QUORUM_SIZES), QUORUM_ALLOWED).read(node, key, notes)
        if number is BAD or number in QUORUM_SIZES:
            return number
        notes.refuse(node, key, QUORUM_ALLOWED)
        return BAD

    def _schema(self) -> Schema:
        return {"enum": list(QUORUM_SIZES)}


LEADERS_ALLOWED: Final = "a mapping of partition numbers to brokers, such as {0: 2}"


@dataclass(frozen=True, slots=True)
class Leaders(FieldType):
    """Leaders of single partitions; parsed to (partition number, broker), by partition."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Mapping):
            notes.refuse(node, key, LEADERS_ALLOWED)
            return BAD
        leaders: dict[int, int] = {}
        for name, (where, value) in node.entries.items():
            if not re.fullmatch("0|[1-9][0-9]{0,5}", name, re.ASCII):
                notes.problem(where, key, f"found {shown(name)}, expected the number of a partition")
                continue
            broker = BrokerId().read(value, f"{key}.{name}", notes)
            if broker is not BAD:
                leaders[int(name)] = broker
        return tuple(sorted(leaders.items())) if len(leaders) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        patterns = {"^(0|[1-9][0-9]{0,5})$": BrokerId().schema()}
        return {"type": "object", "patternProperties": patterns, "additionalProperties": False}


BROKER: Final = Record(
    {
        "id": FieldSpec(Integer(0, MAX_BROKER), "The broker's id.", required=True),
        "rack": FieldSpec(NAME, "Its rack, or availability zone."),
    }
)

NETWORK: Final = Record(
    {
        "latency": FieldSpec(DURATION, "One-way latency of every link; default 1ms."),
        "jitter": FieldSpec(DURATION, "Maximum jitter added to the latency; default 200us."),
    }
)

DISK: Final = Record(
    {
        "writeback": FieldSpec(DURATION, "Age at which the operating system writes back a dirty page; default 30s."),
    }
)

CLUSTER: Final = Record(
    {
        FROM: FieldSpec(
            TextType(),
            "Cluster file with brokers and topics, see: floodmark cluster import. The playbook's own values take"
            " precedence.",
        ),
        "kafka": FieldSpec(
            KafkaVersion(),
            f"Kafka release to emulate: a line such as 3.6, which is its last patch, or a patch such as"
            f" 3.6.0; default: {DEFAULT_RELEASE}.",
        ),
        "mode": FieldSpec(ChoiceType(("kraft", "zookeeper")), "Controller mode, if the release has both."),
        "brokers": FieldSpec(
            TypeByShape(
                BROKERS_ALLOWED,
                scalar=Integer(1, MAX_BROKERS, BROKERS_ALLOWED),
                sequence=ListOf(BROKER, 1, MAX_BROKERS),
            ),
            "Number of brokers (ids from 1), or a list of them; default 3.",
        ),
        "controllers": FieldSpec(
            TypeByShape(
                CONTROLLERS_ALLOWED,
                scalar=QuorumSize(),
                sequence=ListOf(BrokerId(), 1, max(QUORUM_SIZES)),
            ),
            "KRaft: number of dedicated controllers, or list of brokers that are controllers too; default 3.",
        ),
        "zookeepers": FieldSpec(QuorumSize(), "ZooKeeper mode: number of servers in the ensemble; default 3."),
        "config": FieldSpec(Config("broker"), "Broker configuration by Kafka's names and units, for all brokers."),
        "network": FieldSpec(NETWORK, "The network between all nodes."),
        "disk": FieldSpec(DISK, "The brokers' disks."),
        "rules": FieldSpec(Rules(), "Rules of the release switched on or off, to see what a change or a fix changes."),
    }
)

TOPIC: Final = Record(
    {
        "name": FieldSpec(
            TextType(TOPIC_NAME, "a topic name of letters, digits, dots, dashes and underscores"),
            "The topic's name.",
            required=True,
        ),
        "partitions": FieldSpec(Integer(1, MAX_PARTITIONS), "Number of partitions; default 1."),
        "replication": FieldSpec(Integer(1, MAX_BROKERS), "Replicas of each partition."),
        "placement": FieldSpec(
            ListOf(ListOf(BrokerId(), 1, MAX_BROKERS), 1, MAX_PARTITIONS),
            "Replicas of each partition in assignment order, instead of partitions and replication: [[1, 2, 3]].",
        ),
        "leaders": FieldSpec(
            Leaders(),
            "Leaders at the start, where it is another than the first replica, as partition to broker: {0: 2, 5: 3}.",
        ),
        "config": FieldSpec(Config("topic"), "Topic configuration by Kafka's names."),
    }
)

PRODUCER: Final = Record(
    {
        "name": FieldSpec(NAME, "The producer's name.", required=True),
        "topic": FieldSpec(Reference("topic"), "Topic that it writes to.", required=True),
        "rate": FieldSpec(RATE_OF_RECORDS, "Rate of records: 200/s; or a ramp, steps, or bursts."),
        "loop": FieldSpec(
            LOOP, "open (default): sends at the rate regardless of responses; or a closed loop, paced by responses."
        ),
        "batch": FieldSpec(Integer(1, 100_000), "Records per send; default 1."),
        "bytes": FieldSpec(SIZES, "Size of a record, or a distribution of sizes; default 200."),
        "keys": FieldSpec(
            KEYS,
            "Distinct record keys, for partitioning and compaction; default: no keys.",
        ),
        "partition": FieldSpec(
            Integer(0, MAX_PARTITIONS - 1), "Partition of all its records; default: by its partitioner."
        ),
        "partitioner": FieldSpec(
            KeysToPartitions(),
            "Custom partitioner: key to partition, {key-0: 2, others: 1}; other keys use Kafka's hash.",
        ),
        "tombstone_every": FieldSpec(
            Integer(1, 1_000_000),
            "One in this number of records is a tombstone, which deletes its key; default: none.",
            old="tombstones",
        ),
        "send": FieldSpec(
            ChoiceType(SEND_MODES),
            "Send mode: async (default), sync (one record at a time) or fire_and_forget.",
        ),
        "records": FieldSpec(
            RECORDS,
            "Record contents, for inspection: faker: and a template, or fields with their providers.",
        ),
        **SENDING,
        "resends": FieldSpec(
            BooleanType(),
            "Whether it resends records of unknown outcome after a restart; default false.",
        ),
        "transactions": FieldSpec(
            TRANSACTIONS, "When and how its transactions end; needs transactional.id in its config."
        ),
        "start": FieldSpec(DURATION, "Start time; default 0s."),
        "stop": FieldSpec(DURATION, "Stop time; default: when settling begins."),
        "config": FieldSpec(Config("producer"), "Producer configuration by Kafka's names."),
    }
)

GROUP: Final = Record(
    {
        "name": FieldSpec(NAME, "The group's id.", required=True),
        "topics": FieldSpec(ListOf(Reference("topic"), 1, 100), "Topics that it reads."),
        "pattern": FieldSpec(
            Pattern(), "Instead of topics: a regular expression of topic names, also of future topics."
        ),
        "members": FieldSpec(Integer(1, MOST_MEMBERS), "Number of consumers; default 1."),
        "instances": FieldSpec(
            ListOf(NAME, 1, 100),
            "group.instance.id of each member, in order; two members may have the same one.",
        ),
        "racks": FieldSpec(ListOf(NAME, 1, 100), "client.rack of each member, in order."),
        "processing": FieldSpec(DURATION, "Processing time for the records of one poll; default 0s."),
        "coordinated": FieldSpec(
            BooleanType(), "false: partitions are assigned manually and read from 0; default true: by its coordinator."
        ),
        "commit": FieldSpec(ChoiceType(tuple(COMMIT_MODES)), "Commit mode of its applications; default auto."),
        "fail_every": FieldSpec(
            Integer(1, 1_000_000), "Its handler fails for one in this number of records; default: never.", old="fails"
        ),
        "retries": FieldSpec(Integer(1, 1_000), "Number of retries before a record is left unprocessed; default 0."),
        "retry_pause": FieldSpec(DURATION, "Delay before each retry; default 0s."),
        "dead_letter": FieldSpec(Reference("topic"), "Dead-letter topic of unprocessed records; with fail_every."),
        "to": FieldSpec(Reference("topic"), "Output topic, to which members write one record for each record read."),
        "to_config": FieldSpec(Config("producer"), "Configuration of the producers of the output."),
        "config": FieldSpec(Config("consumer"), "Consumer configuration by Kafka's names."),
    }
)

CLIENTS: Final = Record(
    {
        "producers": FieldSpec(ListOf(PRODUCER, 0, MOST_PRODUCERS), "Producers."),
        "groups": FieldSpec(ListOf(GROUP, 0, 100), "Consumer groups."),
    }
)

TOPICS: Final = ListOf(TOPIC, 1, MAX_TOPICS)


# The protocol of a group, checked against its cluster (KIP-848).


SETTING = "group.coordinator.rebalance.protocols"


def check_protocol(fields: Fields, group: GroupSpec, spec: ClusterSpec, notes: ErrorNotes) -> None:
    """Check that ``group.protocol: consumer`` has a coordinator that supports the protocol."""
    if group.config.get("group.protocol") != "consumer":
        return
    profile = Profile.of(spec.kafka, spec.mode)
    node, path = fields.at("config"), fields.path("config")
    if not group.coordinated:
        notes.problem(node, path, "found group.protocol consumer, allowed only with 'coordinated: true'")
    elif profile.consumer_protocol and profile.kraft and not enabled(profile, spec.config):
        message = f"found group.protocol consumer, allowed only with {SETTING} 'classic,consumer' of the cluster"
        notes.problem(node, path, message)


DEFAULT_BROKERS: Final = 3


def build_cluster(fields: Fields | None, notes: ErrorNotes, *, manual: bool, broken: bool) -> ClusterSpec:
    """Return the specification without topics and clients, and note its names unless the section is ``broken``."""
    plain = NetworkSpec()
    if fields is None:
        brokers = tuple(BrokerSpec(i) for i in range(1, DEFAULT_BROKERS + 1))
        if not broken:
            notes.facts = replace(notes.facts, brokers=tuple(broker.id for broker in brokers), racks={})
        spec = ClusterSpec(DEFAULT_RELEASE, Profile.of(DEFAULT_RELEASE).mode, brokers, (), manual=manual)
        if not broken:
            _note_control_plane(spec, notes)
        return spec
    kafka = fields.get("kafka", DEFAULT_RELEASE)
    network: Fields | None = fields.get("network")
    disk: Fields | None = fields.get("disk")
    brokers = _brokers(fields, notes)
    listed_brokers = fields.get("brokers", 0)
    nameless = isinstance(listed_brokers, list) and any(broker.get("id") is None for broker in listed_brokers)
    if not fields.bad("brokers") and not nameless:
        racks = Counter(broker.rack for broker in brokers if broker.rack)
        notes.facts = replace(notes.facts, brokers=tuple(broker.id for broker in brokers), racks=racks)
    spec = ClusterSpec(
        kafka=kafka,
        mode=_mode(fields, kafka, notes),
        brokers=brokers,
        topics=(),
        network=NetworkSpec(
            network.get("latency", plain.latency_us) if network else plain.latency_us,
            network.get("jitter", plain.jitter_us) if network else plain.jitter_us,
        ),
        config=fields.get("config", {}),
        manual=manual,
        controllers=_controllers(fields),
        combined=_combined(fields, brokers, kafka, notes),
        zookeepers=_zookeepers(fields, kafka, notes),
        writeback_us=disk.get("writeback", WRITEBACK_US) if disk else WRITEBACK_US,
        rules=fields.get("rules", ()),
    )
    if not any(fields.bad(key) for key in ("kafka", "mode", "controllers", "zookeepers")):
        _note_control_plane(spec, notes)
    given = not any(fields.bad(key) for key in ("kafka", "mode", "config"))
    if given and check_releases("broker", fields, "config", kafka, notes):
        _check_features(spec, fields, notes)
    return spec


def _check_features(spec: ClusterSpec, fields: Fields, notes: ErrorNotes) -> None:
    try:
        _ = spec.profile
    except ModelError as error:
        notes.problem(fields.at("config"), fields.path("config"), f"found a feature that this version lacks: {error}")


def _note_control_plane(spec: ClusterSpec, notes: ErrorNotes) -> None:
    """Note which nodes may be controllers, for targets."""
    voters = spec.voters if spec.mode == "kraft" else ()
    notes.facts = replace(notes.facts, mode=spec.mode, voters=voters, zookeepers=spec.zookeepers)


def _controllers(fields: Fields) -> int:
    given = fields.get("controllers", DEFAULT_QUORUM)
    return given if isinstance(given, int) else len(given)


def _combined(fields: Fields, brokers: tuple[BrokerSpec, ...], kafka: str, notes: ErrorNotes) -> tuple[int, ...]:
    """Return the brokers that are controllers too, checked against the existing ones."""
    given = fields.get("controllers")
    if given is not None and _mode_of(fields, kafka) != "kraft":
        message = "found controllers in ZooKeeper mode, allowed with 'mode: kraft' only: ZooKeeper mode uses a broker"
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    if given is None or isinstance(given, int):
        return ()
    broker_ids = [broker.id for broker in brokers]
    wrong = [broker for broker in given if broker not in broker_ids]
    if wrong:
        message = f"found broker {wrong[0]}, expected {listed(list(map(str, broker_ids)), 'and')}"
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    if len(set(given)) < len(given) or len(given) not in QUORUM_SIZES:
        message = f"found {given}, expected 1, 3 or 5 brokers, each once"
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    return tuple(given)


def _zookeepers(fields: Fields, kafka: str, notes: ErrorNotes) -> int:
    if fields.given("zookeepers") and _mode_of(fields, kafka) != "zookeeper":
        message = "found ZooKeeper servers in KRaft mode, allowed with 'mode: zookeeper' only"
        notes.problem(fields.at("zookeepers"), fields.path("zookeepers"), message)
    return int(fields.get("zookeepers", DEFAULT_QUORUM))


def _mode_of(fields: Fields, kafka: str) -> str:
    modes = modes_of(kafka)
    mode = fields.get("mode")
    return mode if mode in modes else modes[0]


def _mode(fields: Fields, kafka: str, notes: ErrorNotes) -> str:
    modes = modes_of(kafka)
    mode = fields.get("mode")
    if mode is not None and mode not in modes and not fields.bad("kafka"):
        message = f"found {shown(mode)}, allowed for Kafka {kafka} is {listed(modes)}"
        notes.problem(fields.at("mode"), fields.path("mode"), message)
    return _mode_of(fields, kafka)


def _brokers(fields: Fields, notes: ErrorNotes) -> tuple[BrokerSpec, ...]:
    given: Any = fields.get("brokers", DEFAULT_BROKERS)
    if isinstance(given, int):
        return tuple(BrokerSpec(i) for i in range(1, given + 1))
    brokers: dict[int, BrokerSpec] = {}
    for broker in given:
        number = broker.get("id")
        if number in brokers:
            notes.problem(broker.at("id"), broker.path("id"), f"found broker {number} twice, expected once")
        elif number is not None:
            brokers[number] = BrokerSpec(number, broker.get("rack", ""))
    return tuple(brokers.values())


def build_topics(topics: list[Fields] | None, spec: ClusterSpec, notes: ErrorNotes) -> ClusterSpec:
    """Return ``spec`` with its topics, and note the names of topics and partitions."""
    if topics is None:
        return spec
    built: list[TopicSpec] = []
    counts: dict[str, int | None] = {}
    for fields in topics:
        _check_placement(fields, notes)
        topic = _topic(fields, spec, notes)
        if topic.name in counts:
            notes.problem(fields.at("name"), fields.path("name"), f"found {shown(topic.name)} twice, expected once")
            continue
        _check_collision(topic.name, counts, fields, notes)
        broken = fields.bad("partitions") or fields.bad("placement")
        counts[topic.name] = None if broken else topic.partitions
        built.append(topic)
    nameless = any(fields.get("name") is None for fields in topics)
    replicas = {f"{topic.name}-{i}": row for topic in built for i, row in enumerate(topic.placement)}
    replication = {topic.name: topic.replication for topic in built}
    notes.facts = replace(notes.facts, topics=None if nameless else counts, replicas=replicas, replication=replication)
    return replace(spec, topics=tuple(built))


def _topic(fields: Fields, spec: ClusterSpec, notes: ErrorNotes) -> TopicSpec:
    placement: tuple[tuple[int, ...], ...] = tuple(tuple(row) for row in fields.get("placement", ()))
    config = fields.get("config", {})
    name = fields.get("name", "")
    check_releases("topic", fields, "config", spec.kafka, notes)
    try:
        TopicConfig.of(Profile.of(spec.kafka, spec.mode), spec.config, config)
    except ModelError as error:
        at = "config" if fields.given("config") else "name"
        notes.problem(fields.at(at), fields.path(at), f"found settings that this version lacks: {error}")
    if placement:
        return TopicSpec(name, len(placement), max(map(len, placement)), placement, config, fields.get("leaders", ()))
    replication = fields.get("replication", spec.config.get("default.replication.factor"))
    brokers_known = notes.facts.brokers is not None
    if replication is None:
        if not fields.given("replication") and not fields.given("placement"):
            message = "missing key 'replication': replicas of each partition (or give a placement)"
            notes.problem(fields.node, fields.key, message)
        replication = 1
    elif brokers_known and replication > len(spec.brokers):
        message = f"found {replication} replicas, expected at most the cluster's {counted(len(spec.brokers), 'broker')}"
        notes.problem(fields.at("replication"), fields.path("replication"), message)
    return TopicSpec(name, fields.get("partitions", 1), int(replication), (), config)


def _check_placement(fields: Fields, notes: ErrorNotes) -> None:
    """Check rows without repeats, consistent numbers, and leaders that are replicas.

    Rows may differ in length, as in Kafka after a reassignment of some partitions.
    """
    rows: list[list[int]] | None = fields.get("placement")
    if rows is None:
        if fields.given("leaders") and not fields.bad("placement"):
            message = "found leaders without a placement, expected the replicas of each partition"
            notes.problem(fields.at("leaders"), fields.path("leaders"), message)
        return
    node, path = fields.at("placement"), fields.path("placement")
    for i, row in enumerate(rows):
        if len(set(row)) != len(row):
            notes.problem(node, f"{path}[{i + 1}]", f"found a broker twice in {row}, expected once in a partition")
    for number, broker in fields.get("leaders", ()):
        replicas = rows[number] if number < len(rows) else []
        if broker not in replicas:
            allowed = f"one of its replicas {listed(map(str, replicas))}" if replicas else f"0 to {len(rows) - 1}"
            message = f"found leader {broker} of partition {number}, expected {allowed}"
            notes.problem(fields.at("leaders"), fields.path("leaders"), message)
    for name, implied in (("partitions", len(rows)), ("replication", max(map(len, rows)))):
        value = fields.get(name)
        if value is not None and value != implied:
            message = f"found {value}, expected {implied} as in the placement, or no value"
            notes.problem(fields.at(name), fields.path(name), message)


def _check_collision(name: str, others: dict[str, int | None], fields: Fields, notes: ErrorNotes) -> None:
    """Reject names that differ only in dots and underscores, as Kafka does: their metrics would collide."""
    for other in others:
        if other.replace(".", "_") == name.replace(".", "_"):
            message = f"found {shown(name)}, which Kafka's metrics cannot distinguish from {shown(other)}"
            notes.problem(fields.at("name"), fields.path("name"), message)


def build_clients(clients: Fields | None, spec: ClusterSpec, notes: ErrorNotes, *, broken: bool) -> ClusterSpec:
    """Return ``spec`` with its producers and groups, and note their names unless the section is ``broken``."""
    producers: list[Fields] = clients.get("producers", []) if clients else []
    groups: list[Fields] = clients.get("groups", []) if clients else []
    if not broken and (clients is None or not clients.bad("producers")):
        notes.facts = replace(notes.facts, producers=_names(producers))
    if not broken and (clients is None or not clients.bad("groups")):
        counts = {
            fields.get("name", ""): None if fields.bad("members") else fields.get("members", 1) for fields in groups
        }
        notes.facts = replace(notes.facts, groups=None if _names(groups) is None else counts)
    members = sum(fields.get("members", 1) for fields in groups)
    if clients is not None and members > MOST_CONSUMERS:
        message = f"found {members} members in all groups together, expected at most {MOST_CONSUMERS}"
        notes.problem(clients.at("groups"), clients.path("groups"), message)
    seen: set[str] = set()
    for fields in [*producers, *groups]:
        name = fields.get("name")
        if name in seen:
            message = f"found {shown(name)} twice, expected once among producers and groups"
            notes.problem(fields.at("name"), fields.path("name"), message)
        elif name is not None:
            seen.add(name)
    profile = Profile.of(spec.kafka, spec.mode)
    built = replace(
        spec,
        producers=tuple(_producer(fields, profile, notes) for fields in producers),
        groups=tuple(_group(fields, profile, notes) for fields in groups),
    )
    uncoordinated = tuple(group.name for group in built.groups if not group.coordinated)
    notes.facts = replace(notes.facts, uncoordinated=uncoordinated)
    for fields, group in zip(groups, built.groups, strict=True):
        check_protocol(fields, group, built, notes)
    return built


def _names(clients: list[Fields]) -> tuple[str, ...] | None:
    names = [fields.get("name") for fields in clients]
    return None if None in names else tuple(map(str, names))


def _producer(fields: Fields, profile: Profile, notes: ErrorNotes) -> ProducerSpec:
    batch = fields.get("batch", 1)
    interval, changing = read_rate(fields, batch, notes)
    keys, skew = read_keys(fields, notes)
    given_bytes, given_records = fields.get("bytes", 200), fields.get("records", "")
    config = fields.get("config", {})
    if fields.given("tombstone_every") and not fields.given("keys"):
        notes.problem(
            fields.at("tombstone_every"),
            fields.path("tombstone_every"),
            "found tombstone_every without keys, allowed only with keys",
        )
    try:
        ProducerConfig.of(profile, config)
    except ModelError as error:
        note_conflict(error, fields, "config", notes)
    check_placing(fields, keys, notes)
    start, stop = fields.get("start", 0), fields.get("stop", -1)
    if -1 < stop <= start:
        notes.problem(fields.at("stop"), fields.path("stop"), "found a stop that is not after the start")
    return ProducerSpec(
        name=fields.get("name", ""),
        topic=fields.get("topic", ""),
        interval_us=interval,
        batch=batch,
        records=given_records if isinstance(given_records, str) else "",
        record_bytes=given_bytes if isinstance(given_bytes, int) else 200,
        keys=keys,
        tombstones=fields.get("tombstone_every", 0),
        send=fields.get("send", "async"),
        start_us=start,
        stop_us=stop,
        config=config,
        profile=changing,
        loop=read_loop(fields, batch, notes),
        sizes=read_sizes(fields, notes),
        skew=skew,
        transactions=read_transactions(fields, notes),
        fields=() if isinstance(given_records, str) else given_records,
        partition=fields.get("partition", -1),
        partitioner=fields.get("partitioner"),
        **read_sending(fields, notes),
        resends=fields.get("resends", False),
    )


def _instances(fields: Fields, profile: Profile, notes: ErrorNotes) -> tuple[str, ...]:
    """Return the ids of static members: one for each, and only in versions that have them."""
    instances = tuple(fields.get("instances", ()))
    members = fields.get("members", 1)
    message = ""
    if instances and len(instances) != members:
        message = f"found {len(instances)} instances for {members} members, expected one for each"
    elif instances and not profile.static_members:
        message = f"found instances with Kafka {profile.version}, allowed since 2.3"
    elif instances and "group.instance.id" in fields.get("config", {}):
        message = "found instances and group.instance.id in config, expected one of them"
    if message:
        notes.problem(fields.at("instances"), fields.path("instances"), message)
    return instances


def _group(fields: Fields, profile: Profile, notes: ErrorNotes) -> GroupSpec:
    try:
        settings = fields.get("config", {})
        profile = profile.for_client(str(settings.get("client.version", "")))
        reset_policy(profile, ConsumerConfig.of(profile, settings).reset)
        if fields.get("coordinated", True) and profile.group_membership:
            GroupSettings.of(profile, settings, str(settings.get("group.instance.id", "")))
    except ModelError as error:
        note_conflict(error, fields, "config", notes)
    topics, pattern = subscription(fields, profile, notes)
    return GroupSpec(
        fields.get("name", ""), topics, fields.get("members", 1), fields.get("processing", 0),
        fields.get("config", {}), fields.get("coordinated", True), fields.get("commit", "auto"),
        fields.get("fail_every", 0), fields.get("retries", 0), fields.get("retry_pause", 0),
        instances=_instances(fields, profile, notes), pattern=pattern, racks=racks(fields, notes),
        dead_letter=dead_letter(fields, notes), **read_output(fields, profile, notes),
    )  # fmt: skip
