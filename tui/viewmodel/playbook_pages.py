"""Pages of playbooks: the library, a playbook's text with the progress of its steps, expectations, sessions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, Literal

from cluster_model.util.quantities import clock, compact_duration, counted
from playbooks.engine.expectations import ExpectationMonitor, explain, holds
from playbooks.library.index import LibraryEntry, heading
from playbooks.model import Expectation, Playbook, Step, step_of, step_text
from playbooks.session_format import session_files
from playbooks.units import duration_text
from tui.terminal import glyphs
from tui.viewmodel.row import Row, first_shown

_BODY: Final = ("stepping:", "cluster:", "topics:")


@dataclass(frozen=True, slots=True)
class PlaybookProgress:
    """Progress of a session through the steps of its playbook."""

    taken: int
    """Number of steps taken."""
    next: int
    """Index of the next step, -1 for none."""
    due_us: int
    """Virtual time at which the next step runs, or stops waiting; -1 for never."""
    now_us: int
    phase: str


@dataclass(frozen=True, slots=True)
class LineMarks:
    """Marks of a playbook's lines, which are counted from 1."""

    glyphs: dict[int, tuple[str, str]]
    running: tuple[int, int]
    """First and last line of the next step; (0, 0) for none."""


def marks(playbook: Playbook, progress: PlaybookProgress | None) -> LineMarks:
    """Return the mark of each step's first line; none if the playbook does not run."""
    if progress is None:
        return LineMarks({}, (0, 0))
    glyph_of_line: dict[int, tuple[str, str]] = {}
    left_out = progress.next < 0
    for number, step in enumerate(playbook.steps):
        if number < progress.taken:
            glyph_of_line[step.where.line] = (glyphs.OK, "calm")
        elif left_out:
            glyph_of_line.setdefault(step.where.line, (glyphs.DOWN, "quiet"))
    running = (0, 0)
    if not left_out:
        line = playbook.steps[progress.taken].where.line
        glyph_of_line[line] = (glyphs.PLAY, "warning")
        running = (line, _last_line(playbook, line))
    return LineMarks(glyph_of_line, running)


def _last_line(playbook: Playbook, line: int) -> int:
    """Return the last line of the step that begins at ``line``: before the next step, or the next key."""
    lines = playbook.source.splitlines()
    begins = {step.where.line for step in playbook.steps}
    last = line
    for number in range(line + 1, len(lines) + 1):
        text = lines[number - 1]
        if number in begins or (text and not text.startswith((" ", "-", "#"))):
            break
        if text.strip() and not text.strip().startswith("#"):
            last = number
    return last


def source(playbook: Playbook, progress: PlaybookProgress | None) -> tuple[Row, ...]:
    """Return all lines, each after its mark and its number."""
    line_marks = marks(playbook, progress)
    lines = playbook.source.splitlines()
    digits = len(str(len(lines)))
    first, last = line_marks.running
    rows = []
    for number, line in enumerate(lines, 1):
        glyph, role = line_marks.glyphs.get(number, (" ", "text"))
        runs = first <= number <= last
        text = "strong" if runs else "quiet" if line.lstrip().startswith("#") else "text"
        rows.append(Row(((f"{glyph} ", role), (f"{number:>{digits}} ", "faint"), (line, text)), chosen=runs))
    return tuple(rows)


def first_line(playbook: Playbook, progress: PlaybookProgress | None, height: int) -> int:
    """Return the first line of a window of ``height`` lines: the next step is a third from the top.

    For a playbook that does not run the window begins at its cluster; title and story are shown elsewhere.
    """
    lines = playbook.source.splitlines()
    first, _last = marks(playbook, progress).running
    cluster = next((number for number, line in enumerate(lines) if line.startswith(_BODY)), 0)
    wanted = first - 1 - height // 3 if first else cluster
    return max(0, min(wanted, len(lines) - height))


def progress_text(playbook: Playbook, progress: PlaybookProgress) -> str:
    """Return the progress in one line."""
    steps = playbook.steps
    if progress.phase == "ended":
        return "session ended"
    if progress.phase == "settling":
        return "settling: producers stopped, faults healed"
    if not steps:
        return "no scripted steps; you drive it"
    if progress.next < 0:
        left = len(steps) - progress.taken
        return "all steps done" if not left else f"{progress.taken} of {len(steps)} steps done, the rest skipped"
    step = steps[progress.taken]
    return f"next {step_of(step, steps)}, {step_text(step)}: {_when(step, progress)}"


