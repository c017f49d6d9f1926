"""Kafka's wire protocol, to and from what the simulation knows.

codec: requests and responses as bytes, by the message classes of `kio`.
api_versions: which APIs are offered, in which versions, by the release that the cluster runs.
compression: records compressed and unpacked, as Kafka frames them.
authorized_operations: what a client may do in a cluster without an authorizer.
record_batches: record batches as bytes (message format 2), of real clients and of the
  simulation's own producers.
record_times: times of the records in a batch of a real client.
older_errors: which error an older version of an API gets in place of one that it does not know.
context: what a handler works with: the cluster, where brokers listen, topic ids, and the call itself.

Builds on `cluster_model`, and on `playbooks.model` for what a record holds. It opens no socket.
"""

__all__ = [
    "api_versions",
    "authorized_operations",
    "codec",
    "compression",
    "context",
    "older_errors",
    "record_batches",
    "record_times",
]
