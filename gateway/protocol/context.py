"""What handlers stand on: the modelled cluster, where its brokers listen, its times, and what clients may do."""

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

# What a client may do, as a cluster without an authorizer answers it: everything (KIP-430).
#
# ``AuthHelper.authorizedOperations`` makes a field of bits of the operations that ``AclEntry.supportedOperations`` has
# for a type of resource, each the number of its ``AclOperation``.


class AclOperation(IntEnum):
    """``AclOperation``, as far as the resources here have them."""

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

OF_TOPIC: Final = _bits(
    AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE,
    AclOperation.ALTER, *_CONFIGS,
)  # fmt: skip
OF_CLUSTER: Final = _bits(
    AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE, AclOperation.ALTER,
    AclOperation.DESCRIBE, *_CONFIGS,
)  # fmt: skip
_OF_GROUP: Final = _bits(AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE)


def of_group(profile: Profile) -> int:
    """Of a group, in a release."""
    return _OF_GROUP | _bits(*_CONFIGS) if profile.group_configs else _OF_GROUP


# What handlers stand on: the modelled cluster, where its brokers listen, and what its times are on the wall.


CLUSTER_ID: Final = "floodmark-gateway-0000"
OUTSIDE: Final = " (wire)"
"""Follows a ``client.id`` that is the name of one of the model's own clients, which has no such characters."""

LOG_DIR: Final = "/var/lib/kafka/data"
"""A broker's only log directory, by the name that clients see."""
CLIENT_HOST: Final = "/127.0.0.1"
"""Where a member of a group is, as its coordinator tells it."""

Said = Mapping[str, Any] | None
"""The fields of a response by name; None where there is none."""


class ModelRequests(NamedTuple):
    """Requests for the model, all at once; the flow goes on when all are answered, or at once if nobody waits."""

    requests: tuple[Any, ...]
    waits: bool = True
    broker: int = -1
    """Who is asked, if it is not the broker that the client asked."""
    closes: bool = False
    """Whether an answer for which nobody waits is an error that closes the client's connection, as with acks=0."""


Flow = Generator[ModelRequests, Any, Said]
"""What a request turns into: it is sent the answers to what it asks, in order."""


@dataclass(slots=True)
class House:
    """One cluster and its doors."""

    cluster: Cluster
    began_ms: int
    """The wall's time, in ms since 1970, at which the model's clocks show 0."""
    addresses: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Broker → host and port, as advertised."""
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """API → versions that are answered."""
    creates_topics: bool = True
    """``auto.create.topics.enable``."""
    made: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    """Batches of the model's own clients as bytes, by partition, stint and base offset; the last ones."""

    def stamp_ms(self, model_us: int) -> int:
        """A time of the model as clients write it."""
        return self.began_ms + model_us // 1_000

    def model_us(self, stamp_ms: int) -> int:
        """Undo of :meth:`stamp_ms`."""
        return (stamp_ms - self.began_ms) * 1_000

    def account(self, client: str) -> str:
        """What the ledger calls a client: its ``client.id``, told from the producers and members of the playbook."""
        own = self.cluster.clients
        owner = client.removesuffix(OUTPUT).removesuffix(LETTERS)
        return client + OUTSIDE if client in own.producers or owner in own.consumers else client

    def racks(self) -> dict[int, str | None]:
        """Broker → its rack."""
        return {broker.id: broker.rack or None for broker in self.cluster.spec.brokers}

    def states(self, broker: int) -> Mapping[str, PartitionState]:
        """A broker's own metadata cache."""
        return self.cluster.brokers[broker].states


@dataclass(slots=True)
class ApiCall:
    """A request of a client for one broker."""

    house: House
    broker: int
    client: str
    """Its ``client.id``."""
    api: int
    version: int
    request: Any

    def get(self, name: str, default: Any = None) -> Any:
        """A field of the request, or the default where its version has none."""
        return getattr(self.request, name, default)


Handler = Callable[[ApiCall], Flow]


def ask(*requests: Any) -> ModelRequests:
    """Requests for the broker that the client asked."""
    return ModelRequests(requests)


@lru_cache(maxsize=4096)
def topic_uuid(topic: str, topic_id: int) -> uuid.UUID:
    """A topic's id as the wire has it: stable, and another one for a topic created again (KIP-516)."""
    digest = hashlib.sha256(f"{topic}/{topic_id}".encode()).digest()
    return uuid.UUID(bytes=digest[:16], version=4)


def topic_named(house: House, broker: int, topic_id: uuid.UUID | None) -> str:
    """The topic of an id, as far as a broker knows; empty for none."""
    if topic_id is None or topic_id == NO_ID:
        return ""
    for partition, state in house.states(broker).items():
        topic = split(partition)[0]
        if topic_uuid(topic, state.topic_id) == topic_id:
            return topic
    return ""


BELOW: Final = "~"
"""Stands for the sign of a number below 0, which is the number of no partition."""


def named(topic: Any, number: int) -> str:
    """``("orders", 0)`` → ``orders-0``; a number below 0 gives a name that no partition has."""
    return f"{topic}-{number}" if number >= 0 else f"{topic}-{BELOW}{-number}"


def split(partition: str) -> tuple[str, int]:
    """Undo of :func:`named`."""
    topic, _dash, number = partition.rpartition("-")
    return topic, -int(number[1:]) if number.startswith(BELOW) else int(number)


def by_topic(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """(partition, what is said of it) as topic → what is said of its partitions, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for partition, said in rows:
        found.setdefault(split(partition)[0], []).append(said)
    return found


def topic_id_in(states: Mapping[str, PartitionState], partition: str) -> uuid.UUID:
    """The id of a partition's topic, as a broker knows it; that of its first making, where it does not."""
    state = states.get(partition)
    return topic_uuid(split(partition)[0], 0 if state is None else state.topic_id)


def state_of(group: Any) -> str:
    """A group's state as Kafka writes it."""
    return str(getattr(group.state, "value", group.state))


def ms(span: Any) -> int:
    """A ``timedelta`` of a request in microseconds of the model; a negative one is -1."""
    us = round(span.total_seconds() * 1_000_000) if span is not None else -1
    return us if us >= 0 else -1
