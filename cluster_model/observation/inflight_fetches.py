"""Each follower's current request to its leader, and where the request or its response is.

The views are for display only, as those of :mod:`cluster_model.observation.views`: they are built on request, without
side effects. A fetcher fetches many partitions at once; a view describes one of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherThread
from cluster_model.kernel.network import InFlightMessage, Network, in_flight_messages
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.messages import (
    EpochEndRequest,
    EpochEndResponse,
    FetchData,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)

FetchState = Literal[
    "none", "pauses", "request", "waits", "reply", "busy", "request_cut", "reply_cut", "request_held", "reply_held",
    "unanswered",
]  # fmt: skip
"""``none``: no fetcher; ``pauses``: back-off after an error; ``request``, ``reply``: in flight; ``waits``: delayed.

A delayed request waits at the leader for something to read; ``busy``: the follower is handling the response.
``.._cut``: its packets are dropped; ``.._held``: it is in a bandwidth queue, or at a paused or slow process.
``unanswered``: the request is lost.
"""
Question = Literal["fetch", "epoch end", "log end"]

_QUESTIONS: dict[type, Question] = {
    FetchRequest: "fetch", EpochEndRequest: "epoch end", ListOffsetsRequest: "log end",
    FetchResponse: "fetch", EpochEndResponse: "epoch end", ListOffsetsResponse: "log end",
}  # fmt: skip
_REPLIES = (FetchResponse, EpochEndResponse, ListOffsetsResponse)
_ORDER = ("wire", "line", "cut", "paused", "cpu")


@dataclass(frozen=True, slots=True)
class InflightFetch:
    """One follower's request to its leader, as it concerns one partition."""

    follower: int
    leader: int
    """Broker that it fetches from, which may be a former leader; -1: none."""
    state: FetchState
    question: Question = "fetch"
    offset: int = -1
    """Fetch offset; -1 if the request does not include this partition."""
    sent_us: int = -1
    """Time when the request was sent."""
    until_us: int = -1
    """Time of arrival, or of the end of waiting, handling or back-off; -1 if unknown."""
    records: int = -1
    """Number of this partition's records in the response; -1 if it does not include the partition."""
    hw: int = -1
    """High watermark in the response."""
    error: int = 0


class NetworkedCluster(Protocol):
    """A cluster with brokers on a simulated network."""

    network: Network
    brokers: dict[int, Broker]
    cluster_state: ClusterState


def inflight_fetches(cluster: NetworkedCluster, partition: str) -> tuple[InflightFetch, ...]:
    """Return the request of every replica except the leader's own, in assignment order.

    Raises:
        ModelError: no such partition.
    """
    record = cluster.cluster_state.record(partition)
    followers = [each for each in record.assignment if each != record.leader and each in cluster.brokers]
    return tuple(_wire(cluster, partition, follower) for follower in followers)


def _wire(cluster: NetworkedCluster, partition: str, follower: int) -> InflightFetch:
    # Private attributes are read here so that brokers need no code for views.
    running = cluster.brokers[follower]._fetchers.running.values()
    fetcher = next((each for each in running if each.has(partition)), None)
    if fetcher is None or fetcher._dead:
        return InflightFetch(follower, -1, "none")
    requested = next((each for each in fetcher._requested if each.partition == partition), None)
    blank = InflightFetch(follower, fetcher.leader, "none", offset=-1 if requested is None else requested.offset)
    if not fetcher._outstanding:
        again_us = fetcher._delayed.get(partition, -1)
        return replace(blank, state="pauses" if again_us >= 0 else "none", until_us=again_us)
    blank = replace(blank, sent_us=fetcher._exchange.sent_at)
    if fetcher._held is not None:
        return _with_reply(replace(blank, state="busy", until_us=fetcher._held_until), fetcher._held, partition)
    phase = fetcher._exchange.phase
    if phase is not None:
        if phase.request_delayed:
            return replace(blank, state="waits", until_us=phase.deadline)
        return replace(blank, state="reply", until_us=phase.answered) if phase.answering else _in_flight_request(blank)
    return _awake(cluster, partition, fetcher, blank)


def _in_flight_request(blank: InflightFetch) -> InflightFetch:
    """Return the next request of an idle exchange; its arrival is not drawn yet."""
    return replace(blank, state="request")


def _awake(
    cluster: NetworkedCluster, partition: str, fetcher: ReplicaFetcherThread, blank: InflightFetch
) -> InflightFetch:
    number, leader, follower = fetcher._outstanding, fetcher.leader, blank.follower
    request = _newest(in_flight_messages(cluster.network, follower, leader), number)
    response = _newest(in_flight_messages(cluster.network, leader, follower), number)
    message = response or request
    if message is not None:
        wire = replace(
            blank, state=_state(message), until_us=message.arrives_us, question=_QUESTIONS[type(message.message)]
        )
        if not isinstance(message.message, FetchRequest | FetchResponse):
            wire = replace(wire, offset=-1)
        return _with_reply(wire, message.message, partition) if isinstance(message.message, _REPLIES) else wire
    answerer = cluster.brokers.get(leader)
    session = None if answerer is None else answerer.purgatory.sessions.of((follower, fetcher.index))
    if session is not None and session.delayed_request is not None and session.delayed_request.correlation_id == number:
        return replace(blank, state="waits", until_us=session.deadline)
    return replace(blank, state="unanswered")


def _newest(under_way: Iterable[InFlightMessage], number: int) -> InFlightMessage | None:
    """Return the message of this number; of duplicates the one that arrives first."""
    matching = [
        each for each in under_way if type(each.message) in _QUESTIONS and each.message.correlation_id == number
    ]
    return min(matching, key=lambda each: (_ORDER.index(each.location), each.arrives_us), default=None)


def _state(message: InFlightMessage) -> FetchState:
    reply = isinstance(message.message, _REPLIES)
    if message.location == "wire":
        return "reply" if reply else "request"
    if message.location == "cut":
        return "reply_cut" if reply else "request_cut"
    return "reply_held" if reply else "request_held"


def _with_reply(wire: InflightFetch, message: Any, partition: str) -> InflightFetch:
    if not isinstance(message, FetchResponse):
        return wire
    data: FetchData | None = next((each for each in message.partitions if each.partition == partition), None)
    if data is None:
        return replace(wire, error=message.error)
    return replace(wire, records=data.records.end - data.records.start, hw=data.hw, error=data.error)
