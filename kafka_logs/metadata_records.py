"""Decoder of the records in ``__cluster_metadata-0`` and its snapshots, by the schemas of Kafka's metadata records.

A value is a frame version, the number of the record's type, and its version, each an unsigned varint, then the fields
(``MetadataRecordSerde``). All records have the flexible encoding with tagged fields. A type or version that is not
known here is returned as :class:`UnknownRecord`, never guessed.
"""

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gateway.protocol.codec import RequestError, varint
from kafka_logs.segments import LogRecord

_FRAME_VERSION: Final = 1


class SchemaField(NamedTuple):
    """A field of a record: its name as Kafka writes it in JSON, its type, and where versions have it."""

    name: str
    type: str
    """``int8`` to ``int64``, ``uint16``, ``float64``, ``bool``, ``string``, ``bytes``, ``uuid``, or ``[]`` and one."""
    since: int = 0
    tag: int = -1
    """Tag of a tagged field, which is absent if it has its default value; -1 for other fields."""
    default: Any = None
    parts: tuple["SchemaField", ...] = ()
    """Fields of the elements of an array of structures (type ``[]``)."""


class MetadataSchema(NamedTuple):
    """Fields of a record type, and its newest version."""

    name: str
    newest: int
    fields: tuple[SchemaField, ...]


def _tagged(tag: int, name: str, kind: str, since: int = 0, default: Any = None) -> SchemaField:
    return SchemaField(name, kind, since, tag, default)


_ENDPOINTS: Final = SchemaField(
    "endPoints",
    "[]",
    parts=(
        SchemaField("name", "string"),
        SchemaField("host", "string"),
        SchemaField("port", "uint16"),
        SchemaField("securityProtocol", "int16"),
    ),
)
_FEATURES: Final = SchemaField(
    "features",
    "[]",
    parts=(
        SchemaField("name", "string"),
        SchemaField("minSupportedVersion", "int16"),
        SchemaField("maxSupportedVersion", "int16"),
    ),
)

