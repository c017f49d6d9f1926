"""Keys of cluster, topics and clients, and the checked specification of what to build."""

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
from cluster_model.protocol.versions import NEWEST, PROFILE_VERSIONS, Profile, modes_of, parse_version
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
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    NAME,
    BooleanType,
    BrokerId,
    ByShape,
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
)
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

# Tables of a playbook's cluster, topics and clients: every key with its kind and a line of documentation.


MAX_BROKERS: Final = 100
MAX_PARTITIONS: Final = 1_000
"""Of one topic."""
MOST_PRODUCERS: Final = 1_000
MOST_MEMBERS: Final = 500
"""Of one group."""
MOST_CONSUMERS: Final = 1_000
"""Of all groups."""
QUORUM_ALLOWED: Final = "1, 3 or 5"
CONTROLLERS_ALLOWED: Final = "1, 3 or 5, or a list of so many brokers"
BROKERS_ALLOWED: Final = f"a number of brokers from 1 to {MAX_BROKERS}, or a list of {{id, rack}}"


@dataclass(frozen=True, slots=True)
class Config(FieldType):
    """Kafka's own configuration of one scope; a dict of name → value in the configuration's type."""

    scope: Scope

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Mapping):
            notes.refuse(
                node, key, f"a mapping of {self.scope} configurations, such as {next(iter(SCOPES[self.scope]))}"
            )
            return BAD
        values: dict[str, ConfigValue] = {}
        for name, (where, value) in node.entries.items():
            if not isinstance(value, Scalar) or value.empty:
                notes.problem(value, f"{key}.{name}", f"found {found(value)}, allowed is a single value")
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


def check_releases(scope: Scope, fields: Fields, name: str, kafka: str, notes: Notes) -> bool:
    """Note each configuration under a key that this release of Kafka does not have; whether it has all of them."""
    node, version = fields.at(name), parse_version(kafka)
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


def note_conflict(error: ModelError, fields: Fields, name: str, notes: Notes) -> None:
    """Note why configurations cannot be, at the one to blame where it is known."""
    node, path = fields.at(name), fields.path(name)
    if isinstance(error, ConfigConflictError) and isinstance(node, Mapping) and error.key in node.entries:
        node, path = node.entries[error.key][1], f"{path}.{error.key}"
    notes.problem(node, path, f"found {conflict(error)}: {error}")


def _typed(key: ConfigKey | None, value: Scalar) -> ConfigValue:
    """A plain number becomes one where the configuration is a number; all else stays text."""
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
    numbers += [-1] if "all" in key.choices else []  # Kafka's number for all
    return {"enum": [*key.choices, *numbers], "description": key.doc}


@dataclass(frozen=True, slots=True)
class KafkaVersion(FieldType):
    """A release line. As the file's text is taken as written, ``4.10`` is not ``4.1``."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if isinstance(node, Scalar) and node.text in PROFILE_VERSIONS:
            return node.text
        hint = nearest(node.text, PROFILE_VERSIONS) if isinstance(node, Scalar) else ""
        notes.refuse(node, key, f"one of {', '.join(PROFILE_VERSIONS)}{hint}")
        return BAD

    def _schema(self) -> Schema:
        numbers = [float(version) for version in PROFILE_VERSIONS if version.count(".") == 1]
        return {"enum": [*PROFILE_VERSIONS, *numbers]}


@dataclass(frozen=True, slots=True)
class QuorumSize(FieldType):
    """A number of voters: an odd one, for a majority."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        number = Integer(1, max(QUORUM_SIZES), QUORUM_ALLOWED).read(node, key, notes)
        if number is BAD or number in QUORUM_SIZES:
            return number
        notes.refuse(node, key, QUORUM_ALLOWED)
        return BAD

    def _schema(self) -> Schema:
        return {"enum": list(QUORUM_SIZES)}


BROKER: Final = Record(
    {
        "id": FieldSpec(Integer(1, MAX_BROKER), "The broker's id.", required=True),
        "rack": FieldSpec(NAME, "Its rack, or availability zone."),
    }
)

NETWORK: Final = Record(
    {
        "latency": FieldSpec(DURATION, "One-way latency of every link; 1ms unless given."),
        "jitter": FieldSpec(DURATION, "The most that jitter adds to it; 200us unless given."),
    }
)

