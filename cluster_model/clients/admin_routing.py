"""Whom an administrator's request goes to, and which answers only mean that it was the wrong one to ask.

A request about a group or a transactional id goes to its coordinator, which any broker names (``CoordinatorStrategy``);
one about a partition's records or producers to its leader (``PartitionLeaderStrategy``); groups and transactional ids
are listed by each broker for itself; all else is the controller's.
"""

from typing import Any, Final, NamedTuple

from cluster_model.protocol.admin_messages import AdminRequest, AdminResponse, refusal
from cluster_model.protocol.admin_messages_part import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from cluster_model.protocol.admin_words import entries_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    TRANSACTION,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.protocol.messages import (
    NOBODY,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)
from cluster_model.protocol.transaction_messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse

_CONTROL_RETRIED: Final = (
    KafkaError.NOT_CONTROLLER, KafkaError.NOT_LEADER_OR_FOLLOWER, KafkaError.LEADER_NOT_AVAILABLE,
)  # fmt: skip
"""Answers that mean: somebody else by now ..."""
_LEADER_RETRIED: Final = (*_CONTROL_RETRIED, KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
"""... or nobody yet (``DescribeProducersHandler``, ``AbortTransactionHandler``) ..."""
_LIST_RETRIED: Final = (
    *_LEADER_RETRIED, KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH,
)  # fmt: skip
"""... or not yet (``ListOffsetsHandler``) ..."""
_GROUP_RETRIED: Final = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR,
)  # fmt: skip
"""... and so do these of a coordinator; all but the first have it looked for anew."""


class Describe(NamedTuple):
    """What the tools ask first: metadata, no older than this question. Answered with a :class:`MetadataResponse`."""

    correlation: int


class AtBroker(NamedTuple):
    """A request that is for one broker."""

    correlation: int
    broker: int
    request: ListGroupsRequest | ListTransactionsRequest


GroupRequest = (
    DescribeGroupsRequest | OffsetFetchRequest | OffsetCommitRequest | DeleteGroupsRequest | OffsetDeleteRequest
)
"""What a group's coordinator answers; those that could name several groups name one."""

LeaderRequest = DeleteRecordsRequest | ListOffsetsRequest | DescribeProducersRequest | WriteTxnMarkersRequest
"""What a partition's leader answers; markers are for one partition."""

Request = (
    AdminRequest
    | GroupRequest
    | LeaderRequest
    | DescribeTransactionsRequest
    | FindCoordinatorRequest
    | AtBroker
    | Describe
)
Answer = (
    AdminResponse
    | DescribeGroupsResponse
    | OffsetFetchResponse
    | OffsetCommitResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
    | DeleteRecordsResponse
    | ListOffsetsResponse
    | FindCoordinatorResponse
    | ListGroupsResponse
    | ListTransactionsResponse
    | DescribeTransactionsResponse
    | DescribeProducersResponse
    | WriteTxnMarkersResponse
    | MetadataResponse
)
"""Of a :class:`Describe` that nobody answered in time: metadata without brokers."""


def group_of(request: Request) -> str | None:
    """The group whose coordinator is to be asked, None where it is somebody else."""
    if isinstance(request, (DescribeGroupsRequest, DeleteGroupsRequest)):
        return request.groups[0]
    if isinstance(request, (OffsetFetchRequest, OffsetCommitRequest, OffsetDeleteRequest)):
        return request.group_id
    return None


def finder_of(request: Request) -> FindCoordinatorRequest | None:
    """The question for the coordinator that is to be asked, None where it is somebody else."""
    if isinstance(request, DescribeTransactionsRequest):
        return FindCoordinatorRequest(0, request.transactional_id, TRANSACTION)
    group = group_of(request)
    return None if group is None else FindCoordinatorRequest(0, group)


def target_of(request: Request, known: MetadataResponse) -> int:
    """Who is to be asked by what a broker's metadata says, NOBODY where that names none.

    Not for what a coordinator answers, nor for what any broker does.
    """
    if isinstance(request, LeaderRequest):
        wanted = request.marker.partitions[0] if isinstance(request, WriteTxnMarkersRequest) else request.partition
        return next((state.leader for state in known.partitions if state.partition == wanted), NOBODY)
    return request.broker if isinstance(request, AtBroker) else known.controller


def sent_as(request: Any, correlation: int) -> Any:
    """The message that goes out."""
    message = request.request if isinstance(request, AtBroker) else request
    return message._replace(correlation=correlation)


def is_again(request: Request, response: Any) -> bool:
    """Whether an answer only means that the request is to be made again."""
    error, entries = entries_of(response)
    if finder_of(request) is not None or isinstance(request, (AtBroker, FindCoordinatorRequest)):
        retried: tuple[KafkaError, ...] = _GROUP_RETRIED
    elif isinstance(request, (DescribeProducersRequest, WriteTxnMarkersRequest)):
        retried = _LEADER_RETRIED
    else:
        retried = _LIST_RETRIED if isinstance(request, ListOffsetsRequest) else _CONTROL_RETRIED
    return error in retried or any(entry.error in retried for entry in entries)


def is_still_there(response: Any) -> bool:
    """Whether a coordinator said that it is the one, and only not ready."""
    error, entries = entries_of(response)
    loading = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
    return error == loading or any(entry.error == loading for entry in entries)


def timed_out(request: Request) -> Answer:
    """What stands for an answer that did not come in time."""
    error, number = KafkaError.REQUEST_TIMED_OUT, request.correlation
    if isinstance(request, Describe):
        return MetadataResponse(number, (), ())
    if isinstance(request, DeleteRecordsRequest):
        return DeleteRecordsResponse(number, request.partition, error, -1)
    if isinstance(request, ListOffsetsRequest):
        return ListOffsetsResponse(number, request.partition, error, -1)
    if isinstance(request, FindCoordinatorRequest):
        return FindCoordinatorResponse(number, error, NOBODY)
    if isinstance(request, AtBroker):
        if isinstance(request.request, ListTransactionsRequest):
            return ListTransactionsResponse(number, error, request.broker, ())
        return ListGroupsResponse(number, error, ())
    if isinstance(request, DescribeTransactionsRequest):
        return DescribeTransactionsResponse(number, error, request.transactional_id)
    if isinstance(request, DescribeProducersRequest):
        return DescribeProducersResponse(number, error, request.partition)
    if isinstance(request, WriteTxnMarkersRequest):
        return WriteTxnMarkersResponse(number, tuple([(each, int(error)) for each in request.marker.partitions]))
    if isinstance(request, DescribeGroupsRequest):
        return DescribeGroupsResponse(number, tuple(DescribedGroup(each, error, "") for each in request.groups))
    if isinstance(request, DeleteGroupsRequest):
        return DeleteGroupsResponse(number, tuple((each, int(error)) for each in request.groups))
    if isinstance(request, OffsetFetchRequest):
        return OffsetFetchResponse(number, error, ())
    if isinstance(request, OffsetCommitRequest):
        return OffsetCommitResponse(number, tuple((each.partition, int(error)) for each in request.offsets))
    if isinstance(request, OffsetDeleteRequest):
        return OffsetDeleteResponse(number, error, ())
    return refusal(request, error, "no controller answered in time")
