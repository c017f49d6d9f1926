"""Consumer groups of a session as ``kafka-consumer-groups.sh`` shows them at a time."""

from collections.abc import Iterable

from cluster_model import cluster_overview
from cluster_model.cluster import Cluster
from cluster_model.coordinators.group import GroupState, Table, member_table, offset_table, partitions_of, state_table
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.group_messages import DescribedGroup
from cluster_model.util.quantities import listed
from playbooks.errors import nearest, shown


def groups_of(cluster: Cluster) -> list[str]:
    """Return the names of all coordinated groups: those of the playbook and others with committed offsets."""
    found = [spec.name for spec in cluster.spec.groups if cluster_overview.is_coordinated(cluster, spec)]
    for each in cluster.coordinators.values():
        found += [*each.registry.groups, *each.consumer_groups.groups]
    return sorted(dict.fromkeys(found))


def describe_group(cluster: Cluster, group: str) -> DescribedGroup:
    """Return the group as its coordinator would describe it now.

    Raises:
        ModelError: there is no such group, it has no coordinator, or the coordinator cannot answer now.
    """
    groups = groups_of(cluster)
    if group not in groups:
        if any(spec.name == group for spec in cluster.spec.groups):
            raise ModelError(
                f"group {shown(group)} has no coordinator: its members are assigned their partitions manually",
                code="no_coordinator",
            )
        known_groups = (
            f"; known groups: {listed(groups, 'and')}{nearest(group, groups)}" if groups else "; known groups: none"
        )
        raise ModelError(f"no group {shown(group)}{known_groups}", code="no_group")
    broker = cluster_overview.coordinator(cluster, group)
    if broker < 0:
        raise ModelError(f"the __consumer_offsets partition of group {shown(group)} has no leader", code="no_leader")
    if not cluster.is_up(broker):
        raise ModelError(f"broker {broker}, the coordinator of group {shown(group)}, is down", code="coordinator_down")
    registry = cluster.coordinators[broker].registry
    refused = registry.status(group)
    if refused:
        raise ModelError(
            f"broker {broker}, the coordinator of group {shown(group)}, answers {refused.name}",
            code="coordinator_refuses",
        )
    return cluster.coordinators[broker].described(group)


def offsets(cluster: Cluster, group: DescribedGroup) -> Table:
    """Return the table of ``--describe``; LOG-END-OFFSET is the actual high watermark."""
    found = cluster_overview.group_metadata(cluster, group.group_id)
    committed = {} if found is None else {name: value.offset for name, value in found.offsets.committed.items()}
    return offset_table(group, committed, _ends(cluster, partitions_of(group, committed)), cluster.name_of)


def _ends(cluster: Cluster, partitions: Iterable[str]) -> dict[str, int]:
    """Return high watermarks, without those of partitions that are deleted or have no leader."""
    query, there = cluster.query, cluster.cluster_state.records
    return {name: query.hw(name) for name in partitions if name in there and query.leader(name) >= 0}


def members(cluster: Cluster, group: DescribedGroup) -> Table:
    """Return the table of ``--describe --members --verbose``."""
    return member_table(group, cluster.name_of, verbose=True)


def state(cluster: Cluster, group: DescribedGroup) -> Table:
    """Return the table of ``--describe --state``."""
    return state_table(group, cluster_overview.coordinator(cluster, group.group_id), cluster.name_of)


def states(cluster: Cluster) -> Table:
    """Return the table of all groups; the state is ``-`` where the coordinator cannot answer."""
    table: Table = []
    for name in groups_of(cluster):
        try:
            group = describe_group(cluster, name)
        except ModelError:
            group = DescribedGroup(name, 0, "-")
        if group.state != GroupState.DEAD:
            heads, row = state(cluster, group)
            table = [*(table or [heads]), row]
    return table
