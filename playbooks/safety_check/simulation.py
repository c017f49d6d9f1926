"""What is seen of one future between the action and the end of the horizon, from its events."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from playbooks.engine.session import Session
from playbooks.results.availability import Availability, ClientKey, Outages
from playbooks.results.outages import drawn_up

Spans = tuple[tuple[int, int], ...]
"""Intervals, each from its beginning to its end, in order and apart from each other."""


def without(spans: Spans, others: Spans) -> Spans:
    """What is left of intervals where those others are taken away."""
    left: list[tuple[int, int]] = []
    for start, end in spans:
        at = start
        for low, high in others:
            if high <= at or low >= end:
                continue
            if low > at:
                left.append((at, low))
            at = max(at, high)
        if at < end:
            left.append((at, end))
    return tuple(left)


def longest(spans: Spans) -> int:
    """The longest of them, 0 for none."""
    return max((end - start for start, end in spans), default=0)


def length(spans: Spans) -> int:
    """All of them together."""
    return sum(end - start for start, end in spans)


def joined(spans: Spans, others: Spans) -> Spans:
    """Both together, those that touch as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((*spans, *others)):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


class Waiting:
    """When records that were sent found nobody to acknowledge them: also in silence, while a request is unanswered.

    From the first record that waits, or the last acknowledgement, to the next one. What failed was not served either.
    """

    def __init__(self) -> None:
        self._sent: dict[ClientKey, int] = {}
        self._done: dict[ClientKey, int] = {}
        self._since: dict[ClientKey, int] = {}
        self._spans: dict[ClientKey, list[tuple[int, int]]] = {}

    def sent(self, event: Any) -> None:
        """Records were handed to a producer."""
        key = (event.client, event.acks, event.partition)
        self._sent[key] = event.sequence + event.count
        self._since.setdefault(key, event.at_us)

    def settled(self, event: Any) -> None:
        """Nobody waits for these any more; ``records_acked`` alone says that somebody served."""
        key = (event.client, event.acks, event.partition)
        self._done[key] = max(self._done.get(key, -1), event.sequence + event.count)
        if event.kind != "records_acked" or key not in self._since:
            return
        since_us = self._since.pop(key)
        if event.at_us - since_us >= NOTICED_US:
            self._spans.setdefault(key, []).append((since_us, event.at_us))
        if self._done[key] < self._sent.get(key, -1):
            self._since[key] = event.at_us

    def spans(self, now_us: int) -> dict[ClientKey, Spans]:
        """All so far; what goes on is cut off now."""
        found = {key: tuple(spans) for key, spans in self._spans.items()}
        for key, since_us in self._since.items():
            if now_us - since_us >= NOTICED_US:
                found[key] = (*found.get(key, ()), (since_us, now_us))
        return found


NOTICED_US: Final = 100_000
"""Shorter times between two acknowledgements are the usual ones."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Intervals of virtual time, by whom and what they concern."""

    writes: dict[ClientKey, Spans]
    """Producer, acks level and partition → when it was refused, waited in vain, or nobody was there to serve it."""
    partitions: dict[str, Spans]
    """Partition → when nobody led it who could."""
    under_min: dict[str, Spans]
    """Partition → when it had fewer in sync than min.insync.replicas."""
    errors: dict[ClientKey, str]
    """Likewise → the error that was answered most often."""
    refused: tuple[str, ...]
    """What could not be done of what was asked, with the reason."""
    undone: tuple[str, ...]
    """Names of the steps that were refused at once."""


class Watch:
    """Takes events from an instant on. What was out of service then begins to be so at that instant."""

    def __init__(self, session: Session) -> None:
        now = session.cluster.now_us
        self._session = session
        self._availability: Availability = session.availability.afresh(now)
        self._under: dict[str, Outages] = {}
        self._errors: dict[ClientKey, dict[str, int]] = {}
        self._refused: list[str] = []
        self._undone: list[str] = []
        self._waiting = Waiting()
        for each in session.cluster.view().partitions:
            self._judge(each.name, len(each.isr), now)

    def take(self, events: Iterable[Any]) -> None:
        """The next events."""
        found = list(events)
        self._availability.enter(found)
        for event in found:
            kind = event.kind
            if kind == "records_sent":
                self._waiting.sent(event)
            elif kind in ("records_acked", "records_failed", "records_unknown"):
                self._waiting.settled(event)
            elif kind == "isr_changed":
                self._judge(event.partition, len(event.isr), event.at_us)
            elif kind == "produce_refused":
                errors = self._errors.setdefault((event.client, event.acks, event.partition), {})
                errors[event.error] = errors.get(event.error, 0) + 1
            elif kind in ("step_taken", "admin_answered") and event.error:
                self._note(event)

    def _note(self, event: Any) -> None:
        what = event.detail if event.kind == "step_taken" else event.operation
        why = event.error if event.kind == "step_taken" or not event.detail else f"{event.error}, {event.detail}"
        if event.by.startswith("step "):
            self._refused.append(f"{what}: {why}")
            if event.kind == "step_taken":
                self._undone.append(event.by)

    def _judge(self, partition: str, in_sync: int, now_us: int) -> None:
        world = self._session.cluster.world
        needed = world.effective_min_isr(partition) if partition in world.records else 0
        if in_sync >= needed and partition not in self._under:
            return
        self._under.setdefault(partition, Outages()).set(in_sync < needed, now_us)

    def seen(self) -> Seen:
        """All of it so far; what goes on is cut off now."""
        view = self._session.cluster.view()
        now = view.now_us
        drawn = drawn_up(self._availability, self._session.client_books, view)
        lines = {(each.client, each.acks, each.partition): each.spans for each in drawn.unserved}
        waited = self._waiting.spans(now)
        keys = sorted({**lines, **waited})
        return Seen(
            writes={key: joined(lines.get(key, ()), waited.get(key, ())) for key in keys},
            partitions={each.partition: each.spans for each in drawn.partitions if each.us},
            under_min={name: tuple(each.until(now).spans) for name, each in sorted(self._under.items())},
            errors={key: max(errors, key=lambda name: errors[name]) for key, errors in sorted(self._errors.items())},
            refused=tuple(self._refused),
            undone=tuple(self._undone),
        )
