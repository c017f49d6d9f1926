"""Settings of a quorum, in model units, as Kafka's QuorumConfig."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile

RECONNECT_US: Final = 50 * MS
"""First pause after a broken connection; it doubles (``KafkaRaftManager``)."""
RECONNECT_MAX_US: Final = 500 * MS


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    """``controller.quorum.*`` of every node that takes part, with the defaults of ``QuorumConfig`` in Kafka."""

    election_timeout_us: int
    fetch_timeout_us: int
    backoff_max_us: int
    request_timeout_us: int
    retry_backoff_us: int
    linger_us: int
    idle_interval_us: int
    """``metadata.max.idle.interval.ms``: a leader with nothing to write wakes its followers this often; 0 never."""
    check_quorum: bool
    """Whether a leader resigns that has not heard from a majority (3.7)."""
    pre_vote: bool
    """Whether a voter asks before it raises the epoch (KIP-996, 4.0)."""

    @property
    def check_quorum_us(self) -> int:
        """Silence of a majority after which a leader resigns (``LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR``)."""
        return self.fetch_timeout_us * 3 // 2

    @property
    def patience_us(self) -> int:
        """The shortest time after which silence has consequences."""
        return min(self.fetch_timeout_us, self.request_timeout_us)

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "QuorumConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""

        def number(name: str, default: int) -> int:
            return int(config.get(name, default)) * MS

        return QuorumConfig(
            election_timeout_us=number("controller.quorum.election.timeout.ms", 1_000),
            fetch_timeout_us=number("controller.quorum.fetch.timeout.ms", 2_000),
            backoff_max_us=number("controller.quorum.election.backoff.max.ms", 1_000),
            request_timeout_us=number("controller.quorum.request.timeout.ms", 2_000),
            retry_backoff_us=number("controller.quorum.retry.backoff.ms", 20),
            linger_us=number("controller.quorum.append.linger.ms", 25),
            idle_interval_us=number("metadata.max.idle.interval.ms", 500),
            check_quorum=profile.check_quorum,
            pre_vote=profile.pre_vote,
        )
