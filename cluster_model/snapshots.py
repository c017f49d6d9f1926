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
    topics: tuple[Any, ...]
    committed: tuple[Any, ...]
    plane: tuple[Any, ...]
    brokers: tuple[Any, ...]
    clients: tuple[Any, ...]
    lives: tuple[Any, ...]
    admin: tuple[Any, ...]
    outside: tuple[Any, ...]
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


class ColumnTable(tuple[Any, ...]):
    """A table: not the rows, but what stands in each of their places, one after the other."""

    __slots__ = ()


_FEWEST_ROWS: Final = 8
"""Of a table; with fewer there is nothing to gain."""
_WIDEST: Final = 16
"""Most parts of a tuple that are looked into one by one."""


def columns(value: Any) -> Any:
    """The same with tables by column, all the way down: like stands next to like, and a third less is to be written."""
    if type(value) is not tuple or not value:
        return value
    first = value[0]
    if type(first) is tuple and first and len(value) >= _FEWEST_ROWS:
        width = len(first)
        if all(type(row) is tuple and len(row) == width for row in value):
            return ColumnTable([columns(column) for column in zip(*value, strict=True)])
    return tuple([columns(part) for part in value]) if len(value) <= _WIDEST else value


def rows(value: Any) -> Any:
    """Undo of :func:`columns`."""
    if type(value) is ColumnTable:
        return tuple(zip(*[rows(column) for column in value], strict=True))
    if type(value) is tuple and len(value) <= _WIDEST:
        return tuple([rows(part) for part in value])
    return value


def pack(keyframe: Keyframe, beside: tuple[Any, ...] = ()) -> Packed:
    """Write a keyframe down, with whatever else is to come back with it."""
    digest, *trace = keyframe.trace
    parts = [columns(part) for part in keyframe._replace(trace=tuple(trace))]
    return Packed(zlib.compress(pickle.dumps((parts, beside), pickle.HIGHEST_PROTOCOL), _LEVEL), digest)


def unpack(packed: Packed) -> tuple[Keyframe, tuple[Any, ...]]:
    """Undo of :func:`pack`."""
    parts, beside = pickle.loads(zlib.decompress(packed.blob))
    keyframe = Keyframe(*[rows(part) for part in parts])
    return keyframe._replace(trace=(packed.digest, *keyframe.trace)), beside
