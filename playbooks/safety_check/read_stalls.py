"""When groups were handed nothing of a partition though it had something for them, from an instant on."""

from collections.abc import Iterable
from typing import Any, Final

from playbooks.results.client_stats import ClientBooks, read_up_to
from playbooks.results.group_progress import ReadStalls
from playbooks.safety_check.spans import Spans

GroupPartition = tuple[str, str]
PACE_US: Final = 100_000
"""Shorter waits are the pace of polls and are not kept: a group under load has one with each poll."""


class ReadWatch:
    """Takes events from an instant on. Who waited then begins to do so at that instant.

    It leaves the session's own statistics alone: a condition of the question that asks for them gets the value that it
    has in a run without a question.
    """

    def __init__(self, books: ClientBooks, now_us: int) -> None:
        self._readable = dict(books.readable)
        self._groups: dict[str, ReadStalls] = {}
        self._over: dict[GroupPartition, list[tuple[int, int]]] = {}
        for name, book in books.groups.items():
            stalls = self._groups[name] = ReadStalls.loaded(book.stalls.save())
            stalls.restart(now_us)

    def enter(self, events: Iterable[Any]) -> None:
        """The next events."""
        for event in events:
            kind = event.kind
            if kind in ("hw_advanced", "became_leader"):
                self._advanced(event)
            elif kind == "partition_deleted":
                self._readable.pop(event.partition, None)
                for stalls in self._groups.values():
                    stalls.gone(event.partition)
            elif (read_to := read_up_to(event)) >= 0:
                self._moved(event, read_to)

    def until(self, now_us: int) -> dict[GroupPartition, Spans]:
        """All of them so far; one that lasts is cut off now."""
        found = {key: list(spans) for key, spans in self._over.items()}
        for group, stalls in self._groups.items():
            for partition, since_us in stalls.waiting().items():
                if now_us - since_us >= PACE_US:
                    found.setdefault((group, partition), []).append((since_us, now_us))
        return {key: tuple(spans) for key, spans in sorted(found.items())}

    def _advanced(self, event: Any) -> None:
        epoch, _hw = self._readable.get(event.partition, (-1, 0))
        if event.leader_epoch < epoch:
            return  # of a zombie
        self._readable[event.partition] = (event.leader_epoch, event.hw)
        for stalls in self._groups.values():
            stalls.advanced(event.partition, event.hw, event.at_us)

    def _moved(self, event: Any, read_to: int) -> None:
        _epoch, hw = self._readable.get(event.partition, (-1, 0))
        stalls = self._groups.setdefault(event.group_id, ReadStalls())
        lasted_us = stalls.moved(event.partition, read_to, hw, event.at_us)
        if lasted_us >= PACE_US:
            spans = self._over.setdefault((event.group_id, event.partition), [])
            spans.append((event.at_us - lasted_us, event.at_us))
