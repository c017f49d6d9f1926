"""What would have saved records, asked on the screen and answered by a process of its own while the session goes on."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbooks.recording.recorder import Recorder, RecordingError
from tui.session.asking import SEEDS
from tui.session.beside import run


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
    words = ("why", str(path), "--at", f"{at_us}us", "--finding", str(number), "--seeds", str(SEEDS), "--json")
    try:
        ended = await run(words, recorder, lambda stderr: _listen(stderr, tell))
    except (RecordingError, OSError) as error:
        return Explanation(None, str(error))
    try:
        (found,) = json.loads(ended.answer)["findings"]
    except (ValueError, KeyError, TypeError):
        return Explanation(None, next(iter(ended.kept), "the process ended without a word"))
    return Explanation(found)


async def _listen(stderr: asyncio.StreamReader, tell: Callable[[str], None]) -> list[str]:
    """Pass on how far it is; the errors among what it says."""
    wrong = []
    async for line in stderr:
        text = line.decode(errors="replace").rstrip()
        if text.startswith("error"):
            wrong.append(text)
        elif text and not text.startswith("note: "):
            tell(text)
    return wrong
