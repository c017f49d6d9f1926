"""Playbooks as lines: the library, a text with the state of its steps, expectations, recorded sessions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, Literal

from cluster_model.util.quantities import clock, compact_duration, counted
from playbooks.engine.expectations import ExpectationMonitor, explain, holds
from playbooks.library.index import Shelved, heading
from playbooks.model import Expectation, Playbook, Step, step_of, step_words
from playbooks.session_format import session_files
from playbooks.units import duration_text
from tui.terminal import glyphs
from tui.viewmodel.row import Row, first_shown

_BODY: Final = ("stepping:", "cluster:", "topics:")


@dataclass(frozen=True, slots=True)
class PlaybookProgress:
    """Where a session stands among the steps of its playbook."""

    taken: int
    """How many steps acted."""
    next: int
    """Index of the step that comes next, -1 for none."""
    due_us: int
    """When it acts by the clock, or stops waiting; -1 for never."""
    now_us: int
    phase: str


@dataclass(frozen=True, slots=True)
class LineMarks:
    """Lines of a file, from 1, that have a mark."""

    glyphs: dict[int, tuple[str, str]]
    running: tuple[int, int]
    """The first and last line of the step that comes next; (0, 0) for none."""


def marks(playbook: Playbook, progress: PlaybookProgress | None) -> LineMarks:
    """The mark of each step's first line; none where the playbook does not run."""
    if progress is None:
        return LineMarks({}, (0, 0))
    found: dict[int, tuple[str, str]] = {}
    left_out = progress.next < 0
    for number, step in enumerate(playbook.steps):
        if number < progress.taken:
            found[step.where.line] = (glyphs.OK, "calm")
        elif left_out:
            found.setdefault(step.where.line, (glyphs.DOWN, "quiet"))
    running = (0, 0)
    if not left_out:
        line = playbook.steps[progress.taken].where.line
        found[line] = (glyphs.PLAY, "warning")
        running = (line, _last_line(playbook, line))
    return LineMarks(found, running)


def _last_line(playbook: Playbook, line: int) -> int:
    """The last line of the step that begins at a line: before the next step, or before the next key."""
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
    """All lines, each behind its mark and its number."""
    found = marks(playbook, progress)
    lines = playbook.source.splitlines()
    digits = len(str(len(lines)))
    first, last = found.running
    rows = []
    for number, line in enumerate(lines, 1):
        glyph, role = found.glyphs.get(number, (" ", "text"))
        runs = first <= number <= last
        text = "strong" if runs else "quiet" if line.lstrip().startswith("#") else "text"
        rows.append(Row(((f"{glyph} ", role), (f"{number:>{digits}} ", "faint"), (line, text)), chosen=runs))
    return tuple(rows)


def first_line(playbook: Playbook, progress: PlaybookProgress | None, height: int) -> int:
    """Where a window of so many lines begins that follows the steps: the running one a third from above.

    Of a playbook that does not run it begins where its cluster does: what stands before is told elsewhere.
    """
    lines = playbook.source.splitlines()
    first, _last = marks(playbook, progress).running
    cluster = next((number for number, line in enumerate(lines) if line.startswith(_BODY)), 0)
    wanted = first - 1 - height // 3 if first else cluster
    return max(0, min(wanted, len(lines) - height))


def told(playbook: Playbook, progress: PlaybookProgress) -> str:
    """Where it stands, in one line."""
    steps = playbook.steps
    if progress.phase == "ended":
        return "it is over"
    if progress.phase == "settling":
        return "it settles: producers have stopped, faults are healed"
    if not steps:
        return "it has no steps: what happens is your doing"
    if progress.next < 0:
        left = len(steps) - progress.taken
        return "all steps are done" if not left else f"{progress.taken} of {len(steps)} steps done, the rest left out"
    step = steps[progress.taken]
    return f"next {step_of(step, steps)}, {step_words(step)}: {_when(step, progress)}"


