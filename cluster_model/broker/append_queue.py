"""Queue of a broker's appends while its disk is slow or failing: appends take time, or end the broker.

The queue wraps the broker's handlers only while the disk is slow or failing, or writes are still pending.

*Slow.* One disk has one queue: a write begins when the previous one is complete, and becomes an append only when it
completes itself. The requester waits for it, as in Kafka. A request occupies a handler thread (``KafkaRequestHandler``)
and mutes its connection (``SocketServer``) until its writes are complete: later requests of that connection wait,
others continue until all ``num.io.threads`` are busy, and then all requests wait, in order of arrival. A fetcher thread
that appends fetched records neither fetches nor handles responses meanwhile.

*Failing.* A write that fails takes the log directory offline, and a broker without a log directory halts
(``LogDirFailureChannel``, ``LogManager.handleLogDirFailure``: KIP-112, 1.0); earlier versions halt at any I/O error
(``ReplicaManager``, ``ReplicaFetcherThread``). The model's brokers have one directory, so the result is the same.

Not modelled: reads, which the page cache serves; indexes and checkpoints, which take no time; the separate network
threads; the partitions of a failed request or fetch that were handled before the failing one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherManager, fetcher_of
from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.broker.hosted_coordinators import CoordinatorHost
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.producer_state_manager import NONE, validate_append
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.broker.storage.disk import BLOCK, Disk
from cluster_model.broker.storage.log_manager import LogManager
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    Message,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.versions import Profile

TIMER: Final = "disk"

DIRECTORIES_FAILED: Final = "all log directories have failed"
"""Reason of a halt when the only log directory is offline (KIP-112)."""
DIRECTORY_ERROR: Final = "I/O error on its log directory"
"""Reason of a halt after an I/O error before KIP-112."""

_CHECKPOINTS: Final = ("checkpoint", "recovery_points", "log_starts")
"""Periodic tasks that write a new file each time."""

Connection = tuple[int, int]
"""(source node, connection of it): 0 is its ordinary one, -1 that to a coordinator; fetchers count from 1."""
_NO_CONNECTION: Final[Connection] = (-1, 0)
"""Connection of writes that no request caused."""

_BY_PRODUCER: Final = "produced"
_BY_FETCHER: Final = "fetched"
_BY_COORDINATOR: Final = "kept"
_UNAWAITED: Final = "spent"
"""Kinds of writes: by a client, a fetcher, a coordinator that waits, a coordinator that does not."""


class PendingAppend(NamedTuple):
    """A pending append in the disk's queue."""

    kind: str
    size: int
    connection: Connection
    source: int = -1
    message: Any = None
    topic: str = ""
    token: int = 0
    """Token of the coordinator's append, with the coordinator's topic."""
    epoch: int = -1
    """Leader epoch in which the coordinator requested the append."""


