"""``floodmark report``: starts the Spark job in a process of its own; the command line itself never loads Spark."""

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playbooks.exit_codes import BAD_INPUT, INTERNAL
from playbooks.session_format.session_errors import SessionError
from playbooks.session_format.session_files import has_scheme, sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.console import complain
from tui.terminal import self_command

SIGNALLED = 128
FORMATS = ("html", "markdown", "parquet", "json", "terminal")
"""What ``--format`` may name."""


@dataclass(frozen=True, slots=True)
class Report:
    """The options of ``report`` as typed."""

    sessions: Sequence[str]
    out: Path | None = None
    formats: str | None = None
    master: str | None = None
    memory: str | None = None
    baseline: str | None = None


def report(request: Report) -> int:
    """Run the report over sessions; its exit code."""
    sessions: list[str] = []
    good = _formats_known(request.formats)
    for text in request.sessions:
        try:
            sessions.append(_found(text))
        except SessionError as error:
            complain(str(error))
            good = False
    baseline = None
    if request.baseline is not None:
        try:
            baseline = _found(request.baseline)
        except SessionError as error:
            complain(f"--baseline: {error}")
            good = False
    if not good:
        return BAD_INPUT
    command = [*self_command.command("spark_report"), *sessions]
    told = (("--out", request.out), ("--format", request.formats), ("--master", request.master))
    for option, value in (*told, ("--memory", request.memory), ("--baseline", baseline)):
        if value is not None:
            command += [option, str(value)]
    return run_to_its_end(command)


def _found(text: str) -> str:
    """The session that is meant; of one on another file system Spark finds out. Raises SessionError."""
    return text if has_scheme(text) else str(find_session(text, sessions_root()))


def _formats_known(text: str | None) -> bool:
    """Whether every format asked for is one; complains about the first that is none."""
    if text is None:
        return True
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = next((name for name in names if name not in FORMATS), None)
    if names and unknown is None:
        return True
    found = "nothing" if unknown is None else repr(unknown)
    complain(f"--format: found {found}, allowed are {', '.join(FORMATS)}")
    return False


def run_to_its_end(command: list[str]) -> int:
    """Run a command to its end. Ctrl-C reaches it as well; what counts is how it ends then."""
    try:
        process = subprocess.Popen(command, env=self_command.environment())
    except OSError as error:
        complain(f"cannot start Spark: {error.strerror}")
        return INTERNAL
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else SIGNALLED - code
