"""What a fetcher or a consumer remembers of its fetch session at one broker (``FetchSessionHandler``, KIP-227)."""

from typing import Any

from cluster_model.broker.partition.session_cache import FULL, SESSIONLESS, later_epoch, next_epoch
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import FetchResponse


class SessionHandle:
    """The session's id, 0 for none, and the number of the next fetch in it, 0 for a full one; -1 before 1.1."""

    __slots__ = ("epoch", "id")

    def __init__(self, *, uses_sessions: bool) -> None:
        self.id = 0
        self.epoch = FULL if uses_sessions else SESSIONLESS

    def answered(self, response: FetchResponse) -> bool:
        """Take an answer; False if the broker refused the session: the next fetch is a full one."""
        epoch = self.epoch
        if epoch == SESSIONLESS:
            return True
        if response.error:
            self.epoch = FULL
            if response.error == KafkaError.FETCH_SESSION_ID_NOT_FOUND:
                self.id = 0
            return False
        self.epoch = next_epoch(epoch) if response.session_id else FULL
        self.id = response.session_id
        return True

    def skipped(self, fetches: int) -> None:
        """That many fetches were asked and answered by nothing."""
        if self.epoch > FULL:
            self.epoch = later_epoch(self.epoch, fetches)

    def lost(self) -> None:
        """No answer came: the next fetch is a full one, which gives up this session."""
        if self.epoch != SESSIONLESS:
            self.epoch = FULL

    def closed(self) -> None:
        """Whoever had it is gone: the next fetch begins one."""
        self.lost()
        self.id = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.id, self.epoch)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.id, self.epoch = saved
