"""Findings as small tables of text, laid out once for the page and the terminal."""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spark_report.model.format import acks, duration, instant, number, several
from spark_report.model.own_topics import folded, of_users
from spark_report.model.report import Row, SessionStory, Story
from spark_report.render.lanes import shown_partitions

SENTENCE: Final = "cause"
"""A column that holds sentences."""
_LONG: Final = ("found", "session", "because", "began with")
"""Columns of long texts, that may have several lines."""
_PHASES: Final = ("all", "before", "during", "after")


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
        return "n" if name in self.numeric else "long" if name in _LONG else ""


def view(name: str, title: str, found: list[Row], columns: dict[str, Callable[[Row], Any]], numeric: str = "") -> View:
    """Lay rows out: ``columns`` is heading → what stands in it; ``numeric`` names headings, separated by ``|``."""
    lines = tuple(tuple(str(value(row)) for value in columns.values()) for row in found)
    return View(name, title, tuple(columns), frozenset(numeric.split("|")), lines)


def letters(story: Story) -> dict[str, str]:
    """Session → a short name for it: A, B, ... Z, then S27."""
    names = list(string.ascii_uppercase)
    return {
        one.session_id: names[place] if place < len(names) else f"S{place + 1}"
        for place, one in enumerate(story.sessions)
    }


def overview(story: Story, *, short: bool = False) -> View:
    """All sessions side by side; ``short`` names them by their playbooks instead of its titles."""
    named = letters(story)
    columns: dict[str, Callable[[Any], Any]] = {
        "": lambda one: named[one.session_id],
        "session": lambda one: one.recorded.start.playbook if short else one.name,
        "verdict": lambda one: one.verdict or one.status,
        "lost": lambda one: number(sum(row["count"] for row in one.lost)),
        "acked": lambda one: number(one.counts.get("acked", 0)),
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


def losses(story: SessionStory) -> View:
    """Lost records with their causes."""
    columns: dict[str, Callable[[Row], Any]] = {
        "partition": lambda row: row["partition"],
        "client": lambda row: row["client"],
        "records": lambda row: number(row["count"]),
        "offsets": _offsets,
        "acks": lambda row: acks(row["acks"]),
        "committed": lambda row: "yes" if row["committed"] else "no",
        "gone since": lambda row: when(story, story.since(row)),
        "cause": lambda row: row["cause"],
    }
    return view("losses", "Lost records and why", story.lost, columns, "records|offsets|gone since")


def losses_short(story: SessionStory) -> View:
    """The same for a terminal, where the causes are told in sentences."""
    whole = losses(story)
    kept = [place for place, name in enumerate(whole.columns) if name not in (SENTENCE, "client")]
    return View(
        whole.name,
        "Lost records",
        tuple(whole.columns[place] for place in kept),
        whole.numeric,
        tuple(tuple(row[place] for place in kept) for row in whole.rows),
    )


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
        "records": lambda row: number(row["records"]),
        **{name: time_of(f"{name}_us") for name in ("p50", "p95", "p99", "max")},
    }
    return view("latency", "Latency", found, columns, "records|p50|p95|p99|max")


def latency_short(story: SessionStory) -> View:
    """Latency in one row a client: the whole session, and the slow end of it before, during and after faults."""
    by_phase = {(row["what"], row["client"], row["phase"]): row for row in story.tables["latency"]}

    def in_phase(phase: str) -> Callable[[Row], str]:
        def value(row: Row) -> str:
            found = by_phase.get((row["what"], row["client"], phase))
            return duration(found["p99_us"]) if found else ""

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
        "began with": lambda row: row["began_by"],
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
    columns: dict[str, Callable[[Row], Any]] = {
        "expected": lambda row: row["rule"],
        "held": lambda row: "yes" if row["ok"] else "NO",
        "at": lambda row: when(story, {**row, "at_us": story.decided_us(row)}),
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
    lasted = "no time passes" if story.timeless else instant(story.recorded.end_us)
    found = [
        ("playbook", start.playbook),
        ("Kafka", start.profile),
        ("seed", str(start.seed)),
        ("virtual time", lasted),
        ("events", number(story.counts["events"])),
        ("recorded", start.wall_start),
        ("digest", manifest.digest if manifest else ""),
        ("session", story.session_id),
        ("directory", str(story.recorded.path)),
        ("shown by", story.opened_by),
    ]
    return tuple((label, value) for label, value in found if value)


def _out_of_service(story: SessionStory) -> str:
    spans = of_users(story.unavailable("partition"))
    if story.timeless:
        return several(len(spans), "interval") if spans else ""
    return duration(sum(row["duration_us"] for row in spans))


def _optional(value: int | None) -> str:
    return "" if value is None else number(value)


def time_of(column: str) -> Callable[[Row], str]:
    """A column as a length of time."""
    return lambda row: duration(row[column])


def _offsets(row: Row) -> str:
    if row["log_offset"] < 0:
        return "none"
    last = row["log_offset"] + row["count"] - 1
    return str(last) if row["count"] == 1 else f"{row['log_offset']} to {last}"


def brokers(isr: list[int] | None) -> str:
    """Brokers by their numbers."""
    return " ".join(map(str, isr or ())) or "empty"


def when(story: SessionStory, row: Row) -> str:
    """An instant, or the number of its event where no time passes."""
    return f"event {row['seq']}" if story.timeless else instant(row["at_us"])


def began(story: SessionStory, row: Row) -> str:
    """Where an interval begins."""
    return f"event {max(0, row['began_seq'])}" if story.timeless else instant(row["began_us"])


def length(story: SessionStory, row: Row) -> str:
    """How long an interval was."""
    if story.timeless:
        return f"{row['ended_seq'] - max(0, row['began_seq'])} events"
    lasted = duration(row["ended_us"] - row["began_us"])
    return f"{lasted}, open" if row["open"] else lasted
