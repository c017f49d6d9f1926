"""A producer's settings in model units, with defaults by client release and Kafka's rules for combinations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from cluster_model.clients.producer.partitioners import PartitionerConfig, check_partitioner
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.config_defaults import Configured, check_release
from cluster_model.protocol.config_defs import (
    ADAPTIVE,
    AVAILABILITY,
    FLAWED_CLIENTS,
    IGNORE_KEYS,
    INT_MAX,
    PARTITIONER_CLASS,
    ConfigValue,
)
from cluster_model.protocol.connection_settings import ConnectionSettings
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.records import Codec, codec_of
from cluster_model.protocol.versions import Profile, Version, parse_version

IDLE: Final = "metadata.max.idle.ms"

# Client releases: what changed from one release of Kafka's own clients to the next, in one table.
#
# A client is as old as the cluster unless its configuration says ``client.version``. A release line stands for its
# last patch; of 3.0 and 3.1 the first patches can be named too, for they had a defect of their own (KAFKA-13598).


Fencing = Literal["none", "generation", "verified", "transactions 2"]
"""What guards offsets that a transaction commits: nothing, the group's generation (KIP-447), a check with the
transaction's coordinator too (KIP-890, part 1), an epoch of its own for every transaction (part 2)."""

Expiring = Literal["none", "queue", "delivery"]
"""What bounds a batch's time: nothing, ``request.timeout.ms`` for each wait in the queue (KIP-19), or
``delivery.timeout.ms`` for all of it (KIP-91)."""

FOREVER: Final = INT_MAX
"""Default of ``retries`` since 2.1 (KIP-91)."""


@dataclass(frozen=True, slots=True)
class Era:
    """The rules of one release of the clients; its defaults are in the table of configurations."""

    version: str
    number: Version
    idempotent: bool
    """Whether ``enable.idempotence`` is true by default, and does so (KIP-679, KAFKA-13598)."""
    strict_in_flight: bool
    """More than five requests in flight are an error with idempotence, even where it is only the default."""
    most_in_flight: int
    """With idempotence: as many batches as a broker remembers of a producer; one in 0.11 (KAFKA-5494)."""
    expiry: Expiring
    backoff_grows: bool
    """Pauses between attempts double, and vary by a fifth (KIP-580)."""
    skips_backoff: bool
    """A batch whose partition has a new leader epoch is tried again at once (KAFKA-15415)."""
    drops_idle_topics: bool
    """Metadata of topics that nothing is sent to goes after ``metadata.max.idle.ms`` (KAFKA-8904)."""
    learns_leaders: bool
    """A refusal's word on who leads now is believed (KIP-951)."""
    splits: bool
    """A batch that is too large for the broker is sent again in pieces (KIP-126)."""
    bumps_epoch: bool
    """A gap in the sequence raises the producer's epoch (KIP-360); before, it cost the producer its id."""
    fails_oldest_first: bool
    """In which order the requests of a broken connection fail (``InFlightRequests.clearAll``): before 2.0 the newest
    first, so that without idempotence the batches, each put at the front, waited in order again."""
    offset_fencing: Fencing

    @staticmethod
    @cache
    def of(version: str) -> "Era":
        """The era of a release line of clients, or of one of the patches that can be named."""
        number = parse_version(version)
        defaults = Configured("producer", number, {})
        return Era(
            version=version,
            number=number,
            idempotent=defaults.truth("enable.idempotence") and version not in FLAWED_CLIENTS,
            strict_in_flight=number >= (4, 0, 0),
            most_in_flight=5 if number >= (1, 0, 0) else 1,
            expiry="delivery" if number >= (2, 1, 0) else "queue" if number >= (0, 9, 0) else "none",
            backoff_grows=defaults.exists("retry.backoff.max.ms"),
            skips_backoff=number >= (3, 7, 0),
            drops_idle_topics=defaults.exists(IDLE),
            learns_leaders=number >= (3, 7, 0),
            splits=number >= (0, 11, 0),
            bumps_epoch=number >= (2, 5, 0),
            fails_oldest_first=number >= (2, 0, 0),
            offset_fencing=(
                "transactions 2" if number >= (4, 0, 0)
                else "verified" if number >= (3, 6, 0)
                else "generation" if number >= (2, 5, 0)
                else "none"
            ),
        )  # fmt: skip


