"""The session on the screen so far as a playbook: beside its recording, or as a text, made by a process of its own."""

import asyncio
from pathlib import Path

from playbooks.recording.recorder import Recorder, RecordingError
from tui.session.beside import run
from tui.terminal.self_command import command, environment


async def export_beside(recorder: Recorder) -> tuple[str, bool]:
    """Export what is recorded so far, while the session goes on; what to say of it, and whether it went well."""
    try:
        recorder.flush()
    except RecordingError as error:
        return str(error), False
    target = recorder.path.parent / f"{recorder.session_id}.yaml"
    wrong = await _exported(recorder.path, target)
    return (wrong, False) if wrong else (f"a playbook of the session so far: {target}", True)


async def export_recorded(path: Path, session_id: str, folder: Path) -> tuple[str, bool]:
    """Export a recording, all of it, into a folder; what to say of it, and whether it went well."""
    target = folder / f"{session_id}.yaml"
    wrong = await _exported(path, target)
    return (wrong, False) if wrong else (f"a playbook of the whole recording: {target}", True)


async def playbook_text(path: Path, recorder: Recorder | None) -> tuple[str, str]:
    """The playbook of what is recorded so far as a text, and why there is none where it is empty."""
    try:
        ended = await run(("export", str(path)), recorder, _lines)
    except (RecordingError, OSError) as error:
        return "", str(error)
    text = ended.answer.decode(errors="replace")
    return text, "" if text else _wrong(ended.kept)


async def _lines(stderr: asyncio.StreamReader) -> list[str]:
    return (await stderr.read()).decode(errors="replace").splitlines()


async def _exported(path: Path, target: Path) -> str:
    """Write it there; what went wrong, empty where nothing did."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command(), "export", str(path), "--output", str(target), "--force", env=environment(),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    try:
        _, told = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    return "" if process.returncode == 0 else _wrong(told.decode(errors="replace").splitlines())


def _wrong(told: list[str]) -> str:
    lines = [line for line in told if line.startswith("error")] or told or ["the export ended without a word"]
    return lines[0]
