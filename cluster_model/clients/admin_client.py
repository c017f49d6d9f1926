"""An administrator's client, a process of its own (``KafkaAdminClient``): requests, routing, retries and time limits.

It knows of the cluster what a broker's metadata told it since the oldest of its open requests was made, as a tool does
that is started for one task. A request goes to the controller that this metadata names (a broker that forwards it, in
KRaft mode), to a leader, or to a coordinator, which is looked for anew with every request. NOT_CONTROLLER,
NOT_COORDINATOR, a broken connection and silence bring new metadata and another try, until ``default.api.timeout.ms`` is
over: then REQUEST_TIMED_OUT stands for every part. Before 2.5 (KIP-533) five retries are the most. A request that has
not been sent yet when its connection fails has cost no try (``KafkaAdminClient.unassignUnsentCalls``).

A request whose answer was lost is made again, though it may have been carried out: a topic can turn out to exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cluster_model.connections.network_client import CONNECTIONS, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.protocol.admin_messages import AdminRequest, AdminResponse, entries_of, refusal
from cluster_model.protocol.config_defaults import Configured
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
    NOBODY,
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

# Routing of an administrator's requests: the broker to ask, and responses that mean another one must be asked.
#
# A request about a group or a transactional id goes to its coordinator, which any broker names
# (``CoordinatorStrategy``); one about a partition's records or producers to its leader (``PartitionLeaderStrategy``);
# groups and transactional ids are listed by each broker for itself; all else is the controller's.


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


_TIMED_OUT: Final = KafkaError.REQUEST_TIMED_OUT


class _Route(NamedTuple):
    """Where requests of one kind go, which errors mean another try, and what stands for an answer that is late."""

    timed_out: Callable[[Any], Answer]
    retried: tuple[KafkaError, ...]
    finder: Callable[[Any], FindCoordinatorRequest] | None = None
    """The question for the coordinator, where that is to be asked ..."""
    partition: Callable[[Any], str] | None = None
    """... or the partition whose leader is; neither: the controller, or the broker that the request names."""


def _group(request: OffsetFetchRequest | OffsetCommitRequest | OffsetDeleteRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.group_id)


def _only_group(request: DescribeGroupsRequest | DeleteGroupsRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.groups[0])


def _transactional_id(request: DescribeTransactionsRequest) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(0, request.transactional_id, TRANSACTION)


def _own_partition(request: DeleteRecordsRequest | ListOffsetsRequest | DescribeProducersRequest) -> str:
    return request.partition


def _list_timed_out(request: AtBroker) -> Answer:
    if isinstance(request.request, ListTransactionsRequest):
        return ListTransactionsResponse(request.correlation, _TIMED_OUT, request.broker, ())
    return ListGroupsResponse(request.correlation, _TIMED_OUT, ())


_AT_CONTROLLER: Final = _Route(
    lambda request: refusal(request, _TIMED_OUT, "no controller answered in time"), _CONTROL_RETRIED
)
_ROUTES: Final[dict[type, _Route]] = {
    Describe: _Route(lambda request: MetadataResponse(request.correlation, (), ()), _CONTROL_RETRIED),
    FindCoordinatorRequest: _Route(
        lambda request: FindCoordinatorResponse(request.correlation, _TIMED_OUT, NOBODY), _GROUP_RETRIED
    ),
    AtBroker: _Route(_list_timed_out, _GROUP_RETRIED),
    DeleteRecordsRequest: _Route(
        lambda request: DeleteRecordsResponse(request.correlation, request.partition, _TIMED_OUT, -1),
        _CONTROL_RETRIED,
        partition=_own_partition,
    ),
    ListOffsetsRequest: _Route(
        lambda request: ListOffsetsResponse(request.correlation, request.partition, _TIMED_OUT, -1),
        _LIST_RETRIED,
        partition=_own_partition,
    ),
    DescribeProducersRequest: _Route(
        lambda request: DescribeProducersResponse(request.correlation, _TIMED_OUT, request.partition),
        _LEADER_RETRIED,
        partition=_own_partition,
    ),
    WriteTxnMarkersRequest: _Route(
        lambda request: WriteTxnMarkersResponse(
            request.correlation, tuple([(each, int(_TIMED_OUT)) for each in request.marker.partitions])
        ),
        _LEADER_RETRIED,
        partition=lambda request: str(request.marker.partitions[0]),
    ),
    DescribeTransactionsRequest: _Route(
        lambda request: DescribeTransactionsResponse(request.correlation, _TIMED_OUT, request.transactional_id),
        _GROUP_RETRIED,
        finder=_transactional_id,
    ),
    DescribeGroupsRequest: _Route(
        lambda request: DescribeGroupsResponse(
            request.correlation, tuple([DescribedGroup(each, _TIMED_OUT, "") for each in request.groups])
        ),
        _GROUP_RETRIED,
        finder=_only_group,
    ),
    DeleteGroupsRequest: _Route(
        lambda request: DeleteGroupsResponse(
            request.correlation, tuple([(each, int(_TIMED_OUT)) for each in request.groups])
        ),
        _GROUP_RETRIED,
        finder=_only_group,
    ),
    OffsetFetchRequest: _Route(
        lambda request: OffsetFetchResponse(request.correlation, _TIMED_OUT, ()), _GROUP_RETRIED, finder=_group
    ),
    OffsetCommitRequest: _Route(
        lambda request: OffsetCommitResponse(
            request.correlation, tuple([(each.partition, int(_TIMED_OUT)) for each in request.offsets])
        ),
        _GROUP_RETRIED,
        finder=_group,
    ),
    OffsetDeleteRequest: _Route(
        lambda request: OffsetDeleteResponse(request.correlation, _TIMED_OUT, ()), _GROUP_RETRIED, finder=_group
    ),
}
"""By type of request; all others are the controller's."""


