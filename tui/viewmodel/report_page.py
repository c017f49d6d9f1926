"""What a session has come to so far, as rows of a page: the lines that a run prints at its end, while it goes on."""

from typing import Final, NamedTuple

from cluster_model.checker.root_cause import Finding
from cluster_model.observation import BookView
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import clock, compact_count, counted, short_seconds
from playbooks.engine.session_runner import SoFar, is_open
from playbooks.results.outages import OutageSummary, outage_words
from playbooks.results.result import ExpectationResult, SessionResult
from tui.output.result import (
    KNOWN,
    guard_lines,
    illegal_lines,
    ledger_words,
    legal_words,
    numbers,
    overdue_words,
    refusal_words,
    skip_words,
    stuck_words,
    violation_lines,
)
from tui.terminal import glyphs
from tui.terminal.format import records, wrap
from tui.viewmodel.finding_page import headline, said
from tui.viewmodel.row import Row

MOST: Final = 40
"""Lines of one kind; the rest is counted."""
SPANS: Final = 3
"""Stretches of time of a partition that are told one by one."""
WIDE: Final = 100
"""From this width on the table of records says which are lost."""
_CELL: Final = 7
_NAME: Final = 22
_BLANK: Final = Row(())


class ReportPage(NamedTuple):
    """The rows, and where each finding begins among them."""

    rows: tuple[Row, ...]
    findings: tuple[int, ...]


def build(so_far: SoFar, session: str, width: int, marked: int = 0) -> ReportPage:
    """The page for so many cells; ``session`` is where the recording is, empty for none.

    ``marked`` is the number of the finding that the cursor is on, from 1; 0 for none.
    """
    result, width = so_far.result, max(20, width - 2)
    head = [*_verdict(so_far, width), *_records(result, width), *_unserved(result, width)]
    head += _heading(f"Findings  {len(result.findings)}")
    told: list[Row] = []
    places = []
    for number, finding in enumerate(result.findings, 1):
        places.append(len(head) + len(told))
        told += _finding(number, finding, width, marked == number)
    if not told:
        told.append(_quiet("nothing went wrong with any record"))
    rest = [*_broken(result, width), *_late(result, width), *_seen(result, width), *_acted(result, width)]
    return ReportPage((*head, *told, *rest, *_full(session, width)), tuple(places))


def _verdict(so_far: SoFar, width: int) -> list[Row]:
    result, ledger = so_far.result, so_far.result.ledger
    away = ledger.missing - ledger.acked_lost
    lost = f"{records(ledger.acked_lost, 'acknowledged')} lost" if ledger.acked_lost else ""
    missing = f"{records(away, 'acknowledged')} missing, which may come back" if away > 0 else ""
    harm = ", ".join(part for part in (lost, missing) if part) or "no acknowledged record is lost or missing"
    word, role = ("FAIL", "alarm") if so_far.failed else ("not failed", "calm")
    first = Row(
        ((f"{word} so far ", role), (f"at {clock(result.virtual_us)}: ", "text"), (harm, "alarm" if lost else "text"))
    )
    rows = [Row((("Verdict", "calm"),)), first]
    kept = sum(checked.ok and checked.by_step for checked in result.expectations)
    if kept:
        rows.append(Row(((f"{glyphs.OK} ", "calm"), (f"{counted(kept, 'assertion')} along the steps", "text"))))
    for checked in result.expectations:
        if not (checked.ok and checked.by_step):
            rows += _expected(so_far, checked, width)
    if not result.expectations:
        rows.append(_quiet("the playbook expects nothing: only what is broken by itself counts"))
    return rows


def _expected(so_far: SoFar, checked: ExpectationResult, width: int) -> list[Row]:
    if is_open(checked):
        now = "now: yes" if checked.text in so_far.holding else "now: no" if checked.text in so_far.failing else ""
        role = "warning" if checked.text in so_far.failing else "quiet"
        return _lines(f"{glyphs.LAGGING} ", role, checked.text, "text", f"open{f', {now}' if now else ''}", width)
    glyph, role = (glyphs.OK, "calm") if checked.ok else (glyphs.DOWN, "alarm")
    return _lines(f"{glyph} ", role, checked.text, "text" if checked.ok else "alarm", checked.detail, width)


def _lines(mark: str, mark_role: str, text: str, role: str, more: str, width: int) -> list[Row]:
    """Words behind a mark, what is known of them behind the words or below."""
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
    ("unkn.", "unknown", "warning"), ("open", "pending", "quiet"), ("miss.", "missing", "warning"),
    ("lost", "acked_lost", "alarm"),
)  # fmt: skip
"""Heading, term of the books, and role of a number that is not nought."""


