"""Prints a session as it runs: at full speed, at the pace of a clock, or as a dry run.

The session is advanced in smaller pieces only; neither its result nor its digest changes.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import DATA_KINDS, Event, ExpectationChecked
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import counted, time_in_seconds
from faults.declarations import Action
from playbooks.engine.dry_run import DryRun, Entry, StepPrediction, TimelineEntry, dry_run, predict_impact
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import NextAction, next_action
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK
from playbooks.event_text import line_of
from playbooks.model import expected_lines
from playbooks.results.result import SessionResult
from tui.cli.runs.pace import Pace
from tui.cli.runs.session_driver import progress
from tui.output.command_end import to_text
from tui.output.console import ProgressLine, print_document, print_error, print_line, stderr_console, stdout_console
from tui.output.result import STYLES as STYLES_RESULT
from tui.output.result import print_heading
from tui.session.playbook_choice import PlaybookChoice

# ``floodmark run --dry-run``: the timeline of a playbook, with the expected impact of each fault.


INDENT = " " * 13
LABEL = 17
"""Width of the label column: the longest label of an impact, ``clients affected``, and a blank."""


def dry_run_all(chosen: Sequence[PlaybookChoice], until_us: int, *, json: bool) -> int:
    """Dry-run every playbook and print its predicted impact, or with ``json`` one document; return the exit code."""
    console = stderr_console() if json else stdout_console()
    documents = []
    for number, each in enumerate(chosen):
        if number:
            print_line(console, "")
        try:
            documents.append(_foretell(console, each, until_us))
        except ModelError as error:
            print_error(f"{each.playbook.path}: {error}")
            return BAD_INPUT
        except KeyboardInterrupt:
            print_line(stderr_console(), "stopped; nothing was recorded")
            return INTERRUPTED
    if json:
        runs = [each.to_json() for each in documents]
        print_document(to_text(runs[0] if len(runs) == 1 else runs))
    return OK


def _foretell(console: Console, chosen: PlaybookChoice, until_us: int) -> DryRun:
    playbook = chosen.playbook
    print_heading(console, playbook, chosen.seed, playbook.spec.profile.name)
    with ProgressLine(stderr_console()) as progress_line:

        def on_progress(entry: Entry) -> None:
            progress_line.hide()
            if isinstance(entry, StepPrediction):
                for line in predicted_lines(entry):
                    print_line(console, line)
            else:
                for line in moment_lines(entry):
                    print_line(console, line, _style(entry))

        done = dry_run(
            playbook,
            chosen.seed,
            until_us=until_us,
            on_progress=on_progress,
            progress=lambda session: progress_line.update(lambda: progress(session)),
        )
    print_end(console, done)
    return done


def predicted_lines(step: StepPrediction) -> list[str]:
    """Return the lines of a fault step: its targets, its expected impact, and the reaction of guards."""
    lines = [f"{time_in_seconds(step.at_us):>12} {step.name}  {step.text}"]
    if step.when:
        lines.append(_line("when", step.when))
    if step.targets:
        lines.append(_line("targets", ", ".join(step.targets)))
    if step.refused:
        lines.append(_line("refused", step.refused))
    if step.skipped:
        lines.append(_line("skipped", step.skipped))
    if step.expected is not None:
        lines.append(_line("expected", step.expected.sentence))
        lines += [_line(label, text) for label, text in expected_lines(step.expected)]
    if step.guard:
        verb = "refuses it" if step.guard_does == "refuse" else "allows it and heals everything"
        lines.append(_line("guard", f"{step.guard} {verb}: {step.guard_reason}"))
    return lines


def moment_lines(moment: TimelineEntry) -> list[str]:
    """Return the lines of an entry that is no fault, such as an expectation or a workload step."""
    at = time_in_seconds(moment.at_us) if moment.at_us >= 0 else "never"
    if not moment.step:
        return [f"{at:>12} {moment.text}"]
    lines = [f"{at:>12} {moment.name}  {moment.text}"]
    if moment.what == "never":
        return [f"{lines[0]}  ({moment.when})"] if moment.when else lines
    lines += [_line("when", moment.when)] if moment.when else []
    lines += [_line("refused", moment.refused)] if moment.refused else []
    return lines


def _style(moment: TimelineEntry) -> str:
    if moment.what == "never":
        return "yellow"
    return "red" if moment.what == "expectation" and moment.text.startswith("FAILED") else ""


def _line(label: str, text: str) -> str:
    return f"{INDENT}{label:<{LABEL}}{text}"


def print_end(console: Console, done: DryRun) -> None:
    """Print the final line: the number of predicted faults, and the verdict that a run would have."""
    stopped = sum(bool(each.refused) or each.guard_does == "refuse" for each in done.predicted)
    parts = [f"{counted(len(done.predicted), 'fault')} predicted"]
    parts += [f"{stopped} refused"] if stopped else []
    skipped = sum(bool(each.skipped) for each in done.predicted)
    parts += [f"{skipped} skipped"] if skipped else []
    parts += [f"{counted(len(done.unreached), 'step')} never reached"] if done.unreached else []
    why = f" ({done.reason})" if done.reason else ""
    print_line(
        console,
        f"dry run of {time_in_seconds(done.virtual_us)}, nothing recorded: {', '.join(parts)}; "
        f"a run would end with {done.verdict.upper()}{why}",
        STYLES_RESULT[done.verdict],
    )


# ``floodmark run --speed``: one session, printed live at the pace of a clock.


MARKS_S: Final = (30.0, 10.0, 3.0)
"""Wall-clock seconds before the next step at which it is announced again."""
TOLD: Final = frozenset(
    {
        *("step_taken", "expectation_checked", "fault_healed", "fault_skipped", "guard_acted", "admin_answered"),
        *("leader_elected", "partition_offline", "controller_changed", "broker_fenced", "invariant_violated"),
        "liveness_violated",
    }
)
"""Kinds of events that are printed by default; none of internal topics."""
STYLES: Final = {"expected": "cyan", "next": "bold", "fault_healed": "green", "step_taken": "bold yellow"}


@dataclass(slots=True)
class LivePrinter:
    """Prints a session live: its pace, its console, and the level of detail."""

    pace: Pace
    console: Console
    """Console of the events; the status line is progress, and goes to stderr."""
    everything: bool = False
    """Whether to print every notable event, and no status line."""
    stopped: bool = field(default=False, init=False)
    """Whether the user stopped it."""
    _predicted: list[StepPrediction] = field(default_factory=list, init=False)
    _marked: tuple[NextAction | None, float] = field(default=(None, 0.0), init=False)
    """The step announced last, and the least seconds left at which it was announced."""
    _live: Live | None = field(default=None, init=False)

    def run(self, session: Session) -> SessionResult:
        """Play a session to its end, or until the user stops it; either way it is sealed.

        Raises:
            KeyboardInterrupt: the user stopped it twice.
            RecordingError: the session cannot be written.
        """
        session.board.on_inject = self._expecter(session)
        with self._interrupts(), self._status():
            self.pace.begin(session.cluster.now_us)
            self._show(session)
            while not self.stopped and session.advance(self.pace.next_us(session.cluster.now_us)):
                self._show(session)
                self._wait(session)
            self._show(session)
        if self.stopped:
            remaining = (
                "settling continues without output"
                if session.phase == "settling"
                else "faults heal, and the session settles now"
            )
            self._say(time_in_seconds(session.cluster.now_us), f"stopped: {remaining}")
            session.settle()
        while session.advance(session.cluster.now_us + SLICE_US):
            self._tell(session.drain())
        result = session.finish()
        if self.everything:  # by default only the verdict follows
            self._tell(session.drain())
        return result

    def stop(self) -> None:
        """Stop at the next frame.

        Raises:
            KeyboardInterrupt: it is stopping already.
        """
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def _wait(self, session: Session) -> None:
        try:
            self.pace.wait(session.cluster.now_us)
        except KeyboardInterrupt:  # when the signal handler cannot be installed
            self.stop()

    def _expecter(self, session: Session) -> Callable[[Action], None]:
        def before(action: Action) -> None:
            step = session.next_step
            if step is not None:
                self._predicted.append(predict_impact(session.board, step, action))

        return before

    # -- output -----------------------------------------------------------------------------------------------------

    def _show(self, session: Session) -> None:
        self._tell(session.drain())
        following, now = next_action(session), session.cluster.now_us
        if following is None:
            return
        if self._live is not None:
            status = f"{time_in_seconds(now)}  next: {following.text(now)}{_trouble(session)}"
            self._live.update(Text(status, no_wrap=True, overflow="ellipsis"), refresh=True)
        if self._is_due(following, now):
            self._say(time_in_seconds(now), f"next: {following.text(now)}", STYLES["next"])

    def _is_due(self, following: NextAction, now_us: int) -> bool:
        """Return whether to announce the next step: when it changes, and as it comes near."""
        left = self.pace.wall_s(following.at_us - now_us) if following.at_us >= 0 else float("inf")
        known, least = self._marked
        passed = [mark for mark in MARKS_S if left <= mark < least]
        if known == following and (not passed or self._live is not None):
            return False
        self._marked = (following, left)
        return True

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind in DATA_KINDS or not (self.everything or _matters(event)):
                continue
            self._say(time_in_seconds(event.values()[0]), line_of(event), _event_style(event))
            self._tell_expected(event)

    def _tell_expected(self, event: Event) -> None:
        """Print the expected impact of a step's fault, after the step."""
        if event.kind != "step_taken" or not self._predicted:
            return
        if self._predicted[0].name == event.values()[1]:
            for line in predicted_lines(self._predicted.pop(0))[1:]:
                self._say("", line.removeprefix(INDENT), STYLES["expected"])

    def _say(self, at: str, text: str, style: str = "") -> None:
        if self._live is not None:
            self._live.update(Text(), refresh=True)  # both may be on one terminal
        print_line(self.console, f"{at:>12}  {text}", style)
        self.console.file.flush()

    # -- the terminal -----------------------------------------------------------------------------------------------

    @contextmanager
    def _status(self) -> Iterator[None]:
        """Show a status line below the others, on a terminal."""
        moving = stderr_console()
        if self.everything or not moving.is_terminal:
            yield
            return
        with Live(
            console=moving, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        ) as self._live:
            yield
        self._live = None

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Make Ctrl-C request a stop, because a session interrupted within an event could not be sealed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.stop()

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _matters(event: Event) -> bool:
    partition = getattr(event, "partition", "")
    return event.kind in TOLD and partition.rpartition("-")[0] not in INTERNAL


def _event_style(event: Event) -> str:
    """Return the style of an event's line."""
    if isinstance(event, ExpectationChecked):
        return "green" if event.ok else "bold red"
    return STYLES.get(event.kind, "")


def _trouble(session: Session) -> str:
    """Return the active faults, for the status line."""
    active = session.board.active()
    return f"  [{', '.join(fault.name for fault in active[:3])}{' ...' if len(active) > 3 else ''}]" if active else ""
