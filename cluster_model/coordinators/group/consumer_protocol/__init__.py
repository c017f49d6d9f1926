"""The consumer protocol at the coordinator (KIP-848).

consumer_group: a group, its records, its settings and its commits, and regular expressions of its subscriptions,
compiled by a function that is passed in.
heartbeat: handling of heartbeats, reconciliation of members, and descriptions of groups.

It has no input or output; coordinators.group drives it. It builds on assignors.
"""

from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    COMPILED_PATTERNS,
    PatternError,
    PatternMatcher,
    enabled,
)

__all__ = [
    "COMPILED_PATTERNS",
    "PatternError",
    "PatternMatcher",
    "enabled",
]
