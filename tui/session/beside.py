"""A command of floodmark in a process of its own, while the session on the screen goes on."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from playbooks.exit_codes import BAD_INPUT
from playbooks.recording.recorder import Recorder
from tui.terminal.self_command import command, environment


class Ended(NamedTuple):
    """What a command came to."""

    code: int
    answer: bytes
    """All of its stdout."""
    kept: list[str]
    """What the listener kept of its stderr."""


async def run(
    words: tuple[str, ...], recorder: Recorder | None, listen: Callable[[asyncio.StreamReader], Awaitable[list[str]]]
) -> Ended:
    """Run it over what has been recorded so far; ``listen`` reads its stderr.

    When it is cancelled, the process is stopped with all that it has started.

    Raises:
        RecordingError: what is to be recorded cannot be written.
        OSError: the process cannot be started.
    """
    if recorder is not None:
        recorder.flush()
    process = await asyncio.create_subprocess_exec(
        *command(),
        *words,
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        kept, answer = await asyncio.gather(listen(process.stderr), process.stdout.read())
        await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        raise
    return Ended(process.returncode if process.returncode is not None else BAD_INPUT, answer, kept)
