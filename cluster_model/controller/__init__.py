"""The control plane: who leads which partition, and how brokers learn of it.

control_plane_interface: what a cluster and its brokers use of either control plane, and the view
  of its members.
committed_state: the decided state of partitions, and the topics with their replicas.
cluster_parts: disks, topics and replicas of a cluster at its first instant, from its spec.
zookeeper_settings: settings of a ZooKeeper-mode controller; the checker needs them in both modes.
metadata_delay: metadata that a fault holds back at a process.
immediate_controller: a controller that decides at once, for the hand-stepped cluster.

rules holds the pure decisions, kraft and zookeeper the two control planes, raft the metadata quorum.
"""

from cluster_model.controller.committed_state import PartitionRecord
from cluster_model.controller.control_plane_interface import ControllerView

__all__ = [
    "ControllerView",
    "PartitionRecord",
]
