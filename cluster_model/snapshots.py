"""Keyframes: snapshots of a whole cluster at one point in virtual time, and a packed form for keeping many.

A keyframe shares unchanged state with the keyframe before it, so its memory cannot be measured alone. A packed keyframe
shares nothing: its size is exactly the memory it needs.
"""

import pickle
import zlib
from typing import Any, Final, NamedTuple

_OVERHEAD: Final = 700
"""Bytes of a packed keyframe besides its blob: the objects that hold it, and the digest's state."""
_LEVEL: Final = 4
"""Compression level of zlib: a tenth smaller than level 1; higher levels take three times as long."""


class Snapshot(NamedTuple):
    """State of a whole cluster at one time; only ``Cluster.load`` reads it. Of logs it has lengths, not batches."""

    releases: tuple[Any, ...]
    """Releases of nodes that were upgraded; the first part, as nodes are built by it."""
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
    """State of the event log; the digest's state comes first."""


class PackedKeyframe(NamedTuple):
    """A serialised keyframe with accompanying data; the digest's state cannot be serialised and stays an object."""

    blob: bytes
    digest: Any

    @property
    def size(self) -> int:
        """Memory size in bytes."""
        return len(self.blob) + _OVERHEAD


class ColumnTable(tuple[Any, ...]):
    """A table stored by column: one tuple of values for each column."""

    __slots__ = ()


_MIN_ROWS: Final = 8
"""Lowest number of rows of a table; below it columns save nothing."""
_MAX_WIDTH: Final = 16
"""Highest number of parts of a tuple that are converted one by one."""


def columns(value: Any) -> Any:
    """Convert tables to columns, recursively: similar values are adjacent, which compresses a third better."""
    if type(value) is not tuple or not value:
        return value
    first = value[0]
    if type(first) is tuple and first and len(value) >= _MIN_ROWS:
        width = len(first)
        if all(type(row) is tuple and len(row) == width for row in value):
            return ColumnTable([columns(column) for column in zip(*value, strict=True)])
    return tuple([columns(part) for part in value]) if len(value) <= _MAX_WIDTH else value


def rows(value: Any) -> Any:
    """Convert columns back to rows, the inverse of :func:`columns`."""
    if type(value) is ColumnTable:
        return tuple(zip(*[rows(column) for column in value], strict=True))
    if type(value) is tuple and len(value) <= _MAX_WIDTH:
        return tuple([rows(part) for part in value])
    return value


def pack(keyframe: Snapshot, extra: tuple[Any, ...] = ()) -> PackedKeyframe:
    """Serialise a keyframe together with accompanying data."""
    digest, *trace = keyframe.trace
    parts = [columns(part) for part in keyframe._replace(trace=tuple(trace))]
    return PackedKeyframe(zlib.compress(pickle.dumps((parts, extra), pickle.HIGHEST_PROTOCOL), _LEVEL), digest)


def unpack(packed: PackedKeyframe) -> tuple[Snapshot, tuple[Any, ...]]:
    """Return the keyframe and the accompanying data, the inverse of :func:`pack`."""
    parts, beside = pickle.loads(zlib.decompress(packed.blob))
    keyframe = Snapshot(*[rows(part) for part in parts])
    return keyframe._replace(trace=(packed.digest, *keyframe.trace)), beside
