"""Text tables about losses, faults and partitions, for HTML, Markdown and the terminal."""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.util.quantities import counted, rounded_duration, rounded_time, thousands
from spark_report.model import report
from spark_report.model.format import acks, fold_internal_topics, share, signed, user_topic_rows
from spark_report.model.report import ReportModel, Row, SessionModel
from spark_report.render.charts import shown_partitions

SENTENCE: Final = "cause"
"""Column that contains sentences; HTML shows it as a line below the row."""
_LONG: Final = ("found", "known", "reason", "started by", "point of no return")
"""Columns of long texts, which are wrapped."""
_NAMES: Final = ("session", "settings")
"""Columns of names, which are wrapped and may be narrow."""
MOST_ROWS: Final = 400
"""Most rows of a table in any output; a table of a long session has tens of thousands."""
_CHANCE_US: Final = 50_000
_PHASES: Final = ("all", "before", "during", "after")


Columns = dict[str, Callable[[Row], Any]]
"""Heading → function that returns a row's value."""


@dataclass(frozen=True, slots=True)
class View:
    """A table formatted as text; ``numeric`` columns are right-aligned."""

    name: str
    """Name of the file under ``tables/`` with all rows."""
    title: str
    columns: tuple[str, ...]
    numeric: frozenset[str]
    rows: tuple[tuple[str, ...], ...]
    tones: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Highlights by row and column: ``best``, ``worst``, ``regression``, ``improvement``."""
    left_out: int = 0
    """Number of further rows that only the file has."""

    @property
    def count(self) -> int:
        """Number of all rows, including those left out."""
        return len(self.rows) + self.left_out

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def headings(self) -> list[tuple[str, str]]:
        """Columns for HTML, each with the class of its cells, without the column :data:`SENTENCE`."""
        return [(name, self._class(name)) for name in self.columns if name != SENTENCE]

    def cells(self, index: int) -> list[tuple[str, str]]:
        """Return the cells of a row for HTML: values, each with its class."""
        pairs = enumerate(zip(self.columns, self.rows[index], strict=True))
        return [
            (value, f"{self._class(name)} {self.tones.get((index, column), '')}".strip())
            for column, (name, value) in pairs
            if name != SENTENCE
        ]

    @property
    def has_sentences(self) -> bool:
        """Whether rows have a sentence below them."""
        return SENTENCE in self.columns

    def sentence(self, row: tuple[str, ...]) -> str:
        """Return the sentence below a row; empty for none."""
        return row[self.columns.index(SENTENCE)] if self.has_sentences else ""

    def _class(self, name: str) -> str:
        return "n" if name in self.numeric else "long" if name in _LONG else "name" if name in _NAMES else ""


def view(name: str, title: str, rows: list[Row], columns: dict[str, Callable[[Row], Any]], numeric: str = "") -> View:
    """Format rows as a view; ``numeric`` has the headings of right-aligned columns, separated by ``|``."""
    lines = tuple(tuple(str(value(row)) for value in columns.values()) for row in rows[:MOST_ROWS])
    left_out = len(rows) - len(lines)
    return View(name, title, tuple(columns), frozenset(numeric.split("|")), lines, left_out=left_out)


def timed_view(model: SessionModel, name: str, title: str, columns: Columns, numeric: str) -> View:
    """Return a view of a table, empty for a manual session."""
    return view(name, title, [] if model.timeless else model.tables[name], columns, numeric)


def number_in(column: str) -> Callable[[Row], str]:
    """Return a function that formats the number in a column of a row."""
    return lambda row: thousands(row[column])


def letters(model: ReportModel) -> dict[str, str]:
    """Return session id → its short name: A, B, ... Z, then S27."""
    names = list(string.ascii_uppercase)
    return {
        one.session_id: names[index] if index < len(names) else f"S{index + 1}"
        for index, one in enumerate(model.sessions)
    }


def overview(model: ReportModel, *, short: bool = False) -> View:
    """Return a row for each session; ``short`` uses playbook names instead of titles, and fewer columns."""
    named = letters(model)
    columns: dict[str, Callable[[Any], Any]] = {
        "": lambda one: named[one.session_id],
        "session": lambda one: one.recorded.start.playbook if short else one.name,
        **({} if short else settings_column(model)),
        "verdict": lambda one: verdict(one, short=short),
        "lost": lambda one: thousands(sum(row["count"] for row in one.lost)),
        "acked": lambda one: thousands(one.counts.get("acked", 0)),
        "unavailable": _out_of_service,
        "profile": lambda one: one.recorded.start.profile,
        "unclean": lambda one: one.counts.get("elections_unclean", 0),
    }
    if not short:
        columns["seed"] = lambda one: one.recorded.start.seed
        columns["status"] = lambda one: one.status
        columns["elections"] = lambda one: one.counts.get("elections_clean", 0) + one.counts.get("elections_unclean", 0)
    numeric = "seed|acked|lost|unavailable|elections|unclean"
    return view("sessions", "Sessions", list(model.sessions), columns, numeric)  # type: ignore[arg-type]


def verdict(model: SessionModel, *, short: bool = False) -> str:
    """Return the verdict; ``as expected`` if the session passed with losses that it expects."""
    if model.loss_expected:
        return "as expected" if short else f"as expected: {model.held.partition(' expectation')[0]}"
    return model.verdict or model.status


def settings_column(model: ReportModel) -> dict[str, Callable[[Any], Any]]:
    """Return the column of settings in which sessions of a playbook differ; empty if they do not differ."""
    return {"settings": lambda one: one.settings_words} if any(one.settings for one in model.sessions) else {}


def differences(model: ReportModel) -> View:
    """Return the settings in which sessions of a playbook differ, by session."""
    named = letters(model)
    columns: dict[str, Callable[[Any], Any]] = {"": lambda one: named[one.session_id], **settings_column(model)}
    found = [one for one in model.sessions if one.settings]
    return view("settings", "Different settings", found, columns)  # type: ignore[arg-type]


def losses(model: SessionModel) -> View:
    """Return lost records with their causes."""
    since = model.since()
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "client": lambda row: row["client"],
        "records": lambda row: thousands(row["count"]),
        "offsets": _offsets,
        "acks": lambda row: acks(row["acks"]),
        "committed": lambda row: "yes" if row["committed"] else "no",
        "missing since": lambda row: when(model, since(row)),
        "cause": lambda row: row["cause"],
    }
    return view("losses", "Lost records", model.lost, columns, "records|offsets|missing since")


def losses_short(model: SessionModel) -> View:
    """Return lost records without causes for a terminal, which prints the causes as sentences."""
    all_losses = losses(model)
    kept = [index for index, name in enumerate(all_losses.columns) if name not in (SENTENCE, "client")]
    return replace(
        all_losses,
        title="Lost records",
        columns=tuple(all_losses.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in all_losses.rows),
    )


def points_of_no_return(model: SessionModel) -> View:
    """Return the points of no return, with the actions that would have kept the records until then."""
    columns: dict[str, Callable[[Row], Any]] = {
        "finding": lambda row: row["finding"],
        "point of no return": lambda row: row["explanation"][0] if row["explanation"] else row["point"],
        SENTENCE: lambda row: ". ".join(text[:1].upper() + text[1:] for text in row["explanation"][1:]),
    }
    return view("points_of_no_return", "Points of no return", model.tables["points_of_no_return"], columns, "finding")


def remedies(model: SessionModel) -> View:
    """Return the tried changes with their effect and price."""
    columns: dict[str, Callable[[Row], Any]] = {
        "finding": lambda row: row["kind"],
        "change": lambda row: row["remedy"],
        "result": lambda row: row["effect"],
        "remaining": lambda row: f"{thousands(row['remaining'])} of {thousands(row['before'])}" if _tried(row) else "",
        "failed": lambda row: signed(row["price_rejected"] or 0) if _tried(row) else "",
        "unavailable": lambda row: _longer(row["price_unavailable_us"] or 0) if _tried(row) else "",
        "seeds": lambda row: f"{row['seeds_kept']} of {row['seeds']}" if row["seeds"] else "",
        **({"reason": lambda row: row["reason"]} if any(row["reason"] for row in model.tables["remedies"]) else {}),
    }
    title = "What would have prevented it (same seed, one or two settings changed)"
    return view("remedies", title, model.tables["remedies"], columns, "remaining|failed|unavailable|seeds")


def _tried(row: Row) -> bool:
    return row["effect"] in ("saves", "helps", "would not have helped")


def _longer(us: int) -> str:
    """Format a change of unavailable time; a change below :data:`_CHANCE_US` counts as none."""
    return "±0" if abs(us) < _CHANCE_US else f"{'+' if us > 0 else '−'}{rounded_duration(abs(us))}"


def ledger(model: SessionModel) -> View:
    """Return the ledger as counted from the events, and as in the session's result."""
    order = {term: place for place, term in enumerate(("sent", "acked", "failed", "unknown", "aborted", "acked_lost"))}
    terms = sorted(model.tables["ledger"], key=lambda row: (order.get(row["term"], 9), row["term"]))
    columns: dict[str, Callable[[Row], Any]] = {
        "records": lambda row: row["term"].replace("_", " "),
        "from events": lambda row: _optional(row["from_events"]),
        "from result": lambda row: _optional(row["from_result"]),
        "agree": lambda row: {True: "yes", False: "no"}.get(row["agrees"], "not compared"),
    }
    return view("ledger", "Ledger", terms, columns, "from events|from result")


