"""The one node that all clients outside of the model stand behind: real ones, whose requests a gateway hands in.

It is a process like any other: its links can be cut, slowed and troubled, brokers that die tell it so, and what is
asked of a paused one waits. Its links have no latency of their own, for its clients' sockets have. It asks whatever it
is told to ask, and keeps an account of what its clients were told (:mod:`~.outside.writing`).

Nobody is there until :meth:`Outside.open`: a cluster without clients outside has no such process.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cluster_model.external_clients import Writing
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import Port
from cluster_model.log.batch_store import Lineages
from cluster_model.manners import Manners
from cluster_model.protocol.batch import PLAIN
from cluster_model.protocol.events import Event, OffsetsCommitted
from cluster_model.protocol.group_messages import JoinGroupRequest, OffsetCommitRequest, OffsetCommitResponse
from cluster_model.protocol.messages import (
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.messages_part import JOIN, ConsumerGroupHeartbeatRequest
from cluster_model.protocol.transaction_messages import FIRST_IMPLICIT, AddPartitionsToTxnRequest, EndTxnRequest
from cluster_model.reading import reads

OUTSIDE: Final = 20_000
"""Its node id, apart from all others."""
NAME: Final = "outside"
COMMIT: Final = "wire"
"""How offsets were committed, where nobody says."""

Asked = tuple[int, str, Any]
"""(broker, client, request)."""


class Outside:
    """The node, once it is open. Requests are numbered by tokens, which are their correlation ids."""

    __slots__ = (
        "_asked", "_emit", "_groups", "_lineages", "_network", "_port", "_token", "_writing", "is_open", "manners",
        "on_answer", "on_broken",
    )  # fmt: skip

    def __init__(
        self, port: Port, network: Network, emit: Callable[[Event], None], lineages: Mapping[str, Lineages]
    ) -> None:
        """``emit`` takes events."""
        self._port = port
        self._network = network
        self._emit = emit
        self._lineages = lineages
        self._token = 0
        self._asked: dict[int, Asked] = {}
        """By token, what is not answered."""
        self._groups: dict[str, str] = {}
        """Client → the group that it last joined."""
        self._writing = Writing(emit)
        self.manners = Manners()
        self.is_open = False
        self.on_answer: Callable[[int, Any], None] = _nobody_listens
        """Called with a token and the answer; also with one that nobody waits for: acks=0 gone wrong."""
        self.on_broken: Callable[[int], None] = _nobody_cares
        """Called with a broker to which all connections broke."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Those that its clients have joined, each once."""
        return tuple(dict.fromkeys(self._groups.values()))

    def open(self) -> None:
        """Be there, from now on."""
        if not self.is_open:
            self.is_open = True
            self._network.add(OUTSIDE, NAME, self)
            self._network.processes[OUTSIDE].near = True

    def ask(self, broker: int, client: str, request: Any) -> int:
        """Ask a broker in a client's name; returns the token that the answer will have."""
        self.open()
        self._token = token = self._token + 1
        now = self._port.now
        if isinstance(request, ProduceRequest):
            self.manners.wrote(request)
            if request.kind != PLAIN and request.version >= FIRST_IMPLICIT:
                self._writing.begun(request.producer_id)
            message: Any = self._writing.sent(now, token, broker, request)
            if not request.acks:
                self._port.send(broker, message)
                return token
        else:
            message = request._replace(correlation=token)
            if isinstance(request, FetchRequest):
                self.manners.reads(client, committed_only=bool(request.isolation))
            elif isinstance(request, JoinGroupRequest) or _joins(request):
                self._groups[client] = request.group_id
            elif isinstance(request, InitProducerIdRequest):
                self.manners.begun(client, request.transactional_id or "")
            elif isinstance(request, AddPartitionsToTxnRequest):
                self._writing.begun(request.producer_id)
            elif isinstance(request, EndTxnRequest) and request.committed:
                self._writing.commits(request.producer_id)
        kept = request._replace(payload=b"") if isinstance(request, ProduceRequest) else request
        self._asked[token] = (broker, client, kept)
        self._port.send(broker, message)
        return token

    def drop(self, tokens: Iterable[int]) -> None:
        """Who asked is gone: nobody will hear the answers."""
        for token in tokens:
            if self._asked.pop(token, None) is not None:
                self._writing.unanswered(self._port.now, token)

    def receive(self, source: int, message: Any) -> None:
        """Handle an answer; one that nobody waits for any more is passed over, unless it stands for a closed door."""
        token = message.correlation
        asked = self._asked.pop(token, None)
        if asked is not None:
            self._book(source, asked, message)
            self.on_answer(token, message)
        elif isinstance(message, ProduceResponse) and message.error:
            self.on_answer(token, message)

    def _book(self, source: int, asked: Asked, message: Any) -> None:
        _broker, client, request = asked
        now = self._port.now
        if isinstance(message, ProduceResponse):
            self._writing.answered(now, source, message)
        elif isinstance(message, FetchResponse):
            group = self._groups.get(client, client)
            for data in message.partitions:
                for event in reads(now, client, group, source, data, self._lineages) if data.records.extents else ():
                    self._emit(event)
        elif isinstance(message, OffsetCommitResponse) and isinstance(request, OffsetCommitRequest):
            for each, (_partition, error) in zip(request.offsets, message.partitions, strict=False):
                if not error:
                    told = (client, request.group_id, each.partition, each.offset, COMMIT)
                    self._emit(OffsetsCommitted(now, *told))
        elif isinstance(request, InitProducerIdRequest) and request.transactional_id and not message.error:
            self._writing.begun_anew(now, message.producer_id)
        elif isinstance(request, EndTxnRequest) and not message.error:
            self._writing.transaction_ended(now, request.producer_id, committed=request.committed)

    def on_timer(self, _timer: Payload) -> None:
        """There are none."""

    def on_disconnect(self, peer: int) -> None:
        """A broker is gone, and every client's connection to it."""
        self.drop([token for token, (broker, _client, _request) in self._asked.items() if broker == peer])
        self.on_broken(peer)

    def close(self) -> None:
        """The session ends: the account of what clients were told is complete."""
        self._asked.clear()
        self._writing.close(self._port.now)

    def save(self) -> tuple[Any, ...]:
        """All state; nothing of it where nobody ever came."""
        if not self.is_open:
            return ()
        asked, groups = tuple(self._asked.items()), tuple(self._groups.items())
        return (self._token, asked, groups, self._writing.save(), self.manners.save())

    def prepare(self, saved: tuple[Any, ...]) -> None:
        """Be there or not, as in a keyframe, before the network's state is loaded."""
        if saved:
            self.open()
        elif self.is_open:
            self.is_open = False
            del self._network.processes[OUTSIDE]

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after :meth:`prepare`."""
        self._token, asked, groups, writing, manners = saved or (0, (), (), ((),) * 6, ())
        self._asked, self._groups = dict(asked), dict(groups)
        self._writing.load(writing)
        self.manners.load(manners)


def _joins(request: Any) -> bool:
    return isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == JOIN


def _nobody_listens(_token: int, _answer: Any) -> None:
    """In a replay nobody is out there."""


def _nobody_cares(_broker: int) -> None:
    """Nor is there anybody to disconnect."""
