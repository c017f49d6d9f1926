"""The consumer, with its group membership and its application.

consumer: polls, delivery and how it joins; also an application that writes what it reads, in transactions if wanted.
fetcher: fetches; subscription_state: positions and offset resets.
coordinator and membership: the classic protocol; consumer_protocol: KIP-848; config: settings of both.
offset_commits: commits, whatever the protocol.
record_handler: how the application handles records, failures and dead letters.
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