def latency(model: SessionModel) -> View:
    """Return latency percentiles by client and phase."""
    rows = sorted(
        model.tables["latency"],
        key=lambda row: (row["what"] != "produce", row["client"], _PHASES.index(row["phase"])),
    )
    columns: dict[str, Callable[[Row], Any]] = {
        "client": lambda row: row["client"],
        "latency": lambda row: "produce" if row["what"] == "produce" else "end-to-end",
        "phase": lambda row: "whole session" if row["phase"] == "all" else f"{row['phase']} faults",
        "records": lambda row: thousands(row["records"]),
        **{name: time_of(f"{name}_us") for name in ("p50", "p95", "p99", "max")},
    }
    return view("latency", "Latency", rows, columns, "records|p50|p95|p99|max")


def latency_short(model: SessionModel) -> View:
    """Return latency percentiles with one row per client, with p99 before, during and after faults."""
    by_phase = {(row["what"], row["client"], row["phase"]): row for row in model.tables["latency"]}

    def in_phase(phase: str) -> Callable[[Row], str]:
        def value(row: Row) -> str:
            found = by_phase.get((row["what"], row["client"], phase))
            return rounded_duration(found["p99_us"]) if found else ""

        return value

    phases = _PHASES[1:] if model.tables["faults"] else ()
    columns: dict[str, Callable[[Row], Any]] = {
        "client": lambda row: row["client"],
        "": lambda row: "produce" if row["what"] == "produce" else "end-to-end",
        **{name: time_of(f"{name}_us") for name in ("p50", "p99", "max")},
        **{phase: in_phase(phase) for phase in phases},
    }
    found = [row for row in model.tables["latency"] if row["phase"] == "all" and not model.timeless]
    found.sort(key=lambda row: row["what"] != "produce")
    title = "Latency (p99 before, during and after faults)" if phases else "Latency"
    return view("latency", title, found, columns, "|".join(list(columns)[2:]))


