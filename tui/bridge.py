"""The only place that moves the model: a slice of work per frame, inside the event loop.

A slice ends when the frame's share of virtual time is used up or after eight milliseconds, whichever comes first, so
a key never waits long. How the work is sliced never changes results: the model is advanced by virtual time and by
whole events, and knows nothing of frames.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from cluster_model.events import Event
from cluster_model.views import ClusterView, FaultView, LogView, OperationView
from faults.action import Action
from faults.fault import Expectation
from playbooks.client_books import ClientBooks
from playbooks.peeking import Peekable
from tui.frameclock import FrameClock
from tui.viewmodel.chronicle import Chronicle
from tui.viewmodel.feed import Feed
from tui.viewmodel.rates import Rates
from tui.viewmodel.words import SPEEDS, faster, slower

SLICE_S: Final = 0.008
FRAME_S: Final = 1 / 15
BEHIND_PAINT_S: Final = 0.1
"""Between paints while the machine is the limit: numbers above 12 Hz cannot be read anyway."""
BEHIND_REST_S: Final = 0.004
"""Rest between slices while the machine is the limit."""
LONGEST_FRAME_S: Final = 0.25
"""A frame that took longer (a suspended laptop) counts as this long."""
BATCH: Final = 32
"""Events between two looks at the clock."""
SEEK_LIMIT_US: Final = 120_000_000
"""How far ahead a search for the next notable event looks."""


class ClusterLike(Peekable, Protocol):
    """What the screen needs of a cluster."""

    @property
    def now_us(self) -> int:
        """Virtual microseconds since the beginning."""
        ...

    @property
    def executed(self) -> int:
        """Kernel events handled so far."""
        ...

    def next_event_us(self) -> int:
        """When the next kernel event is due, -1 for none."""
        ...

    def view(self) -> ClusterView:
        """Everything at this instant."""
        ...

    def log_view(self, partition: str, start: int, end: int) -> LogView:
        """The logs of a partition over a window."""
        ...


class BoardLike(Protocol):
    """What the screen needs of the fault board."""

    def foreseen(self, name: str, node: int) -> Expectation:
        """All that the fault, as a key injects it, would do to the node right now."""
        ...

    def own_target(self, name: str, node: int) -> str:
        """The target that a fault has of itself, where one key cannot mean this node by it; else empty."""
        ...

    def fitting(self, node: int) -> tuple[str, ...]:
        """Names of the faults that can be done to the node at all."""
        ...

    def on_node(self, node: int) -> tuple[str, ...]:
        """Names of the faults active on a node."""
        ...

    def active(self) -> tuple[FaultView, ...]:
        """Active faults."""
        ...

    def usual(self, name: str, partition: str, broker: int) -> Action:
        """An operation as one key asks for it."""
        ...

    def operations(self) -> tuple[OperationView, ...]:
        """Operations of the administrator that are under way."""
        ...


class SessionLike(Protocol):
    """What the screen needs of a session."""

    @property
    def cluster(self) -> ClusterLike:
        """The model."""
        ...

    @property
    def board(self) -> BoardLike:
        """Active faults and what they would do."""
        ...

    @property
    def client_books(self) -> ClientBooks:
        """What the clients saw so far."""
        ...

    def advance(self, until_us: int, max_events: int = 0) -> bool:
        """Run up to a virtual time or so many events; False when the session is over."""
        ...

    def act(self, action: Action) -> str:
        """Do what the operator wants now; the answer is a line for a toast."""
        ...

    def drain(self) -> list[Event]:
        """Trace events since the last call, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame did: whether there is something to paint, and when the next one should come."""

    paint: bool
    delay: float | None
    """Seconds; None: nothing moves until a key is pressed."""


class SimBridge:
    """Drives a session for the screen, and keeps what the screen shows of it."""

    def __init__(
        self,
        session: SessionLike,
        clock: FrameClock,
        *,
        speed: float = 1.0,
        frame_s: float = FRAME_S,
        at_end: Callable[[], str] | None = None,
    ) -> None:
        """``at_end``, for a recording: what to say where it ends."""
        self.session = session
        self.at_end = at_end
        self.clock = clock
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self.paused = False
        self.ended = False
        self.feed = Feed()
        self.chronicle = Chronicle()
        self.stops_at_loss = False
        """Whether to pause by itself where the next acknowledged record goes missing; that disarms it."""
        self.stopped_at_loss = False
        """Whether it just has."""
        self.rates: dict[str, float] = {}
        self.ran_out = False
        """Whether the last search for a notable event found none."""
        self.shows_internal = False
        """Whether Kafka's own topics stand among the others."""
        self._rates = Rates()
        self._frame_s = frame_s
        self._last = clock.now()
        self._painted = self._last
        self._fraction_us = 0.0
        self._behind = False
        self._seek_until_us = -1
        self._seek_from = 0
        self.view = self.look()

    @property
    def seeking(self) -> bool:
        """Whether a search for the next notable event is under way."""
        return self._seek_until_us >= 0

    def frame(self) -> Frame:
        """Do this frame's share of the work."""
        now = self.clock.now()
        elapsed = min(max(now - self._last, 0.0), LONGEST_FRAME_S)
        self._last = now
        if self.seeking:
            self._seek(now)
        elif self.paused or self.ended:
            return Frame(False, None)
        else:
            self._play(now, elapsed)
        if self._behind and not self.paused and now - self._painted < BEHIND_PAINT_S:
            return Frame(False, BEHIND_REST_S)
        self._painted = now
        self.look()
        return Frame(True, BEHIND_REST_S if self._behind else None if self.paused else self._frame_s)

    def look(self) -> ClusterView:
        """Take a fresh view, after something changed."""
        self._listen()
        view, board = self.session.cluster.view(), self.session.board
        brokers = tuple(replace(each, faults=board.on_node(each.id)) for each in view.brokers)
        controllers = tuple(replace(each, faults=board.on_node(each.node)) for each in view.controllers)
        internal = () if self.shows_internal else tuple(each for each in view.partitions if each.internal)
        own = tuple(each for each in view.partitions if not each.internal) if internal else view.partitions
        self.view = replace(
            view, partitions=own, internal=internal, brokers=brokers, controllers=controllers, faults=board.active(),
            operations=board.operations(),
        )  # fmt: skip
        self.rates = self._rates.of(self.view)
        return self.view

    def pause(self, paused: bool) -> None:
        """Stop or go on; stopping also ends a search."""
        self.paused = paused
        self._seek_until_us = -1
        self._last = self.clock.now()

    def faster(self) -> float:
        """One step up; returns the speed asked for."""
        return self.set_speed(faster(self.speed))

    def slower(self) -> float:
        """One step down; returns the speed asked for."""
        return self.set_speed(slower(self.speed))

    def set_speed(self, speed: float) -> float:
        """Ask for a speed; the machine may not reach it."""
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.real_speed = self.speed
        self._fraction_us = 0.0
        return self.speed

    def step(self) -> bool:
        """Handle exactly one kernel event, paused; False when nothing is pending."""
        self.pause(True)
        due = self.session.cluster.next_event_us()
        if due < 0 or self.ended:
            return False
        self.ended = not self.session.advance(due, 1)
        self.look()
        return True

    def seek(self) -> None:
        """Run, as fast as can be, until something worth a line in the feed has happened; then pause."""
        self._last = self.clock.now()
        self.ran_out = False
        self._seek_from = self.feed.notable
        self._seek_until_us = self.session.cluster.now_us + SEEK_LIMIT_US

    def act(self, action: Action) -> str:
        """An operator's action, now. Refusals come as the session raises them."""
        try:
            return self.session.act(action)
        finally:
            self.look()

    def _listen(self) -> None:
        fresh = self.session.drain()
        self.feed.take(fresh)
        self.chronicle.take(fresh)

    def _play(self, now: float, elapsed: float) -> None:
        cluster = self.session.cluster
        start_us = cluster.now_us
        share = self.speed * elapsed * 1e6 + self._fraction_us
        target = start_us + int(share)
        self._fraction_us = share - int(share)
        seen = self.chronicle.losses
        batch = 1 if self.stops_at_loss else BATCH
        reached = self._run(target, now + SLICE_S, batch, lambda: self._alarmed(seen))
        self._behind = not reached and not self.ended
        if self._alarmed(seen):
            self.pause(True)
            self.stops_at_loss, self.stopped_at_loss = False, True
        if elapsed > 0:
            real = (cluster.now_us - start_us) / 1e6 / elapsed
            weight = min(1.0, elapsed * 2)
            self.real_speed += (real - self.real_speed) * weight

    def _alarmed(self, seen: int) -> bool:
        return self.stops_at_loss and self.chronicle.losses > seen

    def _seek(self, now: float) -> None:
        found = self._run(self._seek_until_us, now + SLICE_S, 1, lambda: self.feed.notable > self._seek_from)
        self._behind = not found
        if found:
            self.ran_out = self.feed.notable == self._seek_from
            self.pause(True)

    def _run(self, target: int, end: float, batch: int, stop: Callable[[], bool]) -> bool:
        """Advance to ``target``, or until ``stop`` or the end of the session; False when the slice was used up."""
        cluster = self.session.cluster
        while True:
            before = cluster.executed
            if not self.session.advance(target, batch):
                self.ended = True
                return True
            self._listen()
            if stop() or (cluster.now_us >= target and cluster.executed - before < batch):
                return True
            if self.clock.now() >= end:
                return False
