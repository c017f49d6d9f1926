"""Kafka's wire protocol, converted to and from the simulation's requests and responses.

codec: requests and responses as bytes, by the message classes of `kio`.
newer_messages: message classes of API versions that `kio` does not have yet.
api_versions: APIs and versions offered by each Kafka release, and the errors that older API versions use instead of
  newer ones.
record_batches: record batches as bytes (message format 2), of real clients and of the simulation's own producers:
  compression and timestamps of records.
context: context of a handler: the cluster, the brokers' addresses, topic ids, authorized operations, and the call
  itself.

Builds on `cluster_model`, and on `playbooks.model` for record contents. It opens no socket.
"""

__all__ = [
    "api_versions",
    "codec",
    "context",
    "newer_messages",
    "record_batches",
]
