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
)
