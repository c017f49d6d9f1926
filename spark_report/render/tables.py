"""Findings about faults and partitions as small tables of text, for the page and the terminal."""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.util.quantities import counted, rounded_duration, rounded_time, thousands
from spark_report.model import report
from spark_report.model.format import acks, folded, of_users, share, signed
from spark_report.model.report import ReportStory, Row, SessionStory
from spark_report.render.charts import shown_partitions

SENTENCE: Final = "cause"
"""A column that holds sentences."""
_LONG: Final = ("found", "known", "because", "began with", "no return")
"""Columns of long texts, that may have several lines."""
_NAMES: Final = ("session", "settings")
"""Columns of names, that may have several lines, too, and make room for others."""
MOST_ROWS: Final = 400
"""Rows that are laid out of a table: nothing shows more, and one of a long session has tens of thousands."""
_CHANCE_US: Final = 50_000
_PHASES: Final = ("all", "before", "during", "after")


Columns = dict[str, Callable[[Row], Any]]
"""Heading → what a row has there."""


@dataclass(frozen=True, slots=True)
class View:
    """A table ready to show. ``numeric`` columns are set flush right."""

    name: str
    """The file under ``tables/`` that holds all of it."""
    title: str
    columns: tuple[str, ...]
    numeric: frozenset[str]
    rows: tuple[tuple[str, ...], ...]
    tones: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """What single cells mean, by row and column: ``best``, ``worst``, ``regression``, ``improvement``."""
    left_out: int = 0
    """Rows after these that the file alone has."""

    @property
    def count(self) -> int:
        """All rows, those that are left out included."""
        return len(self.rows) + self.left_out

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def headings(self) -> list[tuple[str, str]]:
        """Columns for the page, each with the class of its cells; a :data:`SENTENCE` has a line of its own."""
        return [(name, self._class(name)) for name in self.columns if name != SENTENCE]

    def cells(self, place: int) -> list[tuple[str, str]]:
        """A row for the page: values, each with its class."""
        pairs = enumerate(zip(self.columns, self.rows[place], strict=True))
        return [
            (value, f"{self._class(name)} {self.tones.get((place, column), '')}".strip())
            for column, (name, value) in pairs
            if name != SENTENCE
        ]

    @property
    def told(self) -> bool:
        """Whether rows have sentences under them."""
        return SENTENCE in self.columns

    def sentence(self, row: tuple[str, ...]) -> str:
        """What stands under the row; empty for nothing."""
        return row[self.columns.index(SENTENCE)] if self.told else ""

    def _class(self, name: str) -> str:
        return "n" if name in self.numeric else "long" if name in _LONG else "name" if name in _NAMES else ""


def view(name: str, title: str, found: list[Row], columns: dict[str, Callable[[Row], Any]], numeric: str = "") -> View:
    """Lay rows out: ``columns`` is heading → what stands in it; ``numeric`` names headings, separated by ``|``."""
    lines = tuple(tuple(str(value(row)) for value in columns.values()) for row in found[:MOST_ROWS])
    left_out = len(found) - len(lines)
    return View(name, title, tuple(columns), frozenset(numeric.split("|")), lines, left_out=left_out)


def timed_view(story: SessionStory, name: str, title: str, columns: Columns, numeric: str) -> View:
    """Steps taken by hand have no clients worth a table."""
    return view(name, title, [] if story.timeless else story.tables[name], columns, numeric)


def number_in(column: str) -> Callable[[Row], str]:
    """The number in a column of a row, for people."""
    return lambda row: thousands(row[column])


def letters(story: ReportStory) -> dict[str, str]:
    """Session → a short name for it: A, B, ... Z, then S27."""
    names = list(string.ascii_uppercase)
    return {
        one.session_id: names[place] if place < len(names) else f"S{place + 1}"
        for place, one in enumerate(story.sessions)
    }


