"""Fault points of brokers, connections and clients."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import FetcherDelay
from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.storage.disk import FAILED, FULL, READ_ONLY, DiskFailure, DiskSlowdown
from cluster_model.broker.storage.log_manager import batch_to_damage, damage
from cluster_model.client_factory import ClientContext
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.consumer.record_handler import WHOLE, HandlerFault
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.workload import NORMAL_PPM
from cluster_model.controller.kraft import messages as kraft
from cluster_model.controller.raft import messages as raft
from cluster_model.controller.zookeeper import messages as zk_mode
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.link import OTHER, REQUEST, RESPONSE, STRICT_RESPONSE, LinkCondition, MessageMeasures
from cluster_model.kernel.network import Network
from cluster_model.kernel.process import Node, ProcessState
from cluster_model.kernel.wall_clocks import ClockedNode
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol import admin_messages as admin
from cluster_model.protocol import group_messages as groups
from cluster_model.protocol import messages as kafka
from cluster_model.protocol import transaction_messages
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.messages import FetchResponse, Message, ProduceRequest, ProduceResponse
from cluster_model.protocol.records import Batch
from cluster_model.zookeeper import messages as zookeeper

# Fault points of a broker: its disk, batches of its logs, its threads.


class DiskFaultpoints:
    """Disk faults of all brokers; each broker has one disk with one log directory."""

    __slots__ = ("_brokers", "_lose", "_network")

    def __init__(self, network: Network, brokers: Mapping[int, Broker], lose: Callable[[int], None]) -> None:
        """Keep the brokers; ``lose`` removes a broker's log directory and halts its process."""
        self._network = network
        self._brokers = brokers
        self._lose = lose

    def slow(self, node: int, fault: int, throughput: int, latency_us: int) -> None:
        """Slow every write of a broker: ``throughput`` bytes per second, plus ``latency_us`` for each write."""
        self._network.wake_exchanges(node)
        self._brokers[node].disk.slow[fault] = DiskSlowdown(throughput, latency_us)
        self._brokers[node].append_queue.changed()

    def fill(self, node: int, fault: int, free: int) -> None:
        """Fill a broker's disk up to ``free`` bytes. What the broker deletes later frees space again."""
        broker = self._brokers[node]
        self._refuse(node, fault, DiskFailure(FULL, broker.logs.disk_bytes + free))

    def make_read_only(self, node: int, fault: int) -> None:
        """Make a broker's disk read-only: no writes, creations, renames or deletions; reads work."""
        self._refuse(node, fault, DiskFailure(READ_ONLY))

    def fail(self, node: int, fault: int, *, lost: bool) -> None:
        """Make every disk access fail; a running broker notices at once. ``lost``: the disk's contents are lost."""
        self._refuse(node, fault, DiskFailure(FAILED))
        broker = self._brokers[node]
        state = self._network.processes[node].state
        if lost:
            self._lose(node)
            broker.disk.halted = broker.disk.halted or state in (ProcessState.RUNNING, ProcessState.PAUSED)
        elif state is ProcessState.RUNNING:
            broker.append_queue.halt(FAILED)

    def _refuse(self, node: int, fault: int, failure: DiskFailure) -> None:
        self._network.wake_exchanges(node)
        self._brokers[node].disk.broken[fault] = failure
        self._brokers[node].append_queue.changed()

    def heal(self, node: int, fault: int) -> None:
        """Remove what that fault did to the disk."""
        self._network.wake_exchanges(node)
        self._brokers[node].disk.heal(fault)
        self._brokers[node].append_queue.changed()

    def halted(self, node: int) -> bool:
        """Whether the broker's last process ended, or is about to, because of its disk, and the disk works again."""
        disk = self._brokers[node].disk
        return disk.halted and not disk.broken

    def start_again(self, node: int) -> None:
        """Restart a process that is about to end as soon as it has ended."""
        self._brokers[node].disk.again = True

    def starts_again(self, node: int) -> bool:
        """Whether a process that has just ended is to be restarted at once."""
        return node in self._brokers and self._brokers[node].disk.again


