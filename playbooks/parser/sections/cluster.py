"""From the keys of cluster, topics and clients to a checked specification of what to build."""

from collections import Counter
from dataclasses import replace
from typing import Any, Final

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.reset_policy import reset_policy
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.protocol.configs import ConsumerConfig, TopicConfig
from cluster_model.protocol.errors import ConfigConflictError, ModelError
from cluster_model.protocol.rules import WRITEBACK_US
from cluster_model.protocol.versions import NEWEST, Profile, modes_of
from cluster_model.spec.cluster_spec import (
    DEFAULT_QUORUM,
    QUORUM_SIZES,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
)
from playbooks.errors import counted, listed, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields
from playbooks.parser.document.yaml_source import Mapping
from playbooks.parser.sections.clients import read_keys, read_loop, read_rate, read_sizes
from playbooks.parser.sections.cluster_keys import MOST_CONSUMERS
from playbooks.parser.sections.handlers import dead_letter
from playbooks.parser.sections.outputs import read_output
from playbooks.parser.sections.placing import check_placing
from playbooks.parser.sections.protocols import check_protocol
from playbooks.parser.sections.sending import read_sending
from playbooks.parser.sections.subscriptions import racks, subscription
from playbooks.parser.sections.transactions import read_transactions

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
    if not any(fields.bad(key) for key in ("kafka", "mode", "config")):
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
        node, path = fields.at("config"), fields.path("config")
        if isinstance(error, ConfigConflictError) and isinstance(node, Mapping) and error.key in node.entries:
            node, path = node.entries[error.key][1], f"{path}.{error.key}"
        notes.problem(node, path, f"found settings that exclude each other: {error}")
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
        notes.problem(fields.at("config"), fields.path("config"), f"found settings that exclude each other: {error}")
    topics, pattern = subscription(fields, profile, notes)
    return GroupSpec(
        fields.get("name", ""), topics, fields.get("members", 1), fields.get("processing", 0),
        fields.get("config", {}), fields.get("coordinated", True), fields.get("commit", "auto"),
        fields.get("fails", 0), fields.get("retries", 0), fields.get("retry_pause", 0),
        instances=_instances(fields, profile, notes), pattern=pattern, racks=racks(fields, notes),
        dead_letter=dead_letter(fields, notes), **read_output(fields, profile, notes),
    )  # fmt: skip
