"""The span that is chosen on the timeline as a file beside the recording."""

import asyncio
from pathlib import Path

from playbooks.recording.cutting import CutError, cut_name, cut_out
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import DIRECTORY_PREFIX
from playbooks.session_format.session_finder import goes_away
from tui.viewmodel.timeline.span import Span


async def export_span(path: Path, recorder: Recorder | None, span: Span) -> tuple[str, bool]:
    """Cut it out of the recording in ``path``; what to say of it, and whether it went well.

    It goes beside the recording, but not beside one that was unpacked from a bundle: that one is not there for long.
    """
    session_id = path.name.removeprefix(DIRECTORY_PREFIX)
    beside = Path.cwd() if goes_away(path) else path.parent
    target = beside / cut_name(session_id, span.start_us, span.end_us)
    try:
        if recorder is not None:
            recorder.flush()
        events = await asyncio.to_thread(cut_out, path, span.start_us, span.end_us, target)
    except (CutError, RecordingError) as error:
        return str(error), False
    return f"{events} event{'' if events == 1 else 's'} of the span: {target}", True