def _when(step: Step, progress: PlaybookProgress) -> str:
    left = f"in {compact_duration(max(0, progress.due_us - progress.now_us))}"
    if step.trigger.kind != "when":
        return f"at {clock(progress.due_us)}, {left}"
    waiting = f"waiting for {step.trigger.condition.text if step.trigger.condition else ''}"
    return f"{waiting}, timeout {left}" if progress.due_us >= 0 else waiting


def about_playbook(playbook: Playbook, progress: PlaybookProgress | None, width: int, height: int) -> tuple[Row, ...]:
    """Return title, progress, and as much of the story as fits."""
    parts: list[tuple[str, str]] = [(line, "strong") for line in wrap(playbook.title or playbook.name, width)]
    if progress is not None:
        parts += [(line, "warning") for line in wrap(progress_text(playbook, progress), width)]
    elif playbook.spec.manual:
        parts.append((f"stepped manually, not in real time: run it with floodmark run {playbook.name}", "warning"))
    else:
        parts.append((f"seed {playbook.seed}, {_length(playbook)}", "quiet"))
    parts += [(line, "text") for line in wrap(playbook.story, width)]
    if len(parts) > height > 0:
        parts[height - 1 :] = [(parts[height - 1][0][: max(0, width - 1)] + "…", parts[height - 1][1])]
    return tuple(Row((part,)) for part in parts)


def _length(playbook: Playbook) -> str:
    steps = counted(len(playbook.steps), "step", zero="0")
    expectations = counted(len(playbook.expectations), "expectation", zero="0")
    return f"{steps}, {expectations}, {duration_text(playbook.settle_us)} to settle"


# Expectations of a playbook, each with its state: passed, failed, or pending.


ExpectationState = Literal["pass", "fail", "open"]

GLYPHS = {"pass": (glyphs.OK, "calm"), "fail": (glyphs.DOWN, "alarm"), "open": (glyphs.NOTHING, "quiet")}


@dataclass(frozen=True, slots=True)
class ExpectationStatus:
    """State of an expectation, with details."""

    text: str
    state: ExpectationState
    detail: str


def expectation_status(watch: ExpectationMonitor, query: object, healed_us: int) -> ExpectationStatus:
    """Return the state of an expectation from its monitor and the current cluster."""
    each = watch.expectation
    if watch.final:
        return ExpectationStatus(each.text, "pass" if watch.ok else "fail", watch.detail)
    if each.kind == "always":
        return ExpectationStatus(each.text, "open", "passing so far")
    if each.kind == "end":
        return ExpectationStatus(each.text, "open", f"evaluated at the end; {_now(each, query)}")
    if watch.at_us >= 0:
        return ExpectationStatus(each.text, "open", f"{watch.detail}; another fault restarts it")
    if watch.waits_for_heal and healed_us < 0:
        return ExpectationStatus(each.text, "open", "its deadline starts when the last fault is healed")
    return ExpectationStatus(each.text, "open", f"not yet: {explain(each.condition, query) or _now(each, query)}")


def idle_expectation(expectation: Expectation) -> ExpectationStatus:
    """Return an expectation of a playbook that does not run."""
    return ExpectationStatus(expectation.text, "open", "")


def rows(standings: tuple[ExpectationStatus, ...]) -> tuple[Row, ...]:
    """Return a line for each expectation."""
    expectation_rows = []
    for each in standings:
        glyph, role = GLYPHS[each.state]
        detail = f"  {each.detail}" if each.detail else ""
        expectation_rows.append(
            Row(((f"{glyph} ", role), (each.text, "text"), (detail, "quiet" if each.state != "fail" else role)))
        )
    return tuple(expectation_rows) or (Row((("no expectations", "quiet"),)),)


def title(standings: tuple[ExpectationStatus, ...], *, runs: bool) -> str:
    """Return the title above the expectations."""
    if not runs:
        return "Expectations"
    count = {stand: sum(each.state == stand for each in standings) for stand in GLYPHS}
    parts = [f"{count['pass']} passed", f"{count['fail']} failed", f"{count['open']} pending"]
    return f"Expectations {glyphs.NOTHING} {', '.join(parts)}"


