"""How old a client is: what changed from one release of Kafka's own clients to the next, in one table.

A client is as old as the cluster unless its configuration says ``client.version``. A release line stands for its last
patch; of 3.0 and 3.1 the first patches can be named too, for they had a defect of their own (KAFKA-13598).
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from cluster_model.protocol.config_defs import FLAWED_CLIENTS
from cluster_model.protocol.config_key import INT_MAX
from cluster_model.protocol.versions import Version, parse_version

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
    """The rules and defaults of one release of the clients."""

    version: str
    number: Version
    acks_all: bool
    """Default of ``acks``: all, else 1."""
    idempotence_exists: bool
    idempotent: bool
    """Default of ``enable.idempotence`` (KIP-679)."""
    strict_in_flight: bool
    """More than five requests in flight are an error with idempotence, even where it is only the default."""
    most_in_flight: int
    """With idempotence: as many batches as a broker remembers of a producer; one in 0.11 (KAFKA-5494)."""
    expiry: Expiring
    retries: int
    linger_ms: int
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
    offset_fencing: Fencing

    @staticmethod
    @cache
    def of(version: str) -> "Era":
        """The era of a release line of clients, or of one of the patches that can be named."""
        number = parse_version(version)
        return Era(
            version=version,
            number=number,
            acks_all=number >= (3, 0, 0),
            idempotence_exists=number >= (0, 11, 0),
            idempotent=number >= (3, 0, 0) and version not in FLAWED_CLIENTS,
            strict_in_flight=number >= (4, 0, 0),
            most_in_flight=5 if number >= (1, 0, 0) else 1,
            expiry="delivery" if number >= (2, 1, 0) else "queue" if number >= (0, 9, 0) else "none",
            retries=FOREVER if number >= (2, 1, 0) else 0,
            linger_ms=5 if number >= (4, 0, 0) else 0,
            backoff_grows=number >= (3, 7, 0),
            skips_backoff=number >= (3, 7, 0),
            drops_idle_topics=number >= (2, 5, 0),
            learns_leaders=number >= (3, 7, 0),
            splits=number >= (0, 11, 0),
            bumps_epoch=number >= (2, 5, 0),
            offset_fencing=(
                "transactions 2" if number >= (4, 0, 0)
                else "verified" if number >= (3, 6, 0)
                else "generation" if number >= (2, 5, 0)
                else "none"
            ),
        )  # fmt: skip
