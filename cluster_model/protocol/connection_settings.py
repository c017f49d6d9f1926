"""Settings of connections of clients, brokers and controllers, in model units."""

from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defaults import Configured, line_of
from cluster_model.protocol.config_defs import RECONNECT, RECONNECT_MAX, SETUP_TIMEOUT, SETUP_TIMEOUT_MAX
from cluster_model.protocol.versions import ClientProfile

BETWEEN_BROKERS_US: Final = 50_000
"""Pause after a failed connection between brokers, which does not grow (``InterBrokerSendThread``'s clients)."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How a process connects, in model units."""

    backoff_us: int
    """The first pause after a connection was lost or refused."""
    backoff_max_us: int
    """Pauses double up to this and vary by a fifth (KIP-144, 0.11); before, all are as long as the first.

    They are too where ``reconnect.backoff.ms`` is given and ``reconnect.backoff.max.ms`` is not
    (``CommonClientConfigs.postProcessReconnectBackoffConfigs``).
    """
    setup_us: int
    """How long the first attempt may take; 0 before KIP-601 (2.7): as long as the operating system tries."""
    setup_max_us: int
    asks_versions: bool
    """Whether a new connection begins with an ApiVersions request (KIP-97)."""
    capped: bool
    """Whether a maximum holds behind the random part too, and for the first pause (KIP-580)."""

    @staticmethod
    def of(own: Configured) -> "ConnectionSettings":
        """The settings of a client with that configuration."""
        backoff_us = own.us(RECONNECT)
        grows = own.exists(RECONNECT_MAX) and (own.is_given(RECONNECT_MAX) or not own.is_given(RECONNECT))
        most_us = own.us(RECONNECT_MAX) if grows else backoff_us
        setup_us = own.us(SETUP_TIMEOUT) if own.exists(SETUP_TIMEOUT) else 0
        setup_max_us = own.us(SETUP_TIMEOUT_MAX) if own.exists(SETUP_TIMEOUT_MAX) else 0
        client = ClientProfile.of(line_of(own.version))
        capped = client.caps_backoff
        if capped:
            backoff_us, setup_us = min(backoff_us, most_us), min(setup_us, setup_max_us)
        return ConnectionSettings(
            backoff_us,
            max(backoff_us, most_us),
            setup_us,
            max(setup_us, setup_max_us),
            client.asks_api_versions,
            capped,
        )

    @staticmethod
    def between_brokers(own: Configured) -> "ConnectionSettings":
        """The settings of a broker or controller with that configuration, for its connections to others.

        Its pauses are no configurations. Whether it asks for API versions depends on what it connects for
        (``discoverBrokerVersions``): not unless the caller says so.
        """
        setup_us = own.us(SETUP_TIMEOUT) if own.exists(SETUP_TIMEOUT) else 0
        setup_max_us = own.us(SETUP_TIMEOUT_MAX) if own.exists(SETUP_TIMEOUT_MAX) else 0
        capped = ClientProfile.of(line_of(own.version)).caps_backoff
        if capped:
            setup_us = min(setup_us, setup_max_us)
        return ConnectionSettings(
            BETWEEN_BROKERS_US, BETWEEN_BROKERS_US, setup_us, max(setup_us, setup_max_us), False, capped
        )
