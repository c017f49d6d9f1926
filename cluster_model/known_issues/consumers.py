"""Known issues of consumers: fetching, positions, assignors, and what a member does in a rebalance."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

CONSUMER_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-13406",
        "The leader of a cooperative group fails if another member claims partitions of an older generation",
        "stuck group",
        rule="validates_cooperative",
        needs="CooperativeStickyAssignor",
        seen="One leader after another ends with IllegalStateException; the group never gets out of its rebalance.",
        workaround="Stop all members, and start them again; or use another assignor.",
    ),
    KnownIssue(
        "KAFKA-14016",
        "A member gives all its partitions up if a rebalance begins before it got its assignment of the last one",
        "delivery",
        rule="loses_generation_in_sync",
        needs="CooperativeStickyAssignor",
        seen="When members join one after another, most partitions of the group are lost and read late.",
        workaround="Start members at longer intervals, or all at once.",
    ),
    KnownIssue(
        "KAFKA-14639",
        "A partition moves to another cooperative member while its owner still reads it",
        "delivery",
        rule="claims_by_partition",
        since=(2, 8, 1),
        needs="CooperativeStickyAssignor",
        seen="Records are processed by two members at once around a rebalance that one of them missed.",
        workaround="Make processing idempotent; or use an eager assignor.",
    ),
    KnownIssue(
        "KAFKA-12983",
        "A cooperative member that loses its generation while it joins keeps partitions that others have read since",
        "delivery",
        rule="prepares_once",
        needs="CooperativeStickyAssignor",
        seen="After a long pause of a member records of its partitions are processed twice.",
        workaround="Set session.timeout.ms longer than pauses; or use another assignor.",
    ),
    KnownIssue(
        "KAFKA-12984",
        "Two cooperative members that claim one partition both keep it",
        "delivery",
        rule="cooperative_generation",
        since=(2, 5, 1),
        needs="CooperativeStickyAssignor",
        seen="Two members of a group read one partition, and commit its offsets in turn; or IllegalStateException.",
        workaround="Restart one of the two members.",
    ),
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
