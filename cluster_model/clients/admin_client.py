"""The admin client, a process of its own (``KafkaAdminClient``): requests, routing, retries and timeouts.

Its metadata is fetched after the oldest open request was made, as by a tool started for one task. A request goes to
the controller named by this metadata (in KRaft mode a broker that forwards it), to a leader, or to a coordinator,
which is looked up for every request. After NOT_CONTROLLER, NOT_COORDINATOR, a broken connection or a timeout it
fetches new metadata and retries until ``default.api.timeout.ms``, which ends in REQUEST_TIMED_OUT for every part.
Before 2.5 (KIP-533) it retries five times at most. A request that is not yet sent when its connection fails does not
count as an attempt (``KafkaAdminClient.unassignUnsentCalls``).

A request whose response was lost is repeated although it may have been carried out: for example, a topic may then
already exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cluster_model.connections.network_client import CONNECTIONS, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.admin_messages import AdminRequest, AdminResponse, entries_of, refusal
from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.configs import ConnectionSettings
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
    GroupResponse,
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
    NO_LEADER,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
)
from cluster_model.protocol.transaction_messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from cluster_model.protocol.versions import Profile

# Routing of admin requests: the target broker, and the errors after which the target is looked up again.
#
# A request about a group or a transactional id goes to its coordinator, which any broker can look up
# (``CoordinatorStrategy``); one about a partition's records or producers to its leader (``PartitionLeaderStrategy``);
# groups and transactional ids are listed by each broker for itself; all other requests go to the controller.


_CONTROL_RETRIED: Final = (
    KafkaError.NOT_CONTROLLER, KafkaError.NOT_LEADER_OR_FOLLOWER, KafkaError.LEADER_NOT_AVAILABLE,
)  # fmt: skip
"""Errors of requests to the controller, or for metadata, after which the target is looked up again."""
_LEADER_RETRIED: Final = (*_CONTROL_RETRIED, KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
"""Retriable errors of requests to a leader (``DescribeProducersHandler``, ``AbortTransactionHandler``)."""
_LIST_RETRIED: Final = (
    *_LEADER_RETRIED, KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH,
)  # fmt: skip
"""Retriable errors of ListOffsets (``ListOffsetsHandler``)."""
_GROUP_RETRIED: Final = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR,
)  # fmt: skip
"""Retriable errors of a coordinator; all but the first require a new lookup."""


class DescribeMetadata(NamedTuple):
    """A request for metadata no older than itself, the first step of tools; the response is a MetadataResponse."""

    correlation_id: int


class BrokerCall(NamedTuple):
    """A request to one given broker."""

    correlation_id: int
    broker: int
    request: ListGroupsRequest | ListTransactionsRequest


GroupRequest = (
    DescribeGroupsRequest | OffsetFetchRequest | OffsetCommitRequest | DeleteGroupsRequest | OffsetDeleteRequest
)
"""Any request to a group coordinator; those for several groups name one."""

LeaderRequest = DeleteRecordsRequest | ListOffsetsRequest | DescribeProducersRequest | WriteTxnMarkersRequest
"""Any request to a partition's leader; markers are for one partition."""

