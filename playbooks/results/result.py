"""The result of a session, as ``floodmark run --json`` prints it and ``result.json`` stores it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from cluster_model.checker.anomalies import AnomalyReport
from cluster_model.checker.root_cause import SKIPPED, Finding
from cluster_model.observation import (
    ClientPartitionStats,
    ClusterView,
    LedgerView,
    PartitionView,
    PendingLiveness,
    WaitingByDesign,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    AdminAnswered,
    FaultSkipped,
    GuardActed,
    InvariantViolated,
    LivenessViolated,
    RecordsLost,
    StepTaken,
)
from cluster_model.util.latency import LatencyHistogram
from playbooks.results.client_stats import Clients, ClientStats, process_events, summarize
from playbooks.results.outages import Availability, Unavailability, unavailability_of

# JSON of anomalies.


def anomaly_json(seen: AnomalyReport) -> dict[str, Any]:
    """Return one anomaly with its verdict; ``first`` and ``end`` are offsets, -1 if there are none."""
    return {
        "anomaly": seen.name,
        "count": seen.found,
        "legal": seen.legal,
        "reason": seen.reason,
        "where": [{"client": client, "partition": partition} for client, partition in seen.where],
        "examples": [
            {"at_us": each.at_us, "first": each.first, "end": each.end, "detail": each.text} for each in seen.examples
        ],
    }


Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One expectation with its verdict; assertions of steps are expectations, too."""

    text: str
    ok: bool
    at_us: int
    """Virtual time at which it was decided."""
    detail: str
    """One line: the values found."""
    by_step: bool = False
    """Whether a step asserts it, not the playbook as a whole."""


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The outcome of one session. Times are virtual microseconds."""

    playbook: str
    title: str
    seed: int
    profile: str
    verdict: Verdict
    reason: str
    """Why a session is inconclusive; otherwise empty."""
    digest: str
    virtual_us: int
    events: int
    """Number of trace events of the whole session."""
    session: str
    """Directory of the recording, empty if nothing was recorded."""
    expectations: tuple[ExpectationResult, ...]
    ledger: LedgerView
    violations: tuple[InvariantViolated, ...]
    losses: tuple[RecordsLost, ...]
    """Every acknowledged record that is lost, with its cause."""
    partitions: tuple[PartitionView, ...]
    """All partitions except those of internal topics."""
    refused: tuple[StepTaken | AdminAnswered, ...]
    """Steps that failed with a Kafka error, expected ones included."""
    clients: Clients
    """Statistics of each client."""
    guards: tuple[GuardActed, ...] = ()
    """Actions of the guards."""
    skipped: tuple[FaultSkipped, ...] = ()
    """Faults that had no target, as their steps allow (``if any``)."""
    unavailable: Unavailability = field(default_factory=Unavailability)
    """When clients were out of service, and when partitions had no leader."""
    anomalies: tuple[AnomalyReport, ...] = ()
    """Anomalies that clients could observe, illegal first."""
    liveness_violations: tuple[LivenessViolated, ...] = ()
    """Liveness checks that missed their deadline."""
    pending_liveness: tuple[PendingLiveness, ...] = ()
    """Liveness checks still pending at the end, with a later deadline."""
    stuck: tuple[WaitingByDesign, ...] = ()
    """Partitions that are stuck at the end, as Kafka specifies."""
    findings: tuple[Finding, ...] = ()
    """Records that were lost, duplicated or otherwise wrong, one finding for each cause."""

    def with_findings(self, findings: tuple[Finding, ...]) -> "SessionResult":
        """Return a copy with these findings, and with the skipped records of each group."""
        skipped: dict[str, int] = {}
        for finding in findings:
            if finding.kind == SKIPPED:
                skipped[finding.group_id] = skipped.get(finding.group_id, 0) + finding.count
        groups = tuple([replace(group, skipped=skipped.get(group.name, 0)) for group in self.clients.groups])
        return replace(self, findings=findings, clients=replace(self.clients, groups=groups))

    def to_json(self) -> dict[str, Any]:
        """Return the published document: plain dicts, lists, numbers and strings."""
        return {
            "playbook": self.playbook,
            "seed": self.seed,
            "profile": self.profile,
            "verdict": self.verdict,
            "digest": self.digest,
            "virtual_us": self.virtual_us,
            "events": self.events,
            "session": self.session,
            "expectations": [
                {"text": each.text, "ok": each.ok, "at_us": each.at_us, "detail": each.detail}
                for each in self.expectations
            ],
            "ledger": _ledger(self.ledger),
            "ledger_by_partition": [_book(each) for each in self.ledger.clients],
            "clients": self.clients.to_json(),
            "unavailable": self.unavailable.to_json(),
            "violations": [
                {
                    "invariant": each.invariant,
                    "at_us": each.at_us,
                    "partition": each.partition,
                    "detail": each.detail,
                    "cause": each.cause,
                    "offset": each.offset,
                    "end_offset": each.end_offset,
                    "leader_epoch": each.leader_epoch,
                    "known": each.known,
                }
                for each in self.violations
            ],
            "liveness_violations": [_overdue(each) for each in self.liveness_violations],
            "pending_liveness": [asdict(each) for each in self.pending_liveness],
            "stuck": [
                {"partition": each.partition, "reason": each.reason, "released_by": each.released_by}
                for each in self.stuck
            ],
            "losses": [_loss(each) for each in self.losses],
            "findings": [each.to_json() for each in self.findings],
            "partitions": {each.name: _partition(each) for each in self.partitions},
            "guards": [_guard(each) for each in self.guards],
            "skipped": [
                {"fault": each.fault, "target": each.target, "at_us": each.at_us, "detail": each.detail}
                for each in self.skipped
            ],
            "anomalies": [anomaly_json(each) for each in self.anomalies],
            "title": self.title,
            "reason": self.reason,
        }


@dataclass(slots=True)
class CollectedEvents:
    """Data that the engine collects while a session runs, beyond the state of the cluster."""

    events: int
    losses: list[RecordsLost]
    violations: list[InvariantViolated]
    refused: list[StepTaken | AdminAnswered]
    clients: ClientStats
    guards: list[GuardActed]
    skipped: list[FaultSkipped]
    availability: Availability
    liveness_violations: list[LivenessViolated] = field(default_factory=list)

    @classmethod
    def none(cls, bounds: Mapping[str, int]) -> "CollectedEvents":
        """Return an empty collection; ``bounds`` are the service bounds of producers."""
        return cls(0, [], [], [], ClientStats(), [], [], Availability(bounds))

    def take(self, events: list[Any]) -> None:
        """Count trace events and keep those that a result lists."""
        self.events += len(events)
        process_events(self.clients, events)
        self.availability.process_events(events)
        for event in events:
            if event.kind == "records_lost":
                self.losses.append(event)
            elif event.kind == "invariant_violated":
                self.violations.append(event)
            elif event.kind == "liveness_violated":
                self.liveness_violations.append(event)
            elif event.kind == "guard_acted":
                self.guards.append(event)
            elif event.kind in ("step_taken", "admin_answered") and event.error in KafkaError.__members__:
                self.refused.append(event)
            elif event.kind == "fault_skipped":
                self.skipped.append(event)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        found = (tuple(self.violations), tuple(self.losses), tuple(self.refused))
        rest = (tuple(self.guards), tuple(self.skipped), self.availability.save(), tuple(self.liveness_violations))
        return (self.events, *found, self.clients.save(), *rest)

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "CollectedEvents":
        """Restore the state of :meth:`save`."""
        events, violations, losses, refused, clients, guards, skipped, availability, overdue = saved
        lists = (list(losses), list(violations), list(refused))
        stats, outages = ClientStats.from_saved(clients), Availability.from_saved(availability)
        return cls(events, *lists, stats, list(guards), list(skipped), outages, list(overdue))


@dataclass(frozen=True, slots=True)
class ClientExperience:
    """Experience of clients so far (:class:`cluster_model.inspection.condition_functions.ClientStatistics`)."""

    findings: CollectedEvents
    now_us: int

    def longest_stall_us(self, producer: str | None, partition: str | None) -> int:
        """Return the longest outage of a producer, or any, at a partition, or any."""
        return self.findings.availability.longest_us(producer, partition, self.now_us)

    def longest_read_stall_us(self, group: str, partition: str | None) -> int:
        """Return the longest time in which a group received nothing of a partition, or any, that had records for it."""
        return self.findings.clients.group(group).stalls.longest(self.now_us, partition)

    def acked_within(self, producer: str | None, partition: str | None) -> LatencyHistogram:
        """Return latencies from send to acknowledgement, of a producer or all, into a partition or any."""
        clients = self.findings.clients
        if producer is None:
            return clients.latencies
        return (
            clients.producers[producer].latencies.of(partition) if producer in clients.producers else LatencyHistogram()
        )

    def read_within(self, group: str, partition: str | None) -> LatencyHistogram:
        """Return latencies from append to return by ``poll`` of a group's records, of a partition or any."""
        return self.findings.clients.group(group).latencies.of(partition)

    def rebalances(self, group: str) -> int:
        """Return the number of assignments of a group that took effect."""
        return self.findings.clients.group(group).rebalances

    def resets(self, group: str) -> int:
        """Return how often ``auto.offset.reset`` moved a member that had a position or a committed offset."""
        return self.findings.clients.group(group).resets


