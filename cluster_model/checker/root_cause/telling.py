"""Words and small parts that all findings are told with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import Link, Place

PROMISE: Final = "records_acked"
"""Kind of the link that tells who promised what."""
SETTLED: Final = "settled"
"""Kind of the link that ends a chain with the session."""


THEM: Final = "<them>"
"""Stands for the records until it is known how many they are."""
HELD: Final = "<held>"
"""Stands for who still held which of them, until all ranges of a finding are together."""
LONG_US: Final = 1_000_000
"""What took longer to write is told with its end."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Who vouched for the records of a place."""

    broker: int
    epoch: int
    isr: tuple[int, ...]
    names: tuple[str, ...] = ()
    """Of the records, where they have any."""
    last_us: int = 0
    """When the last of them was written."""
    holders: tuple[int, ...] = ()
    """Replicas that still held them when another one came to lead without them."""


@dataclass(frozen=True, slots=True)
class Told:
    """One range of records, explained."""

    kind: str
    cause: str
    key: tuple[object, ...]
    """What decided it: those with the same kind, cause and key are one finding."""
    place: Place
    promise: Promise | None
    clauses: tuple[str, ...]
    """What happened, who took over without it, where it was dropped."""
    chain: tuple[Link, ...]
    group_id: str = ""


def number(count: int) -> str:
    """``1,203``."""
    return f"{count:,}"


def records(count: int) -> str:
    """``1 record``, ``1,203 records``."""
    return "1 record" if count == 1 else f"{number(count)} records"


def counted(count: int, what: str) -> str:
    """``1 partition``, ``40 partitions``."""
    return f"1 {what}" if count == 1 else f"{number(count)} {what}s"


def brokers(ids: Iterable[int]) -> str:
    """``broker 1``, ``brokers 1, 2 and 3``."""
    found = [str(each) for each in dict.fromkeys(ids)]
    if len(found) == 1:
        return f"broker {found[0]}"
    return f"brokers {', '.join(found[:-1])} and {found[-1]}"


def offsets(start: int, end: int) -> str:
    """``offset 3``, ``offsets 3 to 9``; ``end`` is exclusive."""
    return f"offset {start}" if end - start == 1 else f"offsets {start} to {end - 1}"


def at(at_us: int) -> str:
    """`` at 12.300 s``; nothing where time stands still."""
    return f" at {at_us // 1_000_000}.{at_us // 1_000 % 1_000:03} s" if at_us > 0 else ""


def span(first_us: int, last_us: int) -> str:
    """`` from 7.816 s to 28.203 s``; nothing for what took a second at most."""
    return f" from{at(first_us)[3:]} to{at(last_us)[3:]}" if last_us - first_us > LONG_US else ""


def acks_words(levels: Iterable[int]) -> str:
    """``acks=all``, ``acks=0 and acks=1``."""
    return " and ".join(f"acks={'all' if each < 0 else each}" for each in sorted(set(levels), reverse=True))


def whose(places: Sequence[Place]) -> str:
    """`` of clicks``, `` of 3 producers``; nothing where no producer has a name."""
    clients = [each for each in dict.fromkeys(place.client for place in places) if each]
    if len(clients) > 2:
        return f" of {number(len(clients))} producers"
    return f" of {' and '.join(clients)}" if clients else ""


def where(places: Sequence[Place]) -> str:
    """`` at offsets 3 to 9 of orders-0``, `` in 40 partitions``."""
    partitions = tuple(dict.fromkeys(place.partition for place in places))
    if len(partitions) > 2:
        return f" in {counted(len(partitions), 'partition')}"
    if len(partitions) == 2:
        return f" in {partitions[0]} and {partitions[1]}"
    known = [(place.log_offset, place.log_offset + place.count) for place in places if place.log_offset >= 0]
    if not known:
        return f" for {partitions[0]}"
    low, high = min(start for start, _end in known), max(end for _start, end in known)
    dense = sum(place.count for place in places) == high - low
    return (
        f" at {offsets(low, high)} of {partitions[0]}"
        if dense
        else f" between offsets {low} and {high} of {partitions[0]}"
    )


def with_number(words: str, count: int) -> str:
    """``it`` or ``them`` put in for :data:`THEM`."""
    return words.replace(THEM, "it" if count == 1 else "them")
