"""HTML, Markdown and terminal output of a fleet report: verdict, tables and charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cluster_model.util.quantities import counted, rounded_duration, thousands
from playbooks.text import escaped, printable, table_text
from spark_report.fleet.sources import Source
from spark_report.fleet.tables import ANY, SURPRISING
from spark_report.input.sessions import SkippedDirectory
from spark_report.model.format import three_figures
from spark_report.model.report import Tone, first_reasons
from spark_report.render.charts import ALARM, CALM, LINES, WARNING, Figure, chart_text
from spark_report.render.html import environment
from spark_report.render.svg import svg
from spark_report.render.tables import View, view

Row = dict[str, Any]

SUMS: Final = (ANY, SURPRISING)
"""Keys of rows that sum up several findings."""


@dataclass(frozen=True, slots=True)
class FleetModel:
    """A fleet report, the input of every renderer."""

    sources: tuple[Source, ...]
    baseline: str
    """Name of the fleet that the others are compared with; empty for none."""
    runs: Mapping[str, int]
    """Fleet → number of runs."""
    errors: Mapping[str, int]
    """Fleet → number of runs with an internal error."""
    tables: Mapping[str, list[Row]]
    set_aside: tuple[SkippedDirectory, ...] = ()

    @property
    def several(self) -> bool:
        """Whether the report has more than one fleet."""
        return len(self.sources) > 1

    @property
    def shown(self) -> tuple[str, ...]:
        """The fleets that are reported: all except the baseline."""
        return tuple([source.name for source in self.sources if source.name != self.baseline])

    def findings(self, fleet: str) -> list[Row]:
        """Return the findings of a fleet, without sums."""
        return [row for row in self.tables["fleet_findings"] if row["fleet"] == fleet and row["key"] not in SUMS]

    def summed(self, fleet: str, key: str) -> Row | None:
        """Return a row that sums up findings of a fleet; None if there are none."""
        return next((row for row in self.tables["fleet_findings"] if (row["fleet"], row["key"]) == (fleet, key)), None)

    @property
    def worse(self) -> list[Row]:
        """Changes that are worse than the baseline."""
        return [row for row in self.tables.get("fleet_changes", []) if row["change"] == "worse"]


def percent(value: float | None) -> str:
    """Format a share in per cent with at most three significant figures: ``4.2 %``, ``0.05 %``."""
    if value is None:
        return ""
    return f"{three_figures(value * 100)} %"


def rate(row: Row) -> str:
    """Format a probability with its confidence interval: ``4.2 % (2.9 to 6)``."""
    low, high = percent(row["low"]).removesuffix(" %"), percent(row["high"]).removesuffix(" %")
    return f"{percent(row['probability'])} ({low} to {high})"


def verdict(model: FleetModel) -> tuple[Tone, str]:
    """Return the severity of a fleet report, and its result in one sentence."""
    if model.worse:
        keys = ", ".join(dict.fromkeys(row["key"] for row in model.worse))
        return "alarm", f"Worse than {model.baseline}: {keys}."
    parts: list[str] = []
    tone: Tone = "calm"
    for fleet in model.shown:
        odd = model.summed(fleet, SURPRISING)
        findings = model.findings(fleet)
        runs = counted(model.runs.get(fleet, 0) - model.errors.get(fleet, 0), "run")
        if odd is not None:
            tone = "alarm"
            text = f"surprising findings in {rate(odd)} of {runs}"
        elif findings:
            tone = "warning" if tone == "calm" else tone
            allowed = counted(len(findings), "finding")
            text = f"nothing surprising in {runs}, {allowed} allowed by the settings or the version"
        else:
            text = f"nothing found in {runs}"
        parts.append(f"{fleet}: {text}")
    against = f" Nothing is worse than in {model.baseline}." if model.baseline else ""
    return tone, "; ".join(parts) + "." + against


def sentences(model: FleetModel) -> list[str]:
    """Return the summary sentences."""
    return [line for fleet in model.shown for line in _of_fleet(model, fleet)]


def _of_fleet(model: FleetModel, fleet: str) -> list[str]:
    lead = f"{fleet}: " if len(model.shown) > 1 else ""
    worst = next(iter(sorted(model.findings(fleet), key=lambda row: (bool(row["expected"]), -row["low"]))), None)
    lines = []
    if worst is not None:
        what = "expected" if worst["expected"] else "surprising"
        lines.append(f"Most likely {what}: {worst['key']}, {rate(worst)} of the runs, as in run {worst['run']}.")
    lines += _times(model, fleet)
    pair = next((row for row in _own(model, "fleet_pairs", fleet) if row["key"] == _worst_key(model, fleet)), None)
    if pair is not None and pair["lift"] > 1:
        lines.append(
            f"Most dangerous together: {pair['one']} and {pair['other']}, {rate(pair)} of "
            f"{counted(pair['runs'], 'run')} with both, {pair['lift']:.1f} times the overall rate."
        )
    ranked = _own(model, "fleet_settings", fleet)
    if len(ranked) > 1:
        best, last = ranked[0], ranked[-1]
        lines.append(f"Best settings: {chosen(best)}. Worst: {chosen(last)}, as in run {last['run']}.")
    broken = model.errors.get(fleet, 0)
    if broken:
        lines.append(f"{counted(broken, 'run')} ended with an internal error; other probabilities do not include them.")
    return [lead + line for line in lines]


def _times(model: FleetModel, fleet: str) -> list[str]:
    by_quantile = {row["quantile"]: row for row in _own(model, "fleet_times", fleet) if row["measure"] == "recovery_us"}
    if not by_quantile:
        return []
    times = ", ".join(f"{name} {when(row['value_us'])}" for name, row in by_quantile.items())
    never = by_quantile["p50"]["never"]
    late = f"; {counted(never, 'run')} had not recovered at the end" if never else ""
    return [f"Recovery: {times} (run {by_quantile['max']['run']}){late}."]


def chosen(row: Row) -> str:
    """Return a combination of settings as text."""
    return str(row["settings"]) or "defaults"


def when(value_us: int | None) -> str:
    """Format a duration; ``never`` for null."""
    return "never" if value_us is None else rounded_duration(value_us)


def _worst_key(model: FleetModel, fleet: str) -> str:
    return SURPRISING if model.summed(fleet, SURPRISING) is not None else ANY


def _own(model: FleetModel, table: str, fleet: str) -> list[Row]:
    return [row for row in model.tables[table] if row["fleet"] == fleet]


def ordered(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Return rows in the order of the report: the most severe first, settings by rank."""
    quantiles = ("p50", "p90", "p99", "max")
    orders: dict[str, Any] = {
        "fleet_findings": lambda row: (
            *(row["fleet"], row["key"] not in SUMS, bool(row["expected"]), -row["probability"], row["key"]),
        ),
        "fleet_times": lambda row: (row["fleet"], row["measure"], quantiles.index(row["quantile"])),
        "fleet_pairs": lambda row: (row["fleet"], row["key"], -row["low"], -row["runs"], row["one"], row["other"]),
        "fleet_settings": lambda row: (row["fleet"], row["rank"]),
        "fleet_changes": lambda row: (
            *(row["fleet"], ("worse", "better", "same").index(row["change"])),
            *(-abs(row["difference"]), row["key"]),
        ),
    }
    return {name: sorted(rows, key=orders[name]) for name, rows in tables.items()}


