"""When an application hands records to its producer: at a rate whatever happens, or as its earlier ones are settled.

In an *open loop* load is a function of time alone. In a *closed loop* so many records are outstanding at most: each
batch is followed by the next when it is acked, failed or unknown, after the time that the application thinks. So a
slow cluster gets less load, and whoever measures latency in a closed loop sees less of it than users would.

A fault may change the pace, in millionths of the usual one: the rate of an open loop, what may be outstanding in a
closed one. Timers that were set before it did are of an earlier turn, and mean nothing any more.
"""

from typing import Any, Final, Protocol

from cluster_model.clients.load import NEVER, RateCurve
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Port
from cluster_model.spec.cluster_spec import ProducerSpec
from cluster_model.spec.load_spec import RateProfile

MAKE: Final = "make"
"""The timer at which a batch is made."""
AT_ONCE_US: Final = 1_000
"""What handing over takes where a batch is settled in the instant in which it was made (``acks=0``)."""
BLOCKED_US: Final = 100_000
"""How often an application in a closed loop looks whether ``send`` can go on."""
USUAL_PPM: Final = 1_000_000
"""The usual pace."""


class Pacing(Protocol):
    """Sets the producer's :data:`MAKE` timers."""

    timer: Payload
    """What they are now; those of an earlier turn are different."""

    def pace(self, ppm: int) -> None:
        """From now on go at so many millionths of the usual pace; 0: make nothing."""

    def begin(self) -> None:
        """The application starts: with the session, or again later."""

    def made(self) -> None:
        """A timer has come: a batch is about to be made."""

    def blocked(self) -> None:
        """It could not be made."""

    def settled(self, records: int, latency_us: int) -> None:
        """``records`` were acked, failed or given up that long after they were made."""

    def save(self) -> tuple[Any, ...]:
        """All state."""

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""