def route_of(request: Request) -> _Route:
    """The route of a request."""
    return _ROUTES.get(type(request), _AT_CONTROLLER)


def finder_of(request: Request) -> FindCoordinatorRequest | None:
    """The question for the coordinator that is to be asked, None where another broker is."""
    finder = route_of(request).finder
    return None if finder is None else finder(request)


def target_of(request: Request, known: MetadataResponse) -> int:
    """The broker to ask by what a broker's metadata says, NOBODY where that names none.

    Not for what a coordinator answers, nor for what any broker does.
    """
    partition = route_of(request).partition
    if partition is not None:
        wanted = partition(request)
        return next((state.leader for state in known.partitions if state.partition == wanted), NOBODY)
    return request.broker if isinstance(request, AtBroker) else known.controller


def sent_as(request: Any, correlation: int) -> Any:
    """The message that goes out."""
    message = request.request if isinstance(request, AtBroker) else request
    return message._replace(correlation=correlation)


def is_again(request: Request, response: Any) -> bool:
    """Whether an answer only means that the request is to be made again."""
    error, entries = entries_of(response)
    retried = route_of(request).retried
    return error in retried or any(entry.error in retried for entry in entries)


def is_still_there(response: Any) -> bool:
    """Whether a coordinator said that it is the one, and only not ready."""
    error, entries = entries_of(response)
    loading = KafkaError.COORDINATOR_LOAD_IN_PROGRESS
    return error == loading or any(entry.error == loading for entry in entries)


ADMIN: Final = 4_000
"""The client's node id, apart from all brokers, controllers, producers and consumers."""
NAME: Final = "admin"


@dataclass(frozen=True, slots=True)
class AdminConfig:
    """An administrator's settings in model units (``AdminClientConfig``), all at their defaults."""

    api_timeout_us: int
    """A request and all its tries: ``default.api.timeout.ms``, before 2.5 ``request.timeout.ms``."""
    request_timeout_us: int
    """One try."""
    retries: int
    """How often a part of a request, such as to find its coordinator, is tried again."""
    backoff_us: int
    connections: ConnectionSettings

    @staticmethod
    def of(profile: Profile) -> "AdminConfig":
        """The defaults of the cluster's own version."""
        own = Configured("admin", profile.number, {})
        request_us = own.us("request.timeout.ms")
        return AdminConfig(
            api_timeout_us=own.us("default.api.timeout.ms"),
            request_timeout_us=request_us,
            retries=own.number("retries"),
            backoff_us=own.us("retry.backoff.ms"),
            connections=ConnectionSettings.of(own),
        )


class _Call(NamedTuple):
    """A request that is not yet answered."""

    request: Request
    deadline: int
    ready_at: int
    """When the next try may be made."""
    target: int = NOBODY
    """Who was asked; NOBODY between two tries."""
    correlation: int = 0
    sent_at: int = 0
    """When it was sent; no time limit but the deadline holds for one that still waits for a connection."""
    coordinator: int = NOBODY
    """Of the group or transactional id that it is about, once a broker has named it."""
    tries: int = 0
    """Tries of this part of it that failed: to find the coordinator, or the request itself."""


