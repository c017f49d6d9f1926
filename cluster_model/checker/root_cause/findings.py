"""Findings: what went wrong with records, why, and the events that led there, told once however many records.

A finding groups every range of records that shares a kind, a cause and the events that decided it, over all
partitions. Its chain begins with what was promised and ends where the record was dropped.
"""

from dataclasses import dataclass
from typing import Any, Final

LOST: Final = "lost"
"""Acknowledged, and in no log any more, or missing as the session ended; ``Place.committed`` tells the worse case."""
DUPLICATE: Final = "duplicate"
"""At two offsets of the leader's log."""
REORDERED: Final = "reordered"
"""Behind later records of its producer in the leader's log."""
SKIPPED: Final = "skipped"
"""Passed over by a group that was handed records before and behind it."""
MISSING: Final = "missing"
"""Acknowledged and not in the leader's log, while another replica's still has it."""
UNDONE: Final = "undone"
"""Acknowledged, and aborted in the log with a transaction that was not its own."""
LEAKED: Final = "leaked"
"""Aborted as its producer was told, and committed in the log."""
ABANDONED: Final = "abandoned"
"""Handed to an application that ended without processing it, and to nobody since."""

KINDS: Final = (LOST, MISSING, DUPLICATE, REORDERED, SKIPPED, ABANDONED, UNDONE, LEAKED)
"""All kinds, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Link:
    """One event of a chain."""

    at_us: int
    """Virtual microseconds; the same for all where time stands still."""
    event_kind: str
    """Kind of the trace event; ``settled`` for the end of the session."""
    partition: str
    """Empty where it concerns no single partition."""
    broker: int
    """Whom it happened to, -1 for nobody."""
    words: str
    """What happened, in plain words, without its time."""

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
        return {
            "at_us": self.at_us,
            "event": self.event_kind,
            "partition": self.partition,
            "broker": self.broker,
            "words": self.words,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """One range of records of one client in one partition."""

    partition: str
    client: str
    """The producer of the records; the group for what readers passed over or abandoned."""
    sequence: int
    """Of the first, as the producer numbers its records in this partition; -1: it does not."""
    count: int
    log_offset: int
    """Of the first; -1: it never had one."""
    leader_epoch: int
    """Of the leader that wrote them; -1: unknown."""
    acks: int
    committed: bool
    """Whether somebody could have read them."""

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
        return {
            "partition": self.partition,
            "client": self.client,
            "sequence": self.sequence,
            "count": self.count,
            "offset": self.log_offset,
            "epoch": self.leader_epoch,
            "acks": self.acks,
            "committed": self.committed,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """Records that met the same fate for the same reason, by the same events."""

    kind: str
    """One of :data:`KINDS`."""
    cause: str
    """A code of the closed list, see ``docs/causes.md``."""
    sentence: str
    """What was promised by whom, what happened, who took over without it, where it was dropped."""
    places: tuple[Place, ...]
    chain: tuple[Link, ...]
    """In order; the first link is the promise, the last where the records were dropped."""
    group_id: str = ""
    """The group that was to read them, for what is skipped or abandoned."""

    @property
    def count(self) -> int:
        """How many records."""
        return sum(place.count for place in self.places)

    @property
    def committed(self) -> int:
        """How many of them somebody could have read."""
        return sum(place.count for place in self.places if place.committed)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Where they were, each once."""
        return tuple(dict.fromkeys(place.partition for place in self.places))

    @property
    def clients(self) -> tuple[str, ...]:
        """Whose they are, each once."""
        return tuple(dict.fromkeys(place.client for place in self.places))

    def to_json(self) -> dict[str, Any]:
        """As the result prints it."""
        return {
            "kind": self.kind,
            "cause": self.cause,
            "sentence": self.sentence,
            "count": self.count,
            "committed": self.committed,
            "partitions": list(self.partitions),
            "clients": list(self.clients),
            "group": self.group_id,
            "places": [place.to_json() for place in self.places],
            "chain": [link.to_json() for link in self.chain],
        }