def build_result(
    *,
    playbook: str,
    title: str,
    seed: int,
    checked: tuple[ExpectationResult, ...],
    broken: bool,
    reason: str,
    digest: str,
    session: str,
    findings: CollectedEvents,
    view: ClusterView,
) -> SessionResult:
    """Build the result of a session that has ended.

    ``reason`` says why the session did not reach the end of its playbook. The verdict is then inconclusive, unless an
    expectation is ``broken`` whatever would have followed: that is a failure.
    """
    verdict: Verdict
    if broken:
        verdict = "fail"
    elif reason:
        verdict = "inconclusive"
    else:
        verdict = "pass" if all(each.ok for each in checked) else "fail"
    return SessionResult(
        playbook=playbook,
        title=title,
        seed=seed,
        profile=view.profile,
        verdict=verdict,
        reason=reason,
        digest=digest,
        virtual_us=view.now_us,
        events=findings.events,
        session=session,
        expectations=checked,
        ledger=view.ledger,
        violations=tuple(findings.violations),
        losses=tuple(findings.losses),
        partitions=tuple(each for each in view.partitions if not each.internal),
        refused=tuple(findings.refused),
        clients=summarize(findings.clients, view),
        guards=tuple(findings.guards),
        skipped=tuple(findings.skipped),
        unavailable=unavailability_of(findings.availability, findings.clients, view),
        liveness_violations=tuple(findings.liveness_violations),
        pending_liveness=view.pending_liveness,
        stuck=view.stuck,
    )