def overview(story: ReportStory, *, short: bool = False) -> View:
    """All sessions side by side; ``short`` names them by their playbooks instead of its titles."""
    named = letters(story)
    columns: dict[str, Callable[[Any], Any]] = {
        "": lambda one: named[one.session_id],
        "session": lambda one: one.recorded.start.playbook if short else one.name,
        **({} if short else settings_column(story)),
        "verdict": lambda one: verdict(one, short=short),
        "lost": lambda one: thousands(sum(row["count"] for row in one.lost)),
        "acked": lambda one: thousands(one.counts.get("acked", 0)),
        "out of service": _out_of_service,
        "profile": lambda one: one.recorded.start.profile,
        "unclean": lambda one: one.counts.get("elections_unclean", 0),
    }
    if not short:
        columns["seed"] = lambda one: one.recorded.start.seed
        columns["status"] = lambda one: one.status
        columns["elections"] = lambda one: one.counts.get("elections_clean", 0) + one.counts.get("elections_unclean", 0)
    numeric = "seed|acked|lost|out of service|elections|unclean"
    return view("sessions", "Sessions", list(story.sessions), columns, numeric)  # type: ignore[arg-type]


def verdict(story: SessionStory, *, short: bool = False) -> str:
    """The verdict; of one that passed with losses that they were expected."""
    if story.loss_expected:
        return "as expected" if short else f"as expected: {story.held.partition(' expectation')[0]}"
    return story.verdict or story.status


def settings_column(story: ReportStory) -> dict[str, Callable[[Any], Any]]:
    """A column with the settings in which sessions of a playbook differ; none where they are alike in all."""
    return {"settings": lambda one: one.settings_words} if any(one.settings for one in story.sessions) else {}


def differences(story: ReportStory) -> View:
    """The settings in which sessions of a playbook differ, by their short names."""
    named = letters(story)
    columns: dict[str, Callable[[Any], Any]] = {"": lambda one: named[one.session_id], **settings_column(story)}
    found = [one for one in story.sessions if one.settings]
    return view("settings", "Settings in which they differ", found, columns)  # type: ignore[arg-type]


def losses(story: SessionStory) -> View:
    """Lost records with their causes."""
    since = story.since()
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "client": lambda row: row["client"],
        "records": lambda row: thousands(row["count"]),
        "offsets": _offsets,
        "acks": lambda row: acks(row["acks"]),
        "committed": lambda row: "yes" if row["committed"] else "no",
        "gone since": lambda row: when(story, since(row)),
        "cause": lambda row: row["cause"],
    }
    return view("losses", "Lost records and why", story.lost, columns, "records|offsets|gone since")


def losses_short(story: SessionStory) -> View:
    """The same for a terminal, where the causes are told in sentences."""
    whole = losses(story)
    kept = [place for place, name in enumerate(whole.columns) if name not in (SENTENCE, "client")]
    return replace(
        whole,
        title="Lost records",
        columns=tuple(whole.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in whole.rows),
    )


def points_of_no_return(story: SessionStory) -> View:
    """Since when nothing could have kept lost records, and what would have until then."""
    columns: dict[str, Callable[[Row], Any]] = {
        "finding": lambda row: row["finding"],
        "no return": lambda row: row["said"][0] if row["said"] else row["point"],
        SENTENCE: lambda row: ". ".join(text[:1].upper() + text[1:] for text in row["said"][1:]),
    }
    return view("points_of_no_return", "Points of no return", story.tables["points_of_no_return"], columns, "finding")


def remedies(story: SessionStory) -> View:
    """What would have saved the session, and at which price."""
    columns: dict[str, Callable[[Row], Any]] = {
        "finding": lambda row: row["kind"],
        "change": lambda row: row["remedy"],
        "result": lambda row: row["effect"],
        "left": lambda row: f"{thousands(row['remaining'])} of {thousands(row['before'])}" if _tried(row) else "",
        "rejected": lambda row: signed(row["price_rejected"] or 0) if _tried(row) else "",
        "out of service": lambda row: _longer(row["price_unavailable_us"] or 0) if _tried(row) else "",
        "seeds": lambda row: f"{row['seeds_kept']} of {row['seeds']}" if row["seeds"] else "",
        **({"because": lambda row: row["reason"]} if any(row["reason"] for row in story.tables["remedies"]) else {}),
    }
    title = "What would have saved it (same seed, one or two things changed)"
    return view("remedies", title, story.tables["remedies"], columns, "left|rejected|out of service|seeds")


