"""Topic configuration over broker configuration, as one broker knows it or as it is committed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster_model.protocol.config_defaults import LOG_CONFIGS, UNIT_DEFAULTS
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.versions import Profile

Overrides = Mapping[str, ConfigValue]


def topic_of(partition: str) -> str:
    """Return the topic of a partition such as ``orders-0``."""
    return partition.rpartition("-")[0]


class TopicConfigs:
    """Configuration of all topics; a topic without overrides has the broker's configuration."""

    __slots__ = (
        "_broker", "_configs", "_overrides_lost", "_profile", "_static", "_topics", "_undeleted", "_units_lost",
        "_writeback_us",
    )  # fmt: skip

    def __init__(self, profile: Profile, broker: Overrides, writeback_us: int) -> None:
        """Start with the static configuration of the brokers."""
        self._profile = profile
        self._static = dict(broker)
        self._broker: dict[str, ConfigValue] = {}
        """Dynamic broker configs (KIP-226)."""
        self._topics: dict[str, dict[str, ConfigValue]] = {}
        self._writeback_us = writeback_us
        self._configs: dict[str, TopicConfig] = {}
        """Cached results of :meth:`of`."""
        self._undeleted: dict[str, ConfigValue] = {}
        """Deleted dynamic configurations that the logs still have (KAFKA-10268)."""
        self._units_lost = False
        """Whether configurations in coarser units, such as ``log.retention.hours``, are lost (KAFKA-17584)."""
        self._overrides_lost: dict[str, bool] = {}
        """Topic → whether its logs have lost its overrides, or will with the next dynamic change (KAFKA-9254)."""

    def of(self, topic: str) -> TopicConfig:
        """Return the effective configuration of a topic."""
        cached = self._configs.get(topic)
        if cached is None:
            overrides = {} if self._overrides_lost.get(topic) else self._topics.get(topic, {})
            config = TopicConfig.of(self._profile, self._defaults(), overrides)
            cached = replace(config, log=replace(config.log, writeback_us=self._writeback_us))
            self._configs[topic] = cached
        return cached

    def _defaults(self) -> Overrides:
        """Return the broker configuration that topics without overrides have (``LogManager.currentDefaultConfig``).

        From 2.6 to 3.8.0 a dynamic change of any configuration of logs removed those that are not given in their
        finest unit, so that the defaults of topics take their place (``DynamicLogConfig.reconfigure``). Up to 2.5
        a deleted dynamic configuration without a static value kept the deleted one.
        """
        broker = {**self._undeleted, **self.broker}
        return {**UNIT_DEFAULTS, **broker} if self._units_lost else broker

    def restarted(self) -> bool:
        """Start with the static configuration again; True if that changed the configuration of topics.

        In KRaft mode a starting broker applies its dynamic configuration as a change.
        """
        before = self._units_lost or bool(self._undeleted) or bool(self._overrides_lost)
        self._undeleted = {}
        self._overrides_lost = {}
        self._units_lost = self._units_lost and self._profile.kraft and not LOG_CONFIGS.isdisjoint(self._broker)
        self._configs.clear()
        return before and not self._units_lost

    def knows(self, topic: str) -> bool:
        """Whether the broker knows a topic's overrides, even if there are none."""
        return topic in self._topics

    def overrides(self, topic: str) -> Overrides:
        """Return a topic's overrides."""
        return self._topics.get(topic, {})

    @property
    def broker(self) -> Overrides:
        """Broker configuration: dynamic over static."""
        return {**self._static, **self._broker}

    @property
    def started_with(self) -> Overrides:
        """Static broker configuration."""
        return self._static

    @property
    def dynamic_defaults(self) -> Overrides:
        """Dynamic broker configuration."""
        return self._broker

    def configure(self, topic: str, overrides: Overrides) -> None:
        """Replace a topic's overrides.

        Raises:
            ModelError: a cleanup policy that the version lacks; nothing has changed.
        """
        TopicConfig.of(self._profile, self.broker, overrides)
        self._topics[topic] = dict(overrides)
        self._overrides_lost.pop(topic, None)
        self._configs.pop(topic, None)

    def reconfigure(self, overrides: Overrides) -> None:
        """Replace the dynamic broker configs.

        Raises:
            ModelError: a cleanup policy that the version lacks; nothing has changed.
        """
        TopicConfig.of(self._profile, {**self._static, **overrides}, {})
        changed = {name for name, _value in self._broker.items() ^ overrides.items()}
        if self._profile.loses_units:
            self._units_lost = self._units_lost or not LOG_CONFIGS.isdisjoint(changed)
        if self._profile.loses_topic_overrides and not LOG_CONFIGS.isdisjoint(changed):
            # The first change drops the names of the overrides, so the second one no longer applies them.
            self._overrides_lost = {topic: topic in self._overrides_lost for topic in self._topics}
        if self._profile.keeps_deleted_units:
            deleted = {name: value for name, value in self._broker.items() if name not in overrides}
            self._undeleted.update((name, value) for name, value in deleted.items() if name in UNIT_DEFAULTS)
        self._broker = dict(overrides)
        self._configs.clear()

    def forget(self, topic: str) -> None:
        """Forget a deleted topic."""
        self._topics.pop(topic, None)
        self._overrides_lost.pop(topic, None)
        self._configs.pop(topic, None)

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        topics = tuple([(topic, tuple(overrides.items())) for topic, overrides in self._topics.items()])
        return (
            tuple(self._broker.items()), topics, self._units_lost, tuple(self._undeleted.items()),
            tuple(self._overrides_lost.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        broker, topics, self._units_lost, undeleted, overrides_lost = saved
        self._overrides_lost = dict(overrides_lost)
        self._undeleted = dict(undeleted)
        self._broker = dict(broker)
        self._topics = {topic: dict(overrides) for topic, overrides in topics}
        self._configs.clear()


def format_configs(overrides: Overrides) -> str:
    """Format configs as one line of text."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in overrides.items()}
    return ", ".join(f"{name}={text}" for name, text in texts.items())
