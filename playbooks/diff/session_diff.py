"""Comparison of two recorded sessions for ``floodmark diff``: the first differing event, and the results side by side.

Events about the playbook (:data:`~cluster_model.observation.event_log.PLAYBOOK_KINDS`) are in the log but do not affect
the cluster, so they are compared separately: a session and the playbook exported from it differ in these events only.
"""

import difflib
import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import msgspec

from cluster_model.observation import PLAYBOOK_KINDS, REQUESTED_KINDS
from cluster_model.protocol.events import FIELDS, KINDS, describe
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import counted, time_in_seconds
from playbooks.results.outages import Availability, unavailability_from_events
from playbooks.session_format import format_1, session_files
from playbooks.session_format.session_files import SessionError

# One of the two recorded sessions: its small files whole, its events line by line.
#
# An event log can be larger than memory, so it is read once, in order, and its seal is verified on the way.


TAIL_BYTES: Final = 1 << 16
"""Bytes at the end of a log searched for its last complete line; no line is as long."""


class EventFields(msgspec.Struct, gc=False):
    """Fields of an event that the comparison needs; fields that its kind does not have keep their defaults."""

    seq: int
    at_us: int
    kind: str
    partition: str = ""
    client: str = ""
    node: str = ""
    acks: int = 0
    latency_us: int = 0
    log_offset: int = -1
    broker: int = -1
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    hw: int = -1
    clean: bool = True
    committed: bool = False
    count: int = 0
    by: str = ""
    cause: str = ""
    rule: str = ""
    ok: bool = False
    detail: str = ""


Line = tuple[EventFields, bytes]


@dataclass(frozen=True)
class DiffSide:
    """One session on disk, its events unread."""

    path: Path
    start: session_files.Start
    manifest: session_files.Manifest | None
    """None for an incomplete session."""
    result: dict[str, Any] | None
    """``result.json``; None for a session that is incomplete or was recovered, which lacks part of its run."""
    playbook: str
    fragments: dict[str, str]
    """Texts of the fragments that the playbook includes, by path."""
    last_us: int
    """Virtual time of the last complete event if the end is missing, -1 without any; else of the session's end."""
    size: int
    """Size of the event log in bytes."""
    notes: list[str] = field(default_factory=list)
    """Notes for the reader: that the session is incomplete, and where."""

    @property
    def torn(self) -> bool:
        """Whether its end is missing: it was not sealed, or only after the recording process had died."""
        return self.manifest is None or self.manifest.recovered

    def lines(self, progress: Callable[[int], None] = lambda size: None) -> Iterator[Line]:
        """Yield every complete event in order; ``progress`` is called with the bytes read so far.

        Raises:
            SessionError: a line is not an event, one is missing, or the log has changed since it was sealed.
        """
        path = self.path / session_files.EVENTS
        digest, size = hashlib.sha256(), 0
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file):
                    if not line.endswith(b"\n"):
                        break
                    digest.update(line)
                    size += len(line)
                    if number % 1024 == 0:
                        progress(size)
                    current = format_1.current_events(line) if self.start.format == format_1.FORMAT else line
                    yield _head(path, number, current), current
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}", code="unreadable") from None
        seal = self.manifest.files.get(session_files.EVENTS) if self.manifest else None
        if seal is not None and (seal.bytes, seal.sha256) != (self.size, digest.hexdigest()):
            raise SessionError(f"{path} has changed since the session was sealed", code="content_changed")

    def event(self, line: Line) -> dict[str, Any]:
        """Return all fields of an event as recorded.

        Raises:
            SessionError: the line is not an event: fields that the comparison does not need were not checked.
        """
        head, text = line
        try:
            document = json.loads(text)
            json.dumps(document, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise SessionError(
                f"{self.path / session_files.EVENTS}:{head.seq + 1}: not an event: it is not valid JSON",
                code="not_an_event",
            ) from None
        return dict(document)


def open_side(path: Path) -> DiffSide:
    """Read everything of a session except its events.

    Raises:
        SessionError: a file is missing, invalid, or has changed since it was sealed.
    """
    if not (path / session_files.START).is_file():
        why = session_files.why_no_session(path)
        raise SessionError(str(why), code=why.code)
    try:
        start, manifest = session_files.read_start(path), session_files.read_manifest(path)
        is_complete = manifest is not None and not manifest.recovered
        result = session_files.read_result(path, manifest) if is_complete and manifest is not None else None
        fragments = session_files.read_fragments(path)
    except session_files.LayoutError as error:
        raise SessionError(str(error), code=error.code) from None
    if manifest is not None:
        for name in (session_files.PLAYBOOK, session_files.START, session_files.RESULT, session_files.FRAGMENTS):
            seal = manifest.files.get(name)
            if seal is not None and hashlib.sha256(_bytes(path / name)).hexdigest() != seal.sha256:
                raise SessionError(f"{path / name} has changed since the session was sealed", code="content_changed")
    try:
        playbook = _bytes(path / session_files.PLAYBOOK).decode()
    except UnicodeDecodeError:
        raise SessionError(f"{path / session_files.PLAYBOOK} is not text in UTF-8", code="not_utf8") from None
    notes: list[str] = []
    if is_complete and manifest is not None:
        last_us = manifest.virtual_us
    else:
        how = "not sealed" if manifest is None else "recovered"
        notes.append(f"{how}: the recording process died, so its end is missing")
        last_us = _last_us(path / session_files.EVENTS, notes)
    return DiffSide(
        path, start, manifest, result, playbook, fragments, last_us, _size(path / session_files.EVENTS), notes
    )


_DECODER: Final = msgspec.json.Decoder(EventFields)


def _head(path: Path, number: int, line: bytes) -> EventFields:
    try:
        head = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SessionError(f"{path}:{number + 1}: not an event: {error}", code="not_an_event") from None
    if head.seq != number:
        raise SessionError(
            f"{path}:{number + 1}: expected event {number}, found {head.seq}: events are missing", code="events_missing"
        )
    return head


def _last_us(path: Path, notes: list[str]) -> int:
    """Return the time of the last complete event of an incomplete log; the rest of it becomes a note."""
    size = _size(path)
    try:
        with path.open("rb") as file:
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}", code="unreadable") from None
    end = tail.rfind(b"\n") + 1
    if end < len(tail):
        notes.append(f"{path.name} ends in the middle of a line; {counted(len(tail) - end, 'byte')} left out")
    begin = tail.rfind(b"\n", 0, max(0, end - 1)) + 1
    try:
        return _DECODER.decode(tail[begin:end]).at_us if end else -1
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SessionError(f"{path}: its last line is not an event: {error}", code="not_an_event") from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}", code="unreadable") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}", code="unreadable") from None