class AdminClient:
    """The node. One request is one token; :attr:`on_answer` gets the token and the last word on it."""

    __slots__ = (
        "_alarm", "_brokers", "_calls", "_config", "_correlation", "_known", "_metadata_asked", "_port", "_stream",
        "_wanted_at", "on_answer",
    )  # fmt: skip

    def __init__(self, port: NodeContext, config: AdminConfig, brokers: tuple[int, ...], stream: Stream) -> None:
        """``brokers`` are the ``bootstrap.servers``; which of them is asked is drawn from ``stream``."""
        port = NetworkClient(port, config.connections, config.request_timeout_us, stream)
        port.start_cold()
        self.on_answer: Callable[[int, Answer], None] = _nobody_listens
        self._port = port
        self._config = config
        self._brokers = brokers
        self._calls: dict[int, _Call] = {}
        """Token → call, oldest first."""
        self._correlation = 0
        self._known: MetadataResponse | None = None
        self._metadata_asked: tuple[int, int, int] | None = None
        """(broker, correlation, when) of the question for metadata that is under way."""
        self._wanted_at = 0
        """Metadata may be asked for from here on."""
        self._stream = stream
        self._alarm = Alarm(port, "admin")

    @property
    def open(self) -> tuple[int, ...]:
        """Tokens that wait for an answer, oldest first."""
        return tuple(self._calls)

    def ask(self, token: int, request: Request) -> None:
        """Have a request made; ``token`` is no other open request's. It goes out when the process next runs."""
        now = self._port.now
        self._calls[token] = _Call(request, now + self._config.api_timeout_us, now)
        if isinstance(request, Describe):
            self._known = None
        self._alarm.want(now)

    def receive(self, source: int, message: Message | AdminResponse | GroupResponse) -> None:
        """Take an answer; one that nobody waits for any more is passed over."""
        was_open = source in self._port.open
        if self._port.heard(source, message):
            if not was_open and source in self._port.open:
                self._opened(source)
        elif self._port.refused(source, message):
            self._lost(source, sent=False)
        elif isinstance(message, MetadataResponse):
            self._metadata_answered(message)
        else:
            self._answered(message)

    def _opened(self, peer: int) -> None:
        """A connection is ready, and what waited for it has been sent."""
        now = self._port.now
        for token, call in self._calls.items():
            if call.target == peer:
                self._calls[token] = call._replace(sent_at=now)
        self._rearm(now)

    def on_timer(self, timer: Payload) -> None:
        """Something is due: a first try, a next one, or the end of somebody's patience."""
        if timer[0] == CONNECTIONS:
            for broker in self._port.rang():
                self._lost(broker, sent=False)
        elif self._alarm.rang():
            self._pump()

    def on_disconnect(self, peer: int) -> None:
        """What was asked of ``peer`` is asked again, after a pause and with new metadata."""
        sent = peer in self._port.open
        if self._port.broke(peer):
            self._lost(peer, sent=sent)

    def _lost(self, peer: int, *, sent: bool) -> None:
        self._fail(peer, sent=sent)
        self._pump()

    def _fail(self, peer: int, *, sent: bool) -> None:
        """All that was asked over a connection fails; ``sent``: it was ready, so that requests were under way on it."""
        asked = self._metadata_asked
        if asked is not None and asked[0] == peer:
            self._metadata_failed()
        for token, call in tuple(self._calls.items()):
            if call.target == peer:
                self._again(token, call, failed=sent)

    # -- requests ---------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """End what took too long, send what may be sent, and see to the next deadline."""
        now = self._port.now
        for broker in self._overdue(now):
            sent = broker in self._port.open
            self._port.abandon(broker)
            self._fail(broker, sent=sent)
        known = self._known
        for token, call in tuple(self._calls.items()):
            self._see_to(token, call, now, known)
        if any(call.target == NOBODY for call in self._calls.values()):
            self._see_to_metadata(now)
        self._rearm(now)

    def _see_to(self, token: int, call: _Call, now: int, known: MetadataResponse | None) -> None:
        if call.deadline <= now:
            self._end(token, route_of(call.request).timed_out(call.request))
        elif call.target == NOBODY and call.ready_at <= now and known is not None:
            self._try(token, call, now, known)

    def _overdue(self, now: int) -> list[int]:
        """Brokers that have not answered in time: their connections are to be closed."""
        before = now - self._config.request_timeout_us
        asked = self._metadata_asked
        sent = [call for call in self._calls.values() if call.target in self._port.open]
        late = [call.target for call in sent if call.sent_at <= before]
        if asked is not None and asked[2] <= before:
            late.append(asked[0])
        return list(dict.fromkeys(late))

    def _try(self, token: int, call: _Call, now: int, known: MetadataResponse) -> None:
        request = call.request
        if isinstance(request, Describe):
            self._end(token, known)
            return
        finder = finder_of(request)
        if isinstance(request, FindCoordinatorRequest):
            target = self._anyone()
        elif finder is None:
            target = target_of(request, known)
        elif call.coordinator == NOBODY:
            target, request = self._anyone(), finder
        else:
            target = call.coordinator
        if target == NOBODY:
            self._known = None
            self._wanted_at = max(self._wanted_at, now + self._config.backoff_us)
            return
        self._correlation += 1
        self._calls[token] = call._replace(target=target, correlation=self._correlation, sent_at=now)
        self._port.send(target, sent_as(request, self._correlation))

    def _answered(self, response: Any) -> None:
        for token, call in self._calls.items():
            if call.target != NOBODY and call.correlation == response.correlation:
                finding = call.coordinator == NOBODY and finder_of(call.request) is not None
                if is_again(call.request, response) or (finding and response.error):
                    self._again(token, call, call.coordinator if is_still_there(response) else NOBODY)
                elif finding:
                    self._calls[token] = call._replace(target=NOBODY, coordinator=response.node_id, tries=0)
                else:
                    self._end(token, response)
                    self._rearm(self._port.now)
                    return
                self._pump()
                return

    def _again(self, token: int, call: _Call, coordinator: int = NOBODY, *, failed: bool = True) -> None:
        """Another try, with metadata that is newer than this one, or the end where there were enough.

        ``failed``: the request was sent, so that this was a try.
        """
        now = self._port.now
        tries = call.tries + failed if coordinator == call.coordinator else 0
        if tries > self._config.retries:
            self._end(token, route_of(call.request).timed_out(call.request))
            return
        ready_at = now + self._config.backoff_us
        self._calls[token] = call._replace(target=NOBODY, ready_at=ready_at, coordinator=coordinator, tries=tries)
        self._known = None
        self._wanted_at = max(self._wanted_at, now + self._config.backoff_us)

    def _end(self, token: int, answer: Answer) -> None:
        del self._calls[token]
        if not self._calls:
            self._known = self._metadata_asked = None
            self._port.close()
        self.on_answer(token, answer)

    # -- metadata ---------------------------------------------------------------------------------------------------

    def _see_to_metadata(self, now: int) -> None:
        if self._known is None and self._metadata_asked is None and self._wanted_at <= now:
            self._ask_for_metadata(now)

    def _ask_for_metadata(self, now: int) -> None:
        broker = self._anyone()
        self._correlation += 1
        self._metadata_asked = (broker, self._correlation, now)
        self._port.send(broker, MetadataRequest(self._correlation))

    def _anyone(self) -> int:
        """``NetworkClient.leastLoadedNode`` begins at a random one."""
        ranks = {broker: self._port.rank(broker)[0] for broker in self._brokers}
        asked = [broker for broker in self._brokers if ranks[broker] == min(ranks.values())]
        return asked[self._stream.below(len(asked))]

    def _metadata_answered(self, response: MetadataResponse) -> None:
        if self._metadata_asked is None or self._metadata_asked[1] != response.correlation:
            return
        self._metadata_asked = None
        if response.brokers:
            self._known = response
        else:
            self._metadata_failed()
        self._pump()

    def _metadata_failed(self) -> None:
        """The broker died, was silent, or does not know the cluster yet."""
        self._metadata_asked = None
        self._wanted_at = self._port.now + self._config.backoff_us

    # -- time -------------------------------------------------------------------------------------------------------

    def _rearm(self, now: int) -> None:
        moments = [call.deadline for call in self._calls.values()]
        for call in self._calls.values():
            if call.target != NOBODY:
                if call.target in self._port.open:
                    moments.append(call.sent_at + self._config.request_timeout_us)
            elif call.ready_at > now:
                moments.append(call.ready_at)
        if self._metadata_asked is not None:
            moments.append(self._metadata_asked[2] + self._config.request_timeout_us)
        elif self._known is None and self._wanted_at > now:
            moments.append(self._wanted_at)
        if self._calls:
            self._alarm.want(max(now, min(moments)))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple(self._calls.items()), self._correlation, self._known, self._metadata_asked, self._wanted_at,
            self._port.save(), self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            calls, self._correlation, self._known, self._metadata_asked, self._wanted_at, port, alarm,
        ) = saved  # fmt: skip
        self._calls = dict(calls)
        self._port.load(port)
        self._alarm.load(alarm)


def _nobody_listens(_token: int, _answer: Answer) -> None:
    """What comes of a request that nobody made through a board."""
