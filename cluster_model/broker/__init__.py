"""One broker: its replicas, the requests it serves, and those that it delays.

broker: puts the parts together; request_handler: produce, fetch and ListOffsets requests.
replica_manager: which replicas the broker hosts and what changed of them; topic_configs: the topics' settings.
purgatory: delayed fetches, produces and deletions; append_queue: appends to a slow or failing disk.
hosted_coordinators: what a coordinator needs of the broker that hosts it, and the blocks of producer ids.
control_plane_client: what a broker asks of its control plane, and what that may ask of it.

partition, storage and fetch hold the replica, the disk and replication. The control planes are not known here.
"""

from cluster_model.broker.control_plane_client import ListenerState
from cluster_model.broker.topic_configs import TopicSettings, topic_of

__all__ = [
    "ListenerState",
    "TopicSettings",
    "topic_of",
]
