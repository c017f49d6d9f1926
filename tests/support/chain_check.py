"""Whether findings hold together: what any reader of a chain takes for granted, checked over every bundled playbook."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.root_cause.finding_text import PROMISE, SETTLED
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
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import (
    BatchDamaged,
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
"""What may have stood already when a promise was given."""
_ENDS: Final = (Truncated.kind, SETTLED, BatchDamaged.kind, ReplicaDeleted.kind, LeaderElected.kind, BecameLeader.kind)
"""By which the last log that had the records lost them, or a leader without them took over for good."""
_NEEDS: Final = {
    UNCLEAN_ELECTION: (LeaderElected.kind,),
    UNREPLICATED_TAIL: (LeaderElected.kind,),
    ZOMBIE_LEADER: (LeaderElected.kind,),
    HW_TRUNCATION: (Truncated.kind, LeaderElected.kind),
    LAST_KNOWN_LEADER: (LeaderElected.kind,),
    LAST_REPLICA: (Truncated.kind, LeaderElected.kind),
    POWER_LOSS_UNFLUSHED: (Truncated.kind,),
    DISK_LOST: (Truncated.kind,),
    DAMAGED_BATCH: (BatchDamaged.kind,),
}
"""Cause → kinds of events that its chain cannot do without."""


def wrong_in(finding: Finding, world: World, history: ClusterHistory) -> list[str]:
    """What does not hold of one finding, a sentence each."""
    found = [f"no kind {finding.kind!r}"] if finding.kind not in KINDS else []
    cause = BY_CODE.get(finding.cause)
    if cause is None:
        found.append(f"no cause {finding.cause!r}")
    elif finding.kind not in cause.kinds and finding.kind != MISSING:
        found.append(f"{finding.cause} explains no {finding.kind} records")
    if not finding.chain or not finding.places:
        return [*found, "a finding without a chain, or without a place"]
    times = [link.at_us for link in finding.chain]
    if times != sorted(times):
        found.append(f"the chain goes back in time: {times}")
    found += _brokers(finding, world)
    found += _counts(finding)
    if finding.kind == LOST:
        found += _promised(finding)
        found += _dropped(finding, history)
    elif finding.kind in (DUPLICATE, REORDERED) and finding.chain[-1].event_kind != "appended":
        found.append("the chain of what was written again does not end by its being written")
    return found


def _brokers(finding: Finding, world: World) -> list[str]:
    """Every broker of a link about a partition is a replica of it, or was."""
    found = []
    for link in finding.chain:
        record = world.records.get(link.partition)
        if link.broker < 0 or record is None:
            continue
        known = {*record.assignment, *(each.broker for each in world.lineages[link.partition].by_id)}
        moved = any(each.event_kind == ReplicaDeleted.kind for each in finding.chain)
        if link.broker not in known and not moved:
            found.append(f"broker {link.broker} is no replica of {link.partition}: {link.words}")
    return found


def _counts(finding: Finding) -> list[str]:
    """The sentence begins with how many records there are; no record is in two places."""
    told = finding.sentence.split(" ", 1)[0].replace(",", "")
    found = [] if told == str(finding.count) else [f"{finding.count} records, and the sentence says {told}"]
    spans = sorted(
        (each.partition, each.leader_epoch, each.log_offset, each.log_offset + each.count)
        for each in finding.places
        if each.log_offset >= 0
    )
    for one, other in pairwise(spans):
        if one[:2] == other[:2] and other[2] < one[3] and finding.kind == LOST:
            found.append(f"records at offsets {other[2]} to {one[3] - 1} of {one[0]} are in two places")
    return found


def _promised(finding: Finding) -> list[str]:
    """One promise, and nothing in front of it but what stood already."""
    places = [number for number, link in enumerate(finding.chain) if link.event_kind == PROMISE]
    if len(places) != 1:
        return [f"{len(places)} promises in one chain"]
    early = [link.event_kind for link in finding.chain[: places[0]] if link.event_kind not in _BEFORE]
    found = [f"{kind} stands in front of the promise" for kind in early]
    promise = finding.chain[places[0]]
    if finding.cause != ACKS_0 and f"broker{'s' if 'brokers' in promise.words else ''} " not in promise.words:
        found.append("the promise names nobody")
    return found


def _dropped(finding: Finding, history: ClusterHistory) -> list[str]:
    """The last link is where they were dropped, and what the cause rests on is there."""
    found = []
    last = finding.chain[-1]
    if last.event_kind not in _ENDS:
        found.append(f"the chain ends by {last.event_kind}: {last.words}")
    kinds = [link.event_kind for link in finding.chain]
    needed = [each for each in _NEEDS.get(finding.cause, ()) if each not in kinds]
    found += [f"{finding.cause} without any {each}" for each in needed]
    cuts = [link for link in finding.chain if link.event_kind == Truncated.kind]
    whole = [link for link in cuts if not _was_cut(link, finding, history)]
    return found + [f"broker {link.broker} did not cut what it is said to have cut: {link.words}" for link in whole]


def _was_cut(link: ChainEvent, finding: Finding, history: ClusterHistory) -> bool:
    """Whether that very replica was cut then, and lost any of these records."""
    for place in finding.places:
        end = place.log_offset + place.count
        for cut in history.cuts_at(place.partition, (place.log_offset, end), link.at_us):
            if (cut.event.broker, cut.event.at_us) == (link.broker, link.at_us):
                return True
    return False


def audit(findings: Sequence[Finding], world: World, ledger: Ledger, history: ClusterHistory) -> list[str]:
    """All that is wrong with the findings of a session that has ended: empty where they hold together."""
    found = [wrong for finding in findings for wrong in wrong_in(finding, world, history)]
    found += [wrong for finding in findings for wrong in _vouched(finding, world, ledger)]
    return found + disagreements(findings, ledger)


def disagreements(findings: Sequence[Finding], ledger: Ledger) -> list[str]:
    """Where the findings do not add up to the ledger's counts, and where two of them are one."""
    lost = [each for each in findings if each.kind == LOST]
    repeats = ledger.repeats
    counts = (
        ("lost", _sum(lost), ledger.acked_lost()),
        ("committed lost", sum(each.committed for each in lost), ledger.committed_lost()),
        ("duplicates", _sum(each for each in findings if each.kind == DUPLICATE), repeats.duplicates()),
        ("reordered", _sum(each for each in findings if each.kind == REORDERED), repeats.reordered()),
    )
    found = [f"{told} {what}, and the ledger has {known}" for what, told, known in counts if told != known]
    keys = [(each.kind, each.cause, each.group_id, each.sentence.split(";")[1:]) for each in findings]
    for place, key in enumerate(keys):
        if key in keys[:place] and key[1] != UNEXPLAINED:
            found.append(f"two findings are one: {findings[place].sentence}")
    return found


