"""Codec of trace events, and of requests of external clients, as JSON lines.

A line has the request as the model received it, independent of its wire format, so that a replay needs no sockets.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

import msgspec

from cluster_model.cluster import Cluster
from cluster_model.protocol import admin_messages as admin
from cluster_model.protocol import group_messages as groups
from cluster_model.protocol import messages as kafka
from cluster_model.protocol import transaction_messages
from cluster_model.protocol.events import COLUMNS, FIELDS, Event
from faults.declarations import Action

WIRE: Final = "wire"
"""Verb of a recorded line from an external client."""
OPEN: Final = "open"
"""Event from which on clients may connect."""
DROP: Final = "drop"
"""Event that a requesting client is gone."""

REQUESTS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        kafka.ProduceRequest,
        kafka.InitProducerIdRequest,
        kafka.FetchRequest,
        kafka.EpochEndRequest,
        kafka.ListOffsetsRequest,
        kafka.MetadataRequest,
        kafka.DeleteRecordsRequest,
        groups.FindCoordinatorRequest,
        groups.JoinGroupRequest,
        groups.SyncGroupRequest,
        groups.HeartbeatRequest,
        groups.LeaveGroupRequest,
        groups.OffsetCommitRequest,
        groups.TxnOffsetCommitRequest,
        groups.OffsetFetchRequest,
        groups.DescribeGroupsRequest,
        groups.ListGroupsRequest,
        groups.DeleteGroupsRequest,
        groups.OffsetDeleteRequest,
        groups.ConsumerGroupHeartbeatRequest,
        groups.ConsumerGroupDescribeRequest,
        transaction_messages.AddPartitionsToTxnRequest,
        transaction_messages.AddOffsetsToTxnRequest,
        transaction_messages.EndTxnRequest,
        transaction_messages.DescribeProducersRequest,
        transaction_messages.ListTransactionsRequest,
        transaction_messages.DescribeTransactionsRequest,
        admin.CreateTopicsRequest,
        admin.DeleteTopicsRequest,
        admin.CreatePartitionsRequest,
        admin.IncrementalAlterConfigsRequest,
        admin.DescribeConfigsRequest,
        admin.ElectLeadersRequest,
        admin.AlterPartitionReassignmentsRequest,
        admin.ListPartitionReassignmentsRequest,
        admin.DescribeClusterRequest,
        admin.DescribeQuorumRequest,
        admin.UpdateFeaturesRequest,
        admin.UnregisterBrokerRequest,
    )
}
"""Name → type of request."""


class ExternalInput(NamedTuple):
    """External input: a request of ``client`` for ``broker``, or :data:`OPEN`, or :data:`DROP`."""

    name: str
    broker: int = -1
    client: str = ""
    body: Any = ()
    """The request, or the tokens of responses that are no longer needed."""


def request_input(broker: int, client: str, request: Any) -> ExternalInput:
    """Return the input for a request."""
    return ExternalInput(type(request).__name__, broker, client, request)


def action_of(ingress: ExternalInput) -> Action:
    """Return the input as an action of a recording."""
    body = msgspec.json.encode(ingress.body).decode()
    return Action(WIRE, ingress.name, str(ingress.broker), {"client": ingress.client, "body": body})


def ingress_of(action: Action) -> ExternalInput:
    """Convert an action of a recording back to its input.

    Raises:
        msgspec.DecodeError: the recording was modified.
    """
    kind = REQUESTS.get(action.name, tuple[int, ...])
    body = msgspec.json.decode(cast("str", action.params["body"]), type=kind)
    return ExternalInput(action.name, int(action.target), str(action.params["client"]), body)


def submit(cluster: Cluster, ingress: ExternalInput) -> int:
    """Pass the input to the model; return the token of the response to a request."""
    outside = cluster.external_clients
    if ingress.name == OPEN:
        outside.open()
    elif ingress.name == DROP:
        outside.drop(ingress.body)
    else:
        return outside.send_request(ingress.broker, ingress.client, ingress.body)
    return 0


# Trace events as JSON lines, as in ``events.jsonl``.
#
# A line is ``{"seq": 0, "kind": ..., <the event's fields by name>}``. Fields with default values are included, so a
# line has the complete event.


_PYTHON_TYPE: dict[str, Any] = {"int": int, "str": str, "bool": bool, "ints": tuple[int, ...]}

_Maker = tuple[Callable[..., Any], Callable[[Event], tuple[Any, ...]]]


def _maker(kind: str, fields: tuple[str, ...]) -> _Maker:
    columns = [("seq", int), ("kind", str), *((name, _PYTHON_TYPE[COLUMNS[name]]) for name in fields)]
    return msgspec.defstruct(f"line_{kind}", columns, gc=False), attrgetter(*fields)


_MAKERS: dict[str, _Maker] = {kind: _maker(kind, fields) for kind, fields in FIELDS.items()}
_ENCODER = msgspec.json.Encoder()

Line: Any = msgspec.defstruct(
    "Line",
    [
        ("seq", int),
        ("kind", str),
        *((name, _PYTHON_TYPE[type_] | None, None) for name, type_ in COLUMNS.items() if name != "kind"),
    ],
    gc=False,
)
"""A parsed line: every column of the schema, None where the event has no such field. Unknown keys are ignored."""

_DECODER = msgspec.json.Decoder(Line)


def encode(first_seq: int, events: Sequence[Event]) -> bytes:
    """Return the events as complete lines, numbered from ``first_seq`` without gaps."""
    rows = []
    for seq, event in enumerate(events, first_seq):
        make, values = _MAKERS[event.kind]
        rows.append(make(seq, event.kind, *values(event)))
    return _ENCODER.encode_lines(rows)


def decode(text: bytes) -> list[Any]:
    """Parse complete lines to :data:`Line` values; raise ``msgspec.DecodeError`` for other text."""
    lines: list[Any] = _DECODER.decode_lines(text)
    return lines
