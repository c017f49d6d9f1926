"""Known issues of consumers: fetching, positions, assignors, and what a member does in a rebalance."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

CONSUMER_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-9212",
        "Consumers are fenced while their partition is moved, as brokers have its leader epoch of before the move",
        "delivery",
        rule="stale_epoch_in_move",
        mode="zookeeper",
        seen="A consumer that starts during a reassignment reads nothing before it ends: FENCED_LEADER_EPOCH.",
        workaround="Move with a higher throttle; restart no consumers until the move has ended.",
    ),
    KnownIssue(
        "KAFKA-16224",
        "A member commits again and again before a revocation, as a topic of the commit was deleted",
        "stuck group",
        rule="retries_deleted_topic",
        needs="group.protocol consumer and enable.auto.commit",
        mode="kraft",
        seen="After a topic was deleted a group is Reconciling for max.poll.interval.ms; new members get nothing.",
        workaround="Remove the topic from the subscription before it is deleted; or restart the member.",
    ),
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
