"""Questions, explanations and exports in processes of their own, and the evidence for a finding's page."""

import asyncio
import json
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from cluster_model.checker.root_cause import Finding, RecordBlock, branch_of
from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import counted
from playbooks.errors import BAD_INPUT, FAILED, OK
from playbooks.model.record_contents import PeekedRecord, RecordSource, inspect_record
from playbooks.recording.reader import RecordedSession, SpanError, extract_span, span_file_name
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import DIRECTORY_PREFIX
from playbooks.session_format.session_finder import is_temporary_session
from tui.session.session_controller import SessionController
from tui.terminal.self_command import command, environment
from tui.viewmodel.finding_page import MOST_PLACES, ChainFrame, CopyHolder, FindingPage, chosen, frame
from tui.viewmodel.partition_history import PartitionHistory
from tui.viewmodel.timeline.selection import Span


def findings_so_far(session_controller: SessionController) -> tuple[Finding, ...]:
    """Return all findings about records so far, in the order in which ``floodmark run`` prints them."""
    cluster = session_controller.session.cluster
    return cluster.checker.findings.findings(cluster.now_us)


def case_of(session_controller: SessionController, findings: tuple[Finding, ...], number: int) -> FindingPage:
    """Return the data of the autopsy page of a finding, by its number from 1."""
    cluster, chronicle = session_controller.session.cluster, session_controller.chronicle
    finding = findings[number - 1]
    partition = next((link.partition for link in finding.chain if link.partition), finding.partitions[0])
    there = [each for each in finding.blocks if each.partition == partition] or list(finding.blocks)
    block = max(there, key=lambda each: each.count)  # the chain is that of the block with the most records
    first = [peeked for each in finding.blocks[:MOST_PLACES] for peeked in _peeked(cluster, each)]
    start, end = block.log_offset, block.log_offset + block.count
    return FindingPage(
        number=number,
        total=len(findings),
        finding=finding,
        now_us=cluster.now_us,
        frames=_frames(cluster, chronicle, finding, block),
        partition=partition,
        peeked=tuple(first),
        readers=cluster.checker.readings.groups_that_read(partition, start, end) if start >= 0 else (),
        violations=chronicle.violations(finding.partitions, cluster.now_us),
    )


def _frames(
    cluster: RecordSource, chronicle: PartitionHistory, finding: Finding, block: RecordBlock
) -> tuple[ChainFrame, ...]:
    partition = block.partition
    record = cluster.cluster_state.records.get(partition)
    replicas = record.assignment if record is not None else ()
    copies = _copies(cluster, block)
    chain = [link for link in finding.chain if link.partition in ("", partition)] or list(finding.chain)
    return tuple(
        frame(finding, chain, link, chronicle.status_after(partition, replicas, link), replicas, copies)
        for link in chosen(chain)
    )


def _copies(cluster: RecordSource, block: RecordBlock) -> tuple[CopyHolder, ...]:
    """Return the replicas that have, or had and dropped, the records of a block."""
    cluster_state, checker, partition = cluster.cluster_state, cluster.checker, block.partition
    start, end = block.log_offset, block.log_offset + block.count
    epoch_branch = branch_of(cluster_state, partition, block.leader_epoch, start, block.client, block.sequence)
    if epoch_branch is None:
        return ()
    deleted = {
        cut.event.broker: cut.event.at_us
        for cut in checker.history.truncations_of(partition, epoch_branch.id, (start, end))
    }
    for broker, (_moment, event) in checker.history.removed(partition).items():
        if event.log_offset < end and event.end_offset > start:
            deleted[broker] = event.at_us
    replicas = cluster_state.replicas.get(partition, {})
    has = [broker for broker, replica in replicas.items() if replica.log.holds(epoch_branch.id, start, end)]
    in_sync = checker.ledger.ack_isrs.isr_at(partition, epoch_branch.id, start) if block.acks < 0 else ()
    return tuple(
        CopyHolder(
            broker, broker == epoch_branch.broker or broker in in_sync, -1 if broker in has else deleted.get(broker, -1)
        )
        for broker in dict.fromkeys((epoch_branch.broker, *in_sync, *deleted, *has))
    )


