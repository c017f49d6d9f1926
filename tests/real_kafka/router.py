"""User-space router between TUN devices: latency, bandwidth, loss and cuts for each ordered pair of nodes.

It reads IPv4 packets from the descriptor of each node and writes them to the one of the addressee: at once, after a
delay, or never. A cut drops packets silently, as a switch does. Packets of one link never overtake each other.
"""

import contextlib
import heapq
import os
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

Link = tuple[str, str]
"""(source, target): names of nodes."""

PPM: Final = 1_000_000
_LARGEST: Final = 65_535
_DESTINATION: Final = slice(16, 20)
"""Destination address in an IPv4 header."""
_BURST: Final = 64
"""Packets that are read from one device before the others get their turn."""


@dataclass(frozen=True, slots=True)
class LinkEffect:
    """Effect of a fault on a link. Times are microseconds, ``loss_ppm`` is in millionths, ``rate`` bytes a second."""

    cut: bool = False
    latency_us: int = 0
    jitter_us: int = 0
    loss_ppm: int = 0
    rate: int = 0
    """0: unlimited."""


@dataclass(slots=True)
class _LinkState:
    """All effects on one link together, and when it is free again."""

    cut: bool = False
    latency_us: int = 0
    jitter_us: int = 0
    loss_ppm: int = 0
    rate: int = 0
    free_ns: int = 0
    """When the last byte has left, with a limited rate."""
    last_due_ns: int = 0
    """When the last packet arrives: the next one does not arrive before."""


@dataclass(slots=True)
class Router:
    """Router of all nodes; ``latency_us`` and ``jitter_us`` apply to every link that goes through it.

    ``clock`` returns nanoseconds. Effects are set from other threads while :meth:`run` runs in its own.
    """

    latency_us: int = 0
    jitter_us: int = 0
    seed: int = 0
    clock: Callable[[], int] = time.monotonic_ns
    forwarded: int = 0
    dropped: int = 0
    _names: dict[int, str] = field(default_factory=dict)
    """Descriptor → node."""
    _addresses: dict[bytes, int] = field(default_factory=dict)
    """Address → descriptor."""
    _effects: dict[int, Mapping[Link, LinkEffect]] = field(default_factory=dict)
    """Number of a fault → its effects."""
    _states: dict[Link, _LinkState] = field(default_factory=dict)
    _waiting: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """Packets as (due in ns, sequence number, descriptor, packet)."""
    _sequence: int = 0
    _random: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _wake: tuple[int, int] = field(default_factory=os.pipe)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def connect(self, name: str, address: str, descriptor: int) -> None:
        """Add a node; several addresses may have one name (processes of one node)."""
        with self._lock:
            self._names[descriptor] = name
            self._addresses[socket.inet_aton(address)] = descriptor
        self._stir()

    def apply(self, number: int, links: Iterable[Link], effect: LinkEffect) -> None:
        """Apply an effect to links under the number of a fault, in place of its earlier one."""
        self._change(number, dict.fromkeys(links, effect))

    def heal(self, number: int) -> None:
        """Remove the effects of a fault."""
        self._change(number, None)

    def _change(self, number: int, effects: Mapping[Link, LinkEffect] | None) -> None:
        with self._lock:
            affected = {*self._effects.pop(number, {}), *(effects or {})}
            if effects:
                self._effects[number] = effects
            for link in affected:
                self._combine(link)

    def _combine(self, link: Link) -> None:
        """Compute the state of a link: cut by any, latencies added, the lowest rate, losses independent."""
        state = self._states.setdefault(link, _LinkState())
        found = [effects[link] for effects in self._effects.values() if link in effects]
        state.cut = any(effect.cut for effect in found)
        state.latency_us = sum(effect.latency_us for effect in found)
        state.jitter_us = sum(effect.jitter_us for effect in found)
        state.rate = min((effect.rate for effect in found if effect.rate), default=0)
        kept = 1.0
        for effect in found:
            kept *= 1 - effect.loss_ppm / PPM
        state.loss_ppm = round((1 - kept) * PPM)

    # -- the thread ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Route packets in a thread until :meth:`stop`."""
        self._thread = threading.Thread(target=self.run, name="router", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, if it runs; packets on their way are dropped."""
        if self._thread is not None:
            thread, self._thread = self._thread, None
            os.write(self._wake[1], b"q")
            thread.join()
        for end in self._wake:
            os.close(end)

    def run(self) -> None:
        """Route packets until :meth:`stop`."""
        while True:
            with self._lock:
                descriptors = [self._wake[0], *self._names]
            readable, _, _ = select.select(descriptors, [], [], self._wait_s())
            if self._wake[0] in readable and b"q" in os.read(self._wake[0], 4_096):
                return
            for descriptor in readable:
                if descriptor != self._wake[0]:
                    self.receive(descriptor)
            self.deliver()

    def _wait_s(self) -> float | None:
        return max(0, self._waiting[0][0] - self.clock()) / 1e9 if self._waiting else None

    def _stir(self) -> None:
        os.write(self._wake[1], b"w")

    def receive(self, descriptor: int) -> None:
        """Read the packets that wait at a descriptor, and send each on its way."""
        for _ in range(_BURST):
            try:
                packet = os.read(descriptor, _LARGEST)
            except OSError:  # nothing more, or the device is gone
                return
            if len(packet) >= 20 and packet[0] >> 4 == 4:
                self._route(descriptor, packet)

    def _route(self, source: int, packet: bytes) -> None:
        with self._lock:
            target = self._addresses.get(packet[_DESTINATION])
            due_ns = None if target is None else self._due_ns((self._names[source], self._names[target]), len(packet))
        if target is None or due_ns is None:
            self.dropped += 1
            return
        self._sequence += 1
        heapq.heappush(self._waiting, (due_ns, self._sequence, target, packet))

    def _due_ns(self, link: Link, size: int) -> int | None:
        """Return when a packet arrives, None if it is dropped."""
        state = self._states.setdefault(link, _LinkState())
        if state.cut or (state.loss_ppm and self._random.randrange(PPM) < state.loss_ppm):
            return None
        now_ns = self.clock()
        if state.rate:
            now_ns = state.free_ns = max(now_ns, state.free_ns) + size * 1_000_000_000 // state.rate
        jitter_us = self.jitter_us + state.jitter_us
        delay_us = self.latency_us + state.latency_us + (self._random.randint(0, jitter_us) if jitter_us else 0)
        state.last_due_ns = max(state.last_due_ns, now_ns + delay_us * 1_000)
        return state.last_due_ns

    def deliver(self) -> None:
        """Write the packets that are due."""
        while self._waiting and self._waiting[0][0] <= self.clock():
            _due, _sequence, target, packet = heapq.heappop(self._waiting)
            with contextlib.suppress(OSError):  # a full or closed device loses packets, as a network does
                os.write(target, packet)
                self.forwarded += 1