DISK: Final = Record(
    {
        "writeback": FieldSpec(
            DURATION, "Age at which the operating system has written a dirty page to disk; 30s unless given."
        ),
    }
)

CLUSTER: Final = Record(
    {
        "kafka": FieldSpec(KafkaVersion(), "Kafka release line whose rules hold; the newest unless given."),
        "mode": FieldSpec(ChoiceType(("kraft", "zookeeper")), "Kind of controller, where the release has both."),
        "brokers": FieldSpec(
            ByShape(
                BROKERS_ALLOWED,
                scalar=Integer(1, MAX_BROKERS, BROKERS_ALLOWED),
                sequence=ListOf(BROKER, 1, MAX_BROKERS),
            ),
            "How many brokers (ids from 1), or a list of them; 3 unless given.",
        ),
        "controllers": FieldSpec(
            ByShape(
                CONTROLLERS_ALLOWED,
                scalar=QuorumSize(),
                sequence=ListOf(BrokerId(), 1, max(QUORUM_SIZES)),
            ),
            "KRaft: how many controllers of their own, or the brokers that are controllers too; 3 unless given.",
        ),
        "zookeepers": FieldSpec(QuorumSize(), "ZooKeeper mode: servers of the ensemble; 3 unless given."),
        "config": FieldSpec(Config("broker"), "Broker configuration by Kafka's names and units, for all brokers."),
        "network": FieldSpec(NETWORK, "The network between all nodes."),
        "disk": FieldSpec(DISK, "The brokers' disks."),
    }
)

TOPIC: Final = Record(
    {
        "name": FieldSpec(
            TextType(TOPIC_NAME, "a topic name of letters, digits, dots, dashes and underscores"),
            "The topic's name.",
            required=True,
        ),
        "partitions": FieldSpec(Integer(1, MAX_PARTITIONS), "Number of partitions; 1 unless given."),
        "replication": FieldSpec(Integer(1, MAX_BROKERS), "Replicas of each partition."),
        "placement": FieldSpec(
            ListOf(ListOf(BrokerId(), 1, MAX_BROKERS), 1, MAX_PARTITIONS),
            "Replicas of each partition in assignment order, instead of partitions and replication: [[1, 2, 3]].",
        ),
        "config": FieldSpec(Config("topic"), "Topic configuration by Kafka's names."),
    }
)

PRODUCER: Final = Record(
    {
        "name": FieldSpec(NAME, "The producer's name.", required=True),
        "topic": FieldSpec(Reference("topic"), "The topic it writes to.", required=True),
        "rate": FieldSpec(RATE_OF_RECORDS, "Records a second, or another unit: 200/s; or a ramp, steps, or bursts."),
        "loop": FieldSpec(
            LOOP, "open, at the rate whatever happens, unless given; or a closed one, by what was answered."
        ),
        "batch": FieldSpec(Integer(1, 100_000), "Records handed over at a time; 1 unless given."),
        "bytes": FieldSpec(SIZES, "Size of a record, or how sizes are drawn; 200 unless given."),
        "keys": FieldSpec(
            KEYS,
            "Distinct keys of its records, which say where they go, and which compaction needs; none unless given.",
        ),
        "partition": FieldSpec(
            Integer(0, MAX_PARTITIONS - 1), "The partition of all its records; by its partitioner unless given."
        ),
        "partitioner": FieldSpec(
            KeysToPartitions(),
            "The application's own: partitions of keys, {key-0: 2, others: 1}; those not named by Kafka's hash.",
        ),
        "tombstones": FieldSpec(
            Integer(1, 1_000_000), "One record in so many is a tombstone, which deletes its key; none unless given."
        ),
        "send": FieldSpec(
            ChoiceType(SEND_MODES),
            "How it sends: async (unless given), sync (one record at a time) or fire_and_forget.",
        ),
        "records": FieldSpec(
            RECORDS,
            "What the records hold, for whoever looks at them: faker: and a template, or fields with their providers.",
        ),
        **SENDING,
        "resends": FieldSpec(
            BooleanType(),
            "Whether it sends again, after a restart, what it was not told the outcome of; no unless given.",
        ),
        "transactions": FieldSpec(
            TRANSACTIONS, "When its transactions end, and how; with transactional.id in its config."
        ),
        "start": FieldSpec(DURATION, "When it begins; at once unless given."),
        "stop": FieldSpec(DURATION, "When it ends; when the settling begins unless given."),
        "config": FieldSpec(Config("producer"), "Producer configuration by Kafka's names."),
    }
)

