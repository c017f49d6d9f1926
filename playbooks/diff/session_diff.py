"""The comparison of two recorded sessions for ``floodmark diff``, and the first event at which they differ.

What the playbook did and found (:data:`~cluster_model.observation.event_log.NARRATION`) stands among the events, but
is no part of what happened to the cluster, so the two are compared apart: a session and the playbook that was made of
it differ in the one, and are the same in the other.
"""

import difflib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from cluster_model.observation import ASKED, NARRATION
from cluster_model.protocol.events import FIELDS, KINDS, describe
from playbooks.diff.sections import (
    DiffRow,
    DiffSection,
    Line,
    SessionTotals,
    Side,
    identity,
    open_side,
    outcome,
    turned,
)
from playbooks.engine.expectations import seconds

BEFORE: Final = 3
"""Events told before the first that differs."""


@dataclass(frozen=True, slots=True)
class DiffEvent:
    """An event of one side."""

    seq: int
    at_us: int
    text: str
    """In words."""
    event: dict[str, Any]
    """As it was recorded."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The first event that is not the same; None on the side that had no more."""

    left: DiffEvent | None
    right: DiffEvent | None
    before: tuple[DiffEvent, ...]
    """The last that were the same, as they are on the left."""

    @property
    def at_us(self) -> int:
        """When: the earlier of both."""
        return min(each.at_us for each in (self.left, self.right) if each is not None)


@dataclass(slots=True)
class LogComparison:
    """What both logs came to."""

    cluster: Parting | None = None
    narration: Parting | None = None
    same: int = 0
    """Events of the cluster that are the same, up to the first that is not."""


class _Narration:
    """Lines of the playbook of one side, set aside, each with the events before it."""

    def __init__(self, side: Side, tally: SessionTotals, told: Any) -> None:
        self.lines: list[tuple[Line, tuple[Line, ...]]] = []
        self._side = side
        self._tally = tally
        self._told = told

    def cluster(self) -> Iterator[Line]:
        """The events of the cluster."""
        before: deque[Line] = deque(maxlen=BEFORE)
        for line in self._side.lines(self._told):
            self._tally.take(line[0])
            if line[0].kind in NARRATION:
                self.lines.append((line, tuple(before)))
            else:
                yield line
            before.append(line)


def walk(
    left: Side, right: Side, tallies: tuple[SessionTotals, SessionTotals], told: Any = lambda size: None
) -> LogComparison:
    """Read both logs to their ends, beside each other.

    Raises:
        SessionError: one of them is damaged.
    """
    found = LogComparison()
    one, other = _Narration(left, tallies[0], told), _Narration(right, tallies[1], lambda size: None)
    before: deque[Line] = deque(maxlen=BEFORE)
    pair = _Pair(left, right)
    for mine, its in zip_longest(one.cluster(), other.cluster()):
        if found.cluster is not None or _cut(left, mine) or _cut(right, its):
            continue
        if pair.same(mine, its):
            found.same += 1
            before.append(mine)
        else:
            found.cluster = pair.parting(mine, its, before)
    for mine_told, its_told in zip_longest(one.lines, other.lines):
        mine, its = mine_told and mine_told[0], its_told and its_told[0]
        if _cut(left, mine) or _cut(right, its):
            break
        if not pair.same(mine, its):
            found.narration = pair.parting(mine, its, mine_told[1] if mine_told else ())
            break
    return found


def _cut(side: Side, line: Line | None) -> bool:
    """Whether it is the tear that ended a log, and not the session."""
    return line is None and side.torn


class _Pair:
    """Compares events of two sessions."""

    def __init__(self, left: Side, right: Side) -> None:
        self._left = left
        self._right = right

    def same(self, left: Line | None, right: Line | None) -> bool:
        """Whether two lines tell the same event, wherever they stand in their logs."""
        if left is None or right is None:
            return False
        if left[1] == right[1] or _body(left[1]) == _body(right[1]):
            return True
        one, other = self._left.event(left), self._right.event(right)
        return counting(one) == counting(other)

    def parting(self, left: Line | None, right: Line | None, before: Iterable[Line]) -> Parting:
        """Two lines that are not the same; what was before them is told as it is on the left."""
        return Parting(
            None if left is None else _tell(self._left, left),
            None if right is None else _tell(self._right, right),
            tuple(_tell(self._left, each) for each in before),
        )