class Steady:
    """Open loop, a batch every so many microseconds."""

    __slots__ = ("_begun", "_port", "_ppm", "_since", "_spec", "_turn", "timer")

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        self._port = port
        self._spec = spec
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._ppm = USUAL_PPM
        self._turn = 0
        """How often the pace has changed; 0: it never has."""
        self._since = 0
        """When it last did."""

    def begin(self) -> None:
        """One interval after the start."""
        self._begun = True
        if self._turn:
            self._restart()
        else:
            self._port.timer(max(0, self._spec.start_us - self._port.now) + self._spec.interval_us, MAKE)

    def made(self) -> None:
        """The next an interval later; what a paused process missed is not made up for."""
        if self._turn:
            self._next()
        else:
            self._port.timer(self._spec.interval_us, MAKE)

    def pace(self, ppm: int) -> None:
        """From now on a batch every so much sooner or later, the first a whole new interval from now."""
        if ppm == self._ppm:
            return
        self._ppm = ppm
        self._turn += 1
        self.timer = (MAKE, self._turn)
        if self._begun:
            self._restart()

    def _restart(self) -> None:
        """Count from now, or from the start if that is to come."""
        self._since = max(self._port.now, self._spec.start_us)
        self._next()

    def _next(self) -> None:
        """When the next batch from now is whole, at the pace since it changed."""
        if self._ppm:
            now, whole = self._port.now, self._spec.interval_us * USUAL_PPM
            count = max(0, now - self._since) * self._ppm // whole + 1
            self._port.timer(self._since - (-count * whole // self._ppm) - now, *self.timer)

    def blocked(self) -> None:
        """Time goes on."""

    def settled(self, records: int, latency_us: int) -> None:
        """The loop is open."""

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._begun, self._ppm, self._turn, self._since)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._begun, self._ppm, self._turn, self._since = saved
        self.timer = (MAKE, self._turn) if self._turn else (MAKE,)


class Profiled(Steady):
    """Open loop, a batch whenever a rate curve has made one whole."""

    __slots__ = ("_curve", "_profile")

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        super().__init__(port, spec)
        assert spec.profile is not None
        self._profile = spec.profile
        self._curve = RateCurve(spec.profile)

    def begin(self) -> None:
        """When the first batch is whole that has not been before."""
        self._begun = True
        self.made()

    def made(self) -> None:
        """When the next batch from now is whole."""
        self._make(self._curve.made(max(0, self._port.now - self._spec.start_us)) // self._spec.batch + 1)

    def _restart(self) -> None:
        """The whole curve is so much higher or lower, from its beginning: only what comes now is made."""
        self._curve = RateCurve(_scaled(self._profile, self._ppm))
        self.made()

    def _make(self, batch: int) -> None:
        at = self._curve.when(batch * self._spec.batch) if self._ppm else NEVER
        if at >= 0:
            self._port.timer(self._spec.start_us + at - self._port.now, *self.timer)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        super().load(saved)
        self._curve = RateCurve(_scaled(self._profile, self._ppm))


def _scaled(profile: RateProfile, ppm: int) -> RateProfile:
    stretches = [
        each._replace(start=each.start * ppm // USUAL_PPM, end=each.end * ppm // USUAL_PPM)
        for each in profile.stretches
    ]  # fmt: skip
    return profile._replace(stretches=tuple(stretches))


class Closed:
    """Closed loop: at most so many records are not settled."""

    __slots__ = ("_begun", "_loop", "_most", "_over", "_port", "_settled", "_spec", "timer")

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        assert spec.loop is not None
        self._loop = spec.loop
        self._port = port
        self._spec = spec
        self._settled = 0
        """Records that no batch has followed yet."""
        self.timer: Payload = (MAKE,)
        self._begun = False
        self._most = spec.loop.outstanding // spec.batch
        """Batches that may be outstanding."""
        self._over = 0
        """How many more are: as many are followed by none."""

    def begin(self) -> None:
        """All that may be outstanding, at once."""
        self._begun = True
        self._put(self._most)

    def _put(self, batches: int) -> None:
        for _ in range(batches):
            self._port.timer(max(0, self._spec.start_us - self._port.now), MAKE)

    def pace(self, ppm: int) -> None:
        """Let so many times more be outstanding, at once; with fewer, those in excess are followed by none."""
        before, batch = self._most, self._spec.batch
        self._most = self._loop.outstanding * ppm // USUAL_PPM // batch
        if ppm and not self._most:
            self._most = 1
        if self._begun:
            more = self._most - before - self._over
            self._over = max(0, -more)
            self._put(max(0, more))

    def made(self) -> None:
        """Nothing comes by time."""

    def blocked(self) -> None:
        """Another attempt a little later."""
        self._port.timer(BLOCKED_US, MAKE)

    def settled(self, records: int, latency_us: int) -> None:
        """As many batches as were settled, after thinking."""
        self._settled += records
        pause = self._loop.think_us if latency_us else max(self._loop.think_us, AT_ONCE_US)
        while self._settled >= self._spec.batch:
            self._settled -= self._spec.batch
            if self._over:
                self._over -= 1
            else:
                self._port.timer(pause, MAKE)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._settled, self._begun, self._most, self._over)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._settled, self._begun, self._most, self._over = saved


class Asked:
    """No batch is made by time: the application sends when something else has happened."""

    __slots__ = ("timer",)

    def __init__(self) -> None:
        self.timer: Payload = (MAKE,)

    def pace(self, ppm: int) -> None:
        """There is none."""

    def begin(self) -> None:
        """Nothing to begin with."""

    def made(self) -> None:
        """Nobody sets a timer."""

    def blocked(self) -> None:
        """Whoever sends waits."""

    def settled(self, records: int, latency_us: int) -> None:
        """Whoever sent is told otherwise."""

    def save(self) -> tuple[Any, ...]:
        """Nothing to keep."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Nothing to restore."""


def pacing_of(port: Port, spec: ProducerSpec) -> Pacing:
    """How this producer's application works."""
    if spec.loop is not None:
        return Closed(port, spec)
    if spec.profile is None and not spec.interval_us:
        return Asked()
    return Steady(port, spec) if spec.profile is None else Profiled(port, spec)