def _sum(findings: Iterable[Finding]) -> int:
    return sum(each.count for each in findings)


def _vouched(finding: Finding, world: World, ledger: Ledger) -> list[str]:
    """The promise names the ISR that stood behind it, and who gave it."""
    promises = [link for link in finding.chain if link.event_kind == PROMISE]
    told = re.search(r"ISR \[([^]]*)\]", promises[0].words) if promises else None
    if told is None or promises[0].partition not in world.records:
        return []
    isr = {int(each) for each in told.group(1).split(",") if each.strip()}
    later = re.search(r"ISR \[[^]]*\], later \[([^]]*)\]", promises[0].words)
    found = _stood_behind(isr, finding.places[0], finding.places[0].log_offset, {promises[0].broker}, world, ledger)
    if later is not None:
        last = finding.places[-1]
        isr = {int(each) for each in later.group(1).split(",") if each.strip()}
        end = last.log_offset + last.count - 1
        writers = {int(each) for each in re.findall(r"\d+", promises[0].words.partition(" wrote ")[0])}
        found += _stood_behind(isr, last, end, writers, world, ledger)
    return found


def _stood_behind(
    isr: set[int], place: RecordBlock, offset: int, writers: set[int], world: World, ledger: Ledger
) -> list[str]:
    stood = [
        set(ledger.vouched.isr_at(place.partition, lineage.id, offset))
        for lineage in world.lineages[place.partition].by_id
        if lineage.epoch == place.leader_epoch and lineage.broker in writers
    ]
    if not stood:
        return [f"none of brokers {sorted(writers)} wrote in epoch {place.leader_epoch} of {place.partition}"]
    return [] if isr in stood else [f"ISR {sorted(isr)} did not stand behind {place.partition}-{offset}"]
