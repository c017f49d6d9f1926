"""realtime-lag: how long before a poll it was known that there is more than what it returned.

It is no anomaly but a measure of the other ones' reach: a reader that lags has not seen what it is said to miss.
"""

from bisect import bisect_right
from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.poll_order import client_of

NAME: Final = "realtime-lag"

_KEPT: Final = 1_024
"""Times per key. Beyond that every second one is forgotten, and lags come out so much shorter."""


_Worst = dict[tuple[str, str], tuple[int, int, int, int]]
"""(client, key) → (polls that lagged, the worst lag, when that was, offset)."""


class Lags:
    """By key since when offsets were known to exist, and by client and key its polls that lagged and the worst lag."""

    __slots__ = ("_at_hand", "_ends", "_times", "_worst")

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}
        self._times: dict[str, list[int]] = {}
        self._at_hand: dict[tuple[str, str], tuple[int, int]] = {}
        """(process, key) → (when called, last offset) of its newest poll."""
        self._worst: _Worst = {}

    def known(self, key: str, end: int, now: int) -> None:
        """Offsets below ``end`` exist, as somebody was told."""
        ends = self._ends.get(key)
        if ends is None:
            self._ends[key], self._times[key] = [end], [now]
        elif end > ends[-1]:
            times = self._times[key]
            if times[-1] == now:
                ends[-1] = end
                return
            ends.append(end)
            times.append(now)
            if len(ends) > _KEPT:
                # The newest stays.
                del ends[-3::-2]
                del times[-3::-2]

    def polled(self, process: str, key: str, last: int, invoked_us: int) -> None:
        """A poll that was called at ``invoked_us`` has returned up to offset ``last``, and maybe goes on."""
        who = (process, key)
        before = self._at_hand.get(who)
        if before is not None and before[0] != invoked_us:
            self._enter(self._worst, who, before)
        self._at_hand[who] = (invoked_us, last)

    def _enter(self, worst: "_Worst", who: tuple[str, str], poll: tuple[int, int]) -> None:
        """A poll is over. What became known since it was called does not matter to it."""
        invoked_us, last = poll
        key = who[1]
        ends = self._ends.get(key)
        if ends is None or ends[-1] <= last + 1:
            return
        lag = invoked_us - self._times[key][bisect_right(ends, last + 1)]
        if lag > 0:
            client = (client_of(who[0]), key)
            count, most, at, offset = worst.get(client, (0, 0, 0, 0))
            if lag > most:
                most, at, offset = lag, invoked_us, last
            worst[client] = (count + 1, most, at, offset)

    def find(self, tally: Tally) -> None:
        """Count polls."""
        worst = dict(self._worst)
        for who, poll in self._at_hand.items():
            self._enter(worst, who, poll)
        for (client, key), (count, most, at, offset) in worst.items():
            words = f"{client} was handed up to offset {offset} of {key}, {most} us after the next was known to exist"
            tally.note(NAME, client, key, Example(at, offset, offset + 1, words), count)

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._at_hand = {who: poll for who, poll in self._at_hand.items() if who[1] != key}
        self._ends.pop(key, None)
        self._times.pop(key, None)

    @property
    def entries(self) -> int:
        """How many times are kept."""
        return sum(map(len, self._ends.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        times = [(key, tuple(ends), tuple(self._times[key])) for key, ends in self._ends.items()]
        return (tuple(times), tuple(self._worst.items()), tuple(self._at_hand.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        times, worst, at_hand = saved
        self._at_hand = dict(at_hand)
        self._ends = {key: list(ends) for key, ends, _times in times}
        self._times = {key: list(each) for key, _ends, each in times}
        self._worst = dict(worst)
