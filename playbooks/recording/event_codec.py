"""What clients outside of the model ask, as lines of a recording: so a session with real clients runs again without.

A line has the request as the model got it, whatever bytes it came in, and the one who replays it needs no sockets.
"""

from typing import Any, Final, NamedTuple, cast

import msgspec

from cluster_model.cluster import Cluster
from cluster_model.protocol import admin_messages as admin
from cluster_model.protocol import admin_messages_part
from cluster_model.protocol import group_messages as groups
from cluster_model.protocol import messages as kafka
from cluster_model.protocol import messages_part as modern
from cluster_model.protocol import transaction_messages as transactions
from faults.declarations.action import Action

WIRE: Final = "wire"
"""Verb of a recorded line that is from outside."""
OPEN: Final = "open"
"""Clients may come from here on."""
DROP: Final = "drop"
"""Who asked this is gone."""

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
        modern.ConsumerGroupHeartbeatRequest,
        modern.ConsumerGroupDescribeRequest,
        transactions.AddPartitionsToTxnRequest,
        transactions.AddOffsetsToTxnRequest,
        transactions.EndTxnRequest,
        admin_messages_part.DescribeProducersRequest,
        admin_messages_part.ListTransactionsRequest,
        admin_messages_part.DescribeTransactionsRequest,
        admin.CreateTopicsRequest,
        admin.DeleteTopicsRequest,
        admin.CreatePartitionsRequest,
        admin.IncrementalAlterConfigsRequest,
        admin.ElectLeadersRequest,
        admin.DescribeClusterRequest,
    )
}
"""What may be asked, by name."""


class Ingress(NamedTuple):
    """Something from outside: a request of ``client`` for ``broker``, or :data:`OPEN`, or :data:`DROP`."""

    name: str
    broker: int = -1
    client: str = ""
    body: Any = ()
    """The request, or the tokens that nobody waits for any more."""


def asked(broker: int, client: str, request: Any) -> Ingress:
    """A request."""
    return Ingress(type(request).__name__, broker, client, request)


def action_of(ingress: Ingress) -> Action:
    """As a recording has it."""
    body = msgspec.json.encode(ingress.body).decode()
    return Action(WIRE, ingress.name, str(ingress.broker), {"client": ingress.client, "body": body})


def ingress_of(action: Action) -> Ingress:
    """Undo of :func:`action_of`.

    Raises:
        msgspec.DecodeError: the recording was changed by somebody.
    """
    kind = REQUESTS.get(action.name, tuple[int, ...])
    body = msgspec.json.decode(cast("str", action.params["body"]), type=kind)
    return Ingress(action.name, int(action.target), str(action.params["client"]), body)


def hand_in(cluster: Cluster, ingress: Ingress) -> int:
    """Let the model have it; returns the token that the answer to a request will have."""
    outside = cluster.outside
    if ingress.name == OPEN:
        outside.open()
    elif ingress.name == DROP:
        outside.drop(ingress.body)
    else:
        return outside.ask(ingress.broker, ingress.client, ingress.body)
    return 0
