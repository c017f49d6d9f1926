"""A group coordinator's settings in model units (``GroupCoordinatorConfig``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_key import INT_MAX, ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile

MINUTE: Final = 60_000 * MS
NEW_MEMBER_US: Final = 5 * MINUTE
"""A new member whose join is not answered is dropped after this (``NewMemberJoinTimeoutMs``)."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Settings, with the defaults of the version."""

    retention_us: int
    retention_check_us: int
    commit_timeout_us: int
    metadata_bytes: int
    initial_delay_us: int
    """0 where the version does not wait (before KIP-134, 0.11)."""
    min_session_us: int
    max_session_us: int
    max_size: int

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "GroupConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""

        def number(name: str, default: int) -> int:
            return int(config.get(name, default))

        longest = 1_800_000 if profile.static_members else 300_000 if profile.rebalance_timeout else 30_000
        return GroupConfig(
            retention_us=number("offsets.retention.minutes", 10_080 if profile.number >= (2, 0, 0) else 1_440) * MINUTE,
            retention_check_us=number("offsets.retention.check.interval.ms", 600_000) * MS,
            commit_timeout_us=number("offsets.commit.timeout.ms", 5_000) * MS,
            metadata_bytes=number("offset.metadata.max.bytes", 4_096),
            initial_delay_us=(
                number("group.initial.rebalance.delay.ms", 3_000) * MS if profile.initial_rebalance_delay else 0
            ),
            min_session_us=number("group.min.session.timeout.ms", 6_000) * MS,
            max_session_us=number("group.max.session.timeout.ms", longest) * MS,
            max_size=number("group.max.size", INT_MAX) if profile.member_id_required else INT_MAX,
        )
