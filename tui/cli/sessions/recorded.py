"""Commands over recorded sessions: ``replay``, ``recover``, ``peek``, ``groups``, ``export`` and ``import``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.coordinators.group import MISSING, GroupState, Table, warning
from cluster_model.log import BatchStore
from cluster_model.protocol.errors import ModelError
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import counted, listed
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import RecoveryResult, ReplayMismatchError, recover, replay, rerun
from playbooks.engine.session import Session
from playbooks.errors import BAD_INPUT, FAILED, OK, PlaybookError, nearest, shown
from playbooks.export.playbook_writer import ExportedPlaybook, ExportError, export
from playbooks.model.record_contents import PeekedRecord, inspect_record
from playbooks.parser.document.field_types import NAME, NAME_PATTERN
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.recording.recorder import RecordingError
from playbooks.results import consumer_groups
from playbooks.session_format import session_files
from playbooks.session_format.bundle import SUFFIX, open_bundle, write_bundle
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import BundleError, SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.units import duration_us
from tui.output.command_end import exit_code_of, to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    print_problems,
    stderr_console,
    stdout_console,
    table,
)
from tui.viewmodel.record_inspector import RECORD_LABEL, heading, rows


@dataclass(frozen=True, slots=True)
class Export:
    """The options of ``export`` as typed."""

    session: str
    out: Path | None = None
    name: str | None = None
    force: bool = False
    bundle: bool = False
    openmetrics: Path | None = None
    scrape_interval: str | None = None


def run_export(request: Export) -> int:
    """Export a session as a playbook, bundle or metrics; return 0 if exported, 1 if the playbook's digest differs."""
    refused = _refused(request)
    if refused:
        print_error(refused)
        return BAD_INPUT
    if request.openmetrics is not None:
        from tui.cli.sessions.session_metrics import export_metrics  # noqa: PLC0415 - few exports need the sampler

        return export_metrics(request.session, request.openmetrics, request.scrape_interval, force=request.force)
    if request.bundle:
        return run_bundle(request.session, request.out, force=request.force)
    return exit_code_of(lambda: _export(request))


def _export(request: Export) -> int:
    console = stderr_console()
    recorded = read_session(find_session(request.session, sessions_root()))
    for note in recorded.notes:
        print_line(console, f"note: {note}", "yellow")
    try:
        with ProgressLine(console) as progress_line:
            exported = export(
                recorded, name=request.name or "", on_progress=lambda text: progress_line.update(lambda: text)
            )
    except ExportError as error:
        print_error(str(error))
        return FAILED
    if request.out is None:
        print_document(exported.text)
        print_line(console, export_summary(exported))
        return OK
    try:
        put_in_place(request.out, exported.text)
    except OSError as error:
        print_error(f"cannot write {request.out}: {error.strerror}")
        return BAD_INPUT
    print_line(console, f"{request.out}: {export_summary(exported)}")
    return OK


def export_summary(exported: ExportedPlaybook) -> str:
    """Return the contents of an exported playbook in one line."""
    mine = f", {exported.operator} of them by the operator" if exported.operator else ""
    added = counted(exported.inferred, "expectation")
    return f"{counted(exported.steps, 'step')}{mine}; {added} from the session's results; digest {exported.digest}"


def _refused(request: Export) -> str:
    """Return the error in the options; empty if they are valid."""
    if request.openmetrics is not None:
        others = {"-o": request.out, "--name": request.name, "--bundle": request.bundle}
        given = [option for option, value in others.items() if value]
        if given:
            return f"found --openmetrics and {given[0]} together, expected one of them"
    elif request.scrape_interval is not None:
        return "found --scrape-interval without --openmetrics, expected both"
    if request.name is not None and request.bundle:
        return "found --name and --bundle together, expected one of them: a bundle keeps the session's name"
    if request.name is not None and not re.fullmatch(NAME_PATTERN, request.name, re.ASCII):
        return f"--name: found {shown(request.name)}, expected {NAME.allowed}"
    if request.out is None:
        return ""
    if request.out.is_dir():
        return f"-o: {request.out} is a directory, expected a file"
    if request.out.exists() and not request.force:
        return f"-o: {request.out} already exists; --force overwrites it"
    return ""


