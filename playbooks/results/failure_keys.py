"""Failures of a session, by name: two sessions that failed the same way share a key.

A key has no times, offsets, brokers or partitions, so that a shorter session can be compared with a longer one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from cluster_model.checker.root_cause import DUPLICATE, REORDERED, Finding
from cluster_model.client_factory import client_settings
from cluster_model.cluster import Cluster
from cluster_model.manual.cluster import ManualCluster
from cluster_model.protocol.versions import FLAG_BY_NAME
from playbooks.results.result import SessionResult

FINDING: Final = "finding"
"""Records lost, duplicated or otherwise wrong; the name is ``kind/cause`` as listed in ``docs/reference/causes.md``."""
VIOLATION: Final = "violation"
"""A violated safety invariant; the name is that of the invariant."""
ANOMALY: Final = "anomaly"
"""An anomaly that clients observed and that their settings do not allow."""
LIVENESS: Final = "liveness"
"""A liveness property that missed its deadline; the name is that of the property."""
EXPECTATION: Final = "expectation"
"""An expectation of the playbook that failed; the name is its text."""

_EARLIER: Final = (
    ("overdue:", f"{LIVENESS}:"),
    (f"{LIVENESS}:parked-requests", f"{LIVENESS}:delayed-requests"),
    (f"{FINDING}:undone/", f"{FINDING}:acked-aborted/"),
    (f"{FINDING}:leaked/", f"{FINDING}:aborted-committed/"),
)
"""Beginning of a key in format 1, and its present one."""

KINDS: Final = (FINDING, VIOLATION, ANOMALY, LIVENESS, EXPECTATION)
"""All kinds, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of a session: its kind, name, and whether it is known."""

    kind: str
    """One of :data:`KINDS`."""
    name: str
    known: bool = False
    """Whether the Kafka version that ran is known for it: an expected failure."""

    @property
    def key(self) -> str:
        """Key as printed and selected: ``finding:lost/hw-truncation``, ``violation:log-matching``."""
        return f"{self.kind}:{self.name}"


def current_key(key: str) -> str:
    """Return a key, or a pattern of keys, with the names of format 2."""
    for earlier, present in _EARLIER:
        if key.startswith(earlier):
            key = present + key.removeprefix(earlier)
    return key


def failures_of(result: SessionResult) -> tuple[Failure, ...]:
    """Return all failures, each key once, by kind and name; ``known`` only if it was known every time."""
    surprising: dict[tuple[str, str], bool] = {}
    for kind, name, known in _each(result):
        surprising[kind, name] = surprising.get((kind, name), False) or not known
    order = sorted(surprising, key=lambda each: (KINDS.index(each[0]), each[1]))
    return tuple(Failure(kind, name, not surprising[kind, name]) for kind, name in order)


def _each(result: SessionResult) -> list[tuple[str, str, bool]]:
    return [
        *((FINDING, f"{each.kind}/{each.cause}", False) for each in result.findings),
        *((VIOLATION, each.invariant, bool(each.known)) for each in result.violations),
        *((ANOMALY, each.name, False) for each in result.anomalies if not each.legal),
        *((LIVENESS, each.property, bool(each.known)) for each in result.liveness_violations),
        *((EXPECTATION, each.text, False) for each in result.expectations if not each.ok),
    ]


# Expected failures: known of the version, allowed by the settings of the playbook, or caused by a disk.


AnyCluster = Cluster | ManualCluster
VERSION: Final = "known of this version"
LISTED: Final = "expected by the playbook"

FIXED_BY: Final = {
    "hw-truncation": "epoch_truncation",
    "fast-failover-divergence": "kip_279",
    "unfenced-follower": "session_epochs",
    "early-isr-join": "isr_epoch_start",
    "epoch-unknown-to-leader": "epoch_on_elect",
    "late-marker": "transactions_v2",
    "hanging": "transactions_v2",
}
"""Cause → the protocol rule that fixed it: the release decides, not the features of the cluster."""

_BY_ITSELF: Final = {
    "unreplicated-tail": "acks=1 guarantees no more",
    "zombie-leader": "acks=1 guarantees no more",
    "acks-0-unplaced": "acks=0 guarantees nothing",
    "power-loss-unflushed": "power loss before the data was flushed",
    "last-known-leader": "as many replicas as min.insync.replicas had stopped uncleanly",
    "last-replica-lost": "power loss before the data was flushed",
    "disk-loss": "the disk was lost",
    "damaged-batch": "bit flip on the disk",
    "too-many-in-flight": "two connections allow more batches in flight than the five whose metadata a leader keeps",
    "producer-restart": "a producer's process restarted",
    "commit-before-processing": "offsets were committed before the records were processed",
    "retention-overtook": "retention deleted them",
    "reset-latest": "auto.offset.reset=latest",
    "offsets-expired": "offsets.retention.minutes and auto.offset.reset=latest",
    "partitions-added-latest": "auto.offset.reset=latest",
}
"""Cause → reason, for causes that only occur through a setting or a fault."""


def _unclean(cluster: AnyCluster) -> str:
    allowed = any(record.topic_config.unclean for record in cluster.cluster_state.records.values())
    return "unclean.leader.election.enable=true" if allowed else ""


def _min_isr_one(cluster: AnyCluster) -> str:
    least = min((cluster.cluster_state.effective_min_isr(name) for name in cluster.cluster_state.records), default=2)
    return "min.insync.replicas=1" if least == 1 else ""


def _not_idempotent(cluster: AnyCluster) -> str:
    if isinstance(cluster, ManualCluster):
        return ""  # manual producers do not retry
    producers = client_settings(cluster.spec, cluster.profile, cluster.external_clients.settings).producers.values()
    return "enable.idempotence=false" if any(not each.idempotent for each in producers) else ""


def _forgotten(cluster: AnyCluster) -> str:
    """A snapshot of producer state has only a producer's last batch (``ProducerStateManager.writeSnapshot``).

    A broker that loaded one, after a restart or a truncation, rejects the retry of an older batch with
    OUT_OF_ORDER_SEQUENCE_NUMBER; an idempotent producer then bumps its epoch and sends the batch as new (KIP-360).
    """
    replicas = [each for by_broker in cluster.cluster_state.replicas.values() for each in by_broker.values()]
    reloaded = any(replica.producer_snapshot for replica in replicas)
    return "a snapshot of producer state has only the last batch" if reloaded else ""


def _skipped_after_a_loss(cluster: AnyCluster) -> str:
    """A consumer skips records that replaced lost ones: unexpected only if the loss is."""
    return "records that it had read were lost" if cluster.query.acked_lost() or cluster.query.missing() else ""


def _deleted_last(cluster: AnyCluster) -> str:
    """KRaft keeps replicas to be removed until the others are in sync (``PartitionReassignmentReplicas``)."""
    return "" if cluster.profile.kraft else "in ZooKeeper mode a reassignment may delete the last in-sync replica"


_SEEN_OF: Final = {"duplicate": DUPLICATE, "nonmonotonic-send": REORDERED, "realtime-order": DUPLICATE}
"""Anomaly → the kind of finding that clients observe as it."""

_BY_SETTING: Final[dict[str, Callable[[AnyCluster], str]]] = {
    "unclean-election": _unclean,
    "min-isr-one": _min_isr_one,
    "retry-without-idempotence": _not_idempotent,
    "retry-in-flight": _not_idempotent,
    "forgotten-producer-state": _forgotten,
    "truncation-skip": _skipped_after_a_loss,
    "replica-deleted": _deleted_last,
}


def expected_reason(failure: Failure, findings: Sequence[Finding], cluster: AnyCluster, listed: tuple[str, ...]) -> str:
    """Return why a failure is expected; empty if it is not. ``listed`` are the keys listed by the playbook."""
    if any(fnmatchcase(failure.key, current_key(pattern)) for pattern in listed):
        return LISTED
    if failure.known:
        return VERSION
    if failure.kind != FINDING:
        return _by_findings(failure, findings, cluster) if failure.kind == ANOMALY else ""
    return _of_cause(failure.name.rpartition("/")[2], cluster)


def _by_findings(failure: Failure, findings: Sequence[Finding], cluster: AnyCluster) -> str:
    """Return why an observed anomaly is expected: duplicate or reordered records whose cause is expected."""
    kind = _SEEN_OF.get(failure.name)
    whys = [_of_cause(finding.cause, cluster) for finding in findings if finding.kind == kind]
    if kind == DUPLICATE and not whys:  # one of the two was lost since
        whys = [_not_idempotent(cluster) or _forgotten(cluster)]
    return whys[0] if whys and all(whys) else ""


def _of_cause(cause: str, cluster: AnyCluster) -> str:
    if cause in FIXED_BY:
        return "" if FLAG_BY_NAME[FIXED_BY[cause]].holds(cluster.profile.number) else VERSION
    if cause in _BY_ITSELF:
        return _BY_ITSELF[cause]
    return _BY_SETTING[cause](cluster) if cause in _BY_SETTING else ""