# Sums over the events of a session, for values missing in the result, and for incomplete sessions.


_OUTCOMES: Final = {f"records_{outcome}": outcome for outcome in ("sent", "acked", "failed", "unknown", "aborted")}


@dataclass(slots=True)
class PartitionTally:
    """Final state of a partition by the decisions of the controller and the events of its leaders."""

    leader: int = -1
    epoch: int = -1
    isr: tuple[int, ...] = ()
    hw: int = -1
    elections: int = 0
    unclean: int = 0


@dataclass(slots=True)
class SessionTotals:
    """Sums over the events before ``cut_us``; -1 for all."""

    cut_us: int = -1
    last_us: int = 0
    end_us: int = 0
    """Time at which the compared part ends."""
    events: int = 0
    ledger: Counter[str] = field(default_factory=Counter)
    partitions: dict[str, PartitionTally] = field(default_factory=dict)
    losses: Counter[str] = field(default_factory=Counter)
    """Cause of a loss → number of records."""
    checked: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """Expectation → whether it held, with the detail."""
    availability: Availability = field(default_factory=lambda: Availability({}))

    @classmethod
    def before(cls, cut_us: int, start: session_files.Start) -> "SessionTotals":
        """Return empty sums for a session with this start."""
        return cls(cut_us, availability=Availability(start.service_bounds))

    def take(self, event: EventFields) -> None:
        """Process the next event."""
        if 0 <= self.cut_us <= event.at_us:
            return
        self.events += 1
        self.last_us = event.at_us
        self.availability.process_events((event,))
        outcome = _OUTCOMES.get(event.kind)
        if outcome is not None:
            self.ledger[outcome] += event.count
            return
        act = _ACTS.get(event.kind)
        if act is not None:
            act(self, event)

    def of(self, partition: str) -> PartitionTally:
        """Return the state of a partition."""
        return self.partitions.setdefault(partition, PartitionTally())

    def close(self, end_us: int) -> None:
        """End the session, or the compared part, here."""
        self.end_us = end_us

    def elected(self, event: EventFields) -> None:
        """Handle a leader election by the controller."""
        found = self.of(event.partition)
        found.elections += 1
        found.unclean += not event.clean
        found.leader, found.epoch, found.isr = event.leader, event.leader_epoch, event.isr

    def offline(self, event: EventFields) -> None:
        """Handle a partition without a possible leader."""
        found = self.of(event.partition)
        found.leader, found.epoch, found.isr = -1, event.leader_epoch, event.isr

    def changed(self, event: EventFields) -> None:
        """Handle an ISR change."""
        self.of(event.partition).isr = event.isr

    def leads(self, event: EventFields) -> None:
        """Handle a broker that becomes leader."""
        found = self.of(event.partition)
        if event.leader_epoch >= found.epoch:
            found.leader, found.epoch = event.broker, event.leader_epoch
        found.hw = max(found.hw, event.hw)

    def deleted(self, event: EventFields) -> None:
        """Handle a deleted partition: it needs no leader."""
        self.partitions.pop(event.partition, None)

    def advanced(self, event: EventFields) -> None:
        """Handle an advance of a leader's high watermark."""
        found = self.of(event.partition)
        if event.broker == found.leader:
            found.hw = event.hw

    def lost(self, event: EventFields) -> None:
        """Handle lost acknowledged records."""
        self.ledger["acked_lost"] += event.count
        self.ledger["committed_lost"] += event.count * event.committed
        self.losses[event.cause] += event.count

    def judged(self, event: EventFields) -> None:
        """Handle an expectation's verdict."""
        self.checked[event.rule] = (event.ok, event.detail)


