"""``floodmark run --dry-run``: the timeline of a playbook, and what each of its faults is expected to do."""

from collections.abc import Sequence

from rich.console import Console

from cluster_model.protocol.errors import ModelError
from playbooks.engine.dry_run import DryRun, Entry, Foretold, Moment, dry_run
from playbooks.engine.expectations import seconds
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK, counted
from playbooks.model import expected_lines
from tui.cli.runs.session_driver import progress
from tui.output.command_end import to_text
from tui.output.console import ProgressLine, answers, complain, people, print_document, say
from tui.output.result import STYLES as STYLES_RESULT
from tui.output.result import print_heading
from tui.session.playbook_choice import PlaybookChoice

INDENT = " " * 13
LABEL = 15


def foretell_all(chosen: Sequence[PlaybookChoice], until_us: int, *, json: bool) -> int:
    """Foretell every playbook; the document goes to stdout, so do the lines unless there is one."""
    console = people() if json else answers()
    documents = []
    for number, each in enumerate(chosen):
        if number:
            say(console, "")
        try:
            documents.append(_foretell(console, each, until_us))
        except ModelError as error:
            complain(f"{each.playbook.path}: {error}")
            return BAD_INPUT
        except KeyboardInterrupt:
            say(people(), "stopped; nothing was kept")
            return INTERRUPTED
    if json:
        told = [each.to_json() for each in documents]
        print_document(to_text(told[0] if len(told) == 1 else told))
    return OK


def _foretell(console: Console, chosen: PlaybookChoice, until_us: int) -> DryRun:
    playbook = chosen.playbook
    print_heading(console, playbook, chosen.seed, playbook.spec.profile.name)
    with ProgressLine(people()) as telling:

        def tell(entry: Entry) -> None:
            telling.hide()
            if isinstance(entry, Foretold):
                for line in foretold_lines(entry):
                    say(console, line)
            else:
                for line in moment_lines(entry):
                    say(console, line, _style(entry))

        done = dry_run(
            playbook,
            chosen.seed,
            until_us=until_us,
            tell=tell,
            progress=lambda session: telling.tell(lambda: progress(session)),
        )
    print_end(console, done)
    return done


def foretold_lines(foretold: Foretold) -> list[str]:
    """A step with its targets, what it would hit, and what the guards would say."""
    lines = [f"{seconds(foretold.at_us):>12} {foretold.name}  {foretold.text}"]
    if foretold.when:
        lines.append(_line("when", foretold.when))
    if foretold.targets:
        lines.append(_line("strikes", ", ".join(foretold.targets)))
    if foretold.refused:
        lines.append(_line("refused", foretold.refused))
    if foretold.skipped:
        lines.append(_line("skipped", foretold.skipped))
    if foretold.expected is not None:
        lines.append(_line("expected", foretold.expected.sentence))
        lines += [_line(label, text) for label, text in expected_lines(foretold.expected)]
    if foretold.guard:
        verb = "refuses it" if foretold.guard_does == "refuse" else "lets it happen and heals everything"
        lines.append(_line("guard", f"{foretold.guard} {verb}: {foretold.guard_reason}"))
    return lines


def moment_lines(moment: Moment) -> list[str]:
    """What is no fault, on a line or two."""
    at = seconds(moment.at_us) if moment.at_us >= 0 else "never"
    if not moment.step:
        return [f"{at:>12} {moment.text}"]
    lines = [f"{at:>12} {moment.name}  {moment.text}"]
    if moment.what == "never":
        return [f"{lines[0]}  ({moment.when})"] if moment.when else lines
    lines += [_line("when", moment.when)] if moment.when else []
    lines += [_line("refused", moment.refused)] if moment.refused else []
    return lines


def _style(moment: Moment) -> str:
    if moment.what == "never":
        return "yellow"
    return "red" if moment.what == "expectation" and moment.text.startswith("FAILED") else ""


def _line(label: str, text: str) -> str:
    return f"{INDENT}{label:<{LABEL}}{text}"


def print_end(console: Console, done: DryRun) -> None:
    """The final line: what was foretold, and how a run would end."""
    stopped = sum(bool(each.refused) or each.guard_does == "refuse" for each in done.foretold)
    parts = [f"{counted(len(done.foretold), 'fault')} foretold"]
    parts += [f"{stopped} refused"] if stopped else []
    skipped = sum(bool(each.skipped) for each in done.foretold)
    parts += [f"{skipped} skipped"] if skipped else []
    parts += [f"{counted(len(done.unreached), 'step')} never reached"] if done.unreached else []
    why = f" ({done.reason})" if done.reason else ""
    say(
        console,
        f"dry run of {seconds(done.virtual_us)}, nothing was kept: {', '.join(parts)}; "
        f"a run would end with {done.verdict.upper()}{why}",
        STYLES_RESULT[done.verdict],
    )