def _when(step: Step, progress: PlaybookProgress) -> str:
    left = f"in {compact_duration(max(0, progress.due_us - progress.now_us))}"
    if step.trigger.kind != "when":
        return f"at {clock(progress.due_us)}, {left}"
    asked = f"waits for {step.trigger.condition.text if step.trigger.condition else ''}"
    return f"{asked}, gives up {left}" if progress.due_us >= 0 else asked


def about_playbook(playbook: Playbook, progress: PlaybookProgress | None, width: int, height: int) -> tuple[Row, ...]:
    """Title, where it stands, and as much of the story as fits."""
    parts: list[tuple[str, str]] = [(line, "strong") for line in wrap(playbook.title or playbook.name, width)]
    if progress is not None:
        parts += [(line, "warning") for line in wrap(told(playbook, progress), width)]
    elif playbook.spec.manual:
        parts.append((f"stepped by hand, time stands still: play it with floodmark run {playbook.name}", "warning"))
    else:
        parts.append((f"seed {playbook.seed}, {_length(playbook)}", "quiet"))
    parts += [(line, "text") for line in wrap(playbook.story, width)]
    if len(parts) > height > 0:
        parts[height - 1 :] = [(parts[height - 1][0][: max(0, width - 1)] + "…", parts[height - 1][1])]
    return tuple(Row((part,)) for part in parts)


def _length(playbook: Playbook) -> str:
    steps = counted(len(playbook.steps), "step", zero="0")
    return f"{steps}, {len(playbook.expectations)} expected, {duration_text(playbook.settle_us)} of quiet at the end"


# Expectations of a playbook, each with its state: passed, failed, or not yet decided.


Stand = Literal["pass", "fail", "open"]

GLYPHS = {"pass": (glyphs.OK, "calm"), "fail": (glyphs.DOWN, "alarm"), "open": (glyphs.NOTHING, "quiet")}


@dataclass(frozen=True, slots=True)
class ExpectationStatus:
    """An expectation as it stands."""

    text: str
    stand: Stand
    told: str


def standing(watch: ExpectationMonitor, query: object, healed_us: int) -> ExpectationStatus:
    """How an expectation stands, by what it watched so far and by what the cluster is now."""
    each = watch.expectation
    if watch.final:
        return ExpectationStatus(each.text, "pass" if watch.ok else "fail", watch.detail)
    if each.kind == "always":
        return ExpectationStatus(each.text, "open", "held so far")
    if each.kind == "end":
        return ExpectationStatus(each.text, "open", f"asked at the end: now {_now(each, query)}")
    if watch.at_us >= 0:
        return ExpectationStatus(each.text, "open", f"{watch.detail}; another fault would begin it anew")
    if watch.waits_for_heal and healed_us < 0:
        return ExpectationStatus(each.text, "open", "its time begins when the last fault is healed")
    return ExpectationStatus(each.text, "open", f"not yet: {explain(each.condition, query) or _now(each, query)}")


def unasked(expectation: Expectation) -> ExpectationStatus:
    """One of a playbook that does not run."""
    return ExpectationStatus(expectation.text, "open", "")


def rows(standings: tuple[ExpectationStatus, ...]) -> tuple[Row, ...]:
    """A line for each."""
    found = []
    for each in standings:
        glyph, role = GLYPHS[each.stand]
        told = f"  {each.told}" if each.told else ""
        found.append(Row(((f"{glyph} ", role), (each.text, "text"), (told, "quiet" if each.stand != "fail" else role))))
    return tuple(found) or (Row((("it expects nothing", "quiet"),)),)


def title(standings: tuple[ExpectationStatus, ...], *, runs: bool) -> str:
    """Above them."""
    if not runs:
        return "What must hold"
    count = {stand: sum(each.stand == stand for each in standings) for stand in GLYPHS}
    parts = [f"{count['pass']} passed", f"{count['fail']} failed", f"{count['open']} open"]
    return f"What must hold {glyphs.NOTHING} {', '.join(parts)}"


