"""lost-write: a value stands in the log no higher than what somebody has read there, and nobody has ever read it.

Per key of which anything was read: the bound is the highest offset at which a value that was read stands *first*, so
that a duplicate written again far up cannot raise it. A value must have been read if it stands *last* at or below the
bound, so that one that is also found higher up need not have been. What must have been read and was not is lost, if
its send is committed: it was ok, or nobody can tell and some value of it was read.
"""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.duplicate import offsets_of_doubles
from cluster_model.checker.anomalies.index import KeyFacts
from cluster_model.checker.anomalies.operations import OK

NAME: Final = "lost-write"


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count values, by the client that sent them."""
    doubles = offsets_of_doubles(facts)
    bound = _bound(facts, doubles)
    if bound < 0:
        return
    for strand in facts.strands:
        for start, end in facts.log[strand].minus(facts.read.get(strand)):
            if start > bound:
                continue
            for offset, client, sequence, count in facts.payload(facts.key, strand, start, min(end, bound + 1)):
                for index in range(count):
                    value, at = (client, sequence + index), offset + index
                    if at < facts.start or not _is_lost(facts, value):
                        continue
                    offsets = doubles.get(value, [at])
                    if offsets[-1] <= bound and at == offsets[-1] and strand == _last_strand(facts, value, at, strand):
                        words = (
                            f"record {sequence + index} of {client}, written at offset {at}, was never read, and "
                            f"offset {bound} was"
                        )
                        tally.note(NAME, client, facts.key, Example(now, at, at + 1, words))


def _is_lost(facts: KeyFacts, value: tuple[str, int]) -> bool:
    """Whether its send is committed, and no poll returned it."""
    client, sequence = value
    read = facts.values.get(client)
    if read is not None and read.has(sequence):
        return False
    return any(client in sent and sent[client].has(sequence) for sent in (facts.ended[OK], facts.promised))


def _last_strand(facts: KeyFacts, value: tuple[str, int], at: int, strand: int) -> int:
    """Of the strands that have the value at this offset the newest: it is told once."""
    if not facts.contested.has(at):
        return strand
    client, sequence = value
    found = strand
    for other in facts.strands:
        if facts.log[other].has(at):
            for _offset, owner, first, _count in facts.payload(facts.key, other, at, at + 1):
                if (owner, first) == (client, sequence):
                    found = max(found, other)
    return found


def _bound(facts: KeyFacts, doubles: dict[tuple[str, int], list[int]]) -> int:
    """The highest offset at which a value that was read stands first; -1: nothing was read."""
    best = -1
    for strand, spans in facts.read.items():
        for start, end in reversed(spans.ranges()):
            if end - 1 <= best:
                continue
            best = max(best, _first_in(facts, strand, max(start, best + 1), end, doubles))
    for (client, sequence), offsets in doubles.items():
        read = facts.values.get(client)
        if read is not None and read.has(sequence):
            best = max(best, offsets[0])
    return best


def _first_in(facts: KeyFacts, strand: int, start: int, end: int, doubles: dict[tuple[str, int], list[int]]) -> int:
    """The highest offset of ``[start, end)`` whose value stands nowhere before; -1 for none."""
    step, at = 1, end
    while start < at:
        # Nearly always the last one is it; only behind many duplicates more is looked at.
        low = max(start, at - step)
        for offset, client, sequence, count in reversed(facts.payload(facts.key, strand, low, at)):
            for index in range(count - 1, -1, -1):
                offsets = doubles.get((client, sequence + index))
                if offsets is None or offsets[0] == offset + index:
                    return offset + index
        at, step = low, step * 4
    return -1
