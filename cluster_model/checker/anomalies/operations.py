"""The history that anomalies are found in: what clients did and what came of it, in a small language of its own.

A *value* is (client, sequence): a client numbers what it sends to a key, from 0 and without gaps, so no two values of
a key are the same. A *key* is one partition. Sends and reads are runs of values: a hand-out of 500 records is a read,
not 500. What a read returned is named by the *strand* that it was read from, an unchanging sequence of values by
offset, and a range of it: two strands may have different values at one offset, as two leaders' logs do. What is in a
strand is the payload of the records read, so looking it up is no other knowledge than the reader's.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

OK: Final = "ok"
INFO: Final = "info"
"""Nobody can tell: a timed-out send is of this type, never of :data:`FAIL`."""
FAIL: Final = "fail"
"""Certainly not."""

SEND: Final = "send"
POLL: Final = "poll"
TXN: Final = "txn"
ASSIGN: Final = "assign"
SUBSCRIBE: Final = "subscribe"
CRASH: Final = "crash"
"""The process is gone. Whoever goes on in its place has another number."""

COMMITTED: Final = "committed"
"""How a process reads that is handed committed data only (``isolation.level=read_committed``)."""
WIRE: Final = "wire"
"""How a client outside of the model reads, as far as brokers see it: each fetch from where it likes."""

Run = tuple[int, str, int, int]
"""(first offset, client, first sequence, how many): values that follow each other in a strand."""


class Send(NamedTuple):
    """``size`` values of the client, from ``sequence`` on; at ``offset`` of ``strand`` on, -1 if nobody was told."""

    key: str
    client: str
    sequence: int
    size: int
    strand: int = -1
    offset: int = -1


class ReadOperation(NamedTuple):
    """What stands at ``[start, end)`` of a strand, in order."""

    key: str
    strand: int
    start: int
    end: int


class Op(NamedTuple):
    """An operation that has come to its end, at ``time_us``.

    ``keys`` are those of an assign or subscribe that succeeded; ``moved`` is the rebalance log: keys that came or went
    while it ran.
    """

    process: str
    type: str
    f: str
    sends: tuple[Send, ...] = ()
    reads: tuple[ReadOperation, ...] = ()
    keys: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    invoked_us: int = 0
    time_us: int = 0


Empty = Callable[[str, int, int, int], bool]
"""(key, strand, start, end): whether there is no value at ``[start, end)``, but markers only."""


Begin = Callable[[str, int], int]
"""(key, strand): the first offset that the strand's own values can stand at."""


class Payload(Protocol):
    """What the records of a strand hold."""

    def __call__(self, key: str, strand: int, start: int, end: int) -> list[Run]:
        """The values at ``[start, end)``, ascending by offset; what holds none, such as markers, is left out."""