def unavailability(model: SessionModel) -> View:
    """Return the unavailable intervals of partitions and clients."""
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "seen by": lambda row: "cluster" if row["scope"] == "partition" else row["client"],
        "acks": lambda row: acks(row["acks"]),
        "from": lambda row: began(model, row),
        "duration": lambda row: length(model, row),
        "started by": lambda row: row["began_by"] or "no response",
        "ended by": lambda row: row["ended_by"] or "end of session",
    }
    return view("unavailability", "Unavailability", out_of_service(model), columns, "from|duration")


def out_of_service(model: SessionModel) -> list[Row]:
    """Return the unavailable intervals to show; of each internal topic only the longest."""
    unit = "seq" if model.timeless else "us"
    return fold_internal_topics(model.tables["unavailability"], lambda row: row[f"ended_{unit}"] - row[f"began_{unit}"])


def faults(model: SessionModel) -> View:
    """Return the faults with their active intervals."""
    columns: dict[str, Callable[[Row], Any]] = {
        "fault": lambda row: row["fault"],
        "target": lambda row: row["target"],
        "from": lambda row: began(model, row),
        "duration": lambda row: length(model, row),
        "parameters": lambda row: row["detail"],
        "end": lambda row: "not healed" if row["open"] else "healed",
    }
    return view("faults", "Faults", model.tables["faults"], columns, "from|duration")


