"""Sessions side by side as tables of text: the matrix, the best and the worst, and what changed since the baseline."""

from collections.abc import Callable
from typing import Any, Final

from spark_report.model.comparison import BY_NAME, MEASURES, Measure
from spark_report.model.report import Row, SessionStory, Story
from spark_report.render.tables import View, letters, view

MOST_SIDE_BY_SIDE: Final = 6
"""Sessions that fit beside each other."""
_RANKS: Final = {"best": "▲", "worst": "▼"}
_JUDGED: Final = {"regression": "worse", "improvement": "better", "same": "as before"}

Columns = dict[str, Callable[[Row], Any]]


def legend(story: Story) -> View:
    """What the short names stand for, and how to see the session itself."""
    short = letters(story)
    columns: dict[str, Callable[[Any], Any]] = {
        "": lambda one: short[one.session_id],
        "session": lambda one: one.name,
        "verdict": lambda one: one.verdict or one.status,
        "Kafka": lambda one: one.recorded.start.profile,
        "seed": lambda one: one.recorded.start.seed,
        "shown by": lambda one: one.opened_by,
    }
    return view("sessions", "Sessions", list(story.sessions), columns, "seed")  # type: ignore[arg-type]


def matrix(story: Story, compared: list[Row]) -> View:
    """Measures by sessions; best and worst are marked. For a few sessions only."""
    if not 1 < len(story.sessions) <= MOST_SIDE_BY_SIDE:
        return view("comparison", "Side by side", [], {})
    by_place = {(row["measure"], row["session_id"]): row for row in compared}
    short = letters(story)
    lines: list[tuple[str, ...]] = []
    tones: dict[tuple[int, int], str] = {}
    rows = [[by_place[measure.name, one.session_id] for one in story.sessions] for measure in MEASURES]
    told = [own for own in rows if any(row["value"] for row in own)]
    # What makes a difference comes first, and what is alike in all of them after it.
    for own in sorted(told, key=lambda own: not any(row["rank"] for row in own)):
        measure = _measure(own[0])
        for column, row in enumerate(own, 1):
            if row["rank"]:
                tones[len(lines), column] = row["rank"]
        cells = (f"{measure.shown(row['value'])} {_RANKS.get(row['rank'], '')}".strip() for row in own)
        lines.append((measure.title, *cells))
    headings = tuple(
        f"{short[one.session_id]} (baseline)" if one.session_id == story.baseline else short[one.session_id]
        for one in story.sessions
    )
    title = "Side by side (▲ best, ▼ worst)"
    return View("comparison", title, ("measure", *headings), frozenset(headings), tuple(lines), tones)


def extremes(story: Story, compared: list[Row]) -> View:
    """For each measure in which sessions differ: who is best, and who is worst."""
    short = letters(story)
    found = []
    for measure in MEASURES:
        own = [row for row in compared if row["measure"] == measure.name]
        ranked: dict[str, list[Row]] = {rank: [row for row in own if row["rank"] == rank] for rank in _RANKS}
        if all(ranked.values()):
            found.append({"measure": measure, **ranked})

    def who(rank: str) -> Callable[[Row], str]:
        return lambda row: _some([short[one["session_id"]] for one in row[rank]])

    def value(rank: str) -> Callable[[Row], str]:
        return lambda row: row["measure"].shown(row[rank][0]["value"])

    columns: Columns = {
        "measure": lambda row: row["measure"].title,
        "best": value("best"),
        "in": who("best"),
        "worst": value("worst"),
        "of": who("worst"),
    }
    return view("comparison", "Best and worst", found, columns, "best|worst")


def changes(story: Story, compared: list[Row]) -> View:
    """What is not as in the baseline, regressions first."""
    short = letters(story)
    order = {"regression": 0, "improvement": 1}
    found = [row for row in compared if row["judged"] in order]
    found.sort(key=lambda row: order[row["judged"]])
    columns: Columns = {
        "": lambda row: _JUDGED[row["judged"]],
        "in": lambda row: short[row["session_id"]],
        "measure": lambda row: _measure(row).title,
        "baseline": lambda row: _measure(row).shown(row["baseline_value"]),
        "now": lambda row: _measure(row).shown(row["value"]),
        "change": lambda row: _measure(row).change(row),
    }
    made = view("comparison", "Against the baseline", found, columns, "baseline|now|change")
    return View(
        made.name,
        made.title,
        made.columns,
        made.numeric,
        made.rows,
        {(place, 5): row["judged"] for place, row in enumerate(found)},
    )


def against(story: Story, compared: list[Row]) -> str:
    """One sentence on what changed; empty without a baseline."""
    if not story.baseline:
        return ""
    base = next((one for one in story.sessions if one.session_id == story.baseline), None)
    worse = [row for row in compared if row["judged"] == "regression"]
    better = sum(row["judged"] == "improvement" for row in compared)
    said = f"Against the baseline {letters(story)[story.baseline]}, {_named(base)}: "
    if not worse and not better:
        return f"{said}nothing changed by 5 % or more."
    worst = max(worse, key=_size, default=None)
    measures = "measure" if len(worse) == 1 else "measures"
    most = f", most of all {_measure(worst).title.lower()}: {_measure(worst).change(worst)}" if worst else ""
    return f"{said}{len(worse) or 'no'} {measures} worse{most}; {better or 'none'} better."


def _size(row: Row) -> float:
    """What there was none of before counts most."""
    part = row["difference_share"]
    return float("inf") if part is None else abs(float(part))


def _named(story: SessionStory | None) -> str:
    return story.name if story else ""


def _measure(row: Row) -> Measure:
    return BY_NAME[row["measure"]]


def _some(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return " ".join(names[:most]) + more