# ``floodmark export --bundle`` and ``floodmark import``: a session as one file, and back.


def run_bundle(text: str, out: Path | None, *, force: bool) -> int:
    """Write a session as one file, by default ``<session id>.floodmark``, and print its path; return the exit code."""
    console = stderr_console()
    try:
        session = find_session(text, sessions_root())
        with ProgressLine(console) as progress_line:
            progress_line.update(lambda: f"reading {session}")
            recorded = read_session(session)
            for note in recorded.notes:
                print_line(console, f"note: {note}", "yellow")
            file = out or Path(f"{recorded.start.session_id}{SUFFIX}")
            progress_line.update(lambda: f"writing {file}")
            digest = write_bundle(session, file, force=force)
    except SessionError as error:
        print_error(str(error))
        return BAD_INPUT
    print_line(stdout_console(), str(file))
    print_line(console, f"{file.stat().st_size} bytes, SHA-256 {digest}")
    return OK


def run_import(files: Sequence[Path], out: Path | None) -> int:
    """Unpack bundles into the sessions directory, and print the path of each; return the exit code."""
    code = OK
    for file in files:
        try:
            if not file.is_file():
                raise BundleError(f"{file}: no such file", code="file_missing")
            session = open_bundle(file, out or sessions_root())
        except BundleError as error:
            print_error(str(error))
            code = BAD_INPUT
            continue
        torn = "" if (session / session_files.MANIFEST).exists() else " (torn: its recording was cut short)"
        print_line(stdout_console(), str(session))
        if torn:
            print_line(stderr_console(), f"note: {session.name}{torn}", "yellow")
    return code


# ``floodmark peek``: the records, current and truncated, at an offset of a recorded session.


def run_peek(text: str, partition: str, offset: int, *, at: str | None, records: int, json: bool) -> int:
    """Show the records at ``records`` offsets from ``offset`` on; return 0 if there is any, 1 if none."""

    def work() -> int:
        at_us = -1 if at is None else duration_us(at)
        session = rerun_session(read_session(find_session(text, sessions_root())), at_us)
        _check_partition(session, partition)
        peeked = [
            each for at in range(offset, offset + records) for each in inspect_record(session.cluster, partition, at)
        ]
        if json:
            print_document(to_text([each.to_json() for each in peeked]))
        else:
            for each in peeked:
                _print_peeked(each)
        if not peeked:
            end = _log_end(session.cluster.cluster_state.epoch_branches[partition])
            print_error(f"no record was ever written at offset {offset} of {partition}; its log end offset is {end}")
        return OK if peeked else FAILED

    return exit_code_of(work, at)


def rerun_session(recorded: RecordedSession, at_us: int) -> Session | ManualSession:
    """Replay the session up to a virtual time (-1: its end), and compare it with its recording."""
    console = stderr_console()
    for note in recorded.notes:
        print_line(console, f"note: {note}", "yellow")
    with ProgressLine(console) as progress_line:
        return rerun(
            recorded,
            at_us,
            lambda done, total: progress_line.update(lambda: f"replaying: {done} of {total} events are the same"),
        )


def _check_partition(session: Session | ManualSession, partition: str) -> None:
    """Raise if there is no such partition; the message leaves out internal topics, which have too many."""
    known = list(session.cluster.cluster_state.records)
    if partition not in known:
        named = [name for name in known if name.rpartition("-")[0] not in INTERNAL]
        raise ModelError(
            f"no partition {shown(partition)}; known partitions: {listed(named, 'and')}{nearest(partition, known)}",
            code="no_partition",
        )


def _log_end(epoch_branches: BatchStore) -> int:
    return max((epoch_branch.end for epoch_branch in epoch_branches.by_id), default=0)


def _print_peeked(peeked: PeekedRecord) -> None:
    console = stdout_console()
    print_line(console, heading(peeked), "bold")
    for name, text in rows(peeked):
        print_line(console, f"  {name:<{RECORD_LABEL}}{text}")


# ``floodmark groups``: consumer groups of a recorded session, as ``kafka-consumer-groups.sh`` shows them.


SHOWN = {"offsets": consumer_groups.offsets, "members": consumer_groups.members, "state": consumer_groups.state}