def _tried(row: Row) -> bool:
    return row["effect"] in ("saves", "helps", "would not have helped")


def _longer(us: int) -> str:
    """A change of a time without service; less than a tenth of a second is chance."""
    return "±0" if abs(us) < _CHANCE_US else f"{'+' if us > 0 else '−'}{rounded_duration(abs(us))}"


def ledger(story: SessionStory) -> View:
    """The ledger twice."""
    order = {term: place for place, term in enumerate(("sent", "acked", "failed", "unknown", "aborted", "acked_lost"))}
    found = sorted(story.tables["ledger"], key=lambda row: (order.get(row["term"], 9), row["term"]))
    columns: dict[str, Callable[[Row], Any]] = {
        "records": lambda row: row["term"].replace("_", " "),
        "from the events": lambda row: _optional(row["from_events"]),
        "from its result": lambda row: _optional(row["from_result"]),
        "agree": lambda row: {True: "yes", False: "NO"}.get(row["agrees"], "not compared"),
    }
    return view("ledger", "Ledger", found, columns, "from the events|from its result")


def latency(story: SessionStory) -> View:
    """Percentiles, a row a client and phase."""
    found = sorted(
        story.tables["latency"],
        key=lambda row: (row["what"] != "produce", row["client"], _PHASES.index(row["phase"])),
    )
    columns: dict[str, Callable[[Row], Any]] = {
        "client": lambda row: row["client"],
        "from, to": lambda row: "sent, acknowledged" if row["what"] == "produce" else "appended, read",
        "phase": lambda row: "whole session" if row["phase"] == "all" else f"{row['phase']} faults",
        "records": lambda row: thousands(row["records"]),
        **{name: time_of(f"{name}_us") for name in ("p50", "p95", "p99", "max")},
    }
    return view("latency", "Latency", found, columns, "records|p50|p95|p99|max")


def latency_short(story: SessionStory) -> View:
    """Latency in one row a client: the whole session, and the slow end of it before, during and after faults."""
    by_phase = {(row["what"], row["client"], row["phase"]): row for row in story.tables["latency"]}

    def in_phase(phase: str) -> Callable[[Row], str]:
        def value(row: Row) -> str:
            found = by_phase.get((row["what"], row["client"], phase))
            return rounded_duration(found["p99_us"]) if found else ""

        return value

    phases = _PHASES[1:] if story.tables["faults"] else ()
    columns: dict[str, Callable[[Row], Any]] = {
        "client": lambda row: row["client"],
        "": lambda row: "acked" if row["what"] == "produce" else "read",
        **{name: time_of(f"{name}_us") for name in ("p50", "p99", "max")},
        **{f"p99 {phase}": in_phase(phase) for phase in phases},
    }
    found = [row for row in story.tables["latency"] if row["phase"] == "all" and not story.timeless]
    found.sort(key=lambda row: row["what"] != "produce")
    title = "Latency (p99 before, during and after faults)" if phases else "Latency"
    return view("latency", title, found, columns, "|".join(list(columns)[2:]))


def unavailability(story: SessionStory) -> View:
    """Intervals without service."""
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "seen by": lambda row: "the cluster" if row["scope"] == "partition" else row["client"],
        "acks": lambda row: acks(row["acks"]),
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
        "began with": lambda row: row["began_by"] or "no answer",
        "ended by": lambda row: row["ended_by"] or "the end of the session",
    }
    return view("unavailability", "Out of service", out_of_service(story), columns, "from|for")