GROUP: Final = Record(
    {
        "name": FieldSpec(NAME, "The group's id.", required=True),
        "topics": FieldSpec(ListOf(Reference("topic"), 1, 100), "The topics it reads."),
        "pattern": FieldSpec(
            Pattern(), "Instead of topics: all whose names match this regular expression, new ones too."
        ),
        "members": FieldSpec(Integer(1, MOST_MEMBERS), "Number of consumers; 1 unless given."),
        "instances": FieldSpec(
            ListOf(NAME, 1, 100),
            "The group.instance.id of each member, in their order; two members may claim the same one.",
        ),
        "racks": FieldSpec(ListOf(NAME, 1, 100), "The client.rack of each member, in their order."),
        "processing": FieldSpec(DURATION, "Time a consumer spends on the records of one poll; none unless given."),
        "coordinated": FieldSpec(
            BooleanType(), "false: its partitions are given once and read from 0; else its coordinator shares them out."
        ),
        "commit": FieldSpec(ChoiceType(tuple(COMMIT_MODES)), "When its applications commit; auto unless given."),
        "fails": FieldSpec(
            Integer(1, 1_000_000), "Its handler cannot process one record in so many; all unless given."
        ),
        "retries": FieldSpec(
            Integer(1, 1_000), "How often it is tried again before it is left unprocessed; 0 unless given."
        ),
        "retry_pause": FieldSpec(DURATION, "How long after; at once unless given."),
        "dead_letter": FieldSpec(Reference("topic"), "The topic that it is sent to instead; with fails."),
        "to": FieldSpec(
            Reference("topic"), "The topic that its members write one record to for each that they have read."
        ),
        "to_config": FieldSpec(Config("producer"), "Configuration of the producers that they do it with."),
        "config": FieldSpec(Config("consumer"), "Consumer configuration by Kafka's names."),
    }
)

CLIENTS: Final = Record(
    {
        "producers": FieldSpec(ListOf(PRODUCER, 0, MOST_PRODUCERS), "Who writes."),
        "groups": FieldSpec(ListOf(GROUP, 0, 100), "Who reads."),
    }
)

TOPICS: Final = ListOf(TOPIC, 1, 100)


# The protocol of a group, checked against what its cluster supports (KIP-848).


SETTING = "group.coordinator.rebalance.protocols"


def check_protocol(fields: Fields, group: GroupSpec, spec: ClusterSpec, notes: Notes) -> None:
    """``group.protocol: consumer`` needs a coordinator that shares partitions out, and by that protocol."""
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


def build_cluster(fields: Fields | None, notes: Notes, *, manual: bool, broken: bool) -> ClusterSpec:
    """The specification without topics and clients; brokers and racks become facts unless the part is ``broken``."""
    plain = NetworkSpec()
    if fields is None:
        brokers = tuple(BrokerSpec(i) for i in range(1, DEFAULT_BROKERS + 1))
        if not broken:
            notes.facts = replace(notes.facts, brokers=tuple(broker.id for broker in brokers), racks={})
        spec = ClusterSpec(NEWEST, Profile.of(NEWEST).mode, brokers, (), manual=manual)
        if not broken:
            _note_control_plane(spec, notes)
        return spec
    kafka = fields.get("kafka", NEWEST)
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
    )
    if not any(fields.bad(key) for key in ("kafka", "mode", "controllers", "zookeepers")):
        _note_control_plane(spec, notes)
    given = not any(fields.bad(key) for key in ("kafka", "mode", "config"))
    if given and check_releases("broker", fields, "config", kafka, notes):
        _check_features(spec, fields, notes)
    return spec


def _check_features(spec: ClusterSpec, fields: Fields, notes: Notes) -> None:
    try:
        _ = spec.profile
    except ModelError as error:
        notes.problem(fields.at("config"), fields.path("config"), f"found a feature that this version lacks: {error}")


def _note_control_plane(spec: ClusterSpec, notes: Notes) -> None:
    """Who may be the controller becomes a fact, for targets."""
    voters = spec.voters if spec.mode == "kraft" else ()
    notes.facts = replace(notes.facts, mode=spec.mode, voters=voters, zookeepers=spec.zookeepers)


