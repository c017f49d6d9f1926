"""Typed settings of a producer by client release, with Kafka's rules for combinations (``ProducerConfig``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.clients.producer.partitioners import PartitionerConfig, check_partitioner
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.config_defaults import EffectiveConfig, check_release
from cluster_model.protocol.config_defs import (
    ADAPTIVE,
    AVAILABILITY,
    IGNORE_KEYS,
    INT_MAX,
    PARTITIONER_CLASS,
    ConfigValue,
)
from cluster_model.protocol.configs import ConnectionSettings
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.records import Codec, codec_of
from cluster_model.protocol.versions import ClientProfile, Profile

IDLE: Final = "metadata.max.idle.ms"
"""Idle time after which a topic's metadata is dropped (KAFKA-8904)."""
FOREVER: Final = INT_MAX
"""Default of ``retries`` since 2.1 (KIP-91)."""


MS: Final = 1_000
IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
UNBOUNDED_US: Final = 1 << 62
"""``delivery_timeout_us`` of a client without ``delivery.timeout.ms``."""


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """A producer's settings, in microseconds and bytes; ``acks`` is -1 for all."""

    client: ClientProfile
    """The rules of its release."""
    acks: int
    retries: int
    backoff_us: int
    backoff_max_us: int
    request_timeout_us: int
    delivery_timeout_us: int
    max_in_flight: int
    linger_us: int
    batch_bytes: int
    request_bytes: int
    """Maximum size of a request, and so of a record."""
    memory_bytes: int
    block_us: int
    """How long ``send`` blocks for metadata and memory together."""
    idempotent: bool
    metadata_age_us: int
    metadata_idle_us: int
    """Idle time after which a topic's metadata is dropped."""
    codec: Codec
    partitioner: PartitionerConfig
    connections: ConnectionSettings
    availability_us: int
    """Time a broker cannot take requests until its partitions are skipped, 0 for never."""
    transactional_id: str = ""
    """``transactional.id``, empty for none."""
    transaction_timeout_us: int = 60_000 * MS

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ProducerConfig":
        """Make the settings of a client of the cluster's own version, or of its ``client.version``.

        Raises:
            ConfigConflictError: settings that Kafka's ``ProducerConfig`` rejects in combination, or that need a newer
                client or cluster.
            ModelError: a codec that the version lacks.
        """
        client = profile.client_of(str(config.get("client.version", "")))
        for name in config:
            check_release("producer", name, client.number)
        own = EffectiveConfig("producer", client.number, config)
        transactional_id = _transactional_id(profile, config)
        requested = bool(transactional_id) or config.get("enable.idempotence") is True
        acks_text = "all" if requested and "acks" not in config else own.text("acks")
        acks = -1 if acks_text == "all" else int(acks_text)
        retries = FOREVER if requested and "retries" not in config else own.number("retries")
        in_flight = _most_in_flight(client) if requested and IN_FLIGHT not in config else own.number(IN_FLIGHT)
        backoff_us, linger_us, request_us = map(own.us, ("retry.backoff.ms", "linger.ms", "request.timeout.ms"))
        return ProducerConfig(
            client=client,
            acks=acks,
            retries=retries,
            backoff_us=backoff_us,
            backoff_max_us=own.us("retry.backoff.max.ms") if own.exists("retry.backoff.max.ms") else backoff_us,
            request_timeout_us=request_us,
            delivery_timeout_us=_delivery_timeout(own, "delivery.timeout.ms" in config, linger_us + request_us),
            max_in_flight=in_flight,
            linger_us=linger_us,
            batch_bytes=own.number("batch.size"),
            request_bytes=own.number("max.request.size"),
            memory_bytes=own.number("buffer.memory"),
            block_us=own.us("max.block.ms"),
            idempotent=_idempotent(profile, client, config, acks, retries, in_flight),
            metadata_age_us=own.us("metadata.max.age.ms"),
            metadata_idle_us=own.us(IDLE) if own.exists(IDLE) else UNBOUNDED_US,
            partitioner=_partitioner(client, own, str(config.get(PARTITIONER_CLASS, ""))),
            connections=ConnectionSettings.of(own, client),
            availability_us=own.us(AVAILABILITY),
            codec=codec_of(profile, own.text("compression.type")),
            transactional_id=transactional_id,
            transaction_timeout_us=own.us("transaction.timeout.ms"),
        )

    def pause_us(self, attempts: int, jitter: RandomStream) -> int:
        """Return the backoff after ``attempts`` failed attempts (``ExponentialBackoff``).

        A growing backoff varies by a fifth, a constant one does not.
        """
        most = self.backoff_max_us
        if self.backoff_us >= most:
            return most
        pause = min(self.backoff_us << min(attempts - 1, 20), most)
        return min(pause * (800 + jitter.below(401)) // 1_000, most)


def _transactional_id(profile: Profile, config: Mapping[str, ConfigValue]) -> str:
    """Return ``transactional.id``, which requires idempotence (``KafkaProducer.configureTransactionState``)."""
    transactional_id = str(config.get("transactional.id", ""))
    if transactional_id and not profile.transactions:
        raise ConfigConflictError(
            "transactional.id",
            f"transactional.id needs brokers of Kafka 0.11 or later, these are of {profile.version}",
            code="not_in_version",
        )
    if transactional_id and config.get("enable.idempotence") is False:
        raise ConfigConflictError(
            "transactional.id",
            "transactional.id is set, so enable.idempotence must not be false",
            code="needs_idempotence",
        )
    return transactional_id


def _delivery_timeout(own: EffectiveConfig, is_given: bool, least_us: int) -> int:
    """Return ``delivery.timeout.ms``, its default raised if too short (``KafkaProducer.configureDeliveryTimeout``)."""
    name = "delivery.timeout.ms"
    if not own.exists(name):
        return UNBOUNDED_US
    found_us = own.us(name)
    if not is_given:
        return max(found_us, least_us)
    if found_us < least_us:
        raise ConfigConflictError(
            name,
            f"{name} must be at least linger.ms + request.timeout.ms, {least_us // MS}, found {found_us // MS}",
            code="delivery_timeout_too_short",
        )
    return found_us


def _most_in_flight(client: ClientProfile) -> int:
    """Return the requests in flight that idempotence allows: the number of batches that brokers cache per producer."""
    return 5 if client.five_in_flight else 1


def _idempotent(
    profile: Profile, client: ClientProfile, config: Mapping[str, ConfigValue], acks: int, retries: int, in_flight: int
) -> bool:
    """Return whether the producer is idempotent (``ProducerConfig.postProcessAndValidateIdempotenceConfigs``).

    Conflicting settings are an error if idempotence is requested, and turn it off if it is only the default. A request
    also changes the defaults of acks, retries and requests in flight. Since 4.0 more than five requests in flight are
    an error for the default too (KIP-1030).
    """
    requested = config.get("enable.idempotence", True if config.get("transactional.id") else None)
    by_default = EffectiveConfig("producer", client.number, {}).boolean("enable.idempotence")
    default = by_default and client.idempotent_by_default
    limit = _most_in_flight(client)
    conflict, key = (
        ("acks must be all", "acks") if acks != -1
        else ("retries must be above 0", "retries") if retries == 0
        else (f"{IN_FLIGHT} must be {'at most ' if limit > 1 else ''}{limit}", IN_FLIGHT) if in_flight > limit
        else ("", "")
    )  # fmt: skip
    if requested is True:
        if conflict:
            why = "transactional.id is set" if config.get("transactional.id") else "enable.idempotence is true"
            raise ConfigConflictError(key, f"{why}, so {conflict}", code="conflicts_with_idempotence")
    elif requested is None and default and client.strict_in_flight and key == IN_FLIGHT:
        raise ConfigConflictError(
            key,
            f"enable.idempotence is the default of Kafka {client.version}, so {conflict}",
            code="conflicts_with_idempotence",
        )
    wanted = requested is True or (requested is None and default and not conflict)
    if wanted and not profile.idempotence:
        raise ConfigConflictError(
            "enable.idempotence",
            f"brokers of Kafka {profile.version} do not support idempotence: enable.idempotence must be false",
            code="not_in_version",
        )
    return wanted


def _partitioner(client: ClientProfile, own: EffectiveConfig, given: str) -> PartitionerConfig:
    """Return the partitioner settings; ``given`` is the class, empty for the version's default partitioning."""
    made = PartitionerConfig(given, own.boolean(IGNORE_KEYS), own.boolean(ADAPTIVE))
    try:
        check_partitioner(client, made)
    except ValueError as error:
        raise ConfigConflictError(PARTITIONER_CLASS, str(error), code="not_in_version") from None
    return made