def counting(recorded: dict[str, Any]) -> dict[str, Any]:
    """What of an event makes a difference: not its number, and not who asked, as in the digest."""
    asked = {"by": ""} if recorded.get("kind") in ASKED else {}
    return {**recorded, "seq": 0, **asked}


def _body(line: bytes) -> bytes:
    """A line as recorders write it, without its number; of others the whole."""
    return line[line.index(b",") :] if line.startswith(b'{"seq":') else line


def _tell(side: Side, line: Line) -> DiffEvent:
    event = side.event(line)
    return DiffEvent(line[0].seq, line[0].at_us, words(event), event)


def words(recorded: dict[str, Any]) -> str:
    """A recorded event as the screen tells it; one of another version by the fields that it has."""
    kind = recorded.get("kind", "")
    fields = FIELDS.get(kind, ())
    if fields and all(name in recorded for name in fields):
        values = [tuple(value) if isinstance(value := recorded[name], list) else value for name in fields]
        return describe(KINDS[kind](*values))
    rest = [f"{name}={value}" for name, value in recorded.items() if name not in ("seq", "kind", "at_us")]
    return " ".join([str(kind), *rest])


# The comparison of two recorded sessions, as ``floodmark diff`` prints it.


@dataclass(frozen=True, slots=True)
class SessionDiff:
    """Both sides and all that is to be said of them."""

    left: Side
    right: Side
    notes: tuple[str, ...]
    """What was left out, and why."""
    cut_us: int
    """Up to when they are compared, where one is torn; -1 for their whole lengths."""
    identity: DiffSection
    playbook: tuple[str, ...]
    """A unified difference of the playbooks' texts; empty when they are the same."""
    walk: LogComparison
    sections: tuple[DiffSection, ...]

    @property
    def turned(self) -> list[DiffRow]:
        """Expectations that hold on one side only."""
        return [row for section in self.sections if section.name == "expectations" for row in turned(section.rows)]

    @property
    def same(self) -> bool:
        """Whether the same happened to both clusters, with the same verdict.

        How a playbook is worded, and what its lines say of themselves, makes no difference.
        """
        judged = any(section.differing for section in self.sections if section.name == "verdict")
        return self.walk.cluster is None and not judged and not self.turned

    def to_json(self) -> dict[str, Any]:
        """The published document."""
        first, narrated = self.walk.cluster, self.walk.narration
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
            "turned": [row.what for row in self.turned],
            **{section.name.replace(" ", "_"): _rows(section) for section in self.sections},
        }


def compare(left: Path, right: Path, told: Callable[[int, int], None] = lambda done, total: None) -> SessionDiff:
    """Compare two sessions; ``told`` is called with the bytes of the left log read so far, and how many there are.

    Raises:
        SessionError: one of them cannot be read, or is damaged.
    """
    mine, its = open_side(left), open_side(right)
    cut_us = min((max(0, side.last_us) for side in (mine, its) if side.torn), default=-1)
    tallies = SessionTotals.before(cut_us, mine.start), SessionTotals.before(cut_us, its.start)
    found = walk(mine, its, tallies, lambda size: told(size, mine.size))
    for side, tally in zip((mine, its), tallies, strict=True):
        tally.close(cut_us if cut_us >= 0 else side.last_us)
    return SessionDiff(
        left=mine,
        right=its,
        notes=tuple(_notes(mine, its, cut_us)),
        cut_us=cut_us,
        identity=identity(mine, its),
        playbook=tuple(_texts(mine, its)),
        walk=found,
        sections=tuple(outcome(mine, its, tallies)),
    )


def _notes(left: Side, right: Side, cut_us: int) -> list[str]:
    notes = [f"{name}: {note}" for name, side in (("left", left), ("right", right)) for note in side.notes]
    if cut_us >= 0:
        empty = any(side.torn and side.last_us < 0 for side in (left, right))
        until = "nothing, for one has no whole event" if empty else f"what both have before {seconds(cut_us)}"
        notes.append(f"compared is {until}; verdict and client tables are only told of two whole sessions")
    return notes


def _texts(left: Side, right: Side) -> list[str]:
    """How the playbooks and what they include differ."""
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


def _parting(parting: Parting) -> dict[str, Any]:
    def shown(told: DiffEvent | None) -> dict[str, Any] | None:
        return None if told is None else {"text": told.text, **told.event}

    return {
        "at_us": parting.at_us,
        "left": shown(parting.left),
        "right": shown(parting.right),
        "before": [shown(each) for each in parting.before],
    }
