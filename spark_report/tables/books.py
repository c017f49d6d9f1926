"""What clients were told and handed of one partition, as a walk over a session's events writes it down.

An event is a tuple of :data:`FIELDS`. A *process* is one life of a client; a *stint* is one broker leading from one
``became_leader`` on, as long as it writes, numbered by partition in the order of their first batches. A partition that
is made anew under its name has books of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

FIELDS: Final = (
    *("seq", "at_us", "kind", "partition", "broker", "node", "client", "group_id", "sequence", "count"),
    *("log_offset", "end_offset", "stint"),
)
"""What is known of an event here; a part of the read at the end comes as one of kind :data:`LAST`."""

LAST: Final = "final_read"
"""Its ``count`` is where the log begins by then; stint -1: nothing was served."""

COMMITTED: Final = "committed"
SUBSCRIBE: Final = "subscribe"
NOT_OURS: Final = "__"
"""How the names of partitions begin that are Kafka's own."""

_OUTPUT: Final = ".output"
"""Behind a member's name: the producer that writes what it reads. It lives and dies with it."""
_MOVED: Final = frozenset(("partitions_assigned", "partitions_revoked", "partitions_lost"))
_ENDED: Final = frozenset(("transaction_committed", "transaction_aborted", "transaction_unknown"))
_FAILED: Final = frozenset(("records_failed", "records_aborted"))

KINDS: Final = (
    *("became_leader", "appended", "records_sent", "records_acked", "records_unknown", "records_read"),
    *("records_abandoned", "offsets_committed", "node_up", "partition_deleted", "transaction_begun"),
    *sorted(_MOVED | _ENDED | _FAILED),
)
"""Kinds of events that histories are told by."""

Process = tuple[str, int]
"""A client, and which of its lives."""


class Step(NamedTuple):
    """A process went from one offset of the log to another that is not the next."""

    anomaly: str
    client: str
    source: int
    target: int
    committed: bool
    """Whether it is handed committed data only."""
    seq: int


class Piece(NamedTuple):
    """Records that a process sent in a row, which stand in a row; ``txn`` -1: outside of any transaction."""

    sequence: int
    end: int
    offset: int
    txn: int
    seq: int


class Books:
    """A partition's."""

    def __init__(self) -> None:
        self.wrote: list[tuple[int, int, int, str, int]] = []
        """(stint, offset, end, client, number of the first record); what has no number is left out."""
        self.sent: list[tuple[str, int, int, int]] = []
        """(client, number, end, highest offset that anybody had been told of by then)."""
        self.acked: list[tuple[str, int, int, int, int]] = []
        """(client, number, end, stint, offset)."""
        self.failed: list[tuple[str, int, int]] = []
        self.unknown: list[tuple[Process, int, int, int, int]] = []
        """(process, number, end, transaction, seq)."""
        self.reads: list[tuple[Process, bool, int, int, int, int]] = []
        """(process, whether it goes by its group, stint, offset, end, seq)."""
        self.given_back: dict[Process, list[tuple[int, int, int]]] = {}
        """(offset, end, seq) each."""
        self.seen: list[tuple[int, int, int, int]] = []
        """(stint, offset, end, seq), by a read or an acknowledgement."""
        self.last_read: list[tuple[int, int, int]] = []
        self.log_start: int | None = None
        """Where the log begins at the end; None: nobody has read it to its end."""
        self.steps: list[Step] = []
        self.pieces: dict[Process, list[Piece]] = {}
        self.high = -1
        self.regressions: dict[str, int] = {}
        self._at: dict[Process, tuple[int, int]] = {}
        """Process → offset behind the last record handed, and in which poll."""
        self._committed: dict[str, int] = {}

    def read(self, process: Process, poll: int, manner: str, event: tuple[Any, ...]) -> None:
        """A process was handed records; a poll is what it was handed at one instant."""
        seq, offset, end, stint = event[0], event[10], event[11], event[12]
        known = self._at.get(process)
        if known is not None and known[0] != offset:
            inside = "int-" if known[1] == poll else ""
            anomaly = f"{inside}{'poll-skip' if offset > known[0] else 'nonmonotonic-poll'}"
            self.steps.append(Step(anomaly, process[0], known[0] - 1, offset, COMMITTED in manner, seq))
        self._at[process] = (end, poll)
        self.reads.append((process, manner.startswith(SUBSCRIBE), stint, offset, end, seq))
        self.seen.append((stint, offset, end, seq))

    def give_back(self, process: Process, offset: int, end: int, seq: int) -> None:
        """Its application has not processed these, and asks for them again: it has gone elsewhere by itself."""
        self._at.pop(process, None)
        self.given_back.setdefault(process, []).append((offset, end, seq))

    def commit(self, group: str, client: str, offset: int) -> None:
        """A commit of a group was accepted."""
        if offset < self._committed.get(group, -1):
            self.regressions[client] = self.regressions.get(client, 0) + 1
        self._committed[group] = offset


