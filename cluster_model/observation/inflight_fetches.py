"""What each follower of a partition asks of its leader right now, and where that question or its answer is.

A picture for people, like those of :mod:`cluster_model.observation.views`: made when somebody looks, and nothing is
changed by it. A fetcher asks for many partitions at once; a wire tells of one of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherThread
from cluster_model.kernel.network import Flight, Network, flights
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.messages import (
    EpochEndRequest,
    EpochEndResponse,
    FetchData,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)

WireState = Literal[
    "none", "pauses", "request", "waits", "reply", "busy", "request_cut", "reply_cut", "request_held", "reply_held",
    "unanswered",
]  # fmt: skip
"""``none``: nobody fetches; ``pauses``: it backs off after an error; ``request`` and ``reply``: that is under way;
``waits``: the request waits at the leader for something to read; ``busy``: the follower is at work with the reply.

``.._cut``: its packets are dropped; ``.._held``: it queues for a line, or has arrived at a process that stands still or
is slow. ``unanswered``: what was asked is nowhere any more."""
Question = Literal["fetch", "epoch end", "log end"]

_QUESTIONS: dict[type, Question] = {
    FetchRequest: "fetch", EpochEndRequest: "epoch end", ListOffsetsRequest: "log end",
    FetchResponse: "fetch", EpochEndResponse: "epoch end", ListOffsetsResponse: "log end",
}  # fmt: skip
_REPLIES = (FetchResponse, EpochEndResponse, ListOffsetsResponse)
_ORDER = ("wire", "line", "cut", "paused", "cpu")


@dataclass(frozen=True, slots=True)
class FetchWire:
    """One follower's wire to its leader, as it concerns one partition."""

    follower: int
    leader: int
    """Whom it fetches from, which may be a leader of the past; -1: nobody."""
    state: WireState
    question: Question = "fetch"
    offset: int = -1
    """Asked for; -1 where the request does not ask for this partition."""
    sent_us: int = -1
    """When the request was sent."""
    until_us: int = -1
    """When what is under way arrives, and until when it waits, is busy or backs off; -1: nobody knows."""
    records: int = -1
    """In the reply, of this partition; -1 where it says nothing of it."""
    hw: int = -1
    """That the reply tells."""
    error: int = 0


class Wired(Protocol):
    """A cluster on a network."""

    network: Network
    brokers: dict[int, Broker]
    world: World


def fetch_wires(cluster: Wired, partition: str) -> tuple[FetchWire, ...]:
    """The wire of every replica but the leader's own, in assignment order.

    Raises:
        ModelError: no such partition.
    """
    record = cluster.world.record(partition)
    followers = [each for each in record.assignment if each != record.leader and each in cluster.brokers]
    return tuple(_wire(cluster, partition, follower) for follower in followers)


def _wire(cluster: Wired, partition: str, follower: int) -> FetchWire:
    # Who fetches is the broker's own affair; a picture is taken past it so that brokers need not know of pictures.
    running = cluster.brokers[follower]._fetchers.running.values()
    fetcher = next((each for each in running if each.has(partition)), None)
    if fetcher is None or fetcher._dead:
        return FetchWire(follower, -1, "none")
    asked = next((each for each in fetcher._asked if each.partition == partition), None)
    blank = FetchWire(follower, fetcher.leader, "none", offset=-1 if asked is None else asked.offset)
    if not fetcher._outstanding:
        again_us = fetcher._delayed.get(partition, -1)
        return replace(blank, state="pauses" if again_us >= 0 else "none", until_us=again_us)
    blank = replace(blank, sent_us=fetcher._exchange.sent_at)
    if fetcher._held is not None:
        return _with_reply(replace(blank, state="busy", until_us=fetcher._held_until), fetcher._held, partition)
    phase = fetcher._exchange.phase
    if phase is not None:
        if phase.parked:
            return replace(blank, state="waits", until_us=phase.deadline)
        return replace(blank, state="reply", until_us=phase.answered) if phase.answering else _sent(blank)
    return _awake(cluster, partition, fetcher, blank)


def _sent(blank: FetchWire) -> FetchWire:
    """The next one of an idle exchange, whose arrival is not drawn before it matters."""
    return replace(blank, state="request")


def _awake(cluster: Wired, partition: str, fetcher: ReplicaFetcherThread, blank: FetchWire) -> FetchWire:
    number, leader, follower = fetcher._outstanding, fetcher.leader, blank.follower
    there = _newest(flights(cluster.network, follower, leader), number)
    back = _newest(flights(cluster.network, leader, follower), number)
    found = back or there
    if found is not None:
        wire = replace(blank, state=_state(found), until_us=found.arrives_us, question=_QUESTIONS[type(found.message)])
        if not isinstance(found.message, FetchRequest | FetchResponse):
            wire = replace(wire, offset=-1)
        return _with_reply(wire, found.message, partition) if isinstance(found.message, _REPLIES) else wire
    answerer = cluster.brokers.get(leader)
    session = None if answerer is None else answerer.purgatory.sessions.of((follower, fetcher.index))
    if session is not None and session.parked is not None and session.parked.correlation == number:
        return replace(blank, state="waits", until_us=session.deadline)
    return replace(blank, state="unanswered")


def _newest(under_way: Iterable[Flight], number: int) -> Flight | None:
    """The message of this number: where it comes twice, the one that arrives first."""
    ours = [each for each in under_way if type(each.message) in _QUESTIONS and each.message.correlation == number]
    return min(ours, key=lambda each: (_ORDER.index(each.place), each.arrives_us), default=None)


def _state(found: Flight) -> WireState:
    reply = isinstance(found.message, _REPLIES)
    if found.place == "wire":
        return "reply" if reply else "request"
    if found.place == "cut":
        return "reply_cut" if reply else "request_cut"
    return "reply_held" if reply else "request_held"


def _with_reply(wire: FetchWire, message: Any, partition: str) -> FetchWire:
    if not isinstance(message, FetchResponse):
        return wire
    data: FetchData | None = next((each for each in message.partitions if each.partition == partition), None)
    if data is None:
        return replace(wire, error=message.error)
    return replace(wire, records=data.records.end - data.records.start, hw=data.hw, error=data.error)
