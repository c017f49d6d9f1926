"""When an application hands records to its producer: at a rate whatever happens, or as its earlier ones are settled.

In an *open loop* load is a function of time alone. In a *closed loop* so many records are outstanding at most: each
batch is followed by the next when it is acked, failed or unknown, after the time that the application thinks. So a
slow cluster gets less load, and whoever measures latency in a closed loop sees less of it than users would.
"""

from typing import Any, Final, Protocol

from cluster_model.clients.load import RateCurve
from cluster_model.kernel.port import Port
from cluster_model.spec import ProducerSpec

MAKE: Final = "make"
"""The timer at which a batch is made."""
AT_ONCE_US: Final = 1_000
"""What handing over takes where a batch is settled in the instant in which it was made (``acks=0``)."""
BLOCKED_US: Final = 100_000
"""How often an application in a closed loop looks whether ``send`` can go on."""


class Pacing(Protocol):
    """Sets the producer's :data:`MAKE` timers."""

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

    __slots__ = ("_port", "_spec")

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        self._port = port
        self._spec = spec

    def begin(self) -> None:
        """One interval after the start."""
        self._port.timer(max(0, self._spec.start_us - self._port.now) + self._spec.interval_us, MAKE)

    def made(self) -> None:
        """The next an interval later; what a paused process missed is not made up for."""
        self._port.timer(self._spec.interval_us, MAKE)

    def blocked(self) -> None:
        """Time goes on."""

    def settled(self, records: int, latency_us: int) -> None:
        """The loop is open."""

    def save(self) -> tuple[Any, ...]:
        """Nothing to keep."""
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Nothing to restore."""


class Profiled(Steady):
    """Open loop, a batch whenever a rate curve has made one whole."""

    __slots__ = ("_curve",)

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        super().__init__(port, spec)
        assert spec.profile is not None
        self._curve = RateCurve(spec.profile)

    def begin(self) -> None:
        """When the first batch is whole that has not been before."""
        self.made()

    def made(self) -> None:
        """When the next batch from now is whole."""
        self._make(self._curve.made(max(0, self._port.now - self._spec.start_us)) // self._spec.batch + 1)

    def _make(self, batch: int) -> None:
        at = self._curve.when(batch * self._spec.batch)
        if at >= 0:
            self._port.timer(self._spec.start_us + at - self._port.now, MAKE)


class Closed:
    """Closed loop: at most so many records are not settled."""

    __slots__ = ("_loop", "_port", "_settled", "_spec")

    def __init__(self, port: Port, spec: ProducerSpec) -> None:
        assert spec.loop is not None
        self._loop = spec.loop
        self._port = port
        self._spec = spec
        self._settled = 0
        """Records that no batch has followed yet."""

    def begin(self) -> None:
        """All that may be outstanding, at once."""
        for _ in range(self._loop.outstanding // self._spec.batch):
            self._port.timer(max(0, self._spec.start_us - self._port.now), MAKE)

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
            self._port.timer(pause, MAKE)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._settled,)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (self._settled,) = saved


class Asked:
    """No batch is made by time: the application sends when something else has happened."""

    __slots__ = ()

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
