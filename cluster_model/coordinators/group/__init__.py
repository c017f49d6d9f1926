"""The group coordinator of a broker.

group_coordinator: the requests it handles, and the creation of missing internal topics.
group_metadata: a group, its members, its offsets, its records and its settings.
group_metadata_manager: all groups of a coordinator, loaded from __consumer_offsets.
membership and offset_commits: the classic protocol: rebalances, members and commits.
consumer_group_manager: groups of the consumer protocol, whose rules are in consumer_protocol.
consumer_groups_tool: the tables and resets of kafka-consumer-groups.sh.
"""

from cluster_model.coordinators.group.consumer_groups_tool import (
    MISSING,
    PartitionOffsets,
    ResetError,
    Strategy,
    Table,
    aligned,
    list_table,
    member_table,
    new_offset,
    offset_table,
    partitions_of,
    refusal,
    reset_table,
    state_table,
    warning,
)
from cluster_model.coordinators.group.group_metadata import GroupState

__all__ = [
    "MISSING",
    "GroupState",
    "PartitionOffsets",
    "ResetError",
    "Strategy",
    "Table",
    "aligned",
    "list_table",
    "member_table",
    "new_offset",
    "offset_table",
    "partitions_of",
    "refusal",
    "reset_table",
    "state_table",
    "warning",
]
