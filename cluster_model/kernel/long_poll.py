"""Long polls: one process sends a request, the other responds when there is news or the wait is over, repeatedly.

Each has a connection of its own, with one request in flight at a time, as a replica fetcher has. Without news such an
exchange is *idle*: the request waits its full time, the response is empty, the next request repeats the last one. Only
the time of the last request changes, so idle cycles cost no events: the exchange is *asleep*. Before anything happens
to either side it is *woken*, which restores exactly the state and events of that time. Two things make that exact:

- The messages of idle cycles take their delays from a fixed repeating pattern, so that any number of cycles is a sum;
  all others use the wire's stream, which idle cycles thus do not advance.
- Events of exchanges have lanes in the kernel's order: what is scheduled late still gets its position.

With ``naive`` no exchange ever sleeps, and everything observable is the same. Anything else that can stop, delay or
lose a message between two processes must wake their exchanges first (:meth:`Network.wake_exchanges`).
"""

from bisect import bisect_right
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.kernel.event_loop import LANES, EventLoop
from cluster_model.kernel.link import Channel, Link
from cluster_model.kernel.process import MESSAGE, RUNNING, TIMER, Process
from cluster_model.kernel.rng import BLOCK

_COUNT_BITS: Final = 20
_COUNTS: Final = (1 << _COUNT_BITS) - 1
_NODE_BITS: Final = 12
_INDEX_BITS: Final = 8


def lane(asker: int, answerer: int, index: int) -> int:
    """Return the first order of an exchange's events; those of a node with itself are for its late timers."""
    return LANES + (((asker << _NODE_BITS | answerer) << _INDEX_BITS | index) << (_COUNT_BITS + 1))


class Requester(Protocol):
    """Requesting side of an exchange; its requests have consecutive numbers."""

    def repeats(self, number: int) -> bool:
        """Whether an empty response to request ``number`` would at once be followed by the same request."""

    def request(self, number: int) -> Any:
        """Return that request with another number."""

    def skipped(self, number: int) -> None:
        """Account for skipped requests: request ``number`` is now in flight."""


class Responder(Protocol):
    """Responding side of an exchange; it may delay its responses."""

    def empty_response(self, number: int) -> Any:
        """Return the empty response to request ``number``."""

    def account_skipped(self, request: Any, arrived: int) -> None:
        """Account for skipped requests: ``request`` arrived last, at that time, and got an empty response."""

    def on_wake(self, request: Any, arrived: int) -> None:
        """Account for skipped requests: ``request`` arrived at that time, and waits."""


class SleepState(NamedTuple):
    """State of an exchange when it fell asleep: request ``number`` had arrived and would wait for ``wait``.

    ``serial`` orders its deadline among others at the same time.
    """

    number: int
    arrived: int
    sent_at: int
    wait: int
    serial: int


class SleepPosition(NamedTuple):
    """Position of a sleeping exchange: whole cycles slept, this cycle's request arrival, and its future times.

    The response would leave at ``deadline`` and arrive at ``answered``; ``delayed_request`` and ``answering`` say which
    of them are still to come.
    """

    cycles: int
    arrived: int
    deadline: int
    answered: int
    request_delayed: bool
    answering: bool


