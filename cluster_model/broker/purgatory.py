"""Delayed fetches, produces and record deletions of a broker (``DelayedOperationPurgatory``).

A follower's delayed fetch waits for records at or after its offset; a higher HW does not complete it, except in 2.4 and
2.5 (``DelayedFetch``). A consumer's delayed fetch waits for the HW. Both read the log again when they complete.
"""

from collections.abc import Container
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from cluster_model.broker.fetch.fetch_reads import missing_replica_error
from cluster_model.broker.partition.fetch_sessions import FetchSessions, SessionCache
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse, FetchRequest

if TYPE_CHECKING:
    from cluster_model.broker.hosted_coordinators import CoordinatorHost


# Record deletions that wait until every live replica has advanced its log start (``DelayedDeleteRecords``, KIP-107).
#
# The leader advances its own log start at once; a follower learns of it with its next fetch and reports its own with
# the fetch after that.


class _DelayedDelete(NamedTuple):
    """A DeleteRecords request that waits for the low watermark."""

    source: int
    correlation_id: int
    offset: int
    deadline: int


class DelayedDeletions:
    """Delayed DeleteRecords requests of one broker."""

    __slots__ = ("_known_partitions", "_metadata", "_port", "_replicas", "_timer", "_touched", "waiting")

    def __init__(
        self,
        port: NodeContext,
        replicas: dict[str, Replica],
        metadata: BrokerMetadata,
        touched: dict[str, None],
        known_partitions: Container[str] = (),
    ) -> None:
        """Keep shared tables: ``touched`` collects changed partitions; the metadata cache has ``known_partitions``."""
        self._known_partitions = known_partitions
        self.waiting: dict[str, list[_DelayedDelete]] = {}
        """Partition → delayed requests."""
        self._port = port
        self._replicas = replicas
        self._metadata = metadata
        self._touched = touched
        self._timer = DeadlineTimer(port, "purgatory")

    def handle_request(self, source: int, request: DeleteRecordsRequest) -> None:
        """Advance the log start, and respond once all live replicas have followed."""
        partition, now = request.partition, self._port.now
        replica = self._replicas.get(partition)
        if replica is None:
            self._answer(
                source, request.correlation_id, partition, missing_replica_error(partition, self._known_partitions), -1
            )
            return
        self._touched[partition] = None
        offset = replica.hw if request.offset == -1 else request.offset
        error = replica.delete_records(request.offset, now)
        if error is not KafkaError.NONE:
            self._answer(source, request.correlation_id, partition, error, -1)
            return
        delayed = _DelayedDelete(source, request.correlation_id, offset, now + request.timeout_us)
        self.waiting.setdefault(partition, []).append(delayed)
        self._timer.arm(delayed.deadline)
        self.check(partition)

    def check(self, partition: str) -> None:
        """Respond to the requests whose offset is reached, or can no longer be reached."""
        delayed = self.waiting.get(partition)
        if delayed is None:
            return
        low = self._low_watermark(partition)
        remaining = [each for each in delayed if low is not None and low < each.offset]
        if remaining:
            self.waiting[partition] = remaining
        else:
            del self.waiting[partition]
        for each in delayed:
            if low is None:
                self._answer(each.source, each.correlation_id, partition, KafkaError.NOT_LEADER_OR_FOLLOWER, -1)
            elif low >= each.offset:
                self._answer(each.source, each.correlation_id, partition, KafkaError.NONE, low)

    def _low_watermark(self, partition: str) -> int | None:
        """Return the lowest log start of the live replicas (``lowWatermarkIfLeader``); None if not the leader."""
        replica = self._replicas.get(partition)
        if replica is None or replica.leadership is None:
            return None
        remotes = replica.leadership.remotes.items()
        starts = [remote.log_start for broker, remote in remotes if broker in self._metadata.live]
        return min([replica.log.log_start, *starts])

    def expire(self) -> None:
        """Fail requests whose timeout is over, when the timer fires."""
        if not self._timer.take_expired():
            return
        now = self._port.now
        for partition, delayed in tuple(self.waiting.items()):
            remaining = [each for each in delayed if each.deadline > now]
            self.waiting[partition] = remaining
            if not remaining:
                del self.waiting[partition]
            for each in delayed:
                if each.deadline <= now:
                    self._answer(each.source, each.correlation_id, partition, KafkaError.REQUEST_TIMED_OUT, -1)
        deadlines = [each.deadline for delayed in self.waiting.values() for each in delayed]
        if deadlines:
            self._timer.arm(min(deadlines))

    def _answer(self, source: int, correlation_id: int, partition: str, error: KafkaError, low: int) -> None:
        self._port.send(source, DeleteRecordsResponse(correlation_id, partition, int(error), low))

    def stopped(self) -> None:
        """Discard all requests of a process that died."""
        self.waiting.clear()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        waiting = tuple((name, tuple(map(tuple, delayed))) for name, delayed in self.waiting.items())
        return (waiting, self._timer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        waiting, timer = saved
        self.waiting.clear()
        self.waiting.update((name, [_DelayedDelete(*each) for each in delayed]) for name, delayed in waiting)
        self._timer.load(timer)


class DelayedFetch(NamedTuple):
    """A consumer's delayed fetch; a follower's is kept in its fetch session."""

    source: int
    request: FetchRequest
    deadline: int


class DelayedProduce(NamedTuple):
    """A delayed produce with acks=all that waits until the HW reaches ``required``.

    A coordinator's append has the ``source`` LOCAL, its token as ``correlation_id`` and the coordinator's index as
    ``epoch_branch``.
    """

    source: int
    correlation_id: int
    partition: str
    base: int
    leader_epoch: int
    owner_index: int
    deadline: int
    request: int = -1
    """Number of the request that the batch is part of, see :attr:`ProduceRequest.request`."""


class Purgatory:
    """Delayed fetches and produces by token, and delayed record deletions."""

    __slots__ = (
        "_fetches_due",
        "_timer",
        "_token",
        "deletions",
        "fetches",
        "hosted",
        "produces",
        "readers",
        "sessions",
    )

    def __init__(self, port: NodeContext, cache: SessionCache) -> None:
        self.deletions: DelayedDeletions
        """Deletions that wait for the low watermark; set by the broker."""
        self.hosted: CoordinatorHost
        """Coordinators whose appends may be delayed; set by the broker."""
        self.fetches: dict[int, DelayedFetch] = {}
        self.produces: dict[int, DelayedProduce] = {}
        self.sessions = FetchSessions(port.incoming_exchange, cache)
        self.readers: dict[str, list[int]] = {}
        """Partition → tokens of the consumers' delayed fetches of it, oldest first."""
        self._fetches_due: list[tuple[int, int]] = []
        """Heap of (deadline, token) of fetches; completed ones stay in it until their deadline."""
        self._token = 0
        self._timer = DeadlineTimer(port, "purgatory")

    def _wait(self, deadline: int) -> int:
        self._token += 1
        self._timer.arm(deadline)
        return self._token

    def delay_fetch(self, fetch: DelayedFetch) -> int:
        """Delay a consumer's fetch until its deadline at the latest; returns its token."""
        token = self._wait(fetch.deadline)
        self.fetches[token] = fetch
        heappush(self._fetches_due, (fetch.deadline, token))
        for requested in fetch.request.partitions:
            self.readers.setdefault(requested.partition, []).append(token)
        return token

    def delay_produce(self, produce: DelayedProduce) -> int:
        """Delay a produce until its deadline at the latest; returns its token."""
        token = self._wait(produce.deadline)
        self.produces[token] = produce
        return token

    def take_fetch(self, token: int) -> DelayedFetch | None:
        """Remove a delayed fetch and return it; None if it is complete already."""
        fetch = self.fetches.pop(token, None)
        if fetch is not None:
            for requested in fetch.request.partitions:
                self.readers[requested.partition].remove(token)
        return fetch

    def expired(self, now: int) -> list[int]:
        """Return the tokens whose deadline has passed; to be called when the timer fires."""
        if not self._timer.take_expired():
            return []
        waiting = [(produce.deadline, token) for token, produce in self.produces.items()]
        fetches = self._fetches_due
        while fetches and (fetches[0][0] <= now or fetches[0][1] not in self.fetches):
            first = heappop(fetches)
            if first[1] in self.fetches:
                waiting.append(first)
        later = [deadline for deadline, _token in waiting if deadline > now]
        if fetches:
            later.append(fetches[0][0])
        if later:
            self._timer.arm(min(later))
        return [token for deadline, token in sorted(waiting) if deadline <= now]

    def clear(self) -> None:
        """Discard everything of a process that died."""
        self.fetches.clear()
        self._fetches_due.clear()
        self.produces.clear()
        self.sessions.stopped()
        self.readers.clear()
        self.deletions.stopped()
        self._timer.forget()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        watching = tuple((name, tuple(tokens)) for name, tokens in self.readers.items())
        fetches = tuple(self.fetches.items())
        return (
            self.sessions.save(), fetches, tuple(self.produces.items()), watching, self._token,
            self._timer.save(), self.deletions.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        sessions, fetches, produces, watching, self._token, timer, deletions = saved
        self.sessions.load(sessions)
        self.fetches = dict(fetches)
        self._fetches_due = [(fetch.deadline, token) for token, fetch in fetches]
        heapify(self._fetches_due)
        self.produces = dict(produces)
        self.readers = {name: list(tokens) for name, tokens in watching}
        self._timer.load(timer)
        self.deletions.load(deletions)
