"""``floodmark upgrade``: what an upgrade fixes and breaks, in general and for given playbooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cluster_model.protocol.releases import RELEASES, unknown_hint
from cluster_model.util.quantities import counted
from playbooks.cluster_risks import failure_playbooks
from playbooks.errors import BAD_INPUT, FAILED, INTERRUPTED, OK, PlaybookError, shown
from playbooks.library.bundled import names, path_of
from playbooks.model import Playbook
from playbooks.parser.document import is_fragment_file
from playbooks.parser.loader import load
from playbooks.upgrade import (
    PlaybookDifference,
    UpgradeAssessment,
    UpgradeError,
    UpgradeProgress,
    assess,
    assessment_json,
    assessment_markdown,
    chance_text,
    change_rows,
    direction_text,
    is_chance,
    notes,
    outcome_rows,
    suitable,
    summary,
    used_explanations,
)
from tui.cli.reference.releases import print_changed_issues
from tui.output.command_end import exit_code_of, to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)
from tui.session.playbook_choice import read


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """Arguments of the command."""

    before: str
    after: str
    playbooks: Sequence[str] = ()
    library: bool = False
    """Whether to add all bundled playbooks that are for both releases."""
    jobs: int = 0
    json: bool = False
    markdown: bool = False


def run_upgrade(request: UpgradeRequest) -> int:
    """Assess an upgrade; return 0, 1 if a playbook passes before and not after, or 2 for bad input."""
    for release in (request.before, request.after):
        if release not in RELEASES:
            print_error(f"no Kafka version {shown(release)}{unknown_hint(release)}; see: floodmark profiles")
            return BAD_INPUT
    if request.json and request.markdown:
        print_error("found --json and --markdown together, expected one of them")
        return BAD_INPUT
    return exit_code_of(lambda: _run(request))


def _run(request: UpgradeRequest) -> int:
    try:
        chosen = [each for text in request.playbooks for each in _playbooks_of(text)] + _bundled(request)
        with ProgressLine(stderr_console()) as progress_line:
            assessment = assess(
                chosen,
                request.before,
                request.after,
                workers=request.jobs,
                on_progress=lambda progress: progress_line.update(lambda: _progress_text(progress)),
            )
    except (PlaybookError, UpgradeError) as error:
        print_error(str(error))
        return BAD_INPUT
    if request.json:
        print_document(to_text(assessment_json(assessment)))
    elif request.markdown:
        print_document(assessment_markdown(assessment))
    else:
        _print(stdout_console(), assessment)
    if assessment.is_stopped:
        print_error("stopped; the result is incomplete")
        return INTERRUPTED
    return FAILED if any(_broken(each) for each in assessment.playbooks) else OK


def _playbooks_of(text: str) -> list[Playbook]:
    """Return the playbook that was named, or for a cluster file playbooks of typical failures on it."""
    path = Path(text)
    return failure_playbooks(path) if path.is_file() and is_fragment_file(path) else [read(text)]


def _bundled(request: UpgradeRequest) -> list[Playbook]:
    if not request.library:
        return []
    found = [load(path_of(name)) for name in names()]
    return [each for each in found if suitable(each, request.before, request.after)]


def _broken(difference: PlaybookDifference) -> bool:
    return difference.before["verdict"] == "pass" != difference.after["verdict"]


def _progress_text(progress: UpgradeProgress) -> str:
    if progress.compared < progress.playbooks:
        return f"playbook {progress.compared + 1} of {progress.playbooks}, under both releases"
    done = f"{progress.searched} of {counted(progress.different, 'different playbook')}"
    return f"searching what makes the difference: {done}, {counted(progress.tries, 'run')}"


def _print(console: Console, assessment: UpgradeAssessment) -> None:
    changes = assessment.changes
    aside = direction_text(changes.before, changes.after)
    if aside:
        print_line(console, aside)
    print_changed_issues(console, changes)
    rules = len(changes.new_rules) + len(changes.dropped_rules)
    more = f"floodmark profiles --diff {changes.before} {changes.after}"
    print_line(console, f"also {counted(rules, 'rule')} and {counted(len(changes.defaults), 'default')}, see: {more}")
    if not assessment.wanted:
        print_line(console, "to compare outcomes of playbooks: floodmark upgrade FROM TO PLAYBOOK..., or --library")
        return
    print_line(console, "")
    for each in assessment.playbooks:
        if each.differs and not is_chance(each):
            print_line(console, each.playbook, "bold red" if _broken(each) else "bold")
            table(console, ("outcome", changes.before, changes.after, "because of"), outcome_rows(each))
            for note in notes(each):
                print_line(console, note)
            print_line(console, "")
    rows = change_rows(assessment)
    if rows:
        table(console, ("change", "meaning", "playbooks"), rows)
        for text in used_explanations(assessment):
            print_line(console, text)
        print_line(console, "")
    if chance_text(assessment):
        print_line(console, chance_text(assessment))
    print_line(console, summary(assessment))