def out_of_service(story: SessionStory) -> list[Row]:
    """The intervals that are told, of Kafka's own topics the longest alone."""
    unit = "seq" if story.timeless else "us"
    return folded(story.tables["unavailability"], lambda row: row[f"ended_{unit}"] - row[f"began_{unit}"])


def faults(story: SessionStory) -> View:
    """Faults and when they were active."""
    columns: dict[str, Callable[[Row], Any]] = {
        "fault": lambda row: row["fault"],
        "on": lambda row: row["target"],
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
        "parameters": lambda row: row["detail"],
        "ended": lambda row: "open" if row["open"] else "healed",
    }
    return view("faults", "Faults", story.tables["faults"], columns, "from|for")


def expectations(story: SessionStory) -> View:
    """What the playbook expected, and whether it came."""
    decided_us = story.decided_us()
    columns: dict[str, Callable[[Row], Any]] = {
        "expected": lambda row: row["rule"],
        "held": lambda row: "yes" if row["ok"] else "NO",
        "at": lambda row: when(story, {**row, "at_us": decided_us(row)}),
        "found": lambda row: row["detail"],
    }
    found = sorted(story.tables["expectations"], key=lambda row: bool(row["ok"]))
    title = "Expectations" if story.failed else "Expectations, all held"
    return view("expectations", title, found, columns, "at")


def states(story: SessionStory) -> View:
    """The data of the timeline's lanes."""
    shown = set(shown_partitions(story))
    found = [row for row in story.tables["partition_states"] if row["partition"] in shown]
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
        "leader": lambda row: "nobody" if row["leader"] < 0 else row["leader"],
        "epoch": lambda row: row["leader_epoch"],
        "ISR": lambda row: brokers(row["isr"]),
        "began with": lambda row: row["began_by"],
    }
    return view("partition_states", "Leaders and ISR", found, columns, "from|for|leader|epoch")


def elections(story: SessionStory) -> View:
    """Who was elected, how, and why."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "partition": lambda row: row["partition"],
        "election": lambda row: row["election"],
        "leader": lambda row: "nobody" if row["leader"] < 0 else row["leader"],
        "epoch": lambda row: row["leader_epoch"],
        "ISR": lambda row: brokers(row["isr"]),
        "because": lambda row: row["by"] or "",
    }
    return view("elections", "Elections", story.tables["elections"], columns, "at|leader|epoch")


def isr_changes(story: SessionStory) -> View:
    """How the in-sync replicas changed."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "partition": lambda row: row["partition"],
        "change": lambda row: row["change"] or "order",
        "from ISR": lambda row: brokers(row["previous_isr"]),
        "to ISR": lambda row: brokers(row["isr"]),
        "by": lambda row: row["by"],
    }
    return view("isr_changes", "ISR changes", story.tables["isr_changes"], columns, "at")


def truncations(story: SessionStory) -> View:
    """What replicas cut off their logs."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "partition": lambda row: row["partition"],
        "broker": lambda row: row["broker"],
        "from offset": lambda row: row["log_offset"],
        "up to": lambda row: row["end_offset"],
        "HW": lambda row: row["hw"],
        "rule": lambda row: row["rule"],
    }
    return view("truncations", "Truncations", story.tables["truncations"], columns, "at|broker|from offset|up to|HW")


def violations(story: SessionStory) -> View:
    """Properties of the protocol that did not hold."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "invariant": lambda row: row["invariant"],
        "partition": lambda row: row["partition"],
        "found": lambda row: row["detail"],
        "cause": lambda row: row["cause"],
        "known": lambda row: row.get("known") or "",
    }
    return view("violations", "Violated invariants", story.tables["violations"], columns, "at")


def controllers(story: SessionStory) -> View:
    """Who became the active controller."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "controller": lambda row: row["node"],
        "epoch": lambda row: row["leader_epoch"],
    }
    return view("controllers", "Controller changes", story.tables["controllers"], columns, "at")


def steps(story: SessionStory) -> View:
    """What the playbook or the operator did."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "by": lambda row: row["by"],
        "step": lambda row: row["detail"],
        "target": lambda row: row["target"],
        "refused with": lambda row: row["error"] or "",
    }
    return view("steps", "Steps", story.tables["steps"], columns, "at")


