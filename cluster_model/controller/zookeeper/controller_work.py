"""What every procedure of the controller works with: its context, ZooKeeper, its requests and its settings."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

from cluster_model.controller.rules.partition_change import Change
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_channels import Channels, RequestBatch
from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.controller_event_queue import Hands
from cluster_model.controller.zookeeper.kafka_zk_client import (
    CONTROLLER_EPOCH,
    Answer,
    StateNode,
    config_path,
    state_path,
)
from cluster_model.controller.zookeeper_settings import ControlSettings
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile

Answers = Generator[tuple[Any, ...], tuple[Answer, ...], tuple[Answer, ...]]
Doing = Generator[tuple[Any, ...], tuple[Answer, ...], None]
"""A procedure that comes to an end without a result."""
Failures = Generator[tuple[Any, ...], tuple[Answer, ...], dict[str, KafkaError]]
"""A procedure that ends in what could not be done: partition → why."""


class ControllerMovedError(Exception):
    """Somebody else is the controller: a write was refused for the version of /controller_epoch."""


class Work:
    """One per controller."""

    __slots__ = (
        "batch", "broker_id", "channels", "config", "context", "defaults", "hands", "profile", "put", "settings",
    )  # fmt: skip

    def __init__(
        self,
        broker_id: int,
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        hands: Hands,
        channels: Channels,
        put: Callable[..., None],
    ) -> None:
        """``defaults`` are what brokers were started with; ``put`` adds to the lane."""
        self.broker_id = broker_id
        self.profile = profile
        self.config = config
        self.defaults = defaults
        self.settings = ControlSettings.of(defaults)
        self.hands = hands
        self.channels = channels
        self.put = put
        self.context = ControllerContext()
        self.batch = RequestBatch(broker_id, profile, self.context)

    def ask(self, operations: Iterable[Any]) -> Answers:
        """Put these to ZooKeeper: all at once since 1.1 (KAFKA-5642), before that one after the other."""
        wanted = tuple(operations)
        if not wanted:
            return ()
        if self.profile.number >= (1, 1, 0):
            return (yield wanted)
        answers: tuple[Answer, ...] = ()
        for operation in wanted:
            answers += yield (operation,)
        return answers

    def write(self, operations: Iterable[Any]) -> Answers:
        """The same for writes, since 2.1 on the condition that this is still the controller (KAFKA-6082).

        Raises:
            ControllerMovedError: it is not.
        """
        if self.profile.number < (2, 1, 0):
            return (yield from self.ask(operations))
        version = self.context.epoch_version
        answers = yield from self.ask([kafka_zk_client.guarded(each, CONTROLLER_EPOCH, version) for each in operations])
        if any(answer.moved for answer in answers):
            raise ControllerMovedError
        return answers

    def write_states(self, changes: dict[str, Change], written: Callable[[str], None]) -> Generator[
        tuple[Any, ...], tuple[Answer, ...], list[str]
    ]:  # fmt: skip
        """Write partitions' states, each on the condition of the version known; those that were outdated come back.

        ``written`` is called for each that succeeded, in order, when the context has it.
        """
        epoch = self.context.epoch
        nodes = {
            name: StateNode(
                change.state.leader, change.state.leader_epoch, change.state.isr, epoch, change.state.recovering,
                change.by, change.clean,
            )
            for name, change in changes.items()
        }  # fmt: skip
        versions = [self.context.partitions[name].partition_epoch for name in nodes]
        operations = [
            kafka_zk_client.put(state_path(name), node, version)
            for (name, node), version in zip(nodes.items(), versions, strict=True)
        ]
        answers = yield from self.write(operations)
        outdated: list[str] = []
        for (name, node), answer in zip(nodes.items(), answers, strict=True):
            if answer.ok:
                self.context.heard(name, node, answer.version)
                written(name)
            elif answer.outdated:
                outdated.append(name)
        return outdated

    def read_states(self, names: list[str]) -> Generator[tuple[Any, ...], tuple[Answer, ...], dict[str, KafkaError]]:
        """Read partitions' states anew; what cannot be gone on with: no state, or one of a newer controller."""
        answers = yield from self.ask([kafka_zk_client.get(state_path(name)) for name in names])
        failed: dict[str, KafkaError] = {}
        for name, answer in zip(names, answers, strict=True):
            if not answer.ok:
                failed[name] = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
            elif answer.data.controller_epoch > self.context.epoch:
                failed[name] = KafkaError.STALE_CONTROLLER_EPOCH
            else:
                self.context.heard(name, answer.data, answer.version)
        return failed

    def read_configs(self, topics: list[str]) -> Doing:
        """Read topics' own configurations anew (``KafkaZkClient.getLogConfigs``)."""
        answers = yield from self.ask([kafka_zk_client.get(config_path(topic)) for topic in topics])
        for topic, answer in zip(topics, answers, strict=True):
            self.context.configs[topic] = answer.data if answer.ok else ()

    def topic_config(self, topic: str) -> TopicConfig:
        """A topic's configuration, as last read."""
        beneath = {**self.defaults, **self.context.defaults}
        return TopicConfig.of(self.profile, beneath, dict(self.context.configs.get(topic, ())))

    @property
    def allows_unclean(self) -> bool:
        """Whether topics without a word of their own do."""
        return TopicConfig.of(self.profile, {**self.defaults, **self.context.defaults}, {}).unclean

    def flush(self) -> None:
        """Send what was gathered."""
        self.batch.send(self._send)

    def _send(self, broker: int, request: Any) -> None:
        self.hands.do(self.channels.send, broker, request)

    def update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """UpdateMetadata to these brokers about these partitions, now."""
        self.batch.tell(brokers, partitions)
        self.flush()
