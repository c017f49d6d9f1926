"""The result of a session, as ``floodmark run --json`` prints it and ``result.json`` keeps it; keys of failures."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from cluster_model.checker.anomalies import Seen
from cluster_model.checker.root_cause import DUPLICATE, REORDERED, Finding
from cluster_model.client_factory import client_settings
from cluster_model.cluster import Cluster
from cluster_model.manual.cluster import ManualCluster
from cluster_model.observation import BookView, ClusterView, LedgerView, PartitionView, Stuck, Unjudged
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import (
    AdminAnswered,
    FaultSkipped,
    GuardActed,
    InvariantViolated,
    LivenessOverdue,
    RecordsLost,
    StepTaken,
)
from playbooks.results.client_stats import ClientBooks, Clients, enter, summed_up
from playbooks.results.outages import Availability, Unavailable, drawn_up

# Anomalies in a result, as JSON.


def anomaly_json(seen: Seen) -> dict[str, Any]:
    """One anomaly with its verdict; ``first`` and ``end`` are offsets, -1 where there are none."""
    return {
        "anomaly": seen.name,
        "count": seen.found,
        "legal": seen.legal,
        "reason": seen.reason,
        "where": [{"client": client, "partition": partition} for client, partition in seen.where],
        "examples": [
            {"at_us": each.at_us, "first": each.first, "end": each.end, "detail": each.words} for each in seen.examples
        ],
    }


Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One expectation with its verdict; steps that assert something count as expectations too."""

    text: str
    ok: bool
    at_us: int
    """When it was decided, in virtual time."""
    detail: str
    """One line: what was found."""
    by_step: bool = False
    """Whether a step asserts it, and not the playbook as a whole."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one session. Times are virtual microseconds."""

    playbook: str
    title: str
    seed: int
    profile: str
    verdict: Verdict
    reason: str
    """Why a session is inconclusive; empty for the others."""
    digest: str
    virtual_us: int
    events: int
    """Trace events of the whole session."""
    session: str
    """Directory of the recording, empty when nothing was recorded."""
    expectations: tuple[Checked, ...]
    ledger: LedgerView
    violations: tuple[InvariantViolated, ...]
    losses: tuple[RecordsLost, ...]
    """Every acknowledged record that is gone, with its cause."""
    partitions: tuple[PartitionView, ...]
    """All but those of Kafka's own topics."""
    refused: tuple[StepTaken | AdminAnswered, ...]
    """Steps that Kafka answered with an error, the expected ones included."""
    clients: Clients
    """What each client saw."""
    guards: tuple[GuardActed, ...] = ()
    """What the guards did."""
    skipped: tuple[FaultSkipped, ...] = ()
    """Faults that found nobody to strike, as their steps allowed."""
    unavailable: Unavailable = field(default_factory=Unavailable)
    """When clients were refused, and when nobody led."""
    anomalies: tuple[Seen, ...] = ()
    """What clients could see of it, illegal first."""
    overdue: tuple[LivenessOverdue, ...] = ()
    """What should have come true in time and had not."""
    unjudged: tuple[Unjudged, ...] = ()
    """What was owed at the end, and its time was not over."""
    stuck: tuple[Stuck, ...] = ()
    """What stands still at the end, as Kafka means it to."""
    findings: tuple[Finding, ...] = ()
    """What went wrong with records and why, once for each cause."""

    def to_json(self) -> dict[str, Any]:
        """The published document: plain dicts, lists, numbers and strings."""
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
            "books": [_book(each) for each in self.ledger.books],
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
            "overdue": [_overdue(each) for each in self.overdue],
            "unjudged": [asdict(each) for each in self.unjudged],
            "stuck": [
                {"partition": each.partition, "why": each.why, "what_releases": each.what_releases}
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
class Findings:
    """What the engine gathers while a session runs, beyond the state of the cluster."""

    events: int
    losses: list[RecordsLost]
    violations: list[InvariantViolated]
    refused: list[StepTaken | AdminAnswered]
    clients: ClientBooks
    guards: list[GuardActed]
    skipped: list[FaultSkipped]
    availability: Availability
    overdue: list[LivenessOverdue] = field(default_factory=list)

    @classmethod
    def none(cls) -> "Findings":
        """Nothing yet."""
        return cls(0, [], [], [], ClientBooks(), [], [], Availability())

    def take(self, events: list[Any]) -> None:
        """Count trace events and keep those that a result names."""
        self.events += len(events)
        enter(self.clients, events)
        self.availability.enter(events)
        for event in events:
            if event.kind == "records_lost":
                self.losses.append(event)
            elif event.kind == "invariant_violated":
                self.violations.append(event)
            elif event.kind == "liveness_overdue":
                self.overdue.append(event)
            elif event.kind == "guard_acted":
                self.guards.append(event)
            elif event.kind in ("step_taken", "admin_answered") and event.error in KafkaError.__members__:
                self.refused.append(event)
            elif event.kind == "fault_skipped":
                self.skipped.append(event)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        found = (tuple(self.violations), tuple(self.losses), tuple(self.refused))
        rest = (tuple(self.guards), tuple(self.skipped), self.availability.save(), tuple(self.overdue))
        return (self.events, *found, self.clients.save(), *rest)

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Findings":
        """Undo of :meth:`save`."""
        events, violations, losses, refused, clients, guards, skipped, availability, overdue = saved
        lists = (list(losses), list(violations), list(refused))
        books, outages = ClientBooks.loaded(clients), Availability.loaded(availability)
        return cls(events, *lists, books, list(guards), list(skipped), outages, list(overdue))


def conclude(
    *,
    playbook: str,
    title: str,
    seed: int,
    checked: tuple[Checked, ...],
    broken: bool,
    reason: str,
    digest: str,
    session: str,
    findings: Findings,
    view: ClusterView,
) -> Result:
    """The result of a session that has ended.

    ``reason`` says why the session never got where its playbook wanted to go. It makes the verdict inconclusive,
    unless an expectation is ``broken`` whatever would have come later: that is a failure.
    """
    verdict: Verdict
    if broken:
        verdict = "fail"
    elif reason:
        verdict = "inconclusive"
    else:
        verdict = "pass" if all(each.ok for each in checked) else "fail"
    return Result(
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
        clients=summed_up(findings.clients, view),
        guards=tuple(findings.guards),
        skipped=tuple(findings.skipped),
        unavailable=drawn_up(findings.availability, findings.clients, view),
        overdue=tuple(findings.overdue),
        unjudged=view.unjudged,
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
        "undone": ledger.undone,
        "leaked": ledger.leaked,
        "unknown_written": ledger.unknown_written,
    }


def _overdue(late: LivenessOverdue) -> dict[str, Any]:
    """Noticed at ``at_us``, due ``bound_us`` after ``since_us``."""
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


def _book(book: BookView) -> dict[str, Any]:
    """One producer's records in one partition; ``ranges`` are of its own numbers, by term, ``[from, to)``."""
    counts = {each.name: getattr(book, each.name) for each in fields(book) if each.name != "ranges"}
    return {**counts, "ranges": {term: [list(each) for each in found] for term, found in book.ranges.items()}}


def _loss(lost: RecordsLost) -> dict[str, Any]:
    """Acknowledged records that are gone, from ``offset`` of the log and ``sequence`` of the client on."""
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
        "what": acted.detail,
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


# Keys of failures: two failures of the same kind share a key, whenever and wherever they were.
#
# A key says nothing of times, offsets, brokers or partitions, so that a shorter session can be held against a longer
# one.


FINDING: Final = "finding"
"""Records that met a bad end; the name is ``kind/cause`` as ``docs/causes.md`` lists them."""
VIOLATION: Final = "violation"
"""A safety property that did not hold; the name is that of the invariant."""
ANOMALY: Final = "anomaly"
"""Something clients saw and must not see under their settings."""
OVERDUE: Final = "overdue"
"""Something that had to come true in time and did not; the name is that of the property."""
EXPECTATION: Final = "expectation"
"""What the playbook expects and was not so; the name is its text."""

KINDS: Final = (FINDING, VIOLATION, ANOMALY, OVERDUE, EXPECTATION)
"""All kinds, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """One way in which a session went wrong."""

    kind: str
    """One of :data:`KINDS`."""
    name: str
    known: bool = False
    """Whether the version that ran is known for it: true of Kafka, and no surprise."""

    @property
    def key(self) -> str:
        """As it is written and asked for: ``finding:lost/hw-truncation``, ``violation:log-matching``."""
        return f"{self.kind}:{self.name}"


def wrongs_of(result: Result) -> tuple[Wrong, ...]:
    """Everything that was wrong, each key once, by kind and name; known only if it was known every time."""
    surprising: dict[tuple[str, str], bool] = {}
    for kind, name, known in _each(result):
        surprising[kind, name] = surprising.get((kind, name), False) or not known
    order = sorted(surprising, key=lambda each: (KINDS.index(each[0]), each[1]))
    return tuple(Wrong(kind, name, not surprising[kind, name]) for kind, name in order)


def _each(result: Result) -> list[tuple[str, str, bool]]:
    return [
        *((FINDING, f"{each.kind}/{each.cause}", False) for each in result.findings),
        *((VIOLATION, each.invariant, bool(each.known)) for each in result.violations),
        *((ANOMALY, each.name, False) for each in result.anomalies if not each.legal),
        *((OVERDUE, each.property, bool(each.known)) for each in result.overdue),
        *((EXPECTATION, each.text, False) for each in result.expectations if not each.ok),
    ]


# Expected failures: known for the version, allowed by the playbook's settings, or caused by a disk.


AnyCluster = Cluster | ManualCluster
VERSION: Final = "known of this version"
LISTED: Final = "expected by the playbook"

_MENDED: Final = {
    "hw-truncation": (0, 11, 0),
    "fast-failover-divergence": (2, 0, 0),
    "unfenced-follower": (2, 1, 0),
    "late-marker": (4, 0, 0),
    "hanging": (4, 0, 0),
}
"""Cause → the version that mended it: KIP-101, KIP-279, KIP-320, KIP-890."""

_BY_ITSELF: Final = {
    "unreplicated-tail": "acks=1 promises no more",
    "zombie-leader": "acks=1 promises no more",
    "acks-0-unplaced": "acks=0 promises nothing",
    "power-loss-unflushed": "the power went before it was on disk",
    "last-known-leader": "as many replicas as min.insync.replicas had stopped uncleanly",
    "last-replica-lost": "the power went before it was on disk",
    "disk-loss": "the disk was lost",
    "damaged-batch": "bits turned on the disk",
    "too-many-in-flight": "over two connections more batches can be under way than the five that a leader keeps",
    "producer-restart": "a producer's process began again",
    "commit-before-processing": "offsets were committed before the records were processed",
    "retention-overtook": "retention deleted them",
    "reset-latest": "auto.offset.reset=latest",
    "partitions-added-latest": "auto.offset.reset=latest",
}
"""Causes that are given only where a setting or a fault made it so."""


def _unclean(cluster: AnyCluster) -> str:
    allowed = any(record.topic.unclean for record in cluster.world.records.values())
    return "unclean.leader.election.enable=true" if allowed else ""


def _min_isr_one(cluster: AnyCluster) -> str:
    least = min((cluster.world.effective_min_isr(name) for name in cluster.world.records), default=2)
    return "min.insync.replicas=1" if least == 1 else ""


def _not_idempotent(cluster: AnyCluster) -> str:
    if isinstance(cluster, ManualCluster):
        return ""  # nobody tries again where time stands still
    producers = client_settings(cluster.spec, cluster.profile, cluster.outside.manners).producers.values()
    return "enable.idempotence=false" if any(not each.idempotent for each in producers) else ""


def _forgotten(cluster: AnyCluster) -> str:
    """A snapshot of producer state holds a producer's last batch alone (``ProducerStateManager.writeSnapshot``).

    So a broker that read one, as it began again or cut its log, refuses the retry of an older batch as
    OUT_OF_ORDER_SEQUENCE_NUMBER, upon which an idempotent producer takes a new epoch and sends it as new (KIP-360).
    """
    replicas = [each for by_broker in cluster.world.replicas.values() for each in by_broker.values()]
    reloaded = any(replica.producer_snapshot for replica in replicas)
    return "a snapshot of producer state keeps the last batch alone" if reloaded else ""


def _skipped_after_a_loss(cluster: AnyCluster) -> str:
    """A reader skips what took the place of lost records: a surprise only where losses are one."""
    return "what it had read was lost" if cluster.query.acked_lost() or cluster.query.missing() else ""


def _deleted_last(cluster: AnyCluster) -> str:
    """A quorum keeps who is not wanted any more until others are in sync (``PartitionReassignmentReplicas``)."""
    return "" if cluster.profile.kraft else "over ZooKeeper a reassignment may delete the last replica in sync"


_SEEN_OF: Final = {"duplicate": DUPLICATE, "nonmonotonic-send": REORDERED, "realtime-order": DUPLICATE}
"""Anomaly → the kind of finding that it is the sight of."""

_BY_SETTING: Final[dict[str, Callable[[AnyCluster], str]]] = {
    "unclean-election": _unclean,
    "min-isr-one": _min_isr_one,
    "retry-without-idempotence": _not_idempotent,
    "retry-in-flight": _not_idempotent,
    "forgotten-producer-state": _forgotten,
    "truncation-skip": _skipped_after_a_loss,
    "replica-deleted": _deleted_last,
}


def why_expected(wrong: Wrong, findings: Sequence[Finding], cluster: AnyCluster, listed: tuple[str, ...]) -> str:
    """Why something that was found is no surprise; empty where it is one. ``listed`` are the playbook's own keys."""
    if any(fnmatchcase(wrong.key, pattern) for pattern in listed):
        return LISTED
    if wrong.known:
        return VERSION
    if wrong.kind != FINDING:
        return _by_findings(wrong, findings, cluster) if wrong.kind == ANOMALY else ""
    return _of_cause(wrong.name.rpartition("/")[2], cluster)


def _by_findings(wrong: Wrong, findings: Sequence[Finding], cluster: AnyCluster) -> str:
    """What clients saw of something that is explained: records that stand twice, for a cause that is no surprise."""
    kind = _SEEN_OF.get(wrong.name)
    whys = [_of_cause(finding.cause, cluster) for finding in findings if finding.kind == kind]
    if kind == DUPLICATE and not whys:  # one of the two was lost since
        whys = [_not_idempotent(cluster) or _forgotten(cluster)]
    return whys[0] if whys and all(whys) else ""


def _of_cause(cause: str, cluster: AnyCluster) -> str:
    if cause in _MENDED:
        return VERSION if cluster.profile.number < _MENDED[cause] else ""
    if cause in _BY_ITSELF:
        return _BY_ITSELF[cause]
    return _BY_SETTING[cause](cluster) if cause in _BY_SETTING else ""
