"""What a broker's process hosts besides replicas: coordinators, whose state is an internal topic, and producer ids.

A tenant is told when its broker leads or leaves a partition of its topic, reads that partition's log to learn its
state, and writes to it through the broker's own leadership with acks=all (``ReplicaManager.appendRecords`` as the
coordinators call it). What befalls the process befalls its tenants.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.fetch.fetch_reads import absent
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.purgatory import ParkedProduce, Purgatory
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
"""``source`` of a parked append that a tenant waits for."""
BATCH_OVERHEAD: Final = 61
"""Bytes of a batch without its records (``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``)."""
_RECORD_OVERHEAD: Final = 9


def batches_in(log: ReplicaLog) -> Iterator[tuple[Batch, list[tuple[int, str]]]]:
    """Every batch of a log, markers included, with (offset, record) of what is left of it."""
    for _lineage, batch, _size, start, end in log.kept_between(log.log_start, log.leo):
        parts = log.left(start, end) if batch.name else ()  # Markers have none.
        yield batch, [(at, batch.name[at - batch.base]) for low, high in parts for at in range(low, high)]


TOLD_OF_APPEND: Final = {
    KafkaError.UNKNOWN_TOPIC_OR_PARTITION: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_OR_FOLLOWER: KafkaError.NOT_COORDINATOR,
    KafkaError.KAFKA_STORAGE_ERROR: KafkaError.NOT_COORDINATOR,
    KafkaError.MESSAGE_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
    KafkaError.RECORD_LIST_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
}
"""What the error of a tenant's append is to who asked for it; other errors stay as they are.

For transactions (``TransactionStateManager.appendTransactionToLog``) and for groups of the consumer protocol
(``GroupCoordinatorService.handleOperationException``); offsets have a rule of their own.
"""


class Tenant(Protocol):
    """A coordinator in a broker's process."""

    topic: str
    """The topic whose partitions are its state."""
    handlers: Handlers
    """Messages that are for it."""

    def started(self) -> None:
        """The process has registered."""

    def stopped(self) -> None:
        """The process died: memory is gone."""

    def on_timer(self, timer: Payload) -> bool:
        """Handle one of its timers; False if the timer is not its own."""

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke."""

    def leads(self, partition: str, leader_epoch: int) -> None:
        """The broker leads a partition of the topic from this epoch on, or goes on leading it in a newer one."""

    def resigned(self, partition: str) -> None:
        """The broker does not lead a partition of the topic, whether it did before or not."""

    def deleted(self, partition: str) -> None:
        """A partition of any topic is gone, as far as the broker has heard."""

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        """The last word on an append: NONE, the HW has passed it; else it may be in the log all the same."""

    def save(self) -> tuple[Any, ...]:
        """All state."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; replicas and parked appends are loaded by the broker."""


class Gate(Protocol):
    """What stands before the log while a disk is slow or broken."""

    def holds(self, topic: str, request: ProduceRequest, token: int) -> bool:
        """Take over an append, for :meth:`Tenants.append_now` or :meth:`Tenants.settled`; False if it may go on."""

    def spends(self, size: int) -> bool:
        """Count an append of that size that nobody waits for; False if it fails."""

    def lost(self, partition: str, leader_epoch: int) -> None:
        """Settle what was taken over in another leader epoch of a partition; -1 is none's."""


