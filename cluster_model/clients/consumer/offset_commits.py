"""A consumer's offset commits, and its reads of the group's committed offsets (``ConsumerCoordinator``).

Automatic commits are made in a poll, after joining and before fetching: they commit all records returned by earlier
polls. The application is not informed of their failure. commitSync is repeated while its errors are retriable;
commitAsync is not. The broker keeps the last commit appended, so offsets may go backwards.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.membership import STABLE, exception
from cluster_model.clients.consumer.subscription_state import SubscriptionState
from cluster_model.clients.coordinator_connection import CoordinatorConnection
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.group_messages import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.protocol.versions import Profile

# Interface of a member for commits, under either protocol.


class Committer(Protocol):
    """A group member that can commit offsets."""

    group: str

    @property
    def state(self) -> int:
        """``membership.STABLE`` while it may commit."""

    @property
    def rebalancing(self) -> bool:
        """Whether a rebalance prevents commits."""

    @property
    def generation(self) -> int:
        """Its generation or member epoch."""

    @property
    def member_id(self) -> str:
        """Its member id."""

    def request_rejoin(self) -> None:
        """Handle REBALANCE_IN_PROGRESS in the response to a commit."""

    def refused(self, error: KafkaError, now: int) -> None:
        """Handle an error of a commit that rejects its generation or member id."""


AUTO: Final = "auto"
SYNC: Final = "sync"
ASYNC: Final = "async"
PREPARE: Final = "rebalance"
"""The automatic commit before a rebalance."""
CLOSE: Final = "close"

COMMIT: Final = "commit"
FETCH: Final = "fetch committed"

COMMIT_FAILED: Final = "CommitFailedException"
REBALANCING: Final = "RebalanceInProgressException"
RETRIABLE: Final = "RetriableCommitFailedException"
TIMED_OUT: Final = "TimeoutException"

_COORDINATOR_GONE: Final = (
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
)
_RETRY_LATER: Final = (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
_MEMBER_ERRORS: Final = (KafkaError.STALE_MEMBER_EPOCH, KafkaError.UNKNOWN_MEMBER_ID)
"""Errors of an OffsetFetch with a member's identity (KIP-848), which its heartbeats handle."""


class CommitOutcome(NamedTuple):
    """The outcome of a commit; ``error`` is an exception's name, empty for success."""

    kind: str
    error: str
    offsets: tuple[CommittedOffset, ...]


