"""``floodmark shrink``: minimises a failing session to the shortest playbook that still fails."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from playbooks.errors import BAD_INPUT, FAILED, INCONCLUSIVE, INTERNAL, INTERRUPTED, OK
from playbooks.export.playbook_writer import ExportError, export
from playbooks.parser.loader import load, loads
from playbooks.parser.settings import SettingError
from playbooks.recording.reader import read_session
from playbooks.session_format.session_files import SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.shrink import (
    STOPPED,
    WHOLE,
    Budget,
    CandidateRunner,
    CandidateVerdict,
    DraftSearch,
    DraftSize,
    Journal,
    JournalError,
    KeyUnknownError,
    NoFailureError,
    PassResult,
    ShrinkError,
    ShrinkResult,
    ShrinkSource,
    ShrinkTarget,
    digest,
    examine,
    flow,
    judged,
    shrink,
    without_it,
    written,
)
from playbooks.units import UnitError, duration_us
from playbooks.version import VERSION
from tui.output.command_end import exit_code_of, to_text, write_file
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)
from tui.session.playbook_choice import choose, settings_of

# Output of ``floodmark shrink``: progress, the table of passes, and the written playbook.


HEADS = ("pass", "tried", "kept", "steps", "records", "simulated")


def so_far(search: DraftSearch) -> str:
    """Return the progress: ``12 runs: 5 steps, 17.2s simulated``."""
    best = search.best
    runs = counted(search.bench.runs, "run")
    limit = f" of {search.budget.runs}" if search.budget.runs >= 0 else ""
    left = search.budget.left_s
    ends = f", {left:.0f} s left" if left >= 0 else ""
    steps = counted(len(best.draft.steps), "step")
    return f"{runs}{limit}{ends}: {steps}, {seconds_to_the_tenth(best.verdict.virtual_us)}s simulated"


def print_shrunk(shrunk: ShrinkResult, out: Path, verdict: CandidateVerdict) -> None:
    """Print the table of passes, the remaining steps, and the path of the playbook."""
    console = stdout_console()
    table(console, HEADS, [_row(each) for each in shrunk.rows])
    needed = dict(shrunk.needed)
    print_line(console, "")
    print_line(console, shrunk.sentence)
    for number, step in enumerate(shrunk.draft.steps, 1):
        why = f"   without it: {without_it(needed[step.number], shrunk.target.keys)}" if step.number in needed else ""
        print_line(console, f"  {number:>3}  {flow(step.keys)[1:-1]}{why}")
    if shrunk.ended == WHOLE:
        print_line(console, f"minimal  after {counted(shrunk.runs, 'run')}: every remaining step is needed", "bold")
    else:
        why = "stopped" if shrunk.ended == STOPPED else "budget used up"
        print_line(console, f"shrunk   {why} after {counted(shrunk.runs, 'run')}: it may not be minimal", "bold")
    print_line(console, f"playbook floodmark run {out}")
    print_line(console, f"digest   {verdict.digest}")


def _row(row: PassResult) -> tuple[str, ...]:
    return (
        row.name,
        str(row.tried),
        str(row.kept),
        _change(str(row.before.steps), str(row.after.steps)),
        _change(str(row.before.records), str(row.after.records)),
        _change(f"{seconds_to_the_tenth(row.before.virtual_us)}s", f"{seconds_to_the_tenth(row.after.virtual_us)}s"),
    )


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def document(shrunk: ShrinkResult, out: Path, verdict: CandidateVerdict) -> dict[str, Any]:
    """Return the result as a JSON document."""
    target, needed = shrunk.target, dict(shrunk.needed)
    return {
        "source": target.origin.words,
        "seed": target.origin.seed,
        "keys": list(target.keys),
        "known": [each.known for each in target.failures],
        "ended": shrunk.ended,
        "runs": shrunk.runs,
        "finding": shrunk.sentence,
        "playbook": str(out),
        "digest": verdict.digest,
        "held": verdict.held,
        "steps": [
            {"step": flow(step.keys), "without": list(needed[step.number]) if step.number in needed else None}
            for step in shrunk.draft.steps
        ],
        "passes": [
            {
                "name": row.name,
                "tried": row.tried,
                "kept": row.kept,
                "before": _size(row.before),
                "after": _size(row.after),
            }
            for row in shrunk.rows
        ],
    }


def _size(size: DraftSize) -> dict[str, int]:
    return {"steps": size.steps, "records": size.records, "virtual_us": size.virtual_us}


ALONE_S: Final = 0.2
"""Run time of a session, in seconds, below which candidates run in this process instead of a pool."""
SUFFIX: Final = "-shrunk"


@dataclass(frozen=True, slots=True)
class ShrinkRequest:
    """The options of ``shrink`` as typed."""

    source: str
    keep: Sequence[str] = ()
    seed: int | None = None
    settings: Sequence[str] = ()
    out: Path | None = None
    force: bool = False
    workers: int = 0
    budget: str = ""
    resume: bool = False
    plain: bool = False
    json: bool = False


class _ShrinkInputError(Exception):
    """Bad input; the message says what was found and what is allowed."""


def run_shrink(request: ShrinkRequest) -> int:
    """Shrink the source; return the exit code as documented in the command's help."""

    def work() -> int:
        try:
            return _shrink(request)
        except NoFailureError:
            print_line(stderr_console(), f"{request.source}: no finding, so there is nothing to reproduce")
            return INCONCLUSIVE
        except BrokenProcessPool:
            print_error("a worker process died (out of memory?); resume with --resume")
            return INTERNAL
        except (_ShrinkInputError, KeyUnknownError, SettingError, JournalError, ExportError, ShrinkError) as error:
            print_error(str(error))
            return BAD_INPUT

    return exit_code_of(work)