def expectations(model: SessionModel) -> View:
    """Return the expectations of the playbook with their verdicts."""
    decided_us = model.decided_us()
    columns: dict[str, Callable[[Row], Any]] = {
        "expectation": lambda row: row["rule"],
        "passed": lambda row: "yes" if row["ok"] else "no",
        "at": lambda row: when(model, {**row, "at_us": decided_us(row)}),
        "found": lambda row: row["detail"],
    }
    found = sorted(model.tables["expectations"], key=lambda row: bool(row["ok"]))
    title = "Expectations" if model.failed else "Expectations (all held)"
    return view("expectations", title, found, columns, "at")


def states(model: SessionModel) -> View:
    """Return the leader and ISR intervals of the partitions in the timeline."""
    shown = set(shown_partitions(model))
    rows = [row for row in model.tables["partition_states"] if row["partition"] in shown]
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "from": lambda row: began(model, row),
        "duration": lambda row: length(model, row),
        "leader": lambda row: "none" if row["leader"] < 0 else row["leader"],
        "epoch": lambda row: row["leader_epoch"],
        "ISR": lambda row: brokers(row["isr"]),
        "started by": lambda row: row["began_by"],
    }
    return view("partition_states", "Leaders and ISR", rows, columns, "from|duration|leader|epoch")


def elections(model: SessionModel) -> View:
    """Return the leader elections with their kinds and reasons."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "partition": lambda row: row["partition"],
        "election": lambda row: row["election"],
        "leader": lambda row: "none" if row["leader"] < 0 else row["leader"],
        "epoch": lambda row: row["leader_epoch"],
        "ISR": lambda row: brokers(row["isr"]),
        "reason": lambda row: row["by"] or "",
    }
    return view("elections", "Elections", model.tables["elections"], columns, "at|leader|epoch")


def isr_changes(model: SessionModel) -> View:
    """Return the ISR changes."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "partition": lambda row: row["partition"],
        "change": lambda row: row["change"] or "reorder",
        "from ISR": lambda row: brokers(row["previous_isr"]),
        "to ISR": lambda row: brokers(row["isr"]),
        "by": lambda row: row["by"],
    }
    return view("isr_changes", "ISR changes", model.tables["isr_changes"], columns, "at")


def truncations(model: SessionModel) -> View:
    """Return the log truncations."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "partition": lambda row: row["partition"],
        "broker": lambda row: row["broker"],
        "from offset": lambda row: row["log_offset"],
        "up to": lambda row: row["end_offset"],
        "HW": lambda row: row["hw"],
        "rule": lambda row: row["rule"],
    }
    return view("truncations", "Truncations", model.tables["truncations"], columns, "at|broker|from offset|up to|HW")


def violations(model: SessionModel) -> View:
    """Return the violated invariants."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "invariant": lambda row: row["invariant"],
        "partition": lambda row: row["partition"],
        "found": lambda row: row["detail"],
        "cause": lambda row: row["cause"],
        "known": lambda row: row.get("known") or "",
    }
    return view("violations", "Violated invariants", model.tables["violations"], columns, "at")


def controllers(model: SessionModel) -> View:
    """Return the changes of the active controller."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "controller": lambda row: row["node"],
        "epoch": lambda row: row["leader_epoch"],
    }
    return view("controllers", "Controller changes", model.tables["controllers"], columns, "at")


def steps(model: SessionModel) -> View:
    """Return the steps of the playbook and the operator's actions."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "by": lambda row: row["by"],
        "step": lambda row: row["detail"],
        "target": lambda row: row["target"],
        "error": lambda row: row["error"] or "",
    }
    return view("steps", "Steps", model.tables["steps"], columns, "at")


