"""Which settings hold in a broker, and for a topic, by Kafka's names: given at run time, from the start, or by default.

The defaults are those of the version: they are found by asking the very code that applies them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cluster_model.broker.topic_configs import TopicSettings
from cluster_model.protocol.config_defs import BROKER, MIN_ISR, TOPIC, ConfigKey, ConfigValue
from cluster_model.protocol.configs import NEVER, BrokerConfig, TopicConfig
from cluster_model.protocol.versions import Profile

UNCLEAN: Final = "unclean.leader.election.enable"
Source = Literal["run time", "start", "default", "own", "brokers"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One configuration as it stands."""

    key: ConfigKey
    value: str
    """Empty where it is a default that is nowhere else written down."""
    source: Source
    """``own`` and ``brokers`` are a topic's: its own, or from the brokers and the version beneath them."""


def of_broker(settings: TopicSettings, profile: Profile) -> tuple[Setting, ...]:
    """All that a broker honours, in the order of the reference."""
    held = settings.broker
    asked = _Asked(held)
    BrokerConfig.of(profile, asked)
    TopicConfig.of(profile, asked, {})
    defaults = {UNCLEAN: not profile.unclean_default_false, MIN_ISR: 1, **asked.defaults}
    found = []
    for name, key in BROKER.items():
        source: Source = "run time" if name in settings.given else "start" if name in held else "default"
        value = held.get(name, defaults.get(name))
        found.append(Setting(key, "" if value is None else told(value), source))
    return tuple(found)


def of_topic(settings: TopicSettings, profile: Profile, topic: str) -> tuple[Setting, ...]:
    """All that a topic honours under this version."""
    own = settings.overrides(topic)
    asked = _Asked(own)
    held = TopicConfig.of(profile, settings.broker, asked)
    beneath: dict[str, ConfigValue] = {UNCLEAN: held.unclean, MIN_ISR: held.min_isr, **asked.defaults}
    return tuple(
        Setting(TOPIC[name], told(own[name] if name in own else beneath[name]), "own" if name in own else "brokers")
        for name in TOPIC
        if name in own or name in beneath
    )


def told(value: ConfigValue) -> str:
    """A value as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "never" if isinstance(value, int) and value >= NEVER else str(value)


class _Asked(dict[str, ConfigValue]):
    """Settings that remember what they were asked for, and what would have been the answer without them."""

    def __init__(self, held: Mapping[str, ConfigValue]) -> None:
        super().__init__(held)
        self.defaults: dict[str, ConfigValue] = {}

    def get(self, name: str, default: ConfigValue | None = None) -> ConfigValue | None:  # type: ignore[override]
        """As ever."""
        if default is not None:
            self.defaults[name] = default
        return super().get(name, default)