# Faults inside a broker: damaged batches on its disk, a disk that loses writes, busy threads.
#
# They stand for the hardware, and for what else runs on the machine. A broker gets no message about them: it detects
# them, or does not.


class BrokerFaultpoints:
    """Faults inside brokers. It has no state: disks and threads keep lasting faults, by fault number."""

    __slots__ = ("_brokers", "_network")

    def __init__(self, brokers: Mapping[int, Broker], network: Network) -> None:
        self._brokers = brokers
        self._network = network

    def _replica(self, node: int, partition: str) -> Replica:
        replica = self._brokers[node].replicas.get(partition)
        if replica is None:
            raise ModelError(f"broker {node} holds no replica of {partition}", code="no_replica")
        return replica

    def batch_at(self, node: int, partition: str, offset: int) -> Batch | None:
        """Return the batch that :meth:`damage` would corrupt, None if there is none.

        Raises:
            ModelError: the broker has no replica of the partition.
        """
        return batch_to_damage(self._replica(node, partition), offset)

    def damage(self, node: int, partition: str, offset: int, kind: str) -> None:
        """Flip bits of the stored batch that holds ``offset``; -1 is the last batch below the high watermark.

        ``kind`` is one of ``protocol.records.KINDS``.

        Raises:
            ModelError: the broker has no replica of the partition.
        """
        replica = self._replica(node, partition)
        damage(replica, offset, kind, self._network.kernel.now)
        self._brokers[node].complete_delayed(replica)

    def lose_writes(self, node: int, fault: int) -> None:
        """Lose everything that a broker writes or flushes from here on, although the disk reports success."""
        broker = self._brokers[node]
        broker.logs.cache.start_losing_writes(
            fault, broker.replicas, self._network.kernel.now, marker=broker.logs.marker
        )

    def keep_writes(self, node: int, fault: int) -> None:
        """Remove that fault's :meth:`lose_writes`."""
        self._brokers[node].logs.cache.stop_losing_writes(fault, self._network.kernel.now)

    def slow_fetchers(self, node: int, fault: int, busy: FetcherDelay) -> None:
        """Delay the handling of every fetch response by a broker's replica fetcher threads."""
        self._network.wake_exchanges(node)
        self._brokers[node].slowed[fault] = busy

    def quicken_fetchers(self, node: int, fault: int) -> None:
        """Remove that fault's :meth:`slow_fetchers`; a response that is being handled still takes its old time."""
        self._network.wake_exchanges(node)
        self._brokers[node].slowed.pop(fault, None)


# Fault points of connections: limits, losses and breaks, by message size and by request or response.
#
# Kafka's clients number their requests, and responses come in the order of the requests. A Java client that receives a
# response twice finds no request in flight for it, or one with another correlation id (``InFlightRequests``,
# ``CorrelationIdMismatchException``). Here every kind of node (client, broker, controller) then does the same: it
# closes the connection. ZooKeeper's client does so too, by its own rule (``Xid out of order``); a second
# ``ServerReply`` is therefore delivered to it. It ignores a second watch event or ping. Messages between the servers of
# an ensemble are a stream in both directions, of neither kind.


