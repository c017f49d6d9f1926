"""How records get from a leader's log to followers and consumers.

fetch_reads: what a fetch reads of a leader or of a follower, and which replica a consumer is sent to.
replica_fetcher: the fetcher threads of a follower and their manager.
replication_quota: replication throttles of a broker.

It builds on broker.partition.
"""

from cluster_model.broker.fetch.replica_fetcher import Busy

__all__ = [
    "Busy",
]
