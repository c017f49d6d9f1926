"""What an application's handler makes of the records of a poll: how long it takes, and for which of them it fails.

A record that the application's own rule cannot process fails for whoever reads it. Faults add to that: *poison* is in
the record, and fails every time; otherwise every attempt is drawn anew. What the application does then is its policy
(:class:`~cluster_model.spec.application.Application`), unless the fault says otherwise.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from cluster_model.clients.consumer.fetcher import Handed
from cluster_model.clients.consumer.in_hand import Left
from cluster_model.spec.application import Application, Failing
from cluster_model.util.mixing import mixed, number_of

USUAL: Final = "usual"
RETRY: Final = "retry"
SKIP: Final = "skip"
CRASH: Final = "crash"
CLOSE: Final = "close"
DEAD_LETTER: Final = "dead_letter"
THEN: Final = {
    USUAL: "as it is configured: its retries, then its dead-letter topic, or else the record is skipped",
    RETRY: "it goes back to the record and polls it again, for ever; what is behind it waits",
    SKIP: "the record is skipped at once",
    CRASH: "the exception ends the process; nothing is committed any more",
    CLOSE: "the exception ends the poll loop and the consumer is closed, which commits what was polled if commits are "
    "automatic",
    DEAD_LETTER: "the record is sent to the dead-letter topic at once",
}
"""What an application does when its handler has failed, with what that means."""
THROWN: Final = "HandlerException"
"""The exception that ends such an application."""
GONE_BACK: Final = "handler failed"
"""Why an application goes back to records."""

WHOLE: Final = 1_000_000


class Trouble(NamedTuple):
    """What a fault does to a handler: it fails for ``share_ppm`` in a million records, for the same ones if poison."""

    share_ppm: int
    poison: bool
    then: str
    pause_us: int
    """From a failure until the record is polled again."""


class Handling:
    """Of one member's application. What a fault may set is told by the cluster, and not saved here."""

    __slots__ = (
        "_by_rule", "_draws", "_group", "_more_us", "_taken", "application", "broke", "factor_ppm", "failing", "left",
        "skipped", "slower_us", "stall_us", "troubles",
    )  # fmt: skip

    def __init__(self, application: Application, name: str, group: str, seed: int) -> None:
        """``seed`` is the session's."""
        self.application = application
        self._draws = number_of(f"{seed}/handler:{name}")
        self._group = f"{seed}/{group}/"
        self.stall_us = 0
        """Added by faults to every poll's records ..."""
        self.slower_us = 0
        """... and to every record's time, which is first multiplied by so many millionths."""
        self.factor_ppm = WHOLE
        self.troubles: tuple[Trouble, ...] = ()
        self.failing: tuple[Failing, ...] = ()
        """Records that it gives up as it is configured to."""
        self.skipped: tuple[Failing, ...] = ()
        """Records that it skips whatever is configured."""
        self.broke = ""
        """:data:`RETRY`, :data:`CRASH` or :data:`CLOSE` if the handler's exception ends this poll's work ..."""
        self.left: tuple[Left, ...] = ()
        """... with these records not processed, the one that it failed for first."""
        self._taken = 0
        self._by_rule = 0
        self._more_us = 0

    def take(self, handed: Sequence[Handed], number: int) -> None:
        """Find out what will become of a poll's records; ``number`` were handed out before, in all lives."""
        self.skipped, self.broke, self.left, self._more_us = (), "", (), 0
        self._taken = sum(each.records for each in handed)
        failed: list[Failing] = []
        if self.troubles:
            handed = self._strike(handed, number, failed)
        rule = self.application.failing
        found = [each for each in [rule(each.partition, each.start, each.last) for each in handed] if each is not None]
        self._by_rule = sum(count for _partition, _first, count in found)
        self.failing = (*found, *failed)

    def _strike(self, handed: Sequence[Handed], number: int, failed: list[Failing]) -> list[Handed]:
        """What comes of faults; the records that it gets to before it breaks off, if it does."""
        skipped: list[Failing] = []
        reached: list[Handed] = []
        for index, each in enumerate(handed):
            for offset in range(each.start, each.last + 1):
                number += 1
                then, pause_us = self._fate(each.partition, offset, number)
                if then in (USUAL, DEAD_LETTER):
                    failed.append((each.partition, offset, 1))
                elif then == SKIP:
                    skipped.append((each.partition, offset, 1))
                elif then:
                    done = min(each.records, offset - each.start)
                    if done:
                        reached.append(each._replace(records=done, last=offset - 1))
                    first = (each.partition, offset, each.records - done or 1)
                    self.left = (first, *[(one.partition, one.start, one.records) for one in handed[index + 1 :]])
                    self._taken = sum(one.records for one in reached) + 1
                    self.broke, self.skipped = then, tuple(skipped)
                    self._more_us += pause_us if then == RETRY else 0
                    return reached
            reached.append(each)
        self.skipped = tuple(skipped)
        return reached

    def _fate(self, partition: str, offset: int, number: int) -> tuple[str, int]:
        """What becomes of a record that a fault makes the handler fail for; empty: it is processed after all."""
        every = self.application.fails
        if every and offset % every == every - 1:
            return "", 0
        for trouble in self.troubles:
            if self._fails(trouble, partition, offset, number, 0):
                if trouble.then != USUAL:
                    return trouble.then, trouble.pause_us
                if self._retried_in_vain(trouble, partition, offset, number):
                    return USUAL, 0
        return "", 0

    def _retried_in_vain(self, trouble: Trouble, partition: str, offset: int, number: int) -> bool:
        """The application tries again as often as it is configured to, and that takes time."""
        application = self.application
        attempt = 1
        while attempt <= application.retries:
            self._more_us += application.pause_us + self.record_us
            if not self._fails(trouble, partition, offset, number, attempt):
                return False
            attempt += 1
        return True

    def _fails(self, trouble: Trouble, partition: str, offset: int, number: int, attempt: int) -> bool:
        if trouble.poison:
            drawn = mixed(number_of(self._group + partition) + offset)
        else:
            drawn = mixed(mixed(self._draws + number) + attempt)
        return drawn * WHOLE >> 64 < trouble.share_ppm

    @property
    def record_us(self) -> int:
        """What it spends on a record."""
        return self.application.processing_us * self.factor_ppm // WHOLE + self.slower_us

    def duration(self) -> int:
        """How long it takes for the poll's records."""
        application = self.application
        tried = self._by_rule * application.retries * (application.pause_us + self.record_us)
        return self._taken * self.record_us + tried + self._more_us + self.stall_us

    @property
    def processed(self) -> int:
        """Records of the poll that were not given up."""
        given_up = sum(count for _partition, _first, count in (*self.failing, *self.skipped))
        return max(0, self._taken - given_up)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._taken, self.failing, self.skipped, self.broke, self.left, self._by_rule, self._more_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._taken, self.failing, self.skipped, self.broke, self.left, self._by_rule, self._more_us = saved
