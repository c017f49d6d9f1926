"""Handlers of Kafka APIs: each turns one request of a real client into requests of the simulation.

registry: API key → handler.
metadata: ApiVersions, Metadata, DescribeCluster.
produce_fetch: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, and the APIs of transactions (KIP-98).
groups: group membership, offsets, and the consumer protocol (KIP-848).
admin: topics, partitions, records, elections and reassignments.
configs: configurations of topics and brokers.
inspection: queries about producers, transactions, log directories, quotas and ACLs.

A handler is a generator that yields model requests and returns the fields of its response. Builds on
`gateway.protocol`, and does not depend on connections.
"""

__all__ = [
    "registry",
]
