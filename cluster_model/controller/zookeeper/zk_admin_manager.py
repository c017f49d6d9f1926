"""What an administrator asks of topics and configurations, and answers that wait until it is done (``AdminManager``).

The writes are done by request handler threads, not the controller's event thread, which hears of them by its watches
like any other change (``AdminZkClient``, ``ZkAdminManager``). Chosen: the answer goes out as soon as it is written;
Kafka waits, up to the request's timeout, until its own metadata tells of it.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.controller.rules.replica_placement import continued, place
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_event_queue import SideEffects
from cluster_model.controller.zookeeper.kafka_zk_client import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    ReplicaAssignment,
    TopicNode,
    ZkResult,
    broker_config_path,
    config_path,
    topic_path,
)
from cluster_model.kernel.node_context import Alarm, NodeContext
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
    is_legal,
)
from cluster_model.protocol.config_defaults import Configured, check_release
from cluster_model.protocol.config_defs import BROKER, SCOPES, ConfigValue, Scope, check, listed
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile

Verdict = Generator[tuple[Any, ...], tuple[ZkResult, ...], AdminError]
Doing = Generator[tuple[Any, ...], tuple[ZkResult, ...], None]
Config = tuple[tuple[str, ConfigValue], ...]


class Drawn(NamedTuple):
    """What a topic gets by chance, drawn when it is asked for."""

    topic_id: int
    start: int
    shift: int


class TopicRequests:
    """One per broker."""

    __slots__ = ("_answer", "_brokers", "_defaults", "_hands", "_known", "_profile")

    def __init__(
        self,
        profile: Profile,
        defaults: dict[str, Any],
        hands: SideEffects,
        brokers: Callable[[], tuple[tuple[int, str], ...]],
        known: Callable[[], tuple[int, ...]],
        answer: Callable[[int, Any, Any], None],
    ) -> None:
        """``brokers`` are the live ones of the broker's metadata with their racks, ``known`` all that there are.

        ``answer`` gets the node that asked about topics, its request and the response.
        """
        self._answer = answer
        self._profile = profile
        self._defaults = defaults
        self._hands = hands
        self._brokers = brokers
        self._known = known

    def begin(self, task: tuple[Any, ...]) -> Doing:
        """The procedure of a request: (source, request, brokers, a :class:`Drawn` for each topic)."""
        source, request, brokers, drawn = task
        if isinstance(request, CreateTopicsRequest):
            made: list[CreatableTopicResult] = []
            for topic, chance in zip(request.topics, drawn, strict=True):
                made.append((yield from self._create(topic, brokers, chance, commits=not request.validate_only)))
            self._hands.do(self._answer, source, request, CreateTopicsResponse(request.correlation, tuple(made)))
        elif isinstance(request, DeleteTopicsRequest):
            gone: list[AdminError] = []
            for name in request.topics:
                done = yield from self._delete(name)
                gone.append(done)
            self._hands.do(self._answer, source, request, DeleteTopicsResponse(request.correlation, tuple(gone)))
        elif isinstance(request, CreatePartitionsRequest):
            grown: list[AdminError] = []
            for more in request.topics:
                done = yield from self._grow(more, brokers, commits=not request.validate_only)
                grown.append(done)
            self._hands.do(self._answer, source, request, CreatePartitionsResponse(request.correlation, tuple(grown)))
        elif isinstance(request, IncrementalAlterConfigsRequest):
            changed: list[AdminError] = []
            for resource in request.resources:
                done = yield from self._alter(resource, commits=not request.validate_only)
                changed.append(done)
            self._hands.send(source, IncrementalAlterConfigsResponse(request.correlation, tuple(changed)))
        elif isinstance(request, DescribeConfigsRequest):
            found: list[tuple[str, Config]] = []
            for asked in request.topics:
                (there,) = yield (kafka_zk_client.get(config_path(asked)),)
                found.append((asked, there.data if there.ok else ()))
            self._hands.send(source, DescribeConfigsResponse(request.correlation, tuple(found)))

    def task(self, source: int, request: Any, draw: Callable[[str, int], Drawn]) -> tuple[Any, ...]:
        """What :meth:`begin` takes: all that the answer depends on besides ZooKeeper."""
        brokers = self._brokers()
        drawn: tuple[Drawn, ...] = ()
        if isinstance(request, CreateTopicsRequest):
            drawn = tuple(draw(topic.name, max(1, len(brokers))) for topic in request.topics)
        return (source, request, brokers, drawn)

    def _create(
        self, topic: CreatableTopic, brokers: tuple[tuple[int, str], ...], chance: Drawn, *, commits: bool
    ) -> Generator[tuple[Any, ...], tuple[ZkResult, ...], CreatableTopicResult]:
        """``commits``: or else only say what would come of it (``AdminZkClient.validateTopicCreate``)."""
        placement, error, why = self._placement(topic, brokers, chance)
        if error:
            return CreatableTopicResult(topic.name, error, why)
        if not is_legal(topic.name):
            return CreatableTopicResult(topic.name, KafkaError.INVALID_TOPIC_EXCEPTION, LEGAL_NAMES)
        try:
            config = tuple((key, _typed("topic", self._profile, key, value)) for key, value in topic.config)
            TopicConfig.of(self._profile, {}, dict(config))
        except ModelError as refused:
            return CreatableTopicResult(topic.name, KafkaError.INVALID_CONFIG, str(refused))
        taken = CreatableTopicResult(topic.name, KafkaError.TOPIC_ALREADY_EXISTS, "there is a topic of that name")
        (there,) = yield (kafka_zk_client.exists(topic_path(topic.name)),)
        if there.ok:
            return taken
        if commits:
            yield (kafka_zk_client.create(config_path(topic.name), config),)
            node = TopicNode(
                chance.topic_id, tuple(ReplicaAssignment(index, each) for index, each in enumerate(placement))
            )
            (made,) = yield (kafka_zk_client.create(topic_path(topic.name), node),)
            if not made.ok:
                return taken
        return CreatableTopicResult(topic.name, KafkaError.NONE, "", len(placement), len(placement[0]), config)

    def _placement(
        self, topic: CreatableTopic, brokers: tuple[tuple[int, str], ...], chance: Drawn
    ) -> tuple[tuple[tuple[int, ...], ...], KafkaError, str]:
        if topic.assignment:
            if all(self._good(replicas) for replicas in topic.assignment):
                return topic.assignment, KafkaError.NONE, ""
            return (), KafkaError.INVALID_REPLICA_ASSIGNMENT, "replicas must be different brokers of the cluster"
        own = Configured("broker", self._profile.number, self._defaults)
        count = topic.partitions if topic.partitions != DEFAULT else own.number("num.partitions")
        factor = own.number("default.replication.factor") if topic.replication == DEFAULT else topic.replication
        if count < 1:
            return (), KafkaError.INVALID_PARTITIONS, "a topic has at least one partition"
        if not 1 <= factor <= len(brokers):
            said = f"replication factor {factor} with {len(brokers)} live brokers"
            return (), KafkaError.INVALID_REPLICATION_FACTOR, said
        return self._spread(brokers, count, factor, chance.start, chance.shift), KafkaError.NONE, ""

    def _good(self, replicas: tuple[int, ...]) -> bool:
        known = self._known()
        return bool(replicas) and len(set(replicas)) == len(replicas) and all(each in known for each in replicas)

    @staticmethod
    def _spread(
        brokers: tuple[tuple[int, str], ...], count: int, factor: int, start: int, shift: int, base: int = 0
    ) -> tuple[tuple[int, ...], ...]:
        if len(brokers) == 1:
            return ((brokers[0][0],),) * count
        return place(brokers, count, factor, start, shift, base)

    def _delete(self, topic: str) -> Verdict:
        (there,) = yield (kafka_zk_client.exists(topic_path(topic)),)
        if not there.ok:
            return AdminError(topic, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
        yield (kafka_zk_client.create(f"{DELETE_TOPICS}/{topic}"),)
        return AdminError(topic, KafkaError.NONE)

    def _grow(self, more: NewPartitions, brokers: tuple[tuple[int, str], ...], *, commits: bool) -> Verdict:
        (there,) = yield (kafka_zk_client.get(topic_path(more.topic)),)
        if not there.ok:
            return AdminError(more.topic, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
        node: TopicNode = there.data
        base = len(node.partitions)
        count = more.total - base
        if count <= 0:
            said = f"the topic has {base} partitions, and can only get more"
            return AdminError(more.topic, KafkaError.INVALID_PARTITIONS, said)
        first = node.partitions[0].replicas
        added = more.assignment
        if added:
            if len(added) != count or not all(self._good(replicas) for replicas in added):
                said = "one set of different brokers for each new partition is needed"
                return AdminError(more.topic, KafkaError.INVALID_REPLICA_ASSIGNMENT, said)
        elif len(first) > len(brokers):
            return AdminError(more.topic, KafkaError.INVALID_REPLICATION_FACTOR, "too few live brokers")
        else:
            start = continued(brokers, first)
            added = self._spread(brokers, count, len(first), start, start, base)
        if not commits:
            return AdminError(more.topic, KafkaError.NONE)
        assignments = tuple(ReplicaAssignment(base + index, replicas) for index, replicas in enumerate(added))
        grown = node._replace(partitions=node.partitions + assignments)
        (written,) = yield (kafka_zk_client.put(topic_path(more.topic), grown, there.version),)
        return AdminError(more.topic, KafkaError.NONE if written.ok else KafkaError.INVALID_REQUEST)

    def _alter(self, resource: AlterConfigsResource, *, commits: bool) -> Verdict:
        topic = resource.type == "topic"
        path = config_path(resource.name) if topic else broker_config_path(resource.name)
        if topic:
            (there,) = yield (kafka_zk_client.exists(topic_path(resource.name)),)
            if not there.ok:
                return AdminError(resource.name, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
        else:
            fixed = self._fixed(resource)
            if fixed.error:
                return fixed
        (now,) = yield (kafka_zk_client.get(path),)
        try:
            scope: Scope = "topic" if topic else "broker"
            config = altered(scope, self._profile, now.data if now.ok else (), resource.configs)
            TopicConfig.of(self._profile, {} if topic else dict(config), dict(config) if topic else {})
        except ModelError as refused:
            return AdminError(resource.name, KafkaError.INVALID_CONFIG, str(refused))
        if not commits:
            return AdminError(resource.name, KafkaError.NONE)
        yield (kafka_zk_client.put(path, config) if now.ok else kafka_zk_client.create(path, config),)
        note = (resource.type, resource.name)
        yield (kafka_zk_client.create(f"{CONFIG_CHANGES}/config_change_", note, sequential=True),)
        return AdminError(resource.name, KafkaError.NONE)

    def _fixed(self, resource: AlterConfigsResource) -> AdminError:
        """Whether a broker may not be given these while it runs (``DynamicBrokerConfig.validate``).

        Before 1.1 that is so of all but the rates of throttled replication (KIP-73, KIP-226).
        """
        for config in resource.configs:
            known = BROKER.get(config.key)
            if known is None or known.dynamic == "per-broker":
                continue
            if not self._profile.dynamic_config:
                said = "brokers' configurations change at run time since 1.1"
                return AdminError(resource.name, KafkaError.UNSUPPORTED_VERSION, said)
            if known.dynamic == "read-only" and config.operation != ConfigOperation.DELETE:
                said = f"{config.key} cannot be changed while a broker runs"
                return AdminError(resource.name, KafkaError.INVALID_REQUEST, said)
        if not self._profile.throttles:
            said = "throttles came with 0.10.1"
            return AdminError(resource.name, KafkaError.UNSUPPORTED_VERSION, said)
        return AdminError(resource.name, KafkaError.NONE)


def altered(scope: Scope, profile: Profile, config: Config, changes: tuple[AlterableConfig, ...]) -> Config:
    """A configuration with changes made to it, in order (KIP-339).

    Raises:
        ModelError: a key that is unknown or that the release does not have, or a value that it does not take.
    """
    table: dict[str, ConfigValue] = dict(config)
    for key, value, operation in changes:
        if operation == ConfigOperation.DELETE:
            table.pop(key, None)
            continue
        if operation != ConfigOperation.SET:
            text = listed(key, table.get(key), value, appends=operation == ConfigOperation.APPEND)
            table[key] = _typed(scope, profile, key, text)
        else:
            table[key] = _typed(scope, profile, key, value)
    return tuple(table.items())


def _typed(scope: Scope, profile: Profile, key: str, value: ConfigValue) -> ConfigValue:
    """A value given as text in its key's own type."""
    check_release(scope, key, profile.number)
    known = SCOPES[scope].get(key)
    text = str(value)
    if known is not None and known.type == "int" and text.lstrip("-").isdigit():
        value = int(text)
    return check(scope, key, value)


