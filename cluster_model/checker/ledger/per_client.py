"""The ledger by client and partition: what was told, and what became of it, in ranges of the client's own numbers.

Drawn up when somebody asks, as it goes through the leader's log where anything was left unknown.
"""

from collections.abc import Iterable

from cluster_model.checker.ledger.delivery_tracker import Told
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.ledger.record_ranges import DELETED, LOST, MISSING, RecordRange, Survey, acknowledged
from cluster_model.observation.cluster_state import World
from cluster_model.observation.views import BookView
from cluster_model.util.ranges import Range, length, subtract, union


def accounts(world: World, ledger: Ledger) -> tuple[BookView, ...]:
    """All of it, by client and partition."""
    placed: dict[tuple[str, str], list[RecordRange]] = {}
    for found in acknowledged(world, ledger):
        placed.setdefault((found.client, found.partition), []).append(found)
    standing: dict[str, dict[str, list[Range]]] = {}
    survey = Survey(world, ledger)
    views = []
    for told in ledger.books.told():
        if told.unknown and told.partition not in standing:
            standing[told.partition] = survey.standing(told.partition)
        held = standing.get(told.partition, {}).get(told.client, [])
        views.append(_view(ledger, told, placed.get((told.client, told.partition), []), held))
    return tuple(views)


def unknown_written(world: World, ledger: Ledger, client: str | None = None) -> int:
    """Records that a client was told to be unknown, and that the leader's log holds."""
    return _written(world, ledger, client, "unknown")


def _written(world: World, ledger: Ledger, client: str | None, outcome: str) -> int:
    survey = Survey(world, ledger)
    standing: dict[str, dict[str, list[Range]]] = {}
    count = 0
    for told in ledger.books.told():
        numbers: list[Range] = getattr(told, outcome)
        if numbers and client in (None, told.client):
            held = standing.get(told.partition)
            if held is None:
                held = standing[told.partition] = survey.standing(told.partition)
            count += length(_both(numbers, held.get(told.client, [])))
    return count


def _view(ledger: Ledger, told: Told, placed: list[RecordRange], held: list[Range]) -> BookView:
    where = (told.client, told.partition)
    lost = _numbers(each for each in placed if each.place == LOST)
    read = _numbers(each for each in placed if each.place == LOST and each.committed)
    buried = ledger.deletions.buried_in(*where, committed=False)
    blind = ledger.books.blind(*where)
    deleted = _numbers(each for each in placed if each.place == DELETED)
    gone = subtract(told.acked, union([*_numbers(placed), *buried, *blind]))
    duplicates, reordered = ledger.repeats.duplicates_in(*where), ledger.repeats.reordered_in(*where)
    terms: dict[str, list[Range]] = {
        "sent": told.sent,
        "acked": told.acked,
        "failed": told.failed,
        "unknown": told.unknown,
        "aborted": told.aborted,
        "pending": told.pending,
        "missing": _numbers(each for each in placed if each.place == MISSING),
        "acked_lost": union([*lost, *buried, *(blind if ledger.closed else ())]),
        "committed_lost": union([*read, *ledger.deletions.buried_in(*where, committed=True)]),
        "deleted": union([*deleted, *gone]),
        "unknown_written": _both(told.unknown, held),
        "duplicates": union(duplicates),
        "reordered": union(reordered),
    }
    counts = {term: length(ranges) for term, ranges in terms.items()}
    counts["duplicates"] = length(duplicates)
    for term, count in zip(("sent", "acked", "failed", "unknown", "aborted"), told.unnumbered, strict=True):
        counts[term] += count
    ranges = {term: tuple(found) for term, found in terms.items() if found}
    return BookView(client=told.client, partition=told.partition, ranges=ranges, **counts)


def _numbers(found: Iterable[RecordRange]) -> list[Range]:
    return union((each.sequence, each.sequence + each.records) for each in found)


def _both(one: list[Range], other: list[Range]) -> list[Range]:
    return subtract(one, subtract(one, other))
