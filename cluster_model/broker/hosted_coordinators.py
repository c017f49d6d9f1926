"""Coordinators hosted by a broker, whose state is an internal topic, and the broker's blocks of producer ids.

A hosted coordinator is notified when its broker becomes or stops being leader of a partition of its topic. It reads the
partition's log to load its state, and appends to it through the broker's leadership with acks=all (as the coordinators
call ``ReplicaManager.appendRecords``). Faults of the process affect its coordinators too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.fetch.fetch_reads import missing_replica_error
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.purgatory import DelayedProduce, Purgatory
from cluster_model.broker.topic_configs import topic_of
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    ALL,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.records import TRANSACTIONAL, Batch

LOCAL: Final = -1
"""``source`` of a coordinator's delayed append."""
BATCH_OVERHEAD: Final = 61
"""Bytes of a batch without its records (``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``)."""
_RECORD_OVERHEAD: Final = 9


def batches_in(log: ReplicaLog) -> Iterator[tuple[Batch, list[tuple[int, str]]]]:
    """Yield every batch of a log, markers included, with its remaining records as (offset, record)."""
    for _epoch_branch, batch, _size, start, end in log.kept_between(log.log_start, log.leo):
        parts = log.remaining(start, end) if batch.name else ()  # Markers have no records.
        yield batch, [(at, batch.name[at - batch.base]) for low, high in parts for at in range(low, high)]


APPEND_ERRORS: Final = {
    KafkaError.UNKNOWN_TOPIC_OR_PARTITION: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_OR_FOLLOWER: KafkaError.NOT_COORDINATOR,
    KafkaError.KAFKA_STORAGE_ERROR: KafkaError.NOT_COORDINATOR,
    KafkaError.MESSAGE_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
    KafkaError.RECORD_LIST_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
}
"""Error of a coordinator's append → error of its requester's response; other errors are passed on.

For transactions (``TransactionStateManager.appendTransactionToLog``) and for groups of the consumer protocol
(``GroupCoordinatorService.handleOperationException``); offset commits have a rule of their own.
"""


class HostedCoordinator(Protocol):
    """A group or transaction coordinator in a broker's process."""

    topic: str
    """Internal topic whose partitions hold its state."""
    handlers: Handlers
    """Handlers of the messages for it."""

    def started(self) -> None:
        """Handle the registration of the process."""

    def stopped(self) -> None:
        """Discard everything that a process that died had in memory."""

    def on_timer(self, timer: Payload) -> bool:
        """Handle one of its timers; False if the timer is not its own."""

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection to ``peer``."""

    def leads(self, partition: str, leader_epoch: int) -> None:
        """Handle that the broker leads a partition of the topic in this epoch, newly or still."""

    def resigned(self, partition: str) -> None:
        """Handle that the broker does not lead a partition of the topic, whether it did before or not."""

    def deleted(self, partition: str) -> None:
        """Handle the deletion of a partition of any topic, as far as the broker knows."""

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        """Handle the result of an append: NONE once the HW has passed it; after an error it may still be in the log."""

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; the broker loads replicas and delayed appends."""


class AppendGate(Protocol):
    """Interposer of coordinators' appends while a disk is slow or failing."""

    def take_append(self, topic: str, request: ProduceRequest, token: int) -> bool:
        """Queue an append for ``append_now`` or ``settled`` of :class:`CoordinatorHost`; False if it need not wait."""

    def count_append(self, size: int) -> bool:
        """Count an append of that size whose result nothing waits for; False if it fails."""

    def fail_stale(self, partition: str, leader_epoch: int) -> None:
        """Fail queued appends of other leader epochs of a partition; -1 stands for no leadership."""