# Answers to requests about topics that wait until the controller's broker knows of what was done (ZooKeeper mode).
#
# ``DelayedCreatePartitions`` and ``DelayedDeleteTopics`` in the topic purgatory: new partitions need a leader in the
# metadata of the broker that answers, a deleted topic must be gone from it. What is not so after the request's timeout
# is REQUEST_TIMED_OUT, though it may still come. In KRaft mode no answer waits.


DELAYED: Final = "delayed topics"
"""Name of the timer."""

States = Mapping[str, PartitionState]


class Delayed(NamedTuple):
    """An answer that waits until ``deadline``."""

    source: int
    request: Any
    response: Any
    deadline: int


class DelayedTopicOperations:
    """The delayed answers of one broker."""

    __slots__ = ("_alarm", "_port", "_states", "_waiting")

    def __init__(self, port: NodeContext, states: Callable[[], States]) -> None:
        """``states`` is the broker's metadata cache."""
        self._port = port
        self._states = states
        self._alarm = Alarm(port, DELAYED)
        self._waiting: list[Delayed] = []

    def answer(self, source: int, request: Any, response: Any) -> None:
        """Answer CreateTopics, DeleteTopics or CreatePartitions, now or once the broker knows of it."""
        if request.timeout_us <= 0 or getattr(request, "validate_only", False):
            self._port.send(source, response)
            return
        deadline = self._port.now + request.timeout_us
        self._waiting.append(Delayed(source, request, response, deadline))
        self._alarm.want(deadline)
        self.look()

    def look(self) -> None:
        """The broker has perhaps learned something."""
        if not self._waiting:
            return
        states = self._states()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            unseen = _unseen(each.request, each.response, states)
            if unseen and each.deadline > self._port.now:
                self._waiting.append(each)
                continue
            results = [
                entry._replace(error=KafkaError.REQUEST_TIMED_OUT) if entry.name in unseen else entry
                for entry in each.response.topics
            ]
            self._port.send(each.source, each.response._replace(topics=tuple(results)))

    def rang(self) -> None:
        """The timer: some may have waited for too long."""
        if self._alarm.rang():
            self.look()
            if self._waiting:
                self._alarm.want(min(each.deadline for each in self._waiting))

    def stopped(self) -> None:
        """The process died."""
        self._waiting.clear()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._waiting), self._alarm.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        waiting, alarm = saved
        self._waiting = list(waiting)
        self._alarm.load(alarm)


def _unseen(request: Any, response: Any, states: States) -> list[str]:
    """Topics of which the broker does not know yet what was done to them."""
    totals = {each.topic: each.total for each in request.topics} if isinstance(request, CreatePartitionsRequest) else {}
    found = []
    for entry in response.topics:
        if entry.error:
            continue
        if isinstance(request, DeleteTopicsRequest):
            seen = f"{entry.name}-0" not in states
        else:
            seen = _all_led(entry, totals, states)
        if not seen:
            found.append(entry.name)
    return found


def _all_led(entry: AdminError | CreatableTopicResult, totals: Mapping[str, int], states: States) -> bool:
    """Whether every partition of a topic has a leader (``DelayedCreatePartitions.isMissingLeader``)."""
    count = entry.partitions if isinstance(entry, CreatableTopicResult) else totals[entry.name]
    known = [states.get(f"{entry.name}-{number}") for number in range(count)]
    return all(state is not None and state.leader != NOBODY for state in known)