def guards(story: SessionStory) -> View:
    """What the playbook's guards refused, healed or stopped."""
    columns: dict[str, Callable[[Row], Any]] = {
        "at": lambda row: when(story, row),
        "guard": lambda row: row["rule"],
        "did": lambda row: row["detail"],
        "fault": lambda row: row["fault"],
        "target": lambda row: row["target"],
        "because": lambda row: row["cause"],
    }
    return view("guards", "Guards", story.tables["guards"], columns, "at")


def facts(story: SessionStory) -> tuple[tuple[str, str], ...]:
    """What a session was: label and value."""
    start, manifest = story.recorded.start, story.recorded.manifest
    lasted = "no time passes" if story.timeless else rounded_time(story.recorded.end_us)
    found = [
        ("playbook", start.playbook),
        ("Kafka", start.profile),
        ("seed", str(start.seed)),
        ("set", ", ".join(f"{path}={value}" for path, value in start.settings.items())),
        ("virtual time", lasted),
        ("events", thousands(story.counts["events"])),
        ("recorded", start.wall_start),
        ("digest", manifest.digest if manifest else ""),
        ("session", story.session_id),
        ("directory", str(story.recorded.path)),
        ("shown by", story.opened_by),
    ]
    return tuple((label, value) for label, value in found if value)


def _out_of_service(story: SessionStory) -> str:
    spans = story.unavailable("client")
    if story.timeless:
        return counted(len(spans), "interval") if spans else ""
    return rounded_duration(sum(row["duration_us"] for row in spans))


def _optional(value: int | None) -> str:
    return "" if value is None else thousands(value)


def time_of(column: str) -> Callable[[Row], str]:
    """A column as a length of time."""
    return lambda row: rounded_duration(row[column])


def _offsets(row: Row) -> str:
    if row["log_offset"] < 0:
        return "none"
    last = row["log_offset"] + row["count"] - 1
    return str(last) if row["count"] == 1 else f"{row['log_offset']} to {last}"


def brokers(isr: list[int] | None) -> str:
    """Brokers by their numbers."""
    return " ".join(map(str, isr or ())) or "empty"


def when(story: SessionStory, row: Row) -> str:
    """A time, or the number of its event where no time passes."""
    return f"event {row['seq']}" if story.timeless else rounded_time(row["at_us"])


def began(story: SessionStory, row: Row) -> str:
    """Where an interval begins."""
    return f"event {max(0, row['began_seq'])}" if story.timeless else rounded_time(row["began_us"])


def length(story: SessionStory, row: Row) -> str:
    """How long an interval was."""
    if story.timeless:
        return f"{row['ended_seq'] - max(0, row['began_seq'])} events"
    lasted = rounded_duration(row["ended_us"] - row["began_us"])
    return f"{lasted}, open" if row["open"] else lasted


# Faults as small tables of text: times to detect and recover, availability, alerts, lag, rebalances.


MOST_ANOMALIES = 40


def fault_times(story: SessionStory) -> View:
    """Each fault with how long everything took."""
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "on": lambda row: row["target"],
        "from": lambda row: began(story, {**row, "began_seq": 0}),
        "lasted": lambda row: rounded_duration(row["ended_us"] - row["began_us"]) + (", open" if row["open"] else ""),
        "detected after": _maybe("time_to_detect_us"),
        "detected by": lambda row: row["detected_by"] or "no alert",
        "leader after": _maybe("time_to_elect_us"),
        "partitions out": lambda row: thousands(row["partitions_out"] or 0),
        "service restored after": _restored,
        "fully recovered after": lambda row: (
            "not by the end" if row["unrecovered"] else _maybe("time_to_recover_us")(row)
        ),
    }
    found = [] if story.timeless else story.tables["fault_times"]
    numeric = "from|lasted|detected after|leader after|partitions out|service restored after|fully recovered after"
    return view("fault_times", "How long recovery took", found, columns, numeric)


