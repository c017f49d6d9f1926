"""A transaction coordinator's settings in model units (``TransactionStateManagerConfig``)."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.versions import Profile


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Settings, with Kafka's defaults."""

    max_timeout_us: int
    expiration_us: int
    abort_check_us: int
    remove_check_us: int
    request_timeout_us: int
    verifies: bool
    """Whether leaders ask the coordinator before a transaction's first write to a partition (KIP-890, 3.6)."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "TransactionConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""

        def time(name: str, default: int) -> int:
            return int(config.get(name, default)) * MS

        return TransactionConfig(
            max_timeout_us=time("transaction.max.timeout.ms", 900_000),
            expiration_us=time("transactional.id.expiration.ms", 604_800_000),
            abort_check_us=time("transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000),
            remove_check_us=time("transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000),
            request_timeout_us=30_000 * MS,
            verifies=profile.verifies_transactions
            and bool(config.get("transaction.partition.verification.enable", True)),
        )