RESPONSE_OF: Final[dict[type[Any], type[Any]]] = {
    kafka.ProduceRequest: kafka.ProduceResponse,
    kafka.InitProducerIdRequest: kafka.InitProducerIdResponse,
    kafka.FetchRequest: kafka.FetchResponse,
    kafka.EpochEndRequest: kafka.EpochEndResponse,
    kafka.ListOffsetsRequest: kafka.ListOffsetsResponse,
    kafka.ApiVersionsRequest: kafka.ApiVersionsResponse,
    kafka.MetadataRequest: kafka.MetadataResponse,
    kafka.DeleteRecordsRequest: kafka.DeleteRecordsResponse,
    kafka.AlterPartitionRequest: kafka.AlterPartitionResponse,
    groups.FindCoordinatorRequest: groups.FindCoordinatorResponse,
    groups.JoinGroupRequest: groups.JoinGroupResponse,
    groups.SyncGroupRequest: groups.SyncGroupResponse,
    groups.HeartbeatRequest: groups.HeartbeatResponse,
    groups.LeaveGroupRequest: groups.LeaveGroupResponse,
    groups.OffsetCommitRequest: groups.OffsetCommitResponse,
    groups.TxnOffsetCommitRequest: groups.TxnOffsetCommitResponse,
    groups.OffsetFetchRequest: groups.OffsetFetchResponse,
    groups.DescribeGroupsRequest: groups.DescribeGroupsResponse,
    groups.ListGroupsRequest: groups.ListGroupsResponse,
    groups.DeleteGroupsRequest: groups.DeleteGroupsResponse,
    groups.OffsetDeleteRequest: groups.OffsetDeleteResponse,
    groups.ConsumerGroupHeartbeatRequest: groups.ConsumerGroupHeartbeatResponse,
    groups.ConsumerGroupDescribeRequest: groups.ConsumerGroupDescribeResponse,
    transaction_messages.AddPartitionsToTxnRequest: transaction_messages.AddPartitionsToTxnResponse,
    transaction_messages.AddOffsetsToTxnRequest: transaction_messages.AddOffsetsToTxnResponse,
    transaction_messages.EndTxnRequest: transaction_messages.EndTxnResponse,
    transaction_messages.WriteTxnMarkersRequest: transaction_messages.WriteTxnMarkersResponse,
    transaction_messages.ListTransactionsRequest: transaction_messages.ListTransactionsResponse,
    transaction_messages.DescribeTransactionsRequest: transaction_messages.DescribeTransactionsResponse,
    transaction_messages.DescribeProducersRequest: transaction_messages.DescribeProducersResponse,
    admin.CreateTopicsRequest: admin.CreateTopicsResponse,
    admin.DeleteTopicsRequest: admin.DeleteTopicsResponse,
    admin.CreatePartitionsRequest: admin.CreatePartitionsResponse,
    admin.AlterPartitionReassignmentsRequest: admin.AlterPartitionReassignmentsResponse,
    admin.ListPartitionReassignmentsRequest: admin.ListPartitionReassignmentsResponse,
    admin.ElectLeadersRequest: admin.ElectLeadersResponse,
    admin.IncrementalAlterConfigsRequest: admin.IncrementalAlterConfigsResponse,
    admin.DescribeConfigsRequest: admin.DescribeConfigsResponse,
    admin.UnregisterBrokerRequest: admin.UnregisterBrokerResponse,
    admin.UpdateFeaturesRequest: admin.UpdateFeaturesResponse,
    admin.DescribeQuorumRequest: admin.DescribeQuorumResponse,
    admin.DescribeClusterRequest: admin.DescribeClusterResponse,
    admin.EnvelopeRequest: admin.EnvelopeResponse,
    zk_mode.LeaderAndIsrRequest: zk_mode.LeaderAndIsrResponse,
    zk_mode.UpdateMetadataRequest: zk_mode.UpdateMetadataResponse,
    zk_mode.StopReplicaRequest: zk_mode.StopReplicaResponse,
    zk_mode.ControlledShutdownRequest: zk_mode.ControlledShutdownResponse,
    zk_mode.AlterPartitionsRequest: zk_mode.AlterPartitionsResponse,
    kraft.BrokerRegistrationRequest: kraft.BrokerRegistrationResponse,
    kraft.BrokerHeartbeatRequest: kraft.BrokerHeartbeatResponse,
    kraft.AlterPartitionBatchRequest: kraft.AlterPartitionBatchResponse,
    raft.VoteRequest: raft.VoteResponse,
    raft.BeginQuorumEpochRequest: raft.BeginQuorumEpochResponse,
    raft.EndQuorumEpochRequest: raft.EndQuorumEpochResponse,
    raft.QuorumFetchRequest: raft.QuorumFetchResponse,
}
"""Each Kafka request type with its response type."""