def _peeked(cluster: RecordSource, block: RecordBlock) -> tuple[PeekedRecord, ...]:
    """Return the first record of a block, from all records ever written at its offset."""
    if block.log_offset < 0:
        return ()
    try:
        found = inspect_record(cluster, block.partition, block.log_offset)
    except ModelError:
        return ()  # its partition has been deleted
    return tuple(each for each in found if each.record.epoch == block.leader_epoch)


# A floodmark command in a process of its own, while the session continues.


class CommandOutcome(NamedTuple):
    """Result of a command: exit code, stdout, and lines of stderr."""

    code: int
    answer: bytes
    """Complete stdout."""
    kept: list[str]
    """Lines of stderr that the listener kept."""


async def run(
    words: tuple[str, ...], recorder: Recorder | None, listen: Callable[[asyncio.StreamReader], Awaitable[list[str]]]
) -> CommandOutcome:
    """Run a command on the recording so far; ``listen`` reads its stderr.

    On cancellation the process is stopped together with its child processes.

    Raises:
        RecordingError: the recording cannot be flushed.
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
        await _stopped(process)
        raise
    return CommandOutcome(process.returncode if process.returncode is not None else BAD_INPUT, answer, kept)


async def _stopped(process: asyncio.subprocess.Process) -> None:
    """Interrupt the process and wait for it; if that is cancelled, as at the end of the program, kill it and wait.

    A process that is not awaited would be reported on the terminal after the event loop has ended.
    """
    number = signal.SIGINT
    while True:
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            await process.communicate()
        except asyncio.CancelledError:  # repeated at the end of the program: by the worker, all workers, all tasks
            number = signal.SIGKILL
        else:
            return


# A question about the session, evaluated in a process of its own while the session continues.


SEEDS: Final = 5
"""Number of seeds, fewer than on the command line as the user is waiting."""
_LEFT_OUT: Final = ("  watched ", "  horizon ", "  threshold ")
"""Prefixes of lines that are the same in every answer, which are left out."""
_PROGRESS: Final = re.compile(r"note: |[a-z ]+: ([0-9]+ of [0-9]+ (seeds|events)|at [0-9])", re.ASCII)
"""Lines of stderr about progress: ``replaying: 3000 of 9000 events``."""
ROLES: Final = {OK: "calm", FAILED: "alarm"}
"""Exit code → role of the answer; others are warnings."""


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """Answer to a question: exit code and lines."""

    code: int
    lines: tuple[str, ...]

    @property
    def role(self) -> str:
        """Role of the first line."""
        return ROLES.get(self.code, "warning")


def recording_of(recorded: RecordedSession | None, recorder: Recorder | None) -> Path | None:
    """Return the path of the recording, whether it is in progress or complete; None without one."""
    if recorder is not None:
        return recorder.path
    return recorded.path if recorded is not None else None


async def put_question(
    text: str, path: Path, at_us: int, recorder: Recorder | None, on_progress: Callable[[str], None]
) -> QuestionReply:
    """Evaluate a question at a virtual time; if it is not safe, the worst run is written beside the recording.

    On cancellation the process is stopped together with its child processes.
    """
    words = (
        *("ask", str(path), text, "--at", f"{at_us}us"),
        *("--seeds", str(SEEDS), "--witness", str(path.parent), "--force"),
    )
    try:
        ended = await run(words, recorder, lambda stderr: _read_answer(stderr, on_progress))
    except (RecordingError, OSError) as error:
        return QuestionReply(BAD_INPUT, (str(error),))
    answered = [line for line in ended.answer.decode(errors="replace").splitlines() if not line.startswith(_LEFT_OUT)]
    return QuestionReply(ended.code, (*answered[1:], *ended.kept) or ("the process ended without output",))


async def _read_answer(stderr: asyncio.StreamReader, on_progress: Callable[[str], None]) -> list[str]:
    """Pass progress lines on, and return the other lines, which belong to the answer."""
    kept = []
    async for line in stderr:
        text = line.decode(errors="replace").rstrip()
        if _PROGRESS.match(text):
            on_progress(text)
        elif text:
            kept.append(text)
    return kept


# What would have prevented a finding, computed in a process of its own.


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a finding as ``floodmark why --json`` prints it, or why there is none."""

    document: dict[str, Any] | None
    refusal: str = ""


