"""Consistency check of findings and their event chains, for use over every bundled playbook."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.root_cause.finding_text import ACKNOWLEDGED_KIND, SESSION_END_KIND
from cluster_model.checker.root_cause.findings import (
    ACKS_0,
    BY_CODE,
    DAMAGED_BATCH,
    DISK_LOST,
    DUPLICATE,
    HW_TRUNCATION,
    KINDS,
    LAST_KNOWN_LEADER,
    LAST_REPLICA,
    LOST,
    MISSING,
    POWER_LOSS_UNFLUSHED,
    REORDERED,
    UNCLEAN_ELECTION,
    UNEXPLAINED,
    UNREPLICATED_TAIL,
    ZOMBIE_LEADER,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    BatchCorrupted,
    BecameLeader,
    BrokerFenced,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    NodeDown,
    NodePaused,
    ReplicaDeleted,
    Truncated,
)

_BEFORE: Final = (
    FaultInjected.kind, NodeDown.kind, NodePaused.kind, BrokerFenced.kind, IsrChanged.kind, LeaderElected.kind,
)  # fmt: skip
"""Kinds of events that may precede the acknowledgement."""
_ENDS: Final = (
    Truncated.kind,
    SESSION_END_KIND,
    BatchCorrupted.kind,
    ReplicaDeleted.kind,
    LeaderElected.kind,
    BecameLeader.kind,
)
"""Kinds of events by which the last log with the records lost them, or a leader without them took over."""
_NEEDS: Final = {
    UNCLEAN_ELECTION: (LeaderElected.kind,),
    UNREPLICATED_TAIL: (LeaderElected.kind,),
    ZOMBIE_LEADER: (LeaderElected.kind,),
    HW_TRUNCATION: (Truncated.kind, LeaderElected.kind),
    LAST_KNOWN_LEADER: (LeaderElected.kind,),
    LAST_REPLICA: (Truncated.kind, LeaderElected.kind),
    POWER_LOSS_UNFLUSHED: (Truncated.kind,),
    DISK_LOST: (Truncated.kind,),
    DAMAGED_BATCH: (BatchCorrupted.kind,),
}
"""Cause → kinds of events that its chain must contain."""


def inconsistencies(finding: Finding, cluster_state: ClusterState, history: ClusterHistory) -> list[str]:
    """Return the inconsistencies of one finding, a sentence each."""
    found = [f"no kind {finding.kind!r}"] if finding.kind not in KINDS else []
    cause = BY_CODE.get(finding.cause)
    if cause is None:
        found.append(f"no cause {finding.cause!r}")
    elif finding.kind not in cause.kinds and finding.kind != MISSING:
        found.append(f"{finding.cause} does not explain {finding.kind} records")
    if not finding.chain or not finding.blocks:
        return [*found, "a finding without a chain or without places"]
    times = [link.at_us for link in finding.chain]
    if times != sorted(times):
        found.append(f"the chain goes back in time: {times}")
    found += _brokers(finding, cluster_state)
    found += _counts(finding)
    if finding.kind == LOST:
        found += _promised(finding)
        found += _dropped(finding, history)
    elif finding.kind in (DUPLICATE, REORDERED) and finding.chain[-1].event_kind != "appended":
        found.append("the chain of repeated records does not end with their append")
    return found


def _brokers(finding: Finding, cluster_state: ClusterState) -> list[str]:
    """Return links whose broker never was a replica of their partition."""
    found = []
    for link in finding.chain:
        record = cluster_state.records.get(link.partition)
        if link.broker < 0 or record is None:
            continue
        known = {*record.assignment, *(each.broker for each in cluster_state.epoch_branches[link.partition].by_id)}
        moved = any(each.event_kind == ReplicaDeleted.kind for each in finding.chain)
        if link.broker not in known and not moved:
            found.append(f"broker {link.broker} is no replica of {link.partition}: {link.text}")
    return found


def _counts(finding: Finding) -> list[str]:
    """Return a wrong first count of records in the sentence, and records at two places."""
    first = re.search(r"(?<!\S)([\d,]+) records?\b", finding.sentence)
    shown = first[1].replace(",", "") if first else "none"
    found = [] if shown == str(finding.count) else [f"{finding.count} records, but the sentence says {shown}"]
    spans = sorted(
        (each.partition, each.leader_epoch, each.log_offset, each.log_offset + each.count)
        for each in finding.blocks
        if each.log_offset >= 0
    )
    for one, other in pairwise(spans):
        if one[:2] == other[:2] and other[2] < one[3] and finding.kind == LOST:
            found.append(f"records at offsets {other[2]} to {one[3] - 1} of {one[0]} are in two places")
    return found


def _promised(finding: Finding) -> list[str]:
    """Return the inconsistencies of the acknowledgement: there must be one, preceded only by earlier state."""
    indexes = [number for number, link in enumerate(finding.chain) if link.event_kind == ACKNOWLEDGED_KIND]
    if len(indexes) != 1:
        return [f"{len(indexes)} acknowledgements in one chain"]
    early = [link.event_kind for link in finding.chain[: indexes[0]] if link.event_kind not in _BEFORE]
    found = [f"{kind} precedes the acknowledgement" for kind in early]
    definition = finding.chain[indexes[0]]
    if finding.cause != ACKS_0 and f"broker{'s' if 'brokers' in definition.text else ''} " not in definition.text:
        found.append("the acknowledgement names no broker")
    return found


def _dropped(finding: Finding, history: ClusterHistory) -> list[str]:
    """Return the inconsistencies of the last link, which drops the records, and missing events of the cause."""
    found = []
    last = finding.chain[-1]
    if last.event_kind not in _ENDS:
        found.append(f"the chain ends with {last.event_kind}: {last.text}")
    kinds = [link.event_kind for link in finding.chain]
    needed = [each for each in _NEEDS.get(finding.cause, ()) if each not in kinds]
    found += [f"{finding.cause} without any {each}" for each in needed]
    cuts = [link for link in finding.chain if link.event_kind == Truncated.kind]
    whole = [link for link in cuts if not _was_cut(link, finding, history)]
    return found + [f"broker {link.broker} did not truncate what the chain says: {link.text}" for link in whole]


def _was_cut(link: ChainEvent, finding: Finding, history: ClusterHistory) -> bool:
    """Return whether this replica was truncated at that time and lost any of these records."""
    for place in finding.blocks:
        end = place.log_offset + place.count
        for cut in history.truncations_at(place.partition, (place.log_offset, end), link.at_us):
            if (cut.event.broker, cut.event.at_us) == (link.broker, link.at_us):
                return True
    return False


def audit(
    findings: Sequence[Finding], cluster_state: ClusterState, ledger: Ledger, history: ClusterHistory
) -> list[str]:
    """Return all inconsistencies of the findings of a session that has ended."""
    found = [wrong for finding in findings for wrong in inconsistencies(finding, cluster_state, history)]
    found += [wrong for finding in findings for wrong in _vouched(finding, cluster_state, ledger)]
    return found + disagreements(findings, ledger)


def disagreements(findings: Sequence[Finding], ledger: Ledger) -> list[str]:
    """Return differences between the findings and the ledger's counts, and duplicate findings."""
    lost = [each for each in findings if each.kind == LOST]
    repeats = ledger.repeats
    counts = (
        ("lost", _sum(lost), ledger.acked_lost()),
        ("committed lost", sum(each.committed for each in lost), ledger.committed_lost()),
        ("duplicates", _sum(each for each in findings if each.kind == DUPLICATE), repeats.duplicates()),
        ("reordered", _sum(each for each in findings if each.kind == REORDERED), repeats.reordered()),
    )
    found = [f"{shown} {what}, but the ledger has {known}" for what, shown, known in counts if shown != known]
    keys = [(each.kind, each.cause, each.group_id, each.sentence.split(";")[1:]) for each in findings]
    for index, key in enumerate(keys):
        if key in keys[:index] and key[1] != UNEXPLAINED:
            found.append(f"duplicate finding: {findings[index].sentence}")
    return found