class Tenants:
    """The tenants of one broker, and what they may do with its partitions."""

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
        """The broker's metadata cache: tenants know of the cluster what it knows."""
        self.metadata = metadata
        self.gate: Gate | None = None
        self._all: list[Tenant] = []
        self._of_topic: dict[str, Tenant] = {}

    def add(self, tenant: Tenant) -> None:
        """Take one in; once, before anything happens."""
        self._all.append(tenant)
        self._of_topic[tenant.topic] = tenant

    def takes(self, kind: type[Any]) -> bool:
        """Whether messages of a type are for one of them."""
        return any(kind in tenant.handlers for tenant in self._all)

    def of(self, topic: str) -> Tenant:
        """The tenant of a topic, for whoever looks in from outside."""
        return self._of_topic[topic]

    # -- what a tenant may do ---------------------------------------------------------------------------------------

    def append(
        self,
        topic: str,
        partition: str,
        names: tuple[str, ...],
        token: int,
        timeout_us: int,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        """Write a batch of records, ``KEY=VALUE`` each, with acks=all, for the tenant of ``topic``.

        Its :meth:`Tenant.appended` gets ``token``: when every in-sync replica has the batch, leadership is lost, or
        ``timeout_us`` is over; or at once, before this returns, where it is refused or the leader is alone. What is
        part of a ``transaction``, (producer id, epoch), counts from its marker on.
        """
        request = self._request(partition, names, ALL, timeout_us)
        if transaction is not None:
            request = request._replace(
                producer_id=transaction[0], producer_epoch=transaction[1], kind=TRANSACTIONAL
            )  # fmt: skip
        self.submit(topic, request, token)

    def submit(self, topic: str, request: ProduceRequest, token: int) -> None:
        """Write a batch that needs more than names, a marker or what belongs to a transaction, likewise."""
        if self.gate is None or not self.gate.holds(topic, request, token):
            self.append_now(topic, request, token)

    def append_now(self, topic: str, request: ProduceRequest, token: int) -> None:
        """The append itself; whatever stood in its way is gone."""
        tenant = self._of_topic[topic]
        partition, timeout_us = request.partition, request.timeout_us
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            error = absent(partition, self.states) if replica is None else KafkaError.NOT_LEADER_OR_FOLLOWER
            tenant.appended(token, error, -1)
            return
        now = self._port.now
        written = leadership.append(now, request)
        if written.waits:
            place, epoch = self._all.index(tenant), replica.leader_epoch
            parked = ParkedProduce(LOCAL, token, partition, written.base, epoch, place, now + timeout_us)
            leadership.wait(written.required, self._purgatory.park_produce(parked))
        self._settle(replica)
        if not written.waits:
            tenant.appended(token, written.error, written.base)

    def settled(self, topic: str, token: int, error: KafkaError) -> None:
        """An append that never came to the log."""
        self._of_topic[topic].appended(token, error, -1)

    def write(self, partition: str, names: tuple[str, ...]) -> bool:
        """Write a batch that nobody waits for, as tombstones are; False if this broker does not lead the partition."""
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            return False
        # The clients' books count what was sent with acks=0 as acknowledged, so this says 1: it is nobody's record.
        request = self._request(partition, names, 1, 0)
        if self.gate is not None and not self.gate.spends(request.size):
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
        """Every batch that :meth:`read` reads, markers included, with (offset, record) of what is left of it."""
        return batches_in(self._replicas[partition].log)

    def read(self, partition: str) -> Iterator[tuple[int, str]]:
        """(offset, record) of all that the log of a partition holds, to its end and beyond the high watermark.

        A new leader's high watermark may be behind what its predecessor acknowledged; its log is not
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

    def producers(self, partition: str) -> tuple[KafkaError, tuple[tuple[int, int, int, int, int, int], ...]]:
        """The producers that a leader remembers, as it tells them (``ReplicaManager.activeProducerState``)."""
        replica = self._replicas.get(partition)
        if replica is None:
            return absent(partition, self.states), ()
        if replica.leadership is None:
            return KafkaError.NOT_LEADER_OR_FOLLOWER, ()
        return KafkaError.NONE, replica.leadership.producers.active(self._port.now)

    def size(self, partition: str) -> int:
        """Bytes of a partition's log."""
        return self._replicas[partition].log.segments.total

    def leader_epoch(self, partition: str) -> int:
        """In which this broker leads a partition; -1 while it does not."""
        replica = self._replicas.get(partition)
        return -1 if replica is None or replica.leadership is None else replica.leader_epoch

    # -- what tenants are told --------------------------------------------------------------------------------------

    def applied(self, replica: Replica) -> None:
        """A decision on a partition has been taken up."""
        if self.gate is not None:
            self.gate.lost(replica.partition, -1 if replica.leadership is None else replica.leader_epoch)
        tenant = self._of_topic.get(topic_of(replica.partition))
        if tenant is not None:
            if replica.leadership is None:
                tenant.resigned(replica.partition)
            else:
                tenant.leads(replica.partition, replica.leader_epoch)

    def retired(self, partition: str) -> None:
        """A replica leads no more, and may be gone."""
        if self.gate is not None:
            self.gate.lost(partition, -1)
        tenant = self._of_topic.get(topic_of(partition))
        if tenant is not None:
            tenant.resigned(partition)

    def appended(self, place: int, token: int, error: KafkaError, base: int) -> None:
        """An append that was waited for is settled."""
        self._all[place].appended(token, error, -1 if error else base)

    def deleted(self, partition: str) -> None:
        """The metadata cache lists a partition no longer."""
        for tenant in self._all:
            tenant.deleted(partition)

    def started(self) -> None:
        """The process has registered."""
        for tenant in self._all:
            tenant.started()

    def stopped(self) -> None:
        """The process died."""
        for tenant in self._all:
            tenant.stopped()

    def on_timer(self, timer: Payload) -> bool:
        """Hand a timer to whose it is; False if it is nobody's."""
        return any(tenant.on_timer(timer) for tenant in self._all)

    def on_disconnect(self, peer: int) -> None:
        """A connection to ``peer`` broke."""
        for tenant in self._all:
            tenant.on_disconnect(peer)

    def save(self) -> tuple[Any, ...]:
        """Every tenant's state."""
        return tuple([tenant.save() for tenant in self._all])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        for tenant, state in zip(self._all, saved, strict=True):
            tenant.load(state)


# Producer ids, as a broker gives them to who asks (``ProducerIdManager``): out of blocks of a thousand.


BLOCK: Final = 1_000
"""Ids of a block (``ProducerIdsBlock``)."""
_BROKERS: Final = 1_000
"""More than the largest broker id: blocks of different brokers never meet."""


class ProducerIds:
    """One broker's block. The rest of it is lost with the process; the count of blocks is the cluster's, and stays.

    The controller's part is taken for granted: the n-th block of a broker has a number of its own, and is there as
    soon as it is needed.
    """

    __slots__ = ("_blocks", "_left", "_metadata", "_port")

    def __init__(self, port: NodeContext, metadata: BrokerMetadata) -> None:
        self._port = port
        self._metadata = metadata
        self._blocks = 0
        """How many this broker has had."""
        self._left = 0
        """Ids of the newest that nobody has."""

    def stopped(self) -> None:
        """The process died."""
        self._left = 0

    def asked(self, source: int, request: InitProducerIdRequest) -> None:
        """InitProducerId without a transactional id: a new id, epoch 0."""
        producer_id = self.generate()
        if producer_id < 0:
            error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
            self._port.send(source, InitProducerIdResponse(request.correlation, error, -1, -1))
            return
        self._port.send(source, InitProducerIdResponse(request.correlation, KafkaError.NONE, producer_id, 0))

    def generate(self) -> int:
        """A new id, -1 if there is none: the broker has just started, and has been told nothing yet."""
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
        """All state."""
        return (self._blocks, self._left)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._blocks, self._left = saved
