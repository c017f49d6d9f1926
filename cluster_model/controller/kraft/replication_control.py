"""What the active controller decides about partitions when something happens (``ReplicationControlManager``).

Sans-IO: it looks at the controller's image, and returns records; whoever calls applies and appends them.
"""

from collections.abc import Callable, Iterable, Mapping

from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest, AlterPartitionBatchResponse
from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.records import PartitionChangeRecord, Record, topic_of
from cluster_model.controller.rules.alter_partition import accept_kraft, answer_error, judge_kraft
from cluster_model.controller.rules.change import Change, Election
from cluster_model.controller.rules.elections import asked_kraft
from cluster_model.controller.rules.kraft_events import broker_back, broker_gone, unclean_shutdown
from cluster_model.controller.rules.kraft_partition_changes import build
from cluster_model.controller.rules.rebalance import MOST_ELECTIONS, imbalanced_kraft
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, AlterPartitionRequest, AlterPartitionResponse, PartitionState
from cluster_model.protocol.versions import Profile

Decide = Callable[[PartitionState, TopicConfig], Change | None]


def recorded(change: Change) -> PartitionChangeRecord:
    """A decision as it goes into the log."""
    return PartitionChangeRecord(change.state, change.by, change.clean)


class ReplicationControl:
    """Decisions over one image."""

    __slots__ = ("_defaults", "_image", "_profile", "_topics")

    def __init__(self, image: MetadataImage, profile: Profile, defaults: Mapping[str, ConfigValue]) -> None:
        """``defaults`` are the brokers' configurations as they were started with."""
        self._image = image
        self._profile = profile
        self._defaults = defaults
        self._topics: dict[tuple[tuple[str, ConfigValue], ...], TopicConfig] = {}

    def topic_config(self, topic: str) -> TopicConfig:
        """What holds for a topic: its own configurations, else those of all brokers, else the first ones."""
        image = self._image
        broker, own = image.config("broker", ""), image.config("topic", topic)
        key = (*broker.items(), ("", ""), *own.items())
        found = self._topics.get(key)
        if found is None:
            found = self._topics[key] = TopicConfig.of(self._profile, {**self._defaults, **broker}, own)
        return found

    def leads(self, broker: int) -> bool:
        """Whether a broker leads any partition."""
        return any(state.leader == broker for state in self._image.partitions.values())

    def _decide(self, states: Iterable[PartitionState], decide: Decide) -> list[Record]:
        records: list[Record] = []
        for state in states:
            change = decide(state, self.topic_config(topic_of(state.partition)))
            if change is not None:
                records.append(recorded(change))
        return records

    def gone(self, broker: int, by: str) -> list[Record]:
        """A broker is fenced or begins its controlled shutdown: it leaves every ISR, and others lead."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if broker in state.isr),
            lambda state, topic: broker_gone(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def back(self, broker: int, by: str) -> list[Record]:
        """A broker is unfenced: partitions that nobody leads may have found someone."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if state.leader == NOBODY),
            lambda state, topic: broker_back(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def forgotten(self, broker: int, by: str) -> list[Record]:
        """A broker's log may be short, or it is unregistered: it leaves ISR and ELR everywhere (KIP-966)."""
        image, profile = self._image, self._profile
        return self._decide(
            (state for state in image.partitions.values() if broker in state.isr or broker in state.elr),
            lambda state, topic: unclean_shutdown(
                state, broker, active=image.active, profile=profile, topic=topic, by=by
            ),
        )  # fmt: skip

    def alter_partitions(self, request: AlterPartitionBatchRequest) -> tuple[list[Record], AlterPartitionBatchResponse]:
        """Judge what leaders propose; what is answered holds once the records are committed."""
        known = self._image.brokers.get(request.broker)
        if known is None or known.epoch != request.broker_epoch:
            return [], AlterPartitionBatchResponse(request.correlation, KafkaError.STALE_BROKER_EPOCH, ())
        epochs = {broker: registration.epoch for broker, registration in self._image.brokers.items()}
        records: list[Record] = []
        answers: list[AlterPartitionResponse] = []
        for proposal in request.partitions:
            asked = proposal._replace(leader=request.broker, broker_epoch=request.broker_epoch)
            answers.append(self._judge(asked, epochs, records))
        return records, AlterPartitionBatchResponse(request.correlation, KafkaError.NONE, tuple(answers))

    def _judge(
        self, asked: AlterPartitionRequest, epochs: Mapping[int, int], records: list[Record]
    ) -> AlterPartitionResponse:
        image, profile = self._image, self._profile
        partition, number = asked.partition, asked.correlation
        state = image.partitions.get(partition)
        error = judge_kraft(state, asked, epochs=epochs, active=image.active, profile=profile)
        if state is None or error is not KafkaError.NONE:
            isr, epoch = ((), -1) if state is None else (state.isr, state.partition_epoch)
            return AlterPartitionResponse(partition, error, asked.leader_epoch, isr, epoch, number)
        topic = self.topic_config(topic_of(partition))
        change = accept_kraft(state, asked, active=image.active, profile=profile, topic=topic)
        if change is not None:
            records.append(recorded(change))
            state = change.state
        error = answer_error(change, asked)
        told = asked.leader_epoch if error is not KafkaError.NONE else state.leader_epoch
        return AlterPartitionResponse(partition, error, told, state.isr, state.partition_epoch, number)

    def elect(self, partition: str, *, unclean: bool) -> tuple[KafkaError, list[Record]]:
        """An administrator's election of one partition's leader (``electLeader``)."""
        image = self._image
        state = image.partitions.get(partition)
        if state is None:
            return KafkaError.UNKNOWN_TOPIC_OR_PARTITION, []
        topic = self.topic_config(topic_of(partition))
        change = asked_kraft(
            state, unclean=unclean, active=image.active, profile=self._profile, topic=topic, by="administrator"
        )
        return (change, []) if isinstance(change, KafkaError) else (KafkaError.NONE, [recorded(change)])

    def _elected(self, state: PartitionState, election: Election, by: str) -> Change | None:
        topic = self.topic_config(topic_of(state.partition))
        return build(
            state, active=self._image.active, profile=self._profile, topic=topic, election=election, by=by
        )  # fmt: skip

    def rebalance(self) -> tuple[list[Record], bool]:
        """Give partitions back to their preferred leaders, as many as one round does; True: some may be left."""
        image = self._image
        found = imbalanced_kraft(image.partitions.values(), active=image.active)
        changes = [self._elected(image.partitions[name], Election.PREFERRED, "preferred leader") for name in found]
        return [recorded(change) for change in changes if change is not None], len(found) == MOST_ELECTIONS

    def elect_unclean(self) -> list[Record]:
        """Leaders for leaderless partitions of topics that allow unclean election (``maybeElectUncleanLeaders``)."""
        records: list[Record] = []
        for state in self._image.partitions.values():
            if state.leader == NOBODY and self.topic_config(topic_of(state.partition)).unclean:
                change = self._elected(state, Election.ONLINE, "unclean election timer")
                if change is not None and change.state.leader != NOBODY:
                    records.append(recorded(change))
        return records
