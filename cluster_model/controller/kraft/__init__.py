"""The control plane of KRaft mode.

control_plane: the quorum and the brokers of a cluster, and what the metadata log commits.
quorum_controller: the active controller (QuorumController), and its admin requests.
replication_control_manager: topics, partitions, ISR changes and configurations.
cluster_control_manager: registered brokers and their heartbeats; feature_control_manager: levels of features.
broker_side: a broker's registration and heartbeats, and how it applies metadata.
controller_channel: a broker's requests to the active controller (NodeToControllerChannelManager).
metadata: metadata records, their image and the loader; messages: broker to controller.

It builds on controller.raft for the metadata log and on controller.rules for decisions.
"""

__all__ = [
    "control_plane",
    "messages",
]
