"""Kafka's wire protocol, to and from what the simulation knows.

codec: requests and responses as bytes, by the message classes of `kio`.
api_versions: which APIs are offered, in which versions, by the release that the cluster runs; and which error an older
  version gets in place of one that it does not know.
record_batches: record batches as bytes (message format 2), of real clients and of the
  simulation's own producers: records compressed and unpacked, and their times.
context: what a handler works with: the cluster, where brokers listen, topic ids, what a client may do, and the
  call itself.

Builds on `cluster_model`, and on `playbooks.model` for what a record holds. It opens no socket.
"""

__all__ = [
    "api_versions",
    "codec",
    "context",
    "record_batches",
]