class CoordinatorHost:
    """Coordinators hosted by one broker, and their access to its partitions."""

    __slots__ = ("_all", "_of_topic", "_port", "_purgatory", "_replicas", "_settle", "gate", "metadata", "states")

    def __init__(
        self,
        port: NodeContext,
        replicas: dict[str, Replica],
        purgatory: Purgatory,
        settle: Callable[[Replica], None],
        states: Mapping[str, PartitionState],
        metadata: BrokerMetadata,
    ) -> None:
        self._port = port
        self._replicas = replicas
        self._purgatory = purgatory
        self._settle = settle
        self.states = states
        """The broker's metadata cache, which its coordinators share."""
        self.metadata = metadata
        self.gate: AppendGate | None = None
        self._all: list[HostedCoordinator] = []
        self._of_topic: dict[str, HostedCoordinator] = {}

    def add(self, hosted_coordinator: HostedCoordinator) -> None:
        """Add a coordinator; called once, before the run."""
        self._all.append(hosted_coordinator)
        self._of_topic[hosted_coordinator.topic] = hosted_coordinator

    def takes(self, kind: type[Any]) -> bool:
        """Whether messages of a type are for one of the coordinators."""
        return any(kind in hosted_coordinator.handlers for hosted_coordinator in self._all)

    def of(self, topic: str) -> HostedCoordinator:
        """Return the coordinator of an internal topic."""
        return self._of_topic[topic]

    # -- access of coordinators to partitions
    # ---------------------------------------------------------------------------

    def append(
        self,
        topic: str,
        partition: str,
        names: tuple[str, ...],
        token: int,
        timeout_us: int,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        """Append a batch of records, ``KEY=VALUE`` each, with acks=all, for the coordinator of ``topic``.

        Its :meth:`HostedCoordinator.appended` is called with ``token``: when every in-sync replica has the batch, when
        leadership is lost, or after ``timeout_us``; or at once, before this returns, if the batch is rejected or the
        leader is the only replica in sync. Records of a ``transaction``, (producer id, epoch), take effect with its
        marker.
        """
        request = self._request(partition, names, ALL, timeout_us)
        if transaction is not None:
            request = request._replace(
                producer_id=transaction[0], producer_epoch=transaction[1], kind=TRANSACTIONAL
            )  # fmt: skip
        self.submit(topic, request, token)

    def submit(self, topic: str, request: ProduceRequest, token: int) -> None:
        """Append a prepared batch in the same way: a marker, or a batch of a transaction."""
        if self.gate is None or not self.gate.take_append(topic, request, token):
            self.append_now(topic, request, token)

    def append_now(self, topic: str, request: ProduceRequest, token: int) -> None:
        """Append to the log now."""
        hosted_coordinator = self._of_topic[topic]
        partition, timeout_us = request.partition, request.timeout_us
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            error = (
                missing_replica_error(partition, self.states) if replica is None else KafkaError.NOT_LEADER_OR_FOLLOWER
            )
            hosted_coordinator.appended(token, error, -1)
            return
        now = self._port.now
        written = leadership.append(now, request)
        if written.waits:
            place, epoch = self._all.index(hosted_coordinator), replica.leader_epoch
            delayed_request = DelayedProduce(LOCAL, token, partition, written.base, epoch, place, now + timeout_us)
            leadership.wait(written.required, self._purgatory.delay_produce(delayed_request))
        self._settle(replica)
        if not written.waits:
            hosted_coordinator.appended(token, written.error, written.base)

    def settled(self, topic: str, token: int, error: KafkaError) -> None:
        """Report an append that never reached the log."""
        self._of_topic[topic].appended(token, error, -1)

    def write(self, partition: str, names: tuple[str, ...]) -> bool:
        """Append a batch whose result nothing waits for, such as tombstones; False if this broker is not the leader."""
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            return False
        # acks=1, because clients' statistics count acks=0 batches as acknowledged, and this is no client's record.
        request = self._request(partition, names, 1, 0)
        if self.gate is not None and not self.gate.count_append(request.size):
            return False
        written = leadership.append(self._port.now, request)
        self._settle(replica)
        return not written.error

    def _request(self, partition: str, names: tuple[str, ...], acks: int, timeout_us: int) -> ProduceRequest:
        size = BATCH_OVERHEAD + sum([len(name.encode()) + _RECORD_OVERHEAD for name in names])
        client = topic_of(partition)
        return ProduceRequest(
            0, partition, acks, timeout_us, client, -1, -1, len(names), size, names, self._port.wall_now
        )  # fmt: skip

    def batches(self, partition: str) -> Iterator[tuple[Batch, list[tuple[int, str]]]]:
        """Yield every batch of a partition's log, markers included, with its remaining records as (offset, record)."""
        return batches_in(self._replicas[partition].log)

    def read(self, partition: str) -> Iterator[tuple[int, str]]:
        """Yield (offset, record) of a partition's whole log, to its end and beyond the high watermark.

        A new leader's high watermark may be lower than what its predecessor acknowledged; its log end offset is not
        (``GroupMetadataManager.doLoadGroupsAndOffsets``, ``TransactionStateManager.loadTransactionMetadata``).
        """
        for _batch, records in self.batches(partition):
            yield from records

    def is_open(self, partition: str, producer_id: int, epoch: int) -> bool:
        """Whether a producer's transaction in this epoch has written to a partition that this broker leads."""
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if leadership is None:
            return False
        producers = leadership.producers
        return (
            producer_id in producers.transactions.ongoing and producers.epoch_of(producer_id, self._port.now) == epoch
        )

    def producer_epoch(self, partition: str, producer_id: int) -> int:
        """Return the last epoch of a producer at a partition that this broker leads, -1 if it is unknown."""
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        return -1 if leadership is None else leadership.producers.epoch_of(producer_id, self._port.now)

    def producers(self, partition: str) -> tuple[KafkaError, tuple[tuple[int, int, int, int, int, int], ...]]:
        """Return the active producers of a partition's leader (``ReplicaManager.activeProducerState``)."""
        replica = self._replicas.get(partition)
        if replica is None:
            return missing_replica_error(partition, self.states), ()
        if replica.leadership is None:
            return KafkaError.NOT_LEADER_OR_FOLLOWER, ()
        return KafkaError.NONE, replica.leadership.producers.active(self._port.now)

    def size(self, partition: str) -> int:
        """Return the size of a partition's log in bytes."""
        return self._replicas[partition].log.segments.total

    def leader_epoch(self, partition: str) -> int:
        """Return the leader epoch in which this broker leads a partition; -1 if it does not lead it."""
        replica = self._replicas.get(partition)
        return -1 if replica is None or replica.leadership is None else replica.leader_epoch

    # -- notifications of coordinators
    # ----------------------------------------------------------------------------------

    def applied(self, replica: Replica) -> None:
        """Notify the partition's coordinator of an applied leadership change."""
        if self.gate is not None:
            self.gate.fail_stale(replica.partition, -1 if replica.leadership is None else replica.leader_epoch)
        hosted_coordinator = self._of_topic.get(topic_of(replica.partition))
        if hosted_coordinator is not None:
            if replica.leadership is None:
                hosted_coordinator.resigned(replica.partition)
            else:
                hosted_coordinator.leads(replica.partition, replica.leader_epoch)

    def retired(self, partition: str) -> None:
        """Notify the partition's coordinator that the replica is no longer leader and may be deleted."""
        if self.gate is not None:
            self.gate.fail_stale(partition, -1)
        hosted_coordinator = self._of_topic.get(topic_of(partition))
        if hosted_coordinator is not None:
            hosted_coordinator.resigned(partition)

    def appended(self, slot: int, token: int, error: KafkaError, base: int) -> None:
        """Notify a coordinator of the result of a delayed append."""
        self._all[slot].appended(token, error, -1 if error else base)

    def deleted(self, partition: str) -> None:
        """Notify all coordinators that the metadata cache lists a partition no longer."""
        for hosted_coordinator in self._all:
            hosted_coordinator.deleted(partition)

    def started(self) -> None:
        """Notify all coordinators that the process has registered."""
        for hosted_coordinator in self._all:
            hosted_coordinator.started()

    def stopped(self) -> None:
        """Notify all coordinators that the process died."""
        for hosted_coordinator in self._all:
            hosted_coordinator.stopped()

    def on_timer(self, timer: Payload) -> bool:
        """Pass a timer to the coordinator that owns it; False if none does."""
        return any(hosted_coordinator.on_timer(timer) for hosted_coordinator in self._all)

    def on_disconnect(self, peer: int) -> None:
        """Notify all coordinators of a broken connection to ``peer``."""
        for hosted_coordinator in self._all:
            hosted_coordinator.on_disconnect(peer)

    def save(self) -> tuple[Any, ...]:
        """Return every coordinator's state."""
        return tuple([hosted_coordinator.save() for hosted_coordinator in self._all])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        for hosted_coordinator, state in zip(self._all, saved, strict=True):
            hosted_coordinator.load(state)


# Producer ids that a broker assigns from blocks of a thousand (``ProducerIdManager``).


BLOCK: Final = 1_000
"""Number of ids in a block (``ProducerIdsBlock``)."""
_BROKERS: Final = 1_000
"""More than the largest broker id: blocks of different brokers never overlap."""


class ProducerIdManager:
    """One broker's block of producer ids; the process loses the rest of it when it ends, but not the block count.

    The controller's part is not modelled: the n-th block of a broker has a unique number and is always available.
    """

    __slots__ = ("_blocks", "_left", "_metadata", "_port")

    def __init__(self, port: NodeContext, metadata: BrokerMetadata) -> None:
        self._port = port
        self._metadata = metadata
        self._blocks = 0
        """Number of blocks that this broker has used."""
        self._left = 0
        """Unused ids of the current block."""

    def stopped(self) -> None:
        """Discard the rest of the block of a process that died."""
        self._left = 0

    def handle_init_producer_id(self, source: int, request: InitProducerIdRequest) -> None:
        """Handle InitProducerId without a transactional id: respond with a new id and epoch 0."""
        producer_id = self.generate()
        if producer_id < 0:
            error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
            self._port.send(source, InitProducerIdResponse(request.correlation_id, error, -1, -1))
            return
        self._port.send(source, InitProducerIdResponse(request.correlation_id, KafkaError.NONE, producer_id, 0))

    def generate(self) -> int:
        """Return a new producer id; -1 if the broker has just started and has no metadata yet."""
        if not self._metadata.live:
            return -1
        if not self._left:
            self._blocks += 1
            self._left = BLOCK
        block = (self._blocks - 1) * _BROKERS + self._port.node_id
        producer_id = (block + 1) * BLOCK - self._left
        self._left -= 1
        return producer_id

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self._blocks, self._left)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._blocks, self._left = saved
