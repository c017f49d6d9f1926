"""Topics, partitions, ISR changes and configurations at the active controller (``ReplicationControlManager``).

Sans-IO: each request yields records and a response. Random numbers for the placement come from a stream per topic.
"""

from collections.abc import Callable, Iterable, Mapping

from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.controller.kraft.metadata import (
    ClearElrRecord,
    ConfigRecord,
    MetadataImage,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RemoveTopicRecord,
    TopicRecord,
    topic_of,
)
from cluster_model.controller.rules.admin_rules import (
    MOST_ELECTIONS,
    begin_kraft,
    cancel_kraft,
    check_target,
    elect_requested_kraft,
    imbalanced_kraft,
    in_progress,
)
from cluster_model.controller.rules.alter_partition import accept_kraft, proposer_error, validate_kraft
from cluster_model.controller.rules.kraft_partition_changes import (
    broker_fenced,
    broker_unfenced,
    build_change,
    unclean_shutdown,
)
from cluster_model.controller.rules.partition_change import ElectionMode, PartitionChange, created
from cluster_model.controller.rules.replica_placement import Draw, UsableBroker, check_replication, place_striped
from cluster_model.protocol.admin_messages import (
    DEFAULT,
    LEGAL_NAMES,
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ConfigOperation,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    NewPartitions,
    OngoingReassignment,
    ReassignablePartition,
    has_collision_chars,
    is_legal,
    unify_collision_chars,
)
from cluster_model.protocol.config_defaults import EffectiveConfig, check_release
from cluster_model.protocol.config_defs import (
    LIST_DEFAULTS,
    MIN_ISR,
    SCOPES,
    ConfigValue,
    Scope,
    apply_list_operation,
    check,
)
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse, PartitionState
from cluster_model.protocol.versions import Profile

# Configurations of topics and brokers, changed at run time (``ConfigurationControlManager``, KIP-339). Sans-IO.


def parse_config(scope: Scope, profile: Profile, key: str, text: str) -> ConfigValue:
    """Parse a configuration value from the text that an administrator gives.

    Raises:
        ModelError: an unknown key, a key that the release lacks, or an invalid value.
    """
    check_release(scope, key, profile.number)
    known = SCOPES[scope].get(key)
    if known is not None and known.type == "int":
        try:
            return check(scope, key, int(text))
        except ValueError:
            pass
    return check(scope, key, text)