def _now(expectation: Expectation, query: object) -> str:
    current = "passing so far" if holds(expectation.condition, query) else "failing so far"
    detail = explain(expectation.condition, query)
    return f"{current}, {detail}" if detail else current


# The list of playbooks as lines: the running one first, then the bundled ones by theme.


RUNNING = ""
"""Key of the running session's playbook, in place of a name."""
BY_HAND = "manual"


@dataclass(frozen=True, slots=True)
class PlaybookListEntry:
    """Line of a list: text, text at the right edge, and whether it is a heading, which cannot be selected."""

    key: str
    text: str
    role: str = "text"
    end: str = ""
    heading: bool = False


def playbooks(shelf: Sequence[LibraryEntry], running: str, words: str) -> tuple[PlaybookListEntry, ...]:
    """Return the ``running`` playbook, and those of the shelf that match the filter ``words``, under headings."""
    entries = (
        []
        if words
        else [
            PlaybookListEntry("", "Running", "quiet", heading=True),
            PlaybookListEntry(RUNNING, running, "strong"),
        ]
    )
    theme = ""
    for each in shelf:
        if not each.fits(words):
            continue
        if each.theme != theme:
            theme = each.theme
            entries.append(PlaybookListEntry("", heading(theme), "quiet", heading=True))
        entries.append(PlaybookListEntry(each.name, each.name, end=BY_HAND if each.manual else ""))
    if not entries:
        entries.append(PlaybookListEntry("", f"no playbook matches {words}", "quiet", heading=True))
    return tuple(entries)


def choices(entries: Sequence[PlaybookListEntry]) -> list[int]:
    """Return the indexes of the lines that can be selected."""
    return [number for number, entry in enumerate(entries) if not entry.heading]


def next_selectable(entries: Sequence[PlaybookListEntry], at: int, lines: int) -> int:
    """Return the line ``lines`` selectable lines below (or above) ``at``; -1 if none can be selected."""
    found = choices(entries)
    if not found:
        return -1
    nearest = min(range(len(found)), key=lambda index: abs(found[index] - at))
    return found[max(0, min(nearest + lines, len(found) - 1))]


def window(entries: Sequence[PlaybookListEntry], at: int, first: int, height: int) -> tuple[int, tuple[Row, ...]]:
    """Return the index of the first line to show, and the lines: the selected one is among them, with its heading."""
    shown = first_shown(first, at, len(entries), height)
    if at > 0 and shown == at and entries[at - 1].heading and height > 1:
        shown = at - 1
    return shown, tuple(_row(entries[line], line == at) for line in range(shown, min(shown + height, len(entries))))


def _row(entry: PlaybookListEntry, chosen: bool) -> Row:
    marker = glyphs.MARKER if chosen else " "
    indent = "" if entry.heading else f"{marker} "
    return Row(((indent, "key"), (entry.text, entry.role)), (f"{entry.end} " if entry.end else "", "quiet"), chosen)


# Recorded sessions as lines, newest first, and details of one. Only the visible ones are read.


VERDICTS = {
    "pass": (glyphs.OK, "calm"),
    "fail": (glyphs.DOWN, "alarm"),
    "inconclusive": (glyphs.STALE, "warning"),
}
INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Summary of a recorded session for the list."""

    path: Path
    playbook: str
    title: str
    seed: int
    began: str
    """Wall-clock time of the recording."""
    profile: str
    verdict: str
    """Verdict; empty for an incomplete session."""
    virtual_us: int
    problem: str = ""
    """Why it cannot be read; all else is then unknown."""


@cache
def sealed_card(path: Path, _manifest_ns: int) -> SessionSummary:
    """Return the cached card of a sealed session, which does not change; the manifest's mtime is part of the key."""
    return _card(path)


def card(path: Path) -> SessionSummary:
    """Return the card of a session."""
    try:
        return sealed_card(path, (path / session_files.MANIFEST).stat().st_mtime_ns)
    except OSError:
        return _card(path)


def _card(path: Path) -> SessionSummary:
    try:
        start, manifest = session_files.read_start(path), session_files.read_manifest(path)
    except session_files.LayoutError as error:
        return SessionSummary(
            path, path.name.removeprefix(session_files.DIRECTORY_PREFIX), "", 0, "", "", "", -1, str(error)
        )
    began = start.wall_start[:16].replace("T", " ")
    known = (start.playbook, start.title, start.seed, began, start.profile)
    return SessionSummary(path, *known, manifest.verdict if manifest else "", manifest.virtual_us if manifest else -1)