class Commits:
    """The offset commits of one member; ``done`` is called with the outcome of each."""

    __slots__ = (
        "_done", "_epochs", "_fetching", "_gives_up", "_link", "_member", "_pending", "_positions", "_repeat",
        "_retry_at", "_settings", "_stable", "auto_at",
    )  # fmt: skip

    def __init__(
        self,
        profile: Profile,
        settings: GroupSettings,
        link: CoordinatorConnection,
        member: Committer,
        positions: SubscriptionState,
        done: Callable[[CommitOutcome], None],
    ) -> None:
        self._settings = settings
        self._link = link
        self._member = member
        self._positions = positions
        self._done = done
        self._epochs = profile.kip_320 and profile.client.detects_truncation
        self._stable = profile.stable_offsets
        self._gives_up = settings.consumer_protocol and not profile.client.retries_deleted_topic
        """Whether a commit before a revocation fails if a topic was deleted (KAFKA-16224), not only by its deadline."""
        self.auto_at = settings.auto_commit_us
        """Time of the next automatic commit."""
        self._pending: dict[int, tuple[str, tuple[CommittedOffset, ...], int]] = {}
        """Correlation → (kind, offsets, deadline) of commits in flight, oldest first."""
        self._repeat: tuple[str, tuple[CommittedOffset, ...], int, int] | None = None
        """(kind, offsets, time, deadline) of a commit to repeat."""
        self._fetching = 0
        """Correlation of the OffsetFetch in flight, 0 for none."""
        self._retry_at = 0
        """Earliest time of the next OffsetFetch."""

    # --- what to commit

    def consumed(self) -> tuple[CommittedOffset, ...]:
        """Return the positions of all partitions with a valid one (``allConsumed``)."""
        positions = self._positions
        return self.named({name: positions.offsets[name] for name in positions.assigned if positions.fetchable(name)})

    def named(self, offsets: Mapping[str, int]) -> tuple[CommittedOffset, ...]:
        """Return the offsets to commit, each the next to read, with their leader epochs.

        Raises:
            ModelError: a negative offset (Kafka's client throws IllegalArgumentException).
        """
        if any(offset < 0 for offset in offsets.values()):
            raise ModelError(f"IllegalArgumentException: negative offset in {dict(offsets)}", code="negative_offset")
        epochs = self._positions.epochs if self._epochs else {}
        return tuple([CommittedOffset(name, offset, epochs.get(name, -1)) for name, offset in sorted(offsets.items())])

    # --- committing

    def busy(self, kind: str) -> bool:
        """Return whether a commit of a kind has not ended."""
        repeated = self._repeat is not None and self._repeat[0] == kind
        return repeated or any(pending[0] == kind for pending in self._pending.values())

    def commit(self, kind: str, offsets: tuple[CommittedOffset, ...], now: int, timeout_us: int = -1) -> None:
        """Start a commit; synchronous kinds are repeated for ``timeout_us``."""
        if not offsets:
            self._done(CommitOutcome(kind, "", ()))
            return
        deadline = now + (self._settings.api_timeout_us if timeout_us < 0 else timeout_us)
        self._send(kind, offsets, now, deadline)

    def _send(self, kind: str, offsets: tuple[CommittedOffset, ...], now: int, deadline: int) -> None:
        member = self._member
        if member.state != STABLE:
            error = REBALANCING if member.rebalancing else COMMIT_FAILED
            self._done(CommitOutcome(kind, error, offsets))
        elif not self._link.is_known:
            self._retriable(kind, offsets, now, deadline)
        else:
            request = OffsetCommitRequest(
                0, member.group, member.generation, member.member_id, offsets, self._settings.instance
            )
            correlation_id = self._link.send(COMMIT, request)
            self._pending[correlation_id] = (kind, offsets, deadline)

    def _retriable(self, kind: str, offsets: tuple[CommittedOffset, ...], now: int, deadline: int) -> None:
        """Handle a retriable error: synchronous kinds are repeated until their deadline."""
        if kind in (AUTO, ASYNC):
            if kind == AUTO:
                self.auto_at = now + self._settings.backoff_us
            self._done(CommitOutcome(kind, RETRIABLE, offsets))
        elif now + self._settings.backoff_us > deadline:
            self._done(CommitOutcome(kind, TIMED_OUT, offsets))
        else:
            self._repeat = (kind, offsets, now + self._settings.backoff_us, deadline)

    def committed(self, response: OffsetCommitResponse, now: int) -> None:
        """Handle the response to a commit (``OffsetCommitResponseHandler``)."""
        if self._link.complete(response.correlation_id) and response.correlation_id in self._pending:
            errors = [KafkaError(error) for _partition, error in response.partitions if error]
            self._on_commit_failed(response.correlation_id, errors[0] if errors else KafkaError.NONE, now)

    def _on_commit_failed(self, correlation_id: int, error: KafkaError, now: int) -> None:
        kind, offsets, deadline = self._pending.pop(correlation_id)
        if error is KafkaError.NONE:
            self._done(CommitOutcome(kind, "", offsets))
        elif error in _COORDINATOR_GONE:
            self._link.unknown()
            self._retriable(kind, offsets, now, deadline)
        elif kind == PREPARE and error is KafkaError.UNKNOWN_TOPIC_OR_PARTITION and self._gives_up:
            self._done(CommitOutcome(kind, exception(error), offsets))
        elif error in _RETRY_LATER:
            self._retriable(kind, offsets, now, deadline)
        elif error is KafkaError.REBALANCE_IN_PROGRESS:
            self._member.request_rejoin()
            self._done(CommitOutcome(kind, REBALANCING, offsets))
        elif error in (KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID):
            self._member.refused(error, now)
            self._done(CommitOutcome(kind, COMMIT_FAILED, offsets))
        elif error is KafkaError.STALE_MEMBER_EPOCH:
            self._stale(kind, offsets, now, deadline)
        elif error is KafkaError.FENCED_INSTANCE_ID:
            self._member.refused(error, now)
            self._done(CommitOutcome(kind, exception(error), offsets))
        else:
            self._done(CommitOutcome(kind, exception(error), offsets))

    def _stale(self, kind: str, offsets: tuple[CommittedOffset, ...], now: int, deadline: int) -> None:
        """Handle an outdated member epoch (KIP-848): the client's own commits are repeated with the new one."""
        if kind in (PREPARE, CLOSE):
            self._retriable(kind, offsets, now, deadline)
        else:
            self._done(CommitOutcome(kind, COMMIT_FAILED, offsets))

    def auto(self, now: int) -> None:
        """Start the automatic commit of a poll, if it is due."""
        if self._settings.auto_commit and now >= self.auto_at:
            self.auto_at = now + self._settings.auto_commit_us
            if self._member.state == STABLE and not self.busy(PREPARE):
                self.commit(AUTO, self.consumed(), now)

    def rearm(self, now: int) -> None:
        """Restart the interval of automatic commits after a new assignment."""
        self.auto_at = now + self._settings.auto_commit_us

    # --- committed offsets

    def fetch(self, partitions: list[str], now: int) -> None:
        """Request the group's committed offsets of partitions that need a position."""
        if partitions and not self._fetching and self._link.is_known and now >= self._retry_at:
            request = OffsetFetchRequest(0, self._member.group, tuple(partitions), self._stable)
            if self._settings.consumer_protocol:
                member = self._member
                request = request._replace(member_id=member.member_id, member_epoch=member.generation)
            self._fetching = self._link.send(FETCH, request)

    def fetched(self, response: OffsetFetchResponse, now: int) -> None:
        """Handle a response: set positions to committed offsets, or reset them (``refreshCommittedOffsets``)."""
        if not self._link.complete(response.correlation_id) or response.correlation_id != self._fetching:
            return
        self._fetching = 0
        errors = [KafkaError(error) for error in (response.error, *(each.error for each in response.partitions))]
        refused = next((error for error in errors if error), None)
        if refused is not None:
            self._retry_at = now + self._settings.backoff_us
            if refused in _COORDINATOR_GONE:
                self._link.unknown()
            elif refused not in (*_RETRY_LATER, *_MEMBER_ERRORS, KafkaError.UNSTABLE_OFFSET_COMMIT):
                self._positions.failure = exception(refused)
            return
        waiting = self._positions.initializing()
        for each in response.partitions:
            if each.partition not in waiting:
                continue
            if each.offset < 0:
                self._positions.unset(each.partition)
            else:
                self._positions.seek(each.partition, each.offset, each.leader_epoch)

    # --- timers

    def poll(self, now: int) -> None:
        """Repeat a commit that is due."""
        if self._repeat is not None and now >= self._repeat[2]:
            kind, offsets, _at, deadline = self._repeat
            self._repeat = None
            self._send(kind, offsets, now, deadline)

    def on_request_failed(self, kind: str, correlation_id: int, now: int) -> None:
        """Handle the failure of a request."""
        if kind == COMMIT and correlation_id in self._pending:
            self._on_commit_failed(correlation_id, KafkaError.NETWORK_EXCEPTION, now)
        elif kind == FETCH and correlation_id == self._fetching:
            self._fetching = 0
            if self._link.keeps_node:
                self._link.unknown()
            self._retry_at = now + self._settings.backoff_us

    def forget(self, kind: str) -> None:
        """Drop the commits of a kind."""
        if self._repeat is not None and self._repeat[0] == kind:
            self._repeat = None
        for correlation_id in [number for number, pending in self._pending.items() if pending[0] == kind]:
            del self._pending[correlation_id]

    def next_action_us(self, now: int) -> int:
        """Return the time of the next action of the application's thread, -1 for none."""
        times = [self.auto_at] if self._settings.auto_commit and self._member.state == STABLE else []
        if self._repeat is not None:
            times.append(self._repeat[2])
        times.append(self._retry_at)
        return min([at for at in times if at > now], default=-1)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.auto_at, tuple(self._pending.items()), self._repeat, self._fetching, self._retry_at)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.auto_at, pending, self._repeat, self._fetching, self._retry_at = saved
        self._pending = dict(pending)
