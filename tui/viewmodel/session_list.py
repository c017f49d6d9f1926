"""Recorded sessions as lines, newest first, and what one of them was. Only those that are shown are read."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from playbooks.session_format import session_files
from tui.terminal import glyphs
from tui.terminal.format import duration
from tui.viewmodel.row import Row
from tui.viewmodel.shelf_list import Entry

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


def entries(paths: list[Path], parent: Path, here: Path | None) -> tuple[Entry, ...]:
    """A line for each, the one that is on the screen told as such."""
    if not paths:
        return (Entry("", f"no session in {parent} yet: each is recorded there as it runs", "quiet", heading=True),)
    return tuple(
        Entry(str(path), path.name.removeprefix(session_files.DIRECTORY_PREFIX), end="here" if path == here else "")
        for path in paths
    )


def row(entry: Entry, known: Card, width: int, chosen: bool) -> Row:
    """Its line: verdict, playbook and when; the seed where there is room."""
    glyph, role = VERDICTS.get(known.verdict, (glyphs.NOTHING, "quiet"))
    marker = glyphs.MARKER if chosen else " "
    when = known.began[5:] if width < 44 else known.began
    seed = f" s{known.seed}" if width >= 40 and not known.problem else ""
    ends = f"{entry.end or when} "
    return Row(
        ((f"{marker} ", "key"), (f"{glyph} ", role), (f"{known.playbook}{seed}", "text")), (ends, "quiet"), chosen
    )


def about(known: Card) -> tuple[Row, ...]:
    """All that its files tell at once."""
    if known.problem:
        return (Row(((known.playbook, "strong"),)), Row(((known.problem, "warning"),)))
    glyph, role = VERDICTS.get(known.verdict, (glyphs.NOTHING, "quiet"))
    lasted = f", {duration(known.virtual_us)} of cluster time" if known.virtual_us >= 0 else ""
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
        return f"  {duration(int(found['at_us'])):>8}  {words}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