def _shrink(request: ShrinkRequest) -> int:
    budget = _budget(request.budget)
    console = stderr_console()
    with ProgressLine(console) as progress_line:
        origin = _origin(request, lambda text: progress_line.update(lambda: text))
        out = _out(request, origin)
        progress_line.update(lambda: f"running {origin.words}")
        began = time.process_time()
        target = examine(origin, request.keep)
        took = time.process_time() - began
        is_known = ", known for its Kafka version" if all(each.known for each in target.failures) else ""
        progress_line.hide()
        print_line(console, f"{origin.words}, seed {origin.seed}: {counted(len(target.draft.steps), 'step')}")
        print_line(console, f"keeping  {' and '.join(target.keys)}{is_known}", "bold")
        journal = _journal(request, target, out)
        workers = request.workers or (1 if took < ALONE_S else os.cpu_count() or 1)
        with CandidateRunner(target.keys, journal, workers) as bench:
            shrunk = shrink(target, bench, budget, _printer(request, progress_line))
    return _hand_over(request, shrunk, out, journal)


def _printer(request: ShrinkRequest, progress_line: ProgressLine) -> Callable[[DraftSearch, str], None]:
    def on_progress(search: DraftSearch, kept: str) -> None:
        if kept and request.plain:
            print_line(stderr_console(), f"{kept:6} {so_far(search)}")
        elif not request.plain:
            progress_line.update(lambda: so_far(search))

    return on_progress


def _hand_over(request: ShrinkRequest, shrunk: ShrinkResult, out: Path, journal: Journal) -> int:
    """Write the playbook, run it from its file, and print the result; return the exit code."""
    if not write_file("--out", out, written(shrunk, out.stem)):
        journal.close()
        return BAD_INPUT
    verdict, result = judged(load(out), shrunk.target.keys)
    if request.json:
        print_document(to_text(document(shrunk, out, verdict)))
    else:
        print_shrunk(shrunk, out, verdict)
    if shrunk.ended == WHOLE:
        journal.remove()
    else:
        journal.close()
        print_line(stderr_console(), f"to resume: floodmark shrink {request.source} {_again(request)}--resume")
    if not verdict.held or result is None:
        print_error(f"{out}: run from its file, it does not reproduce {' and '.join(shrunk.target.keys)}")
        return FAILED
    return {WHOLE: OK, STOPPED: INTERRUPTED}.get(shrunk.ended, INCONCLUSIVE)


def _again(request: ShrinkRequest) -> str:
    """Return the options that must be repeated to resume."""
    options = [f"--keep {key}" for key in request.keep] + [f"--set {each}" for each in request.settings]
    options += [f"--seed {request.seed}"] if request.seed is not None else []
    options += [f"--out {request.out}"] if request.out is not None else []
    return "".join(f"{word} " for word in options)


def _origin(request: ShrinkRequest, on_progress: Callable[[str], None]) -> ShrinkSource:
    """Return the source: a recorded session exported as a playbook, else a playbook."""
    try:
        path = find_session(request.source, sessions_root())
    except SessionError:
        chosen = choose(request.source, request.seed, settings_of(request.settings))
        return ShrinkSource(chosen.playbook, chosen.seed, request.source)
    if request.seed is not None or request.settings:
        raise _ShrinkInputError("found --seed or --set with a recorded session, allowed only with a playbook")
    recorded = read_session(path)
    for note in recorded.notes:
        print_line(stderr_console(), f"note: {note}", "yellow")
    exported = export(recorded, name=recorded.start.playbook, on_progress=on_progress)
    return ShrinkSource(loads(exported.text, str(path)), recorded.start.seed, f"session {recorded.start.session_id}")


def _out(request: ShrinkRequest, origin: ShrinkSource) -> Path:
    out = request.out or Path(f"{origin.playbook.name.removesuffix(SUFFIX)}{SUFFIX}.yaml")
    if out.is_dir():
        raise _ShrinkInputError(f"--out: {out} is a directory, expected a file")
    if out.exists() and not request.force and not request.resume:
        raise _ShrinkInputError(f"--out: {out} already exists; --force overwrites it")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise _ShrinkInputError(f"--out: found {out}, expected a file in an existing, writable directory")
    return out


def _journal(request: ShrinkRequest, target: ShrinkTarget, out: Path) -> Journal:
    about = {
        "input": digest(target.draft.text()),
        "key": " ".join(target.keys),
        "version": VERSION,
        "digest": target.verdict.digest,
    }
    try:
        return Journal(out.with_name(f"{out.stem}.journal"), about, resume=request.resume)
    except OSError as error:
        raise _ShrinkInputError(f"--out: cannot write the journal beside {out}: {error.strerror}") from None


def _budget(text: str) -> Budget:
    if not text:
        return Budget()
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return Budget(runs=int(text))
    try:
        return Budget(until=time.monotonic() + duration_us(text) / 1_000_000)
    except UnitError as error:
        raise _ShrinkInputError(f"--budget: found {text!r}, expected a number of runs, or {error}") from None