def run_groups(text: str, group: str | None, *, at: str | None, show: str, json: bool) -> int:
    """Show a group's table, or the states of all groups; return 0 if there is any, 1 if none."""

    def work() -> int:
        at_us = -1 if at is None else duration_us(at)
        session = rerun_session(read_session(find_session(text, sessions_root())), at_us)
        if not isinstance(session, Session):
            raise ModelError("this is a manual session: it has no consumer groups", code="no_consumer_groups")
        return _print_groups(session.cluster, group, show=show, json=json)

    return exit_code_of(work, at)


def _print_groups(cluster: Cluster, group: str | None, *, show: str, json: bool) -> int:
    if group is None:
        rows = consumer_groups.states(cluster)
        if not rows:
            print_line(stderr_console(), "no consumer groups")
    else:
        described = consumer_groups.describe_group(cluster, group)
        text = warning(described)
        if text:
            print_line(stderr_console(), text)
        rows = [] if described.state == GroupState.DEAD else SHOWN[show](cluster, described)
    if json:
        print_document(to_text(_documents(rows)))
    elif rows[1:]:
        table(stdout_console(), rows[0], rows[1:])
    return OK if rows else FAILED


NUMBERS = ("partition", "current_offset", "log_end_offset", "lag", "members", "partitions")


def _documents(rows: Table) -> list[dict[str, Any]]:
    """Return each row as a JSON object with the column names as keys; missing values are null."""
    heads = [head.lower().replace(" (id)", "").replace("#", "").replace("-", "_") for head in rows[0]] if rows else []
    return [{head: _plain(head, cell) for head, cell in zip(heads, row, strict=True)} for row in rows[1:]]


def _plain(head: str, cell: str) -> str | int | None:
    if cell == MISSING:
        return None
    return int(cell) if head in NUMBERS else cell


# ``floodmark recover``: seals sessions of crashed processes.


def run_recover(texts: Sequence[str]) -> int:
    """Seal every given session; return the worst exit code: 1 a replay differs, 2 a session cannot be read."""
    codes = [_one(text) for text in texts]
    return next(code for code in (BAD_INPUT, FAILED, OK) if code in codes)


def _one(text: str) -> int:
    try:
        session = find_session(text, sessions_root())
        if Path(text).is_file():
            raise SessionError(
                f"{text} is a bundle, which is read-only; unpack it first with: floodmark import {text}",
                code="is_a_bundle",
            )
        with ProgressLine(stderr_console()) as progress_line:
            done = recover(
                session,
                lambda at, total: progress_line.update(lambda: f"{session.name}: replaying: {at} of {total} events"),
            )
    except (SessionError, RecordingError) as error:
        print_error(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        print_problems(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        print_error(f"{text} is left unchanged: {error}")
        return FAILED
    _print_recovered(done)
    return OK


def _print_recovered(done: RecoveryResult) -> None:
    print_line(stdout_console(), str(done.path))
    torn = (
        f"; {counted(done.dropped, 'byte')} of an incomplete line moved to a file beside the log"
        if done.dropped
        else ""
    )
    print_line(
        stderr_console(), f"recovered: {counted(done.events, 'event')}, verdict {done.manifest['verdict']}{torn}"
    )


# ``floodmark replay``: replays a recorded session and compares it with the recording.


def run_replay(text: str, *, json: bool) -> int:
    """Replay the session at a path or with an id; return 0 if every event is the same, 1 if not."""
    console = stderr_console()
    try:
        recorded = read_session(find_session(text, sessions_root()))
        for note in recorded.notes:
            print_line(console, f"note: {note}", "yellow")
        with ProgressLine(console) as progress_line:
            replayed = replay(
                recorded,
                lambda done, total: progress_line.update(lambda: f"replaying: {done} of {total} events are the same"),
            )
    except SessionError as error:
        print_error(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        print_problems(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        print_error(str(error))
        return FAILED
    if json:
        document = {
            "session": str(recorded.path),
            "events": replayed.events,
            "digest": replayed.digest,
            "complete": recorded.manifest is not None,
        }
        print_document(to_text(document))
    digest = f", digest {replayed.digest}" if replayed.digest else "; a torn session has no digest to compare"
    print_line(console, f"the same: {counted(replayed.events, 'event')}{digest}")
    return OK
