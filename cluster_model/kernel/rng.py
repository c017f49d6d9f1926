"""Counter-based random streams, one for each component or link, and UUIDs drawn from them.

A stream's whole state is its position: random number ``n`` is a pure function of (seed, name, n), the same on every
interpreter. The seed is the session's, until it is replaced for another future (:meth:`RandomStreams.reseed`). Blocks
of 256 numbers come from SHAKE-256 at a time. Sampling is in integers only, because the mathematics library for floats
may differ between machines.
"""

import hashlib
import struct
from typing import Final

BLOCK: Final = 256
_UNPACK: Final = struct.Struct(f"<{BLOCK}Q")


def draws(seed: int, name: str, number: int) -> tuple[int, ...]:
    """Return block ``number`` of a stream: 256 random numbers, uniform over 64 bits."""
    return _UNPACK.unpack(hashlib.shake_256(f"{seed}/{name}/{number}".encode()).digest(8 * BLOCK))


class RandomStream:
    """A named random stream; ``position`` counts the numbers drawn and is its whole state."""

    __slots__ = ("_block", "_block_number", "_seed", "name", "position")

    def __init__(self, seed: int, name: str) -> None:
        self.name = name
        self.position = 0
        self._seed = seed
        self._block: tuple[int, ...] = ()
        self._block_number = -1

    def reseed(self, seed: int) -> None:
        """Draw from another seed from here on, at the same position."""
        if seed != self._seed:
            self._seed = seed
            self._block_number = -1

    def next64(self) -> int:
        """Return the next random number, uniform over 64 bits."""
        position = self.position
        number = position // BLOCK
        if number != self._block_number:
            self._block = draws(self._seed, self.name, number)
            self._block_number = number
        self.position = position + 1
        return self._block[position % BLOCK]

    def below(self, bound: int) -> int:
        """Return an integer in ``[0, bound)``; ``bound`` must be positive. The bias is below bound / 2**64."""
        return (self.next64() * bound) >> 64


class RandomStreams:
    """All random streams of a session, created on first use."""

    __slots__ = ("_streams", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, RandomStream] = {}

    def named(self, name: str) -> RandomStream:
        """Return the stream of that name."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = RandomStream(self.seed, name)
        return stream

    def reseed(self, seed: int) -> None:
        """Draw from another seed from here on, at the same positions: another future of the same past.

        For a cluster use ``Cluster.reseed``: its links have already drawn delays.
        """
        self.seed = seed
        for stream in self._streams.values():
            stream.reseed(seed)

    def save(self) -> tuple[int, tuple[tuple[str, int], ...]]:
        """Return the seed, and positions by name."""
        return self.seed, tuple((name, stream.position) for name, stream in self._streams.items())

    def load(self, saved: tuple[int, tuple[tuple[str, int], ...]]) -> None:
        """Restore a saved seed and positions; streams first used later start at the beginning."""
        seed, saved_positions = saved
        self.reseed(seed)
        positions = dict(saved_positions)
        for name, stream in self._streams.items():
            stream.position = positions.pop(name, 0)
        for name, position in positions.items():
            self.named(name).position = position


# Random UUIDs from a stream.


def uuid(stream: RandomStream) -> str:
    """Return the next UUID (``UUID.randomUUID``)."""
    bits = stream.next64() << 64 | stream.next64()
    bits = bits & ~(0xF << 76) | 0x4 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
