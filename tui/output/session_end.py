"""The end of a TUI session: live branches are sealed, verdicts printed, internal errors logged."""

from collections.abc import Iterable
from contextlib import suppress

from cluster_model.util.quantities import clock, compact_duration
from playbooks.engine.session import SLICE_US, Session
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import SessionResult
from playbooks.text import printable
from playbooks.timetravel.branches import Branch, Branches
from tui.output.command_end import report_internal_error
from tui.output.console import ProgressLine, print_error, print_line, print_lines, stderr_console


def seal_all(branches: Branches) -> int:
    """Seal the branches one after the other and print each verdict; return the exit code, 0 if all were sealed.

    A branch that is a recording is already sealed, or was torn before this process opened it.
    """
    code = OK
    live = [branch for branch in branches if branch.session.recorded is None]
    for number, branch in enumerate(live):
        which = f"branch {branch.letter}" if len(branches) > 1 else "the session"
        try:
            result = seal(branch.live, which)
        except KeyboardInterrupt:
            _interrupted(live[number:])
            return INTERRUPTED
        except RecordingError as error:
            print_error(str(error))
            code = code or BAD_INPUT
            _say_torn([branch])
        except Exception as error:
            code = code or report_internal_error(error, branch.recorder, name_session=False)
            _say_torn([branch])
        else:
            print(verdict_text(result, origin(branch) if len(branches) > 1 else ""))
    return code


def close_unsealed(branch: Branch) -> None:
    """Write buffered events and close the recording without sealing it."""
    if branch.recorder is not None:
        with suppress(RecordingError):
            branch.recorder.close()


def close_after_failure(branches: Iterable[Branch], failure: BaseException, at_fault: Recorder | None) -> int:
    """Close every branch after a failure and print how to read and recover it; return the exit code."""
    left = [*branches]
    for branch in left:
        close_unsealed(branch)
    if isinstance(failure, RecordingError):  # such as a full disk: no internal error
        print_error(str(failure))
        code = BAD_INPUT
    else:
        code = report_internal_error(failure, at_fault, name_session=False)
    _say_torn(left)
    return code


def _interrupted(left: list[Branch]) -> None:
    for branch in left:
        close_unsealed(branch)
    print_line(stderr_console(), "sealing interrupted; the events recorded so far can be read")
    _say_torn(left)


def _say_torn(left: list[Branch]) -> None:
    for branch in left:
        if branch.recorder is not None and branch.recorder.session_id:
            print_lines(stderr_console(), unsealed_text(branch))


def unsealed_text(branch: Branch) -> str:
    """Return the text for a session that could not be sealed: its path, and how to read and recover it."""
    session, path = branch.live, printable(str(branch.recorder.path)) if branch.recorder is not None else ""
    return (
        f"{session.playbook.name}, seed {session.cluster.seed}: no verdict, not sealed,"
        f" {compact_duration(session.cluster.now_us)} of cluster time\n"
        f"session  {path}\n"
        f"report   floodmark report {path}\n"
        f"recover  floodmark recover {path}"
    )


def seal(session: Session, which: str = "the session") -> SessionResult:
    """Settle the session, evaluate it and seal the recording, with progress when it takes a while."""
    with ProgressLine(stderr_console()) as progress_line:
        session.settle()
        while session.advance(session.cluster.now_us + SLICE_US):
            progress_line.update(lambda: f"settling and sealing {which}, at {compact_duration(session.cluster.now_us)}")
        return session.finish()


def origin(branch: Branch) -> str:
    """Return the branch's letter, and for a fork its parent, fork time and first action."""
    if branch.parent is None:
        return branch.letter
    return f"{branch.letter}, forked from {branch.parent.letter} at {clock(branch.left_us)}: {branch.began}"


def verdict_text(result: SessionResult, branch: str = "") -> str:
    """Return the verdict in one line, the session's path, and the commands that report and export it."""
    ledger = result.ledger
    lost = f"{ledger.acked_lost} acknowledged records lost" if ledger.acked_lost else "no acknowledged record lost"
    failed = [each.text for each in result.expectations if not each.ok]
    why = f" ({printable(result.reason or failed[0])})" if result.reason or failed else ""
    from tui.output.result import loss_expected  # noqa: PLC0415 - a session begins without it

    verdict = "as expected" if loss_expected(result) else result.verdict
    known = sum(bool(each.known) for each in result.violations)
    broken = f", {len(result.violations)} invariant violations" if result.violations else ""
    broken += f" ({known} known for this version)" if known else ""
    which = f"branch   {printable(branch)}\n" if branch else ""
    session = printable(str(result.session))
    return (
        f"{which}"
        f"{printable(result.playbook)}, seed {result.seed}: {verdict}{why}, {lost} of {ledger.acked}{broken},"
        f" {compact_duration(result.virtual_us)} of cluster time\n"
        f"session  {session}\n"
        f"report   floodmark report {session}\n"
        f"export   floodmark export {session}"
    )
