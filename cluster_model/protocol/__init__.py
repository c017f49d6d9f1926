"""What all parts of the model exchange: messages, events, errors, versions and configurations.

messages, group_messages, transaction_messages, admin_messages: requests and responses of clients and brokers.
records: batches, compaction holes, damage and slices of a log as a fetch carries them, and compression codecs.
events: everything that the model reports; it can be imported without the rest of the model.
errors: Kafka's error codes and the model's exceptions; versions: what each Kafka release does.
features: the features of a cluster, and their levels by release.
config_defs: the configuration keys; config_defaults: their defaults by release; configs: values in model units,
of brokers, topics, clients and their connections, controllers, quorum and ensemble.

It builds on util only. The messages between controllers and brokers live beside each control plane.
"""

__all__ = [
    "admin_messages",
    "config_defaults",
    "config_defs",
    "configs",
    "errors",
    "events",
    "features",
    "group_messages",
    "messages",
    "records",
    "transaction_messages",
    "versions",
]
