"""The session on the screen so far as a playbook beside its recording, made by a process of its own."""

import asyncio
import sys

from playbooks.recorder import Recorder, RecordingError


async def export_beside(recorder: Recorder) -> tuple[str, bool]:
    """Export what is recorded so far, while the session goes on; what to say of it, and whether it went well."""
    target = recorder.path.parent / f"{recorder.session_id}.yaml"
    try:
        recorder.flush()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tui.cli.main", "export", str(recorder.path), "--output", str(target), "--force",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except (RecordingError, OSError) as error:
        return str(error), False
    try:
        _, told = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    if process.returncode == 0:
        return f"a playbook of the session so far: {target}", True
    lines = told.decode(errors="replace").splitlines()
    wrong = [line for line in lines if line.startswith("error")] or lines or ["the export ended without a word"]
    return wrong[0], False