_ACTS: Final[dict[str, Any]] = {
    "leader_elected": SessionTotals.elected,
    "partition_offline": SessionTotals.offline,
    "isr_changed": SessionTotals.changed,
    "became_leader": SessionTotals.leads,
    "partition_deleted": SessionTotals.deleted,
    "hw_advanced": SessionTotals.advanced,
    "records_lost": SessionTotals.lost,
    "expectation_checked": SessionTotals.judged,
}

Rows = dict[str, tuple[Any, str]]
"""Name → value, plain as in JSON, and its unit (``us`` or empty)."""

LEDGER: Final = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")
"""Ledger counts that events alone give; duplicates and the like are only known at the end of the session."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One value of both sessions; None where a session does not have it."""

    what: str
    left: Any
    right: Any
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Whether the two values differ."""
        return bool(self.left != self.right)

    @property
    def both(self) -> bool:
        """Whether both sessions have it."""
        return self.left is not None and self.right is not None


@dataclass(frozen=True, slots=True)
class DiffSection:
    """Rows of a comparison about one subject."""

    name: str
    rows: tuple[DiffRow, ...]

    @property
    def differing(self) -> tuple[DiffRow, ...]:
        """Rows whose values differ."""
        return tuple(row for row in self.rows if row.differs)


def identity(left: DiffSide, right: DiffSide) -> DiffSection:
    """Compare the identities of the sessions."""
    return _section("session", *(_about(side) for side in (left, right)))


def outcome(left: DiffSide, right: DiffSide, tallies: tuple[SessionTotals, SessionTotals]) -> list[DiffSection]:
    """Compare the outcomes: by both results, or by the events if one session is incomplete.

    Raises:
        SessionError: a result is invalid.
    """
    try:
        return _outcome(left, right, tallies)
    except (AttributeError, KeyError, TypeError, ValueError):
        names = " or ".join(str(side.path / session_files.RESULT) for side in (left, right) if side.result is not None)
        raise SessionError(
            f"{names}: invalid content, expected the output of floodmark run --json", code="not_a_result"
        ) from None


def _outcome(left: DiffSide, right: DiffSide, tallies: tuple[SessionTotals, SessionTotals]) -> list[DiffSection]:
    results = left.result, right.result
    if results[0] is None or results[1] is None:
        return [_section(name, *map(rows, tallies)) for name, rows in _OF_EVENTS.items()]
    sections = {name: _section(name, *map(rows, results)) for name, rows in _OF_RESULTS.items()}
    summed = {name: _section(name, *map(_OF_EVENTS[name], tallies)) for name in _FROM_EVENTS}
    if all("unavailable" in each for each in results if each is not None):
        summed["availability"] = _section("availability", *map(_unavailable, results))
    return [(sections | summed)[name] for name in _ORDER]


def _section(name: str, left: Rows, right: Rows) -> DiffSection:
    rows = []
    for what in dict.fromkeys([*left, *right]):
        (mine, unit), (its, other) = left.get(what, (None, "")), right.get(what, (None, ""))
        rows.append(DiffRow(what, mine, its, unit or other))
    return DiffSection(name, tuple(rows))


def _plain(values: Mapping[str, Any]) -> Rows:
    return {what: (value, "us" if what.endswith("_us") else "") for what, value in values.items()}


def _about(side: DiffSide) -> Rows:
    start = side.start
    values: dict[str, Any] = {
        "playbook": start.playbook,
        "seed": start.seed,
        "profile": start.profile,
        "floodmark": start.tool_version,
        "live": start.live,
        **{f"--set {path}": value for path, value in start.settings.items()},
        "state": _state(side),
    }
    if side.manifest is not None:
        values |= {"digest": side.manifest.digest, "events": side.manifest.events}
        return _plain(values) | {"cluster time": (side.manifest.virtual_us, "us")}
    return _plain(values)


def _state(side: DiffSide) -> str:
    return "sealed" if not side.torn else "torn" if side.manifest is None else "recovered"


def _verdict(result: Any) -> Rows:
    return _plain({"verdict": result.get("verdict"), **({"reason": result["reason"]} if "reason" in result else {})})


def _expectations(result: Any) -> Rows:
    return _judged((each["text"], each["ok"], each["detail"]) for each in result.get("expectations", []))


def _checked(totals: SessionTotals) -> Rows:
    return _judged((text, ok, detail) for text, (ok, detail) in totals.checked.items())


def _judged(expectations: Iterable[tuple[str, bool, str]]) -> Rows:
    """Return expectations with their results; a difference in the time at which one held counts too."""
    return _plain({text: f"{'ok' if ok else 'FAILED'}: {detail}".rstrip(": ") for text, ok, detail in expectations})


def turned(rows: Iterable[DiffRow]) -> list[DiffRow]:
    """Return expectations that held in one session and failed in the other; those of only one session do not count."""
    return [row for row in rows if row.both and str(row.left).startswith("ok") != str(row.right).startswith("ok")]


def _ledger(result: Any) -> Rows:
    return _plain({term.replace("_", " "): count for term, count in result.get("ledger", {}).items()})


def _counted(totals: SessionTotals) -> Rows:
    return _plain({term.replace("_", " "): totals.ledger[term] for term in LEDGER})


def _seen(totals: SessionTotals) -> Rows:
    """Return availability as far as events show it: failed attempts of clients, and partitions without a leader."""
    return _lines(unavailability_from_events(totals.availability, totals.end_us).to_json())


def _unavailable(result: Any) -> Rows:
    """Return the unavailability of clients from the result."""
    unavailable = result["unavailable"]
    return {f"all clients{what}": value for what, value in _outage(unavailable).items()} | _lines(unavailable)


def _lines(unavailable: Mapping[str, Any]) -> Rows:
    rows: Rows = {}
    for client, its in unavailable.get("clients", {}).items():
        rows |= {f"{client} acks={its.get('acks')}{what}": value for what, value in _outage(its).items()}
        for partition, spans in its.get("partitions", {}).items():
            rows |= {f"{client} {partition}{what}": value for what, value in _outage(spans).items()}
    for partition, spans in unavailable.get("partitions", {}).items():
        rows |= {f"{partition}{what}": value for what, value in _outage(spans).items()}
    return rows


def _outage(sums: Mapping[str, Any]) -> Rows:
    return {"": (sums.get("us", 0), "us"), " longest": (sums.get("longest_us", 0), "us")}


def _elections(totals: SessionTotals) -> Rows:
    """Return elections by partition; those of internal topics, which are many, by topic."""
    counts: Counter[str] = Counter()
    for name, each in sorted(totals.partitions.items()):
        subject = name.rpartition("-")[0] if _internal(name) else name
        counts[f"{subject} elections"] += each.elections
        counts[f"{subject} unclean elections"] += each.unclean
    return _plain({what: count for what, count in counts.items() if count or not what.endswith("unclean elections")})


def _clients(result: Any) -> Rows:
    clients = result.get("clients", {})
    rows: Rows = {}
    for kind in ("producers", "groups"):
        for name, statistics in clients.get(kind, {}).items():
            rows |= _client(name, statistics)
            for member, its in statistics.get("members", {}).items():
                rows |= _client(member, its)
    return rows


def _client(name: str, statistics: Mapping[str, Any]) -> Rows:
    rows: Rows = {}
    for key, value in statistics.items():
        unit = "us" if key.endswith("_us") else ""
        what = f"{name} {key.removesuffix('_us').replace('_', ' ')}"
        if not isinstance(value, dict):
            rows[what] = (value, unit)
        elif key != "members":
            rows |= {f"{what} {error}": (count, "") for error, count in value.items()}
    return rows


def _losses(totals: SessionTotals) -> Rows:
    return _plain(dict(totals.losses))


def _partitions(result: Any) -> Rows:
    rows: Rows = {}
    for name, each in result.get("partitions", {}).items():
        values = {key: each.get(key) for key in ("leader", "epoch", "isr", "hw", "log_start")}
        rows |= {f"{name} {key.replace('_', ' ')}": (value, "") for key, value in values.items()}
        rows |= {f"{name} LEO of {broker}": (its.get("leo"), "") for broker, its in each.get("replicas", {}).items()}
    return rows


def _decided(totals: SessionTotals) -> Rows:
    rows: Rows = {}
    for name, each in sorted(totals.partitions.items()):
        if not _internal(name):
            values = {"leader": each.leader, "epoch": each.epoch, "isr": list(each.isr), "hw": each.hw}
            rows |= {f"{name} {key}": (value, "") for key, value in values.items()}
    return rows


def _internal(partition: str) -> bool:
    return partition.rpartition("-")[0] in INTERNAL


_OF_RESULTS: Final[dict[str, Callable[[Any], Rows]]] = {
    "verdict": _verdict,
    "expectations": _expectations,
    "ledger": _ledger,
    "clients": _clients,
    "final partitions": _partitions,
}
_OF_EVENTS: Final[dict[str, Callable[[SessionTotals], Rows]]] = {
    "expectations": _checked,
    "ledger": _counted,
    "availability": _seen,
    "elections": _elections,
    "losses by cause": _losses,
    "partitions": _decided,
}
"""Sections for an incomplete session."""
_FROM_EVENTS: Final = ("availability", "elections", "losses by cause")
"""Sections that are not in the result; of availability those of earlier versions."""
_ORDER: Final = (
    *("verdict", "expectations", "ledger", "availability", "elections"),
    *("clients", "losses by cause", "final partitions"),
)


# The comparison of the event logs up to the first difference.


BEFORE: Final = 3
"""Number of events shown before the first difference."""


@dataclass(frozen=True, slots=True)
class DiffEvent:
    """An event of one of the compared sessions."""

    seq: int
    at_us: int
    text: str
    """The event as text."""
    event: dict[str, Any]
    """The event as recorded."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first differing event; None for the session that had no more."""

    left: DiffEvent | None
    right: DiffEvent | None
    before: tuple[DiffEvent, ...]
    """The last equal events, as recorded in the left session."""

    @property
    def at_us(self) -> int:
        """Time of the difference: the earlier of both events."""
        return min(each.at_us for each in (self.left, self.right) if each is not None)