def _ledger(ledger: LedgerView) -> dict[str, int]:
    return {
        "sent": ledger.sent,
        "acked": ledger.acked,
        "failed": ledger.failed,
        "unknown": ledger.unknown,
        "aborted": ledger.aborted,
        "acked_lost": ledger.acked_lost,
        "committed_lost": ledger.committed_lost,
        "duplicates": ledger.duplicates,
        "reordered": ledger.reordered,
        "acked_aborted": ledger.acked_aborted,
        "aborted_committed": ledger.aborted_committed,
        "unknown_written": ledger.unknown_written,
    }


def _overdue(late: LivenessViolated) -> dict[str, Any]:
    """Return a missed liveness check: detected at ``at_us``, due ``bound_us`` after ``since_us``."""
    return {
        "property": late.property,
        "at_us": late.at_us,
        "partition": late.partition,
        "broker": late.broker,
        "detail": late.detail,
        "since_us": late.since_us,
        "bound_us": late.bound_us,
        "known": late.known,
    }


def _book(book: ClientPartitionStats) -> dict[str, Any]:
    """Return one producer's records in one partition; ``ranges`` are record numbers by outcome, ``[from, to)``."""
    counts = {each.name: getattr(book, each.name) for each in fields(book) if each.name != "ranges"}
    return {**counts, "ranges": {term: [list(each) for each in found] for term, found in book.ranges.items()}}


def _loss(lost: RecordsLost) -> dict[str, Any]:
    """Return lost acknowledged records, from ``offset`` of the log and ``sequence`` of the client on."""
    return {
        "partition": lost.partition,
        "client": lost.client,
        "sequence": lost.sequence,
        "offset": lost.log_offset,
        "count": lost.count,
        "epoch": lost.leader_epoch,
        "acks": lost.acks,
        "committed": lost.committed,
        "cause": lost.cause,
    }


def _guard(acted: GuardActed) -> dict[str, Any]:
    return {
        "guard": acted.rule,
        "action": acted.detail,
        "at_us": acted.at_us,
        "fault": acted.fault,
        "target": acted.target,
        "reason": acted.cause,
    }


def _partition(partition: PartitionView) -> dict[str, Any]:
    return {
        "leader": partition.leader,
        "epoch": partition.leader_epoch,
        "isr": list(partition.isr),
        "hw": partition.hw,
        "log_start": partition.log_start,
        "replicas": {
            str(replica.broker): {
                "leo": replica.leo,
                "hw": replica.hw,
                "epochs": [list(entry) for entry in replica.epochs],
            }
            for replica in partition.replicas
        },
    }
