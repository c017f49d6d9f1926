"""A client that hears of the cluster late: whoever answers its metadata requests knows what was so some time ago.

It stands for a client that asks a broker which is behind, or a proxy that keeps answers. What leaders themselves say
in answers to its requests (KIP-951) is as new as ever.
"""

from typing import Any

from cluster_model.protocol.messages import MetadataResponse


class OldAnswers:
    """One client's. Several faults may make its news late: their delays add up, and one of 0 is for good."""

    __slots__ = ("_answers", "_delays")

    def __init__(self) -> None:
        self._delays: dict[int, int] = {}
        """Fault → µs, 0: until it is healed."""
        self._answers: list[tuple[int, MetadataResponse]] = []
        """What was so when, oldest first; only where it changed."""

    @property
    def any(self) -> bool:
        """Whether any fault makes its news late."""
        return bool(self._delays)

    def hold(self, fault: int, delay_us: int) -> None:
        """Let answers from here on be that old, 0: none is newer than now."""
        self._delays[fault] = delay_us

    def release(self, fault: int) -> None:
        """Undo of :meth:`hold`."""
        self._delays.pop(fault, None)
        if not self._delays:
            self._answers.clear()

    def know(self, answer: MetadataResponse, now: int) -> None:
        """So it is now."""
        if not self._answers or self._answers[-1][1][1:] != answer[1:]:
            self._answers.append((now, answer))

    def instead_of(self, answer: MetadataResponse, now: int) -> MetadataResponse:
        """What is said in its place: as it was so long ago, or as long ago as anybody remembers."""
        if answer.brokers:
            self.know(answer, now)
        if not self._answers:
            return answer
        known = self._answers
        if all(self._delays.values()):
            since = now - sum(self._delays.values())
            while len(known) > 1 and known[1][0] <= since:
                known.pop(0)
        return known[0][1]._replace(correlation=answer.correlation)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._delays.items()), tuple(self._answers)) if self._delays else ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        delays, answers = saved or ((), ())
        self._delays = dict(delays)
        self._answers = list(answers)
