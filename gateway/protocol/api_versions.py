"""APIs and versions that each Kafka release offers, and the errors of older API versions.

Floors are those of Kafka 4.0 (KIP-896), lower where the codec supports older versions. The ceiling of an API is the
newest version of the release, or of the codec; an API whose ceiling is below its floor is not offered. librdkafka
infers a broker's features from whether old versions are in the range, so floors stay low whatever the ceiling is; for
the same reason Produce is advertised from version 0, as by Kafka 4, although versions 0 to 2 are rejected. Unstable
versions (``latestVersionUnstable``) and versions that only brokers use (AddPartitionsToTxn from 4 on) are not offered.
An offered API may still be disabled: if the consumer protocol (KIP-848) is not configured, the model responds with
UNSUPPORTED_VERSION, as Kafka does.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cluster_model.protocol.errors import KafkaError as E
from cluster_model.protocol.releases import Version

OLDEST: Final = (1, 0, 0)
"""First supported release; older ones use versions of Produce and Fetch that the codec does not have."""

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9
FIND_COORDINATOR: Final = 10
JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
LEAVE_GROUP: Final = 13
SYNC_GROUP: Final = 14
DESCRIBE_GROUPS: Final = 15
LIST_GROUPS: Final = 16
API_VERSIONS: Final = 18
CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
DELETE_RECORDS: Final = 21
INIT_PRODUCER_ID: Final = 22
EPOCH_ENDS: Final = 23
ADD_PARTITIONS_TO_TXN: Final = 24
ADD_OFFSETS_TO_TXN: Final = 25
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
DESCRIBE_CONFIGS: Final = 32
DESCRIBE_ACLS: Final = 29
CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31
ALTER_CONFIGS: Final = 33
ALTER_REPLICA_LOG_DIRS: Final = 34
DESCRIBE_LOG_DIRS: Final = 35
CREATE_PARTITIONS: Final = 37
DELETE_GROUPS: Final = 42
ELECT_LEADERS: Final = 43
INCREMENTAL_ALTER_CONFIGS: Final = 44
ALTER_PARTITION_REASSIGNMENTS: Final = 45
LIST_PARTITION_REASSIGNMENTS: Final = 46
OFFSET_DELETE: Final = 47
DESCRIBE_CLIENT_QUOTAS: Final = 48
DESCRIBE_QUORUM: Final = 55
UPDATE_FEATURES: Final = 57
DESCRIBE_CLUSTER: Final = 60
DESCRIBE_PRODUCERS: Final = 61
DESCRIBE_TRANSACTIONS: Final = 65
UNREGISTER_BROKER: Final = 64
LIST_TRANSACTIONS: Final = 66
CONSUMER_GROUP_HEARTBEAT: Final = 68
CONSUMER_GROUP_DESCRIBE: Final = 69
LIST_CONFIG_RESOURCES: Final = 74
DESCRIBE_TOPIC_PARTITIONS: Final = 75

KRAFT_ONLY: Final = (DESCRIBE_QUORUM, UNREGISTER_BROKER, LIST_CONFIG_RESOURCES, DESCRIBE_TOPIC_PARTITIONS)
"""APIs that only brokers in KRaft mode have on their listeners (``ApiMessageType.ListenerType``)."""
ADVERTISED_FROM_ZERO: Final = (PRODUCE,)

_V1, _V2, _V3, _V4 = (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)

CEILINGS: Final[dict[int, tuple[int, tuple[tuple[Version, int], ...]]]] = {
    PRODUCE: (3, ((_V1, 5), (_V2, 6), ((2, 1, 0), 7), ((2, 4, 0), 8), ((2, 8, 0), 9), ((3, 7, 0), 10),
                  ((3, 8, 0), 11), ((4, 0, 0), 12), ((4, 1, 0), 13))),
    FETCH: (4, ((_V1, 6), ((1, 1, 0), 7), (_V2, 8), ((2, 1, 0), 10), ((2, 3, 0), 11), ((2, 7, 0), 12),
                ((3, 1, 0), 13), ((3, 5, 0), 15), ((3, 7, 0), 16), ((3, 9, 0), 17), ((4, 1, 0), 18))),
    LIST_OFFSETS: (1, ((_V1, 2), (_V2, 3), ((2, 1, 0), 4), ((2, 2, 0), 5), ((2, 8, 0), 6), (_V3, 7), ((3, 5, 0), 8),
                       ((3, 9, 0), 9), (_V4, 10), ((4, 2, 0), 11))),
    METADATA: (0, ((_V1, 5), (_V2, 6), ((2, 1, 0), 7), ((2, 3, 0), 8), ((2, 4, 0), 9), ((2, 8, 0), 11),
                   ((3, 1, 0), 12), ((4, 0, 0), 13))),
    OFFSET_COMMIT: (2, ((_V1, 3), (_V2, 4), ((2, 1, 0), 6), ((2, 3, 0), 7), ((2, 4, 0), 8),
                        ((3, 7, 0), 9), ((4, 2, 0), 10))),
    OFFSET_FETCH: (1, ((_V1, 3), (_V2, 4), ((2, 1, 0), 5), ((2, 4, 0), 6), ((2, 5, 0), 7), (_V3, 8),
                       ((3, 7, 0), 9), ((4, 2, 0), 10))),
    FIND_COORDINATOR: (0, ((_V1, 1), (_V2, 2), ((2, 4, 0), 3), (_V3, 4), ((3, 8, 0), 5), ((3, 9, 0), 6))),
    JOIN_GROUP: (0, ((_V1, 2), (_V2, 3), ((2, 2, 0), 4), ((2, 3, 0), 5), ((2, 4, 0), 6), ((2, 5, 0), 7),
                     ((3, 2, 0), 9))),
    HEARTBEAT: (0, ((_V1, 1), (_V2, 2), ((2, 3, 0), 3), ((2, 4, 0), 4))),
    LEAVE_GROUP: (0, ((_V1, 1), (_V2, 2), ((2, 4, 0), 4), ((3, 2, 0), 5))),
    SYNC_GROUP: (0, ((_V1, 1), (_V2, 2), ((2, 3, 0), 3), ((2, 4, 0), 4), ((2, 5, 0), 5))),
    DESCRIBE_GROUPS: (0, ((_V1, 1), (_V2, 2), ((2, 3, 0), 3), ((2, 4, 0), 5), (_V4, 6))),
    LIST_GROUPS: (0, ((_V1, 1), (_V2, 2), ((2, 4, 0), 3), ((2, 6, 0), 4), ((3, 8, 0), 5))),
    API_VERSIONS: (0, ((_V1, 1), (_V2, 2), ((2, 4, 0), 3), ((3, 9, 0), 4), ((4, 4, 0), 5))),
    CREATE_TOPICS: (2, ((_V1, 2), (_V2, 3), ((2, 4, 0), 5), ((2, 7, 0), 6), ((2, 8, 0), 7))),
    DELETE_TOPICS: (1, ((_V1, 1), (_V2, 2), ((2, 1, 0), 3), ((2, 4, 0), 4), ((2, 7, 0), 5), ((2, 8, 0), 6))),
    DELETE_RECORDS: (0, ((_V1, 0), (_V2, 1), ((2, 6, 0), 2))),
    INIT_PRODUCER_ID: (0, ((_V1, 0), (_V2, 1), ((2, 4, 0), 2), ((2, 5, 0), 3), ((2, 7, 0), 4), ((3, 8, 0), 5))),
    EPOCH_ENDS: (2, (((2, 1, 0), 2), ((2, 3, 0), 3), ((2, 8, 0), 4))),
    ADD_PARTITIONS_TO_TXN: (0, ((_V1, 0), (_V2, 1), ((2, 7, 0), 2), ((2, 8, 0), 3))),
    ADD_OFFSETS_TO_TXN: (0, ((_V1, 0), (_V2, 1), ((2, 7, 0), 2), ((2, 8, 0), 3), ((3, 8, 0), 4))),
    END_TXN: (0, ((_V1, 0), (_V2, 1), ((2, 7, 0), 2), ((2, 8, 0), 3), ((3, 8, 0), 4), ((4, 0, 0), 5))),
    TXN_OFFSET_COMMIT: (0, ((_V1, 0), (_V2, 1), ((2, 1, 0), 2), ((2, 5, 0), 3), ((3, 8, 0), 4), ((4, 0, 0), 5),
                            ((4, 4, 0), 6))),
    DESCRIBE_CONFIGS: (1, ((_V1, 0), ((1, 1, 0), 1), (_V2, 2), ((2, 6, 0), 3), ((2, 8, 0), 4))),
    **dict.fromkeys(
        (DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS), (1, ((_V1, 0), (_V2, 1), ((2, 5, 0), 2), ((3, 3, 0), 3)))
    ),
    ALTER_CONFIGS: (0, ((_V1, 0), (_V2, 1), ((2, 8, 0), 2))),
    ALTER_REPLICA_LOG_DIRS: (1, ((_V1, 0), (_V2, 1), ((2, 8, 0), 2))),
    DESCRIBE_LOG_DIRS: (1, ((_V1, 0), (_V2, 1), ((2, 6, 0), 2), ((3, 2, 0), 3), ((3, 3, 0), 4), ((4, 3, 0), 5))),
    CREATE_PARTITIONS: (0, ((_V1, 0), (_V2, 1), ((2, 5, 0), 2), ((2, 7, 0), 3))),
    DELETE_GROUPS: (0, (((1, 1, 0), 0), (_V2, 1), ((2, 4, 0), 2), ((4, 4, 0), 3))),
    ELECT_LEADERS: (0, (((2, 2, 0), 0), ((2, 4, 0), 2))),
    INCREMENTAL_ALTER_CONFIGS: (0, (((2, 3, 0), 0), ((2, 4, 0), 1))),
    ALTER_PARTITION_REASSIGNMENTS: (0, (((2, 4, 0), 0), ((4, 1, 0), 1))),
    LIST_PARTITION_REASSIGNMENTS: (0, (((2, 4, 0), 0),)),
    OFFSET_DELETE: (0, (((2, 4, 0), 0),)),
    DESCRIBE_CLIENT_QUOTAS: (0, (((2, 6, 0), 0), ((2, 8, 0), 1))),
    DESCRIBE_QUORUM: (0, (((2, 8, 0), 0), ((3, 3, 0), 1), ((3, 9, 0), 2))),
    UPDATE_FEATURES: (0, (((2, 7, 0), 0), ((3, 3, 0), 1), (_V4, 2))),
    DESCRIBE_CLUSTER: (0, (((2, 8, 0), 0), ((3, 7, 0), 1), (_V4, 2))),
    DESCRIBE_PRODUCERS: (0, (((2, 8, 0), 0),)),
    DESCRIBE_TRANSACTIONS: (0, ((_V3, 0),)),
    UNREGISTER_BROKER: (0, (((2, 8, 0), 0),)),
    LIST_TRANSACTIONS: (0, ((_V3, 0), ((3, 8, 0), 1), ((4, 1, 0), 2))),
    CONSUMER_GROUP_HEARTBEAT: (0, (((3, 7, 0), 0), ((4, 0, 0), 1))),
    CONSUMER_GROUP_DESCRIBE: (0, (((3, 8, 0), 0), ((4, 0, 0), 1))),
    LIST_CONFIG_RESOURCES: (0, (((3, 7, 0), 0), ((4, 1, 0), 1))),
    DESCRIBE_TOPIC_PARTITIONS: (0, (((3, 8, 0), 0),)),
}  # fmt: skip
"""API → its floor, and pairs of (release, ceiling from this release on)."""


def offered(release: Version, *, kraft: bool = True) -> dict[int, tuple[int, int]]:
    """Return API → (lowest, highest) version that a broker of this release and mode supports."""
    versions: dict[int, tuple[int, int]] = {}
    for api, (floor, ceilings) in CEILINGS.items():
        if api in KRAFT_ONLY and not kraft:
            continue
        reached = [ceiling for since, ceiling in ceilings if release >= since]
        if reached and reached[-1] >= floor:
            versions[api] = (floor, reached[-1])
    return versions


def advertised(ranges: dict[int, tuple[int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return (API, lowest, highest) of each API, as in the ApiVersions response."""
    return tuple((api, 0 if api in ADVERTISED_FROM_ZERO else low, high) for api, (low, high) in ranges.items())


