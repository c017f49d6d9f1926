"""The verdicts of one shrinking, kept in a file as they come, so that it can go on where it was stopped."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from playbooks.shrink.oracle import Verdict


class JournalError(Exception):
    """The file is of no use here; the message says why."""


class Journal:
    """Verdicts by the names of candidates. Without a path they are kept in memory alone; use it as a context."""

    def __init__(
        self, path: Path | None = None, about: Mapping[str, str] | None = None, *, resume: bool = False
    ) -> None:
        """``about`` says what is shrunk: verdicts about anything else are not taken over.

        Raises:
            JournalError: the one to go on with is missing, damaged, or about something else.
            OSError: it cannot be written.
        """
        self.path = path
        self._verdicts: dict[str, Verdict] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        head = json.dumps(dict(about or {}), sort_keys=True)
        if resume:
            self._read(path, dict(about or {}))
        self._file = path.open("a" if resume else "w", encoding="utf-8")
        if resume and not _ends_whole(path):
            self._file.write("\n")
        if not resume:
            self._line(head)

    @property
    def known(self) -> int:
        """How many verdicts there are."""
        return len(self._verdicts)

    def __contains__(self, name: str) -> bool:
        return name in self._verdicts

    def get(self, name: str) -> Verdict | None:
        """What became of a candidate, None if that is not known."""
        return self._verdicts.get(name)

    def put(self, name: str, verdict: Verdict) -> None:
        """Keep what became of a candidate."""
        self._verdicts[name] = verdict
        self._line(json.dumps({"of": name, **to_json(verdict)}))

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """It is all done: nothing is left to go on with."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _line(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
            self._file.flush()

    def _read(self, path: Path, about: Mapping[str, str]) -> None:
        try:
            first, *lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise JournalError(f"--resume: {path}: {error.strerror}; there is nothing to go on with") from None
        try:
            found = json.loads(first)
        except ValueError:
            raise JournalError(f"--resume: {path} is no journal of a shrinking") from None
        if found != about:
            other = [key for key in about if not isinstance(found, dict) or found.get(key) != about[key]]
            raise JournalError(f"--resume: {path} is about another {', another '.join(other) or 'thing'}")
        for line in lines:
            self._take(line)

    def _take(self, line: str) -> None:
        """One verdict; a line that was not written to its end is left out."""
        try:
            told = json.loads(line)
            self._verdicts[told["of"]] = of_json(told)
        except (ValueError, KeyError, TypeError):
            return


def _ends_whole(path: Path) -> bool:
    return path.read_bytes()[-1:] in (b"", b"\n")


def to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as the file has it."""
    return {
        "state": verdict.state,
        "wrong": list(verdict.wrong),
        "refused": list(verdict.refused),
        "acted": [list(each) for each in verdict.acted],
        "struck": list(verdict.struck),
        "virtual_us": verdict.virtual_us,
        "sent": verdict.sent,
        "digest": verdict.digest,
        "came_us": verdict.came_us,
    }


def of_json(told: Mapping[str, Any]) -> Verdict:
    """Undo of :func:`to_json`."""
    return Verdict(
        told["state"],
        tuple(told["wrong"]),
        tuple(told["refused"]),
        tuple([(at_us, executed) for at_us, executed in told["acted"]]),
        tuple(told["struck"]),
        int(told["virtual_us"]),
        int(told["sent"]),
        told["digest"],
        int(told["came_us"]),
    )