def _now(expectation: Expectation, query: object) -> str:
    would = "it would pass" if holds(expectation.condition, query) else "it would fail"
    told = explain(expectation.condition, query)
    return f"{would}, {told}" if told else would


# The list of playbooks as lines: what is on the screen first, then the bundled ones by theme.


RUNNING = ""
"""Stands for the playbook of the session on the screen where others have a name."""
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class PlaybookListEntry:
    """A line of a list: what stands on it, and whether it can be chosen."""

    key: str
    text: str
    role: str = "text"
    end: str = ""
    heading: bool = False


def playbooks(shelf: Sequence[Shelved], running: str, words: str) -> tuple[PlaybookListEntry, ...]:
    """The playbook that is ``running``, and those of the shelf that fit the ``words`` of the filter, under headings."""
    entries = (
        []
        if words
        else [
            PlaybookListEntry("", "On the screen", "quiet", heading=True),
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
        entries.append(PlaybookListEntry("", f"no playbook fits {words}", "quiet", heading=True))
    return tuple(entries)


def choices(entries: Sequence[PlaybookListEntry]) -> list[int]:
    """The lines that can be chosen."""
    return [number for number, entry in enumerate(entries) if not entry.heading]


def moved(entries: Sequence[PlaybookListEntry], at: int, lines: int) -> int:
    """The line that is chosen after so many steps down or up from the one at ``at``; -1 where none can be."""
    found = choices(entries)
    if not found:
        return -1
    nearest = min(range(len(found)), key=lambda place: abs(found[place] - at))
    return found[max(0, min(nearest + lines, len(found) - 1))]


def window(entries: Sequence[PlaybookListEntry], at: int, first: int, height: int) -> tuple[int, tuple[Row, ...]]:
    """The lines that are shown with the chosen one among them, its heading too, and the first line's number."""
    shown = first_shown(first, at, len(entries), height)
    if at > 0 and shown == at and entries[at - 1].heading and height > 1:
        shown = at - 1
    return shown, tuple(_row(entries[line], line == at) for line in range(shown, min(shown + height, len(entries))))


def _row(entry: PlaybookListEntry, chosen: bool) -> Row:
    marker = glyphs.MARKER if chosen else " "
    indent = "" if entry.heading else f"{marker} "
    return Row(((indent, "key"), (entry.text, entry.role)), (f"{entry.end} " if entry.end else "", "quiet"), chosen)


# Recorded sessions as lines, newest first, and what one of them was. Only those that are shown are read.


VERDICTS = {
    "pass": (glyphs.OK, "calm"),
    "fail": (glyphs.DOWN, "alarm"),
    "inconclusive": (glyphs.STALE, "warning"),
}
TORN = "no end"


@dataclass(frozen=True, slots=True)
class Card:
    """What a list says of a recorded session."""

    path: Path
    playbook: str
    title: str
    seed: int
    began: str
    """By the clock on the wall, when it was recorded."""
    profile: str
    verdict: str
    """Empty for a session without its end."""
    virtual_us: int
    problem: str = ""
    """Why it cannot be read; then nothing else is known."""


@cache
def sealed_card(path: Path, _manifest_ns: int) -> Card:
    """The card of a session whose manifest was written at that time: it does not change any more."""
    return _card(path)


def card(path: Path) -> Card:
    """The card of a session."""
    try:
        return sealed_card(path, (path / session_files.MANIFEST).stat().st_mtime_ns)
    except OSError:
        return _card(path)


def _card(path: Path) -> Card:
    try:
        start, manifest = session_files.read_start(path), session_files.read_manifest(path)
    except session_files.LayoutError as error:
        return Card(path, path.name.removeprefix(session_files.DIRECTORY_PREFIX), "", 0, "", "", "", -1, str(error))
    began = start.wall_start[:16].replace("T", " ")
    known = (start.playbook, start.title, start.seed, began, start.profile)
    return Card(path, *known, manifest.verdict if manifest else "", manifest.virtual_us if manifest else -1)


def newest_first(parent: Path) -> list[Path]:
    """The sessions in a directory: their names begin with when they began."""
    return session_files.sessions_under(parent)[::-1]


def entries(paths: list[Path], parent: Path, here: Path | None) -> tuple[PlaybookListEntry, ...]:
    """A line for each, the one that is on the screen told as such."""
    if not paths:
        return (
            PlaybookListEntry(
                "", f"no session in {parent} yet: each is recorded there as it runs", "quiet", heading=True
            ),
        )
    return tuple(
        PlaybookListEntry(
            str(path), path.name.removeprefix(session_files.DIRECTORY_PREFIX), end="here" if path == here else ""
        )
        for path in paths
    )


def row(entry: PlaybookListEntry, known: Card, width: int, chosen: bool) -> Row:
    """Its line: verdict, playbook and when; the seed where there is room."""
    glyph, role = VERDICTS.get(known.verdict, (glyphs.NOTHING, "quiet"))
    marker = glyphs.MARKER if chosen else " "
    when = known.began[5:] if width < 44 else known.began
    seed = f" s{known.seed}" if width >= 40 and not known.problem else ""
    ends = f"{entry.end or when} "
    return Row(
        ((f"{marker} ", "key"), (f"{glyph} ", role), (f"{known.playbook}{seed}", "text")), (ends, "quiet"), chosen
    )


def about_session(known: Card) -> tuple[Row, ...]:
    """All that its files tell at once."""
    if known.problem:
        return (Row(((known.playbook, "strong"),)), Row(((known.problem, "warning"),)))
    glyph, role = VERDICTS.get(known.verdict, (glyphs.NOTHING, "quiet"))
    lasted = f", {compact_duration(known.virtual_us)} of cluster time" if known.virtual_us >= 0 else ""
    return (
        Row(((known.title or known.playbook, "strong"),)),
        Row(((f"{glyph} {known.verdict or TORN}", role), (lasted, "text"))),
        Row(((f"playbook {known.playbook}, seed {known.seed}, Kafka {known.profile}", "text"),)),
        Row(((f"recorded {known.began} UTC", "text"),)),
        Row(((str(known.path), "quiet"),)),
    )


def expected(path: Path) -> tuple[Row, ...]:
    """What came of its expectations, for a sealed session."""
    try:
        found = session_files.read_object(path / session_files.RESULT)
    except session_files.LayoutError:
        return (Row((("it has no result: its end is missing", "quiet"),)),)
    rows = [_judged(each) for each in found.get("expectations", ()) if isinstance(each, dict)]
    return tuple(rows) or (Row((("it expected nothing", "quiet"),)),)


def _judged(each: dict[str, Any]) -> Row:
    glyph, role = VERDICTS["pass" if each.get("ok") else "fail"]
    detail = f"  {each.get('detail', '')}"
    return Row(((f"{glyph} ", role), (str(each.get("text", "")), "text"), (detail, "quiet")))


def text_of(path: Path) -> tuple[Row, ...]:
    """Its playbook's lines, and behind them what its operator did."""
    try:
        lines = (path / session_files.PLAYBOOK).read_text(encoding="utf-8", errors="replace").splitlines()
        acted = (path / session_files.ACTIONS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return (Row(((f"its files cannot be read: {error.strerror}", "warning"),)),)
    rows = [Row(((line, "quiet" if line.lstrip().startswith("#") else "text"),)) for line in lines]
    done = [told for told in map(_acted, acted) if told]
    if done:
        rows = [Row((("its operator", "quiet"),)), *[Row(((line, "text"),)) for line in done], Row(), *rows]
    return tuple(rows)


def _acted(line: str) -> str:
    """One line of ``actions.jsonl`` in words, empty where it is none."""
    try:
        found = json.loads(line)
        more = (found["name"], found["target"]) if found["verb"] in ("inject", "heal", "admin") else ()
        words = " ".join(filter(None, (found["verb"].replace("_", " "), *more)))
        return f"  {compact_duration(int(found['at_us'])):>8}  {words}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