MESSAGE_KINDS: Final[dict[type[Any], int]] = {
    **dict.fromkeys(RESPONSE_OF, REQUEST),
    **dict.fromkeys(RESPONSE_OF.values(), STRICT_RESPONSE),
    zookeeper.ConnectResponse: STRICT_RESPONSE,
    zookeeper.ServerReply: RESPONSE,
    zookeeper.WatchEvent: RESPONSE,
    zookeeper.ClientPong: RESPONSE,
    zookeeper.ConnectionClosed: RESPONSE,
}
"""Kind of each message type on a connection. All messages of a ZooKeeper server to a client keep their order."""


def kind_of(message: Any) -> int:
    """Return the kind of a message, one of the kinds of :mod:`cluster_model.kernel.link`."""
    return MESSAGE_KINDS.get(type(message), OTHER)


# Sizes of messages on the wire, as needed for limited throughput and lost packets.


ENVELOPE: Final = 100
"""Bytes of every message without its lists: headers of Kafka, TCP and IP, and scalar fields."""
ENTRY: Final = 40
"""Bytes of every list entry in a message: a partition with its numbers, a member, a node."""


def size_of(message: Any, epoch_branches: Mapping[str, BatchStore]) -> int:
    """Return the estimated size in bytes: batches are exact, the rest counts :data:`ENVELOPE` and :data:`ENTRY`.

    ``epoch_branches`` hold the batch sizes, by partition.
    """
    if type(message) is ProduceRequest:
        return ENVELOPE + ENTRY + message.size
    size = ENVELOPE
    if type(message) is FetchResponse:
        for data in message.partitions:
            size += ENTRY
            if data.records.end > data.records.start:
                size += slice_bytes(epoch_branches[data.partition], data.records)
        return size
    if isinstance(message, tuple):
        size += ENTRY * sum([len(part) for part in message if type(part) is tuple])
    return size


# Faults of a cluster's connections: limits, losses, late responses, breaks.
#
# They stand for network cards, routers, firewalls, proxies and the systems of both ends. A link is named by (source,
# target); where a process has more than one client, the fault affects all of them.


Pair = tuple[int, int]


