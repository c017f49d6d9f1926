"""Directory of a campaign: its workload, and a row for every run that has ended."""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Protocol

from cluster_model.protocol.errors import CodedError
from playbooks.campaign.run_rows import RunRow
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionPath, has_scheme
from playbooks.version import VERSION

# The workload of a campaign: numbered runs, each of which produces a row.


STORM: Final = "storm"
GRID: Final = "grid"

Frame = tuple[tuple[str, ...], tuple[str, ...]]


class CampaignWorkload(Protocol):
    """Definition of a campaign's runs, as plain data that can be sent to other processes and machines."""

    @property
    def path(self) -> str:
        """Source of its playbook."""

    @property
    def seed(self) -> int:
        """Seed of the campaign."""

    def row(self, run: int) -> RunRow:
        """Return the row of a run, from 1; an internal error becomes a row, too. Never raises."""

    def frame(self) -> Frame:
        """Return the faults and states of the coverage table; both empty without random faults."""

    def head(self) -> dict[str, Any]:
        """Return what identifies the workload, by names for people."""

    def document(self) -> dict[str, Any]:
        """Return the whole definition, as stored in ``plan.json``."""

    def keep(self, run: int, campaign: "CampaignStore") -> "SavedRun":
        """Repeat a run and record its session, unless that was done before.

        Raises:
            CampaignError: its result was different.
            RecordingError, OSError: something cannot be written.
        """


CAMPAIGN: Final = "campaign.json"
RUNS: Final = "runs.jsonl"
PARTS: Final = "runs"
"""Directory of the Parquet files of runs on Spark executors."""
SESSIONS: Final = "sessions"
FORMAT: Final = 1


class CampaignError(CodedError):
    """A directory that is unusable for this campaign; the message says why, ``code`` names the reason for programs."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run with its session and, for a storm, its playbook."""

    run: int
    playbook: Path | None
    session: Path


@dataclass(slots=True)
class CampaignStore:
    """The directory of a campaign and its contents."""

    path: Path
    head: dict[str, Any]
    rows: dict[int, RunRow] = field(default_factory=dict)
    kept: dict[int, SavedRun] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """Other contents of ``campaign.json``."""

    def add(self, rows: Iterable[RunRow]) -> None:
        """Append runs that have ended, written at once."""
        fresh = [row for row in rows if row.run not in self.rows]
        if fresh:
            with (self.path / RUNS).open("a", encoding="utf-8") as file:
                file.write("".join(f"{row.line()}\n" for row in fresh))
            self.rows.update((row.run, row) for row in fresh)

    def close(self) -> None:
        """Sort the rows by run, so that the file does not depend on how the work was spread."""
        put_in_place(self.path / RUNS, "".join(f"{self.rows[run].line()}\n" for run in sorted(self.rows)))

    def keep(self, summary: dict[str, Any]) -> None:
        """Write the results so far, in addition to those written before."""
        self.summary |= summary
        kept = {str(run): self._names(self.kept[run]) for run in sorted(self.kept)}
        whole = {**self.head, "kept": kept, **self.summary}
        put_in_place(self.path / CAMPAIGN, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    def _names(self, kept: SavedRun) -> list[str]:
        return ["" if each is None else str(each.relative_to(self.path)) for each in (kept.playbook, kept.session)]


def head_of(work: CampaignWorkload, name: str) -> dict[str, Any]:
    """Return what identifies a campaign; runs with another head belong to another campaign."""
    return {"format": FORMAT, "tool_version": VERSION, "playbook": name, "path": work.path, **work.head()}


def text_hash(text: str, fragments: Iterable[tuple[str, str]], *more: str) -> str:
    """Return a hash of 16 bytes that identifies a playbook with its fragments."""
    brought = "".join(f"{key}\n{each}\n" for key, each in fragments)
    return blake2b("\n".join([text, brought, *more]).encode(), digest_size=16).hexdigest()


def open_campaign(path: Path, work: CampaignWorkload, name: str, *, rows: bool = True) -> CampaignStore:
    """Open the campaign in a directory, creating it if needed; without ``rows`` its rows are not read.

    Raises:
        CampaignError: the directory holds another campaign or other files, or cannot be written.
    """
    head = head_of(work, name)
    if has_scheme(str(path)):
        raise CampaignError(
            f"{path}: found a path with a scheme, expected a directory on a disk", code="path_with_scheme"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        before: dict[str, Any] = {}
        if (path / CAMPAIGN).is_file():
            before = _same(path, head)
        elif any(path.iterdir()):
            raise CampaignError(
                f"{path}: found a directory with other files, expected a new one or a campaign's", code="other_files"
            )
        campaign = CampaignStore(path, head, {}, _kept(path, before))
        if rows:
            campaign.rows |= rows_kept(path)
            campaign.close()
        campaign.keep({name: before[name] for name in before if name not in {*head, "kept"}})
    except OSError as error:
        raise CampaignError(
            f"{path}: a campaign cannot be stored there: {error.strerror or error}", code="cannot_be_kept"
        ) from None
    return campaign


def read_head(path: SessionPath) -> dict[str, Any]:
    """Return the contents of ``campaign.json``. Raises CampaignError if there is none."""
    try:
        head = json.loads((path / CAMPAIGN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CampaignError(f"{path / CAMPAIGN}: found no campaign file", code="no_campaign")
    return head


def kept_in(path: Path) -> dict[int, SavedRun]:
    """Return the runs in a campaign's directory that have a playbook and a session."""
    return _kept(path, read_head(path))


def _kept(path: Path, before: dict[str, Any]) -> dict[int, SavedRun]:
    return {
        int(run): SavedRun(int(run), path / playbook if playbook else None, path / session)
        for run, (playbook, session) in before.get("kept", {}).items()
    }


def _same(path: Path, head: dict[str, Any]) -> dict[str, Any]:
    try:
        existing = json.loads((path / CAMPAIGN).read_text(encoding="utf-8"))
    except ValueError:
        raise CampaignError(f"{path / CAMPAIGN}: found a file of another kind", code="no_campaign") from None
    if not isinstance(existing, dict):
        raise CampaignError(f"{path / CAMPAIGN}: found a file of another kind", code="no_campaign")
    existing.setdefault("kind", STORM)
    for name, value in head.items():
        if name != "path" and existing.get(name) != value:
            shown = "" if name == "text" else f" ({existing.get(name)!r}, not {value!r})"
            what = f"a campaign with another {name.replace('_', ' ')}{shown}"
            raise CampaignError(
                f"{path}: found {what}, expected the same; or use another --out", code=f"another_{name}"
            )
    return existing


def rows_kept(path: Path) -> dict[int, RunRow]:
    """Return the rows in a campaign's directory, of any engine."""
    return rows_of_lines(path / RUNS) | _rows_of_parts(path / PARTS)


def rows_of_lines(path: Path) -> dict[int, RunRow]:
    """Parse the complete lines; an incomplete last line of a crashed process is ignored."""
    rows: dict[int, RunRow] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = RunRow.of_line(line)
            except (ValueError, KeyError, TypeError):
                continue
            rows[row.run] = row
    return rows


def _rows_of_parts(path: Path) -> dict[int, RunRow]:
    """Return the rows written by Spark executors."""
    files = sorted(path.glob("*.parquet"))
    if not files:
        return {}
    from playbooks.campaign.parquet_rows import rows_in  # noqa: PLC0415 - most campaigns have no such files

    rows: dict[int, RunRow] = {}
    for file in files:
        # The runs of an unreadable file are repeated.
        with contextlib.suppress(OSError, ValueError):
            rows |= {row.run: row for row in rows_in(file)}
    return rows
