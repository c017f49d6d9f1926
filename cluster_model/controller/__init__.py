"""The control plane: partition leadership, and how brokers learn of it.

committed_state: the committed state of partitions and topics, and metadata updates that a fault delays.
cluster_parts: disks, topics and replicas of a new cluster, and the interface of its control plane.
immediate_controller: a controller that commits at once, for the manually stepped cluster.

rules holds the pure decisions, kraft and zookeeper the two control planes, raft the metadata quorum.
"""

from cluster_model.controller.cluster_parts import ControllerView, assign_replicas
from cluster_model.controller.committed_state import CommittedPartition

__all__ = [
    "CommittedPartition",
    "ControllerView",
    "assign_replicas",
]
