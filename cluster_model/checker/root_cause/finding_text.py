"""The text of findings, and the grouping of ranges with one cause into one finding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.checker.root_cause.findings import (
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    ACKS_0,
    CAUSES,
    DUPLICATE,
    KINDS,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    UNEXPLAINED,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.spec.cluster_spec import producer_text
from cluster_model.util.quantities import acks_text, brokers, counted, offsets, seconds_to_the_millisecond, thousands

# Phrases that the texts of all findings share.


ACKNOWLEDGED_KIND: Final = "records_acked"
"""Event kind of the chain event that describes the acknowledgement."""
SESSION_END_KIND: Final = "settled"
"""Event kind of the chain event that stands for the end of the session."""


RECORDS_PLACEHOLDER: Final = "<them>"
"""Placeholder for ``it`` or ``them``, until the number of records is known."""
HOLDERS_PLACEHOLDER: Final = "<held>"
"""Placeholder for the replicas that still held the records, until all ranges of a finding are grouped."""
PREDICATES: Final = {
    DUPLICATE: ("is a duplicate", "are duplicates"),
    REORDERED: ("was written after later ones", "were written after later ones"),
    ACKED_ABORTED: ("was aborted in the log", "were aborted in the log"),
    ABORTED_COMMITTED: ("was committed in the log", "were committed in the log"),
}
"""Predicates of kinds whose findings name no acknowledgement, of one record and of several."""
LONG_US: Final = 1_000_000
"""Records written over more than this time, in microseconds, are described with first and last time."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The leader, leader epoch and ISR that acknowledged a range of records."""

    broker: int
    epoch: int
    isr: tuple[int, ...]
    names: tuple[str, ...] = ()
    """Names of the records, if they have any."""
    last_us: int = 0
    """Virtual time at which the last of the records was written, in microseconds."""
    holders: tuple[int, ...] = ()
    """Replicas that still held the records when another replica became leader without them."""


@dataclass(frozen=True, slots=True)
class RangeExplanation:
    """The explanation of one range of records: kind, cause, clauses of the sentence, and event chain."""

    kind: str
    cause: str
    key: tuple[object, ...]
    """The deciding event; ranges with the same kind, cause and key form one finding."""
    block: RecordBlock
    acknowledgement: Acknowledgement | None
    clauses: tuple[str, ...]
    """Parts of the sentence: what happened, which broker became leader without the records, where they were dropped."""
    chain: tuple[ChainEvent, ...]
    group_id: str = ""


def at(at_us: int) -> str:
    """Return a time as `` at 12.300 s``; empty for 0, where time does not pass."""
    return f" at {seconds_to_the_millisecond(at_us)} s" if at_us > 0 else ""


def period_text(first_us: int, last_us: int) -> str:
    """Return a period as `` from 7.816 s to 28.203 s``; empty if it lasted a second at most."""
    return f" from{at(first_us)[3:]} to{at(last_us)[3:]}" if last_us - first_us > LONG_US else ""


def acks_levels_text(levels: Iterable[int]) -> str:
    """Return acks levels as text: ``acks=all``, ``acks=1 and acks=0``."""
    return " and ".join(f"acks={acks_text(each)}" for each in sorted(set(levels), reverse=True))


def producers_text(blocks: Sequence[RecordBlock]) -> str:
    """Return the producers as `` of clicks`` or `` of 3 producers``; empty if no producer has a name."""
    clients = [each for each in dict.fromkeys(block.client for block in blocks) if each]
    if len(clients) > 2:
        return f" of {thousands(len(clients))} producers"
    named = [producer_text(each) for each in clients]
    return f" of {' and '.join(named)}" if named else ""


def location_text(blocks: Sequence[RecordBlock]) -> str:
    """Return the location as `` at offsets 3 to 9 of orders-0`` or `` in 40 partitions``."""
    partitions = tuple(dict.fromkeys(block.partition for block in blocks))
    if len(partitions) > 2:
        return f" in {counted(len(partitions), 'partition')}"
    if len(partitions) == 2:
        return f" in {partitions[0]} and {partitions[1]}"
    extents = [(block.log_offset, block.log_offset + block.count) for block in blocks if block.log_offset >= 0]
    if not extents:
        return f" for {partitions[0]}"
    low, high = min(start for start, _end in extents), max(end for _start, end in extents)
    dense = sum(block.count for block in blocks) == high - low
    return (
        f" at {offsets(low, high)} of {partitions[0]}"
        if dense
        else f" between offsets {low} and {high} of {partitions[0]}"
    )


