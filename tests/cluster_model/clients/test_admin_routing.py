"""Whom the admin client asks about groups and logs, and which answers make it ask again."""

from itertools import pairwise
from typing import Any

import pytest

from cluster_model.clients.admin_client import BrokerCall, Request, route_of
from cluster_model.protocol.admin_messages import entries_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    TRANSACTION,
    CommittedOffset,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from cluster_model.protocol.messages import LATEST, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest
from cluster_model.protocol.transaction_messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    TxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.cluster_model.clients.test_admin_client import (
    API_TIMEOUT_US,
    BACKOFF_US,
    CONNECTS,
    MS,
    SECOND,
    Rig,
    Script,
    Scripted,
    metadata,
)

E = KafkaError
DELETE = DeleteGroupsRequest(0, ("g",))
MARK = WriteTxnMarkersRequest(0, TxnMarker(7, 0, 0, False, ("p-0",)))


def coordinated(*said: tuple[int, KafkaError]) -> Script:
    """Each FindCoordinator is answered by the next of ``said``: who, and what that one answers; the last one stays."""
    left = list(said)
    answers: list[KafkaError] = []

    def script(_node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        if isinstance(message, FindCoordinatorRequest):
            who, error = left.pop(0) if len(left) > 1 else left[0]
            answers.append(error)
            told = E.COORDINATOR_NOT_AVAILABLE if who < 0 else E.NONE
            return FindCoordinatorResponse(message.correlation_id, told, who)
        return DeleteGroupsResponse(message.correlation_id, (("g", answers[-1]),))

    return script


def asked(rig: Rig) -> list[tuple[int, str]]:
    """(broker, request), in order; which broker is asked for what any can tell is left out."""
    short = {"MetadataRequest": (0, "metadata"), "FindCoordinatorRequest": (0, "find")}
    return [short.get(name, (broker, name)) for _at, broker, name in rig.heard()]


def test_a_group_request_goes_to_the_coordinator_that_any_broker_names() -> None:
    rig = Rig(coordinated((3, E.NONE)))
    rig.client.ask(1, DELETE)
    rig.run(SECOND)
    assert asked(rig) == [(0, "metadata"), (0, "find"), (3, "DeleteGroupsRequest")]
    assert rig.answers[0][2].groups == (("g", E.NONE),)


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_not_coordinator_makes_the_admin_client_look_it_up_again(error: KafkaError) -> None:
    rig = Rig(coordinated((3, error), (2, E.NONE)))
    rig.client.ask(1, DELETE)
    rig.run(SECOND)
    tried = [(0, "metadata"), (0, "find")]
    assert asked(rig) == [*tried, (3, "DeleteGroupsRequest"), *tried, (2, "DeleteGroupsRequest")]
    times = [at for at, _broker, name in rig.heard() if name == "DeleteGroupsRequest"]
    # The second coordinator has to be connected to.
    assert times[1] - times[0] == BACKOFF_US + 6 * MS + CONNECTS


def test_a_loading_coordinator_gets_the_admin_request_again() -> None:
    loading = iter([E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS, E.NONE])
    plain = coordinated((3, E.NONE))

    def script(node: Scripted, message: Any) -> Any:
        if isinstance(message, DeleteGroupsRequest):
            return DeleteGroupsResponse(message.correlation_id, (("g", next(loading)),))
        return plain(node, message)

    rig = Rig(script)
    rig.client.ask(1, DELETE)
    rig.run(SECOND)
    assert [name for _broker, name in asked(rig)].count("find") == 1
    assert [broker for broker, name in asked(rig) if name == "DeleteGroupsRequest"] == [3, 3, 3]


def test_without_a_coordinator_the_lookup_repeats_until_the_timeout() -> None:
    rig = Rig(coordinated((-1, E.NONE)))
    rig.client.ask(1, DELETE)
    rig.run(2 * API_TIMEOUT_US)
    [(at, _token, answer)] = rig.answers
    assert (at, answer.groups) == (API_TIMEOUT_US, (("g", E.REQUEST_TIMED_OUT),))
    finds = [at for at, _broker, name in rig.heard() if name == "FindCoordinatorRequest"]
    assert min(later - earlier for earlier, later in pairwise(finds)) >= BACKOFF_US


def test_any_other_error_is_an_answer() -> None:
    rig = Rig(coordinated((3, E.NON_EMPTY_GROUP)))
    rig.client.ask(1, DELETE)
    rig.run(SECOND)
    assert rig.answers[0][2].groups == (("g", E.NON_EMPTY_GROUP),)


@pytest.mark.parametrize(
    "error", [E.NOT_LEADER_OR_FOLLOWER, E.OFFSET_NOT_AVAILABLE, E.FENCED_LEADER_EPOCH, E.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_list_offsets_is_repeated_until_the_leader_answers(error: KafkaError) -> None:
    errors = iter([error, E.NONE])

    def script(_node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        return ListOffsetsResponse(message.correlation_id, "p-0", next(errors), 9)

    rig = Rig(script)
    rig.client.ask(1, ListOffsetsRequest(0, "p-0", LATEST, -1))
    rig.run(SECOND)
    assert asked(rig) == [(0, "metadata"), (2, "ListOffsetsRequest")] * 2
    assert rig.answers[0][2].log_offset == 9


@pytest.mark.parametrize("error", [E.NOT_LEADER_OR_FOLLOWER, E.LEADER_NOT_AVAILABLE, E.UNKNOWN_TOPIC_OR_PARTITION])
@pytest.mark.parametrize("request_", [DescribeProducersRequest(0, "p-0"), MARK], ids=lambda each: type(each).__name__)
def test_producers_and_markers_are_the_leader_s(request_: Request, error: KafkaError) -> None:
    errors = iter([error, E.NONE])

    def script(_node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        if isinstance(message, DescribeProducersRequest):
            return DescribeProducersResponse(message.correlation_id, next(errors), "p-0")
        return WriteTxnMarkersResponse(message.correlation_id, (("p-0", next(errors)),))

    rig = Rig(script)
    rig.client.ask(1, request_)
    rig.run(SECOND)
    assert asked(rig) == [(0, "metadata"), (2, type(request_).__name__)] * 2
    assert entries_of(rig.answers[0][2]) in ((0, ()), (0, (("p-0", 0, ""),)))


@pytest.mark.parametrize("error", [E.INVALID_PRODUCER_EPOCH, E.TRANSACTION_COORDINATOR_FENCED])
def test_a_marker_that_is_fenced_is_not_sent_again(error: KafkaError) -> None:
    def script(_node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        return WriteTxnMarkersResponse(message.correlation_id, (("p-0", error),))

    rig = Rig(script)
    rig.client.ask(1, MARK)
    rig.run(SECOND)
    assert rig.answers[0][2].partitions == (("p-0", error),)


def test_a_transactional_id_has_a_coordinator_of_its_own() -> None:
    kinds: list[int] = []

    def script(_node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        if isinstance(message, FindCoordinatorRequest):
            kinds.append(message.key_type)
            return FindCoordinatorResponse(message.correlation_id, E.NONE, 3)
        return DescribeTransactionsResponse(message.correlation_id, E.NONE, message.transactional_id)

    rig = Rig(script)
    rig.client.ask(1, DescribeTransactionsRequest(0, "pay"))
    rig.run(SECOND)
    assert asked(rig) == [(0, "metadata"), (0, "find"), (3, "DescribeTransactionsRequest")]
    assert kinds == [TRANSACTION]


def test_groups_are_listed_by_the_broker_that_is_named() -> None:
    def script(node: Scripted, message: Any) -> Any:
        if isinstance(message, MetadataRequest):
            return metadata(message, 1)
        assert isinstance(message, ListGroupsRequest)
        late = node.port.now < 50 * MS
        return ListGroupsResponse(message.correlation_id, E.COORDINATOR_LOAD_IN_PROGRESS if late else E.NONE, ())

    rig = Rig(script)
    rig.client.ask(1, BrokerCall(0, 3, ListGroupsRequest(0)))
    rig.run(SECOND)
    assert [broker for broker, name in asked(rig) if name == "ListGroupsRequest"] == [3, 3]
    assert len(rig.answers) == 1


REQUESTS: list[Request] = [
    DELETE,
    DescribeGroupsRequest(0, ("g",)),
    OffsetFetchRequest(0, "g", None),
    OffsetCommitRequest(0, "g", -1, "", (CommittedOffset("p-0", 1), CommittedOffset("p-1", 1))),
    OffsetDeleteRequest(0, "g", ("p-0",)),
    ListOffsetsRequest(0, "p-0", LATEST, -1),
    FindCoordinatorRequest(0, "g"),
    BrokerCall(0, 3, ListGroupsRequest(0)),
    BrokerCall(0, 3, ListTransactionsRequest(0)),
    DescribeTransactionsRequest(0, "pay"),
    DescribeProducersRequest(0, "p-0"),
    MARK,
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_whatever_is_not_answered_in_time_is_timed_out(request_: Request) -> None:
    error, entries = entries_of(route_of(request_).timed_out(request_))
    assert E.REQUEST_TIMED_OUT in (error, *(entry.error for entry in entries))
    assert all(entry.error == E.REQUEST_TIMED_OUT for entry in entries)


def test_snapshots_keep_pending_calls_with_their_coordinator() -> None:
    rig = Rig(coordinated((3, E.NONE)))
    rig.client.ask(1, DELETE)
    rig.run(2 * CONNECTS + 4 * MS + 500)
    saved = rig.client.save()
    other = Rig(coordinated((2, E.NONE)))
    other.client.load(saved)
    assert other.client.save() == saved
    assert saved[0][0][1].coordinator == 3
