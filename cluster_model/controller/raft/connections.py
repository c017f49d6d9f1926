"""Who can be asked now: one request at a time to each peer, and pauses after failures (``RequestManager``)."""

from typing import Any, NamedTuple

from cluster_model.controller.raft.config import RECONNECT_MAX_US, RECONNECT_US, QuorumConfig


class Connection(NamedTuple):
    """Request ``number`` is under way since ``sent_at``, -1 for none; no other before ``ready_at``."""

    number: int = 0
    sent_at: int = -1
    ready_at: int = 0
    failures: int = 0


FRESH = Connection()


class Connections:
    """One node's connections by peer."""

    __slots__ = ("_config", "_peers")

    def __init__(self, config: QuorumConfig) -> None:
        self._config = config
        self._peers: dict[int, Connection] = {}

    def ready_at(self, peer: int) -> int:
        """From when on it can be asked: after a pause, or once a request has waited for its timeout."""
        known = self._peers.get(peer, FRESH)
        return known.ready_at if known.sent_at < 0 else known.sent_at + self._config.request_timeout_us

    def ready(self, peer: int, now: int) -> bool:
        """Whether it can be asked."""
        return self.ready_at(peer) <= now

    def sent(self, peer: int, number: int, now: int) -> None:
        """Request ``number`` is under way."""
        self._peers[peer] = self._peers.get(peer, FRESH)._replace(number=number, sent_at=now)

    def expects(self, peer: int, number: int) -> bool:
        """Whether that request is still under way: an answer to any other is ignored."""
        known = self._peers.get(peer, FRESH)
        return known.sent_at >= 0 and known.number == number

    def answered(self, peer: int) -> None:
        """It was answered."""
        self._peers.pop(peer, None)

    def refused(self, peer: int, now: int) -> None:
        """It was answered by an error, or not in time: pause for ``retry.backoff.ms``."""
        self._peers[peer] = Connection(ready_at=now + self._config.retry_backoff_us)

    def broke(self, peer: int, now: int) -> None:
        """The connection broke: pause, longer each time in a row; one with no request under way needs none."""
        known = self._peers.get(peer, FRESH)
        if known.sent_at >= 0:
            pause = max(min(RECONNECT_US << min(known.failures, 8), RECONNECT_MAX_US), self._config.retry_backoff_us)
            self._peers[peer] = Connection(ready_at=now + pause, failures=known.failures + 1)

    def clear(self) -> None:
        """Forget everything."""
        self._peers.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple([(peer, tuple(known)) for peer, known in self._peers.items()])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._peers = {peer: Connection(*known) for peer, known in saved}
