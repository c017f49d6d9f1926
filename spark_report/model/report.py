"""Model of a report: settings in which sessions differ, the verdict on each, and the summary sentences."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from shlex import quote
from typing import Any, Final, Literal, NamedTuple

import yaml

from cluster_model.util.quantities import counted, rounded_duration, rounded_time
from playbooks.results.expected_losses import allowing_losses, unexpected_loss_text
from playbooks.session_format import session_files
from spark_report.input.sessions import SessionInput, SkippedDirectory
from spark_report.model.format import acks, is_internal, user_topic_rows
from spark_report.spark.hadoop_fs import HadoopPath
from spark_report.tables.collect import Tables, rows

# The settings in which sessions of one playbook differ: cells of a grid, runs with other settings, other seeds.


SEED: Final = "seed"
AS_WRITTEN: Final = "as in the playbook"
"""Text for a setting that a session does not override, if the playbook's value cannot be read."""

_CONFIG: Final = ".config."
_MOST_BYTES: Final = 1 << 20
"""Maximum size of a playbook whose settings are read."""


class SettingDifference(NamedTuple):
    """A setting of a session that differs in another session of its playbook."""

    path: str
    """Path of the setting, as ``--set`` takes it."""
    name: str
    """The last part of the path if that is unambiguous, else the whole path."""
    value: str | None
    """Value; None if neither the session nor its playbook sets it."""

    @property
    def text(self) -> str:
        """The setting as text: ``acks=all``."""
        return f"{self.name}={self.value}" if self.value is not None else f"{self.name} {AS_WRITTEN}"


def differing_settings(sessions: Sequence[SessionInput]) -> dict[str, tuple[SettingDifference, ...]]:
    """Return session id → the settings in which it differs from other sessions of its playbook, in the same order."""
    found: dict[str, tuple[SettingDifference, ...]] = {}
    for playbook in dict.fromkeys(one.start.playbook for one in sessions):
        found |= _of_siblings([one for one in sessions if one.start.playbook == playbook])
    return found


def joined_settings(settings: Iterable[SettingDifference], limit: int = 6) -> str:
    """Return settings as text, with commas; of very many the first and the number of the others."""
    texts = [setting.text for setting in settings]
    more = f", {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def _of_siblings(sessions: Sequence[SessionInput]) -> dict[str, tuple[SettingDifference, ...]]:
    made = {one.session_id: {_path(path): _plain(value) for path, value in one.start.settings.items()}
            for one in sessions}  # fmt: skip
    paths = [*dict.fromkeys(path for own in made.values() for path in own if path != SEED), SEED]
    settings = {one.session_id: _values(one, paths, made[one.session_id]) for one in sessions}
    values: dict[str, dict[str, str | None]] = {}
    for path in paths:
        own = {name: its[path] for name, its in settings.items()}
        if len(set(own.values())) > 1:
            values[path] = own
    names = _names(values)
    return {
        one.session_id: tuple(
            SettingDifference(path, name, values[path][one.session_id]) for path, name in names.items()
        )
        for one in sessions
    }  # fmt: skip


def _values(session: SessionInput, paths: Sequence[str], made: dict[str, str]) -> dict[str, str | None]:
    """Return path → the session's value; its playbook is parsed once, and only for paths that it does not set."""
    left = [path for path in paths if path not in made and path != SEED]
    root = _playbook(session) if left else None
    return {**made, **{path: _written(root, path) for path in left}, SEED: str(session.start.seed)}


def _names(values: dict[str, dict[str, str | None]]) -> dict[str, str]:
    """Return path → its name; of paths with the same name and the same values, only the first is kept."""
    short = {path: _short(path) for path in values}
    names = {}
    for path, name in short.items():
        same = [other for other in values if short[other] == name]
        if all(values[other] == values[path] for other in same):
            if path == same[0]:
                names[path] = name
        else:
            names[path] = path
    return names


def _path(path: str) -> str:
    """Return the full path: the prefix ``clients.`` is optional in settings."""
    return f"clients.{path}" if path.split(".", maxsplit=1)[0] in ("producers", "groups") else path


