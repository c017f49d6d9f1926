"""One sentence on what a grid shows, made from its rows and never saying more than they do.

The rules, over the rows whose sessions reached their end:

1. Rows that cost the same in every measure: they come out the same, and what that is.
2. One row, or several that cost the same, and every other is beaten: they are named with what they cost.
3. Otherwise two of the Pareto rows: the *safest*, which loses least (then duplicates, is out and rejects least), and
   the *most available*, which stands still for the shortest time (then rejects, loses and duplicates least). Where one
   row is both of them, it is named beside the row that duplicates least.

Only axes that make a difference are named. The sentence begins with what it holds for: the seed or seeds that ran. Rows
that were left out are counted behind it.
"""

from collections.abc import Callable, Sequence

from playbooks.errors import counted
from playbooks.model.grid import Cell, value_words
from playbooks.results.outages import short_seconds
from playbooks.results.sweep_matrix import Group, Matrix, costs

NAMED = 3
"""Rows that cost the same, named one by one."""


def advice(matrix: Matrix) -> str:
    """The sentence; empty where no row counts."""
    groups = [group for group in matrix.groups if group.counts]
    left_out = len(matrix.groups) - len(groups)
    if not groups:
        return ""
    front = [group for group, marked in zip(matrix.groups, matrix.front, strict=True) if marked]
    said = _Sentence(matrix.telling or matrix.varied).said(groups, front)
    scope = f"over {matrix.seeds} seeds" if matrix.seeds > 1 else f"with seed {_seed(matrix)}"
    rest = f" {counted(left_out, 'row').capitalize()} without a verdict left out." if left_out else ""
    return f"{scope.capitalize()}: {said}.{rest}"


def _seed(matrix: Matrix) -> str:
    return next((row.seed for row in matrix.rows if row.seed), str(matrix.seed))


class _Sentence:
    """Puts rows into words; ``names`` are the axes that are worth naming."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def said(self, groups: Sequence[Group], front: Sequence[Group]) -> str:
        """What follows from all rows that count and the Pareto rows among them."""
        if len({costs(group) for group in groups}) == 1:
            what = what_words(groups[0])
            return f"{self._named(groups[0])} {what}" if len(groups) == 1 else f"all {len(groups)} rows: each {what}"
        if len({costs(group) for group in front}) == 1:
            return self._best(front)
        one, other = _least(front, _safety), _least(front, _service)
        if one is other:
            other = _least(front, lambda group: (group.total("duplicates"), *_safety(group)))
        if one is other:
            other = next(group for group in front if costs(group) != costs(one))
        return f"{self._named(one)} {what_words(one)}; {self._named(other)} {what_words(other)}"

    def _best(self, front: Sequence[Group]) -> str:
        """Rows that cost the same, and that beat all the others."""
        names = list(dict.fromkeys(self._named(group) for group in front))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        told = " and ".join(names[:NAMED]) + more
        what = what_words(front[0])
        if len(names) == 1:
            return f"{told} {what}; every other row is worse in something and better in nothing"
        return f"{told}: each {what}; every other row is worse in something and better in nothing"

    def _named(self, group: Group) -> str:
        return named(tuple(pair for pair in group.settings if pair[0] in self._names))


def _least(groups: Sequence[Group], key: Callable[[Group], tuple[int, ...]]) -> Group:
    return min(groups, key=key)


def _safety(group: Group) -> tuple[int, ...]:
    order = ("acked_lost", "committed_lost", "torn", "duplicates", "unavailable_us", "rejected")
    return tuple(group.total(name) for name in order)


def _service(group: Group) -> tuple[int, ...]:
    order = ("unavailable_us", "rejected", "acked_lost", "committed_lost", "torn", "duplicates")
    return tuple(group.total(name) for name in order)


def named(settings: Cell) -> str:
    """Settings as a sentence has them: ``acks=all with min.insync.replicas=2``."""
    if not settings:
        return "the playbook as it stands"
    first, *rest = [f"{name}={value_words(value)}" for name, value in settings]
    return f"{first} with {' and '.join(rest)}" if rest else first


def what_words(group: Group) -> str:
    """What a row costs: ``loses nothing, leaves 1 240 failed or unknown and stands still for 9.1 s``."""
    parts = [_losses(group)]
    if torn := group.total("torn"):
        parts.append(f"tears {thousands(torn)} out of their transactions")
    if duplicates := group.total("duplicates"):
        parts.append(f"writes {thousands(duplicates)} twice")
    if rejected := group.total("rejected"):
        parts.append(f"leaves {thousands(rejected)} failed or unknown")
    if out := group.total("unavailable_us"):
        parts.append(f"stands still for {short_seconds(out)}{' in all' if len(group.rows) > 1 else ''}")
    elif not rejected:
        parts.append("never stops")
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _losses(group: Group) -> str:
    acked, committed = group.total("acked_lost"), group.total("committed_lost")
    where = f" (in {group.lossy} of {len(group.rows)} seeds)" if len(group.rows) > 1 and group.lossy else ""
    if acked and committed:
        return f"loses {thousands(acked)} acknowledged, {thousands(committed)} of them committed{where}" if (
            committed <= acked
        ) else f"loses {thousands(acked)} acknowledged and {thousands(committed)} committed{where}"  # fmt: skip
    if acked:
        return f"loses {thousands(acked)} acknowledged{where}"
    return f"loses {thousands(committed)} committed{where}" if committed else "loses nothing"


def thousands(number: int) -> str:
    """``1 240``: thousands apart by a space that does not break."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")
