"""Each broker's metadata cache and leaderships, compared with the committed state. Omniscient.

For views and conditions only. A broker whose process is down has no metadata.
"""

from typing import Final, Protocol

from cluster_model.observation.cluster_state import ClusterState
from cluster_model.observation.views import CachedMetadataView
from cluster_model.protocol.messages import NO_LEADER, PartitionState

_NOTHING: Final = -1


class ControllerInfo(Protocol):
    """Information on controllers for views and conditions, from a control plane or a manual cluster's controller."""

    def controllers(self) -> tuple[int, ...]:
        """Return the nodes that are or may become the controller."""

    def active(self) -> int:
        """Return the active controller's node, NO_LEADER if there is none."""

    def controller_epoch(self) -> int:
        """Return the epoch of the newest controller."""

    def is_live(self, broker: int) -> bool:
        """Whether a broker is registered and unfenced."""


def stale(cluster_state: ClusterState, broker: int) -> int:
    """Return the number of partitions that are older in a broker's metadata, or missing; 0 while it is down."""
    if not cluster_state.is_up(broker):
        return 0
    known = cluster_state.cached_states(broker)
    return sum(_is_outdated(known.get(name), record.state) for name, record in cluster_state.records.items())


def _is_outdated(cached: PartitionState | None, decided: PartitionState) -> bool:
    if cached is decided:
        return False
    if cached is None:
        return True
    if cached.topic_id and decided.topic_id and cached.topic_id != decided.topic_id:
        return True
    return (cached.leader_epoch, cached.partition_epoch) < (decided.leader_epoch, decided.partition_epoch)


def outdated(cluster_state: ClusterState) -> dict[str, list[CachedMetadataView]]:
    """Return partition → the states in running brokers' caches that are older than the committed one."""
    views: dict[str, list[CachedMetadataView]] = {}
    for broker in filter(cluster_state.is_up, cluster_state.brokers):
        known = cluster_state.cached_states(broker)
        for name, record in cluster_state.records.items():
            state = known.get(name)
            if state is not record.state and _is_outdated(state, record.state):
                views.setdefault(name, []).append(_cached_view(broker, state))
    return views


def _cached_view(broker: int, state: PartitionState | None) -> CachedMetadataView:
    if state is None:
        return CachedMetadataView(broker, NO_LEADER, _NOTHING, _NOTHING, ())
    return CachedMetadataView(broker, state.leader, state.leader_epoch, state.partition_epoch, state.isr)


def believed_leader(cluster_state: ClusterState, partition: str, broker: int) -> int:
    """Return the leader in a broker's metadata, NO_LEADER if unknown, or if the broker is down."""
    cluster_state.record(partition)
    state = cluster_state.cached_states(broker).get(partition) if cluster_state.is_up(broker) else None
    return NO_LEADER if state is None else state.leader


def leaders(cluster_state: ClusterState, partition: str) -> tuple[int, ...]:
    """Return every running broker that believes it leads a partition, in the order of ids."""
    cluster_state.record(partition)
    replicas = cluster_state.replicas.get(partition, {})
    return tuple(sorted(b for b, each in replicas.items() if each.leadership is not None and cluster_state.is_up(b)))
