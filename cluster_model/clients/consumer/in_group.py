"""What a member does about its group whatever protocol it goes by: its commits, its end, answers that never come."""

from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from cluster_model.clients.consumer.committer import Committer
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.offset_commits import CLOSE, Commits, Outcome
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.consumer.telling import Telling
from cluster_model.clients.coordinator_connection import CoordinatorLink
from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.group_messages import OffsetCommitResponse, OffsetFetchResponse
from cluster_model.protocol.versions import Profile

CLOSE_US: Final = 30_000_000
"""How long a close waits for its commit."""


class Leaver(Committer, Protocol):
    """A member that can end."""

    def leave(self) -> None:
        """It is a member no more."""

    def lost(self, kind: str, correlation: int, now: int) -> None:
        """A request will not be answered."""


Member = TypeVar("Member", bound=Leaver)


class InGroup(Generic[Member]):
    """Base of both protocols' sides of a member."""

    __slots__ = (
        "_polled_at", "_port", "_positions", "_settings", "_telling", "commits", "link", "member", "on_outcome",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        named: tuple[str, str],
        profile: Profile,
        settings: GroupSettings,
        metadata: Metadata,
        positions: Positions,
        telling: Telling,
        make_member: Callable[[CoordinatorLink], Member],
    ) -> None:
        """``named``: the member's and the group's name."""
        self._port = port
        self._settings = settings
        self._positions = positions
        self._telling = telling
        self.link = CoordinatorLink(port, metadata, named[1], (settings.backoff_us, settings.request_timeout_us))
        self.member = make_member(self.link)
        self.commits = Commits(profile, settings, self.link, self.member, positions, self._done)
        self.on_outcome: Callable[[Outcome], None] = _nothing
        """Told how the application's own commits end."""
        self._polled_at = 0

    @property
    def settings(self) -> GroupSettings:
        """What the consumer's configuration says of its group."""
        return self._settings

    def _done(self, outcome: Outcome) -> None:
        """A commit came to its end."""
        self._telling.done(outcome)
        self.on_outcome(outcome)

    def clock_stepped(self, by: int) -> None:
        """The machine's clock was set: ``max.poll.interval.ms`` goes by it (``Timer``), but only ahead."""
        self._polled_at -= max(0, by)

    def close(self, now: int) -> bool:
        """Begin to leave: with automatic commits after a last one. True when that has ended, and the member left."""
        if self._settings.auto_commit and not self.commits.busy(CLOSE):
            self.commits.commit(CLOSE, self.commits.consumed(), now, CLOSE_US)
        return self.closed(now)

    def closed(self, now: int) -> bool:
        """Whether the last commit has ended; then the member leaves."""
        self.link.find()
        self.commits.poll(now)
        if self.commits.busy(CLOSE):
            return False
        self.member.leave()
        return True

    def _receive_offsets(self, message: Any) -> bool:
        """Handle an answer about offsets; False if it is none."""
        if isinstance(message, OffsetCommitResponse):
            self.commits.committed(message, self._port.now)
        elif isinstance(message, OffsetFetchResponse):
            self.commits.fetched(message, self._port.now)
        else:
            return False
        return True

    def lost(self, broker: int) -> None:
        """What was asked of a broker will not be answered."""
        now = self._port.now
        for kind, correlation in self.link.lost(broker):
            self.member.lost(kind, correlation, now)
            self.commits.lost(kind, correlation, now)

    def overdue(self, now: int) -> list[int]:
        """Brokers that have not answered in time."""
        return self.link.overdue(now)


def _nothing(_outcome: Outcome) -> None:
    """Nobody wants to know."""
