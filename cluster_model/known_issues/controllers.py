"""Known issues of controllers: elections, registrations, reassignments, and the quorum."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

CONTROLLER_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-19522",
        "With an empty ISR and an empty ELR the last known leader is elected although it is fenced",
        "availability",
        rule="fenced_last_known",
        needs="eligible.leader.replicas.version 1",
        mode="kraft",
        seen="A partition has a leader that no client reaches; the broker registered, and died before it was unfenced.",
        workaround="Start that broker again; or turn eligible.leader.replicas.version off.",
    ),
    KnownIssue(
        "KAFKA-19294",
        "Two long waits of a broker between heartbeats let the controller fence it although it is healthy",
        "availability",
        rule="heartbeat_retry_flat",
        since=(3, 3),
        mode="kraft",
        seen="After an outage or overload of the controllers, brokers that are up are fenced for some seconds, and "
        "their leaderships move.",
        workaround="Raise broker.session.timeout.ms, which gives a broker more attempts before it is fenced.",
    ),
    KnownIssue(
        "KAFKA-15665",
        "A reassignment to fewer replicas completes although some of those that stay are out of sync",
        "availability",
        rule="adding_completes",
        mode="kraft",
        seen="A broker is down during a reassignment: the ISR falls below min.insync.replicas when the move ends, "
        "and producers with acks=all get NOT_ENOUGH_REPLICAS.",
        workaround="Reassign partitions only while all brokers that keep or get a replica are in sync.",
    ),
    KnownIssue(
        "KAFKA-19975",
        "A reassignment does not complete while a broker that keeps its replica is down",
        "availability",
        rule="reassign_by_adding",
        since=(3, 8),
        mode="kraft",
        seen="A reassignment away from a failing broker stays in progress, with more replicas than configured, for as "
        "long as another replica of the partition is out of sync.",
        workaround="Reassign the replica of the broker that is down as well.",
    ),
    KnownIssue(
        "KAFKA-14337",
        "Creating a topic with a dot in its name again makes the controller resign",
        "availability",
        rule="keeps_freed_names",
        needs="a topic with a dot in its name that was deleted",
        mode="kraft",
        seen="CreateTopics fails with UNKNOWN_SERVER_ERROR, and another controller becomes active, at every attempt.",
        workaround="Give the new topic another name, which must differ in more than dots and underscores.",
    ),
    KnownIssue(
        "KAFKA-14996",
        "A request that needs more than 10,000 records makes the controller resign",
        "availability",
        rule="bounds_operations",
        since=(3, 3),
        mode="kraft",
        seen="Creating very many partitions or topics in one request fails with UNKNOWN_SERVER_ERROR, and another "
        "controller becomes active, at every retry.",
        workaround="Send smaller requests.",
    ),
    KnownIssue(
        "KAFKA-15021",
        "Every shrink of the ISR raises the leader epoch although the leader stays",
        "availability",
        rule="no_bump_on_shrink",
        since=(3, 3),
        mode="kraft",
        seen="When a follower leaves the ISR, all followers restart fetching, and clients get errors such as "
        "FENCED_LEADER_EPOCH until they have new metadata.",
        workaround="Raise replica.lag.time.max.ms so that followers leave the ISR less often.",
    ),
    KnownIssue(
        "KAFKA-15489",
        "A KRaft leader that the other voters cannot reach stays active, and brokers stay with it",
        "availability",
        rule="check_quorum",
        since=(3, 3),
        mode="kraft",
        seen="Two controllers are active after a network partition. Brokers that reach only the old one get no "
        "response to heartbeats, and the new one fences them.",
        workaround="Restart the old controller, which then finds the new one.",
    ),
    KnownIssue(
        "KAFKA-1120",
        "A broker that restarts while the controller is busy never learns that it leads",
        "availability",
        rule="bounce_detected",
        since=(0, 8, 2),
        mode="zookeeper",
        seen="After a quick restart of a broker clients get NOT_LEADER_OR_FOLLOWER for its partitions from the very "
        "broker that kafka-topics.sh shows as their leader.",
        workaround="Stop that broker until the controller has elected other leaders, then start it again.",
    ),
    KnownIssue(
        "KAFKA-5083",
        "The last in-sync replica is removed from the ISR, and cannot lead once unclean elections are off again",
        "availability",
        rule="keeps_last_isr",
        since=(0, 8, 2),
        needs="unclean.leader.election.enable true at the time of the last failure",
        mode="zookeeper",
        seen="A partition is offline with an empty ISR although the broker that led it last is back.",
        workaround="Allow unclean elections again, but stop all other replicas before.",
    ),
    KnownIssue(
        "KAFKA-14616",
        "A broker has no replica of a topic that was deleted and created again while it was down",
        "availability",
        rule="strays_hide_new_replicas",
        mode="kraft",
        seen="A partition is under-replicated after its broker has started, and stays so without an error; the broker "
        "has no directory for it.",
        workaround="Restart that broker once more.",
    ),
    KnownIssue(
        "KAFKA-14296",
        "A broker in controlled shutdown keeps leading, and acknowledges records that are lost",
        "durability",
        rule="leads_until_stopped",
        mode="kraft",
        seen="At each clean shutdown of a broker, producers with acks=1 lose the records of some seconds, and those "
        "with acks=all get no response until it has stopped.",
        workaround="Use acks=all, and move leaderships away from a broker before it is stopped.",
    ),
)