Request = (
    AdminRequest
    | GroupRequest
    | LeaderRequest
    | DescribeTransactionsRequest
    | FindCoordinatorRequest
    | BrokerCall
    | DescribeMetadata
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
"""Any answer; that of a :class:`DescribeMetadata` that timed out is metadata without brokers."""


_TIMED_OUT: Final = KafkaError.REQUEST_TIMED_OUT


class _Route(NamedTuple):
    """The target of one kind of request, its retriable errors, and its response after a timeout.

    The target is a coordinator if ``finder`` is set, a leader if ``partition`` is, else the controller or the broker
    named by the request.
    """

    timed_out: Callable[[Any], Answer]
    retried: tuple[KafkaError, ...]
    finder: Callable[[Any], FindCoordinatorRequest] | None = None
    """Make the lookup request for the coordinator."""
    partition: Callable[[Any], str] | None = None
    """Return the partition whose leader is the target."""


def _group(request: OffsetFetchRequest | OffsetCommitRequest | OffsetDeleteRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.group_id)


def _only_group(request: DescribeGroupsRequest | DeleteGroupsRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.groups[0])


def _transactional_id(request: DescribeTransactionsRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.transactional_id, TRANSACTION)


def _own_partition(request: DeleteRecordsRequest | ListOffsetsRequest | DescribeProducersRequest) -> str:
    return request.partition


def _list_timed_out(request: BrokerCall) -> Answer:
    if isinstance(request.request, ListTransactionsRequest):
        return ListTransactionsResponse(request.correlation_id, _TIMED_OUT, request.broker, ())
    return ListGroupsResponse(request.correlation_id, _TIMED_OUT, ())


_AT_CONTROLLER: Final = _Route(
    lambda request: refusal(request, _TIMED_OUT, "no controller answered in time"), _CONTROL_RETRIED
)
_ROUTES: Final[dict[type, _Route]] = {
    DescribeMetadata: _Route(lambda request: MetadataResponse(request.correlation_id, (), ()), _CONTROL_RETRIED),
    FindCoordinatorRequest: _Route(
        lambda request: FindCoordinatorResponse(request.correlation_id, _TIMED_OUT, NO_LEADER), _GROUP_RETRIED
    ),
    BrokerCall: _Route(_list_timed_out, _GROUP_RETRIED),
    DeleteRecordsRequest: _Route(
        lambda request: DeleteRecordsResponse(request.correlation_id, request.partition, _TIMED_OUT, -1),
        _CONTROL_RETRIED,
        partition=_own_partition,
    ),
    ListOffsetsRequest: _Route(
        lambda request: ListOffsetsResponse(request.correlation_id, request.partition, _TIMED_OUT, -1),
        _LIST_RETRIED,
        partition=_own_partition,
    ),
    DescribeProducersRequest: _Route(
        lambda request: DescribeProducersResponse(request.correlation_id, _TIMED_OUT, request.partition),
        _LEADER_RETRIED,
        partition=_own_partition,
    ),
    WriteTxnMarkersRequest: _Route(
        lambda request: WriteTxnMarkersResponse(
            request.correlation_id, tuple([(each, int(_TIMED_OUT)) for each in request.marker.partitions])
        ),
        _LEADER_RETRIED,
        partition=lambda request: str(request.marker.partitions[0]),
    ),
    DescribeTransactionsRequest: _Route(
        lambda request: DescribeTransactionsResponse(request.correlation_id, _TIMED_OUT, request.transactional_id),
        _GROUP_RETRIED,
        finder=_transactional_id,
    ),
    DescribeGroupsRequest: _Route(
        lambda request: DescribeGroupsResponse(
            request.correlation_id, tuple([DescribedGroup(each, _TIMED_OUT, "") for each in request.groups])
        ),
        _GROUP_RETRIED,
        finder=_only_group,
    ),
    DeleteGroupsRequest: _Route(
        lambda request: DeleteGroupsResponse(
            request.correlation_id, tuple([(each, int(_TIMED_OUT)) for each in request.groups])
        ),
        _GROUP_RETRIED,
        finder=_only_group,
    ),
    OffsetFetchRequest: _Route(
        lambda request: OffsetFetchResponse(request.correlation_id, _TIMED_OUT, ()), _GROUP_RETRIED, finder=_group
    ),
    OffsetCommitRequest: _Route(
        lambda request: OffsetCommitResponse(
            request.correlation_id, tuple([(each.partition, int(_TIMED_OUT)) for each in request.offsets])
        ),
        _GROUP_RETRIED,
        finder=_group,
    ),
    OffsetDeleteRequest: _Route(
        lambda request: OffsetDeleteResponse(request.correlation_id, _TIMED_OUT, ()), _GROUP_RETRIED, finder=_group
    ),
}
"""Routes by type of request; all other requests go to the controller."""


def route_of(request: Request) -> _Route:
    """Return the route of a request."""
    return _ROUTES.get(type(request), _AT_CONTROLLER)


def finder_of(request: Request) -> FindCoordinatorRequest | None:
    """Return the lookup request for the coordinator of a request, None if it does not go to a coordinator."""
    finder = route_of(request).finder
    return None if finder is None else finder(request)


def target_of(request: Request, metadata: MetadataResponse) -> int:
    """Return the target of a request by metadata, NO_LEADER if unknown.

    It does not apply to requests to coordinators, or to any broker.
    """
    partition = route_of(request).partition
    if partition is not None:
        wanted = partition(request)
        return next((state.leader for state in metadata.partitions if state.partition == wanted), NO_LEADER)
    return request.broker if isinstance(request, BrokerCall) else metadata.controller


def message_of(request: Any, correlation_id: int) -> Any:
    """Return the message to send."""
    message = request.request if isinstance(request, BrokerCall) else request
    return message._replace(correlation_id=correlation_id)


def is_retriable(request: Request, response: Any) -> bool:
    """Return whether a response has a retriable error."""
    error, entries = entries_of(response)
    retried = route_of(request).retried
    return error in retried or any(entry.error in retried for entry in entries)


def is_loading(response: Any) -> bool:
    """Return whether a coordinator is still loading: it need not be looked up again."""
    error, entries = entries_of(response)
    loading = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
    return error == loading or any(entry.error == loading for entry in entries)


ADMIN: Final = 4_000
"""Node id of the admin client, distinct from all brokers, controllers, producers and consumers."""
NAME: Final = "admin"


@dataclass(frozen=True, slots=True)
class AdminConfig:
    """Settings of an admin client (``AdminClientConfig``), all at their defaults."""

    api_timeout_us: int
    """Timeout of a request with all its retries: ``default.api.timeout.ms``, before 2.5 ``request.timeout.ms``."""
    request_timeout_us: int
    """Timeout of one attempt."""
    retries: int
    """Maximum retries of each part of a request, such as the lookup of its coordinator."""
    backoff_us: int
    connections: ConnectionSettings

    @staticmethod
    def of(profile: Profile) -> "AdminConfig":
        """Make the default settings of the cluster's own version."""
        own = EffectiveConfig("admin", profile.number, {})
        request_us = own.us("request.timeout.ms")
        return AdminConfig(
            api_timeout_us=own.us("default.api.timeout.ms"),
            request_timeout_us=request_us,
            retries=own.number("retries"),
            backoff_us=own.us("retry.backoff.ms"),
            connections=ConnectionSettings.of(own, profile.client),
        )


class _Call(NamedTuple):
    """An open request of the admin client, with its target and deadline."""

    request: Request
    deadline: int
    ready_at: int
    """Earliest time of the next attempt."""
    target: int = NO_LEADER
    """Node that it was sent to; NO_LEADER between attempts."""
    correlation_id: int = 0
    sent_at: int = 0
    """Time at which it was sent; a request that waits for a connection has no timeout except the deadline."""
    coordinator: int = NO_LEADER
    """Coordinator of its group or transactional id, once looked up."""
    tries: int = 0
    """Failed attempts of the current part: the lookup of the coordinator, or the request itself."""


class AdminClient:
    """The admin client process; each request has a token, with which :attr:`on_answer` receives its final answer."""

    __slots__ = (
        "_brokers", "_calls", "_config", "_correlation", "_metadata", "_metadata_due_at", "_metadata_request", "_port",
        "_stream", "_timer", "on_answer",
    )  # fmt: skip

    def __init__(self, port: NodeContext, config: AdminConfig, brokers: tuple[int, ...], stream: RandomStream) -> None:
        """Make a client; ``brokers`` are the ``bootstrap.servers``, of which ``stream`` chooses one at random."""
        port = NetworkClient(port, config.connections, config.request_timeout_us, stream)
        port.start_disconnected()
        self.on_answer: Callable[[int, Answer], None] = _ignore_answer
        self._port = port
        self._config = config
        self._brokers = brokers
        self._calls: dict[int, _Call] = {}
        """Token → call, oldest first."""
        self._correlation = 0
        self._metadata: MetadataResponse | None = None
        self._metadata_request: tuple[int, int, int] | None = None
        """(broker, correlation, sent at) of the metadata request in flight."""
        self._metadata_due_at = 0
        """Earliest time of the next metadata request."""
        self._stream = stream
        self._timer = DeadlineTimer(port, "admin")

    @property
    def open(self) -> tuple[int, ...]:
        """Tokens of open requests, oldest first."""
        return tuple(self._calls)

    def ask(self, token: int, request: Request) -> None:
        """Submit a request under a ``token`` not in use; it is sent when the process next runs."""
        now = self._port.now
        self._calls[token] = _Call(request, now + self._config.api_timeout_us, now)
        if isinstance(request, DescribeMetadata):
            self._metadata = None
        self._timer.arm(now)

    def receive(self, source: int, message: Message | AdminResponse | GroupResponse) -> None:
        """Handle a message; responses to requests that are no longer open are ignored."""
        was_open = source in self._port.open
        if self._port.handle(source, message):
            if not was_open and source in self._port.open:
                self._opened(source)
        elif self._port.handle_refused(source, message):
            self._on_disconnect(source, sent=False)
        elif isinstance(message, MetadataResponse):
            self._metadata_answered(message)
        else:
            self._on_response(message)

    def _opened(self, peer: int) -> None:
        """Handle a new connection: the requests that waited for it have been sent."""
        now = self._port.now
        for token, call in self._calls.items():
            if call.target == peer:
                self._calls[token] = call._replace(sent_at=now)
        self._rearm(now)

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer: a new request, a retry or a timeout."""
        if timer[0] == CONNECTIONS:
            for broker in self._port.on_timer():
                self._on_disconnect(broker, sent=False)
        elif self._timer.take_expired():
            self._send_ready()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: requests to ``peer`` are retried after the backoff with new metadata."""
        sent = peer in self._port.open
        if self._port.broke(peer):
            self._on_disconnect(peer, sent=sent)

    def _on_disconnect(self, peer: int, *, sent: bool) -> None:
        self._fail(peer, sent=sent)
        self._send_ready()

    def _fail(self, peer: int, *, sent: bool) -> None:
        """Fail all requests on a connection; ``sent``: it was ready, so they were in flight."""
        metadata_request = self._metadata_request
        if metadata_request is not None and metadata_request[0] == peer:
            self._metadata_failed()
        for token, call in tuple(self._calls.items()):
            if call.target == peer:
                self._again(token, call, failed=sent)

    # -- requests ---------------------------------------------------------------------------------------------------

    def _send_ready(self) -> None:
        """End requests that timed out, send those that may be sent, and set the timer of the next deadline."""
        now = self._port.now
        for broker in self._overdue(now):
            sent = broker in self._port.open
            self._port.abandon(broker)
            self._fail(broker, sent=sent)
        known = self._metadata
        for token, call in tuple(self._calls.items()):
            self._advance(token, call, now, known)
        if any(call.target == NO_LEADER for call in self._calls.values()):
            self._maybe_request_metadata(now)
        self._rearm(now)

    def _advance(self, token: int, call: _Call, now: int, metadata: MetadataResponse | None) -> None:
        if call.deadline <= now:
            self._end(token, route_of(call.request).timed_out(call.request))
        elif call.target == NO_LEADER and call.ready_at <= now and metadata is not None:
            self._try(token, call, now, metadata)

    def _overdue(self, now: int) -> list[int]:
        """Return brokers whose requests timed out, whose connections are to be closed."""
        before = now - self._config.request_timeout_us
        metadata_request = self._metadata_request
        sent = [call for call in self._calls.values() if call.target in self._port.open]
        late = [call.target for call in sent if call.sent_at <= before]
        if metadata_request is not None and metadata_request[2] <= before:
            late.append(metadata_request[0])
        return list(dict.fromkeys(late))

    def _try(self, token: int, call: _Call, now: int, metadata: MetadataResponse) -> None:
        request = call.request
        if isinstance(request, DescribeMetadata):
            self._end(token, metadata)
            return
        finder = finder_of(request)
        if isinstance(request, FindCoordinatorRequest):
            target = self._least_loaded()
        elif finder is None:
            target = target_of(request, metadata)
        elif call.coordinator == NO_LEADER:
            target, request = self._least_loaded(), finder
        else:
            target = call.coordinator
        if target == NO_LEADER:
            self._metadata = None
            self._metadata_due_at = max(self._metadata_due_at, now + self._config.backoff_us)
            return
        self._correlation += 1
        self._calls[token] = call._replace(target=target, correlation_id=self._correlation, sent_at=now)
        self._port.send(target, message_of(request, self._correlation))

    def _on_response(self, response: Any) -> None:
        for token, call in self._calls.items():
            if call.target != NO_LEADER and call.correlation_id == response.correlation_id:
                finding = call.coordinator == NO_LEADER and finder_of(call.request) is not None
                if is_retriable(call.request, response) or (finding and response.error):
                    self._again(token, call, call.coordinator if is_loading(response) else NO_LEADER)
                elif finding:
                    self._calls[token] = call._replace(target=NO_LEADER, coordinator=response.node_id, tries=0)
                else:
                    self._end(token, response)
                    self._rearm(self._port.now)
                    return
                self._send_ready()
                return

    def _again(self, token: int, call: _Call, coordinator: int = NO_LEADER, *, failed: bool = True) -> None:
        """Schedule a retry with newer metadata, or end the request after the maximum of retries.

        ``failed``: the request was sent, so this counts as an attempt.
        """
        now = self._port.now
        tries = call.tries + failed if coordinator == call.coordinator else 0
        if tries > self._config.retries:
            self._end(token, route_of(call.request).timed_out(call.request))
            return
        ready_at = now + self._config.backoff_us
        self._calls[token] = call._replace(target=NO_LEADER, ready_at=ready_at, coordinator=coordinator, tries=tries)
        self._metadata = None
        self._metadata_due_at = max(self._metadata_due_at, now + self._config.backoff_us)

    def _end(self, token: int, answer: Answer) -> None:
        del self._calls[token]
        if not self._calls:
            self._metadata = self._metadata_request = None
            self._port.close()
        self.on_answer(token, answer)

    # -- metadata ---------------------------------------------------------------------------------------------------

    def _maybe_request_metadata(self, now: int) -> None:
        if self._metadata is None and self._metadata_request is None and self._metadata_due_at <= now:
            self._request_metadata(now)

    def _request_metadata(self, now: int) -> None:
        broker = self._least_loaded()
        self._correlation += 1
        self._metadata_request = (broker, self._correlation, now)
        self._port.send(broker, MetadataRequest(self._correlation))

    def _least_loaded(self) -> int:
        """Return a random one of the least loaded brokers (``NetworkClient.leastLoadedNode``)."""
        ranks = {broker: self._port.rank(broker)[0] for broker in self._brokers}
        candidates = [broker for broker in self._brokers if ranks[broker] == min(ranks.values())]
        return candidates[self._stream.below(len(candidates))]

    def _metadata_answered(self, response: MetadataResponse) -> None:
        if self._metadata_request is None or self._metadata_request[1] != response.correlation_id:
            return
        self._metadata_request = None
        if response.brokers:
            self._metadata = response
        else:
            self._metadata_failed()
        self._send_ready()

    def _metadata_failed(self) -> None:
        """Handle a failed metadata request, or a broker without metadata yet."""
        self._metadata_request = None
        self._metadata_due_at = self._port.now + self._config.backoff_us

    # -- time -------------------------------------------------------------------------------------------------------

    def _rearm(self, now: int) -> None:
        times = [call.deadline for call in self._calls.values()]
        for call in self._calls.values():
            if call.target != NO_LEADER:
                if call.target in self._port.open:
                    times.append(call.sent_at + self._config.request_timeout_us)
            elif call.ready_at > now:
                times.append(call.ready_at)
        if self._metadata_request is not None:
            times.append(self._metadata_request[2] + self._config.request_timeout_us)
        elif self._metadata is None and self._metadata_due_at > now:
            times.append(self._metadata_due_at)
        if self._calls:
            self._timer.arm(max(now, min(times)))

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            tuple(self._calls.items()), self._correlation, self._metadata, self._metadata_request,
            self._metadata_due_at, self._port.save(), self._timer.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            calls, self._correlation, self._metadata, self._metadata_request, self._metadata_due_at, port, timer,
        ) = saved  # fmt: skip
        self._calls = dict(calls)
        self._port.load(port)
        self._timer.load(timer)


def _ignore_answer(_token: int, _answer: Answer) -> None:
    """Ignore a response, before a receiver is set."""
