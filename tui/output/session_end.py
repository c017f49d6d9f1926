"""The end of a session on the screen: live branches are sealed, verdicts printed, internal errors kept."""

from collections.abc import Iterable
from contextlib import suppress

from cluster_model.util.quantities import clock, compact_duration
from playbooks.engine.session import SLICE_US, Session
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import SessionResult
from playbooks.text import printable
from playbooks.timetravel.branches import Branch, Branches
from tui.output.command_end import keep
from tui.output.console import ProgressLine, complain, people, say, say_lines


def seal_all(branches: Branches) -> int:
    """Seal one after the other, and say goodbye to each; the exit code, 0 when all went well.

    One that is a recording is sealed already, or was left torn by somebody else.
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
            complain(str(error))
            code = code or BAD_INPUT
            _say_torn([branch])
        except Exception as error:
            code = code or keep(error, branch.recorder, name_session=False)
            _say_torn([branch])
        else:
            print(farewell(result, origin(branch) if len(branches) > 1 else ""))
    return code


def let_go(branch: Branch) -> None:
    """Write what waits to be written, and leave the recording as it is."""
    if branch.recorder is not None:
        with suppress(RecordingError):
            branch.recorder.close()


def leave_torn(branches: Iterable[Branch], failure: BaseException, at_fault: Recorder | None) -> int:
    """Let go of every branch after something broke, and name each with what can be done with it; the exit code."""
    left = [*branches]
    for branch in left:
        let_go(branch)
    if isinstance(failure, RecordingError):  # a full disk is nobody's mistake
        complain(str(failure))
        code = BAD_INPUT
    else:
        code = keep(failure, at_fault, name_session=False)
    _say_torn(left)
    return code


def _interrupted(left: list[Branch]) -> None:
    for branch in left:
        let_go(branch)
    say(people(), "sealing interrupted; the events so far can be read")
    _say_torn(left)


def _say_torn(left: list[Branch]) -> None:
    for branch in left:
        if branch.recorder is not None and branch.recorder.session_id:
            say_lines(people(), torn(branch))


def torn(branch: Branch) -> str:
    """Of a session that could not be sealed: that it has no verdict, where it is, how to read it and how to mend it."""
    session, path = branch.live, printable(str(branch.recorder.path)) if branch.recorder is not None else ""
    return (
        f"{session.playbook.name}, seed {session.cluster.seed}: no verdict, not sealed,"
        f" {compact_duration(session.cluster.now_us)} of cluster time\n"
        f"session  {path}\n"
        f"report   floodmark report {path}\n"
        f"recover  floodmark recover {path}"
    )


def seal(session: Session, which: str = "the session") -> SessionResult:
    """Settle, close the books, write the recording; says how far it is when it takes a while."""
    with ProgressLine(people()) as telling:
        session.settle()
        while session.advance(session.cluster.now_us + SLICE_US):
            telling.tell(lambda: f"settling and sealing {which}, at {compact_duration(session.cluster.now_us)}")
        return session.finish()


def origin(branch: Branch) -> str:
    """Which branch it is, and where it comes from."""
    if branch.parent is None:
        return branch.letter
    return f"{branch.letter}, which left {branch.parent.letter} at {clock(branch.left_us)}: {branch.began}"


def farewell(result: SessionResult, branch: str = "") -> str:
    """The verdict in one line, where the session is, and how to read it."""
    ledger = result.ledger
    lost = f"{ledger.acked_lost} acknowledged records lost" if ledger.acked_lost else "no acknowledged record lost"
    failed = [each.text for each in result.expectations if not each.ok]
    why = f" ({printable(result.reason or failed[0])})" if result.reason or failed else ""
    known = sum(bool(each.known) for each in result.violations)
    broken = f", {len(result.violations)} invariant violations" if result.violations else ""
    broken += f" ({known} known for this version)" if known else ""
    which = f"branch   {printable(branch)}\n" if branch else ""
    session = printable(str(result.session))
    return (
        f"{which}"
        f"{printable(result.playbook)}, seed {result.seed}: {result.verdict}{why}, {lost} of {ledger.acked}{broken},"
        f" {compact_duration(result.virtual_us)} of cluster time\n"
        f"session  {session}\n"
        f"report   floodmark report {session}\n"
        f"export   floodmark export {session}"
    )
