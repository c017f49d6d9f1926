"""Settings of topics, their own above a broker's: as one broker has been told of them, or as they truly are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.versions import Profile

Overrides = Mapping[str, ConfigValue]


def topic_of(partition: str) -> str:
    """The topic of a partition such as ``orders-0``."""
    return partition.rpartition("-")[0]


class TopicSettings:
    """All topics' settings. A topic that nobody spoke of has the broker's."""

    __slots__ = ("_broker", "_known", "_profile", "_static", "_topics", "_writeback_us")

    def __init__(self, profile: Profile, broker: Overrides, writeback_us: int) -> None:
        """``broker`` are the settings that brokers were started with."""
        self._profile = profile
        self._static = dict(broker)
        self._broker: dict[str, ConfigValue] = {}
        """What was given at run time (KIP-226)."""
        self._topics: dict[str, dict[str, ConfigValue]] = {}
        self._writeback_us = writeback_us
        self._known: dict[str, TopicConfig] = {}
        """What :meth:`of` found."""

    def of(self, topic: str) -> TopicConfig:
        """The settings that hold for a topic's partitions."""
        known = self._known.get(topic)
        if known is None:
            broker = {**self._static, **self._broker}
            config = TopicConfig.of(self._profile, broker, self._topics.get(topic, {}))
            known = replace(config, log=replace(config.log, writeback_us=self._writeback_us))
            self._known[topic] = known
        return known

    def knows(self, topic: str) -> bool:
        """Whether the broker has learned a topic's own settings, even if there are none."""
        return topic in self._topics

    def overrides(self, topic: str) -> Overrides:
        """A topic's own settings."""
        return self._topics.get(topic, {})

    @property
    def broker(self) -> Overrides:
        """The broker's settings, those given at run time above those that it was started with."""
        return {**self._static, **self._broker}

    @property
    def started_with(self) -> Overrides:
        """The settings that the broker was started with."""
        return self._static

    @property
    def given(self) -> Overrides:
        """The broker's settings that were given at run time."""
        return self._broker

    def configure(self, topic: str, overrides: Overrides) -> None:
        """A topic's own settings are these from here on.

        Raises:
            ModelError: a cleanup policy that the version lacks; nothing has changed.
        """
        TopicConfig.of(self._profile, self.broker, overrides)
        self._topics[topic] = dict(overrides)
        self._known.pop(topic, None)

    def reconfigure(self, overrides: Overrides) -> None:
        """What the broker was given at run time is this from here on.

        Raises:
            ModelError: a cleanup policy that the version lacks; nothing has changed.
        """
        TopicConfig.of(self._profile, {**self._static, **overrides}, {})
        self._broker = dict(overrides)
        self._known.clear()

    def forget(self, topic: str) -> None:
        """There is no such topic any more."""
        self._topics.pop(topic, None)
        self._known.pop(topic, None)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        topics = tuple([(topic, tuple(overrides.items())) for topic, overrides in self._topics.items()])
        return (tuple(self._broker.items()), topics)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        broker, topics = saved
        self._broker = dict(broker)
        self._topics = {topic: dict(overrides) for topic, overrides in topics}
        self._known.clear()


def said(overrides: Overrides) -> str:
    """Settings as a line of text."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in overrides.items()}
    return ", ".join(f"{name}={text}" for name, text in texts.items())