@dataclass(slots=True)
class LogComparison:
    """Result of comparing the event logs of two sessions."""

    cluster: FirstDifference | None = None
    playbook_events: FirstDifference | None = None
    same: int = 0
    """Number of equal cluster events before the first difference."""


class _Narration:
    """Events about the playbook of one session, kept apart, each with the events before it."""

    def __init__(self, side: DiffSide, totals: SessionTotals, progress: Any) -> None:
        self.lines: list[tuple[Line, tuple[Line, ...]]] = []
        self._side = side
        self._totals = totals
        self._progress = progress

    def cluster(self) -> Iterator[Line]:
        """Yield the events of the cluster."""
        before: deque[Line] = deque(maxlen=BEFORE)
        for line in self._side.lines(self._progress):
            self._totals.take(line[0])
            if line[0].kind in PLAYBOOK_KINDS:
                self.lines.append((line, tuple(before)))
            else:
                yield line
            before.append(line)


def walk(
    left: DiffSide, right: DiffSide, tallies: tuple[SessionTotals, SessionTotals], progress: Any = lambda size: None
) -> LogComparison:
    """Read both logs to their ends, in parallel.

    Raises:
        SessionError: one of them is damaged.
    """
    comparison = LogComparison()
    one, other = _Narration(left, tallies[0], progress), _Narration(right, tallies[1], lambda size: None)
    before: deque[Line] = deque(maxlen=BEFORE)
    pair = _Pair(left, right)
    for left_event, its in zip_longest(one.cluster(), other.cluster()):
        if comparison.cluster is not None or _cut(left, left_event) or _cut(right, its):
            continue
        if pair.same(left_event, its):
            comparison.same += 1
            before.append(left_event)
        else:
            comparison.cluster = pair.parting(left_event, its, before)
    for mine_told, its_told in zip_longest(one.lines, other.lines):
        left_event, its = mine_told and mine_told[0], its_told and its_told[0]
        if _cut(left, left_event) or _cut(right, its):
            break
        if not pair.same(left_event, its):
            comparison.playbook_events = pair.parting(left_event, its, mine_told[1] if mine_told else ())
            break
    return comparison