def newest_first(parent: Path) -> list[Path]:
    """Return the sessions in a directory, newest first; their names begin with their start time."""
    return session_files.sessions_under(parent)[::-1]


def entries(paths: list[Path], parent: Path, here: Path | None) -> tuple[PlaybookListEntry, ...]:
    """Return a line for each session; the running one is marked."""
    if not paths:
        return (PlaybookListEntry("", f"no recorded sessions in {parent}", "quiet", heading=True),)
    return tuple(
        PlaybookListEntry(
            str(path),
            path.name.removeprefix(session_files.DIRECTORY_PREFIX),
            end="this session" if path == here else "",
        )
        for path in paths
    )


def row(entry: PlaybookListEntry, session: SessionSummary, width: int, chosen: bool) -> Row:
    """Return the line of a session: verdict, playbook, time, and the seed where there is room."""
    glyph, role = VERDICTS.get(session.verdict, (glyphs.NOTHING, "quiet"))
    marker = glyphs.MARKER if chosen else " "
    when = session.began[5:] if width < 44 else session.began
    seed = f" s{session.seed}" if width >= 40 and not session.problem else ""
    ends = f"{entry.end or when} "
    return Row(
        ((f"{marker} ", "key"), (f"{glyph} ", role), (f"{session.playbook}{seed}", "text")), (ends, "quiet"), chosen
    )


def about_session(session: SessionSummary) -> tuple[Row, ...]:
    """Return the details of a session."""
    if session.problem:
        return (Row(((session.playbook, "strong"),)), Row(((session.problem, "warning"),)))
    glyph, role = VERDICTS.get(session.verdict, (glyphs.NOTHING, "quiet"))
    lasted = f", {compact_duration(session.virtual_us)} of virtual time" if session.virtual_us >= 0 else ""
    return (
        Row(((session.title or session.playbook, "strong"),)),
        Row(((f"{glyph} {session.verdict or INCOMPLETE}", role), (lasted, "text"))),
        Row(((f"playbook {session.playbook}, seed {session.seed}, Kafka {session.profile}", "text"),)),
        Row(((f"recorded {session.began} UTC", "text"),)),
        Row(((str(session.path), "quiet"),)),
    )


def expected(path: Path) -> tuple[Row, ...]:
    """Return the results of the expectations of a sealed session."""
    try:
        found = session_files.read_object(path / session_files.RESULT)
    except session_files.LayoutError:
        return (Row((("no result: the recording is incomplete", "quiet"),)),)
    rows = [_judged(each) for each in found.get("expectations", ()) if isinstance(each, dict)]
    return tuple(rows) or (Row((("no expectations", "quiet"),)),)


def _judged(each: dict[str, Any]) -> Row:
    glyph, role = VERDICTS["pass" if each.get("ok") else "fail"]
    detail = f"  {each.get('detail', '')}"
    return Row(((f"{glyph} ", role), (str(each.get("text", "")), "text"), (detail, "quiet")))


def text_of(path: Path) -> tuple[Row, ...]:
    """Return the lines of its playbook, after the operator's actions."""
    try:
        lines = (path / session_files.PLAYBOOK).read_text(encoding="utf-8", errors="replace").splitlines()
        acted = (path / session_files.ACTIONS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return (Row(((f"cannot read its files: {error.strerror}", "warning"),)),)
    rows = [Row(((line, "quiet" if line.lstrip().startswith("#") else "text"),)) for line in lines]
    done = [text for text in map(_acted, acted) if text]
    if done:
        rows = [Row((("operator actions", "quiet"),)), *[Row(((line, "text"),)) for line in done], Row(), *rows]
    return tuple(rows)


def _acted(line: str) -> str:
    """Return one line of ``actions.jsonl`` as text, empty if it is no action."""
    try:
        found = json.loads(line)
        more = (found["name"], found["target"]) if found["verb"] in ("inject", "heal", "admin") else ()
        words = " ".join(filter(None, (found["verb"].replace("_", " "), *more)))
        return f"  {compact_duration(int(found['at_us'])):>8}  {words}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