class ConfigurationControlManager:
    """Decides about configuration changes, from the image of one controller."""

    __slots__ = ("_image", "_profile")

    def __init__(self, image: MetadataImage, profile: Profile) -> None:
        self._image = image
        self._profile = profile

    def alter(self, request: IncrementalAlterConfigsRequest) -> tuple[list[Record], IncrementalAlterConfigsResponse]:
        """Alter configurations: for each resource all of its changes, or none if one is invalid."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for resource in request.resources:
            error, message, changes = self._resource(resource)
            records.extend(changes)
            answers.append(AdminError(resource.name, error, message))
        records += self._clearing(records)
        return records, IncrementalAlterConfigsResponse(request.correlation_id, tuple(answers))

    def _clearing(self, records: list[Record]) -> list[Record]:
        """Return the records that clear ELRs after a change of ``min.insync.replicas`` (KIP-966).

        An ELR is valid only for the minimum that was in force when the ISR fell below it. ELRs of one topic are cleared
        where its own minimum changes, those of all topics where that of all brokers does
        (``createClearElrRecordsAsNeeded``).
        """
        if not self._profile.elr:
            return []
        return [
            ClearElrRecord(record.name if record.type == "topic" else "")
            for record in records
            if isinstance(record, ConfigRecord) and record.key == MIN_ISR
        ]

    def _resource(self, resource: AlterConfigsResource) -> tuple[KafkaError, str, list[Record]]:
        unknown = self._unknown(resource)
        if unknown is not KafkaError.NONE:
            return unknown, "", []
        scope: Scope = "topic" if resource.type == "topic" else "broker"
        records: list[Record] = []
        own = self._image.config(resource.type, resource.name)
        for config in resource.configs:
            try:
                value = self._value(scope, config, own.get(config.key))
            except ModelError as error:
                return KafkaError.INVALID_CONFIG, str(error), []
            if self._profile.elr and config.key == MIN_ISR and resource.type == "broker":
                reason = self._reject_reason(resource.name, value)
                if reason:
                    return KafkaError.INVALID_CONFIG, reason, []
            if own.get(config.key) != value:
                records.append(ConfigRecord(resource.type, resource.name, config.key, value))
        return KafkaError.NONE, "", records

    @staticmethod
    def _reject_reason(broker: str, value: ConfigValue | None) -> str:
        """Why a broker-level minimum is rejected, empty if valid: with ELR the controller must know a single one."""
        if broker:
            return f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
        return f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled." if value is None else ""

    def _unknown(self, resource: AlterConfigsResource) -> KafkaError:
        if resource.type == "topic":
            exists = resource.name in self._image.topics
            return KafkaError.NONE if exists else KafkaError.UNKNOWN_TOPIC_OR_PARTITION
        if resource.type != "broker" or (resource.name and not resource.name.isdecimal()):
            return KafkaError.INVALID_REQUEST
        exists = not resource.name or int(resource.name) in self._image.brokers
        return KafkaError.NONE if exists else KafkaError.BROKER_ID_NOT_REGISTERED

    def _value(self, scope: Scope, config: AlterableConfig, current: ConfigValue | None) -> ConfigValue | None:
        if config.operation == ConfigOperation.DELETE:
            if config.key not in SCOPES[scope]:
                check(scope, config.key, "")
            return None
        if config.operation == ConfigOperation.SET:
            return parse_config(scope, self._profile, config.key, config.value)
        text = apply_list_operation(
            config.key, current, config.value, appends=config.operation == ConfigOperation.APPEND
        )
        return parse_config(scope, self._profile, config.key, text) if text or config.key in LIST_DEFAULTS else None


Placement = tuple[tuple[int, ...], ...]


class ApiError(Exception):
    """A rejected request: Kafka's error code and a message."""

    def __init__(self, error: KafkaError, message: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message


class UnexpectedServerError(Exception):
    """An exception that a controller does not expect: it answers UNKNOWN_SERVER_ERROR and resigns."""


class TopicControlManager:
    """Decides about topic creation and deletion, from the image of one controller."""

    __slots__ = ("_defaults", "_draw", "_image", "_last_id", "_profile")

    def __init__(
        self,
        image: MetadataImage,
        profile: Profile,
        draw: Callable[[str], Draw],
        defaults: Mapping[str, ConfigValue],
    ) -> None:
        """``draw`` gives each topic its random numbers; ``defaults`` are the brokers' static configurations."""
        self._last_id = max(image.topics.values(), default=0)
        """Base for the ids of new topics, to which the offset of their record is added."""
        self._image = image
        self._profile = profile
        self._draw = draw
        self._defaults = defaults

    def create(self, request: CreateTopicsRequest, end: int) -> tuple[list[Record], CreateTopicsResponse]:
        """Create topics: all active replicas in sync, the first of them leader. ``end``: offset of the next record."""
        records: list[Record] = []
        answers: list[CreatableTopicResult] = []
        names = [topic.name for topic in request.topics]
        for topic in request.topics:
            try:
                if names.count(topic.name) > 1:
                    message = f"Topic '{topic.name}' occurs more than once in the request."
                    raise ApiError(KafkaError.INVALID_REQUEST, message)
                made, answer = self._create(topic, end + len(records))
                records.extend(made)
                answers.append(answer)
            except ApiError as error:
                answers.append(CreatableTopicResult(topic.name, error.error, error.message))
        return records, CreateTopicsResponse(request.correlation_id, tuple(answers))

    def _create(self, topic: CreatableTopic, offset: int) -> tuple[list[Record], CreatableTopicResult]:
        if not is_legal(topic.name):
            raise ApiError(KafkaError.INVALID_TOPIC_EXCEPTION, LEGAL_NAMES)
        if topic.name in self._image.topics:
            raise ApiError(KafkaError.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        self._check_collision(topic.name)
        try:
            config = tuple((key, parse_config("topic", self._profile, key, text)) for key, text in topic.config)
        except ModelError as error:
            raise ApiError(KafkaError.INVALID_CONFIG, str(error)) from None
        placement = self._placement(topic)
        topic_id = self._last_id + offset
        records: list[Record] = [TopicRecord(topic.name, topic_id)]
        records += [ConfigRecord("topic", topic.name, key, value) for key, value in config]
        records += self._partitions(topic.name, topic_id, 0, placement, given=bool(topic.assignment))
        made = CreatableTopicResult(topic.name, KafkaError.NONE, "", len(placement), len(placement[0]), config)
        return records, made

    def _check_collision(self, topic: str) -> None:
        """Reject a name that collides with another one (``validateNewTopicNames``).

        Up to 3.3.1 the names of a deleted topic with a dot leave an empty set, in which the controller then looks for
        the colliding topic: an unexpected exception (KAFKA-14337).
        """
        if not has_collision_chars(topic):
            return
        unified = unify_collision_chars(topic)
        for other in self._image.topics:
            if unify_collision_chars(other) == unified:
                message = f"Topic '{topic}' collides with existing topic: {other}"
                raise ApiError(KafkaError.INVALID_TOPIC_EXCEPTION, message)
        if self._profile.keeps_freed_names and unified in self._image.freed_names:
            raise UnexpectedServerError

    def _partitions(self, topic: str, topic_id: int, first: int, placement: Placement, *, given: bool) -> list[Record]:
        records: list[Record] = []
        for index, replicas in enumerate(placement, first):
            state = created(f"{topic}-{index}", replicas, self._image.active)._replace(topic_id=topic_id)
            if not state.isr:
                error = KafkaError.INVALID_REPLICA_ASSIGNMENT if given else KafkaError.INVALID_REPLICATION_FACTOR
                raise ApiError(error, f"All brokers of partition {index} are fenced or in controlled shutdown.")
            records.append(PartitionRecord(state))
        return records

    def _placement(self, topic: CreatableTopic) -> Placement:
        if topic.assignment:
            if topic.partitions != DEFAULT or topic.replication != DEFAULT:
                message = "A replica assignment excludes a partition count and a replication factor."
                raise ApiError(KafkaError.INVALID_REQUEST, message)
            return self._given(topic.assignment, len(topic.assignment[0]))
        if topic.partitions != DEFAULT and topic.partitions <= 0:
            message = f"Found {topic.partitions} partitions, at least 1 is required."
            raise ApiError(KafkaError.INVALID_PARTITIONS, message)
        own = EffectiveConfig("broker", self._profile.number, self._defaults)
        partitions = own.number("num.partitions") if topic.partitions == DEFAULT else topic.partitions
        replication = own.number("default.replication.factor") if topic.replication == DEFAULT else topic.replication
        return self._spread(topic.name, partitions, replication, ())

    def _given(self, assignment: Placement, replication: int) -> Placement:
        for replicas in assignment:
            error = check_target(replicas, lambda broker: broker in self._image.brokers)
            if error is not KafkaError.NONE:
                raise ApiError(error, "Replicas must be distinct registered brokers.")
            if len(replicas) != replication:
                message = "All partitions must have the same number of replicas."
                raise ApiError(KafkaError.INVALID_REPLICA_ASSIGNMENT, message)
        return assignment

    def _spread(self, topic: str, partitions: int, replication: int, existing: Placement) -> Placement:
        usable = [
            UsableBroker(known.broker, known.rack, known.fenced)
            for known in self._image.brokers.values()
            if not known.in_controlled_shutdown
        ]
        error = check_replication(usable, replication)
        if error is not KafkaError.NONE:
            raise ApiError(error, f"Found replication factor {replication}, but {len(usable)} brokers are registered.")
        return place_striped(usable, partitions, replication, self._draw(topic), existing)

    def delete(self, request: DeleteTopicsRequest) -> tuple[list[Record], DeleteTopicsResponse]:
        """Delete topics with one record each; brokers delete their replicas when they replay it."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for name in request.topics:
            topic_id = self._image.topics.get(name)
            twice = request.topics.count(name) > 1
            if topic_id is None or twice:
                error = KafkaError.INVALID_REQUEST if twice else KafkaError.UNKNOWN_TOPIC_OR_PARTITION
                answers.append(AdminError(name, error))
            else:
                records.append(RemoveTopicRecord(name, topic_id))
                answers.append(AdminError(name, KafkaError.NONE))
        return records, DeleteTopicsResponse(request.correlation_id, tuple(answers))

    def add_partitions(self, request: CreatePartitionsRequest) -> tuple[list[Record], CreatePartitionsResponse]:
        """Add partitions to topics, never remove any; the placement continues where the topic's ended."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for wanted in request.topics:
            try:
                records.extend(self._add(wanted))
                answers.append(AdminError(wanted.topic, KafkaError.NONE))
            except ApiError as error:
                answers.append(AdminError(wanted.topic, error.error, error.message))
        return records, CreatePartitionsResponse(request.correlation_id, tuple(answers))

    def _add(self, wanted: NewPartitions) -> list[Record]:
        image, topic = self._image, wanted.topic
        if topic not in image.topics:
            raise ApiError(KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
        existing = tuple(image.partitions[name].replicas for name in image.partitions_of(topic))
        more = wanted.total - len(existing)
        if more <= 0:
            message = f"Found {wanted.total} partitions requested, but the topic already has {len(existing)}."
            raise ApiError(KafkaError.INVALID_PARTITIONS, message)
        replication = len(existing[0])
        if wanted.assignment and len(wanted.assignment) != more:
            message = f"Found {len(wanted.assignment)} assignments for {more} new partitions."
            raise ApiError(KafkaError.INVALID_REPLICA_ASSIGNMENT, message)
        placement = (
            self._given(wanted.assignment, replication)
            if wanted.assignment
            else self._spread(topic, more, replication, existing)
        )
        return self._partitions(topic, image.topics[topic], len(existing), placement, given=bool(wanted.assignment))


# The active controller's decisions about partitions after an event (``ReplicationControlManager``). Sans-IO: it reads
# the controller's image and returns records, which the caller applies and appends.


Decide = Callable[[PartitionState, TopicConfig], PartitionChange | None]


def as_record(change: PartitionChange) -> PartitionChangeRecord:
    """Return a decision as a record of the log."""
    return PartitionChangeRecord(change.state, change.by, change.clean)


class ReplicationControlManager:
    """Decides about leaders and ISRs, from the image of one controller."""

    __slots__ = ("_defaults", "_image", "_profile", "_topics")

    def __init__(self, image: MetadataImage, profile: Profile, defaults: Mapping[str, ConfigValue]) -> None:
        """``defaults`` are the brokers' static configurations."""
        self._image = image
        self._profile = profile
        self._defaults = defaults
        self._topics: dict[tuple[tuple[str, ConfigValue], ...], TopicConfig] = {}

    def topic_config(self, topic: str) -> TopicConfig:
        """Effective configuration of a topic: its own values, else those of all brokers, else the static ones."""
        image = self._image
        broker, own = image.config("broker", ""), image.config("topic", topic)
        key = (*broker.items(), ("", ""), *own.items())
        found = self._topics.get(key)
        if found is None:
            found = self._topics[key] = TopicConfig.of(self._profile, {**self._defaults, **broker}, own)
        return found

    def leads_any(self, broker: int) -> bool:
        """Whether a broker leads any partition."""
        return any(state.leader == broker for state in self._image.partitions.values())

    def _decide(self, states: Iterable[PartitionState], decide: Decide) -> list[Record]:
        records: list[Record] = []
        for state in states:
            change = decide(state, self.topic_config(topic_of(state.partition)))
            if change is not None:
                records.append(as_record(change))
        return records

    def handle_broker_fenced(self, broker: int, by: str) -> list[Record]:
        """Remove a broker that is fenced or shuts down from every ISR, and move its leaderships."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if broker in state.isr),
            lambda state, topic: broker_fenced(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def handle_broker_unfenced(self, broker: int, by: str) -> list[Record]:
        """Handle a broker that is unfenced: elect leaders for partitions that have none."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if state.leader == NO_LEADER),
            lambda state, topic: broker_unfenced(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def handle_unclean_shutdown(self, broker: int, by: str) -> list[Record]:
        """Remove a broker from every ISR and ELR: it had an unclean shutdown, or is unregistered (KIP-966)."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if broker in state.isr or broker in state.elr),
            lambda state, topic: unclean_shutdown(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def alter_partitions(self, request: AlterPartitionBatchRequest) -> tuple[list[Record], AlterPartitionBatchResponse]:
        """Decide about ISR changes that leaders propose; the response is valid once the records are committed."""
        known = self._image.brokers.get(request.broker)
        if known is None or known.epoch != request.broker_epoch:
            return [], AlterPartitionBatchResponse(request.correlation_id, KafkaError.STALE_BROKER_EPOCH, ())
        epochs = {broker: registration.epoch for broker, registration in self._image.brokers.items()}
        records: list[Record] = []
        answers: list[AlterPartitionResponse] = []
        for proposal in request.partitions:
            proposed = proposal._replace(leader=request.broker, broker_epoch=request.broker_epoch)
            answers.append(self._judge(proposed, epochs, records))
        return records, AlterPartitionBatchResponse(request.correlation_id, KafkaError.NONE, tuple(answers))

    def _judge(
        self, proposal: AlterPartitionRequest, epochs: Mapping[int, int], records: list[Record]
    ) -> AlterPartitionResponse:
        image, profile = self._image, self._profile
        partition, number = proposal.partition, proposal.correlation_id
        state = image.partitions.get(partition)
        error = validate_kraft(state, proposal, epochs=epochs, active=image.active, profile=profile)
        if state is None or error is not KafkaError.NONE:
            isr, epoch = ((), -1) if state is None else (state.isr, state.partition_epoch)
            return AlterPartitionResponse(partition, error, proposal.leader_epoch, isr, epoch, number)
        topic = self.topic_config(topic_of(partition))
        change = accept_kraft(state, proposal, active=image.active, profile=profile, topic=topic)
        if change is not None:
            records.append(as_record(change))
            state = change.state
        error = proposer_error(change, proposal)
        leader_epoch = proposal.leader_epoch if error is not KafkaError.NONE else state.leader_epoch
        return AlterPartitionResponse(partition, error, leader_epoch, state.isr, state.partition_epoch, number)

    def elect(self, partition: str, *, unclean: bool) -> tuple[KafkaError, list[Record]]:
        """Elect the leader of one partition on an administrator's request (``electLeader``)."""
        image = self._image
        state = image.partitions.get(partition)
        if state is None:
            return KafkaError.UNKNOWN_TOPIC_OR_PARTITION, []
        topic = self.topic_config(topic_of(partition))
        change = elect_requested_kraft(
            state, unclean=unclean, active=image.active, profile=self._profile, topic=topic, by="administrator"
        )
        return (change, []) if isinstance(change, KafkaError) else (KafkaError.NONE, [as_record(change)])

    def _elected(self, state: PartitionState, election: ElectionMode, by: str) -> PartitionChange | None:
        topic = self.topic_config(topic_of(state.partition))
        return build_change(
            state, active=self._image.active, profile=self._profile, topic=topic, election=election, by=by
        )  # fmt: skip

    def rebalance(self) -> tuple[list[Record], bool]:
        """Move partitions to their preferred leaders, up to the maximum per round; True: some may be left."""
        image = self._image
        found = imbalanced_kraft(image.partitions.values(), active=image.active)
        changes = [self._elected(image.partitions[name], ElectionMode.PREFERRED, "preferred leader") for name in found]
        return [as_record(change) for change in changes if change is not None], len(found) == MOST_ELECTIONS

    def elect_unclean(self) -> list[Record]:
        """Elect leaders uncleanly for leaderless partitions where allowed (``maybeElectUncleanLeaders``)."""
        records: list[Record] = []
        for state in self._image.partitions.values():
            if state.leader == NO_LEADER and self.topic_config(topic_of(state.partition)).unclean:
                change = self._elected(state, ElectionMode.ONLINE, "unclean election timer")
                if change is not None and change.state.leader != NO_LEADER:
                    records.append(as_record(change))
        return records


# Requested changes of partitions: reassignments (KIP-455) and elections (KIP-460). Sans-IO.


_BY = "reassignment"


class ReassignmentControlManager:
    """Decides about requested reassignments and elections, from the image of one controller."""

    __slots__ = ("_image", "_profile", "_replication")

    def __init__(self, image: MetadataImage, profile: Profile, replication: ReplicationControlManager) -> None:
        self._image = image
        self._profile = profile
        self._replication = replication

    def reassign(
        self, request: AlterPartitionReassignmentsRequest
    ) -> tuple[list[Record], AlterPartitionReassignmentsResponse]:
        """Start or cancel reassignments; AlterPartition requests of the leaders complete them."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for wanted in request.partitions:
            error, message, changes = self._reassign(wanted)
            records.extend(changes)
            answers.append(AdminError(wanted.partition, error, message))
        return records, AlterPartitionReassignmentsResponse(request.correlation_id, KafkaError.NONE, tuple(answers))

    def _reassign(self, wanted: ReassignablePartition) -> tuple[KafkaError, str, list[Record]]:
        image, profile = self._image, self._profile
        state = image.partitions.get(wanted.partition)
        if state is None:
            return KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "", []
        topic = self._replication.topic_config(topic_of(wanted.partition))
        if wanted.replicas is None:
            change = cancel_kraft(state, active=image.active, profile=profile, topic=topic, by=f"{_BY} cancelled")
            if isinstance(change, KafkaError):
                return change, "", []
            return KafkaError.NONE, "", [as_record(change)]
        error = check_target(wanted.replicas, lambda broker: broker in image.brokers)
        if error is not KafkaError.NONE:
            return error, "Replicas must be distinct registered brokers.", []
        begun = begin_kraft(state, wanted.replicas, active=image.active, profile=profile, topic=topic, by=_BY)
        return KafkaError.NONE, "", [] if begun is None else [as_record(begun)]

    def list_reassignments(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        """List the reassignments in progress."""
        image = self._image
        names = request.partitions or tuple(image.partitions)
        states = [image.partitions[name] for name in names if name in image.partitions]
        reassignments = tuple(
            OngoingReassignment(state.partition, state.replicas, state.adding, state.removing)
            for state in states
            if in_progress(state)
        )
        return ListPartitionReassignmentsResponse(request.correlation_id, KafkaError.NONE, reassignments)

    def elect(self, request: ElectLeadersRequest) -> tuple[list[Record], ElectLeadersResponse]:
        """Elect leaders on request; for a request of all partitions, list only those that needed an election."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for partition in request.partitions or tuple(self._image.partitions):
            error, changes = self._replication.elect(partition, unclean=request.unclean)
            records.extend(changes)
            if request.partitions or error is not KafkaError.ELECTION_NOT_NEEDED:
                answers.append(AdminError(partition, error))
        return records, ElectLeadersResponse(request.correlation_id, KafkaError.NONE, tuple(answers))
