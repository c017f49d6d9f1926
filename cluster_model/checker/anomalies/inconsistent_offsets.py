"""inconsistent-offsets: one offset of a key was seen with two values."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import KeyFacts
from cluster_model.util.ranges import Range

NAME: Final = "inconsistent-offsets"


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count offsets, by the client whose value was seen first."""
    for start, end in facts.contested.ranges():
        told: dict[int, tuple[str, int, int]] = {}
        differ: dict[int, tuple[tuple[str, int, int], tuple[str, int, int]]] = {}
        for strand in facts.strands:
            for low, high in facts.log[strand].within(start, end):
                for offset, value in _values(facts, strand, (low, high)):
                    first = told.setdefault(offset, (*value, strand))
                    if first[:2] != value:
                        differ.setdefault(offset, (first, (*value, strand)))
        for offset in sorted(differ):
            (client, sequence, _strand), (other, another, _other) = differ[offset]
            words = f"offset {offset} held record {sequence} of {client}, and record {another} of {other}"
            tally.note(NAME, client, facts.key, Example(now, offset, offset + 1, words))


def _values(facts: KeyFacts, strand: int, part: Range) -> list[tuple[int, tuple[str, int]]]:
    return [
        (offset + index, (client, sequence + index))
        for offset, client, sequence, count in facts.payload(facts.key, strand, *part)
        for index in range(count)
    ]