def _sum(findings: Iterable[Finding]) -> int:
    return sum(each.count for each in findings)


def _vouched(finding: Finding, cluster_state: ClusterState, ledger: Ledger) -> list[str]:
    """Return inconsistencies between the ISR in the acknowledgement and the ISR that had the records."""
    promises = [link for link in finding.chain if link.event_kind == ACKNOWLEDGED_KIND]
    found_isr = re.search(r"ISR \[([^]]*)\]", promises[0].text) if promises else None
    if found_isr is None or promises[0].partition not in cluster_state.records:
        return []
    isr = {int(each) for each in found_isr.group(1).split(",") if each.strip()}
    later = re.search(r"ISR \[[^]]*\], later \[([^]]*)\]", promises[0].text)
    found = _stood_behind(
        isr, finding.blocks[0], finding.blocks[0].log_offset, {promises[0].broker}, cluster_state, ledger
    )
    if later is not None:
        last = finding.blocks[-1]
        isr = {int(each) for each in later.group(1).split(",") if each.strip()}
        end = last.log_offset + last.count - 1
        writers = {int(each) for each in re.findall(r"\d+", promises[0].text.partition(" wrote ")[0])}
        found += _stood_behind(isr, last, end, writers, cluster_state, ledger)
    return found


def _stood_behind(
    isr: set[int], block: RecordBlock, offset: int, writers: set[int], cluster_state: ClusterState, ledger: Ledger
) -> list[str]:
    stood = [
        set(ledger.ack_isrs.isr_at(block.partition, epoch_branch.id, offset))
        for epoch_branch in cluster_state.epoch_branches[block.partition].by_id
        if epoch_branch.epoch == block.leader_epoch and epoch_branch.broker in writers
    ]
    if not stood:
        return [f"none of brokers {sorted(writers)} wrote in epoch {block.leader_epoch} of {block.partition}"]
    return [] if isr in stood else [f"ISR {sorted(isr)} was not the ISR of {block.partition}-{offset}"]
