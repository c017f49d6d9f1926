"""What a campaign found, a group for every key: how often, where first, and whether anybody has to be surprised."""

from collections.abc import Iterable
from dataclasses import dataclass

from playbooks.campaign.run_rows import Row


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that went wrong in the same way."""

    key: str
    expected: str
    """Why it is no surprise; empty where it is one in any of the runs."""
    count: int
    first: int
    """The run that speaks for it: the first one, or the first that is a surprise."""
    sentence: str


def groups_of(rows: Iterable[Row]) -> tuple[Group, ...]:
    """All groups, surprises first, then by how often."""
    by_key: dict[str, list[tuple[Row, str, str]]] = {}
    for row in sorted(rows, key=lambda row: row.run):
        for found in row.found:
            by_key.setdefault(found.key, []).append((row, found.expected, found.sentence))
    groups = [_group(key, each) for key, each in by_key.items()]
    return tuple(sorted(groups, key=lambda group: (bool(group.expected), -group.count, group.key)))


def _group(key: str, found: list[tuple[Row, str, str]]) -> Group:
    row, expected, sentence = next((each for each in found if not each[1]), found[0])
    return Group(key, expected, len(found), row.run, sentence)
