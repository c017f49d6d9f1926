"""Known issues that the model cannot express, each with the reason."""

from typing import Final

from cluster_model.known_issues.issue import UnmodelledIssue

UNMODELLED: Final = (
    UnmodelledIssue(
        "KAFKA-19012",
        "A producer returns the memory of a batch that is still being sent, and another batch overwrites it",
        affected="2.8-4.1.1",
        fixed="3.9.2, 4.0.2, 4.1.2, 4.2.0",
        reason="records have no bytes in memory that another thread could overwrite",
    ),
    UnmodelledIssue(
        "KAFKA-20634",
        "A group coordinator acknowledges commits over a log that was truncated when its broker became a follower",
        affected="4.0-4.3.0",
        fixed="4.3.1, 4.4.0",
        reason="a coordinator unloads as its broker becomes a follower, not later in a thread that may be busy",
    ),
    UnmodelledIssue(
        "KAFKA-19163",
        "A group that has only pending offsets of transactions is deleted when offsets expire",
        affected="4.0.0",
        fixed="4.0.1, 4.1.0",
        reason="the offsets remain, and a member that joins finds them; only consumers without a group notice, and "
        "the model has none that commit in transactions",
    ),
    UnmodelledIssue(
        "KAFKA-5600",
        "A coordinator loads only the offsets in the first 5 MiB of its partition, and ignores later ones",
        affected="0.11.0.0",
        fixed="0.11.0.1, 1.0.0",
        reason="a coordinator reads its whole partition at once, without offsets.load.buffer.size",
    ),
    UnmodelledIssue(
        "KAFKA-8069",
        "Offsets of an older inter-broker protocol expire as soon as a coordinator has loaded them",
        affected="2.1",
        fixed="2.2.0",
        reason="the inter-broker protocol is that of the release",
    ),
    UnmodelledIssue(
        "KAFKA-8104",
        "A consumer cannot rejoin, as its heartbeat thread cleared the generation of a join that had succeeded",
        affected="0.10.1-2.3",
        fixed="2.4.0",
        reason="a member's heartbeat thread never runs between two steps of the application's thread",
    ),
    UnmodelledIssue(
        "KAFKA-9232",
        "New members of clients before 2.2 that retry their join are never removed, and the group grows",
        affected="2.1-2.4.0",
        fixed="2.4.1, 2.5.0",
        reason="members have the release of the cluster, and join in two steps since 2.2",
    ),
    UnmodelledIssue(
        "KAFKA-12890",
        "A group stays in CompletingRebalance, as its leader sends heartbeats and no assignment",
        affected="2.6.1-2.8.0",
        fixed="2.8.1, 3.0.0",
        reason="a consumer that cannot assign ends, and sends no more heartbeats",
    ),
    UnmodelledIssue(
        "KAFKA-13563",
        "A consumer without a group never looks for its coordinator again",
        affected="2.6.2-3.1.0",
        fixed="3.1.1, 3.2.0",
        reason="consumers that assign partitions themselves do not commit",
    ),
    UnmodelledIssue(
        "KAFKA-15529",
        "An asynchronous consumer fetches again from a position that it has passed",
        affected="3.7-4.3",
        fixed="4.4.0",
        reason="a consumer's two threads never run between each other's steps",
    ),
    UnmodelledIssue(
        "KAFKA-16371",
        "Offsets of a commit whose metadata was too large stay pending for ever",
        affected="0.11-3.7.0",
        fixed="3.7.1, 3.8.0",
        reason="commits have no metadata",
    ),
    UnmodelledIssue(
        "KAFKA-19242",
        "A commit fails with CommitFailedException, as a rebalance ended between two looks at the state",
        affected="2.5-4.0.0",
        fixed="3.9.2, 4.0.1, 4.1.0",
        reason="a member's heartbeat thread never runs between two steps of the application's thread",
    ),
    UnmodelledIssue(
        "KAFKA-19862",
        "A group coordinator cannot load a partition that is compacted meanwhile",
        affected="4.0-4.1.1",
        fixed="4.0.2, 4.1.2, 4.2.0",
        reason="a coordinator reads its whole partition at one point in time",
    ),
    UnmodelledIssue(
        "KAFKA-20115",
        "A coordinator with an unwritten batch does not unload when its partition leaves the broker",
        affected="4.0-4.1.1",
        fixed="4.0.2, 4.1.2, 4.2.0",
        reason="a coordinator writes each record at once, so no batch waits for more",
    ),
    UnmodelledIssue(
        "KAFKA-20254",
        "A streams group that was a classic one cannot be loaded after compaction",
        affected="4.2.0",
        fixed="4.2.1, 4.3.0",
        reason="there are no streams groups",
    ),
    UnmodelledIssue(
        "KAFKA-20332",
        "An asynchronous consumer returns records of partitions that it is about to revoke",
        affected="4.0-4.2.0",
        fixed="4.2.1, 4.3.0",
        reason="a consumer's two threads never run between each other's steps",
    ),
    UnmodelledIssue(
        "KAFKA-20640",
        "A consumer group accepts members of the classic protocol although the migration policy forbids it",
        affected="4.0-4.3.0",
        fixed="4.3.1, 4.4.0",
        reason="all members of a group use one protocol",
    ),
)