def fault_times_short(story: SessionStory) -> View:
    """The same for a terminal."""
    columns: Columns = {
        "fault": lambda row: f"{row['fault']} {row['target']}",
        "from": lambda row: rounded_time(row["began_us"]),
        "detected": _maybe("time_to_detect_us"),
        "elected": _maybe("time_to_elect_us"),
        "restored": _restored,
        "recovered": lambda row: "not by end" if row["unrecovered"] else _maybe("time_to_recover_us")(row),
    }
    found = [] if story.timeless else story.tables["fault_times"]
    return view("fault_times", "Recovery, counted from each fault", found, columns, "|".join(list(columns)[1:]))


def means(story: SessionStory) -> View:
    """Means over kinds of faults."""
    columns: Columns = {
        "over": lambda row: row["fault"] or "all faults",
        "faults": lambda row: thousands(row["faults"]),
        "mean time to detect": _maybe("mttd_us"),
        "to elect": _maybe("mtte_us"),
        "to recover (MTTR)": _maybe("mttr_us"),
        "service back at the latest (RTO)": _maybe("rto_us"),
        "not recovered": lambda row: thousands(row["unrecovered_faults"]),
    }
    found = sorted(story.tables["fault_means"], key=lambda row: (bool(row["fault"]), row["fault"]))
    kinds = {row["fault"] for row in found} - {""}
    shown = [] if story.timeless else found if len(kinds) > 1 else [row for row in found if not row["fault"]]
    return view("fault_means", "Means over faults", shown, columns, "|".join(list(columns)[1:]))


def around_faults(story: SessionStory) -> View:
    """Availability and latency before, during and after each fault: the data of the two charts."""
    names = {row["fault_id"]: f"{row['fault']} {row['target']}" for row in story.tables["faults"]}
    found: dict[tuple[int, str, str], dict[str, str]] = {}
    if not story.timeless:
        for scope, whose in (("partition", "partitions"), ("client", "clients")):
            for row in report.served(story, scope):
                own = found.setdefault((row["fault_id"], "with service", whose), {})
                own[row["phase"]] = share(row["availability"])
        for row in story.tables["fault_latency"]:
            what = "99 % acknowledged" if row["what"] == "produce" else "99 % read"
            own = found.setdefault((row["fault_id"], what, row["client"]), {})
            own[row["phase"]] = rounded_duration(row["p99_us"])
    rows = [
        {"fault": names.get(fault_id, ""), "what": what, "whose": whose, **own}
        for (fault_id, what, whose), own in sorted(found.items(), key=lambda item: item[0][0])
    ]
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "of": lambda row: row["whose"],
        "what": lambda row: row["what"],
        **{phase: _text(phase) for phase in report.PHASES},
    }
    return view("fault_latency", "Before, during and after each fault", rows, columns, "|".join(report.PHASES))


def availability(story: SessionStory) -> View:
    """The share of time with service, the worst first."""
    columns: Columns = {
        "partition": lambda row: row["partition"],
        "seen by": lambda row: "the cluster" if row["scope"] == "partition" else row["client"],
        "acks": lambda row: acks(row["acks"]),
        "available": lambda row: "" if row["availability"] is None else share(row["availability"]),
        "out of service": lambda row: rounded_duration(row["unavailable_us"]) if row["unavailable_us"] else "0",
        "times": lambda row: thousands(row["intervals"]),
        "longest": lambda row: (
            rounded_duration(row["longest_unavailable_us"]) if row["longest_unavailable_us"] else "0"
        ),
        "at the end": lambda row: "still out" if row["open"] else "",
    }
    found = [] if story.timeless else [row for row in story.tables["availability"] if row["intervals"]]
    found = sorted(found, key=lambda row: row["availability"] if row["availability"] is not None else 2.0)
    found = folded(found, lambda row: row["unavailable_us"])
    return view("availability", "Availability", found, columns, "available|out of service|times|longest")


