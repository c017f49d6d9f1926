"""Replication and consumer fetches: how records get from a leader's log to followers and consumers.

fetch_reads: what a fetch reads from a leader or a follower, and the preferred read replica of a consumer.
replica_fetcher: the fetcher threads of a follower and their manager.
replication_quota: replication throttles of a broker.

It builds on broker.partition.
"""

from cluster_model.broker.fetch.replica_fetcher import FetcherDelay

__all__ = [
    "FetcherDelay",
]