def guards(model: SessionModel) -> View:
    """Return the actions of the playbook's guards: refused, healed or stopped."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(model, row),
        "guard": lambda row: row["rule"],
        "action": lambda row: row["detail"],
        "fault": lambda row: row["fault"],
        "target": lambda row: row["target"],
        "reason": lambda row: row["cause"],
    }
    return view("guards", "Guards", model.tables["guards"], columns, "at")


def facts(model: SessionModel) -> tuple[tuple[str, str], ...]:
    """Return the facts about a session as labels and values."""
    start, manifest = model.recorded.start, model.recorded.manifest
    lasted = "none (manual session)" if model.timeless else rounded_time(model.recorded.end_us)
    pairs = [
        ("playbook", start.playbook),
        ("Kafka", start.profile),
        ("seed", str(start.seed)),
        ("settings", ", ".join(f"{path}={value}" for path, value in start.settings.items())),
        ("virtual time", lasted),
        ("events", thousands(model.counts["events"])),
        ("recorded", start.wall_start),
        ("digest", manifest.digest if manifest else ""),
        ("session", model.session_id),
        ("directory", str(model.recorded.path)),
        ("open with", model.opened_by),
    ]
    return tuple((label, value) for label, value in pairs if value)


def _out_of_service(model: SessionModel) -> str:
    spans = model.unavailable("client")
    if model.timeless:
        return counted(len(spans), "interval") if spans else ""
    return rounded_duration(sum(row["duration_us"] for row in spans))


def _optional(value: int | None) -> str:
    return "" if value is None else thousands(value)


def time_of(column: str) -> Callable[[Row], str]:
    """Return a function that formats a column as a duration."""
    return lambda row: rounded_duration(row[column])


def _offsets(row: Row) -> str:
    if row["log_offset"] < 0:
        return "none"
    last = row["log_offset"] + row["count"] - 1
    return str(last) if row["count"] == 1 else f"{row['log_offset']} to {last}"


def brokers(isr: list[int] | None) -> str:
    """Return broker ids as text; ``empty`` for none."""
    return " ".join(map(str, isr or ())) or "empty"


def when(model: SessionModel, row: Row) -> str:
    """Return the time of an event; in a manual session its sequence number."""
    return f"event {row['seq']}" if model.timeless else rounded_time(row["at_us"])


def began(model: SessionModel, row: Row) -> str:
    """Return the start of an interval."""
    return f"event {max(0, row['began_seq'])}" if model.timeless else rounded_time(row["began_us"])


def length(model: SessionModel, row: Row) -> str:
    """Return the duration of an interval; in a manual session its number of events."""
    if model.timeless:
        return f"{row['ended_seq'] - max(0, row['began_seq'])} events"
    lasted = rounded_duration(row["ended_us"] - row["began_us"])
    return f"{lasted}, not ended" if row["open"] else lasted


# Tables about faults: times to detect and recover, availability, alerts, lag, rebalances.


MOST_ANOMALIES = 40


def fault_times(model: SessionModel) -> View:
    """Return the faults with their times to detection, election, restored service and full recovery."""
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "target": lambda row: row["target"],
        "from": lambda row: began(model, {**row, "began_seq": 0}),
        "duration": lambda row: length(model, row),
        "detected": _maybe("time_to_detect_us"),
        "detected by": lambda row: row["detected_by"] or "no alert",
        "leader elected": _maybe("time_to_elect_us"),
        "partitions unavailable": lambda row: thousands(row["partitions_out"] or 0),
        "service restored": _restored,
        "fully recovered": lambda row: "not by the end" if row["unrecovered"] else _maybe("time_to_recover_us")(row),
    }
    found = [] if model.timeless else model.tables["fault_times"]
    numeric = "from|duration|detected|leader elected|partitions unavailable|service restored|fully recovered"
    return view("fault_times", "Recovery times (after the start of the fault)", found, columns, numeric)


def fault_times_short(model: SessionModel) -> View:
    """Return the faults with their recovery times, in fewer columns for a terminal."""
    columns: Columns = {
        "fault": lambda row: f"{row['fault']} {row['target']}",
        "from": lambda row: rounded_time(row["began_us"]),
        "detected": _maybe("time_to_detect_us"),
        "elected": _maybe("time_to_elect_us"),
        "restored": _restored,
        "recovered": lambda row: "not by end" if row["unrecovered"] else _maybe("time_to_recover_us")(row),
    }
    found = [] if model.timeless else model.tables["fault_times"]
    title = "Recovery times (after the start of the fault)"
    return view("fault_times", title, found, columns, "|".join(list(columns)[1:]))


def means(model: SessionModel) -> View:
    """Return mean times over all faults and over each kind of fault."""
    columns: Columns = {
        "kind": lambda row: row["fault"] or "all faults",
        "faults": lambda row: thousands(row["faults"]),
        "mean time to detect (MTTD)": _maybe("mttd_us"),
        "to elect": _maybe("mtte_us"),
        "to recover (MTTR)": _maybe("mttr_us"),
        "longest service outage (RTO)": _maybe("rto_us"),
        "not recovered": lambda row: thousands(row["unrecovered_faults"]),
    }
    found = sorted(model.tables["fault_means"], key=lambda row: (bool(row["fault"]), row["fault"]))
    kinds = {row["fault"] for row in found} - {""}
    shown = [] if model.timeless else found if len(kinds) > 1 else [row for row in found if not row["fault"]]
    return view("fault_means", "Means over faults", shown, columns, "|".join(list(columns)[1:]))


def around_faults(model: SessionModel) -> View:
    """Return availability and latency before, during and after each fault: the data of the two charts."""
    names = {row["fault_id"]: f"{row['fault']} {row['target']}" for row in model.tables["faults"]}
    cells: dict[tuple[int, str, str], dict[str, str]] = {}
    if not model.timeless:
        for scope, whose in (("partition", "partitions"), ("client", "clients")):
            for row in report.served(model, scope):
                own = cells.setdefault((row["fault_id"], "availability", whose), {})
                own[row["phase"]] = share(row["availability"])
        for row in model.tables["fault_latency"]:
            what = "p99 produce latency" if row["what"] == "produce" else "p99 end-to-end latency"
            own = cells.setdefault((row["fault_id"], what, row["client"]), {})
            own[row["phase"]] = rounded_duration(row["p99_us"])
    rows = [
        {"fault": names.get(fault_id, ""), "what": what, "whose": whose, **own}
        for (fault_id, what, whose), own in sorted(cells.items(), key=lambda item: item[0][0])
    ]
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "of": lambda row: row["whose"],
        "measure": lambda row: row["what"],
        **{phase: _text(phase) for phase in report.PHASES},
    }
    return view("fault_latency", "Before, during and after each fault", rows, columns, "|".join(report.PHASES))


def availability(model: SessionModel) -> View:
    """Return the availability of partitions and clients, the worst first."""
    columns: Columns = {
        "partition": lambda row: row["partition"],
        "seen by": lambda row: "cluster" if row["scope"] == "partition" else row["client"],
        "acks": lambda row: acks(row["acks"]),
        "available": lambda row: "" if row["availability"] is None else share(row["availability"]),
        "unavailable": lambda row: rounded_duration(row["unavailable_us"]) if row["unavailable_us"] else "0",
        "intervals": lambda row: thousands(row["intervals"]),
        "longest": lambda row: (
            rounded_duration(row["longest_unavailable_us"]) if row["longest_unavailable_us"] else "0"
        ),
        "at the end": lambda row: "still unavailable" if row["open"] else "",
    }
    rows = [] if model.timeless else [row for row in model.tables["availability"] if row["intervals"]]
    rows = sorted(rows, key=lambda row: row["availability"] if row["availability"] is not None else 2.0)
    rows = fold_internal_topics(rows, lambda row: row["unavailable_us"])
    return view("availability", "Availability", rows, columns, "available|unavailable|intervals|longest")


def alerts(model: SessionModel) -> View:
    """Return the alerts that fired, pages first, then conditions that ended before the alert fired."""
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"] if row["fired"] else "not fired",
        "fired at": lambda row: "" if row["fired_us"] is None else rounded_time(row["fired_us"]),
        "condition from": lambda row: rounded_time(row["began_us"]),
        "duration": lambda row: rounded_duration(row["duration_us"]) if row["duration_us"] else "0",
        "fires after": lambda row: rounded_duration(row["for_us"]) if row["for_us"] else "0",
        "peak": lambda row: thousands(row["peak"]),
        "metric": lambda row: row["metric"],
    }
    return view("alerts", "Alerts fired", _alerts(model), columns, _ALERT_NUMBERS)


_ALERT_NUMBERS = "fired at|condition from|duration|fires after|peak"


def alerts_short(model: SessionModel) -> View:
    """Return the alerts that fired, one row each with the number of times."""
    first: dict[str, Row] = {}
    times: dict[str, int] = {}
    for row in _alerts(model):
        if row["fired"]:
            first.setdefault(row["alert"], row)
            times[row["alert"]] = times.get(row["alert"], 0) + 1
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"],
        "first at": lambda row: rounded_time(row["fired_us"]),
        "times": lambda row: thousands(times[row["alert"]]),
        "peak": lambda row: thousands(row["peak"]),
    }
    return view("alerts", "Alerts fired", list(first.values()), columns, "first at|times|peak")


def _alerts(model: SessionModel) -> list[Row]:
    found = [] if model.timeless else model.tables["alerts"]
    return sorted(found, key=lambda row: (not row["fired"], row["severity"] != "page", row["began_us"]))


def anomalies(model: SessionModel) -> View:
    """Return the client-side anomalies, those that the settings do not allow first."""
    columns: Columns = {
        "anomaly": lambda row: row["anomaly"],
        "count": lambda row: thousands(row["found"]),
        "allowed": lambda row: "yes" if row["legal"] else "no",
        "reason": lambda row: row["reason"] or ("" if row["legal"] else "no setting allows it"),
    }
    found = sorted(model.tables["reported_anomalies"], key=lambda row: (row["legal"], -row["found"]))[:MOST_ANOMALIES]
    return view("reported_anomalies", "Client-side anomalies", found, columns, "count")


def position_lag_peaks(model: SessionModel) -> View:
    """Return the greatest position lag of each group."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "greatest position lag": lambda row: thousands(row["peak_position_lag"]),
        "at": lambda row: rounded_time(row["peak_at_us"]),
        "usual": lambda row: thousands(row["usual_position_lag"]),
        "drained in": lambda row: _maybe("time_to_drain_us")(row) or "not by the end",
        "at the end": lambda row: thousands(row["final_position_lag"]),
    }
    found = [row for row in model.tables["position_lag_peaks"] if row["peak_position_lag"] and not model.timeless]
    return view("position_lag_peaks", "Position lag of groups", found, columns, "|".join(list(columns)[1:]))