def _short(path: str) -> str:
    return path.partition(_CONFIG)[2] or path.rpartition(".")[2]


def _plain(value: object) -> str:
    """Return a value without quotes; it comes from a file, where it may have any type."""
    stripped = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip()
    quoted = len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'"
    return stripped[1:-1] if quoted else stripped


def _playbook(session: SessionInput) -> yaml.Node | None:
    """Return a session's playbook as YAML nodes; None if it cannot be read."""
    try:
        file = session.path / session_files.PLAYBOOK
        if file.stat().st_size > _MOST_BYTES:
            return None
        root: yaml.Node | None = yaml.compose(file.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return None
    return root


def _written(node: yaml.Node | None, path: str) -> str | None:
    """Return a playbook's scalar value at a path; None if there is none."""
    place, _config, key = path.partition(_CONFIG)
    for part in [*place.split("."), *(["config", key] if key else [])]:
        node = _child(node, part)
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _child(node: yaml.Node | None, part: str) -> yaml.Node | None:
    """Return the value of a key, or the element of a list with this name or number."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if not isinstance(node, yaml.SequenceNode):
        return None
    named = (each for each in node.value if any(_named(each, key, part) for key in ("name", "id")))
    numbered = node.value[int(part) - 1] if part.isdecimal() and 0 < int(part) <= len(node.value) else None
    return next(named, numbered)


def _named(node: yaml.Node, key: str, name: str) -> bool:
    found = _child(node, key) if isinstance(node, yaml.MappingNode) else None
    return isinstance(found, yaml.ScalarNode) and found.value == name


# The verdict on each session, and the summary sentences.


Row = dict[str, Any]
Tone = Literal["calm", "warning", "alarm"]

MOST_CAUSES: Final = 3
"""Causes of losses that are summarised in sentences; the table of losses has all."""

MOST_DISAGREEMENTS: Final = 5
"""Disagreements that are summarised in sentences; their table has all."""

_VERDICTS: Final = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}


@dataclass(frozen=True, slots=True)
class SessionModel:
    """A session of a report: its table rows, and values derived from them."""

    recorded: SessionInput
    counts: Row
    tables: dict[str, list[Row]]
    problems: tuple[str, ...]
    """Problems of its recording; empty for a complete session."""
    settings: tuple[SettingDifference, ...] = ()
    """Settings in which it differs from other sessions of its playbook in the report."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.recorded.session_id

    @property
    def name(self) -> str:
        """Title of its playbook, or its name."""
        manifest = self.recorded.manifest
        return (manifest.title if manifest else "") or self.recorded.start.title or self.recorded.start.playbook

    @property
    def settings_words(self) -> str:
        """The settings in which it differs from its siblings, ``acks=all, retention.ms=20000``; may be empty."""
        return joined_settings(self.settings)

    @property
    def status(self) -> str:
        """``complete``, ``incomplete`` if events are missing, else ``recovered`` or ``damaged``."""
        if not self.problems:
            return "complete"
        manifest = self.recorded.manifest
        if manifest is None or not self.counts["gapless"] or self.recorded.last_seq < manifest.last_seq:
            return "incomplete"
        return "recovered" if manifest.status == "recovered" and len(self.problems) == 1 else "damaged"

    @property
    def complaint(self) -> str:
        """Heading of its problems: ``Incomplete`` only if events are missing."""
        return {"incomplete": "Incomplete", "damaged": "Damaged"}.get(self.status, "Note")

    @property
    def verdict(self) -> str:
        """``pass``, ``fail``, ``inconclusive``; empty for a session without a verdict."""
        return self.recorded.manifest.verdict if self.recorded.manifest else ""

    @property
    def timeless(self) -> bool:
        """Whether it is a manual session without virtual time, see :attr:`SessionInput.timeless`."""
        return self.recorded.timeless

    @property
    def imported(self) -> bool:
        """Whether its events are those of a real cluster, read from Kafka's logs."""
        return self.recorded.start.imported

    @property
    def acknowledgements_known(self) -> bool:
        """Whether acknowledgements are in its events: an imported session has them only with a history of clients."""
        return not self.imported or bool(self.counts.get("acked", 0))

    @property
    def lost(self) -> list[Row]:
        """Permanent losses; in a session without an end the records missing so far."""
        lost = [row for row in self.tables["losses"] if row["status"] == "lost"]
        if lost or self.recorded.manifest:
            return lost
        return self._missing

    def since(self) -> Callable[[Row], Row]:
        """Return a function from a loss to the row of when the record went missing; the loss has the end time."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self._missing:
            found.setdefault((row["partition"], row["client"]), []).append(row)
        times = {whose: _LastAt(own) for whose, own in found.items()}

        def since(loss: Row) -> Row:
            own = times.get((loss["partition"], loss["client"]))
            return (own.at(loss["log_offset"]) if own else None) or loss

        return since

    @property
    def _missing(self) -> list[Row]:
        return [row for row in self.tables["losses"] if row["status"] == "missing"]

    @property
    def held(self) -> str:
        """Return how many expectations held, as ``4 of 4 expectations held``; empty without expectations."""
        checked = self.tables["expectations"]
        whole = "expectation" if len(checked) == 1 else "expectations"
        return f"{len(checked) - len(self.failed)} of {len(checked)} {whole} held" if checked else ""

    @property
    def loss_expected(self) -> bool:
        """Whether it passed with losses that an expectation of its playbook allows."""
        return self.verdict == "pass" and bool(self.lost) and bool(self.allowing_losses)

    @property
    def rules(self) -> list[str]:
        """The text of its expectations."""
        return [row["rule"] for row in self.tables["expectations"]]

    @property
    def allowing_losses(self) -> list[str]:
        """The expectations that allow lost acknowledged records."""
        return allowing_losses(self.rules)

    @property
    def disagreements(self) -> list[Row]:
        """Values in which the session's own result differs from its events."""
        return self.tables["disagreements"]

    @property
    def failed(self) -> list[Row]:
        """Rows of failed expectations."""
        return [row for row in self.tables["expectations"] if row["ok"] is False]

    def decided_us(self) -> Callable[[Row], int]:
        """Return a function for the time at which an expectation was decided; its event is emitted a little later."""
        results = self.recorded.result.get("expectations")
        times_of: dict[tuple[str, bool | None], list[int]] = {}
        for each in results if isinstance(results, list) else ():
            if isinstance(each, dict) and type(each.get("at_us")) is int:
                text, ok = each.get("text"), each.get("ok")
                if isinstance(text, str) and isinstance(ok, bool | None):
                    times_of.setdefault((text, ok), []).append(each["at_us"])
        left = {checked: iter(times) for checked, times in times_of.items()}
        at_us = {
            row["seq"]: next(left.get((row["rule"], row["ok"]), iter(())), int(row["at_us"]))
            for row in self.tables["expectations"]
        }
        return lambda row: at_us[row["seq"]]

    def unavailable(self, scope: str) -> list[Row]:
        """Return the unavailable intervals with a scope, ``partition`` or ``client``."""
        return [row for row in self.tables["unavailability"] if row["scope"] == scope]

    @property
    def opened_by(self) -> str:
        """The command that opens it in the TUI."""
        path = self.recorded.path
        return path.brought_for("open") if isinstance(path, HadoopPath) else f"floodmark open {quote(self.session_id)}"


class _LastAt:
    """Index over offset ranges that finds the last row covering an offset."""

    def __init__(self, losses: list[Row]) -> None:
        spans = [(row["log_offset"], row["log_offset"] + row["count"]) for row in losses]
        waiting = sorted(range(len(spans)), key=lambda index: spans[index][0], reverse=True)
        self._cuts = sorted({cut for span in spans for cut in span})
        self._from_cut: list[Row | None] = []
        covering: list[int] = []
        for cut in self._cuts:
            while waiting and spans[waiting[-1]][0] <= cut:
                heappush(covering, -waiting.pop())
            while covering and spans[-covering[0]][1] <= cut:
                heappop(covering)
            self._from_cut.append(losses[-covering[0]] if covering else None)

    def at(self, offset: int) -> Row | None:
        """Return the last row that covers this offset; None if none does."""
        index = bisect_right(self._cuts, offset) - 1
        return self._from_cut[index] if index >= 0 else None


@dataclass(frozen=True, slots=True)
class ReportModel:
    """A whole report, the input of every renderer."""

    sessions: tuple[SessionModel, ...]
    set_aside: tuple[SkippedDirectory, ...]
    tables: Tables
    baseline: str = ""
    """Id of the session that the others are compared with; empty for none."""


def build_story(
    sessions: Sequence[SessionInput], set_aside: Sequence[SkippedDirectory], tables: Tables, baseline: str = ""
) -> ReportModel:
    """Group the table rows by session, and return the report's model."""
    by_table = {name: _by_session(table) for name, table in tables.items()}
    stories = []
    differing = differing_settings(sessions)
    for session in sessions:
        own = {name: found.get(session.session_id, []) for name, found in by_table.items()}
        counts = own.pop("counts")[0] if own["counts"] else {"events": 0, "gapless": False}
        problems = session.problems
        if not counts["gapless"]:
            problems += (f"events are missing: {counts['events']:,} read of {session.last_seq + 1:,}",)
        stories.append(SessionModel(session, counts, own, problems, differing[session.session_id]))
    return ReportModel(tuple(stories), tuple(set_aside), tables, baseline)


def first_reasons(set_aside: Sequence[SkippedDirectory], limit: int) -> list[str]:
    """Return the reasons why input was set aside, at most ``limit``, and the number of the others."""
    reasons = [aside.reason for aside in set_aside[:limit]]
    more = len(set_aside) - len(reasons)
    return [*reasons, f"{more:,} more, in report.json"] if more else reasons


def _by_session(table: Any) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows(table):
        found.setdefault(row["session_id"], []).append(row)
    return found


def severity(model: SessionModel) -> Tone:
    """Return the severity of a session's result."""
    if model.verdict == "fail" or model.disagreements:
        return "alarm"
    # A session that passes with an expected loss or violation still deserves attention.
    if model.verdict != "pass" or model.problems or model.lost or model.tables["violations"]:
        return "warning"
    return "calm"


def overall(model: ReportModel) -> tuple[Tone, str]:
    """Return the severity of a report, and its result in one sentence."""
    if len(model.sessions) == 1:
        return severity(model.sessions[0]), headline(model.sessions[0])
    counts = []
    for verdict, word in (
        ("fail", "failed"),
        ("inconclusive", "inconclusive"),
        ("pass", "passed"),
        ("", "without verdict"),
    ):
        count = sum(session.verdict == verdict for session in model.sessions)
        if count:
            counts.append(f"{count} {word}")
    lost = sum(row["count"] for session in model.sessions for row in session.lost)
    expected = sum(session.loss_expected for session in model.sessions)
    lossy = sum(bool(session.lost) for session in model.sessions)
    as_expected = f", as expected in {expected} of {counted(lossy, 'session')} with losses" if expected else ""
    tones = [severity(session) for session in model.sessions]
    worst: Tone = "alarm" if "alarm" in tones else "warning" if "warning" in tones else "calm"
    found = f"{_capital(counted(lost, 'acknowledged record'))} lost{as_expected}"
    return worst, f"{len(model.sessions)} sessions: {', '.join(counts)}. {found}."


def headline(model: SessionModel) -> str:
    """Return the verdict in one or two sentences."""
    if not model.verdict:
        what = f"INCOMPLETE: the recording stops at {rounded_time(model.recorded.end_us)}, without a verdict."
    else:
        verdict = _VERDICTS.get(model.verdict, model.verdict.upper())
        what = f"{verdict}{_about_loss(model)}: {_reason(model)}."
    return f"{what} {_loss_sentence(model)}"


def _about_loss(model: SessionModel) -> str:
    """Return whether a loss beside a passed verdict was expected; empty for other verdicts, and without a loss."""
    if model.verdict != "pass" or not model.lost:
        return ""
    return ", as expected" if model.loss_expected else ", loss not expected"


def sentences(model: SessionModel) -> list[str]:
    """Return summary sentences, the most important first."""
    lines = [
        *_causes(model),
        _expected(model),
        *_points(model),
        _saved_by(model),
        _faults(model),
        *_outages(model),
        _own_topics(model),
        _slowest(model),
        _controllers(model),
        _elections(model),
    ]
    lines += [_violated(row) for row in model.tables["violations"][:3]]
    lines += [_contradicted(row) for row in model.disagreements[:MOST_DISAGREEMENTS]]
    if len(model.disagreements) > MOST_DISAGREEMENTS:
        more = counted(len(model.disagreements) - MOST_DISAGREEMENTS, "more disagreement")
        lines.append(f"{more} in the table of disagreements.")
    return [sentence for sentence in lines if sentence]


def _expected(model: SessionModel) -> str:
    """Return a sentence with the expectations that allow the losses; empty if there are none."""
    rules = ", ".join(model.allowing_losses)
    return f"As expected: {model.held}; the loss is allowed by {rules}." if model.loss_expected else ""


def _points(model: SessionModel) -> list[str]:
    """Return a sentence for each point of no return."""
    return [
        f"Point of no return{_of_finding(model, row)}: {'; '.join(row['explanation'])}."
        for row in model.tables["points_of_no_return"][:MOST_CAUSES]
        if row["explanation"]
    ]


def _of_finding(model: SessionModel, row: Row) -> str:
    return f" of finding {row['finding']}" if len(model.tables["points_of_no_return"]) > 1 else ""


def _saved_by(model: SessionModel) -> str:
    """Return a sentence with the changes that prevent every loss, the cheapest first."""
    lossy = [row for row in model.tables["remedies"] if row["kind"] == "lost"]
    # A change that prevents the loss with this seed but not with another one has the effect "helps".
    saving = [row for row in lossy if row["remaining"] == 0 and row["effect"] in ("saves", "helps")]
    if texts := [row["summary"] for row in saving[:MOST_CAUSES]]:
        return f"Would have prevented it, with the same seed: {'; '.join(texts)}."
    return "None of the tried changes prevents the whole loss." if lossy else ""


def _contradicted(row: Row) -> str:
    """Return a sentence on a value in which a result file differs from the events."""
    where = f" of {row['partition']}" if row["partition"] else ""
    what = f"{row['name'].replace('_', ' ')}{where}"
    return f"Disagreement: {row['source']} has {row['reported']:,} {what}, the events have {row['found']:,}."


def _violated(row: Row) -> str:
    """Return a sentence on a violated invariant; old recordings have no ``known``."""
    known = f" ({row['known']})" if row.get("known") else ""
    return f"Invariant {row['invariant']} was violated: {row['detail']}{known}"


def _reason(model: SessionModel) -> str:
    checked = model.tables["expectations"]
    if model.verdict == "fail" and model.failed:
        if len(checked) == 1:
            return "the only expectation failed"
        return f"{len(model.failed)} of {len(checked)} expectations failed"
    if model.verdict == "pass":
        if not checked:
            return "it has no expectations, and ran to its end"
        if not model.lost or model.loss_expected:
            return model.held
        return f"{model.held}, {unexpected_loss_text(model.rules)}"
    if model.verdict == "inconclusive":
        return str(model.recorded.result.get("reason") or "its expectations could not be evaluated")
    return "not every expectation of its playbook held"


def _loss_sentence(model: SessionModel) -> str:
    lost = sum(row["count"] for row in model.lost if row["status"] == "lost")
    missing = sum(row["count"] for row in model.lost if row["status"] == "missing")
    if not lost and missing:
        return f"{_capital(counted(missing, 'acknowledged record'))} missing by then."
    if not model.acknowledgements_known:
        if not lost:
            return "No committed record is known to be missing; Kafka's logs do not have acknowledgements."
        were = "record is" if lost == 1 else "records are"
        return f"{lost:,} committed {were} missing from the leaders' logs."
    if not lost:
        return "No acknowledged record was lost."
    committed = sum(row["count"] for row in model.lost if row["status"] == "lost" and row["committed"])
    text = f"{_capital(counted(lost, 'acknowledged record'))} {'was' if lost == 1 else 'were'} lost"
    if not committed:
        return f"{text}."
    if committed == lost:
        which = "it was committed" if lost == 1 else "all of them were committed"
        return f"{text}; {which}: consumers may have read {'it' if lost == 1 else 'them'}."
    return f"{text}, {committed:,} of them committed: consumers may have read those."


def _causes(model: SessionModel) -> list[str]:
    causes = list(dict.fromkeys(row["cause"] for row in model.lost))
    more = [f"{counted(len(causes) - MOST_CAUSES, 'more cause')} in the table of losses."]
    lines = [f"Why: {cause.rstrip('.')}." for cause in causes[:MOST_CAUSES]]
    return lines + more if len(causes) > MOST_CAUSES else lines


def _faults(model: SessionModel) -> str:
    faults = model.tables["faults"]
    if not faults and model.timeless:
        refused = sum(bool(row["error"]) for row in model.tables["steps"])
        return f"{_capital(counted(len(model.tables['steps']), 'manual step'))}, {refused or 'none'} refused."
    if not faults and model.imported:
        return "The faults are those of a real cluster: its logs have their effects, not their causes."
    if not faults:
        return "No fault was injected."
    texts = [
        f"{row['fault']} on {row['target'] or 'the cluster'} "
        + (
            f"from {rounded_time(row['began_us'])} to the end"
            if row["open"]
            else f"from {rounded_time(row['began_us'])} to {rounded_time(row['ended_us'])}"
        )
        for row in faults[:3]
    ]
    more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
    return f"{_capital(counted(len(faults), 'fault'))}: {'; '.join(texts)}{more}."


def _outages(model: SessionModel) -> list[str]:
    lines = []
    if worst := _worst(user_topic_rows(model.unavailable("partition")), ("partition",)):
        (partition,), total, spans, first = worst
        lines.append(
            f"{partition} had no serving leader {_how_long(model, total)}in {counted(spans, 'interval')}; the longest "
            f"starts with: {first['began_by']}"
            + (f", and ends with: {first['ended_by']}." if first["ended_by"] else ".")
        )
    if worst := _worst(model.unavailable("client"), ("client", "acks", "partition")):
        (client, level, partition), total, spans, first = worst
        answered = f"first error {first['began_by']}" if first["began_by"] else "without any response"
        lines.append(
            f"{client} with acks={acks(level)} could not write to {partition} {_how_long(model, total)}in "
            f"{counted(spans, 'interval')}; {answered}."
        )
    return lines


def _own_topics(model: SessionModel) -> str:
    """Return a sentence on unavailable partitions of internal topics, if user topics have unavailable ones too."""
    found = model.unavailable("partition")
    own = [row for row in found if is_internal(row["partition"])]
    if not own or len(own) == len(found) or model.timeless:
        return ""
    worst = max(row["duration_us"] for row in own)
    count = len({row["partition"] for row in own})
    own_partitions = counted(count, "partition")
    return f"{own_partitions} of internal topics had no serving leader, for at most {rounded_duration(worst)}."


def _slowest(model: SessionModel) -> str:
    """Return a sentence on the maximum produce latency, if faults affected it."""
    by_phase = {(row["client"], row["phase"]): row for row in model.tables["latency"] if row["what"] == "produce"}
    during = [row for (_client, phase), row in by_phase.items() if phase == "during"]
    if not during or model.timeless:
        return ""
    worst = max(during, key=lambda row: row["max_us"])
    before = by_phase.get((worst["client"], "before"))
    usual = f"; its p99 before any fault was {rounded_duration(before['p99_us'])}" if before else ""
    return f"The maximum produce latency of {worst['client']} was {rounded_duration(worst['max_us'])}{usual}."


def _how_long(model: SessionModel, us: int) -> str:
    return "" if model.timeless else f"for {rounded_duration(us)} "


def _worst(spans: list[Row], keys: tuple[str, ...]) -> tuple[tuple[Any, ...], int, int, Row] | None:
    """Return the key with the longest total unavailability, that total, its intervals, and the longest of them."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in spans:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    if not groups:
        return None
    key = max(groups, key=lambda name: sum(row["duration_us"] for row in groups[name]))
    own = groups[key]
    return key, sum(row["duration_us"] for row in own), len(own), max(own, key=lambda row: row["duration_us"])


def _controllers(model: SessionModel) -> str:
    """Return a sentence on controller changes; empty if there were none."""
    found = model.tables["controllers"]
    texts = [f"{row['node']} at {rounded_time(row['at_us'])} in epoch {row['leader_epoch']}" for row in found[:3]]
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return f"The controller changed {counted(len(found), 'time')}: {'; '.join(texts)}{more}." if found else ""


def _elections(model: SessionModel) -> str:
    counts = model.counts
    clean, unclean, offline = (counts.get(f"elections_{kind}", 0) for kind in ("clean", "unclean", "offline"))
    if not clean + unclean + offline:
        return ""
    bad = f"{unclean:,} unclean" if unclean else "none unclean"
    without_leader = f"; {counted(offline, 'election')} without an eligible replica" if offline else ""
    return f"{_capital(counted(clean, 'clean election'))}, {bad}{without_leader}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# Availability of partitions and clients before, during and after each fault.


PHASES: Final = ("before", "during", "after")
LEAST_US: Final = 1_000_000
"""Minimum length of the phases before and after a fault; otherwise they are as long as the fault."""


def windows(fault: Row, end_us: int) -> dict[str, tuple[int, int]]:
    """Return the phases of a fault within the session, without empty ones."""
    began, ended = fault["began_us"], fault["ended_us"]
    length = max(LEAST_US, ended - began)
    ranges = {
        "before": (max(0, began - length), began),
        "during": (began, ended),
        "after": (ended, min(end_us, ended + length)),
    }
    return {phase: (begin, end) for phase, (begin, end) in ranges.items() if begin < end}


def served(model: SessionModel, scope: str) -> list[Row]:
    """Return the availability for each fault and phase, over all partitions or all clients' partitions."""
    end_us = model.recorded.end_us
    observed = user_topic_rows([row for row in model.tables["availability"] if row["scope"] == scope])
    since = {_whom(row): end_us - row["observed_us"] for row in observed if row["observed_us"]}
    last = max([end_us, *(fault["ended_us"] for fault in model.tables["faults"])])
    all_time = _TimeWithin([(first, last) for first in since.values()])
    without = _TimeWithin(
        [
            (max(row["began_us"], since[_whom(row)]), row["ended_us"])
            for row in model.unavailable(scope)
            if _whom(row) in since
        ]
    )
    rows = []
    for fault in model.tables["faults"]:
        for phase, (begin, end) in windows(fault, end_us).items():
            time = all_time.between(begin, end)
            if not time:
                continue
            served = 1 - without.between(begin, end) / time
            rows.append({"fault_id": fault["fault_id"], "scope": scope, "phase": phase, "availability": served})
    return rows


def _whom(row: Row) -> tuple[str, str, int | None]:
    return row["partition"], row["client"], row["acks"]


class _TimeWithin:
    """Index that sums the overlap of many intervals with a time range."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        kept = [(begin, end) for begin, end in intervals if begin < end]
        self._begins = sorted(begin for begin, _end in kept)
        self._ends = sorted(end for _begin, end in kept)
        self._begun = [0, *accumulate(self._begins)]
        self._ended = [0, *accumulate(self._ends)]

    def between(self, begin: int, end: int) -> int:
        """Return the total time of the intervals within ``begin`` to ``end``."""
        return self._until(end) - self._until(begin)

    def _until(self, at_us: int) -> int:
        begun, ended = bisect_left(self._begins, at_us), bisect_left(self._ends, at_us)
        return begun * at_us - self._begun[begun] - (ended * at_us - self._ended[ended])