class AppendQueue:
    """Queue of one broker's appends, in front of its message handlers while the disk is slow or failing."""

    __slots__ = (
        "_begun",
        "_disk",
        "_duration",
        "_fetched",
        "_fetchers",
        "_handlers",
        "_handling",
        "_hosted",
        "_logs",
        "_port",
        "_profile",
        "_queue",
        "_replicas",
        "_serial",
        "_service",
        "_threads",
        "_waiting",
        "_wrapped",
        "active",
        "exempt",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        disk: Disk,
        replicas: Mapping[str, Replica],
        handlers: Handlers,
        parts: tuple[RequestHandler, ReplicaFetcherManager, CoordinatorHost],
        fetched: Callable[[int, FetchResponse], None],
        logs: LogManager,
        threads: Callable[[], int],
    ) -> None:
        """Create an inactive queue; ``handlers`` are the broker's own, ``fetched`` handles a fetch response."""
        self._port = port
        self._profile = profile
        self._disk = disk
        self._replicas = replicas
        self._handlers = handlers
        self._wrapped: Handlers = {}
        """The broker's original handlers while the queue wraps them."""
        self._service, self._fetchers, self._hosted = parts
        self._fetched = fetched
        self._logs = logs
        self._threads = threads
        self.exempt: tuple[type[Any], ...] = ()
        """Requests to a KRaft controller in this process, which has threads of its own."""
        self.active = False
        """Whether the queue wraps the handlers."""
        self._queue: list[PendingAppend] = []
        """Pending appends; the first one is being written."""
        self._waiting: list[tuple[int, Message]] = []
        """Requests that no handler thread has taken yet."""
        self._handling = _NO_CONNECTION
        self._serial = 0
        self._begun = self._duration = 0

    # -- wrapping the handlers
    # ------------------------------------------------------------------------------------------

    def _wrap(self, *, stands: bool) -> None:
        """Wrap or unwrap the handlers of all messages that need a handler thread or are written to the log."""
        if stands == self.active:
            return
        self.active = stands
        if stands:
            self._wrapped = dict(self._handlers)
            requests = [kind for kind in self._wrapped if kind.__name__.endswith("Request") and kind not in self.exempt]
            self._handlers.update(dict.fromkeys(requests, self._on_request))
            self._handlers[FetchResponse] = self._on_fetch_response
        else:
            self._handlers.update(self._wrapped)
        self._hosted.gate = self if stands else None
        self._logs.on_delete = self._deletes if stands else None
        self._port.stay_awake(wakeful=stands)

    @property
    def idle(self) -> bool:
        """Whether no append and no request is pending."""
        return not self._queue and not self._waiting

    def _on_request(self, source: int, message: Message) -> None:
        if self.idle:
            self._handle(source, message)
            return
        self._waiting.append((source, message))
        self._dispatch()

    def _dispatch(self) -> None:
        """Let free handler threads take the oldest requests whose connections are not muted."""
        muted = {write.connection: None for write in self._queue if write.connection != _NO_CONNECTION}
        blocked: list[tuple[int, Message]] = []
        waiting, self._waiting = self._waiting, []
        for index, (source, message) in enumerate(waiting):
            if len(muted) >= self._threads():
                blocked += waiting[index:]
                break
            connection = self._connection(source, message)
            if connection in muted or any(connection == self._connection(*each) for each in blocked):
                blocked.append((source, message))
                continue
            self._handle(source, message)
            if any(write.connection == connection for write in self._queue):
                muted[connection] = None
        self._waiting = blocked + self._waiting

    def _connection(self, source: int, message: Message) -> Connection:
        """Return the connection of a request: each of a follower's fetchers has its own, and so has a coordinator."""
        if isinstance(message, FetchRequest) and message.replica != CONSUMER:
            return (source, 1 + message.fetcher)
        if isinstance(message, EpochEndRequest | ListOffsetsRequest) and message.replica != CONSUMER:
            return (source, 1 + fetcher_of(message.correlation_id))
        return (source, -1 if self._hosted.takes(type(message)) else 0)

    def _handle(self, source: int, message: Message) -> None:
        connections = self._service.connections
        if source in connections.muted and connections.keep(source, message):
            return
        self._handling = self._connection(source, message)
        if isinstance(message, ProduceRequest):
            self._produce(source, message)
        else:
            self._wrapped[type(message)](source, message)
        self._handling = _NO_CONNECTION

    def _produce(self, source: int, request: ProduceRequest) -> None:
        replica = self._replicas.get(request.partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            self._service.produce(source, request)
        elif not self._service.is_verified_first(source, request):
            self.go_on(source, request)

    def go_on(self, source: int, request: ProduceRequest) -> None:
        """Write a client's batch, whose transaction is verified."""
        if self._will_write(request):
            self._enqueue(PendingAppend(_BY_PRODUCER, request.size, self._handling, source, request))
        else:
            self._service.produce(source, request, checked=True)

    def _will_write(self, request: ProduceRequest) -> bool:
        """Whether the leader would write the batch to its log: ``append`` does, unless it rejects the batch.

        Duplicates are not written either. With another write to the log pending the outcome is unknown: the batch waits
        for the log's lock and is validated then.
        """
        if any(getattr(write.message, "partition", "") == request.partition for write in self._queue):
            return True
        replica = self._replicas.get(request.partition)
        leadership = None if replica is None else replica.leadership
        return leadership is not None and validate_append(leadership, request, self._port.now) == (NONE, -1)

    def _on_fetch_response(self, source: int, response: FetchResponse) -> None:
        size = sum([self._bytes(data.partition, data.records) for data in response.partitions])
        if size and self._fetchers.block(source, response):
            self._enqueue(PendingAppend(_BY_FETCHER, size, _NO_CONNECTION, source, response))
        else:
            self._fetched(source, response)

    def _bytes(self, partition: str, records: Any) -> int:
        replica = self._replicas.get(partition)
        return 0 if replica is None or not records.extents else slice_bytes(replica.log.epoch_branches, records)

    # -- appends of coordinators
    # ----------------------------------------------------------------------------------------

    def take_append(self, topic: str, request: ProduceRequest, token: int) -> bool:
        """Queue a coordinator's append; False if it would not reach the log and may be handled at once."""
        if not self._will_write(request):
            return False
        epoch = self._replicas[request.partition].leader_epoch
        self._enqueue(PendingAppend(_BY_COORDINATOR, request.size, self._handling, -1, request, topic, token, epoch))
        return True

    def count_append(self, size: int) -> bool:
        """Count an append whose result nothing waits for; False if it fails."""
        if self._fails(size):
            return False
        if self._disk.slow or self._queue:
            self._enqueue(PendingAppend(_UNAWAITED, size, self._handling))
        return True

    def fail_stale(self, partition: str, leader_epoch: int) -> None:
        """Fail coordinators' pending appends of earlier leader epochs, before the coordinators resign."""
        stale = [
            write
            for write in self._queue
            if write.kind == _BY_COORDINATOR and write.message.partition == partition and write.epoch != leader_epoch
        ]
        for write in stale:
            self._queue[self._queue.index(write)] = PendingAppend(_UNAWAITED, write.size, write.connection)
        for write in stale:
            self._hosted.settled(write.topic, write.token, KafkaError.NOT_LEADER_OR_FOLLOWER)

    # -- the disk -----------------------------------------------------------------------------------------------------

    def _enqueue(self, write: PendingAppend) -> None:
        if not self._queue and not self._disk.slow:
            self._perform(write)
            return
        self._queue.append(write)
        if len(self._queue) == 1:
            self._begin()

    def _begin(self) -> None:
        self._begun = self._port.now
        self._duration = self._disk.write_us(self._queue[0].size)
        self._set_timer(self._duration)

    def _set_timer(self, delay: int) -> None:
        self._serial += 1
        self._port.timer(delay, TIMER, self._serial)

    def changed(self) -> None:
        """Apply a change of the disk's speed: the rest of the current write takes proportionally more or less time."""
        self._wrap(stands=not self._disk.healthy or not self.idle)
        if not self._queue:
            return
        now = self._port.now
        old_rest = max(0, self._begun + self._duration - now)
        new = self._disk.write_us(self._queue[0].size)
        new_rest = new * old_rest // self._duration if self._duration else 0
        self._begun, self._duration = now, new_rest
        self._set_timer(new_rest)

    def on_write_done(self, serial: int) -> None:
        """Handle the end of a write: append it to the log, and begin the next one."""
        if serial != self._serial or not self._queue:
            return
        write = self._queue.pop(0)
        if self._queue:
            self._begin()
        self._perform(write)
        self._dispatch()
        self._wrap(stands=not self._disk.healthy or not self.idle)

    def _perform(self, write: PendingAppend) -> None:
        if self._fails(write.size):
            self._send_failure(write)
        elif write.kind == _BY_PRODUCER:
            self._service.produce(write.source, write.message, checked=True)
        elif write.kind == _BY_FETCHER:
            self._fetched(write.source, write.message)
            self._fetchers.unblock(write.source, write.message)
        elif write.kind == _BY_COORDINATOR:
            self._hosted.append_now(write.topic, write.message, write.token)

    # -- failures -----------------------------------------------------------------------------------------------------

    def _fails(self, size: int) -> bool:
        """Try to write; True if the write failed, which ends the process."""
        if self._disk.halted:
            return True
        reason = self._disk.refuses(size, self._logs.disk_bytes) if self._disk.broken else ""
        if reason:
            self.halt(reason)
        return bool(reason)

    def _send_failure(self, write: PendingAppend) -> None:
        """Send KAFKA_STORAGE_ERROR since KIP-112; before that the process ended at once."""
        if not self._profile.log_dir_failure:
            return
        error = KafkaError.KAFKA_STORAGE_ERROR
        if write.kind == _BY_PRODUCER and write.message.acks:
            request = write.message
            answer = ProduceResponse(request.correlation_id, request.partition, error, -1, -1, -1)
            self._port.send(write.source, answer)
        elif write.kind == _BY_COORDINATOR:
            self._hosted.settled(write.topic, write.token, error)

    def halt(self, reason: str) -> None:
        """End the process at once, without a clean shutdown (``Exit.halt``)."""
        if not self._disk.halted:
            self._disk.halted = True
            cause = DIRECTORIES_FAILED if self._profile.log_dir_failure else DIRECTORY_ERROR
            self._port.exit(f"exit: {cause}: {reason}")

    def task_fails(self, name: str) -> bool:
        """Try to write a checkpoint, or to delete or rename files; True if it failed, which ends the process."""
        return self._fails(BLOCK if name in _CHECKPOINTS else 0)

    def _deletes(self) -> None:
        """Handle the rename of a log directory."""
        self._fails(0)

    def start(self) -> bool:
        """Lock and write to the log directory at the start of the process; False if that fails and ends the process."""
        self._disk.halted = self._disk.again = False
        return not self._fails(BLOCK)

    def stopped(self) -> None:
        """Discard pending appends and requests of a process that died."""
        self._queue.clear()
        self._waiting.clear()
        self._serial += 1
        self._wrap(stands=not self._disk.healthy)

    def save(self) -> tuple[Any, ...]:
        """Return all state; an idle queue is saved as empty."""
        waiting = (tuple(map(tuple, self._queue)), tuple(self._waiting)) if not self.idle else ()
        blocked = tuple(self._fetchers.blocked.items())
        return (self.active, waiting, blocked, self._serial, self._begun, self._duration)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        stands, waiting, blocked, self._serial, self._begun, self._duration = saved
        self._fetchers.blocked = dict(blocked)
        queue, requests = waiting or ((), ())
        self._queue = [PendingAppend(*each) for each in queue]
        self._waiting = list(requests)
        self._wrap(stands=stands)
