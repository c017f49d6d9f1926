"""Shared types of the cluster model: messages, events, errors, versions and configurations.

messages, group_messages, transaction_messages, admin_messages: requests and responses of clients and brokers.
records: batches, compaction holes, corruption and fetched slices of a log, and compression codecs.
events: everything that the model reports; it can be imported without the rest of the model.
errors: Kafka's error codes and the model's exceptions.
releases: Kafka's release lines and patches; versions: the rules of each release.
features: feature levels of a cluster by release.
config_defs: the configuration keys; config_defaults: their defaults by release; configs: typed values in model units,
for brokers, topics, clients and their connections, KRaft and ZooKeeper controllers.

It depends on util only. The messages between controllers and brokers are in the package of each control plane.
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
    "releases",
    "transaction_messages",
    "versions",
]