def _cut(side: DiffSide, line: Line | None) -> bool:
    """Return whether a log ended because it is incomplete, not because the session ended."""
    return line is None and side.torn


class _Pair:
    """Comparator of events of two sessions."""

    def __init__(self, left: DiffSide, right: DiffSide) -> None:
        self._left = left
        self._right = right

    def same(self, left: Line | None, right: Line | None) -> bool:
        """Return whether two lines are the same event, wherever they are in their logs."""
        if left is None or right is None:
            return False
        if left[1] == right[1] or _body(left[1]) == _body(right[1]):
            return True
        one, other = self._left.event(left), self._right.event(right)
        return counting(one) == counting(other)

    def parting(self, left: Line | None, right: Line | None, before: Iterable[Line]) -> FirstDifference:
        """Return the difference of two lines; the lines before are printed from the left session."""
        return FirstDifference(
            None if left is None else _tell(self._left, left),
            None if right is None else _tell(self._right, right),
            tuple(_tell(self._left, each) for each in before),
        )


def counting(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return the significant fields of an event: not its number, nor who requested it, as in the digest."""
    requester = {"by": ""} if recorded.get("kind") in REQUESTED_KINDS else {}
    return {**recorded, "seq": 0, **requester}


def _body(line: bytes) -> bytes:
    """Return a line without its number, if it is as recorders write it; else the whole line."""
    return line[line.index(b",") :] if line.startswith(b'{"seq":') else line


def _tell(side: DiffSide, line: Line) -> DiffEvent:
    event = side.event(line)
    return DiffEvent(line[0].seq, line[0].at_us, words(event), event)


def words(recorded: dict[str, Any]) -> str:
    """Return a recorded event as text; an event of another version by the fields that it has."""
    kind = recorded.get("kind", "")
    fields = FIELDS.get(kind, ())
    if fields and all(name in recorded for name in fields):
        values = [tuple(value) if isinstance(value := recorded[name], list) else value for name in fields]
        return describe(KINDS[kind](*values))
    rest = [f"{name}={value}" for name, value in recorded.items() if name not in ("seq", "kind", "at_us")]
    return " ".join([str(kind), *rest])


# The whole comparison, as ``floodmark diff`` prints it.


@dataclass(frozen=True, slots=True)
class SessionDiff:
    """Both sessions and all their differences."""

    left: DiffSide
    right: DiffSide
    notes: tuple[str, ...]
    """Notes on what was left out, and why."""
    cut_us: int
    """Time up to which they are compared, if one is incomplete; -1 for their whole lengths."""
    identity: DiffSection
    playbook: tuple[str, ...]
    """Unified diff of the playbooks' texts; empty if they are the same."""
    walk: LogComparison
    sections: tuple[DiffSection, ...]

    @property
    def changed_expectations(self) -> list[DiffRow]:
        """Expectations that held in one session only."""
        return [row for section in self.sections if section.name == "expectations" for row in turned(section.rows)]

    @property
    def same(self) -> bool:
        """Whether the same events occurred in both clusters, with the same verdict.

        The text of the playbook, and the events about it, do not count.
        """
        judged = any(section.differing for section in self.sections if section.name == "verdict")
        return self.walk.cluster is None and not judged and not self.changed_expectations

    def to_json(self) -> dict[str, Any]:
        """Return the published document."""
        first, narrated = self.walk.cluster, self.walk.playbook_events
        return {
            "left": str(self.left.path),
            "right": str(self.right.path),
            "same": self.same,
            "notes": list(self.notes),
            "compared_us": self.cut_us if self.cut_us >= 0 else None,
            "same_events": self.walk.same,
            "session": _rows(self.identity),
            "playbook_diff": list(self.playbook),
            "first_difference": None if first is None else _parting(first),
            "first_narration_difference": None if narrated is None else _parting(narrated),
            "turned": [row.what for row in self.changed_expectations],
            **{section.name.replace(" ", "_"): _rows(section) for section in self.sections},
        }


def compare(left: Path, right: Path, progress: Callable[[int, int], None] = lambda done, total: None) -> SessionDiff:
    """Compare two sessions; ``progress`` is called with the bytes of the left log read so far, and its size.

    Raises:
        SessionError: one of them cannot be read, or is damaged.
    """
    left_side, right_side = open_side(left), open_side(right)
    cut_us = min((max(0, side.last_us) for side in (left_side, right_side) if side.torn), default=-1)
    tallies = SessionTotals.before(cut_us, left_side.start), SessionTotals.before(cut_us, right_side.start)
    comparison = walk(left_side, right_side, tallies, lambda size: progress(size, left_side.size))
    for side, totals in zip((left_side, right_side), tallies, strict=True):
        totals.close(cut_us if cut_us >= 0 else side.last_us)
    return SessionDiff(
        left=left_side,
        right=right_side,
        notes=tuple(_notes(left_side, right_side, cut_us)),
        cut_us=cut_us,
        identity=identity(left_side, right_side),
        playbook=tuple(_texts(left_side, right_side)),
        walk=comparison,
        sections=tuple(outcome(left_side, right_side, tallies)),
    )


def _notes(left: DiffSide, right: DiffSide, cut_us: int) -> list[str]:
    notes = [f"{name}: {note}" for name, side in (("left", left), ("right", right)) for note in side.notes]
    if cut_us >= 0:
        empty = any(side.torn and side.last_us < 0 for side in (left, right))
        until = "nothing: one session has no complete event" if empty else f"events before {time_in_seconds(cut_us)}"
        notes.append(f"compared: {until}; verdict and client tables need two complete sessions")
    return notes


def _texts(left: DiffSide, right: DiffSide) -> list[str]:
    """Return the differences of the playbooks and their fragments."""
    lines = _diff(left.playbook, right.playbook, "")
    for path in dict.fromkeys([*left.fragments, *right.fragments]):
        lines += _diff(left.fragments.get(path, ""), right.fragments.get(path, ""), f" {path}")
    return lines


def _diff(left: str, right: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(left.splitlines(), right.splitlines(), f"left{name}", f"right{name}", n=1, lineterm="")
    )


def _rows(section: DiffSection) -> list[dict[str, Any]]:
    return [
        {"what": row.what, "left": row.left, "right": row.right, **({"unit": row.unit} if row.unit else {})}
        for row in section.rows
    ]


def _parting(parting: FirstDifference) -> dict[str, Any]:
    def shown(shown_event: DiffEvent | None) -> dict[str, Any] | None:
        return None if shown_event is None else {"text": shown_event.text, **shown_event.event}

    return {
        "at_us": parting.at_us,
        "left": shown(parting.left),
        "right": shown(parting.right),
        "before": [shown(each) for each in parting.before],
    }