class _Partition:
    """A name, and the books of all partitions that bore it."""

    def __init__(self) -> None:
        self.books = [Books()]
        self.stints = 0
        self.first = 0
        """The first stint of the one that bears it now."""
        self.writing: dict[int, int] = {}
        """Broker → its stint, once it has written."""


class Walk:
    """Writes the books of a session, event by event."""

    def __init__(self, readers: Mapping[str, str]) -> None:
        """``readers`` tells how the members of each group read."""
        self._readers = readers
        self._partitions: dict[str, _Partition] = {}
        self._lives: dict[str, int] = {}
        self._polls: dict[str, tuple[int, int]] = {}
        """Client → when its poll at hand was, and its number."""
        self._txns: dict[str, int] = {}
        self._number = 0

    def take(self, events: Iterable[tuple[Any, ...]]) -> None:
        """Walk over events, in the order of their numbers."""
        for event in events:
            kind, partition = event[2], event[3]
            if kind == "node_up":
                self._up(event)
            elif kind in _MOVED:
                self._polls.pop(event[6], None)
            elif kind == "transaction_begun":
                self._number += 1
                self._txns[event[6]] = self._number
            elif kind in _ENDED:
                self._txns.pop(event[6], None)
            elif partition and not partition.startswith(NOT_OURS):
                own = self._partitions.get(partition)
                if own is None:
                    own = self._partitions[partition] = _Partition()
                self._of_partition(kind, own, event)

    def books(self) -> Iterable[tuple[str, list[Books]]]:
        """The partitions, each with its books; the last ones are of what bears the name in the end."""
        return [(name, own.books) for name, own in sorted(self._partitions.items())]

    def _of_partition(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        books = own.books[-1]
        if kind == "records_read":
            self._read(own, event)
        elif kind == "records_abandoned":
            self._polls.pop(event[6], None)
            books.give_back(self._process(event[6]), event[10], event[10] + event[9], event[0])
        elif kind == "offsets_committed":
            books.commit(event[7], event[6], event[10])
        elif kind == "became_leader":
            own.writing.pop(event[4], None)
        elif kind == "appended":
            self._appended(own, event)
        elif kind == "partition_deleted":
            own.books.append(Books())
            own.first = own.stints
        elif kind == LAST:
            books.log_start = event[9]
            if event[12] >= 0:
                books.last_read.append((event[12], event[10], event[11]))
        elif event[8] is not None and event[8] >= 0:
            self._told(kind, own, event)

    def _read(self, own: _Partition, event: tuple[Any, ...]) -> None:
        client, now = event[6], event[1]
        at, poll = self._polls.get(client, (-1, 0))
        if at != now:
            self._number += 1
            poll = self._number
            self._polls[client] = (now, poll)
        if event[12] >= own.first:
            own.books[-1].read(self._process(client), poll, self._readers.get(event[7], ""), event)

    def _appended(self, own: _Partition, event: tuple[Any, ...]) -> None:
        stint = own.writing.get(event[4])
        if stint is None:
            stint = own.writing[event[4]] = own.stints
            own.stints += 1
        if event[8] is not None and event[8] >= 0:
            own.books[-1].wrote.append((stint, event[10], event[10] + event[9], event[6], event[8]))

    def _told(self, kind: str, own: _Partition, event: tuple[Any, ...]) -> None:
        """A producer sends records, or is told what became of them."""
        books, client, sequence, count = own.books[-1], event[6], event[8], event[9]
        end, txn = sequence + count, self._txns.get(client, -1)
        if kind == "records_sent":
            books.sent.append((client, sequence, end, books.high))
        elif kind in _FAILED:
            books.failed.append((client, sequence, end))
        elif kind == "records_unknown":
            books.unknown.append((self._process(client), sequence, end, txn, event[0]))
        elif kind == "records_acked" and (event[12] is None or not 0 <= event[12] < own.first):
            stint, offset = -1 if event[12] is None else event[12], -1 if event[10] is None else event[10]
            books.acked.append((client, sequence, end, stint, offset))
            if stint >= 0 and offset >= 0:
                books.seen.append((stint, offset, offset + count, event[0]))
                books.pieces.setdefault(self._process(client), []).append(Piece(sequence, end, offset, txn, event[0]))
                books.high = max(books.high, offset + count - 1)

    def _up(self, event: tuple[Any, ...]) -> None:
        """A client's process starts once more."""
        if event[4] is None or event[4] < 0:
            for client in (event[5], f"{event[5]}{_OUTPUT}"):
                self._lives[client] = self._lives.get(client, 0) + 1
                self._polls.pop(client, None)
                self._txns.pop(client, None)

    def _process(self, client: str) -> Process:
        return client, self._lives.get(client, 0)
