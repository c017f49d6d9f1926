"""Shared types of the cluster model: messages, events, errors, versions and configurations.

messages, group_messages, transaction_messages, admin_messages: requests and responses of clients and brokers.
records: batches, compaction holes, corruption and fetched slices of a log, and compression codecs.
events: everything that the model reports; it can be imported without the rest of the model.
errors: Kafka's error codes and the model's exceptions.
releases: Kafka's release lines and patches; versions: the rules of each release.
metadata_versions: levels of inter.broker.protocol.version and metadata.version; features: feature levels by release.
rule_gates: rules that need a finalized level, or a request that both ends support, apart from the release.
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
    "metadata_versions",
    "records",
    "releases",
    "rule_gates",
    "transaction_messages",
    "versions",
]
