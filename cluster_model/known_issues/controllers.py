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
)
