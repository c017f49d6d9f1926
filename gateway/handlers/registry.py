"""Which handler answers which API."""

from typing import Final

from gateway.handlers import admin, configs, groups, inspection, metadata, produce_fetch
from gateway.protocol import api_versions
from gateway.protocol.context import Handler

HANDLERS: Final[dict[int, Handler]] = {
    api_versions.PRODUCE: produce_fetch.produce,
    api_versions.FETCH: produce_fetch.fetch,
    api_versions.LIST_OFFSETS: produce_fetch.list_offsets,
    api_versions.METADATA: metadata.metadata,
    api_versions.OFFSET_COMMIT: groups.offset_commit,
    api_versions.OFFSET_FETCH: groups.offset_fetch,
    api_versions.FIND_COORDINATOR: groups.find_coordinator,
    api_versions.JOIN_GROUP: groups.join_group,
    api_versions.HEARTBEAT: groups.heartbeat,
    api_versions.LEAVE_GROUP: groups.leave_group,
    api_versions.SYNC_GROUP: groups.sync_group,
    api_versions.DESCRIBE_GROUPS: groups.describe_groups,
    api_versions.LIST_GROUPS: groups.list_groups,
    api_versions.API_VERSIONS: metadata.api_versions,
    api_versions.CREATE_TOPICS: admin.create_topics,
    api_versions.DELETE_TOPICS: admin.delete_topics,
    api_versions.DELETE_RECORDS: admin.delete_records,
    api_versions.INIT_PRODUCER_ID: produce_fetch.init_producer_id,
    api_versions.EPOCH_ENDS: produce_fetch.epoch_ends,
    api_versions.ADD_PARTITIONS_TO_TXN: produce_fetch.add_partitions,
    api_versions.ADD_OFFSETS_TO_TXN: produce_fetch.add_offsets,
    api_versions.END_TXN: produce_fetch.end_txn,
    api_versions.TXN_OFFSET_COMMIT: groups.txn_offset_commit,
    api_versions.DESCRIBE_CONFIGS: configs.describe_configs,
    api_versions.DESCRIBE_ACLS: inspection.describe_acls,
    api_versions.ALTER_CONFIGS: configs.alter_configs,
    api_versions.DESCRIBE_LOG_DIRS: inspection.describe_log_dirs,
    api_versions.CREATE_PARTITIONS: admin.create_partitions,
    api_versions.DELETE_GROUPS: groups.delete_groups,
    api_versions.ELECT_LEADERS: admin.elect_leaders,
    api_versions.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
    api_versions.ALTER_PARTITION_REASSIGNMENTS: admin.alter_partition_reassignments,
    api_versions.LIST_PARTITION_REASSIGNMENTS: admin.list_partition_reassignments,
    api_versions.OFFSET_DELETE: groups.offset_delete,
    api_versions.DESCRIBE_CLIENT_QUOTAS: inspection.describe_client_quotas,
    api_versions.UPDATE_FEATURES: admin.update_features,
    api_versions.DESCRIBE_QUORUM: inspection.describe_quorum,
    api_versions.DESCRIBE_CLUSTER: metadata.describe_cluster,
    api_versions.DESCRIBE_PRODUCERS: inspection.describe_producers,
    api_versions.DESCRIBE_TRANSACTIONS: inspection.describe_transactions,
    api_versions.LIST_TRANSACTIONS: inspection.list_transactions,
    api_versions.CONSUMER_GROUP_HEARTBEAT: groups.consumer_group_heartbeat,
    api_versions.CONSUMER_GROUP_DESCRIBE: groups.describe_consumer_groups,
}
