"""Topics made, deleted and given more partitions (``ReplicationControlManager.createTopics`` and its neighbours).

Sans-IO: records and an answer for each request. Random numbers for the placement come from a stream per topic.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from cluster_model.controller.kraft.configuration_control import typed
from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.records import (
    ConfigRecord,
    PartitionRecord,
    Record,
    RemoveTopicRecord,
    TopicRecord,
)
from cluster_model.controller.rules.admin_rules import check_target
from cluster_model.controller.rules.change import created
from cluster_model.controller.rules.replica_placement import Draw, Usable, check_replication, place_striped
from cluster_model.protocol.admin_messages import (
    DEFAULT,
    AdminError,
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewPartitions,
)
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.errors import KafkaError, ModelError

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
Placement = tuple[tuple[int, ...], ...]


class Refused(Exception):  # noqa: N818 - as Kafka names the answer, not the failure
    """A request that cannot be granted: Kafka's error and a sentence."""

    def __init__(self, error: KafkaError, message: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message


class TopicControl:
    """Decisions about topics over one image."""

    __slots__ = ("_defaults", "_draw", "_image", "_last_id")

    def __init__(self, image: MetadataImage, draw: Callable[[str], Draw], defaults: Mapping[str, ConfigValue]) -> None:
        """``draw`` gives each topic its source of random numbers; ``defaults`` are what brokers were started with."""
        self._last_id = max(image.topics.values(), default=0)
        """Ids of later topics are above it, by the offset of their record."""
        self._image = image
        self._draw = draw
        self._defaults = defaults

    def create(self, request: CreateTopicsRequest, end: int) -> tuple[list[Record], CreateTopicsResponse]:
        """New topics: all active replicas in sync, the first of them leads. ``end``: offset of the next record."""
        records: list[Record] = []
        answers: list[AdminError] = []
        names = [topic.name for topic in request.topics]
        for topic in request.topics:
            try:
                if names.count(topic.name) > 1:
                    raise Refused(KafkaError.INVALID_REQUEST, "The topic is named twice.")
                records.extend(self._create(topic, end + len(records)))
                answers.append(AdminError(topic.name, KafkaError.NONE))
            except Refused as refused:
                answers.append(AdminError(topic.name, refused.error, refused.message))
        return records, CreateTopicsResponse(request.correlation, tuple(answers))

    def _create(self, topic: CreatableTopic, offset: int) -> list[Record]:
        if not _LEGAL.fullmatch(topic.name) or topic.name in (".", ".."):
            raise Refused(KafkaError.INVALID_TOPIC_EXCEPTION, "A topic's name has letters, digits, '.', '_' and '-'.")
        if topic.name in self._image.topics:
            raise Refused(KafkaError.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        try:
            config = [(key, typed("topic", key, text)) for key, text in topic.config]
        except ModelError as wrong:
            raise Refused(KafkaError.INVALID_CONFIG, str(wrong)) from None
        placement = self._placement(topic)
        topic_id = self._last_id + offset
        records: list[Record] = [TopicRecord(topic.name, topic_id)]
        records += [ConfigRecord("topic", topic.name, key, value) for key, value in config]
        return records + self._partitions(topic.name, topic_id, 0, placement, given=bool(topic.assignment))

    def _partitions(self, topic: str, topic_id: int, first: int, placement: Placement, *, given: bool) -> list[Record]:
        records: list[Record] = []
        for number, replicas in enumerate(placement, first):
            state = created(f"{topic}-{number}", replicas, self._image.active)._replace(topic_id=topic_id)
            if not state.isr:
                error = KafkaError.INVALID_REPLICA_ASSIGNMENT if given else KafkaError.INVALID_REPLICATION_FACTOR
                raise Refused(error, f"All brokers of partition {number} are fenced or in controlled shutdown.")
            records.append(PartitionRecord(state))
        return records

    def _placement(self, topic: CreatableTopic) -> Placement:
        if topic.assignment:
            if topic.partitions != DEFAULT or topic.replication != DEFAULT:
                raise Refused(KafkaError.INVALID_REQUEST, "An assignment rules out both numbers.")
            return self._given(topic.assignment, len(topic.assignment[0]))
        if topic.partitions != DEFAULT and topic.partitions <= 0:
            raise Refused(KafkaError.INVALID_PARTITIONS, "The number of partitions must be above 0.")
        partitions = int(self._defaults.get("num.partitions", 1)) if topic.partitions == DEFAULT else topic.partitions
        replication = topic.replication
        if replication == DEFAULT:
            replication = int(self._defaults.get("default.replication.factor", 1))
        return self._spread(topic.name, partitions, replication, ())

    def _given(self, assignment: Placement, replication: int) -> Placement:
        for replicas in assignment:
            error = check_target(replicas, lambda broker: broker in self._image.brokers)
            if error is not KafkaError.NONE:
                raise Refused(error, "Replicas must be registered brokers, each once.")
            if len(replicas) != replication:
                raise Refused(KafkaError.INVALID_REPLICA_ASSIGNMENT, "All partitions must have as many replicas.")
        return assignment

    def _spread(self, topic: str, partitions: int, replication: int, existing: Placement) -> Placement:
        usable = [
            Usable(known.broker, known.rack, known.fenced)
            for known in self._image.brokers.values()
            if not known.in_controlled_shutdown
        ]
        error = check_replication(usable, replication)
        if error is not KafkaError.NONE:
            raise Refused(error, f"Replication factor {replication}, with {len(usable)} brokers registered.")
        return place_striped(usable, partitions, replication, self._draw(topic), existing)

    def delete(self, request: DeleteTopicsRequest) -> tuple[list[Record], DeleteTopicsResponse]:
        """Topics are gone with one record each; brokers delete what they have when they hear of it."""
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
        return records, DeleteTopicsResponse(request.correlation, tuple(answers))

    def add_partitions(self, request: CreatePartitionsRequest) -> tuple[list[Record], CreatePartitionsResponse]:
        """More partitions, never fewer; they go on where the placement of the topic ended."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for wanted in request.topics:
            try:
                records.extend(self._add(wanted))
                answers.append(AdminError(wanted.topic, KafkaError.NONE))
            except Refused as refused:
                answers.append(AdminError(wanted.topic, refused.error, refused.message))
        return records, CreatePartitionsResponse(request.correlation, tuple(answers))

    def _add(self, wanted: NewPartitions) -> list[Record]:
        image, topic = self._image, wanted.topic
        if topic not in image.topics:
            raise Refused(KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
        existing = tuple(image.partitions[name].replicas for name in image.partitions_of(topic))
        more = wanted.total - len(existing)
        if more <= 0:
            message = f"The topic has {len(existing)} partitions, which is not fewer than {wanted.total}."
            raise Refused(KafkaError.INVALID_PARTITIONS, message)
        replication = len(existing[0])
        if wanted.assignment and len(wanted.assignment) != more:
            raise Refused(KafkaError.INVALID_REPLICA_ASSIGNMENT, f"{more} partitions need as many assignments.")
        placement = (
            self._given(wanted.assignment, replication)
            if wanted.assignment
            else self._spread(topic, more, replication, existing)
        )
        return self._partitions(topic, image.topics[topic], len(existing), placement, given=bool(wanted.assignment))
