"""What producers had to send again, and why: kept where it put records into a log twice, or behind later ones.

An append that does not go beyond its client's highest number so far may be one or the other. What the client was last
told of those records is noted with it: a run of such appends that one refusal led to is one entry.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.checker.history.fault_history import Deed, Deeds, about
from cluster_model.protocol.events import Appended, ProduceRefused

REFUSALS_KEPT: Final = 64
"""Batches of one client and partition, the last refusal of each: more than can be under way."""
JUST_OVER_US: Final = 1_000_000
"""How long ago what led to a refusal may have ended: a paused broker refuses when it goes on."""
REPEATS_KEPT: Final = 512
"""Runs of late appends of one client and partition."""

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Again:
    """Consecutive records that were written late, or again."""

    sequence: int
    end: int
    written_us: int
    """The first of them."""
    last_us: int
    broker: int
    refused_us: int
    """When the client was refused, or gave the answer up; -1: it never was."""
    refused_by: int
    error: str
    deed: Deed | None
    """What stood against the client, or that broker, then."""


class Attempts:
    """By client and partition."""

    __slots__ = ("_again", "_deeds", "_refused")

    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds
        self._refused: dict[_Key, tuple[ProduceRefused, ...]] = {}
        self._again: dict[_Key, tuple[Again, ...]] = {}

    def refused(self, event: ProduceRefused) -> None:
        """An attempt failed."""
        key = (event.client, event.partition)
        known = tuple([each for each in self._refused.get(key, ()) if each.sequence != event.sequence])
        self._refused[key] = (*known[1 - REFUSALS_KEPT :], event)

    def written_again(self, key: _Key, event: Appended) -> None:
        """A leader wrote records that do not go beyond the highest number of their client there."""
        end = event.sequence + event.count
        refusals = [
            each
            for each in self._refused.get(key, ())
            if each.sequence < end and each.sequence + each.count > event.sequence
        ]
        refusal = refusals[-1] if refusals else None
        at_us, by, error = (-1, -1, "") if refusal is None else (refusal.at_us, refusal.broker, refusal.error)
        deed = self._against(key[0], by, at_us)
        fresh = Again(event.sequence, end, event.at_us, event.at_us, event.broker, at_us, by, error, deed)
        known = self._again.get(key, ())
        last = known[-1] if known else None
        if last is not None and last.end == fresh.sequence and (last.broker, last.error, last.deed) == (
            fresh.broker, fresh.error, fresh.deed,
        ):  # fmt: skip
            self._again[key] = (*known[:-1], replace(last, end=end, last_us=event.at_us))
        else:
            self._again[key] = (*known[1 - REPEATS_KEPT :], fresh)

    def _against(self, client: str, broker: int, at_us: int) -> Deed | None:
        """The newest deed on the client, or else on the broker, that was not over then."""
        if at_us < 0:
            return None
        standing = [deed for deed in self._deeds.standing() if deed.at_us <= at_us]
        for node in (client, f"broker {broker}"):
            found = about(tuple(standing), node, at_us - JUST_OVER_US)
            if found:
                return found[-1]
        return None

    def of(self, client: str, partition: str, sequence: int, at_us: int) -> Again | None:
        """The late append of a record at a time."""
        for each in reversed(self._again.get((client, partition), ())):
            if each.sequence <= sequence < each.end and each.written_us <= at_us <= each.last_us:
                return each
        return None

    def bounds(self, client: str, partition: str) -> list[int]:
        """Numbers at which one run ends and another may begin."""
        return [bound for each in self._again.get((client, partition), ()) for bound in (each.sequence, each.end)]

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        for table in (self._refused, self._again):
            for key in [key for key in table if key[1] == partition]:
                del table[key]

    @property
    def entries(self) -> int:
        """How many are kept."""
        return sum(len(each) for table in (self._refused, self._again) for each in table.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._refused.items()), tuple(self._again.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        refused, again = saved
        self._refused, self._again = dict(refused), dict(again)