# The charts of a fleet report as figures.


MOST_BARS: Final = 24
_ROW_PX: Final = 26
_SECOND: Final = 1_000_000


def findings_chart(model: FleetModel) -> Figure | None:
    """Return a chart with a dot and interval for each finding; None without findings."""
    rows = [row for row in model.tables["fleet_findings"] if row["key"] not in SUMS][:MOST_BARS]
    if not rows:
        return None
    labels = [_label(model, row["fleet"], row["key"]) for row in rows]
    odd = {"color": ALARM, "size": 10, "symbol": "circle"}
    known = {"color": WARNING, "size": 10, "symbol": "diamond"}
    traces = [
        _dots("surprising", odd, rows, [not row["expected"] for row in rows]),
        _dots("expected", known, rows, [bool(row["expected"]) for row in rows]),
    ]
    return _laid_out(traces, labels, "share of the runs, with its 95 % interval, %")


def ranking_chart(model: FleetModel) -> Figure | None:
    """Return a chart with a dot and interval for each combination of settings; None if there is only one."""
    rows = model.tables["fleet_settings"][:MOST_BARS]
    if len(rows) < 2:
        return None
    labels = [_label(model, row["fleet"], chosen(row)) for row in rows]
    trace = _dots("any finding", {"color": CALM, "size": 10, "symbol": "circle"}, rows, [True] * len(rows))
    return _laid_out([trace], labels, "share of the runs with any finding, with its 95 % interval, %")