def fill_pronoun(words: str, count: int) -> str:
    """Replace :data:`RECORDS_PLACEHOLDER` in a text by ``it`` or ``them``."""
    return words.replace(RECORDS_PLACEHOLDER, "it" if count == 1 else "them")


_ORDER = {cause.code: index for index, cause in enumerate(CAUSES)}


def group_findings(explanations: Iterable[RangeExplanation]) -> tuple[Finding, ...]:
    """Return one finding for each kind, cause, group and key, the gravest kinds first."""
    groups: dict[tuple[object, ...], list[RangeExplanation]] = {}
    for each in explanations:
        groups.setdefault((each.kind, each.cause, each.group_id, each.key), []).append(each)
    found = [_finding(group) for group in groups.values()]
    return tuple(sorted(found, key=lambda each: (KINDS.index(each.kind), _ORDER[each.cause], each.chain[0].at_us)))


def _finding(group: list[RangeExplanation]) -> Finding:
    group = sorted(group, key=lambda each: _order(each.block))
    blocks = merge_blocks([each.block for each in group])
    first = group[0]
    held = _holders_text(group)
    count = sum(block.count for block in blocks)
    clauses = list(first.clauses)
    if first.cause == UNEXPLAINED:
        clauses.append("the recorded events do not prove a cause")
    separator = ": " if first.kind in PREDICATES or first.group_id else "; "
    sentence = f"{_subject(group, blocks)}{separator}{'; '.join(clauses)}"
    other_partitions = len({block.partition for block in blocks}) - 1
    if other_partitions > 0 and first.kind in (LOST, MISSING) and first.acknowledgement is not None:
        sentence += f"; and likewise in {counted(other_partitions, 'other partition')}"
    chain = tuple(
        replace(link, text=fill_pronoun(link.text.replace(HOLDERS_PLACEHOLDER, held), count))
        for link in _chain(group, blocks)
    )
    sentence = fill_pronoun(sentence.replace(HOLDERS_PLACEHOLDER, held), count)
    return Finding(first.kind, first.cause, sentence, blocks, chain, first.group_id)


def _order(block: RecordBlock) -> tuple[str, int, int, int]:
    return (block.partition, block.leader_epoch, block.log_offset, block.sequence)


def _holders_text(group: list[RangeExplanation]) -> str:
    """Return which replicas still held the records at the election: ``brokers 2 and 3 still held them``."""
    total = sum(each.block.count for each in group)
    if len({each.block.partition for each in group}) > 1:
        some = sum(
            each.block.count for each in group if each.acknowledgement is not None and each.acknowledgement.holders
        )
        return f"other replicas still held {RECORDS_PLACEHOLDER if some == total else f'{thousands(some)} of them'}"
    counts: dict[int, int] = {}
    for each in group:
        for broker in each.acknowledgement.holders if each.acknowledgement is not None else ():
            counts[broker] = counts.get(broker, 0) + each.block.count
    whole = [broker for broker in sorted(counts) if counts[broker] == total]
    parts = [(brokers(whole), RECORDS_PLACEHOLDER)] if whole else []
    parts += [(f"broker {each}", f"{thousands(counts[each])} of them") for each in sorted(counts) if each not in whole]
    return " and ".join(
        f"{holders} {'held' if index else 'still held'} {records}" for index, (holders, records) in enumerate(parts)
    )


def merge_blocks(blocks: list[RecordBlock]) -> tuple[RecordBlock, ...]:
    """Return the blocks in order of partition and offset, adjacent ones merged."""
    merged: list[RecordBlock] = []
    for block in sorted(blocks, key=_order):
        if merged and _continues(merged[-1], block):
            last = merged[-1]
            merged[-1] = RecordBlock(
                last.partition, last.client, last.sequence, last.count + block.count, last.log_offset,
                last.leader_epoch, last.acks, last.committed,
            )  # fmt: skip
        else:
            merged.append(block)
    return tuple(merged)


