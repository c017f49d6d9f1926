"""A producer's settings in model units, by the defaults of its era and Kafka's rules for what goes together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.clients.producer.era import FOREVER, Era
from cluster_model.clients.producer.partitioners import KIP_794, PartitionerConfig, check_partitioner
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.codecs import Codec, codec_of
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.partitioning_keys import ADAPTIVE, AVAILABILITY, IGNORE_KEYS, PARTITIONER_CLASS
from cluster_model.protocol.versions import Profile

MS: Final = 1_000
IDLE: Final = "metadata.max.idle.ms"
IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
UNBOUNDED_US: Final = 1 << 62
"""``delivery_timeout_us`` of a client that knows no such bound."""


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """A producer's settings in model units; ``acks`` is -1 for all."""

    era: Era
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
    """The most that one request, and so one record, has."""
    memory_bytes: int
    block_us: int
    """How long ``send`` waits for metadata and memory together."""
    idempotent: bool
    metadata_age_us: int
    metadata_idle_us: int
    """How long the metadata of a topic is kept that nothing is sent to."""
    codec: Codec
    partitioner: PartitionerConfig
    availability_us: int
    """Silence of a leader after which its partitions are left out, 0 for never."""
    transactional_id: str = ""
    """Empty for none."""
    transaction_timeout_us: int = 60_000 * MS

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ProducerConfig":
        """Settings for a client of the cluster's own version, or of its ``client.version``.

        Raises:
            ConfigConflictError: settings that Kafka's ``ProducerConfig`` refuses together, or that the cluster is too
                old for.
            ModelError: a codec that the version lacks.
        """
        era = Era.of(str(config.get("client.version", profile.version)))
        transactional_id = _transactional_id(profile, era, config)
        wished = bool(transactional_id) or config.get("enable.idempotence") is True
        acks_text = str(config.get("acks", "all" if era.acks_all or wished else "1"))
        acks = -1 if acks_text == "all" else int(acks_text)
        retries = int(config.get("retries", FOREVER if wished else era.retries))
        in_flight = int(config.get(IN_FLIGHT, era.most_in_flight if wished else 5))
        backoff_us = int(config.get("retry.backoff.ms", 100)) * MS
        linger_us = int(config.get("linger.ms", era.linger_ms)) * MS
        request_us = int(config.get("request.timeout.ms", 30_000)) * MS
        return ProducerConfig(
            era=era,
            acks=acks,
            retries=retries,
            backoff_us=backoff_us,
            backoff_max_us=int(config.get("retry.backoff.max.ms", 1_000)) * MS if era.backoff_grows else backoff_us,
            request_timeout_us=request_us,
            delivery_timeout_us=_delivery_timeout(era, config, linger_us + request_us),
            max_in_flight=in_flight,
            linger_us=linger_us,
            batch_bytes=int(config.get("batch.size", 16_384)),
            request_bytes=int(config.get("max.request.size", 1_048_576)),
            memory_bytes=int(config.get("buffer.memory", 33_554_432)),
            block_us=int(config.get("max.block.ms", 60_000)) * MS,
            idempotent=_idempotent(profile, era, config, acks, retries, in_flight),
            metadata_age_us=int(config.get("metadata.max.age.ms", 300_000)) * MS,
            metadata_idle_us=int(config.get(IDLE, 300_000)) * MS if era.drops_idle_topics else UNBOUNDED_US,
            partitioner=_partitioner(era, config),
            availability_us=int(config.get(AVAILABILITY, 0)) * MS,
            codec=codec_of(profile, str(config.get("compression.type", "none"))),
            transactional_id=transactional_id,
            transaction_timeout_us=int(config.get("transaction.timeout.ms", 60_000)) * MS,
        )

    def pause_us(self, attempts: int, jitter: Stream) -> int:
        """Time from a failed attempt, the first being 1, to the next (``ExponentialBackoff``).

        Where pauses grow they vary by a fifth; with no room to grow they do not.
        """
        most = self.backoff_max_us
        if self.backoff_us >= most:
            return most
        pause = min(self.backoff_us << min(attempts - 1, 20), most)
        return min(pause * (800 + jitter.below(401)) // 1_000, most)


def _transactional_id(profile: Profile, era: Era, config: Mapping[str, ConfigValue]) -> str:
    """``transactional.id``, which asks for idempotence too (``KafkaProducer.configureTransactionState``)."""
    found = str(config.get("transactional.id", ""))
    if found and not (era.idempotence_exists and profile.transactions):
        raise ConfigConflictError(
            "transactional.id",
            f"transactions exist since Kafka 0.11, brokers are of {profile.version} and the client of {era.version}",
        )
    if found and config.get("enable.idempotence") is False:
        raise ConfigConflictError(
            "transactional.id", "transactional.id is given, so enable.idempotence must not be false"
        )
    return found


def _delivery_timeout(era: Era, config: Mapping[str, ConfigValue], least_us: int) -> int:
    """``delivery.timeout.ms``; a default that is too short is raised (``KafkaProducer.configureDeliveryTimeout``)."""
    given = config.get("delivery.timeout.ms")
    if era.expiry != "delivery":
        if given is not None:
            raise ConfigConflictError(
                "delivery.timeout.ms", f"delivery.timeout.ms exists since Kafka 2.1, this is {era.version}"
            )
        return UNBOUNDED_US
    if given is None:
        return max(120_000 * MS, least_us)
    if int(given) * MS < least_us:
        raise ConfigConflictError(
            "delivery.timeout.ms",
            f"delivery.timeout.ms must be at least linger.ms + request.timeout.ms, {least_us // MS}, found {given}",
        )
    return int(given) * MS


def _idempotent(
    profile: Profile, era: Era, config: Mapping[str, ConfigValue], acks: int, retries: int, in_flight: int
) -> bool:
    """Idempotence by ``ProducerConfig.postProcessAndValidateIdempotenceConfigs``: a default gives way, a wish does not.

    A wish has already changed those defaults of acks, retries and requests in flight that stand in its way. Since 4.0
    more than five requests in flight do not make the default give way either (KIP-1030).
    """
    asked = config.get("enable.idempotence", True if config.get("transactional.id") else None)
    most = era.most_in_flight
    conflict, key = (
        ("acks must be all", "acks") if acks != -1
        else ("retries must be above 0", "retries") if retries == 0
        else (f"{IN_FLIGHT} must be {'at most ' if most > 1 else ''}{most}", IN_FLIGHT) if in_flight > most
        else ("", "")
    )  # fmt: skip
    if asked is True:
        if not era.idempotence_exists:
            raise ConfigConflictError(
                "enable.idempotence", f"enable.idempotence exists since Kafka 0.11, this is {era.version}"
            )
        if conflict:
            why = "transactional.id is given" if config.get("transactional.id") else "enable.idempotence is true"
            raise ConfigConflictError(key, f"{why}, so {conflict}")
    elif asked is None and era.idempotent and era.strict_in_flight and key == IN_FLIGHT:
        raise ConfigConflictError(key, f"enable.idempotence is the default of Kafka {era.version}, so {conflict}")
    wanted = asked is True or (asked is None and era.idempotent and not conflict)
    if wanted and profile.number < (0, 11, 0):
        raise ConfigConflictError(
            "enable.idempotence",
            f"brokers of Kafka {profile.version} know no idempotence: enable.idempotence must be false",
        )
    return wanted


def _partitioner(era: Era, config: Mapping[str, ConfigValue]) -> PartitionerConfig:
    """Who chooses partitions; what the version does not know is refused."""
    for key in (IGNORE_KEYS, ADAPTIVE, AVAILABILITY):
        if key in config and era.number < KIP_794:
            raise ConfigConflictError(key, f"{key} exists since Kafka 3.3, this is {era.version}")
    made = PartitionerConfig(
        str(config.get(PARTITIONER_CLASS, "")),
        config.get(IGNORE_KEYS, False) is True,
        config.get(ADAPTIVE, True) is True,
    )
    try:
        check_partitioner(era.number, made)
    except ValueError as error:
        raise ConfigConflictError(PARTITIONER_CLASS, str(error)) from None
    return made
