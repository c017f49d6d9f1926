"""Known issues of consumers: fetching, positions, assignors, and what a member does in a rebalance."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

CONSUMER_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-14372",
        "Consumers are sent to a follower in their rack that is not in the ISR, and lag with it",
        "delivery",
        rule="reads_lagging_followers",
        needs="replica.selector.class RackAwareReplicaSelector and client.rack",
        seen="Consumers of one rack lag far behind, and those without client.rack do not.",
        workaround="Remove client.rack from the consumers until the follower is in sync.",
    ),
)
