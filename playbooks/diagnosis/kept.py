"""The explanation of a recorded session in a file beside it, so that a report need not run the session again."""

from pathlib import Path

from playbooks.diagnosis.why import Telling, Why, WhyError, case_of, explain
from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import put_in_place
from playbooks.text import json_text


def explain_recorded(directory: Path, *, tell: Telling = lambda text: None) -> Why:
    """Explain the losses of a recorded session.

    Raises:
        WhyError: this version runs it otherwise than it was recorded.
        PlaybookError, ExportError, ReplayMismatchError, SessionError: see :func:`playbooks.diagnosis.why.case_of`.
    """
    recorded = read_session(directory)
    case = case_of(recorded, tell)
    tell("running it again")
    result = case.run()
    if recorded.manifest is None or result.digest != recorded.manifest.digest:
        raise WhyError(f"{directory}: this version runs it otherwise than it was recorded")
    return explain(case, result, tell=tell)


def keep(directory: Path, why: Why) -> None:
    """Put an explanation beside the session that it is of. Raises OSError."""
    put_in_place(directory / session_files.WHY, json_text(why.to_json(), indent=1) + "\n")