def rebalances(model: SessionModel) -> View:
    """Return the rebalances with the idle time of partitions."""
    columns: Columns = {
        "at": lambda row: when(model, row),
        "group": lambda row: row["group_id"],
        "members": lambda row: thousands(row["members"]),
        "partitions moved": lambda row: thousands(row["partitions_moved"]),
        "idle": lambda row: rounded_duration(row["time_lost_us"]) if row["time_lost_us"] else "0",
        "reason": lambda row: row["detail"] or "",
    }
    numeric = "at|members|partitions moved|idle"
    return view("rebalances", "Rebalances", model.tables["rebalances"], columns, numeric)


def failovers(model: SessionModel) -> View:
    """Return the controller failovers."""
    columns: Columns = {
        "at": lambda row: when(model, row),
        "controller": lambda row: row["node"],
        "previous": lambda row: row["from_node"] or "",
        "epoch": lambda row: row["leader_epoch"],
        "no controller for": lambda row: "" if row["without_us"] is None else rounded_duration(row["without_us"]),
    }
    numeric = "at|epoch|no controller for"
    return view("controller_failovers", "Controller failovers", model.tables["controller_failovers"], columns, numeric)


def partitions(model: SessionModel) -> View:
    """Return the partitions with losses, unavailability or under-replication, the worst first."""
    served = [row for row in model.tables["availability"] if row["scope"] == "partition"]
    shares = {row["partition"]: row["availability"] for row in served}
    lost: dict[str, int] = {}
    for row in model.lost:
        lost[row["partition"]] = lost.get(row["partition"], 0) + row["count"]

    def bad(row: Row) -> tuple[int, float, int]:
        known = shares.get(row["partition"])
        return -lost.get(row["partition"], 0), 1.0 if known is None else known, -(row["under_replicated_us"] or 0)

    columns: Columns = {
        "partition": lambda row: row["partition"],
        "lost": lambda row: thousands(lost.get(row["partition"], 0)),
        "available": lambda row: "" if shares.get(row["partition"]) is None else share(shares[row["partition"]]),
        "under-repl.": _short_time("under_replicated_us"),
        "under min": _short_time("under_min_isr_us"),
        "elections": lambda row: thousands(row["elections_clean"] + row["elections_unclean"]),
        "ISR changes": lambda row: thousands(row["isr_shrinks"] + row["isr_expands"]),
    }
    found = [] if model.timeless else sorted(model.tables["partitions"], key=bad)
    found = user_topic_rows([row for row in found if bad(row) != (0, 1.0, 0)])
    return view("partitions", "Partitions", found, columns, "|".join(list(columns)[1:]))


