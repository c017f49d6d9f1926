"""Whom an administrator's request goes to, and which answers only mean that it was the wrong one to ask.

A request about a group goes to the group's coordinator, which any broker names (``CoordinatorStrategy``); one about a
partition's records to its leader (``PartitionLeaderStrategy``); groups are listed by each broker for itself; all else
is the controller's.
"""

from typing import Any, Final, NamedTuple

from cluster_model.clients.admin_messages import AdminRequest, AdminResponse, refusal
from cluster_model.clients.admin_words import entries_of
from cluster_model.errors import KafkaError
from cluster_model.groups.messages import (
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
from cluster_model.messages import (
    NOBODY,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)

_CONTROL_RETRIED: Final = (
    KafkaError.NOT_CONTROLLER, KafkaError.NOT_LEADER_OR_FOLLOWER, KafkaError.LEADER_NOT_AVAILABLE,
)  # fmt: skip
"""Answers that mean: somebody else by now ..."""
_LIST_RETRIED: Final = (
    *_CONTROL_RETRIED, KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH,
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
    request: ListGroupsRequest


GroupRequest = (
    DescribeGroupsRequest | OffsetFetchRequest | OffsetCommitRequest | DeleteGroupsRequest | OffsetDeleteRequest
)
"""What a group's coordinator answers; those that could name several groups name one."""

LeaderRequest = DeleteRecordsRequest | ListOffsetsRequest
"""What a partition's leader answers."""

Request = AdminRequest | GroupRequest | LeaderRequest | FindCoordinatorRequest | AtBroker | Describe
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


def target_of(request: Request, known: MetadataResponse) -> int:
    """Who is to be asked by what a broker's metadata says, NOBODY where that names none.

    Not for what a group's coordinator answers, nor for what any broker does.
    """
    if isinstance(request, (DeleteRecordsRequest, ListOffsetsRequest)):
        wanted = request.partition
        return next((state.leader for state in known.partitions if state.partition == wanted), NOBODY)
    return request.broker if isinstance(request, AtBroker) else known.controller


def sent_as(request: Any, correlation: int) -> Any:
    """The message that goes out."""
    message = request.request if isinstance(request, AtBroker) else request
    return message._replace(correlation=correlation)


def is_again(request: Request, response: Any) -> bool:
    """Whether an answer only means that the request is to be made again."""
    error, entries = entries_of(response)
    if group_of(request) is not None or isinstance(request, (AtBroker, FindCoordinatorRequest)):
        retried: tuple[KafkaError, ...] = _GROUP_RETRIED
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
        return ListGroupsResponse(number, error, ())
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
