"""Explains sessions that lost records before a report over them, so that the page has remedies beside each loss."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from playbooks.errors import PlaybookError, counted
from playbooks.session_format import session_files
from playbooks.version import VERSION
from tui.output.console import ProgressLine, people, say

MOST_SESSIONS: Final = 1
"""Sessions that a report explains by itself: each is run again some dozens of times, which takes about a minute."""
MOST_EVENTS: Final = 60_000
"""Trace events of a session that is explained without being asked: more of them take longer than one waits."""


def explain_losses(paths: Sequence[str], *, wanted: bool | None) -> None:
    """Explain the sessions among these that lost records and have no explanation yet.

    ``wanted`` is what was typed. None: of the short ones the first that can be explained, and a line says how many are
    left; True: all of them.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    if wanted is False:
        return
    lossy = list(_lossy(paths))
    chosen = lossy if wanted else [path for path in lossy if _is_short(path)]
    asked = explained = 0
    for asked, path in enumerate(chosen, 1):
        count = f" ({asked} of {len(chosen)})" if wanted and len(chosen) > 1 else ""
        say(people(), f"asking why {path.name} lost records{count}; --no-why leaves it out", "dim")
        explained += _explain(path)
        if not wanted and explained == MOST_SESSIONS:
            break
    if left := len(lossy) - asked:
        say(people(), f"{counted(left, 'session')} that lost records not asked why: --why asks all of them", "dim")


def _explain(path: Path) -> bool:
    """Explain a session and keep the answer; False, and a line says why, where that is not possible."""
    from playbooks.diagnosis.why import (  # noqa: PLC0415 - most sessions lose nothing
        WhyError,
        explain_recorded,
        keep,
    )
    from playbooks.engine.replay import ReplayMismatchError  # noqa: PLC0415
    from playbooks.export.playbook_writer import ExportError  # noqa: PLC0415

    try:
        with ProgressLine(people()) as telling:
            why = explain_recorded(path, tell=lambda text: telling.tell(lambda: text))
        keep(path, why)
    except (WhyError, PlaybookError, ExportError, ReplayMismatchError, session_files.SessionError, OSError) as error:
        say(people(), f"no remedies for {path.name}: {error}", "yellow")
        return False
    return True


def _lossy(paths: Sequence[str]) -> Iterator[Path]:
    """The whole sessions on this machine that lost records, and of which nobody knows why yet."""
    found: dict[Path, Path] = {}
    for given in paths:
        path = Path(given)
        if session_files.has_scheme(given) or not path.is_dir():
            continue
        own = [path] if (path / session_files.START).exists() else session_files.sessions_under(path)
        for each in own:
            found.setdefault(each.resolve(), each)
    yield from filter(_is_unexplained, found.values())


def _is_unexplained(path: Path) -> bool:
    try:
        manifest = session_files.read_manifest(path)
        ledger = session_files.read_object(path / session_files.RESULT).get("ledger")
        lost = isinstance(ledger, dict) and bool(ledger.get("acked_lost"))
        if manifest is None or manifest.status != "complete" or not lost:
            return False
    except session_files.LayoutError:
        return False
    return not session_files.read_why(path, manifest.digest, VERSION)


def _is_short(path: Path) -> bool:
    manifest = session_files.read_manifest(path)
    return manifest is not None and manifest.events <= MOST_EVENTS
