"""Which messages are questions, and which are answers to them: what a proxy or a slow answerer tells apart.

Kafka's clients number their requests, and answers come in the order of the requests. A Java client to which an answer
comes twice finds no request in flight for it, or another one than the answer's number says (``InFlightRequests``,
``CorrelationIdMismatchException``). What it does then is here the same for every kind of node, client, broker and
controller: it closes the connection. So does ZooKeeper's client, by its own rule (``Xid out of order``), which a second
``Reply`` is thus handed to; it knows what to do with a second watch event or ping. What the servers of an ensemble say
to each other is a stream in both directions, of neither kind.
"""

from typing import Any, Final

from cluster_model.controller.kraft import messages as kraft
from cluster_model.controller.raft import messages as raft
from cluster_model.controller.zookeeper import messages as zk_mode
from cluster_model.kernel.shapes import ANSWER, OTHER, REQUEST, STRICT_ANSWER
from cluster_model.protocol import admin_messages as admin
from cluster_model.protocol import admin_messages_part
from cluster_model.protocol import group_messages as groups
from cluster_model.protocol import messages as kafka
from cluster_model.protocol import messages_part as modern
from cluster_model.protocol import transaction_messages as transactions
from cluster_model.zookeeper import messages as zookeeper

QUESTIONS: Final[dict[type[Any], type[Any]]] = {
    kafka.ProduceRequest: kafka.ProduceResponse,
    kafka.InitProducerIdRequest: kafka.InitProducerIdResponse,
    kafka.FetchRequest: kafka.FetchResponse,
    kafka.EpochEndRequest: kafka.EpochEndResponse,
    kafka.ListOffsetsRequest: kafka.ListOffsetsResponse,
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
    modern.ConsumerGroupHeartbeatRequest: modern.ConsumerGroupHeartbeatResponse,
    modern.ConsumerGroupDescribeRequest: modern.ConsumerGroupDescribeResponse,
    transactions.AddPartitionsToTxnRequest: transactions.AddPartitionsToTxnResponse,
    transactions.AddOffsetsToTxnRequest: transactions.AddOffsetsToTxnResponse,
    transactions.EndTxnRequest: transactions.EndTxnResponse,
    transactions.WriteTxnMarkersRequest: transactions.WriteTxnMarkersResponse,
    admin_messages_part.ListTransactionsRequest: admin_messages_part.ListTransactionsResponse,
    admin_messages_part.DescribeTransactionsRequest: admin_messages_part.DescribeTransactionsResponse,
    admin_messages_part.DescribeProducersRequest: admin_messages_part.DescribeProducersResponse,
    admin.CreateTopicsRequest: admin.CreateTopicsResponse,
    admin.DeleteTopicsRequest: admin.DeleteTopicsResponse,
    admin.CreatePartitionsRequest: admin.CreatePartitionsResponse,
    admin.AlterPartitionReassignmentsRequest: admin.AlterPartitionReassignmentsResponse,
    admin.ListPartitionReassignmentsRequest: admin.ListPartitionReassignmentsResponse,
    admin.ElectLeadersRequest: admin.ElectLeadersResponse,
    admin.IncrementalAlterConfigsRequest: admin.IncrementalAlterConfigsResponse,
    admin.UnregisterBrokerRequest: admin.UnregisterBrokerResponse,
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
    zookeeper.Reply: ANSWER,
    zookeeper.WatchEvent: ANSWER,
    zookeeper.ClientPong: ANSWER,
    zookeeper.Closed: ANSWER,
}
"""What a message is to a connection. Whatever a ZooKeeper server sends a client keeps its order, watches and all."""


def kind_of(message: Any) -> int:
    """One of the kinds of :mod:`cluster_model.kernel.shapes`."""
    return KINDS.get(type(message), OTHER)