SCHEMAS: Final[Mapping[int, MetadataSchema]] = {
    0: MetadataSchema(
        "RegisterBrokerRecord",
        4,
        (
            SchemaField("brokerId", "int32"),
            SchemaField("isMigratingZkBroker", "bool", 2, default=False),
            SchemaField("incarnationId", "uuid"),
            SchemaField("brokerEpoch", "int64"),
            _ENDPOINTS,
            _FEATURES,
            SchemaField("rack", "string"),
            SchemaField("fenced", "bool"),
            SchemaField("inControlledShutdown", "bool", 1, default=False),
            _tagged(0, "logDirs", "[]uuid", 3, ()),
            _tagged(1, "cordonedLogDirs", "[]uuid", 4),
        ),
    ),
    1: MetadataSchema(
        "UnregisterBrokerRecord", 0, (SchemaField("brokerId", "int32"), SchemaField("brokerEpoch", "int64"))
    ),
    2: MetadataSchema("TopicRecord", 0, (SchemaField("name", "string"), SchemaField("topicId", "uuid"))),
    3: MetadataSchema(
        "PartitionRecord",
        2,
        (
            SchemaField("partitionId", "int32"),
            SchemaField("topicId", "uuid"),
            SchemaField("replicas", "[]int32"),
            SchemaField("isr", "[]int32"),
            SchemaField("removingReplicas", "[]int32"),
            SchemaField("addingReplicas", "[]int32"),
            SchemaField("leader", "int32"),
            _tagged(0, "leaderRecoveryState", "int8", default=0),
            SchemaField("leaderEpoch", "int32"),
            SchemaField("partitionEpoch", "int32"),
            SchemaField("directories", "[]uuid", 1, default=()),
            _tagged(1, "eligibleLeaderReplicas", "[]int32", 2),
            _tagged(2, "lastKnownElr", "[]int32", 2),
        ),
    ),
    4: MetadataSchema(
        "ConfigRecord",
        0,
        (
            SchemaField("resourceType", "int8"),
            SchemaField("resourceName", "string"),
            SchemaField("name", "string"),
            SchemaField("value", "string"),
        ),
    ),
    5: MetadataSchema(
        "PartitionChangeRecord",
        2,
        (
            SchemaField("partitionId", "int32"),
            SchemaField("topicId", "uuid"),
            _tagged(0, "isr", "[]int32"),
            _tagged(1, "leader", "int32", default=-2),
            _tagged(2, "replicas", "[]int32"),
            _tagged(3, "removingReplicas", "[]int32"),
            _tagged(4, "addingReplicas", "[]int32"),
            _tagged(5, "leaderRecoveryState", "int8", default=-1),
            _tagged(8, "directories", "[]uuid", 1),
            _tagged(6, "eligibleLeaderReplicas", "[]int32", 2),
            _tagged(7, "lastKnownElr", "[]int32", 2),
        ),
    ),
    7: MetadataSchema("FenceBrokerRecord", 0, (SchemaField("id", "int32"), SchemaField("epoch", "int64"))),
    8: MetadataSchema("UnfenceBrokerRecord", 0, (SchemaField("id", "int32"), SchemaField("epoch", "int64"))),
    9: MetadataSchema("RemoveTopicRecord", 0, (SchemaField("topicId", "uuid"),)),
    10: MetadataSchema(
        "DelegationTokenRecord",
        0,
        (
            SchemaField("owner", "string"),
            SchemaField("requester", "string"),
            SchemaField("renewers", "[]string"),
            SchemaField("issueTimestamp", "int64"),
            SchemaField("maxTimestamp", "int64"),
            SchemaField("expirationTimestamp", "int64"),
            SchemaField("tokenId", "string"),
        ),
    ),
    11: MetadataSchema(
        "UserScramCredentialRecord",
        0,
        (
            SchemaField("name", "string"),
            SchemaField("mechanism", "int8"),
            SchemaField("salt", "bytes"),
            SchemaField("storedKey", "bytes"),
            SchemaField("serverKey", "bytes"),
            SchemaField("iterations", "int32"),
        ),
    ),
    12: MetadataSchema("FeatureLevelRecord", 0, (SchemaField("name", "string"), SchemaField("featureLevel", "int16"))),
    14: MetadataSchema(
        "ClientQuotaRecord",
        0,
        (
            SchemaField(
                "entity", "[]", parts=(SchemaField("entityType", "string"), SchemaField("entityName", "string"))
            ),
            SchemaField("key", "string"),
            SchemaField("value", "float64"),
            SchemaField("remove", "bool"),
        ),
    ),
    15: MetadataSchema(
        "ProducerIdsRecord",
        0,
        (
            SchemaField("brokerId", "int32"),
            SchemaField("brokerEpoch", "int64"),
            SchemaField("nextProducerId", "int64"),
        ),
    ),
    17: MetadataSchema(
        "BrokerRegistrationChangeRecord",
        3,
        (
            SchemaField("brokerId", "int32"),
            SchemaField("brokerEpoch", "int64"),
            _tagged(0, "fenced", "int8", default=0),
            _tagged(1, "inControlledShutdown", "int8", 1, 0),
            _tagged(2, "logDirs", "[]uuid", 2, ()),
            _tagged(3, "cordonedLogDirs", "[]uuid", 3),
        ),
    ),
    18: MetadataSchema(
        "AccessControlEntryRecord",
        0,
        (
            SchemaField("id", "uuid"),
            SchemaField("resourceType", "int8"),
            SchemaField("resourceName", "string"),
            SchemaField("patternType", "int8"),
            SchemaField("principal", "string"),
            SchemaField("host", "string"),
            SchemaField("operation", "int8"),
            SchemaField("permissionType", "int8"),
        ),
    ),
    19: MetadataSchema("RemoveAccessControlEntryRecord", 0, (SchemaField("id", "uuid"),)),
    20: MetadataSchema("NoOpRecord", 0, ()),
    21: MetadataSchema("ZkMigrationStateRecord", 0, (SchemaField("zkMigrationState", "int8"),)),
    22: MetadataSchema(
        "RemoveUserScramCredentialRecord", 0, (SchemaField("name", "string"), SchemaField("mechanism", "int8"))
    ),
    23: MetadataSchema("BeginTransactionRecord", 0, (_tagged(0, "name", "string"),)),
    24: MetadataSchema("EndTransactionRecord", 0, ()),
    25: MetadataSchema("AbortTransactionRecord", 0, (_tagged(0, "reason", "string"),)),
    26: MetadataSchema("RemoveDelegationTokenRecord", 0, (SchemaField("tokenId", "string"),)),
    27: MetadataSchema(
        "RegisterControllerRecord",
        0,
        (
            SchemaField("controllerId", "int32"),
            SchemaField("incarnationId", "uuid"),
            SchemaField("zkMigrationReady", "bool"),
            _ENDPOINTS,
            _FEATURES,
        ),
    ),
    28: MetadataSchema("ClearElrRecord", 0, (SchemaField("topicName", "string"),)),
    29: MetadataSchema("UnregisterControllerRecord", 0, (SchemaField("controllerId", "int32"),)),
}
"""Number of a record type (``MetadataRecordType``) → its schema, of Kafka 3.3 to 4.4."""


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A decoded record: the name of its type, its version and its fields by Kafka's names."""

    type: str
    version: int
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record that cannot be decoded here, with the reason."""

    reason: str


def decode_record(record: LogRecord) -> MetadataRecord | UnknownRecord:
    """Decode the value of a record of the metadata log."""
    data = record.value or b""
    try:
        frame, position = varint(data, 0)
        number, position = varint(data, position)
        version, position = varint(data, position)
        if frame != _FRAME_VERSION:
            return UnknownRecord(f"frame version {frame}")
        schema = SCHEMAS.get(number)
        if schema is None:
            return UnknownRecord(f"record type {number}")
        if version > schema.newest:
            return UnknownRecord(f"{schema.name} version {version}")
        fields, _end = _structure(data, position, schema.fields, version)
    except (RequestError, IndexError, struct.error, UnicodeDecodeError) as error:
        return UnknownRecord(f"invalid record: {error}")
    return MetadataRecord(schema.name, version, fields)


def _structure(data: bytes, position: int, fields: tuple[SchemaField, ...], version: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for each in fields:
        if each.tag >= 0 or each.since > version:
            values[each.name] = each.default
        else:
            values[each.name], position = _value(data, position, each, version)
    tagged = {each.tag: each for each in fields if each.tag >= 0}
    count, position = varint(data, position)
    for _number in range(count):
        tag, position = varint(data, position)
        size, position = varint(data, position)
        if position + size > len(data):
            raise IndexError(f"found {len(data) - position} of {size} bytes of a tagged field")
        if tag in tagged:
            values[tagged[tag].name], _end = _value(data, position, tagged[tag], version)
        position += size
    return values, position


_NUMBERS: Final = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
    "bool": struct.Struct(">?"),
}


def _value(data: bytes, position: int, wanted: SchemaField, version: int) -> tuple[Any, int]:
    if wanted.type == "[]":
        return _array(data, position, lambda at: _structure(data, at, wanted.parts, version))
    if wanted.type.startswith("[]"):
        return _array(data, position, lambda at: _scalar(data, at, wanted.type[2:]))
    return _scalar(data, position, wanted.type)


def _array(data: bytes, position: int, element: Callable[[int], tuple[Any, int]]) -> tuple[tuple[Any, ...] | None, int]:
    count, position = varint(data, position)
    if not count:
        return None, position
    found = []
    for _number in range(count - 1):
        value, position = element(position)
        found.append(value)
    return tuple(found), position


def _scalar(data: bytes, position: int, kind: str) -> tuple[Any, int]:
    number = _NUMBERS.get(kind)
    if number is not None:
        return number.unpack_from(data, position)[0], position + number.size
    if kind == "uuid":
        return uuid_text(_slice(data, position, 16)), position + 16
    size, position = varint(data, position)
    if not size:
        return None, position
    raw = _slice(data, position, size - 1)
    text = raw.decode() if kind == "string" else base64.b64encode(raw).decode()
    return text, position + size - 1


def _slice(data: bytes, position: int, size: int) -> bytes:
    if position + size > len(data):
        raise IndexError(f"found {len(data) - position} of {size} bytes")
    return data[position : position + size]


def uuid_text(raw: bytes) -> str:
    """Return a topic id or directory id as Kafka prints it (``Uuid.toString``)."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
