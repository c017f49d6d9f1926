"""Keyframes: everything a cluster is at one instant, to come back to, and a small form of them to keep many of.

A keyframe shares with the one before it whatever has not changed, so what it takes of memory cannot be told of it
alone. Packed it shares nothing: its size is what keeping it costs, to the byte.
"""

import pickle
import zlib
from typing import Any, Final, NamedTuple

_AROUND: Final = 700
"""Bytes that a packed keyframe takes besides its bytes: the objects that hold them, and the digest's state."""
_LEVEL: Final = 4
"""Of zlib: a tenth smaller than the quickest, and higher ones take three times as long."""


class Keyframe(NamedTuple):
    """Everything at one instant; only ``Cluster.load`` looks inside. Of logs it has the lengths, not the batches."""

    network: tuple[Any, ...]
    streams: tuple[Any, ...]
    lineages: tuple[tuple[int, ...], ...]
    controller: tuple[Any, ...]
    brokers: tuple[Any, ...]
    producers: tuple[Any, ...]
    consumers: tuple[Any, ...]
    checker: tuple[Any, ...]
    trace: tuple[Any, ...]
    """The digest's state first."""


class Packed(NamedTuple):
    """A keyframe and what belongs to it, written down. The state of a digest cannot be, so it is kept as it is."""

    blob: bytes
    digest: Any

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return len(self.blob) + _AROUND


def pack(keyframe: Keyframe, beside: tuple[Any, ...] = ()) -> Packed:
    """Write a keyframe down, with whatever else is to come back with it."""
    digest, *trace = keyframe.trace
    written = pickle.dumps((keyframe._replace(trace=tuple(trace)), beside), pickle.HIGHEST_PROTOCOL)
    return Packed(zlib.compress(written, _LEVEL), digest)


def unpack(packed: Packed) -> tuple[Keyframe, tuple[Any, ...]]:
    """Undo of :func:`pack`."""
    keyframe, beside = pickle.loads(zlib.decompress(packed.blob))
    return keyframe._replace(trace=(packed.digest, *keyframe.trace)), beside
