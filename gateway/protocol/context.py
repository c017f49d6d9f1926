"""Context of handlers: the modelled cluster, brokers' addresses, timestamps, and authorized operations."""

import hashlib
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from cluster_model.clients.consumer.record_handler import SUFFIX as LETTERS
from cluster_model.clients.producer import SUFFIX as OUTPUT
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile
from gateway.protocol.codec import NO_ID

# Authorized operations (KIP-430). A cluster without an authorizer allows all of them.
#
# ``AuthHelper.authorizedOperations`` returns a bit field of the operations in ``AclEntry.supportedOperations`` for a
# resource type; the bit's position is the code of its ``AclOperation``.


class AclOperation(IntEnum):
    """Codes of Kafka's ``AclOperation``, for the resource types of the gateway."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


_CONFIGS: Final = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)

TOPIC_OPERATIONS: Final = _bits(
    AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE,
    AclOperation.ALTER, *_CONFIGS,
)  # fmt: skip
CLUSTER_OPERATIONS: Final = _bits(
    AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE, AclOperation.ALTER,
    AclOperation.DESCRIBE, *_CONFIGS,
)  # fmt: skip
_OF_GROUP: Final = _bits(AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE)


def group_operations(profile: Profile) -> int:
    """Return the authorized operations on a group, for a Kafka release."""
    return _OF_GROUP | _bits(*_CONFIGS) if profile.group_configs else _OF_GROUP


# Context of handlers: the modelled cluster, its brokers' addresses, and the conversion of its times.


CLUSTER_ID: Final = "floodmark-gateway-0000"
WIRE_SUFFIX: Final = " (wire)"
"""Suffix for a ``client.id`` that equals the name of one of the model's own clients, whose names never contain it."""

LOG_DIR: Final = "/var/lib/kafka/data"
"""Path of a broker's only log directory, as clients see it."""
CLIENT_HOST: Final = "/127.0.0.1"
"""Host of every group member, as its coordinator reports it."""

ResponseFields = Mapping[str, Any] | None
"""Fields of a response by name; None if there is no response."""


class ModelRequests(NamedTuple):
    """Requests for the model, sent together; the handler continues when all responses have arrived.

    If ``waits`` is false it continues at once.
    """

    requests: tuple[Any, ...]
    waits: bool = True
    broker: int = -1
    """Broker that receives them; -1: the broker that the client connected to."""
    closes: bool = False
    """Whether an error in a response without a waiting handler closes the connection, as with acks=0."""


RequestHandlerGenerator = Generator[ModelRequests, Any, ResponseFields]
"""Generator of a request: it yields model requests and is sent their responses, in order."""


@dataclass(slots=True)
class GatewayCluster:
    """The cluster behind the gateway, and the addresses of its brokers."""

    cluster: Cluster
    epoch_ms: int
    """Wall-clock time at which the model's clocks are 0, in milliseconds since 1970."""
    addresses: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Broker → host and port, as advertised."""
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """API → supported versions."""
    creates_topics: bool = True
    """Value of ``auto.create.topics.enable``."""
    encoded_batches: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    """Cache of encoded batches of the model's own clients, by partition, log branch and base offset."""

    def timestamp_ms(self, model_us: int) -> int:
        """Convert a time of the model to a timestamp in milliseconds since 1970."""
        return self.epoch_ms + model_us // 1_000

    def model_us(self, stamp_ms: int) -> int:
        """Convert a timestamp to a time of the model; inverse of :meth:`timestamp_ms`."""
        return (stamp_ms - self.epoch_ms) * 1_000

    def ledger_name(self, client: str) -> str:
        """Return a client's name in the ledger: its ``client.id``, with a suffix if the playbook has such a client."""
        own = self.cluster.clients
        owner = client.removesuffix(OUTPUT).removesuffix(LETTERS)
        return client + WIRE_SUFFIX if client in own.producers or owner in own.consumers else client

    def racks(self) -> dict[int, str | None]:
        """Return broker → its rack."""
        return {broker.id: broker.rack or None for broker in self.cluster.spec.brokers}

    def states(self, broker: int) -> Mapping[str, PartitionState]:
        """Return the metadata cache of a broker."""
        return self.cluster.brokers[broker].states


@dataclass(slots=True)
class ApiCall:
    """Request of a client to one broker."""

    context: GatewayCluster
    broker: int
    client: str
    """The client's ``client.id``."""
    api: int
    version: int
    request: Any

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field of the request, or the default if its version does not have it."""
        return getattr(self.request, name, default)


Handler = Callable[[ApiCall], RequestHandlerGenerator]


def ask(*requests: Any) -> ModelRequests:
    """Return requests for the broker that the client connected to."""
    return ModelRequests(requests)


@lru_cache(maxsize=4096)
def topic_uuid(topic: str, topic_id: int) -> uuid.UUID:
    """Return a topic's id on the wire: stable, but different for a topic that is created again (KIP-516)."""
    digest = hashlib.sha256(f"{topic}/{topic_id}".encode()).digest()
    return uuid.UUID(bytes=digest[:16], version=4)


def topic_of_id(context: GatewayCluster, broker: int, topic_id: uuid.UUID | None) -> str:
    """Return the topic with this id in a broker's metadata cache; empty if there is none."""
    if topic_id is None or topic_id == NO_ID:
        return ""
    for partition, state in context.states(broker).items():
        topic = split_partition(partition)[0]
        if topic_uuid(topic, state.topic_id) == topic_id:
            return topic
    return ""


NEGATIVE_SIGN: Final = "~"
"""Replaces the sign of a negative partition number, which no partition has."""


def partition_name(topic: Any, number: int) -> str:
    """Return ``orders-0`` for ``("orders", 0)``; a negative number gives a name that no partition has."""
    return f"{topic}-{number}" if number >= 0 else f"{topic}-{NEGATIVE_SIGN}{-number}"


def split_partition(partition: str) -> tuple[str, int]:
    """Return topic and number of a partition; inverse of :func:`partition_name`."""
    topic, _dash, number = partition.rpartition("-")
    return topic, -int(number[1:]) if number.startswith(NEGATIVE_SIGN) else int(number)


def by_topic(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return topic → fields of its partitions, in order, from pairs of partition and fields."""
    found: dict[str, list[dict[str, Any]]] = {}
    for partition, row in rows:
        found.setdefault(split_partition(partition)[0], []).append(row)
    return found


def topic_id_in(states: Mapping[str, PartitionState], partition: str) -> uuid.UUID:
    """Return the id of a partition's topic in a broker's metadata; if unknown, the id of a topic created once."""
    state = states.get(partition)
    return topic_uuid(split_partition(partition)[0], 0 if state is None else state.topic_id)


def state_of(group: Any) -> str:
    """Return a group's state as Kafka writes it."""
    return str(getattr(group.state, "value", group.state))


def ms(span: Any) -> int:
    """Convert a ``timedelta`` of a request to microseconds of the model; negative values become -1."""
    us = round(span.total_seconds() * 1_000_000) if span is not None else -1
    return us if us >= 0 else -1
