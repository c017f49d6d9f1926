"""Interim report of a running session as rows of a page: the lines that a run prints at its end, so far."""

from typing import Final, NamedTuple

from cluster_model.checker.root_cause import Finding
from cluster_model.observation import ClientPartitionStats
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import clock, compact_count, counted, short_seconds
from playbooks.engine.session_runner import PreliminaryResult, is_open
from playbooks.results.outages import OutageSummary, outage_texts
from playbooks.results.result import ExpectationResult, SessionResult
from tui.output.result import (
    KNOWN,
    allowed_anomalies_text,
    disallowed_anomaly_lines,
    guard_lines,
    ledger_text,
    liveness_violation_text,
    lost_ranges,
    refusal_text,
    skipped_faults_text,
    stall_text,
    violation_lines,
)
from tui.terminal import glyphs
from tui.terminal.format import records, wrap
from tui.viewmodel.finding_page import headline, in_present_tense
from tui.viewmodel.row import Row

MOST: Final = 40
"""Maximum lines of one kind; the rest is counted."""
SPANS: Final = 3
"""Maximum number of outages of a partition shown one by one."""
WIDE: Final = 100
"""Minimum width for the offsets of lost records in the table."""
_CELL: Final = 7
_NAME: Final = 22
_BLANK: Final = Row(())


class ReportPage(NamedTuple):
    """Rows of the page, and the index of the first row of each finding."""

    rows: tuple[Row, ...]
    findings: tuple[int, ...]


def build(so_far: PreliminaryResult, session: str, width: int, marked: int = 0) -> ReportPage:
    """Return the page for ``width`` cells; ``session`` is the directory of the recording, empty without one.

    ``marked`` is the number of the finding under the cursor, from 1; 0 for none.
    """
    result, width = so_far.result, max(20, width - 2)
    head = [*_verdict(so_far, width), *_records(result, width), *_unserved(result, width)]
    head += _heading(f"Findings  {len(result.findings)}")
    findings: list[Row] = []
    starts = []
    for number, finding in enumerate(result.findings, 1):
        starts.append(len(head) + len(findings))
        findings += _finding(number, finding, width, marked == number)
    if not findings:
        findings.append(_quiet("no finding about any record"))
    rest = [*_broken(result, width), *_late(result, width), *_seen(result, width), *_acted(result, width)]
    return ReportPage((*head, *findings, *rest, *_full(session, width)), tuple(starts))


def _verdict(so_far: PreliminaryResult, width: int) -> list[Row]:
    result, ledger = so_far.result, so_far.result.ledger
    away = ledger.missing - ledger.acked_lost
    lost = f"{records(ledger.acked_lost, 'acknowledged')} lost" if ledger.acked_lost else ""
    missing = f"{records(away, 'acknowledged')} missing, may still reappear" if away > 0 else ""
    losses = ", ".join(part for part in (lost, missing) if part) or "no acknowledged record lost or missing"
    word, role = ("FAIL", "alarm") if so_far.failed else ("no failed expectation", "calm")
    first = Row(
        ((f"{word} so far ", role), (f"at {clock(result.virtual_us)}: ", "text"), (losses, "alarm" if lost else "text"))
    )
    rows = [Row((("Verdict", "calm"),)), first]
    passed = sum(checked.ok and checked.by_step for checked in result.expectations)
    if passed:
        rows.append(Row(((f"{glyphs.OK} ", "calm"), (f"{counted(passed, 'assertion')} of the steps passed", "text"))))
    for checked in result.expectations:
        if not (checked.ok and checked.by_step):
            rows += _expected(so_far, checked, width)
    if not result.expectations:
        rows.append(_quiet("the playbook has no expectations: only violations and anomalies count"))
    return rows


