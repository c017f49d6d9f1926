"""What would have saved records, asked on the screen and answered by a process of its own while the session goes on."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbooks.recorder import Recorder, RecordingError
from tui.asking import SEEDS


@dataclass(frozen=True, slots=True)
class Explanation:
    """What came of it: the finding as ``floodmark why --json`` explains it, or why there is none."""

    found: dict[str, Any] | None
    refusal: str = ""


async def explain(
    number: int, path: Path, at_us: int, recorder: Recorder | None, tell: Callable[[str], None]
) -> Explanation:
    """Explain the finding of that number as the session stood at a virtual time, cut off there with nothing healed.

    When it is cancelled, the process is stopped with all that it has started.
    """
    command = (
        *(sys.executable, "-m", "tui.cli.main", "why", str(path), "--at", f"{at_us}us"),
        *("--finding", str(number), "--seeds", str(SEEDS), "--json"),
    )
    try:
        if recorder is not None:
            recorder.flush()
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (RecordingError, OSError) as error:
        return Explanation(None, str(error))
    try:
        said, answer = await asyncio.gather(_listen(process, tell), _answer(process))
        await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        raise
    try:
        (found,) = json.loads(answer)["findings"]
    except (ValueError, KeyError, TypeError):
        return Explanation(None, next(iter(said), "the process ended without a word"))
    return Explanation(found)


async def _answer(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.read()


async def _listen(process: asyncio.subprocess.Process, tell: Callable[[str], None]) -> list[str]:
    """Pass on how far it is; the errors among what it says."""
    assert process.stderr is not None
    wrong = []
    async for line in process.stderr:
        text = line.decode(errors="replace").rstrip()
        if text.startswith("error"):
            wrong.append(text)
        elif text and not text.startswith("note: "):
            tell(text)
    return wrong
