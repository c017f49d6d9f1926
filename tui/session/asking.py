"""A question about the session on the screen, answered by a process of its own while the session goes on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playbooks.exit_codes import BAD_INPUT, FAILED, OK
from playbooks.recording.reader import Recorded
from playbooks.recording.recorder import Recorder, RecordingError
from tui.session.beside import run

SEEDS: Final = 5
"""Fewer than on the command line: somebody waits in front of the screen."""
_LEFT_OUT: Final = ("  watched ", "  a stall is ")
"""Lines of the answer that are the same every time."""
_ON_THE_WAY: Final = ("asking: ", "running it again: ", "going there: ", "note: ")
ROLES: Final = {OK: "calm", FAILED: "alarm"}
"""Exit code → how the answer is painted; others are warnings."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question."""

    code: int
    lines: tuple[str, ...]

    @property
    def role(self) -> str:
        """How its first line is painted."""
        return ROLES.get(self.code, "warning")


def recording_of(recorded: Recorded | None, recorder: Recorder | None) -> Path | None:
    """Where the session stands on disk, whether it is recorded now or was before; None where it is not."""
    if recorder is not None:
        return recorder.path
    return recorded.path if recorded is not None else None


async def put_question(
    text: str, path: Path, at_us: int, recorder: Recorder | None, tell: Callable[[str], None]
) -> Reply:
    """Ask about the session as it stands at a virtual time; the worst future goes beside it if it is not safe.

    When it is cancelled, the process is stopped with all that it has started.
    """
    words = (
        *("ask", str(path), text, "--at", f"{at_us}us"),
        *("--seeds", str(SEEDS), "--witness", str(path.parent), "--force"),
    )
    try:
        ended = await run(words, recorder, lambda stderr: _listen(stderr, tell))
    except (RecordingError, OSError) as error:
        return Reply(BAD_INPUT, (str(error),))
    answered = [line for line in ended.answer.decode(errors="replace").splitlines() if not line.startswith(_LEFT_OUT)]
    return Reply(ended.code, (*answered[1:], *ended.kept) or ("the process ended without a word",))


async def _listen(stderr: asyncio.StreamReader, tell: Callable[[str], None]) -> list[str]:
    """Pass on how far it is; what else it says belongs to the answer."""
    kept = []
    async for line in stderr:
        text = line.decode(errors="replace").rstrip()
        if text.startswith(_ON_THE_WAY):
            tell(text)
        elif text:
            kept.append(text)
    return kept
