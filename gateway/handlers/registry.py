"""Which handler answers which API."""

from typing import Final

from gateway import apis
from gateway.handlers import (
    administering,
    committing,
    consuming,
    fetching,
    grouping,
    metadata,
    producing,
    transacting,
)
from gateway.house import Handler

HANDLERS: Final[dict[int, Handler]] = {
    apis.PRODUCE: producing.produce,
    apis.FETCH: fetching.fetch,
    apis.LIST_OFFSETS: fetching.list_offsets,
    apis.METADATA: metadata.metadata,
    apis.OFFSET_COMMIT: committing.offset_commit,
    apis.OFFSET_FETCH: committing.offset_fetch,
    apis.FIND_COORDINATOR: grouping.find_coordinator,
    apis.JOIN_GROUP: grouping.join_group,
    apis.HEARTBEAT: grouping.heartbeat,
    apis.LEAVE_GROUP: grouping.leave_group,
    apis.SYNC_GROUP: grouping.sync_group,
    apis.DESCRIBE_GROUPS: grouping.describe_groups,
    apis.LIST_GROUPS: grouping.list_groups,
    apis.API_VERSIONS: metadata.api_versions,
    apis.CREATE_TOPICS: administering.create_topics,
    apis.DELETE_TOPICS: administering.delete_topics,
    apis.DELETE_RECORDS: administering.delete_records,
    apis.INIT_PRODUCER_ID: transacting.init_producer_id,
    apis.EPOCH_ENDS: fetching.epoch_ends,
    apis.ADD_PARTITIONS_TO_TXN: transacting.add_partitions,
    apis.ADD_OFFSETS_TO_TXN: transacting.add_offsets,
    apis.END_TXN: transacting.end_txn,
    apis.TXN_OFFSET_COMMIT: committing.txn_offset_commit,
    apis.DESCRIBE_CONFIGS: administering.describe_configs,
    apis.CREATE_PARTITIONS: administering.create_partitions,
    apis.DELETE_GROUPS: grouping.delete_groups,
    apis.ELECT_LEADERS: administering.elect_leaders,
    apis.INCREMENTAL_ALTER_CONFIGS: administering.alter_configs,
    apis.OFFSET_DELETE: committing.offset_delete,
    apis.DESCRIBE_CLUSTER: metadata.describe_cluster,
    apis.CONSUMER_GROUP_HEARTBEAT: consuming.heartbeat,
    apis.CONSUMER_GROUP_DESCRIBE: consuming.describe,
}