def alerts(story: SessionStory) -> View:
    """The alerts that fired, those that page first; conditions that passed before they did come after."""
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"] if row["fired"] else "did not fire",
        "fires at": lambda row: "" if row["fired_us"] is None else rounded_time(row["fired_us"]),
        "condition from": lambda row: rounded_time(row["began_us"]),
        "for": lambda row: rounded_duration(row["duration_us"]) if row["duration_us"] else "an instant",
        "must hold": lambda row: rounded_duration(row["for_us"]) if row["for_us"] else "at once",
        "at most": lambda row: thousands(row["peak"]),
        "metric": lambda row: row["metric"],
    }
    return view("alerts", "Alerts that an operator would have had", _alerts(story), columns, _ALERT_NUMBERS)


_ALERT_NUMBERS = "fires at|condition from|for|must hold|at most"


def alerts_short(story: SessionStory) -> View:
    """The alerts that fired, one row each with how often."""
    first: dict[str, Row] = {}
    times: dict[str, int] = {}
    for row in _alerts(story):
        if row["fired"]:
            first.setdefault(row["alert"], row)
            times[row["alert"]] = times.get(row["alert"], 0) + 1
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"],
        "first at": lambda row: rounded_time(row["fired_us"]),
        "times": lambda row: thousands(times[row["alert"]]),
        "at most": lambda row: thousands(row["peak"]),
    }
    return view("alerts", "Alerts that fire", list(first.values()), columns, "first at|times|at most")


def _alerts(story: SessionStory) -> list[Row]:
    found = [] if story.timeless else story.tables["alerts"]
    return sorted(found, key=lambda row: (not row["fired"], row["severity"] != "page", row["began_us"]))


def anomalies(story: SessionStory) -> View:
    """What clients could see that a log without failures would not show them."""
    columns: Columns = {
        "anomaly": lambda row: row["anomaly"],
        "found": lambda row: thousands(row["found"]),
        "may it be": lambda row: "yes" if row["legal"] else "NO",
        "because": lambda row: row["reason"] or ("" if row["legal"] else "nothing in the settings allows it"),
    }
    found = sorted(story.tables["anomalies_told"], key=lambda row: (row["legal"], -row["found"]))[:MOST_ANOMALIES]
    return view("anomalies_told", "Anomalies that clients could see", found, columns, "found")


def position_lag_peaks(story: SessionStory) -> View:
    """The greatest position lag of each group."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "greatest position lag": lambda row: thousands(row["peak_position_lag"]),
        "at": lambda row: rounded_time(row["peak_at_us"]),
        "usual": lambda row: thousands(row["usual_position_lag"]),
        "drained after": lambda row: _maybe("time_to_drain_us")(row) or "not by the end",
        "at the end": lambda row: thousands(row["final_position_lag"]),
    }
    found = [row for row in story.tables["position_lag_peaks"] if row["peak_position_lag"] and not story.timeless]
    return view("position_lag_peaks", "Position lag of groups", found, columns, "|".join(list(columns)[1:]))


def rebalances(story: SessionStory) -> View:
    """Rebalances with what they cost."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "group": lambda row: row["group_id"],
        "members": lambda row: thousands(row["members"]),
        "partitions moved": lambda row: thousands(row["partitions_moved"]),
        "idle": lambda row: rounded_duration(row["time_lost_us"]) if row["time_lost_us"] else "0",
        "because": lambda row: row["detail"] or "",
    }
    numeric = "at|members|partitions moved|idle"
    return view("rebalances", "Rebalances", story.tables["rebalances"], columns, numeric)


