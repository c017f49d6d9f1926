"""The consumer protocol at the coordinator (KIP-848).

consumer_group: a group, its records, its settings and its commits.
heartbeat: what a heartbeat does, how members are reconciled, and how a group is described.
subscription_patterns: regular expressions of subscriptions, compiled by a function that is passed in.

It has no input or output; coordinators.group drives it. It builds on assignors.
"""

from cluster_model.coordinators.group.consumer_protocol.consumer_group import enabled
from cluster_model.coordinators.group.consumer_protocol.subscription_patterns import (
    COMPILED_PATTERNS,
    PatternError,
    PatternMatcher,
)

__all__ = [
    "COMPILED_PATTERNS",
    "PatternError",
    "PatternMatcher",
    "enabled",
]