class LinkFaultpoints:
    """Link faults between processes, applied to the links of all their nodes."""

    __slots__ = ("_network", "_together")

    def __init__(
        self, network: Network, together: Callable[[int], tuple[int, ...]], epoch_branches: Mapping[str, BatchStore]
    ) -> None:
        """Set up message sizes and kinds; ``together`` returns all nodes of the process of a given node."""
        self._network = network
        self._together = together
        network.link_faults.measures = MessageMeasures(lambda message: size_of(message, epoch_branches), kind_of)

    def shape(self, source: int, target: int, fault: int, shape: LinkCondition) -> None:
        """Apply a fault's link condition to one direction until it is lifted; a process has one network card."""
        if shape.cards:
            shape = shape._replace(sender=source, receiver=target)
        for one, other in self.links(source, target):
            self._network.link_faults.shape(one, other, fault, shape)

    def lift(self, fault: int) -> None:
        """Remove all link conditions of a fault; messages queued by it continue at once."""
        self._network.link_faults.lift(fault)

    def sever(self, pairs: Iterable[Pair]) -> int:
        """Break the connections between these processes; returns how many connections existed."""
        return sum(self._network.link_faults.sever(one, other) for one, other in self._between(pairs))

    def connected(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return those of these pairs that have a connection now."""
        is_used = self._network.is_connected
        return [
            (source, target)
            for source, target in self._between(pairs)
            if is_used(source, target) or is_used(target, source)
        ]

    def _between(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Return each connection once; both directions are one connection."""
        severed: dict[Pair, None] = {}
        for source, target in pairs:
            for sender, receiver in self.links(source, target):
                if (receiver, sender) not in severed:
                    severed[sender, receiver] = None
        return list(severed)

    def links(self, source: int, target: int) -> list[Pair]:
        """Return the links between two processes; an application may have more than one client."""
        return [(one, other) for one in self._together(source) for other in self._together(target)]


# Fault points of clients: their applications, their connections, and lost responses.
#
# None of these faults is in a client's own memory: they outlast a process and apply to the next one. Several faults of
# one client add up. The exception is a pause of partitions (``Consumer.pause``): it is the consumer's own state and
# ends with it.


# Responses to a producer that are lost on the way.
#
# The leader has appended the batch and sent its response. A middlebox that resets the connection then drops the
# response: all the producer sees is a broken connection. Other requests on it are in the same situation: their outcome
# is unknown, and their responses are dropped.


class PendingResponses(Protocol):
    """The part of a producer that lost responses need."""

    def is_in_flight(self, number: int) -> bool:
        """Whether the response to that message is still pending."""
        ...


class LostResponses:
    """Wrapper of a producer's node that loses some produce responses and passes everything else on."""

    def __init__(self, node: Node, producer: PendingResponses, loses: Callable[[str], bool]) -> None:
        """Wrap ``node``; ``loses`` decides whether the response for a partition is lost, once for each response."""
        self._node = node
        self._producer = producer
        self._loses = loses

    def receive(self, source: int, message: Message) -> None:
        """Handle a message, or its loss."""
        if (
            isinstance(message, ProduceResponse)
            and not message.error
            and self._producer.is_in_flight(message.correlation_id)
            and self._loses(message.partition)
        ):
            self._node.on_disconnect(source)
        else:
            self._node.receive(source, message)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        self._node.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection."""
        self._node.on_disconnect(peer)

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a change of the machine's clock."""
        if isinstance(self._node, ClockedNode):
            self._node.clock_stepped(by, runs=runs)


STALL: Final = "stall"
SLOW: Final = "slow"
TROUBLE: Final = "trouble"
PACE: Final = "pace"
HEAT: Final = "heat"
LOST: Final = "lost"
INSTANCE: Final = "instance"
CLIENT_FAULT_KINDS: Final = (STALL, SLOW, TROUBLE, PACE, HEAT, LOST, INSTANCE)


class ClientFaults:
    """Faults of all clients, by node."""

    def __init__(
        self,
        context: ClientContext,
        names: dict[int, str],
        producers: dict[str, Producer],
        consumers: dict[str, Consumer],
    ) -> None:
        """Keep the tables of :class:`~cluster_model.process_control.ClientProcesses`."""
        self._context = context
        self._names = names
        self._producers = producers
        self._consumers = consumers
        self._active: dict[tuple[str, int], tuple[tuple[Any, ...], ...]] = {}
        """(kind, node) → (fault number, its parameters) of each fault, in the order of injection."""

    def _apply(self, kind: str, node: int, fault: int, *parameters: Any) -> None:
        kept = [each for each in self._active.get((kind, node), ()) if each[0] != fault]
        self._active[kind, node] = (*kept, (fault, *parameters))
        self.apply(node)

    def _of(self, kind: str, node: int) -> tuple[tuple[Any, ...], ...]:
        return self._active.get((kind, node), ())

    def lift(self, node: int, fault: int) -> None:
        """Remove everything that a fault applied to a client."""
        for kind in CLIENT_FAULT_KINDS:
            left = tuple([each for each in self._of(kind, node) if each[0] != fault])
            if left:
                self._active[kind, node] = left
            else:
                self._active.pop((kind, node), None)
        self.apply(node)

    # -- consumers -------------------------------------------------------------------------------------------------

    def stall(self, node: int, fault: int, more_us: int) -> None:
        """Delay a consumer's application by ``more_us`` for the records of every poll."""
        self._apply(STALL, node, fault, more_us)

    def slow(self, node: int, fault: int, more_us: int, factor_ppm: int) -> None:
        """Scale the processing time of every record by ``factor_ppm`` millionths and add ``more_us``."""
        self._apply(SLOW, node, fault, more_us, factor_ppm)

    def fail(self, node: int, fault: int, trouble: HandlerFault) -> None:
        """Make a consumer's record handler fail."""
        self._apply(TROUBLE, node, fault, *trouble)

    def pause(self, node: int, fault: int) -> None:
        """Make a consumer's application pause its currently assigned partitions."""
        self._consumers[self._names[node]].pause(fault)

    def resume(self, node: int, fault: int) -> None:
        """Make a consumer resume those partitions of the pause that it still has."""
        self._consumers[self._names[node]].resume(fault)

    def claim(self, node: int, fault: int, instance: str) -> None:
        """Give the next processes of a member another ``group.instance.id``."""
        self._apply(INSTANCE, node, fault, instance)

    def instance(self, node: int) -> str:
        """Return the ``group.instance.id`` that a fault gives a member's next process, empty for its own."""
        claimed = self._of(INSTANCE, node)
        return str(claimed[-1][1]) if claimed else ""

    # -- producers -------------------------------------------------------------------------------------------------

    def pace(self, node: int, fault: int, ppm: int) -> None:
        """Scale the record rate of a producer's application to ``ppm`` millionths."""
        self._apply(PACE, node, fault, ppm)

    def heat(self, node: int, fault: int, key: int, share_ppm: int) -> None:
        """Give one key this share of a producer's records; only where :attr:`Producer.keyed`."""
        self._apply(HEAT, node, fault, key, share_ppm)

    def lose_acks(self, node: int, fault: int, count: int, partition: str = "") -> None:
        """Lose the next ``count`` responses to a producer, of all partitions if ``partition`` is empty."""
        self._apply(LOST, node, fault, count, partition)

    def acks_to_lose(self, node: int, fault: int) -> int:
        """Return how many more responses that fault will lose."""
        return sum(int(left) for each, left, _partition in self._of(LOST, node) if each == fault)

    def _loses(self, node: int, partition: str) -> bool:
        entries = self._of(LOST, node)
        for index, (fault, left, only) in enumerate(entries):
            if left and only in ("", partition):
                self._active[LOST, node] = (*entries[:index], (fault, left - 1, only), *entries[index + 1 :])
                return True
        return False

    # -- applying faults to the current processes ---------------------------------------------------------------------

    def apply(self, node: int) -> None:
        """Apply all active faults of a client to its current process."""
        name = self._names[node]
        if name in self._consumers:
            self._update_consumer(node, self._consumers[name])
        else:
            self._update_producer(node, self._producers[name])

    def _update_consumer(self, node: int, consumer: Consumer) -> None:
        handling = consumer.handling
        handling.stall_us = sum(more for _fault, more in self._of(STALL, node))
        handling.slower_us = sum(more for _fault, more, _factor in self._of(SLOW, node))
        factor = WHOLE
        for _fault, _more, each in self._of(SLOW, node):
            factor = factor * each // WHOLE
        handling.factor_ppm = factor
        handling.faults = tuple([HandlerFault(*each) for _fault, *each in self._of(TROUBLE, node)])

    def _update_producer(self, node: int, producer: Producer) -> None:
        ppm = NORMAL_PPM
        for _fault, each in self._of(PACE, node):
            ppm = ppm * each // NORMAL_PPM
        producer.pace(ppm)
        producer.set_hot_keys(tuple([(key, share) for _fault, key, share in self._of(HEAT, node)]))
        self.wrap_node(node)

    def wrap_node(self, node: int) -> None:
        """Wrap the process on a producer's node if responses to it are to be lost."""
        process = self._context.network.processes[node]
        if self._of(LOST, node) and not isinstance(process.node, LostResponses):
            producer = self._producers[self._names[node]]
            process.run(LostResponses(process.node, producer, lambda partition: self._loses(node, partition)))

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return tuple(self._active.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; call :meth:`apply` for each client after it is loaded."""
        self._active = dict(saved)