def _controllers(fields: Fields) -> int:
    given = fields.get("controllers", DEFAULT_QUORUM)
    return given if isinstance(given, int) else len(given)


def _combined(fields: Fields, brokers: tuple[BrokerSpec, ...], kafka: str, notes: Notes) -> tuple[int, ...]:
    """Brokers that are controllers too, checked against the brokers there are."""
    given = fields.get("controllers")
    if given is not None and _mode_of(fields, kafka) != "kraft":
        message = (
            "found controllers in ZooKeeper mode, allowed with 'mode: kraft' only: a broker is the controller there"
        )
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    if given is None or isinstance(given, int):
        return ()
    known = [broker.id for broker in brokers]
    wrong = [broker for broker in given if broker not in known]
    if wrong:
        message = f"found broker {wrong[0]}, allowed are {listed(list(map(str, known)), 'and')}"
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    if len(set(given)) < len(given) or len(given) not in QUORUM_SIZES:
        message = f"found {given}, allowed are 1, 3 or 5 brokers, each once"
        notes.problem(fields.at("controllers"), fields.path("controllers"), message)
    return tuple(given)


def _zookeepers(fields: Fields, kafka: str, notes: Notes) -> int:
    if fields.given("zookeepers") and _mode_of(fields, kafka) != "zookeeper":
        message = "found ZooKeeper servers in KRaft mode, allowed with 'mode: zookeeper' only"
        notes.problem(fields.at("zookeepers"), fields.path("zookeepers"), message)
    return int(fields.get("zookeepers", DEFAULT_QUORUM))


def _mode_of(fields: Fields, kafka: str) -> str:
    modes = modes_of(kafka)
    mode = fields.get("mode")
    return mode if mode in modes else modes[0]


def _mode(fields: Fields, kafka: str, notes: Notes) -> str:
    modes = modes_of(kafka)
    mode = fields.get("mode")
    if mode is not None and mode not in modes and not fields.bad("kafka"):
        message = f"found {shown(mode)}, allowed for Kafka {kafka} is {listed(modes)}"
        notes.problem(fields.at("mode"), fields.path("mode"), message)
    return _mode_of(fields, kafka)


def _brokers(fields: Fields, notes: Notes) -> tuple[BrokerSpec, ...]:
    given: Any = fields.get("brokers", DEFAULT_BROKERS)
    if isinstance(given, int):
        return tuple(BrokerSpec(i) for i in range(1, given + 1))
    brokers: dict[int, BrokerSpec] = {}
    for broker in given:
        number = broker.get("id")
        if number in brokers:
            notes.problem(broker.at("id"), broker.path("id"), f"found broker {number} twice, allowed is once")
        elif number is not None:
            brokers[number] = BrokerSpec(number, broker.get("rack", ""))
    return tuple(brokers.values())


def build_topics(topics: list[Fields] | None, spec: ClusterSpec, notes: Notes) -> ClusterSpec:
    """``spec`` with its topics; topics and their partitions become facts."""
    if topics is None:
        return spec
    built: list[TopicSpec] = []
    counts: dict[str, int | None] = {}
    for fields in topics:
        _check_placement(fields, notes)
        topic = _topic(fields, spec, notes)
        if topic.name in counts:
            notes.problem(fields.at("name"), fields.path("name"), f"found {shown(topic.name)} twice, allowed is once")
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


def _topic(fields: Fields, spec: ClusterSpec, notes: Notes) -> TopicSpec:
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
        return TopicSpec(name, len(placement), len(placement[0]), placement, config)
    replication = fields.get("replication", spec.config.get("default.replication.factor"))
    known = notes.facts.brokers is not None
    if replication is None:
        if not fields.given("replication") and not fields.given("placement"):
            message = "found no key 'replication', which is needed: replicas of each partition (or give a placement)"
            notes.problem(fields.node, fields.key, message)
        replication = 1
    elif known and replication > len(spec.brokers):
        message = (
            f"found {replication} replicas, allowed are at most the cluster's {counted(len(spec.brokers), 'broker')}"
        )
        notes.problem(fields.at("replication"), fields.path("replication"), message)
    return TopicSpec(name, fields.get("partitions", 1), int(replication), (), config)