def _short_time(column: str) -> Callable[[Row], str]:
    """Return a function that formats a duration; empty for null."""

    def shown(row: Row) -> str:
        if row[column] is None:
            return ""
        return rounded_duration(row[column]) if row[column] else "0"

    return shown


def conditions(model: SessionModel, partition: str) -> View:
    """Return the intervals in which a partition was under-replicated, at or under min ISR, or offline."""
    columns: Columns = {
        "condition": lambda row: row["condition"].replace("_", " ").replace("isr", "ISR"),
        "from": lambda row: began(model, row),
        "duration": lambda row: length(model, row),
        "started by": lambda row: row["began_by"],
        "ended by": lambda row: row["ended_by"] or "end of session",
    }
    found = [row for row in model.tables["isr_conditions"] if row["partition"] == partition]
    return view("isr_conditions", "Under-replicated or under min ISR", found, columns, "from|duration")


def stalls(model: SessionModel, partition: str) -> View:
    """Return the intervals in which a partition's high watermark stalled."""
    columns: Columns = {
        "HW": lambda row: row["hw"],
        "from": lambda row: began(model, row),
        "duration": lambda row: length(model, row),
    }
    found = [row for row in model.tables["hw_stalls"] if row["partition"] == partition]
    return view("hw_stalls", "High watermark stalls", found, columns, "HW|from|duration")


