"""Kafka's consumer client, with its group membership and its application.

consumer: the process and its poll loop, and a consume-process-produce application, with transactions if configured.
fetcher: fetches; subscription_state: positions and offset resets.
coordinator and membership: the classic group protocol; consumer_protocol: KIP-848; config: settings of both.
offset_commits: offset commits under either protocol.
record_handler: processing of records by the application, its failures and dead-letter records.
"""

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.consumer.subscription_state import reset_policy

__all__ = [
    "Consumer",
    "GroupSettings",
    "record_handler",
    "reset_policy",
]