async def explain(
    number: int, path: Path, at_us: int, recorder: Recorder | None, on_progress: Callable[[str], None]
) -> Explanation:
    """Explain a finding of the session cut off at a virtual time, with no faults healed.

    On cancellation the process is stopped together with its child processes.
    """
    words = ("why", str(path), "--at", f"{at_us}us", "--finding", str(number), "--seeds", str(SEEDS), "--json")
    try:
        ended = await run(words, recorder, lambda stderr: _read_explanation(stderr, on_progress))
    except (RecordingError, OSError) as error:
        return Explanation(None, str(error))
    try:
        (finding,) = json.loads(ended.answer)["findings"]
    except (ValueError, KeyError, TypeError):
        return Explanation(None, next(iter(ended.kept), "the process ended without output"))
    return Explanation(finding)


async def _read_explanation(stderr: asyncio.StreamReader, on_progress: Callable[[str], None]) -> list[str]:
    """Pass progress lines on, and return the errors."""
    error_lines = []
    async for line in stderr:
        text = line.decode(errors="replace").rstrip()
        if text.startswith("error"):
            error_lines.append(text)
        elif text and not text.startswith("note: "):
            on_progress(text)
    return error_lines


# Export of the session so far as a playbook: to a file beside its recording, or as text, in a process of its own.


async def export_beside(recorder: Recorder) -> tuple[str, bool]:
    """Export the recording so far while the session continues; return a message, and whether it succeeded."""
    try:
        recorder.flush()
    except RecordingError as error:
        return str(error), False
    target = recorder.path.parent / f"{recorder.session_id}.yaml"
    wrong = await _exported(recorder.path, target)
    return (wrong, False) if wrong else (f"exported the session so far to {target}", True)


async def export_recorded(path: Path, session_id: str, folder: Path) -> tuple[str, bool]:
    """Export a whole recording into a folder; return a message, and whether it succeeded."""
    target = folder / f"{session_id}.yaml"
    wrong = await _exported(path, target)
    return (wrong, False) if wrong else (f"exported the whole recording to {target}", True)


async def playbook_text(path: Path, recorder: Recorder | None) -> tuple[str, str]:
    """Return the playbook of the recording so far as text, and the error if it is empty."""
    try:
        ended = await run(("export", str(path)), recorder, _lines)
    except (RecordingError, OSError) as error:
        return "", str(error)
    text = ended.answer.decode(errors="replace")
    return text, "" if text else _error_of(ended.kept)


async def _lines(stderr: asyncio.StreamReader) -> list[str]:
    return (await stderr.read()).decode(errors="replace").splitlines()


async def _exported(path: Path, target: Path) -> str:
    """Export a recording to a file; return the error, empty for none."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command(), "export", str(path), "--output", str(target), "--force", env=environment(),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    try:
        _, stderr = await process.communicate()
    except asyncio.CancelledError:
        await _stopped(process)
        raise
    return "" if process.returncode == 0 else _error_of(stderr.decode(errors="replace").splitlines())


def _error_of(output: list[str]) -> str:
    lines = [line for line in output if line.startswith("error")] or output or ["the export ended without output"]
    return lines[0]


# Export of a time span to a file beside the recording.


async def export_span(path: Path, recorder: Recorder | None, span: Span) -> tuple[str, bool]:
    """Write the events of a span of the recording to a file; return a message, and whether it succeeded.

    The file is beside the recording, or in the current directory if the recording was unpacked from a bundle.
    """
    session_id = path.name.removeprefix(DIRECTORY_PREFIX)
    beside = Path.cwd() if is_temporary_session(path) else path.parent
    target = beside / span_file_name(session_id, span.start_us, span.end_us)
    try:
        if recorder is not None:
            recorder.flush()
        events = await asyncio.to_thread(extract_span, path, span.start_us, span.end_us, target)
    except (SpanError, RecordingError) as error:
        return str(error), False
    return f"{counted(events, 'event')} of the span exported to {target}", True