def recovery_chart(model: FleetModel) -> Figure | None:
    """Return a chart with the quantiles of recovery times and longest outages; None without any."""
    rows = [row for row in model.tables["fleet_times"] if row["measure"] != "unavailable_us"]
    if not rows:
        return None
    words = {"recovery_us": "recovery", "longest_unavailable_us": "longest outage"}
    lines = list(dict.fromkeys((row["fleet"], row["measure"]) for row in rows))
    with_value = [(place, row) for place, row in enumerate(rows) if row["value_us"] is not None]
    bars = {
        "type": "bar",
        "y": [place for place, _row in with_value],
        "base": [0] * len(with_value),
        "x": [row["value_us"] / _SECOND for _place, row in with_value],
        "width": 0.74,
        "color": [LINES[lines.index((row["fleet"], row["measure"])) % len(LINES)] for _place, row in with_value],
        "text": [when(row["value_us"]) for _place, row in with_value],
        "hovertext": [chart_text(f"{when(row['value_us'])}: run {row['run']}, seed {row['seed']}")
                      for _place, row in with_value],
    }  # fmt: skip
    labels = [
        f"{_label(model, row['fleet'], words[row['measure']])}, {row['quantile']}"
        + (" never" if row["value_us"] is None else "")
        for row in rows
    ]
    return _laid_out([bars], labels, "virtual time, s")


def _dots(name: str, marker: Figure, rows: list[Row], own: list[bool]) -> Figure:
    """Return a trace with a mark and interval for each row in ``own``, in the lane of the row."""
    points = [(place, row) for place, row in enumerate(rows) if own[place]]
    return {
        "type": "marks",
        "legend": name if points else "",
        "x": [row["probability"] * 100 for _place, row in points],
        "y": [place for place, _row in points],
        "whiskers": [(row["low"] * 100, row["high"] * 100) for _place, row in points],
        "hovertext": [chart_text(f"{rate(row)}, run {row['run']}") for _place, row in points],
        "marker": marker,
    }


def _laid_out(traces: list[Figure], labels: list[str], title: str) -> Figure:
    layout: dict[str, Any] = {
        "height": 52 + _ROW_PX * max(2, len(labels)),
        "xaxis": {"title": title, "rangemode": "tozero"},
        "yaxis": {
            "range": [max(2, len(labels)) - 0.4, -0.6],
            "tickvals": list(range(len(labels))),
            "ticktext": [chart_text(label) for label in labels],
        },
    }
    return {"data": traces, "layout": layout}


def _label(model: FleetModel, fleet: str, what: str) -> str:
    return f"{fleet}: {what}" if model.several else what


# The tables of a fleet report as text, the same in HTML, in a terminal and in Markdown.


_MEASURES: Final = {
    "recovery_us": "recovery",
    "longest_unavailable_us": "longest outage",
    "unavailable_us": "total unavailable time",
}

Columns = dict[str, Callable[[Row], Any]]


def views(model: FleetModel, *, short: bool = False) -> list[View]:
    """Return all tables that have rows, the most important first; ``short`` leaves out commands for a terminal."""
    made = [changes_view(model), findings_view(model), recovery_view(model), pairs_view(model), ranking_view(model)]
    return [_narrowed(each) if short else each for each in made if each]


def changes_view(model: FleetModel) -> View:
    """Return the changes against the baseline, significant ones first."""
    columns: Columns = {
        **_fleet(model),
        "finding": lambda row: row["key"],
        "change": lambda row: row["change"],
        "before": lambda row: percent(row["before"]),
        "now": lambda row: percent(row["probability"]),
        "difference": _difference,
        **_run(),
    }
    title = f"Against {model.baseline}"
    return view("fleet_changes", title, model.tables.get("fleet_changes", []), columns, "before|now|difference|run")