def _continues(one: RecordBlock, other: RecordBlock) -> bool:
    same = (one.partition, one.client, one.leader_epoch, one.acks, one.committed) == (
        other.partition, other.client, other.leader_epoch, other.acks, other.committed,
    )  # fmt: skip
    dense = one.log_offset >= 0 and one.log_offset + one.count == other.log_offset
    return same and dense and (one.sequence < 0 or one.sequence + one.count == other.sequence)


def _subject(group: list[RangeExplanation], blocks: tuple[RecordBlock, ...]) -> str:
    first = group[0]
    count = sum(block.count for block in blocks)
    if first.group_id:
        verb = "skipped" if first.kind == SKIPPED else "left"
        unprocessed = "" if first.kind == SKIPPED else " unprocessed"
        return f"group {first.group_id} {verb} {counted(count, 'record')}{location_text(blocks)}{unprocessed}"
    subject = f"{counted(count, 'record')}{producers_text(blocks)}{location_text(blocks)}"
    if first.kind in PREDICATES:
        return f"{subject} {PREDICATES[first.kind][count != 1]}"
    acknowledgements = [each.acknowledgement for each in group if each.acknowledgement is not None]
    if first.cause == ACKS_0:
        subject += " were sent with acks=0 and counted as sent"
    if not acknowledgements:
        return subject
    if count == 1 and acknowledgements[0].names:
        subject += f" ({acknowledgements[0].names[0]})"
    readable = sum(block.count for block in blocks if block.committed)
    if 0 < readable < count:
        subject += f", {thousands(readable)} of them readable by consumers,"
    acks = acks_levels_text(block.acks for block in blocks)
    epochs = dict.fromkeys((each.broker, each.epoch) for each in acknowledgements)
    by = brokers(each.broker for each in acknowledgements)
    if len(epochs) == 1:
        by += f" in epoch {acknowledgements[0].epoch}"
    return f"{subject} had been acknowledged by {by} with {acks}{_isr_text(acknowledgements, blocks)}"


def _isr_text(acknowledgements: list[Acknowledgement], blocks: tuple[RecordBlock, ...]) -> str:
    """Return the ISR at the acknowledgement; if it changed, the first and the last."""
    isrs = [sorted(each.isr) for each in acknowledgements]
    first, last, least = isrs[0], isrs[-1], min(isrs, key=len)
    if all(each == first for each in isrs):
        return f" and ISR {first}"
    if len({block.partition for block in blocks}) > 1:
        most = max(map(len, isrs))
        return f" and ISRs of {most if len(least) == most else f'{len(least)} to {most}'} replicas"
    return f" and ISR {first}, later {last}" if first != last else f" and ISR {first}, {least} in between"


def _chain(group: list[RangeExplanation], blocks: tuple[RecordBlock, ...]) -> tuple[ChainEvent, ...]:
    """Return the chain of the largest range, with an acknowledgement event that covers all ranges."""
    largest = max(group, key=lambda each: each.block.count)
    if len(group) == 1 or largest.acknowledgement is None:
        return largest.chain
    count = sum(block.count for block in blocks)
    acknowledgements = [each.acknowledgement for each in group if each.acknowledgement is not None]
    leaders = brokers(each.broker for each in acknowledgements)
    if len({(each.broker, each.epoch) for each in acknowledgements}) == 1:
        leaders += f", leader in epoch {acknowledgements[0].epoch},"
    acks = acks_levels_text(block.acks for block in blocks) + _isr_text(acknowledgements, blocks)
    earliest = min(link.at_us for each in group for link in each.chain if link.event_kind == ACKNOWLEDGED_KIND)
    when = period_text(earliest, max(each.last_us for each in acknowledgements))
    text = (
        f"{leaders} wrote {counted(count, 'record')}{location_text(blocks)}{when} "
        f"and acknowledged {RECORDS_PLACEHOLDER} with {acks}"
    )
    links = [
        replace(link, at_us=earliest, text=text) if link.event_kind == ACKNOWLEDGED_KIND else link
        for link in largest.chain
    ]
    return tuple(sorted(links, key=lambda link: link.at_us))
