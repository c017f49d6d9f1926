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
)