# Errors that older versions of an API use instead of newer ones. Kafka replaces them wherever it makes a response
# (``KafkaApis``); here one table is applied to every response.


class VersionedError(NamedTuple):
    """First version of an API that has an error, and the error that earlier versions use instead."""

    version: int
    error: int
    before: int


_FENCED: Final = VersionedError(2, E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
"""Producers before 2.7 have one error for both (KIP-588)."""

ERROR_REPLACEMENTS: Final[dict[int, tuple[VersionedError, ...]]] = {
    PRODUCE: (VersionedError(4, E.KAFKA_STORAGE_ERROR, E.NOT_LEADER_OR_FOLLOWER),),
    FETCH: (VersionedError(6, E.KAFKA_STORAGE_ERROR, E.NOT_LEADER_OR_FOLLOWER),),
    LIST_OFFSETS: (VersionedError(5, E.OFFSET_NOT_AVAILABLE, E.LEADER_NOT_AVAILABLE),),
    INIT_PRODUCER_ID: (VersionedError(4, E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH),),
    ADD_PARTITIONS_TO_TXN: (_FENCED,),
    ADD_OFFSETS_TO_TXN: (_FENCED,),
    END_TXN: (_FENCED,),
    TXN_OFFSET_COMMIT: (VersionedError(2, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE),),
}
"""API → errors that older versions replace.

Versions of TxnOffsetCommit before 2 belong to producers that fail on the first error (KAFKA-7296).
"""


def with_known_errors(number: int, version: int, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a response of API ``number`` with errors that its version has."""
    changes = {each.error: each.before for each in ERROR_REPLACEMENTS.get(number, ()) if version < each.version}
    return _changed(fields, changes) if changes else fields


def _changed(fields: Mapping[str, Any], changes: Mapping[int, int]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        if name.endswith("error_code"):
            changed[name] = changes.get(value, value)
        elif isinstance(value, list):
            changed[name] = [_changed(each, changes) if isinstance(each, Mapping) else each for each in value]
        else:
            changed[name] = value
    return changed
