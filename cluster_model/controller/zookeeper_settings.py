"""Settings of a ZooKeeper-mode controller, and of brokers that deal with it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MS = 1_000


class ControlSettings(NamedTuple):
    """In model units, by Kafka's names and defaults."""

    rebalance_us: int
    """``leader.imbalance.check.interval.seconds``; 0 with ``auto.leader.rebalance.enable`` off."""
    imbalance_percentage: int
    """``leader.imbalance.per.broker.percentage``."""
    controlled_shutdown: bool
    """``controlled.shutdown.enable``."""
    shutdown_retries: int
    """``controlled.shutdown.max.retries``."""
    shutdown_backoff_us: int
    """``controlled.shutdown.retry.backoff.ms``."""
    socket_timeout_us: int
    """``controller.socket.timeout.ms``: of requests to and from the controller."""

    @staticmethod
    def of(config: Mapping[str, Any]) -> "ControlSettings":
        """As configured, defaults beneath."""
        rebalances = bool(config.get("auto.leader.rebalance.enable", True))
        interval = int(config.get("leader.imbalance.check.interval.seconds", 300)) * 1_000 * MS
        return ControlSettings(
            rebalance_us=interval if rebalances else 0,
            imbalance_percentage=int(config.get("leader.imbalance.per.broker.percentage", 10)),
            controlled_shutdown=bool(config.get("controlled.shutdown.enable", True)),
            shutdown_retries=int(config.get("controlled.shutdown.max.retries", 3)),
            shutdown_backoff_us=int(config.get("controlled.shutdown.retry.backoff.ms", 5_000)) * MS,
            socket_timeout_us=int(config.get("controller.socket.timeout.ms", 30_000)) * MS,
        )
