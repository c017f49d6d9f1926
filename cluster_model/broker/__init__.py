"""One broker: its replicas, the requests it serves, and the requests it delays.

broker: puts the parts together; request_handler: produce, fetch and ListOffsets requests.
replica_manager: the replicas that the broker hosts, and which of them changed; topic_configs: topic configuration.
purgatory: delayed fetches, produces and deletions; append_queue: appends to a slow or failing disk.
muted_connections: requests behind one that has no response yet.
hosted_coordinators: the interface of coordinators to the broker that hosts them, and blocks of producer ids.
control_plane_client: the interface between a broker and its control plane.

The packages partition, storage and fetch hold the replica, the disk and replication. This package does not import the
control planes.
"""

from cluster_model.broker.control_plane_client import ListenerState
from cluster_model.broker.topic_configs import TopicConfigs, topic_of

__all__ = [
    "ListenerState",
    "TopicConfigs",
    "topic_of",
]
