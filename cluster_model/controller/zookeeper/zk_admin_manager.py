"""Admin requests about topics and configurations, and responses that wait for their effect (``AdminManager``).

The writes are done by request handler threads, not by the controller's event thread, which learns of them by its
watches like of any other change (``AdminZkClient``, ``ZkAdminManager``).
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.controller.rules.replica_placement import continued, place_zk
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_event_queue import SideEffects
from cluster_model.controller.zookeeper.kafka_zk_client import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    TOPICS,
    ReplicaAssignment,
    TopicNode,
    ZkResult,
    broker_config_path,
    config_path,
    topic_path,
)
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.admin_messages import (
    DEFAULT,
    LEGAL_NAMES,
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    ConfigOperation,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    NewPartitions,
    has_collision_chars,
    is_legal,
    unify_collision_chars,
)
from cluster_model.protocol.config_defaults import EffectiveConfig, check_release
from cluster_model.protocol.config_defs import BROKER, SCOPES, ConfigValue, Scope, apply_list_operation, check
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import INTERNAL

Verdict = Generator[tuple[Any, ...], tuple[ZkResult, ...], AdminError]
Doing = Generator[tuple[Any, ...], tuple[ZkResult, ...], None]
Config = tuple[tuple[str, ConfigValue], ...]


class RandomPlacement(NamedTuple):
    """Random values of a new topic, drawn when the request arrives."""

    topic_id: int
    start: int
    shift: int


class ZkAdminManager:
    """Handles the admin requests about topics and configurations at one broker (``ZkAdminManager``)."""

    __slots__ = ("_answer", "_brokers", "_defaults", "_effects", "_known_brokers", "_profile")

    def __init__(
        self,
        profile: Profile,
        defaults: dict[str, Any],
        effects: SideEffects,
        brokers: Callable[[], tuple[tuple[int, str], ...]],
        known_brokers: Callable[[], tuple[int, ...]],
        answer: Callable[[int, Any, Any], None],
    ) -> None:
        """``brokers`` returns the live brokers in the metadata with their racks, ``known_brokers`` all broker ids.

        ``answer`` receives the node that sent a request about topics, the request and the response.
        """
        self._answer = answer
        self._profile = profile
        self._defaults = defaults
        self._effects = effects
        self._brokers = brokers
        self._known_brokers = known_brokers

    def begin(self, task: tuple[Any, ...]) -> Doing:
        """Task of a request: (source, request, brokers, one :class:`RandomPlacement` per topic)."""
        source, request, brokers, drawn = task
        if isinstance(request, CreateTopicsRequest):
            created: list[CreatableTopicResult] = []
            for topic, random_values in zip(request.topics, drawn, strict=True):
                created.append(
                    (yield from self._create(topic, brokers, random_values, commits=not request.validate_only))
                )
            self._effects.do(
                self._answer, source, request, CreateTopicsResponse(request.correlation_id, tuple(created))
            )
        elif isinstance(request, DeleteTopicsRequest):
            deleted: list[AdminError] = []
            for name in request.topics:
                done = yield from self._delete(name)
                deleted.append(done)
            self._effects.do(
                self._answer, source, request, DeleteTopicsResponse(request.correlation_id, tuple(deleted))
            )
        elif isinstance(request, CreatePartitionsRequest):
            grown: list[AdminError] = []
            for more in request.topics:
                done = yield from self._grow(more, brokers, commits=not request.validate_only)
                grown.append(done)
            self._effects.do(
                self._answer, source, request, CreatePartitionsResponse(request.correlation_id, tuple(grown))
            )
        elif isinstance(request, IncrementalAlterConfigsRequest):
            changed: list[AdminError] = []
            for resource in request.resources:
                done = yield from self._alter(resource, commits=not request.validate_only)
                changed.append(done)
            self._effects.send(source, IncrementalAlterConfigsResponse(request.correlation_id, tuple(changed)))
        elif isinstance(request, DescribeConfigsRequest):
            configs: list[tuple[str, Config]] = []
            for topic_name in request.topics:
                (node,) = yield (kafka_zk_client.get(config_path(topic_name)),)
                configs.append((topic_name, node.data if node.ok else ()))
            self._effects.send(source, DescribeConfigsResponse(request.correlation_id, tuple(configs)))

    def task(self, source: int, request: Any, draw: Callable[[str, int], RandomPlacement]) -> tuple[Any, ...]:
        """Return the task for :meth:`begin`: everything besides ZooKeeper that the response depends on."""
        brokers = self._brokers()
        drawn: tuple[RandomPlacement, ...] = ()
        if isinstance(request, CreateTopicsRequest):
            drawn = tuple(draw(topic.name, max(1, len(brokers))) for topic in request.topics)
        return (source, request, brokers, drawn)

    def _create(
        self,
        topic: CreatableTopic,
        brokers: tuple[tuple[int, str], ...],
        random_values: RandomPlacement,
        *,
        commits: bool,
    ) -> Generator[tuple[Any, ...], tuple[ZkResult, ...], CreatableTopicResult]:
        """Create a topic, or only validate without ``commits`` (``AdminZkClient.validateTopicCreate``)."""
        placement, error, why = self._placement(topic, brokers, random_values)
        if error:
            return CreatableTopicResult(topic.name, error, why)
        if not is_legal(topic.name):
            return CreatableTopicResult(topic.name, KafkaError.INVALID_TOPIC_EXCEPTION, LEGAL_NAMES)
        try:
            config = tuple((key, _typed("topic", self._profile, key, value)) for key, value in topic.config)
            TopicConfig.of(self._profile, {}, dict(config))
        except ModelError as error:
            return CreatableTopicResult(topic.name, KafkaError.INVALID_CONFIG, str(error))
        message = f"topic {topic.name} already exists"
        taken = CreatableTopicResult(topic.name, KafkaError.TOPIC_ALREADY_EXISTS, message)
        (existing,) = yield (kafka_zk_client.exists(topic_path(topic.name)),)
        if existing.ok:
            return taken
        if self._profile.refuses_collisions and has_collision_chars(topic.name) and topic.name not in INTERNAL:
            (found,) = yield (kafka_zk_client.children(TOPICS),)
            unified = unify_collision_chars(topic.name)
            colliding = [other for other in found.children if unify_collision_chars(other) == unified]
            if colliding:
                message = f"Topic '{topic.name}' collides with existing topics: {', '.join(colliding)}"
                return CreatableTopicResult(topic.name, KafkaError.INVALID_TOPIC_EXCEPTION, message)
        if commits:
            yield (kafka_zk_client.create(config_path(topic.name), config),)
            node = TopicNode(
                random_values.topic_id,
                tuple(ReplicaAssignment(index, replicas) for index, replicas in enumerate(placement)),
            )
            (created,) = yield (kafka_zk_client.create(topic_path(topic.name), node),)
            if not created.ok:
                return taken
        return CreatableTopicResult(topic.name, KafkaError.NONE, "", len(placement), len(placement[0]), config)

    def _placement(
        self, topic: CreatableTopic, brokers: tuple[tuple[int, str], ...], random_values: RandomPlacement
    ) -> tuple[tuple[tuple[int, ...], ...], KafkaError, str]:
        if topic.assignment:
            if all(self._is_valid(replicas) for replicas in topic.assignment):
                return topic.assignment, KafkaError.NONE, ""
            return (), KafkaError.INVALID_REPLICA_ASSIGNMENT, "replicas must be distinct brokers of the cluster"
        own = EffectiveConfig("broker", self._profile.number, self._defaults)
        count = topic.partitions if topic.partitions != DEFAULT else own.number("num.partitions")
        factor = own.number("default.replication.factor") if topic.replication == DEFAULT else topic.replication
        if count < 1:
            return (), KafkaError.INVALID_PARTITIONS, f"found {count} partitions, at least 1 is required"
        if not 1 <= factor <= len(brokers):
            message = f"found replication factor {factor}, expected 1 to {len(brokers)} (live brokers)"
            return (), KafkaError.INVALID_REPLICATION_FACTOR, message
        return self._spread(brokers, count, factor, random_values.start, random_values.shift), KafkaError.NONE, ""

    def _is_valid(self, replicas: tuple[int, ...]) -> bool:
        known = self._known_brokers()
        return bool(replicas) and len(set(replicas)) == len(replicas) and all(broker in known for broker in replicas)

    @staticmethod
    def _spread(
        brokers: tuple[tuple[int, str], ...], count: int, factor: int, start: int, shift: int, base: int = 0
    ) -> tuple[tuple[int, ...], ...]:
        if len(brokers) == 1:
            return ((brokers[0][0],),) * count
        return place_zk(brokers, count, factor, start, shift, base)

    def _delete(self, topic: str) -> Verdict:
        (existing,) = yield (kafka_zk_client.exists(topic_path(topic)),)
        if not existing.ok:
            return AdminError(topic, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
        yield (kafka_zk_client.create(f"{DELETE_TOPICS}/{topic}"),)
        return AdminError(topic, KafkaError.NONE)

    def _grow(self, more: NewPartitions, brokers: tuple[tuple[int, str], ...], *, commits: bool) -> Verdict:
        (existing,) = yield (kafka_zk_client.get(topic_path(more.topic)),)
        if not existing.ok:
            return AdminError(more.topic, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
        node: TopicNode = existing.data
        base = len(node.partitions)
        count = more.total - base
        if count <= 0:
            message = f"found {more.total} partitions requested, but the topic already has {base}"
            return AdminError(more.topic, KafkaError.INVALID_PARTITIONS, message)
        first = node.partitions[0].replicas
        added = more.assignment
        if added:
            if len(added) != count or not all(self._is_valid(replicas) for replicas in added):
                message = "each new partition needs its own list of distinct brokers"
                return AdminError(more.topic, KafkaError.INVALID_REPLICA_ASSIGNMENT, message)
        elif len(first) > len(brokers):
            return AdminError(
                more.topic,
                KafkaError.INVALID_REPLICATION_FACTOR,
                f"found {len(brokers)} live brokers, {len(first)} are required",
            )
        else:
            start = continued(brokers, first)
            added = self._spread(brokers, count, len(first), start, start, base)
        if not commits:
            return AdminError(more.topic, KafkaError.NONE)
        assignments = tuple(ReplicaAssignment(base + index, replicas) for index, replicas in enumerate(added))
        grown = node._replace(partitions=node.partitions + assignments)
        (written,) = yield (kafka_zk_client.put(topic_path(more.topic), grown, existing.version),)
        return AdminError(more.topic, KafkaError.NONE if written.ok else KafkaError.INVALID_REQUEST)

    def _alter(self, resource: AlterConfigsResource, *, commits: bool) -> Verdict:
        topic = resource.type == "topic"
        path = config_path(resource.name) if topic else broker_config_path(resource.name)
        if topic:
            (existing,) = yield (kafka_zk_client.exists(topic_path(resource.name)),)
            if not existing.ok:
                return AdminError(resource.name, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
        else:
            rejected = self._check_dynamic(resource)
            if rejected.error:
                return rejected
        (current,) = yield (kafka_zk_client.get(path),)
        try:
            scope: Scope = "topic" if topic else "broker"
            config = altered(scope, self._profile, current.data if current.ok else (), resource.configs)
            TopicConfig.of(self._profile, {} if topic else dict(config), dict(config) if topic else {})
        except ModelError as error:
            return AdminError(resource.name, KafkaError.INVALID_CONFIG, str(error))
        if not commits:
            return AdminError(resource.name, KafkaError.NONE)
        yield (kafka_zk_client.put(path, config) if current.ok else kafka_zk_client.create(path, config),)
        note = (resource.type, resource.name)
        yield (kafka_zk_client.create(f"{CONFIG_CHANGES}/config_change_", note, sequential=True),)
        return AdminError(resource.name, KafkaError.NONE)

    def _check_dynamic(self, resource: AlterConfigsResource) -> AdminError:
        """Check that settings of a broker can change at run time (``DynamicBrokerConfig.validate``).

        Before 1.1 only the rates of throttled replication can (KIP-73, KIP-226).
        """
        for config in resource.configs:
            definition = BROKER.get(config.key)
            if definition is None or definition.dynamic == "per-broker":
                continue
            if not self._profile.dynamic_config:
                message = "dynamic broker configurations need Kafka 1.1 or later"
                return AdminError(resource.name, KafkaError.UNSUPPORTED_VERSION, message)
            if definition.dynamic == "read-only" and config.operation != ConfigOperation.DELETE:
                message = f"{config.key} is read-only while a broker runs"
                return AdminError(resource.name, KafkaError.INVALID_REQUEST, message)
        if not self._profile.throttles:
            message = "replication throttles need Kafka 0.10.1 or later"
            return AdminError(resource.name, KafkaError.UNSUPPORTED_VERSION, message)
        return AdminError(resource.name, KafkaError.NONE)


def altered(scope: Scope, profile: Profile, config: Config, changes: tuple[AlterableConfig, ...]) -> Config:
    """Return a configuration with changes applied in order (KIP-339).

    Raises:
        ModelError: an unknown key, a key that the release lacks, or an invalid value.
    """
    table: dict[str, ConfigValue] = dict(config)
    for key, value, operation in changes:
        if operation == ConfigOperation.DELETE:
            table.pop(key, None)
            continue
        if operation != ConfigOperation.SET:
            text = apply_list_operation(key, table.get(key), value, appends=operation == ConfigOperation.APPEND)
            table[key] = _typed(scope, profile, key, text)
        else:
            table[key] = _typed(scope, profile, key, value)
    return tuple(table.items())


def _typed(scope: Scope, profile: Profile, key: str, value: ConfigValue) -> ConfigValue:
    """Parse a value given as text by the type of its key."""
    check_release(scope, key, profile.number)
    known = SCOPES[scope].get(key)
    text = str(value)
    if known is not None and known.type == "int" and text.lstrip("-").isdigit():
        value = int(text)
    return check(scope, key, value)


# Responses to requests about topics, delayed until the controller's broker has the new metadata (ZooKeeper mode):
# ``DelayedCreatePartitions`` and ``DelayedDeleteTopics`` in the topic purgatory. New partitions need a leader in the
# metadata of the responding broker, a deleted topic must be gone from it. After the request's timeout the response is
# REQUEST_TIMED_OUT, though the change may still happen. In KRaft mode no response waits.


DELAYED: Final = "delayed topics"
"""Name of the timer of delayed responses."""

States = Mapping[str, PartitionState]


class DelayedReply(NamedTuple):
    """A response that waits until ``deadline``."""

    source: int
    request: Any
    response: Any
    deadline: int


class DelayedTopicOperations:
    """Responses of one broker that wait for its metadata (``DelayedOperationPurgatory``)."""

    __slots__ = ("_port", "_states", "_timer", "_waiting")

    def __init__(self, port: NodeContext, states: Callable[[], States]) -> None:
        """``states`` returns the broker's metadata cache."""
        self._port = port
        self._states = states
        self._timer = DeadlineTimer(port, DELAYED)
        self._waiting: list[DelayedReply] = []

    def answer(self, source: int, request: Any, response: Any) -> None:
        """Respond to CreateTopics, DeleteTopics or CreatePartitions, at once or when the metadata shows the effect."""
        if request.timeout_us <= 0 or getattr(request, "validate_only", False):
            self._port.send(source, response)
            return
        deadline = self._port.now + request.timeout_us
        self._waiting.append(DelayedReply(source, request, response, deadline))
        self._timer.arm(deadline)
        self.check()

    def check(self) -> None:
        """Send the responses whose effect the metadata shows by now."""
        if not self._waiting:
            return
        states = self._states()
        waiting, self._waiting = self._waiting, []
        for delayed in waiting:
            unseen = _unseen(delayed.request, delayed.response, states)
            if unseen and delayed.deadline > self._port.now:
                self._waiting.append(delayed)
                continue
            results = [
                entry._replace(error=KafkaError.REQUEST_TIMED_OUT) if entry.name in unseen else entry
                for entry in delayed.response.topics
            ]
            self._port.send(delayed.source, delayed.response._replace(topics=tuple(results)))

    def on_timer(self) -> None:
        """Handle the timer: time out responses that have waited too long."""
        if self._timer.take_expired():
            self.check()
            if self._waiting:
                self._timer.arm(min(delayed.deadline for delayed in self._waiting))

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._waiting), self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        waiting, timer = saved
        self._waiting = list(waiting)
        self._timer.load(timer)


def _unseen(request: Any, response: Any, states: States) -> list[str]:
    """Topics whose change is not in the broker's metadata yet."""
    totals = (
        {topic.topic: topic.total for topic in request.topics} if isinstance(request, CreatePartitionsRequest) else {}
    )
    unknown = []
    for entry in response.topics:
        if entry.error:
            continue
        if isinstance(request, DeleteTopicsRequest):
            seen = f"{entry.name}-0" not in states
        else:
            seen = _all_led(entry, totals, states)
        if not seen:
            unknown.append(entry.name)
    return unknown


def _all_led(entry: AdminError | CreatableTopicResult, totals: Mapping[str, int], states: States) -> bool:
    """Whether every partition of a topic has a leader (``DelayedCreatePartitions.isMissingLeader``)."""
    count = entry.partitions if isinstance(entry, CreatableTopicResult) else totals[entry.name]
    known = [states.get(f"{entry.name}-{index}") for index in range(count)]
    return all(state is not None and state.leader != NO_LEADER for state in known)