def _expected(so_far: PreliminaryResult, checked: ExpectationResult, width: int) -> list[Row]:
    if is_open(checked):
        now = (
            "passing now" if checked.text in so_far.holding else "failing now" if checked.text in so_far.failing else ""
        )
        role = "warning" if checked.text in so_far.failing else "quiet"
        return _lines(f"{glyphs.LAGGING} ", role, checked.text, "text", f"pending{f', {now}' if now else ''}", width)
    glyph, role = (glyphs.OK, "calm") if checked.ok else (glyphs.DOWN, "alarm")
    return _lines(f"{glyph} ", role, checked.text, "text" if checked.ok else "alarm", checked.detail, width)


def _lines(mark: str, mark_role: str, text: str, role: str, more: str, width: int) -> list[Row]:
    """Return wrapped text after a mark, with ``more`` in parentheses after it or on the lines below."""
    first, *rest = wrap(text, width - len(mark)) or [""]
    rows = [Row(((mark, mark_role), (first, role)))]
    rows += [Row(((" " * len(mark), "text"), (line, role))) for line in rest]
    if more and len(rows) == 1 and len(mark) + len(first) + len(more) + 4 <= width:
        rows[0] = Row((*rows[0].pieces, (f"  ({more})", "quiet")))
    elif more:
        rows += [Row(((" " * len(mark), "text"), (line, "quiet"))) for line in wrap(more, width - len(mark))]
    return rows


# -- records ---------------------------------------------------------------------------------------------------------

_COLUMNS: Final = (
    ("sent", "sent", "text"), ("acked", "acked", "text"), ("failed", "failed", "warning"),
    ("unkn.", "unknown", "warning"), ("pend.", "pending", "quiet"), ("miss.", "missing", "warning"),
    ("lost", "acked_lost", "alarm"),
)  # fmt: skip
"""Heading, attribute of the counters, and role of a number other than 0."""


