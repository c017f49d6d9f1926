"""Where faults act on connections: limits, losses and breaks, by message size and by request or response.

Kafka's clients number their requests, and answers come in the order of the requests. A Java client to which an answer
comes twice finds no request in flight for it, or another one than the answer's number says (``InFlightRequests``,
``CorrelationIdMismatchException``). What it does then is here the same for every kind of node, client, broker and
controller: it closes the connection. So does ZooKeeper's client, by its own rule (``Xid out of order``), which a second
``ServerReply`` is thus handed to; it knows what to do with a second watch event or ping. What the servers of an
ensemble say to each other is a stream in both directions, of neither kind.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cluster_model.broker.fetch.replication_quota import slice_bytes
from cluster_model.controller.kraft import messages as kraft
from cluster_model.controller.raft import messages as raft
from cluster_model.controller.zookeeper import messages as zk_mode
from cluster_model.kernel.link import ANSWER, OTHER, REQUEST, STRICT_ANSWER, Measures, Shape
from cluster_model.kernel.network import Network
from cluster_model.log.batch_store import Lineages
from cluster_model.protocol import admin_messages as admin
from cluster_model.protocol import group_messages as groups
from cluster_model.protocol import messages as kafka
from cluster_model.protocol import transaction_messages
from cluster_model.protocol.messages import FetchResponse, ProduceRequest
from cluster_model.zookeeper import messages as zookeeper

QUESTIONS: Final[dict[type[Any], type[Any]]] = {
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
"""Each of Kafka's requests, with its response."""

KINDS: Final[dict[type[Any], int]] = {
    **dict.fromkeys(QUESTIONS, REQUEST),
    **dict.fromkeys(QUESTIONS.values(), STRICT_ANSWER),
    zookeeper.ConnectResponse: STRICT_ANSWER,
    zookeeper.ServerReply: ANSWER,
    zookeeper.WatchEvent: ANSWER,
    zookeeper.ClientPong: ANSWER,
    zookeeper.ConnectionClosed: ANSWER,
}
"""What a message is to a connection. Whatever a ZooKeeper server sends a client keeps its order, watches and all."""


def kind_of(message: Any) -> int:
    """One of the kinds of :mod:`cluster_model.kernel.link`."""
    return KINDS.get(type(message), OTHER)


# The size of a message on the wire, as far as limited throughput and lost packets need it.


ENVELOPE: Final = 100
"""Bytes of every message: its header, and what it says without any lists; those of TCP and IP among them."""
ENTRY: Final = 40
"""Bytes of every entry in a list of a message: a partition with its numbers, a member, a node."""


def size_of(message: Any, lineages: Mapping[str, Lineages]) -> int:
    """Bytes, an estimate: those of the batches in it are exact, the rest is :data:`ENVELOPE` and :data:`ENTRY`.

    ``lineages`` know how large batches are, by partition.
    """
    if type(message) is ProduceRequest:
        return ENVELOPE + ENTRY + message.size
    size = ENVELOPE
    if type(message) is FetchResponse:
        for data in message.partitions:
            size += ENTRY
            if data.records.end > data.records.start:
                size += slice_bytes(lineages[data.partition], data.records)
        return size
    if isinstance(message, tuple):
        size += ENTRY * sum([len(part) for part in message if type(part) is tuple])
    return size


# Faults of a cluster's connections: limits, losses, late responses, breaks.
#
# It stands for network cards, routers, firewalls, proxies and the systems of both ends. A link goes by (source,
# target); where a process has more than one client, all of them are meant.


Pair = tuple[int, int]


class Wiring:
    """The facade's way to links."""

    __slots__ = ("_network", "_together")

    def __init__(
        self, network: Network, together: Callable[[int], tuple[int, ...]], lineages: Mapping[str, Lineages]
    ) -> None:
        """``together`` are the nodes of a process, given one of them."""
        self._network = network
        self._together = together
        network.troubles.measures = Measures(lambda message: size_of(message, lineages), kind_of)

    def shape(self, source: int, target: int, fault: int, shape: Shape) -> None:
        """Let a fault do this to one direction, until it is lifted; a process has one network card for all clients."""
        if shape.cards:
            shape = shape._replace(sender=source, receiver=target)
        for one, other in self.links(source, target):
            self._network.troubles.shape(one, other, fault, shape)

    def lift(self, fault: int) -> None:
        """Undo of all that a fault did by :meth:`shape`; what waits in a line of its own goes on at once."""
        self._network.troubles.lift(fault)

    def sever(self, pairs: Iterable[Pair]) -> int:
        """Break the connections between these processes; between how many there was one."""
        return sum(self._network.troubles.sever(one, other) for one, other in self._between(pairs))

    def connected(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Those of these pairs between which there is a connection now."""
        stands = self._network.standing
        return [(one, other) for one, other in self._between(pairs) if stands(one, other) or stands(other, one)]

    def _between(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Both directions are one connection."""
        found: dict[Pair, None] = {}
        for source, target in pairs:
            for one, other in self.links(source, target):
                if (other, one) not in found:
                    found[one, other] = None
        return list(found)

    def links(self, source: int, target: int) -> list[Pair]:
        """The links between two processes: an application may have more than one client."""
        return [(one, other) for one in self._together(source) for other in self._together(target)]
