"""``floodmark export``: a recorded session as a playbook, on stdout or in a file."""

import re
from dataclasses import dataclass
from pathlib import Path

from playbooks.errors import counted, shown
from playbooks.exit_codes import BAD_INPUT, FAILED, OK
from playbooks.export.exporting import Exported, ExportError, export
from playbooks.parser.document.field_types import NAME, NAME_PATTERN
from playbooks.recording.reader import read_session
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.command_end import ended
from tui.output.console import complain, people, print_document, say
from tui.output.progress import Telling


@dataclass(frozen=True, slots=True)
class Export:
    """The options of ``export`` as typed."""

    session: str
    out: Path | None = None
    name: str | None = None
    force: bool = False
    bundle: bool = False


def run_export(request: Export) -> int:
    """Export a session; 0 when there is a playbook of it, 1 when it would not come to the same."""
    refused = _refused(request)
    if refused:
        complain(refused)
        return BAD_INPUT
    if request.bundle:
        from tui.cli.sessions.bundles import run_bundle  # noqa: PLC0415 - most exports are playbooks

        return run_bundle(request.session, request.out, force=request.force)
    return ended(lambda: _export(request))


def _export(request: Export) -> int:
    console = people()
    recorded = read_session(find_session(request.session, sessions_root()))
    for note in recorded.notes:
        say(console, f"note: {note}", "yellow")
    try:
        with Telling(console) as telling:
            exported = export(recorded, name=request.name or "", tell=lambda text: telling.tell(lambda: text))
    except ExportError as error:
        complain(str(error))
        return FAILED
    if request.out is None:
        print_document(exported.text)
        say(console, told(exported))
        return OK
    try:
        put_in_place(request.out, exported.text)
    except OSError as error:
        complain(f"cannot write {request.out}: {error.strerror}")
        return BAD_INPUT
    say(console, f"{request.out}: {told(exported)}")
    return OK


def told(exported: Exported) -> str:
    """What the playbook has, in one line."""
    mine = f", {exported.operator} of them the operator's" if exported.operator else ""
    added = counted(exported.inferred, "expectation")
    return f"{counted(exported.steps, 'step')}{mine}; {added} found in the session; digest {exported.digest}"


def _refused(request: Export) -> str:
    """Why nothing is even begun."""
    if request.name is not None and request.bundle:
        return "found --name and --bundle together, allowed is one of them: a bundle is the session as it is"
    if request.name is not None and not re.fullmatch(NAME_PATTERN, request.name, re.ASCII):
        return f"--name: found {shown(request.name)}, allowed is {NAME.allowed}"
    if request.out is None:
        return ""
    if request.out.is_dir():
        return f"-o: {request.out} is a directory, allowed is a file"
    if request.out.exists() and not request.force:
        return f"-o: {request.out} is there already; --force writes over it"
    return ""