def outcomes(model: SessionModel) -> View:
    """Return the outcomes of sent records by client and partition."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "partition": lambda row: row["partition"],
        "acks": lambda row: acks(row["acks"]),
        **{
            name: number_in(name)
            for name in ("sent", "acked", "rejected", "timed_out", "unknown_other", "aborted", "refused")
        },
    }
    titles = {"rejected": "failed", "timed_out": "unknown (timeout)", "unknown_other": "unknown (other)"}
    titles["refused"] = "failed attempts"
    named = {titles.get(name, name): value for name, value in columns.items()}
    return view("outcomes", "Records by partition", model.tables["outcomes"], named, "|".join(list(named)[3:]))


def liveness_violations(model: SessionModel) -> View:
    """Return the violated liveness properties."""
    columns: Columns = {
        "at": lambda row: when(model, row),
        "property": lambda row: row["property"],
        "partition": lambda row: row["partition"],
        "limit": lambda row: rounded_duration(row["bound_us"]),
        "found": lambda row: row["detail"],
        "known": lambda row: row["known"] or "",
    }
    return view("liveness_violations", "Liveness violations", model.tables["liveness_violations"], columns, "at|limit")


def found_causes(model: SessionModel) -> View:
    """Return the findings about records, once for each cause."""
    columns: Columns = {
        "finding": lambda row: row["kind"],
        "by": lambda row: row["cause"],
        "records": lambda row: thousands(row["records"]),
        "committed": lambda row: thousands(row["committed_records"]),
        "partitions": lambda row: ", ".join(row["partitions_named"] or ()),
        "cause": lambda row: row["sentence"],
    }
    return view("findings", "Findings by cause", model.tables["findings"], columns, "records|committed")


def _restored(row: Row) -> str:
    if row["time_to_restore_us"] is not None:
        return rounded_duration(row["time_to_restore_us"])
    out = row["partitions_out"] or 0
    return f"{counted(out, 'partition')}: not by the end" if out else "not affected"


def _maybe(column: str) -> Callable[[Row], str]:
    return lambda row: "" if row[column] is None else rounded_duration(row[column])


def _text(column: str) -> Callable[[Row], str]:
    return lambda row: row.get(column, "")