def _records(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Records")
    rows += [Row(((line, "text"),)) for line in wrap(ledger_words(result), width)]
    books = sorted(result.ledger.books, key=lambda each: (not each.harmed, each.client, each.partition))
    if not books:
        return rows
    heads = "".join(head.rjust(_CELL) for head, _term, _role in _COLUMNS)
    which = "  lost, by its numbers" if width >= WIDE and any(each.acked_lost for each in books) else ""
    rows.append(Row(((f"{'producer, partition'.ljust(_NAME)}{heads}{which}", "quiet"),)))
    rows += [_book(each, width) for each in books[:MOST]]
    return rows + _more(len(books) - MOST, "line")


def _book(book: BookView, width: int) -> Row:
    name = f"{book.client} {book.partition}"
    name = name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
    pieces = [(name.ljust(_NAME), "text")]
    for _head, term, role in _COLUMNS:
        number = getattr(book, term)
        pieces.append((compact_count(number).rjust(_CELL), role if number else "quiet"))
    if width >= WIDE and book.acked_lost:
        pieces.append((f"  {numbers(book)}", "quiet"))
    return Row(tuple(pieces))


def _unserved(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Not served")
    lines = result.unavailable.partitions
    own = [each for each in lines if each.partition.rpartition("-")[0] in INTERNAL]
    others = [each for each in lines if each not in own]
    rows += [row for line in outage_words(result.unavailable) for row in _lines("", "text", line, "warning", "", width)]
    rows += [row for each in others[:MOST] for row in _outage(each, width)]
    rows += _more(len(others) - MOST, "partition")
    if own:
        longest = short_seconds(max(each.longest_us for each in own))
        rows.append(_quiet(f"{counted(len(own), 'partition')} of Kafka's own topics, up to {longest} at once"))
    if len(rows) == len(_heading("")):
        rows.append(_quiet("every partition could be written all the time"))
    return rows


def _outage(line: OutageSummary, width: int) -> list[Row]:
    told = [f"{clock(start)} to {clock(end)}" for start, end in line.spans[:SPANS]]
    rest = line.times - len(told)
    more = [f"and {counted(rest, 'time')} more"] if rest > 0 else []
    return _lines("", "text", f"{line.partition} {short_seconds(line.us)}", "text", ", ".join([*told, *more]), width)


# -- what went wrong -------------------------------------------------------------------------------------------------


def _finding(number: int, finding: Finding, width: int, marked: bool) -> list[Row]:
    head, role = headline(finding)
    mark = f"{glyphs.MARKER if marked else ' '}{number} "
    rows = _lines(mark, "key", head, role, "", width)
    text = said(finding.sentence, finding.kind)
    lines = wrap(text, width - len(mark))
    return rows + [Row(((" " * len(mark), "text"), (line, "text" if marked else "quiet"))) for line in lines]


def _broken(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Safety")
    for word, line in violation_lines(result)[:MOST]:
        role = "warning" if word == KNOWN else "alarm"
        rows += _lines(f"{glyphs.BROKEN} ", role, f"{word} {line}", role, "", width)
    rows += _more(len(result.violations) - MOST, "violation")
    return rows if result.violations else [*rows, _quiet("no rule of the protocol was broken")]


def _late(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("Promises of time")
    for late in result.overdue[:MOST]:
        role = "warning" if late.known else "alarm"
        rows += _lines(f"{glyphs.BROKEN} ", role, f"overdue {overdue_words(late)}", role, "", width)
    rows += _more(len(result.overdue) - MOST, "overdue promise")
    for each in result.stuck[:MOST]:
        rows += _lines(f"{glyphs.PAUSED} ", "warning", f"stuck {stuck_words(each)}", "text", "", width)
    rows += _more(len(result.stuck) - MOST, "stuck partition")
    return rows if result.overdue or result.stuck else [*rows, _quiet("nothing is overdue")]


def _seen(result: SessionResult, width: int) -> list[Row]:
    rows = _heading("What clients could see")
    for line in illegal_lines(result.anomalies):
        rows += _lines(f"{glyphs.DOWN} ", "alarm", line, "alarm", "", width)
    legal = legal_words(result.anomalies)
    if legal:
        rows += _lines("", "text", legal, "quiet", "", width)
    return rows if result.anomalies else [*rows, _quiet("nothing out of order")]


def _acted(result: SessionResult, width: int) -> list[Row]:
    told = [f"guard {line}" for line in guard_lines(result.guards)]
    told += [f"skipped {skip_words(result.skipped)}"] if result.skipped else []
    told += [f"refused {refusal_words(result.refused)}"] if result.refused else []
    rows = [row for line in told for row in _lines("", "text", line, "text", "", width)]
    return [*_heading("On the way"), *rows] if rows else []


def _full(session: str, width: int) -> list[Row]:
    rows = _heading("The full report")
    if not session:
        return [*rows, *_lines("", "text", "this session is not being recorded: there is none", "quiet", "", width)]
    rows += _lines("", "text", "once you have quit, with tables and pictures:", "quiet", "", width)
    rows += _command(f"floodmark report {session}", width)
    rows += _lines("", "text", "a playbook of the session: e, or later", "quiet", "", width)
    return [*rows, *_command(f"floodmark export {session}", width)]


def _command(text: str, width: int) -> list[Row]:
    """Whole, in as many lines as that takes: a path has no blanks to be broken at."""
    return [Row(((text[start : start + width], "strong"),)) for start in range(0, len(text), width)]


def summary(so_far: SoFar) -> str:
    """For the border: of which instant it tells."""
    return f"Report {glyphs.NOTHING} so far, as of {clock(so_far.result.virtual_us)}"


def _heading(text: str) -> list[Row]:
    return [_BLANK, Row(((text, "calm"),))]


def _more(rest: int, what: str) -> list[Row]:
    return [_quiet(f"and {counted(rest, f'more {what}')}")] if rest > 0 else []


def _quiet(text: str) -> Row:
    return Row(((text, "quiet"),))