MS: Final = 1_000
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
    connections: ConnectionSettings
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
        for name in config:
            check_release("producer", name, era.number)
        own = Configured("producer", era.number, config)
        transactional_id = _transactional_id(profile, config)
        wished = bool(transactional_id) or config.get("enable.idempotence") is True
        acks_text = "all" if wished and "acks" not in config else own.text("acks")
        acks = -1 if acks_text == "all" else int(acks_text)
        retries = FOREVER if wished and "retries" not in config else own.number("retries")
        in_flight = era.most_in_flight if wished and IN_FLIGHT not in config else own.number(IN_FLIGHT)
        backoff_us, linger_us, request_us = map(own.us, ("retry.backoff.ms", "linger.ms", "request.timeout.ms"))
        return ProducerConfig(
            era=era,
            acks=acks,
            retries=retries,
            backoff_us=backoff_us,
            backoff_max_us=own.us("retry.backoff.max.ms") if era.backoff_grows else backoff_us,
            request_timeout_us=request_us,
            delivery_timeout_us=_delivery_timeout(own, "delivery.timeout.ms" in config, linger_us + request_us),
            max_in_flight=in_flight,
            linger_us=linger_us,
            batch_bytes=own.number("batch.size"),
            request_bytes=own.number("max.request.size"),
            memory_bytes=own.number("buffer.memory"),
            block_us=own.us("max.block.ms"),
            idempotent=_idempotent(profile, era, config, acks, retries, in_flight),
            metadata_age_us=own.us("metadata.max.age.ms"),
            metadata_idle_us=own.us(IDLE) if era.drops_idle_topics else UNBOUNDED_US,
            partitioner=_partitioner(era, own, str(config.get(PARTITIONER_CLASS, ""))),
            connections=ConnectionSettings.of(own),
            availability_us=own.us(AVAILABILITY),
            codec=codec_of(profile, own.text("compression.type")),
            transactional_id=transactional_id,
            transaction_timeout_us=own.us("transaction.timeout.ms"),
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


def _transactional_id(profile: Profile, config: Mapping[str, ConfigValue]) -> str:
    """``transactional.id``, which asks for idempotence too (``KafkaProducer.configureTransactionState``)."""
    found = str(config.get("transactional.id", ""))
    if found and not profile.transactions:
        raise ConfigConflictError(
            "transactional.id",
            f"brokers have transactions since Kafka 0.11, these are of {profile.version}",
            code="not_in_version",
        )
    if found and config.get("enable.idempotence") is False:
        raise ConfigConflictError(
            "transactional.id",
            "transactional.id is given, so enable.idempotence must not be false",
            code="needs_idempotence",
        )
    return found


def _delivery_timeout(own: Configured, is_given: bool, least_us: int) -> int:
    """``delivery.timeout.ms``; a default that is too short is raised (``KafkaProducer.configureDeliveryTimeout``)."""
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
        if conflict:
            why = "transactional.id is given" if config.get("transactional.id") else "enable.idempotence is true"
            raise ConfigConflictError(key, f"{why}, so {conflict}", code="conflicts_with_idempotence")
    elif asked is None and era.idempotent and era.strict_in_flight and key == IN_FLIGHT:
        raise ConfigConflictError(
            key,
            f"enable.idempotence is the default of Kafka {era.version}, so {conflict}",
            code="conflicts_with_idempotence",
        )
    wanted = asked is True or (asked is None and era.idempotent and not conflict)
    if wanted and not profile.idempotence:
        raise ConfigConflictError(
            "enable.idempotence",
            f"brokers of Kafka {profile.version} know no idempotence: enable.idempotence must be false",
            code="not_in_version",
        )
    return wanted


def _partitioner(era: Era, own: Configured, given: str) -> PartitionerConfig:
    """Who chooses partitions, the version's own way where no class is ``given``; an unknown class is refused."""
    made = PartitionerConfig(given, own.truth(IGNORE_KEYS), own.truth(ADAPTIVE))
    try:
        check_partitioner(era.number, made)
    except ValueError as error:
        raise ConfigConflictError(PARTITIONER_CLASS, str(error), code="not_in_version") from None
    return made