def _check_placement(fields: Fields, notes: Notes) -> None:
    """Kafka's ``INVALID_REPLICA_ASSIGNMENT``: rows of one length without repeats, and no contradicting numbers."""
    rows: list[list[int]] | None = fields.get("placement")
    if rows is None:
        return
    node, path = fields.at("placement"), fields.path("placement")
    for i, row in enumerate(rows):
        if len(set(row)) != len(row):
            notes.problem(node, f"{path}[{i + 1}]", f"found a broker twice in {row}, allowed is once in a partition")
        if len(row) != len(rows[0]):
            notes.problem(
                node,
                f"{path}[{i + 1}]",
                f"found {counted(len(row), 'replica')}, allowed are {len(rows[0])} as in the first",
            )
    for name, implied in (("partitions", len(rows)), ("replication", len(rows[0]))):
        value = fields.get(name)
        if value is not None and value != implied:
            message = f"found {value}, allowed is {implied} as in the placement, or nothing"
            notes.problem(fields.at(name), fields.path(name), message)


def _check_collision(name: str, others: dict[str, int | None], fields: Fields, notes: Notes) -> None:
    """Kafka refuses names that differ only in dots and underscores: their metrics would collide."""
    for other in others:
        if other.replace(".", "_") == name.replace(".", "_"):
            message = f"found {shown(name)}, which Kafka cannot tell from {shown(other)} in its metrics"
            notes.problem(fields.at("name"), fields.path("name"), message)


def build_clients(clients: Fields | None, spec: ClusterSpec, notes: Notes, *, broken: bool) -> ClusterSpec:
    """``spec`` with its producers and groups; their names become facts unless the part is ``broken``."""
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
        message = f"found {members} members in all groups together, allowed are at most {MOST_CONSUMERS}"
        notes.problem(clients.at("groups"), clients.path("groups"), message)
    seen: set[str] = set()
    for fields in [*producers, *groups]:
        name = fields.get("name")
        if name in seen:
            message = f"found {shown(name)} twice, allowed is once among producers and groups"
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


def _producer(fields: Fields, profile: Profile, notes: Notes) -> ProducerSpec:
    batch = fields.get("batch", 1)
    interval, changing = read_rate(fields, batch, notes)
    keys, skew = read_keys(fields, notes)
    given_bytes, given_records = fields.get("bytes", 200), fields.get("records", "")
    config = fields.get("config", {})
    if fields.given("tombstones") and not fields.given("keys"):
        notes.problem(
            fields.at("tombstones"), fields.path("tombstones"), "found tombstones without keys, allowed only with keys"
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
        tombstones=fields.get("tombstones", 0),
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


def _instances(fields: Fields, profile: Profile, notes: Notes) -> tuple[str, ...]:
    """Ids of static members: as many as there are members, and only where there are such."""
    instances = tuple(fields.get("instances", ()))
    members = fields.get("members", 1)
    wrong = ""
    if instances and len(instances) != members:
        wrong = f"found {len(instances)} instances for members: {members}, allowed is one for each"
    elif instances and not profile.static_members:
        wrong = f"found instances with Kafka {profile.version}, allowed since 2.3"
    elif instances and "group.instance.id" in fields.get("config", {}):
        wrong = "found instances and group.instance.id in config, allowed is one of them"
    if wrong:
        notes.problem(fields.at("instances"), fields.path("instances"), wrong)
    return instances


def _group(fields: Fields, profile: Profile, notes: Notes) -> GroupSpec:
    try:
        settings = fields.get("config", {})
        reset_policy(profile, ConsumerConfig.of(profile, settings).reset)
        if fields.get("coordinated", True) and profile.group_membership:
            GroupSettings.of(profile, settings, str(settings.get("group.instance.id", "")))
    except ModelError as error:
        note_conflict(error, fields, "config", notes)
    topics, pattern = subscription(fields, profile, notes)
    return GroupSpec(
        fields.get("name", ""), topics, fields.get("members", 1), fields.get("processing", 0),
        fields.get("config", {}), fields.get("coordinated", True), fields.get("commit", "auto"),
        fields.get("fails", 0), fields.get("retries", 0), fields.get("retry_pause", 0),
        instances=_instances(fields, profile, notes), pattern=pattern, racks=racks(fields, notes),
        dead_letter=dead_letter(fields, notes), **read_output(fields, profile, notes),
    )  # fmt: skip
