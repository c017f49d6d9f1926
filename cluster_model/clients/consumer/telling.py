"""What a member's application hears: of partitions that come and go, and of commits."""

from collections.abc import Callable, Iterable
from typing import Any

from cluster_model.clients.consumer.offset_commits import Outcome
from cluster_model.kernel.node_context import Port
from cluster_model.protocol.events import (
    CommitFailed,
    Event,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)

Told = type[PartitionsAssigned] | type[PartitionsRevoked] | type[PartitionsLost]


class Telling:
    """The listener of one member, as events."""

    __slots__ = ("_committed", "_emit", "_named", "_port", "_word")

    def __init__(self, port: Port, named: tuple[str, str], word: str, emit: Callable[[Event], None]) -> None:
        """``named``: the member's and the group's name; ``word`` is what its protocol calls a generation."""
        self._port = port
        self._named = named
        self._word = word
        self._emit = emit
        self._committed: dict[str, int] = {}
        """What this member knows to be committed by itself."""

    def tell(self, kind: Told, partitions: Iterable[str], generation: int) -> None:
        """Partitions came or went, if any did."""
        names = tuple(partitions)
        if names:
            words = (f"{self._word} {generation}: " if generation >= 0 else "") + ", ".join(names)
            self._emit(kind(self._port.now, *self._named, len(names), words))

    def done(self, outcome: Outcome) -> None:
        """A commit came to its end; of offsets that were committed before nothing is said."""
        now = self._port.now
        if outcome.error:
            self._emit(CommitFailed(now, *self._named, outcome.error, outcome.kind))
            return
        for each in outcome.offsets:
            if self._committed.get(each.partition) != each.offset:
                self._committed[each.partition] = each.offset
                self._emit(OffsetsCommitted(now, *self._named, each.partition, each.offset, outcome.kind))

    def keep(self, partitions: Iterable[str]) -> None:
        """Forget what was committed of others than these."""
        kept = tuple(partitions)
        self._committed = {name: offset for name, offset in self._committed.items() if name in kept}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._committed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._committed = dict(saved)