class LongPoll:
    """One long poll, identified by requester, responder, and the number of its connection."""

    __slots__ = (
        "_cycle_inputs", "_cycle_us", "_forward_link", "_idle_requests", "_idle_responses", "_kernel", "_lane",
        "_longest_us", "_request_wire", "_requester", "_responder", "_response_wire", "_reverse_link", "_sent_at",
        "_sleep", "answering", "asking", "naive",
    )  # fmt: skip

    def __init__(
        self, kernel: EventLoop, asker: Process, answerer: Process, index: int, there: Link, back: Link
    ) -> None:
        self.asking: Requester | None = None
        self.answering: Responder | None = None
        self.naive = False
        self._kernel = kernel
        self._requester = asker
        self._responder = answerer
        self._forward_link = there
        self._reverse_link = back
        self._request_wire = there.new_wire(f"ask {index}")
        self._response_wire = back.new_wire(f"answer {index}")
        self._lane = lane(asker.id, answerer.id, index)
        self._idle_requests = 0
        """Idle requests so far, which is the next one's index in the pattern; ``_answers`` likewise for responses."""
        self._idle_responses = 0
        self._sent_at = 0
        self._sleep: SleepState | None = None
        self._cycle_inputs: tuple[Any, ...] = ()
        """Inputs of :attr:`_cycle_us`, the wait and the shift first; after a load only those."""
        self._cycle_us: list[int] = []
        """Cumulative durations of idle cycles, from the one with the first response of the pattern."""
        self._longest_us = 0

    @property
    def longest_us(self) -> int:
        """Longest time between two arrivals of requests while asleep, in microseconds."""
        self._cycle_times()
        return self._longest_us

    @property
    def asleep(self) -> bool:
        """Whether its idle cycles are skipped now."""
        return self._sleep is not None

    @property
    def phase(self) -> SleepPosition | None:
        """Position while asleep, for observers; None while awake."""
        return None if self._sleep is None else self._phase(self._sleep)

    @property
    def sent_at(self) -> int:
        """Time when the last request was sent."""
        sleep = self._sleep
        return self._sent_at if sleep is None else self._last_sent(sleep, self._phase(sleep))

    @property
    def arrived(self) -> int:
        """Time when the last request arrived, while asleep; -1 while awake."""
        return -1 if self._sleep is None else self._phase(self._sleep).arrived

    @property
    def wires(self) -> tuple[Channel, Channel]:
        """Wire of requests, and wire of responses."""
        return self._request_wire, self._response_wire

    def _order(self, number: int) -> int:
        return self._lane + (number & _COUNTS)

    def _deadline_order(self, serial: int) -> int:
        return self._order(serial) + (1 << _COUNT_BITS)

    def ask(self, number: int, request: Any, *, idle: bool) -> None:
        """Send a request; ``idle``: it repeats the last one, which got an empty response."""
        self._sent_at = now = self._kernel.now
        if not (self._forward_link.ready or self._forward_link.use()):
            self._hold(self._forward_link, self._request_wire, number, request)
            return
        if idle:
            at = self._request_wire.idle_arrival(now, self._idle_requests)
            self._idle_requests += 1
        else:
            at = self._request_wire.arrival(now)
        self._put(at, number, self._requester, self._responder, request)

    def answer(self, number: int, answer: Any, *, idle: bool) -> None:
        """Send a response; ``idle``: the request has waited its full time."""
        now = self._kernel.now
        if not (self._reverse_link.ready or self._reverse_link.use()):
            self._hold(self._reverse_link, self._response_wire, number, answer)
            return
        if idle:
            at = self._response_wire.idle_arrival(now, self._idle_responses)
            self._idle_responses += 1
        else:
            at = self._response_wire.arrival(now)
        self._put(at, number, self._responder, self._requester, answer)

    def _put(self, at: int, number: int, source: Process, target: Process, message: Any) -> None:
        payload = (source.id, source.incarnation, target.incarnation, message)
        self._kernel.schedule_in_lane(at, self._order(number), MESSAGE, target.id, payload)

    def _hold(self, link: Link, wire: Channel, number: int, message: Any) -> None:
        """Send on a cut or disturbed link; the message then does not count as idle."""
        payload = (link.source.id, link.source.incarnation, link.target.incarnation, message)
        link.hold(self._kernel, wire, self._order(number), payload)

    def deadline(self, at: int, serial: int, timer: tuple[Any, ...]) -> None:
        """Schedule a call of the responder's ``on_timer``; at one time each ``serial`` must be unique."""
        order = self._deadline_order(serial)
        answerer = self._responder
        self._kernel.schedule_in_lane(at, order, TIMER, answerer.id, (answerer.incarnation, timer))

    def sleep(self, number: int, wait: int, serial: int, answering: Responder) -> bool:
        """Fall asleep if request ``number`` has just arrived, finds nothing, and would only be repeated."""
        now = self._kernel.now
        if self.naive or wait <= 0 or self._requester.state is not RUNNING:
            return False
        if self.asking is None or not self.asking.repeats(number):
            return False
        if self._response_wire.arrives > now or self._request_wire.arrives > now:
            return False
        if (
            self._forward_link.cuts
            or self._reverse_link.cuts
            or self._forward_link.held
            or self._reverse_link.held
            or self._forward_link.fault_state
            or self._reverse_link.fault_state
        ):
            return False
        if self._responder.wakeful or self._requester.cpu is not None or self._responder.cpu is not None:
            return False
        self.answering = answering
        self._sleep = SleepState(number, now, self._sent_at, wait, serial)
        self._compute_cycles(wait, (self._idle_requests - self._idle_responses) % BLOCK)
        return True

    def _compute_cycles(self, wait: int, shift: int) -> None:
        """Compute the durations of idle cycles; ``shift`` is how far requests are ahead of responses in the pattern."""
        answers, requests = self._response_wire.patterned(), self._request_wire.patterned()
        inputs = (wait, shift, answers, requests)
        if self._cycle_inputs != inputs:
            self._cycle_inputs = inputs
            total = 0
            self._cycle_us = [0]
            self._longest_us = wait + max(answers) + max(requests)
            for index, delay in enumerate(answers):
                total += wait + delay + requests[(index + shift) % BLOCK]
                self._cycle_us.append(total)

    def _cycle_times(self) -> list[int]:
        """Return the durations of idle cycles, which are computed at first use after a load."""
        if not self._cycle_us and self._cycle_inputs:
            self._compute_cycles(self._cycle_inputs[0], self._cycle_inputs[1])
        return self._cycle_us

    def _phase(self, sleep: SleepState) -> SleepPosition:
        """Return the position at this point of the kernel's order."""
        cycle_us = self._cycle_times()
        now, order = self._kernel.now, self._kernel.reached
        first = self._idle_responses % BLOCK
        rounds, left = divmod(now - sleep.arrived + cycle_us[first], cycle_us[BLOCK])
        cycles = rounds * BLOCK + bisect_right(cycle_us, left) - 1 - first
        arrived = sleep.arrived + self._slept_us(first, cycles)
        if cycles and arrived == now and self._order(sleep.number + cycles) >= order:
            cycles -= 1
            arrived = sleep.arrived + self._slept_us(first, cycles)
        deadline = arrived + sleep.wait
        answered = deadline + self._response_wire.pattern[(first + cycles) % BLOCK]
        delayed_request = (deadline, self._deadline_order(sleep.serial)) >= (now, order)
        answering = (answered, self._order(sleep.number + cycles)) >= (now, order)
        return SleepPosition(cycles, arrived, deadline, answered, delayed_request, answering)

    def _slept_us(self, first: int, cycles: int) -> int:
        rounds, index = divmod(first + cycles, BLOCK)
        return rounds * self._cycle_us[BLOCK] + self._cycle_us[index] - self._cycle_us[first]

    def _last_sent(self, sleep: SleepState, phase: SleepPosition) -> int:
        if not phase.request_delayed and not phase.answering:
            return phase.answered
        if not phase.cycles:
            return sleep.sent_at
        return phase.arrived - self._request_wire.pattern[(self._idle_requests + phase.cycles - 1) % BLOCK]

    def wake(self) -> None:
        """Restore the state and events of now; to be called before anything changes for either side."""
        sleep = self._sleep
        if sleep is None or self.asking is None or self.answering is None:
            return
        phase = self._phase(sleep)
        self._sent_at = self._last_sent(sleep, phase)
        self._sleep = None
        number = sleep.number + phase.cycles
        self._idle_requests += phase.cycles
        self._idle_responses += phase.cycles
        answer_at = phase.answered
        self._request_wire.arrives = phase.arrived
        if phase.cycles:
            self.asking.skipped(number)
        last = self.asking.request(number)
        if phase.request_delayed:
            if phase.cycles:
                self._response_wire.arrives = self._sent_at
            self.answering.on_wake(last, phase.arrived)
            return
        self._idle_responses += 1
        self._response_wire.arrives = answer_at
        self.answering.account_skipped(last, phase.arrived)
        if phase.answering:
            self._put(answer_at, number, self._responder, self._requester, self.answering.empty_response(number))
            return
        self.asking.skipped(number + 1)
        at = answer_at + self._request_wire.pattern[self._idle_requests % BLOCK]
        self._idle_requests += 1
        self._request_wire.arrives = at
        self._put(at, number + 1, self._requester, self._responder, self.asking.request(number + 1))

    def save(self) -> tuple[Any, ...]:
        """Return all state; the two sides register themselves again."""
        wires = (self._request_wire.save(), self._response_wire.save())
        inputs = () if self._sleep is None else self._cycle_inputs[:2]
        return (self._idle_requests, self._idle_responses, self._sent_at, self._sleep, inputs, wires)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, after the links'."""
        self._idle_requests, self._idle_responses, self._sent_at, sleep, inputs, wires = saved
        self._request_wire.load(wires[0])
        self._response_wire.load(wires[1])
        self._sleep = sleep
        self._cycle_inputs = inputs
        self._cycle_us = []