def _records(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Records")
    rows += [Row(((line, "text"),)) for line in wrap(ledger_text(result), width)]
    stats = sorted(result.ledger.clients, key=lambda each: (not each.has_violations, each.client, each.partition))
    if not stats:
        return rows
    heads = "".join(head.rjust(_CELL) for head, _term, _role in _COLUMNS)
    which = "  lost records by sequence" if width >= WIDE and any(each.acked_lost for each in stats) else ""
    rows.append(Row(((f"{'producer, partition'.ljust(_NAME)}{heads}{which}", "quiet"),)))
    rows += [_book(each, width) for each in stats[:MOST]]
    return rows + _more(len(stats) - MOST, "line")


def _book(book: ClientPartitionStats, width: int) -> Row:
    name = f"{book.client} {book.partition}"
    name = name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
    pieces = [(name.ljust(_NAME), "text")]
    for _head, term, role in _COLUMNS:
        number = getattr(book, term)
        pieces.append((compact_count(number).rjust(_CELL), role if number else "quiet"))
    if width >= WIDE and book.acked_lost:
        pieces.append((f"  {lost_ranges(book)}", "quiet"))
    return Row(tuple(pieces))


def _unserved(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Unavailable")
    lines = result.unavailable.partitions
    own = [each for each in lines if each.partition.rpartition("-")[0] in INTERNAL]
    of_users = [each for each in lines if each not in own]
    rows += [row for line in outage_texts(result.unavailable) for row in _lines("", "text", line, "warning", "", width)]
    rows += [row for each in of_users[:MOST] for row in _outage(each, width)]
    rows += _more(len(of_users) - MOST, "partition")
    if own:
        longest = short_seconds(max(each.longest_us for each in own))
        rows.append(_quiet(f"{counted(len(own), 'partition')} of internal topics, up to {longest} at a time"))
    if len(rows) == len(_heading("")):
        rows.append(_quiet("every partition was writable all the time"))
    return rows


def _outage(line: OutageSummary, width: int) -> list[Row]:
    spans = [f"{clock(start)} to {clock(end)}" for start, end in line.spans[:SPANS]]
    rest = line.times - len(spans)
    more = [f"and {counted(rest, 'time')} more"] if rest > 0 else []
    return _lines("", "text", f"{line.partition} {short_seconds(line.us)}", "text", ", ".join([*spans, *more]), width)


# -- findings and violations ---------------------------------------------------------------------------------------


def _finding(number: int, finding: Finding, width: int, marked: bool) -> list[Row]:
    head, role = headline(finding)
    mark = f"{glyphs.MARKER if marked else ' '}{number} "
    rows = _lines(mark, "key", head, role, "", width)
    text = in_present_tense(finding.sentence, finding.kind)
    lines = wrap(text, width - len(mark))
    return rows + [Row(((" " * len(mark), "text"), (line, "text" if marked else "quiet"))) for line in lines]


def _broken(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Safety")
    for word, line in violation_lines(result)[:MOST]:
        role = "warning" if word == KNOWN else "alarm"
        rows += _lines(f"{glyphs.VIOLATION} ", role, f"{word} {line}", role, "", width)
    rows += _more(len(result.violations) - MOST, "violation")
    return rows if result.violations else [*rows, _quiet("no invariant violated")]


def _late(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Liveness")
    for late in result.liveness_violations[:MOST]:
        role = "warning" if late.known else "alarm"
        rows += _lines(
            f"{glyphs.VIOLATION} ", role, f"deadline missed: {liveness_violation_text(late)}", role, "", width
        )
    rows += _more(len(result.liveness_violations) - MOST, "missed deadline")
    for each in result.stuck[:MOST]:
        rows += _lines(f"{glyphs.PAUSED} ", "warning", f"stuck {stall_text(each)}", "text", "", width)
    rows += _more(len(result.stuck) - MOST, "stuck partition")
    return rows if result.liveness_violations or result.stuck else [*rows, _quiet("no liveness deadline missed")]


def _seen(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Client-visible anomalies")
    for line in disallowed_anomaly_lines(result.anomalies):
        rows += _lines(f"{glyphs.DOWN} ", "alarm", line, "alarm", "", width)
    legal = allowed_anomalies_text(result.anomalies)
    if legal:
        rows += _lines("", "text", f"allowed {legal}", "quiet", "", width)
    return rows if result.anomalies else [*rows, _quiet("none")]


def _acted(result: SessionResult, width: int) -> list[Row]:
    texts = [f"safety guard {line}" for line in guard_lines(result.guards)]
    texts += [f"skipped {skipped_faults_text(result.skipped)}"] if result.skipped else []
    texts += [f"refused {refusal_text(result.refused)}"] if result.refused else []
    rows = [row for line in texts for row in _lines("", "text", line, "text", "", width)]
    return [*_heading("Faults not injected, and safety guards"), *rows] if rows else []


def _full(session: str, width: int) -> list[Row]:
    rows = _heading("Full report")
    if not session:
        return [*rows, *_lines("", "text", "not available: this session is not recorded", "quiet", "", width)]
    rows += _lines("", "text", "after quitting, with tables and charts:", "quiet", "", width)
    rows += _command(f"floodmark report {session}", width)
    rows += _lines("", "text", "to export the session as a playbook: e, or after quitting", "quiet", "", width)
    return [*rows, *_command(f"floodmark export {session}", width)]


def _command(text: str, width: int) -> list[Row]:
    """Return a command over as many lines as it needs; a path has no spaces to wrap at."""
    return [Row(((text[start : start + width], "strong"),)) for start in range(0, len(text), width)]


def summary(so_far: PreliminaryResult) -> str:
    """Return the title for the border, with the virtual time of the report."""
    return f"Report {glyphs.NOTHING} so far, as of {clock(so_far.result.virtual_us)}"


def _heading(text: str) -> list[Row]:
    return [_BLANK, Row(((text, "calm"),))]


def _more(count: int, what: str) -> list[Row]:
    return [_quiet(f"and {counted(count, f'more {what}')}")] if count > 0 else []


def _quiet(text: str) -> Row:
    return Row(((text, "quiet"),))
