"""The comparison of two recorded sessions, as ``floodmark diff`` tells it."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbooks.diff.sections import Row, Section, identity, outcome, turned
from playbooks.diff.session_diff import Parting, Told, Walk, walk
from playbooks.diff.sides import Side, open_side
from playbooks.diff.tally import Tally
from playbooks.engine.expectations import seconds


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides and all that is to be said of them."""

    left: Side
    right: Side
    notes: tuple[str, ...]
    """What was left out, and why."""
    cut_us: int
    """Up to when they are compared, where one is torn; -1 for their whole lengths."""
    identity: Section
    playbook: tuple[str, ...]
    """A unified difference of the playbooks' texts; empty when they are the same."""
    walk: Walk
    sections: tuple[Section, ...]

    @property
    def turned(self) -> list[Row]:
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


def compare(left: Path, right: Path, told: Callable[[int, int], None] = lambda done, total: None) -> Comparison:
    """Compare two sessions; ``told`` is called with the bytes of the left log read so far, and how many there are.

    Raises:
        SessionError: one of them cannot be read, or is damaged.
    """
    mine, its = open_side(left), open_side(right)
    cut_us = min((max(0, side.last_us) for side in (mine, its) if side.torn), default=-1)
    tallies = Tally(cut_us), Tally(cut_us)
    found = walk(mine, its, tallies, lambda size: told(size, mine.size))
    for side, tally in zip((mine, its), tallies, strict=True):
        tally.close(cut_us if cut_us >= 0 else side.last_us)
    return Comparison(
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


def _rows(section: Section) -> list[dict[str, Any]]:
    return [
        {"what": row.what, "left": row.left, "right": row.right, **({"unit": row.unit} if row.unit else {})}
        for row in section.rows
    ]


def _parting(parting: Parting) -> dict[str, Any]:
    def shown(told: Told | None) -> dict[str, Any] | None:
        return None if told is None else {"text": told.text, **told.event}

    return {
        "at_us": parting.at_us,
        "left": shown(parting.left),
        "right": shown(parting.right),
        "before": [shown(each) for each in parting.before],
    }
