"""Known issues of group coordinators: joining, rebalances, commits and their expiry, loading of groups."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

GROUP_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-4682",
        "Committed offsets expire while the members of their group are alive, if there is nothing new to commit",
        "delivery",
        rule="group_retention",
        since=(0, 9),
        seen="After a restart consumers of a quiet topic begin by auto.offset.reset: at its beginning, or at its end.",
        workaround="Set offsets.retention.minutes longer than any topic is quiet; or commit unchanged offsets, too.",
    ),
    KnownIssue(
        "KAFKA-9752",
        "A new member that fails after its first join keeps its group in that rebalance",
        "stuck group",
        rule="forgets_new_sessions",
        seen="A new group stays in CompletingRebalance for ever, and its members wait for their assignment.",
        workaround="Start another member, which begins a new rebalance.",
    ),
    KnownIssue(
        "KAFKA-9801",
        "A static member that returns between join and sync gets no partitions; with a leader nobody does",
        "stuck group",
        rule="completes_without_rejoined",
        needs="group.instance.id",
        seen="A group is Stable, and a member, or every one, owns no partition.",
        workaround="Remove the member, or stop it for longer than its session timeout, to begin another rebalance.",
    ),
    KnownIssue(
        "KAFKA-10284",
        "The new member id of a static member that returns to a Stable group is not stored",
        "stuck group",
        rule="forgets_static_rejoins",
        needs="group.instance.id",
        seen="After its coordinator moved, a member that was restarted before ends with FencedInstanceIdException.",
        workaround="Restart the member that ended; it joins under its instance id again.",
    ),
    KnownIssue(
        "KAFKA-13636",
        "Offsets of a group expire while it rebalances, by the subscriptions of the generation before",
        "delivery",
        rule="expires_in_rebalance",
        seen="A group that was empty for a moment has no committed offsets; its members begin by auto.offset.reset.",
        workaround="Set offsets.retention.minutes longer than any topic is without records.",
    ),
    KnownIssue(
        "KAFKA-19233",
        "A member of the consumer protocol that joins again is fenced until its session ends",
        "stuck group",
        rule="fences_rejoins",
        needs="group.protocol consumer",
        mode="kraft",
        seen="A member logs FENCED_MEMBER_EPOCH again and again, and nobody reads its partitions.",
        workaround="Restart the member, which then has a new member id; or shorten group.consumer.session.timeout.ms.",
    ),
)