def failovers(story: SessionStory) -> View:
    """Controllers that gave way to others."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "controller": lambda row: row["node"],
        "in place of": lambda row: row["from_node"] or "",
        "epoch": lambda row: row["leader_epoch"],
        "without one for": lambda row: "" if row["without_us"] is None else rounded_duration(row["without_us"]),
    }
    numeric = "at|epoch|without one for"
    return view("controller_failovers", "Controller failovers", story.tables["controller_failovers"], columns, numeric)


def partitions(story: SessionStory) -> View:
    """Each partition in one row, the worst first; those of which nothing is to be said are left out."""
    served = [row for row in story.tables["availability"] if row["scope"] == "partition"]
    shares = {row["partition"]: row["availability"] for row in served}
    lost: dict[str, int] = {}
    for row in story.lost:
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
        "elected": lambda row: thousands(row["elections_clean"] + row["elections_unclean"]),
        "ISR moves": lambda row: thousands(row["isr_shrinks"] + row["isr_expands"]),
    }
    found = [] if story.timeless else sorted(story.tables["partitions"], key=bad)
    found = of_users([row for row in found if bad(row) != (0, 1.0, 0)])
    return view("partitions", "Partitions", found, columns, "|".join(list(columns)[1:]))


def _short_time(column: str) -> Callable[[Row], str]:
    """A length of time; empty where nobody knows it."""

    def shown(row: Row) -> str:
        if row[column] is None:
            return ""
        return rounded_duration(row[column]) if row[column] else "0"

    return shown


def conditions(story: SessionStory, partition: str) -> View:
    """When a partition had too few replicas in sync."""
    columns: Columns = {
        "was": lambda row: row["condition"].replace("_", " "),
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
        "began with": lambda row: row["began_by"],
        "ended by": lambda row: row["ended_by"] or "the end of the session",
    }
    found = [row for row in story.tables["isr_conditions"] if row["partition"] == partition]
    return view("isr_conditions", "Too few in sync", found, columns, "from|for")


def stalls(story: SessionStory, partition: str) -> View:
    """When records waited above a partition's high watermark."""
    columns: Columns = {
        "HW": lambda row: row["hw"],
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
    }
    found = [row for row in story.tables["hw_stalls"] if row["partition"] == partition]
    return view("hw_stalls", "Stalls of the high watermark", found, columns, "HW|from|for")


def outcomes(story: SessionStory) -> View:
    """What became of what was sent, by partition."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "partition": lambda row: row["partition"],
        "acks": lambda row: acks(row["acks"]),
        **{
            name: number_in(name)
            for name in ("sent", "acked", "rejected", "timed_out", "unknown_other", "aborted", "refused")
        },
    }
    named = {name.replace("_", " "): value for name, value in columns.items()}
    return view("outcomes", "Records by partition", story.tables["outcomes"], named, "|".join(list(named)[3:]))


def overdue(story: SessionStory) -> View:
    """Promises that were not kept in time."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "promise": lambda row: row["property"],
        "partition": lambda row: row["partition"],
        "due within": lambda row: rounded_duration(row["bound_us"]),
        "found": lambda row: row["detail"],
        "known": lambda row: row["known"] or "",
    }
    return view("overdue", "Promises not kept in time", story.tables["overdue"], columns, "at|due within")


def found_causes(story: SessionStory) -> View:
    """What went wrong with records, once for each cause."""
    columns: Columns = {
        "what": lambda row: row["kind"],
        "by": lambda row: row["cause"],
        "records": lambda row: thousands(row["records"]),
        "committed": lambda row: thousands(row["committed_records"]),
        "partitions": lambda row: ", ".join(row["partitions_named"] or ()),
        "cause": lambda row: row["sentence"],
    }
    return view("findings", "Causes, each told once", story.tables["findings"], columns, "records|committed")


def _restored(row: Row) -> str:
    if row["time_to_restore_us"] is not None:
        return rounded_duration(row["time_to_restore_us"])
    out = row["partitions_out"] or 0
    return f"{counted(out, 'partition')}: not by the end" if out else "never out"


def _maybe(column: str) -> Callable[[Row], str]:
    return lambda row: "" if row[column] is None else rounded_duration(row[column])


def _text(column: str) -> Callable[[Row], str]:
    return lambda row: row.get(column, "")
