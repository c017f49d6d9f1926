"""Standing exchanges: one process asks, the other answers when there is news or the wait is over, and so on for ever.

Each has a connection of its own, with one request under way at a time, as a replica fetcher has. While nobody has any
news such an exchange is *idle*: the request waits its full time, the answer is empty, the next request repeats the
last. Nothing of that changes anything but the time of the last request, so idle cycles cost no events: the exchange is
*asleep*. When something is about to happen to either side it is *woken*, which puts in place exactly what would have
stood there. Two things make that exact:

- The messages of idle cycles take their delays from a fixed pattern of draws, over and over, so that any number of
  cycles is a sum; all others draw from the wire's stream, which idle cycles thus leave alone.
- Events of exchanges have lanes in the kernel's order: what is put in place late still falls where it belongs.

With ``naive`` no exchange ever sleeps, and everything observable is the same. Whatever else can stop, delay or lose a
message between two processes must wake their exchanges first (:meth:`Network.rouse`).
"""

from bisect import bisect_right
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import LANES, Kernel
from cluster_model.kernel.link import Link, Wire
from cluster_model.kernel.process import MESSAGE, RUNNING, TIMER, Process
from cluster_model.kernel.rng import BLOCK

_COUNT_BITS: Final = 20
_COUNTS: Final = (1 << _COUNT_BITS) - 1
_NODE_BITS: Final = 12
_INDEX_BITS: Final = 8


def lane(asker: int, answerer: int, index: int) -> int:
    """The first order of an exchange's events; those of a node with itself are for its late timers."""
    return LANES + (((asker << _NODE_BITS | answerer) << _INDEX_BITS | index) << (_COUNT_BITS + 1))


class Asker(Protocol):
    """The side that asks. Its requests are numbered, each by the next number."""

    def repeats(self, number: int) -> bool:
        """Whether an empty answer to request ``number`` would at once be followed by the same question."""

    def request(self, number: int) -> Any:
        """That question under another number."""

    def skipped(self, number: int) -> None:
        """Request ``number`` is the one under way by now."""


class Answerer(Protocol):
    """The side that answers."""

    def nothing(self, number: int) -> Any:
        """The empty answer to request ``number``."""

    def came(self, request: Any, arrived: int) -> None:
        """``request`` was the last to arrive, at that time, and has been answered by nothing."""

    def woken(self, request: Any, arrived: int) -> None:
        """``request`` arrived at that time, and waits."""


class Sleep(NamedTuple):
    """What an exchange was at when it fell asleep: request ``number`` had arrived and would wait for ``wait``.

    ``serial`` orders its deadline among others' at the same time.
    """

    number: int
    arrived: int
    sent_at: int
    wait: int
    serial: int


class Phase(NamedTuple):
    """Where a sleeping exchange stands: whole cycles slept, and when this one's request arrived, and times ahead.

    The answer would leave at ``deadline`` and arrive at ``answered``; ``parked`` and ``answering`` tell which of them
    are still to come.
    """

    cycles: int
    arrived: int
    deadline: int
    answered: int
    parked: bool
    answering: bool