def findings_view(model: FleetModel) -> View:
    """Return the probability of each finding."""
    columns: Columns = {
        **_fleet(model),
        "finding": lambda row: _sum_words(row["key"]),
        "runs": lambda row: f"{thousands(row['hits'])} of {thousands(row['runs'])}",
        "probability": rate,
        "expected": lambda row: "" if row["key"] in SUMS else row["expected"] or "SURPRISING",
        **_run(),
    }
    return view("fleet_findings", "Findings", model.tables["fleet_findings"], columns, "runs|probability|run")


def recovery_view(model: FleetModel) -> View:
    """Return the quantiles of recovery times and outages."""
    columns: Columns = {
        **_fleet(model),
        "measure": lambda row: _MEASURES[row["measure"]],
        "quantile": lambda row: row["quantile"],
        "time": lambda row: when(row["value_us"]),
        "never": lambda row: row["never"] or "",
        **_run(),
    }
    return view("fleet_times", "Recovery times and outages", model.tables["fleet_times"], columns, "time|never|run")


def pairs_view(model: FleetModel) -> View:
    """Return pairs of faults with a high rate of findings."""
    columns: Columns = {
        **_fleet(model),
        "faults": lambda row: f"{row['one']} + {row['other']}",
        "finding": lambda row: _sum_words(row["key"]),
        "runs": lambda row: f"{thousands(row['hits'])} of {thousands(row['runs'])}",
        "probability": rate,
        "lift": lambda row: f"{row['lift']:.2f}",
        **_run(),
    }
    rows = sorted(model.tables["fleet_pairs"], key=lambda row: (row["fleet"], row["key"] not in SUMS, row["key"]))
    return view("fleet_pairs", "Dangerous pairs of faults", rows, columns, "runs|probability|lift|run")


def ranking_view(model: FleetModel) -> View:
    """Return the combinations of settings, the best first; empty if there is only one."""
    rows = model.tables["fleet_settings"]
    rows = rows if len(rows) > 1 else []
    columns: Columns = {
        "rank": lambda row: row["rank"],
        **_fleet(model),
        "settings": chosen,
        "runs": lambda row: thousands(row["runs"]),
        "surprising": lambda row: thousands(row["surprising_hits"]),
        "any finding": rate,
        "lossy runs": lambda row: thousands(row["lossy_runs"]),
        "outage": lambda row: when(row["outage_p50_us"]) if row["outage_p50_us"] is not None else "",
        **_run("worst run"),
    }
    numeric = "rank|runs|surprising|any finding|lossy runs|outage|worst run"
    return view("fleet_settings", "Settings, best first", rows, columns, numeric)


def _fleet(model: FleetModel) -> Columns:
    return {"fleet": lambda row: row["fleet"]} if model.several else {}


def _run(name: str = "run") -> Columns:
    return {name: lambda row: row["run"], "command": lambda row: row["again"]}


def _sum_words(key: str) -> str:
    return {"any": "(any finding)", "surprising": "(any surprising)"}.get(key, key)


def _difference(row: Row) -> str:
    sign = "+" if row["difference"] > 0 else "-" if row["difference"] < 0 else ""
    low, high = row["low"] * 100, row["high"] * 100
    return f"{sign}{percent(abs(row['difference']))} ({low:+.1f} to {high:+.1f})"


def _narrowed(full_view: View) -> View:
    wide = ("command", "expected", "never", "lossy runs")
    kept = [column for column, name in enumerate(full_view.columns) if name not in wide]
    rows = tuple(tuple(row[column] for column in kept) for row in full_view.rows)
    return replace(full_view, columns=tuple(full_view.columns[column] for column in kept), rows=rows)


# A fleet report as a self-contained HTML file.


HTML_MOST_ROWS: Final = 100
"""Most rows of one table in HTML; the files under ``tables/`` have all."""

_NOTES: Final = {
    "fleet_findings": "95 % Wilson intervals. Runs with an internal error are left out.",
    "fleet_times": "Quantiles by nearest rank: each is the time of the run given.",
    "fleet_pairs": "Runs with both faults. Lift: probability relative to that of all runs. A pair is a correlation, "
    "not a proof.",
    "fleet_settings": "The run is the worst one with the settings.",
    "fleet_changes": "Worse or better only if the 95 % interval of the difference excludes 0.",
}


def html_page(model: FleetModel) -> str:
    """Return the fleet report as an HTML page."""
    tone, headline = verdict(model)
    return (
        environment()
        .get_template("fleet.html.j2")
        .render(
            verdict=headline,
            tone=tone,
            sentences=sentences(model),
            facts=_facts(model),
            sections=_sections(model),
            set_aside=first_reasons(model.set_aside, HTML_MOST_ROWS),
            most_rows=HTML_MOST_ROWS,
        )
    )


