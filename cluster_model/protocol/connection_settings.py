"""Settings of a client's connections to brokers, with defaults by client release and Kafka's rules for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defs import (
    RECONNECT,
    RECONNECT_MAX,
    SETUP_TIMEOUT,
    SETUP_TIMEOUT_MAX,
    ConfigValue,
)
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.versions import Version

KIP_97: Final = (0, 10, 2)
"""Clients ask a new connection's broker for its API versions before they send anything else."""
KIP_144: Final = (0, 11, 0)
"""Pauses between connection attempts double, up to ``reconnect.backoff.max.ms``, and vary by a fifth."""
KIP_601: Final = (2, 7, 0)
"""A connection attempt is given up after ``socket.connection.setup.timeout.ms``."""
_SHORTER: Final = (2, 8, 0)
"""The default of ``socket.connection.setup.timeout.max.ms`` is 30 s from here on, before it is 127 s."""

MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How a client connects, in model units."""

    backoff_us: int
    """The first pause after a connection was lost or refused."""
    backoff_max_us: int
    setup_us: int
    """How long the first attempt may take; 0 before KIP-601: as long as the operating system tries."""
    setup_max_us: int
    asks_versions: bool
    """Whether a new connection begins with an ApiVersions request (KIP-97)."""

    @staticmethod
    def of(number: Version, config: Mapping[str, ConfigValue]) -> "ConnectionSettings":
        """Settings of a client of that release.

        Raises:
            ConfigConflictError: a setting that the release does not know.
        """
        for keys, since, kip in (((RECONNECT_MAX,), KIP_144, 144), ((SETUP_TIMEOUT, SETUP_TIMEOUT_MAX), KIP_601, 601)):
            for key in keys:
                if key in config and number < since:
                    release = ".".join(str(part) for part in since[: 3 if since[0] == 0 else 2])
                    found = ".".join(str(part) for part in number)
                    raise ConfigConflictError(
                        key, f"{key} exists since Kafka {release} (KIP-{kip}), this is {found}", code="not_in_version"
                    )
        backoff_us = int(config.get(RECONNECT, 50)) * MS
        most_us = int(config.get(RECONNECT_MAX, 1_000)) * MS if number >= KIP_144 else backoff_us
        setup_us = int(config.get(SETUP_TIMEOUT, 10_000)) * MS if number >= KIP_601 else 0
        setup_max_us = int(config.get(SETUP_TIMEOUT_MAX, 30_000 if number >= _SHORTER else 127_000)) * MS
        return ConnectionSettings(
            backoff_us, max(backoff_us, most_us), setup_us, max(setup_us, setup_max_us), number >= KIP_97
        )
