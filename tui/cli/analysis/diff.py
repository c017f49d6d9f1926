"""``floodmark diff``: comparison of two recorded sessions."""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, Final

from rich.console import Console

from cluster_model.util.quantities import counted, time_in_seconds
from playbooks.diff.session_diff import DiffEvent, DiffRow, DiffSection, FirstDifference, SessionDiff, compare
from playbooks.errors import BAD_INPUT, FAILED, OK
from playbooks.session_format.session_files import SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.command_end import to_text
from tui.output.console import ProgressLine, print_document, print_error, print_line, stderr_console, stdout_console

TEXT_LINES: Final = 24
"""Lines of the playbooks' diff that are shown; the rest is counted."""
ROWS: Final = 20
"""Rows of a section that are shown; the rest is counted."""
LEAST: Final = 14
"""Minimum width of a value, in terminal columns."""
SENTENCES: Final = ("expectations", "losses by cause")
"""Sections whose rows are sentences, printed above their values instead of beside them."""


def run_diff(left: str, right: str, *, json: bool, everything: bool) -> int:
    """Compare two sessions, by path or id; return 0 if they are the same, 1 if not, 2 if one cannot be read."""
    try:
        paths = [find_session(text, sessions_root()) for text in (left, right)]
        with ProgressLine(stderr_console()) as progress_line:

            def on_progress(done: int, total: int) -> None:
                progress_line.update(lambda: f"comparing: {done * 100 // max(1, total)}% of the events")

            difference = compare(paths[0], paths[1], on_progress)
    except SessionError as error:
        print_error(str(error))
        return BAD_INPUT
    if json:
        print_document(to_text(difference.to_json()))
    else:
        print_comparison(stdout_console(), difference, everything=everything)
    return OK if difference.same else FAILED


def print_comparison(console: Console, difference: SessionDiff, *, everything: bool) -> None:
    """Print the comparison; only differences unless ``everything``."""
    print_line(console, f"left   {difference.left.start.session_id}", "bold")
    print_line(console, f"right  {difference.right.start.session_id}", "bold")
    for note in difference.notes:
        _wrapped(console, "note: ", note, "yellow")
    _section(console, difference.identity, everything=everything)
    _print_text(console, difference.playbook, everything=everything)
    _print_partings(console, difference)
    for section in difference.sections:
        _section(console, section, everything=everything)
    print_line(console, "")
    _print_end(console, difference)


def _print_end(console: Console, difference: SessionDiff) -> None:
    # An expectation that only one side has is shown above, but is no difference in the results.
    differing = [
        section.name
        for section in difference.sections
        if any(row.both or section.name != "expectations" for row in section.differing)
    ]
    if not difference.same:
        events = ["events"] if difference.walk.cluster is not None else []
        print_line(console, f"they differ in {', '.join([*events, *differing])}", "bold red")
        return
    same = f"the same: {counted(difference.walk.same, 'event')} of the cluster"
    if difference.walk.playbook_events is not None or difference.playbook:
        same += "; only the playbook's text and events differ"
    print_line(console, same, "bold green")


def _print_text(console: Console, lines: Sequence[str], *, everything: bool) -> None:
    if not lines:
        return
    _head(console, "playbook")
    shown = lines if everything else lines[:TEXT_LINES]
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in shown:
        cut = line if everything or len(line) <= console.width - 2 else line[: console.width - 5] + "..."
        print_line(console, f"  {cut}", colours.get(line[:1], "dim"))
    if len(shown) < len(lines):
        print_line(console, f"  and {counted(len(lines) - len(shown), 'more line')}; --all shows them", "dim")


def _print_partings(console: Console, difference: SessionDiff) -> None:
    cluster, narration = difference.walk.cluster, difference.walk.playbook_events
    if narration is not None and (cluster is None or narration.at_us < cluster.at_us):
        _head(console, "first difference in the playbook's own events, not in the cluster")
        _print_parting(console, narration)
    if cluster is not None:
        _head(console, f"first difference in the cluster, after {counted(difference.walk.same, 'identical event')}")
        _print_parting(console, cluster)


def _print_parting(console: Console, parting: FirstDifference) -> None:
    for before in parting.before:
        _print_event(console, "", before, "dim")
    for name, each, style in (("left", parting.left, "red"), ("right", parting.right, "green")):
        if each is None:
            print_line(console, f"  {name:<6} no event: the session has ended", style)
        else:
            _print_event(console, name, each, style)


def _print_event(console: Console, name: str, event: DiffEvent, style: str) -> None:
    _wrapped(console, f"  {name:<6} {time_in_seconds(event.at_us):>11}  #{event.seq} ", event.text, style)


def _section(console: Console, section: DiffSection, *, everything: bool) -> None:
    rows = section.rows if everything else section.differing
    if not rows:
        return
    _head(console, section.name)
    shown = rows if everything else rows[:ROWS]
    if section.name in SENTENCES:
        for row in shown:
            _print_sentence(console, row)
    else:
        for line in side_by_side([(row.what, *_values(row)) for row in shown], console.width):
            print_line(console, line)
    if len(shown) < len(rows):
        print_line(console, f"  and {counted(len(rows) - len(shown), 'more row')}; --all shows them", "dim")


def _print_sentence(console: Console, row: DiffRow) -> None:
    _wrapped(console, "  ", row.what)
    for name, value, style in zip(("left", "right"), _values(row), ("red", "green"), strict=True):
        _wrapped(console, f"    {name:<6} ", value, style if row.differs else "dim")


def _values(row: DiffRow) -> tuple[str, str]:
    return _shown(row.left, row.unit), _shown(row.right, row.unit)


def _shown(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "us" and isinstance(value, int):
        return time_in_seconds(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def side_by_side(rows: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """Return rows as lines of three columns, at most ``width`` wide; long cells are wrapped."""
    heads = ("", "left", "right")
    table = [heads, *rows]
    needed = [max(len(row[column]) for row in table) for column in range(3)]
    room = max(3 * LEAST, width - 2 - 2 * 2)
    value = max(LEAST, min(max(needed[1:]), max(room // 3, (room - needed[0]) // 2)))
    name = max(LEAST, min(needed[0], room - 2 * value))
    value = min(max(needed[1:]), (room - name) // 2)
    lines = []
    for row in table:
        cells = [_folded(cell, size) for cell, size in zip(row, (name, value, value), strict=True)]
        parts = zip_longest(*cells, fillvalue="")
        lines += [f"  {what:<{name}}  {left:<{value}}  {right}".rstrip() for what, left, right in parts]
    return lines


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width) or [""]


def _head(console: Console, text: str) -> None:
    print_line(console, "")
    print_line(console, text, "bold")


def _wrapped(console: Console, lead: str, text: str, style: str = "") -> None:
    for line in _lines(lead, text, console.width):
        print_line(console, line, style)


def _lines(lead: str, text: str, width: int) -> Iterable[str]:
    return textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=" " * min(len(lead), 24)) or [lead]