def _facts(model: FleetModel) -> list[tuple[str, str]]:
    facts = []
    for source in model.sources:
        runs = f"{thousands(model.runs.get(source.name, 0))} runs of {source.words}"
        facts.append((f"{source.name}{' (baseline)' if source.name == model.baseline else ''}", runs))
        if source.only:
            facts.append(("repeat a run", f"{source.only} RUN"))
    return facts


def _sections(model: FleetModel) -> list[dict[str, Any]]:
    drawn = {
        "fleet_findings": findings_chart(model),
        "fleet_times": recovery_chart(model),
        "fleet_settings": ranking_chart(model),
    }
    made = []
    for each in views(model):
        figure = drawn.get(each.name)
        made.append(
            {
                "view": each,
                "picture": svg(figure, each.title) if figure is not None else "",
                "note": _NOTES.get(each.name, ""),
            }
        )
    return made


# A fleet report for a pull request.


MARKDOWN_MOST_ROWS: Final = 20
"""Most rows of one table in Markdown; the files under ``tables/`` have all."""
_SIGNS: Final = {"calm": "✓", "warning": "!", "alarm": "✗"}


def markdown_page(model: FleetModel) -> str:
    """Return the fleet report as Markdown."""
    tone, headline = verdict(model)
    parts = [f"## {_SIGNS[tone]} {escaped(headline)}", "\n".join(f"- {escaped(line)}" for line in sentences(model))]
    for each in views(model):
        cells = [_cells(each.columns, row) for row in each.rows[:MARKDOWN_MOST_ROWS]]
        more = each.count - MARKDOWN_MOST_ROWS
        rest = f"\n\nand {more:,} more" if more > 0 else ""
        parts.append(f"### {each.title}\n\n{table_text(each.columns, cells, str)}{rest}")
    parts.append("\n".join(f"- {escaped(source.name)}: {escaped(source.words)}" for source in model.sources))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _cells(names: tuple[str, ...], row: tuple[str, ...]) -> list[str]:
    return [_code(value) if name == "command" else escaped(value) for name, value in zip(names, row, strict=True)]


def _code(text: str) -> str:
    return f"`{printable(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""


# A fleet report in a terminal of at least 80 columns.


TERMINAL_MOST_ROWS: Final = 12
"""Most rows of one table in a terminal; the files under ``tables/`` have all."""
_STYLES: Final = {"calm": "bold #56B4E9", "warning": "bold #F0C24B", "alarm": "bold #E8622C"}
_LEAST: Final = 12
_FOLDS: Final = ("finding", "settings", "faults", "fleet")


def show_in_terminal(console: Console, model: FleetModel) -> None:
    """Print the fleet report. Names are escaped: they are never interpreted as markup or control codes."""
    tone, headline = verdict(model)
    console.print(_plain(headline, _STYLES[tone]))
    for line in sentences(model):
        console.print(_plain(f"  {line}"))
    for each in views(model, short=True):
        console.print()
        console.print(_plain(each.title, "bold"))
        console.print(_table(each))
        if each.count > TERMINAL_MOST_ROWS:
            console.print(_plain(f"and {each.count - TERMINAL_MOST_ROWS} more", "dim"))
    console.print()
    for source in model.sources:
        text = f"{source.name}: {source.words}"
        console.print(_plain(text, "dim"))
        if source.only:
            console.print(_plain(f"  repeat a run: {source.only} RUN", "dim"))
    for reason in first_reasons(model.set_aside, TERMINAL_MOST_ROWS):
        console.print(_plain(f"Set aside: {reason}", _STYLES["warning"]))


def _table(each: View) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in each.columns:
        folds = name in _FOLDS
        justify: Literal["left", "right"] = "right" if name in each.numeric else "left"
        least = _LEAST if folds else None
        table.add_column(name, justify=justify, header_style="dim", no_wrap=not folds, overflow="fold", min_width=least)
    for row in each.rows[:TERMINAL_MOST_ROWS]:
        table.add_row(*[_plain(value) for value in row])
    return table


def _plain(text: str, style: str = "") -> Text:
    return Text(printable(text), style)
