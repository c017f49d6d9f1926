"""A campaign's directory: the work that it has to do, and a line for every run that has ended."""

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

# The work of a campaign: numbered runs, each of which gives a row.


STORM: Final = "storm"
GRID: Final = "grid"

Frame = tuple[tuple[str, ...], tuple[str, ...]]


class CampaignWorkload(Protocol):
    """All that decides what the runs come to, in plain values: it goes to other processes and machines."""

    @property
    def path(self) -> str:
        """Where its playbook comes from."""

    @property
    def seed(self) -> int:
        """The seed of the whole."""

    def row(self, run: int) -> RunRow:
        """What a run comes to, from 1; an error inside is something that it comes to, too. Never raises."""

    def frame(self) -> Frame:
        """The faults that may come, and the states that they may meet; nothing where nothing is drawn."""

    def head(self) -> dict[str, Any]:
        """What tells it from other work, by names that a person understands."""

    def document(self) -> dict[str, Any]:
        """All of it, as ``plan.json`` has it."""

    def keep(self, run: int, campaign: "CampaignStore") -> "SavedRun":
        """Do a run again and record its session, unless that was done before.

        Raises:
            CampaignError: it did not come to the same.
            RecordingError, OSError: something cannot be written.
        """


CAMPAIGN: Final = "campaign.json"
RUNS: Final = "runs.jsonl"
PARTS: Final = "runs"
"""Directory of Parquet files, where executors of Spark did the runs."""
SESSIONS: Final = "sessions"
FORMAT: Final = 1


class CampaignError(CodedError):
    """A directory that cannot be gone on with; the message says why, ``code`` names the reason for programs."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run that has a session, and where a storm drew it a playbook, too."""

    run: int
    playbook: Path | None
    session: Path


@dataclass(slots=True)
class CampaignStore:
    """The directory and all that it holds."""

    path: Path
    head: dict[str, Any]
    rows: dict[int, RunRow] = field(default_factory=dict)
    kept: dict[int, SavedRun] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """What else ``campaign.json`` says."""

    def add(self, rows: Iterable[RunRow]) -> None:
        """Runs that have ended, written at once."""
        fresh = [row for row in rows if row.run not in self.rows]
        if fresh:
            with (self.path / RUNS).open("a", encoding="utf-8") as file:
                file.write("".join(f"{row.line()}\n" for row in fresh))
            self.rows.update((row.run, row) for row in fresh)

    def close(self) -> None:
        """Put the lines in the order of the runs, so that the file is the same however the work was spread."""
        put_in_place(self.path / RUNS, "".join(f"{self.rows[run].line()}\n" for run in sorted(self.rows)))

    def keep(self, summary: dict[str, Any]) -> None:
        """Write what it came to so far, beside what was written before."""
        self.summary |= summary
        kept = {str(run): self._names(self.kept[run]) for run in sorted(self.kept)}
        whole = {**self.head, "kept": kept, **self.summary}
        put_in_place(self.path / CAMPAIGN, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    def _names(self, kept: SavedRun) -> list[str]:
        return ["" if each is None else str(each.relative_to(self.path)) for each in (kept.playbook, kept.session)]


def head_of(work: CampaignWorkload, name: str) -> dict[str, Any]:
    """What says which campaign it is; runs of another head are other runs."""
    return {"format": FORMAT, "tool_version": VERSION, "playbook": name, "path": work.path, **work.head()}


def text_hash(text: str, fragments: Iterable[tuple[str, str]], *more: str) -> str:
    """Sixteen bytes that tell a playbook, with what it includes, from others."""
    brought = "".join(f"{key}\n{each}\n" for key, each in fragments)
    return blake2b("\n".join([text, brought, *more]).encode(), digest_size=16).hexdigest()


def open_campaign(path: Path, work: CampaignWorkload, name: str, *, rows: bool = True) -> CampaignStore:
    """The campaign of a directory, which is made if it is not there; without ``rows`` its runs stay where they are.

    Raises:
        CampaignError: it holds another campaign, or something that is none, or cannot be written.
    """
    head = head_of(work, name)
    if has_scheme(str(path)):
        raise CampaignError(
            f"{path}: found a path with a scheme, allowed is a directory on a disk", code="path_with_scheme"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        before: dict[str, Any] = {}
        if (path / CAMPAIGN).is_file():
            before = _same(path, head)
        elif any(path.iterdir()):
            raise CampaignError(
                f"{path}: found a directory with other files, allowed is a new one or a campaign's", code="other_files"
            )
        campaign = CampaignStore(path, head, {}, _kept(path, before))
        if rows:
            campaign.rows |= rows_kept(path)
            campaign.close()
        campaign.keep({name: before[name] for name in before if name not in {*head, "kept"}})
    except OSError as error:
        raise CampaignError(
            f"{path}: a campaign cannot be kept there: {error.strerror or error}", code="cannot_be_kept"
        ) from None
    return campaign


def read_head(path: SessionPath) -> dict[str, Any]:
    """What ``campaign.json`` says. Raises CampaignError where there is none."""
    try:
        found = json.loads((path / CAMPAIGN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CampaignError(f"{path / CAMPAIGN}: found no file of a campaign", code="no_campaign")
    return found


def kept_in(path: Path) -> dict[int, SavedRun]:
    """The runs of a campaign's directory that have a playbook and a session."""
    return _kept(path, read_head(path))


def _kept(path: Path, before: dict[str, Any]) -> dict[int, SavedRun]:
    return {
        int(run): SavedRun(int(run), path / playbook if playbook else None, path / session)
        for run, (playbook, session) in before.get("kept", {}).items()
    }


def _same(path: Path, head: dict[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads((path / CAMPAIGN).read_text(encoding="utf-8"))
    except ValueError:
        raise CampaignError(f"{path / CAMPAIGN}: found a file that is not of a campaign", code="no_campaign") from None
    if not isinstance(found, dict):
        raise CampaignError(f"{path / CAMPAIGN}: found a file that is not of a campaign", code="no_campaign")
    found.setdefault("kind", STORM)
    for name, value in head.items():
        if name != "path" and found.get(name) != value:
            shown = "" if name == "text" else f" ({found.get(name)!r}, not {value!r})"
            what = f"the campaign of another {name.replace('_', ' ')}{shown}"
            raise CampaignError(
                f"{path}: found {what}, allowed is one's own; --out names another directory", code=f"another_{name}"
            )
    return found


def rows_kept(path: Path) -> dict[int, RunRow]:
    """The runs of a campaign's directory that have ended, whichever engine did them."""
    return rows_of_lines(path / RUNS) | _rows_of_parts(path / PARTS)


def rows_of_lines(path: Path) -> dict[int, RunRow]:
    """The whole lines; what a process that died left behind them is left out."""
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
    """What executors of Spark have written."""
    files = sorted(path.glob("*.parquet"))
    if not files:
        return {}
    from playbooks.campaign.parquet_rows import rows_in  # noqa: PLC0415 - most campaigns have no such files

    rows: dict[int, RunRow] = {}
    for file in files:
        # The runs of a file that cannot be read are done again.
        with contextlib.suppress(OSError, ValueError):
            rows |= {row.run: row for row in rows_in(file)}
    return rows
