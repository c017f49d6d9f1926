"""The control plane of ZooKeeper mode: a KafkaController in every broker.

control_plane: the ensemble and the brokers of a cluster, and their state at the start.
kafka_controller: election, broker and topic changes, preferred leaders; state_machines:
  partitions and replicas.
reassignment and topic_deletion: the two operations of many steps.
controller_context, controller_event_queue: the controller's state; its event thread and operations.
controller_channels: requests to brokers; controller_requests: their handling by a broker; messages: both.
broker_side: a broker's session, registration and controlled shutdown; isr_update: its ISR changes.
kafka_zk_client: the znodes; zk_admin_manager: topics and configurations changed by administrators,
  and their responses, delayed until the broker has the metadata.

It builds on zookeeper (the ensemble), controller and controller.rules.
"""

__all__ = [
    "control_plane",
    "messages",
]
