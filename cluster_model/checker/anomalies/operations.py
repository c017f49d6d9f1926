"""Operations of a history: the sends and reads of clients with their outcomes, in which anomalies are detected.

A *value* is (client, sequence): a client numbers its sends to a key from 0 without gaps, so the values of a key are
unique. A *key* is one partition. Sends and reads are runs of values: a poll of 500 records is one read. A read is
identified by the *log branch* that it was read from (a log branch: an immutable sequence of values by offset) and an
offset range; two log branches may have different values at one offset, like two leaders' logs. The values of a log
branch are the payload of the records read, so looking them up uses no more knowledge than the reader has.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

OK: Final = "ok"
INFO: Final = "info"
"""Outcome unknown, as of a timed-out send."""
FAIL: Final = "fail"
"""Definitely failed."""

SEND: Final = "send"
POLL: Final = "poll"
TXN: Final = "txn"
ASSIGN: Final = "assign"
SUBSCRIBE: Final = "subscribe"
CRASH: Final = "crash"
"""The process has ended; its successor has another number."""

COMMITTED: Final = "committed"
"""Manner of a reader that receives committed data only (``isolation.level=read_committed``)."""
WIRE: Final = "wire"
"""Manner of a real client outside the model, as brokers see it: each fetch from any offset."""

Run = tuple[int, str, int, int]
"""(first offset, client, first sequence, count): consecutive values in a log branch."""


class Send(NamedTuple):
    """``size`` values of a client from ``sequence`` on, at ``offset`` of ``log_branch``; -1: unknown offset."""

    key: str
    client: str
    sequence: int
    size: int
    log_branch: int = -1
    offset: int = -1


class ReadOperation(NamedTuple):
    """A read of ``[start, end)`` of a log branch, in order."""

    key: str
    log_branch: int
    start: int
    end: int


class Op(NamedTuple):
    """An operation that completed at ``time_us``.

    ``keys`` are those of a successful assign or subscribe; ``moved`` are keys that a rebalance assigned or revoked
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
"""(key, log branch, start, end): whether ``[start, end)`` holds only markers and no value."""


Begin = Callable[[str, int], int]
"""(key, log branch): the first offset of the log branch's own values."""


class Payload(Protocol):
    """Lookup of the values in a log branch."""

    def __call__(self, key: str, log_branch: int, start: int, end: int) -> list[Run]:
        """Return the values at ``[start, end)``, ascending by offset, without markers."""
