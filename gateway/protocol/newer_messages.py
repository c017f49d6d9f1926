"""Message classes of API versions of Kafka 4.4 that ``kio`` does not have yet, in its form.

ApiVersions 5 (KIP-1242), TxnOffsetCommit 6 (KIP-1319) and DeleteGroups 3 (KIP-1331). Fields are in the order of the
wire. A parent class is that of the version before, where nothing in between was changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final
from uuid import UUID

from kio.schema.api_versions.v4.request import ApiVersionsRequest as ApiVersionsRequest4
from kio.schema.api_versions.v4.response import ApiVersionsResponse as ApiVersionsResponse4
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest as DeleteGroupsRequest2
from kio.schema.delete_groups.v2.response import DeletableGroupResult as DeletableGroupResult2
from kio.schema.delete_groups.v2.response import DeleteGroupsResponse as DeleteGroupsResponse2
from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest as TxnOffsetCommitRequest5
from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequestPartition
from kio.schema.txn_offset_commit.v5.response import TxnOffsetCommitResponse as TxnOffsetCommitResponse5
from kio.schema.txn_offset_commit.v5.response import TxnOffsetCommitResponsePartition
from kio.static.primitive import i16, i32

from gateway.protocol import api_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest5(ApiVersionsRequest4):
    """ApiVersions with the broker that the client means to reach: both fields or neither (KIP-1242)."""

    __version__: ClassVar[i16] = i16(5)
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse5(ApiVersionsResponse4):
    """Response to ApiVersions, which may have the error REBOOTSTRAP_REQUIRED (KIP-1242)."""

    __version__: ClassVar[i16] = i16(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitTopic6:
    """Topic of a commit in a transaction, by its id (KIP-1319)."""

    __type__: ClassVar = TxnOffsetCommitRequestPartition.__type__
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(api_versions.TXN_OFFSET_COMMIT)
    __header_schema__: ClassVar[Any] = TxnOffsetCommitRequest5.__header_schema__
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest6(TxnOffsetCommitRequest5):
    """Commit of offsets in a transaction, with topic ids in place of names (KIP-1319)."""

    __version__: ClassVar[i16] = i16(6)
    topics: tuple[TxnOffsetCommitTopic6, ...]  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResult6:
    """Results of a topic of a commit in a transaction, by its id (KIP-1319)."""

    __type__: ClassVar = TxnOffsetCommitResponsePartition.__type__
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(api_versions.TXN_OFFSET_COMMIT)
    __header_schema__: ClassVar[Any] = TxnOffsetCommitResponse5.__header_schema__
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse6(TxnOffsetCommitResponse5):
    """Response to a commit of offsets in a transaction, with topic ids in place of names (KIP-1319)."""

    __version__: ClassVar[i16] = i16(6)
    topics: tuple[TxnOffsetCommitResult6, ...]  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest3(DeleteGroupsRequest2):
    """DeleteGroups, whose body is as before (KIP-1331)."""

    __version__: ClassVar[i16] = i16(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult3(DeletableGroupResult2):
    """Result of the deletion of one group, with a message (KIP-1331)."""

    __version__: ClassVar[i16] = i16(3)
    error_message: str | None = field(metadata={"kafka_type": "string"}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse3(DeleteGroupsResponse2):
    """Response to DeleteGroups (KIP-1331)."""

    __version__: ClassVar[i16] = i16(3)
    results: tuple[DeletableGroupResult3, ...]


REQUESTS: Final[Mapping[tuple[int, int], Any]] = MappingProxyType({
    (api_versions.API_VERSIONS, 5): ApiVersionsRequest5,
    (api_versions.TXN_OFFSET_COMMIT, 6): TxnOffsetCommitRequest6,
    (api_versions.DELETE_GROUPS, 3): DeleteGroupsRequest3,
})  # fmt: skip
"""(API, version) → class of the request."""

RESPONSES: Final[Mapping[tuple[int, int], Any]] = MappingProxyType({
    (api_versions.API_VERSIONS, 5): ApiVersionsResponse5,
    (api_versions.TXN_OFFSET_COMMIT, 6): TxnOffsetCommitResponse6,
    (api_versions.DELETE_GROUPS, 3): DeleteGroupsResponse3,
})  # fmt: skip
"""(API, version) → class of the response."""