class Exchange:
    """One of them. Identity: who asks, who answers, and which of the asker's connections to the other it is."""

    __slots__ = (
        "_answer_wire", "_answerer", "_answers", "_asker", "_asks", "_back", "_cycle_us", "_kernel", "_lane",
        "_longest_us", "_paced", "_request_wire", "_sent_at", "_sleep", "_there", "answering", "asking", "naive",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, asker: Process, answerer: Process, index: int, there: Link, back: Link) -> None:
        self.asking: Asker | None = None
        self.answering: Answerer | None = None
        self.naive = False
        self._kernel = kernel
        self._asker = asker
        self._answerer = answerer
        self._there = there
        self._back = back
        self._request_wire = there.new_wire(f"ask {index}")
        self._answer_wire = back.new_wire(f"answer {index}")
        self._lane = lane(asker.id, answerer.id, index)
        self._asks = 0
        """Idle requests so far: the next one's place in the pattern; and likewise for answers."""
        self._answers = 0
        self._sent_at = 0
        self._sleep: Sleep | None = None
        self._paced: tuple[Any, ...] = ()
        """What :attr:`_cycle_us` is reckoned from, the wait and the shift first; after a load those alone."""
        self._cycle_us: list[int] = []
        """How long idle cycles take, summed up from the one that begins with the first answer of the pattern."""
        self._longest_us = 0

    @property
    def longest_us(self) -> int:
        """The most that passes between two arrivals of requests while asleep."""
        self._reckoned()
        return self._longest_us

    @property
    def asleep(self) -> bool:
        """Whether its idle cycles are left out right now."""
        return self._sleep is not None

    @property
    def phase(self) -> Phase | None:
        """Where it stands while asleep, for who looks on; None awake."""
        return None if self._sleep is None else self._phase(self._sleep)

    @property
    def sent_at(self) -> int:
        """When the last request was sent."""
        sleep = self._sleep
        return self._sent_at if sleep is None else self._last_sent(sleep, self._phase(sleep))

    @property
    def arrived(self) -> int:
        """When the last request arrived, while asleep; -1 awake."""
        return -1 if self._sleep is None else self._phase(self._sleep).arrived

    @property
    def wires(self) -> tuple[Wire, Wire]:
        """That of requests, and that of answers."""
        return self._request_wire, self._answer_wire

    def _order(self, number: int) -> int:
        return self._lane + (number & _COUNTS)

    def _deadline_order(self, serial: int) -> int:
        return self._order(serial) + (1 << _COUNT_BITS)

    def ask(self, number: int, request: Any, *, idle: bool) -> None:
        """Send a request; ``idle``: it repeats the last, which was answered by nothing."""
        self._sent_at = now = self._kernel.now
        if not (self._there.ready or self._there.use()):
            self._hold(self._there, self._request_wire, number, request)
            return
        if idle:
            at = self._request_wire.idle_arrival(now, self._asks)
            self._asks += 1
        else:
            at = self._request_wire.arrival(now)
        self._put(at, number, self._asker, self._answerer, request)

    def answer(self, number: int, answer: Any, *, idle: bool) -> None:
        """Send an answer; ``idle``: it waited in vain."""
        now = self._kernel.now
        if not (self._back.ready or self._back.use()):
            self._hold(self._back, self._answer_wire, number, answer)
            return
        if idle:
            at = self._answer_wire.idle_arrival(now, self._answers)
            self._answers += 1
        else:
            at = self._answer_wire.arrival(now)
        self._put(at, number, self._answerer, self._asker, answer)

    def _put(self, at: int, number: int, source: Process, target: Process, message: Any) -> None:
        payload = (source.id, source.incarnation, target.incarnation, message)
        self._kernel.schedule_in_lane(at, self._order(number), MESSAGE, target.id, payload)

    def _hold(self, link: Link, wire: Wire, number: int, message: Any) -> None:
        """The link is cut or troubled; what comes through in the end is no idle message, whatever it says."""
        payload = (link.source.id, link.source.incarnation, link.target.incarnation, message)
        link.hold(self._kernel, wire, self._order(number), payload)

    def deadline(self, at: int, serial: int, timer: tuple[Any, ...]) -> None:
        """Have the answerer's ``on_timer`` called; no two with the same ``serial`` may be due at the same time."""
        order = self._deadline_order(serial)
        answerer = self._answerer
        self._kernel.schedule_in_lane(at, order, TIMER, answerer.id, (answerer.incarnation, timer))

    def sleep(self, number: int, wait: int, serial: int, answering: Answerer) -> bool:
        """Request ``number`` has just arrived and finds nothing: sleep if all the asker would do is to repeat it."""
        now = self._kernel.now
        if self.naive or wait <= 0 or self._asker.state is not RUNNING:
            return False
        if self.asking is None or not self.asking.repeats(number):
            return False
        if self._answer_wire.arrives > now or self._request_wire.arrives > now:
            return False
        if self._there.cuts or self._back.cuts or self._there.trouble or self._back.trouble:
            return False
        if self._answerer.wakeful or self._asker.cpu is not None or self._answerer.cpu is not None:
            return False
        self.answering = answering
        self._sleep = Sleep(number, now, self._sent_at, wait, serial)
        self._pace(wait, (self._asks - self._answers) % BLOCK)
        return True

    def _pace(self, wait: int, shift: int) -> None:
        """Reckon how long idle cycles take; ``shift`` is how far requests are ahead of answers in the pattern."""
        answers, requests = self._answer_wire.patterned(), self._request_wire.patterned()
        paced = (wait, shift, answers, requests)
        if self._paced != paced:
            self._paced = paced
            total = 0
            self._cycle_us = [0]
            self._longest_us = wait + max(answers) + max(requests)
            for place, delay in enumerate(answers):
                total += wait + delay + requests[(place + shift) % BLOCK]
                self._cycle_us.append(total)

    def _reckoned(self) -> list[int]:
        """How long idle cycles take; after a load it is reckoned when it is first asked for."""
        if not self._cycle_us and self._paced:
            self._pace(self._paced[0], self._paced[1])
        return self._cycle_us

    def _phase(self, sleep: Sleep) -> Phase:
        """Where it stands at this very point of the kernel's order."""
        cycle_us = self._reckoned()
        now, order = self._kernel.now, self._kernel.reached
        first = self._answers % BLOCK
        rounds, left = divmod(now - sleep.arrived + cycle_us[first], cycle_us[BLOCK])
        cycles = rounds * BLOCK + bisect_right(cycle_us, left) - 1 - first
        arrived = sleep.arrived + self._slept_us(first, cycles)
        if cycles and arrived == now and self._order(sleep.number + cycles) >= order:
            cycles -= 1
            arrived = sleep.arrived + self._slept_us(first, cycles)
        deadline = arrived + sleep.wait
        answered = deadline + self._answer_wire.pattern[(first + cycles) % BLOCK]
        parked = (deadline, self._deadline_order(sleep.serial)) >= (now, order)
        answering = (answered, self._order(sleep.number + cycles)) >= (now, order)
        return Phase(cycles, arrived, deadline, answered, parked, answering)

    def _slept_us(self, first: int, cycles: int) -> int:
        rounds, place = divmod(first + cycles, BLOCK)
        return rounds * self._cycle_us[BLOCK] + self._cycle_us[place] - self._cycle_us[first]

    def _last_sent(self, sleep: Sleep, phase: Phase) -> int:
        if not phase.parked and not phase.answering:
            return phase.answered
        if not phase.cycles:
            return sleep.sent_at
        return phase.arrived - self._request_wire.pattern[(self._asks + phase.cycles - 1) % BLOCK]

    def wake(self) -> None:
        """Put in place what would stand there now; to be called before anything changes for either side."""
        sleep = self._sleep
        if sleep is None or self.asking is None or self.answering is None:
            return
        phase = self._phase(sleep)
        self._sent_at = self._last_sent(sleep, phase)
        self._sleep = None
        number = sleep.number + phase.cycles
        self._asks += phase.cycles
        self._answers += phase.cycles
        answer_at = phase.answered
        self._request_wire.arrives = phase.arrived
        if phase.cycles:
            self.asking.skipped(number)
        last = self.asking.request(number)
        if phase.parked:
            if phase.cycles:
                self._answer_wire.arrives = self._sent_at
            self.answering.woken(last, phase.arrived)
            return
        self._answers += 1
        self._answer_wire.arrives = answer_at
        self.answering.came(last, phase.arrived)
        if phase.answering:
            self._put(answer_at, number, self._answerer, self._asker, self.answering.nothing(number))
            return
        self.asking.skipped(number + 1)
        at = answer_at + self._request_wire.pattern[self._asks % BLOCK]
        self._asks += 1
        self._request_wire.arrives = at
        self._put(at, number + 1, self._asker, self._answerer, self.asking.request(number + 1))

    def save(self) -> tuple[Any, ...]:
        """All state; the sides put themselves back."""
        wires = (self._request_wire.save(), self._answer_wire.save())
        paced = () if self._sleep is None else self._paced[:2]
        return (self._asks, self._answers, self._sent_at, self._sleep, paced, wires)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after the links'."""
        self._asks, self._answers, self._sent_at, sleep, paced, wires = saved
        self._request_wire.load(wires[0])
        self._answer_wire.load(wires[1])
        self._sleep = sleep
        self._paced = paced
        self._cycle_us = []
