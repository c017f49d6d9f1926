"""``floodmark run --dry-run``: what each fault of a playbook is expected to do, told right before it does it."""

from collections.abc import Sequence

from rich.console import Console

from cluster_model.errors import ModelError
from playbooks.dry_run import DryRun, Foretold, dry_run
from playbooks.expecting import seconds
from playbooks.foretold_words import expected_lines
from playbooks.problems import counted
from tui.cli.chosen import Chosen
from tui.cli.console import BAD_INPUT, INTERRUPTED, OK, answers, complain, people, print_document, say
from tui.cli.driving import progress
from tui.cli.printing import STYLES, print_heading
from tui.cli.progress import Telling
from tui.cli.run import to_text

INDENT = " " * 13
LABEL = 15


def foretell_all(chosen: Sequence[Chosen], until_us: int, *, json: bool) -> int:
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


def _foretell(console: Console, chosen: Chosen, until_us: int) -> DryRun:
    playbook = chosen.playbook
    print_heading(console, playbook, chosen.seed, playbook.spec.profile.name)
    with Telling(people()) as telling:

        def tell(foretold: Foretold) -> None:
            telling.hide()
            for line in foretold_lines(foretold):
                say(console, line)

        done = dry_run(
            playbook,
            chosen.seed,
            until_us=until_us,
            tell=tell,
            progress=lambda session: telling.tell(lambda: progress(session)),
        )
    for each in done.unreached:
        say(console, f"{'never':>12} {each.name}  {each.text}")
    print_end(console, done)
    return done


def foretold_lines(foretold: Foretold) -> list[str]:
    """A step with its targets, what it would hit, and what the guards would say."""
    lines = [f"{seconds(foretold.at_us):>12} {foretold.name}  {foretold.text}"]
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
        STYLES[done.verdict],
    )
