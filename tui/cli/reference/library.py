"""``floodmark library`` and ``floodmark check``: bundled playbooks and fragments, and validation of files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from rich.console import Console

from cluster_model.protocol.releases import RELEASE_LINES, RELEASES, line_of, unknown_hint
from cluster_model.util.quantities import counted, listed
from playbooks.errors import BAD_INPUT, OK, PlaybookError, Problem, nearest, shown
from playbooks.library.bundled import FRAGMENTS, fragment_names, names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.library.suffixes import SUFFIXES
from playbooks.model import Playbook, Step, step_text, timeline, trigger_text
from playbooks.parser.document import is_fragment, walk
from playbooks.parser.document.field_types import ranges_text
from playbooks.parser.loader import Fragment, fragment_of, load, read_fragment, read_text
from playbooks.text import without_modeline
from tui.cli.reference.catalogue import profile_of
from tui.output.command_end import to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    print_problems,
    stderr_console,
    stdout_console,
)
from tui.session.playbook_choice import read

# Fragments: those of the library, and validation of a file.


def print_fragment(name: str, *, json: bool) -> None:
    """Print a bundled fragment as YAML, or as a JSON document."""
    fragment = bundled(name)
    print_document(to_text(_fragment_entry(fragment)) if json else fragment.source)


def bundled(name: str) -> Fragment:
    """Return the bundled fragment of that name."""
    return read_fragment(FRAGMENTS / f"{name}.yaml")


def checked(text: str) -> str:
    """Return the result line of a file that is a valid fragment; empty for a file that is no fragment.

    Raises:
        PlaybookError: the fragment has errors.
    """
    if not Path(text).is_file():
        return ""
    try:
        source = read_text(text)
    except PlaybookError:
        return ""  # reported as a playbook that cannot be read
    if not is_fragment(source, text):
        return ""
    fragment = fragment_of(source, text)
    variables = variables_text(fragment, sign=" = ") or "none"
    return f"{text}: valid fragment ({counted(fragment.steps, 'step')}; variables: {variables})"


def variables_text(fragment: Fragment, sign: str = ": ") -> str:
    """Return the variables of a fragment, each with its default if it has one."""
    return ", ".join(name + (f"{sign}{value}" if value else "") for name, value in fragment.variables.items())


def _fragment_entry(fragment: Fragment) -> dict[str, Any]:
    return {
        "name": fragment.name,
        "title": fragment.title,
        "story": fragment.story,
        "variables": dict(fragment.variables),
        "path": fragment.path,
        "source": fragment.source,
    }


GAP: Final = 2
LABEL: Final = 11
"""Width of the labels of a playbook's details, in terminal columns."""
WHEN: Final = 17
"""Width of a step's trigger, in terminal columns; a longer trigger has a line of its own."""
NARROWEST: Final = 40


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """The options of ``library`` as typed."""

    name: str | None = None
    tag: str | None = None
    kafka: str | None = None
    yaml: bool = False
    json: bool = False


def library(wanted: LibraryOptions) -> int:
    """List the bundled playbooks, all or those of a tag and version, or show details of one; return the exit code."""
    problem = _problem(wanted)
    if problem:
        print_error(problem)
        return BAD_INPUT
    if wanted.name in fragment_names() and wanted.name not in names():
        print_fragment(str(wanted.name), json=wanted.json)
        return OK
    if wanted.name is not None:
        playbook = load(path_of(wanted.name))
        if wanted.yaml or wanted.json:
            print_document(without_modeline(playbook.source) if wanted.yaml else to_text(_playbook_entry(playbook)))
        else:
            _tell(playbook)
        return OK
    chosen = [each for each in map(load, map(path_of, names())) if _fits(each, wanted)]
    if wanted.json:
        print_document(to_text([_playbook_entry(each) for each in chosen]))
    else:
        _list(chosen)
        if wanted.tag is None and wanted.kafka is None:
            _list_fragments()
        _tell_more()
    return OK


def _problem(wanted: LibraryOptions) -> str:
    """Return the error in the options; empty if they are valid."""
    known = (*names(), *fragment_names())
    if wanted.name is not None and wanted.name not in known:
        return f"no bundled playbook {shown(wanted.name)}{nearest(wanted.name, known)}; see: floodmark library"
    if wanted.name is not None and (wanted.tag is not None or wanted.kafka is not None):
        return f"found a name and {'--kafka' if wanted.tag is None else '--tag'} together, expected one of them"
    if wanted.yaml and wanted.json:
        return "found --yaml and --json together, expected one of them"
    if wanted.yaml and wanted.name is None:
        return "--yaml: found no name, required is the name of one playbook: floodmark library NAME --yaml"
    if wanted.tag is not None and wanted.tag not in (*THEMES, *TAGS):
        tags = (*THEMES, *TAGS)
        return f"--tag: found {shown(wanted.tag)}, expected {listed(tags)}{nearest(wanted.tag, tags)}"
    if wanted.kafka is not None and wanted.kafka not in RELEASES:
        lines = listed(RELEASE_LINES, limit=len(RELEASE_LINES))
        hint = unknown_hint(wanted.kafka)
        return f"--kafka: found {shown(wanted.kafka)}, expected {lines}, or one of their patches{hint}"
    return ""


def _fits(playbook: Playbook, wanted: LibraryOptions) -> bool:
    return (wanted.tag is None or wanted.tag in playbook.tags) and (
        wanted.kafka is None or bool({wanted.kafka, line_of(wanted.kafka)} & set(playbook.profiles))
    )


def _list(chosen: Sequence[Playbook]) -> None:
    console = stdout_console()
    if not chosen:
        print_line(stderr_console(), "no bundled playbook matches")
        return
    column = max(len(each.name) for each in chosen) + 2 * GAP
    for theme, doc in THEMES.items():
        entries = [each for each in chosen if theme_of(each.tags) == theme]
        if not entries:
            continue
        print_line(console, f"{heading(theme)} (--tag {theme})", "bold")
        for line in _wrapped(doc, _width(console)):
            print_line(console, line)
        print_line(console, "")
        for each in entries:
            _print_labelled(console, f"{'':{GAP}}{each.name}", each.title, column)
        print_line(console, "")


def _list_fragments() -> None:
    """Print the bundled fragments, with their variables."""
    console = stdout_console()
    fragments = [bundled(name) for name in fragment_names()]
    if not fragments:
        return
    column = max(len(each) for each in fragment_names()) + 2 * GAP
    print_line(console, "Fragments to include in a playbook", "bold")
    print_line(console, "")
    for name, each in zip(fragment_names(), fragments, strict=True):
        _print_labelled(console, f"{'':{GAP}}{name}", each.title, column)
        _print_labelled(console, "", f"variables: {variables_text(each) or 'none'}", column)
    print_line(console, "")


def _tell_more() -> None:
    """Print a hint about further commands, on a terminal."""
    console = stdout_console()
    more = "floodmark library NAME shows the steps and expectations of one; floodmark run NAME runs it"
    for line in _wrapped(more, _width(console)) if console.is_terminal else []:
        print_line(console, line)


def _tell(playbook: Playbook) -> None:
    console = stdout_console()
    print_line(console, playbook.name, "bold")
    for text in (playbook.title, "", playbook.story, ""):
        for line in _wrapped(text, _width(console)):
            print_line(console, line)
    rows = [
        ("source", "; ".join(playbook.origins)),
        ("Kafka", f"{ranges_text(playbook.profiles)}; default {profile_of(playbook)}"),
        ("tags", ", ".join(playbook.tags)),
        ("file", playbook.path),
    ]
    for label, text in rows:
        _print_labelled(console, label, text, LABEL)
    print_line(console, "")
    under = f", under Kafka {playbook.spec.kafka}" if len(playbook.profiles) > 1 else ""
    print_line(console, f"steps{under}", "bold")
    if not playbook.steps:
        print_line(console, f"{'':{GAP}}none, only load")
    for when, what in timeline(playbook):
        _print_labelled(console, f"{'':{GAP}}{when}", what, GAP + (5 if playbook.spec.manual else WHEN))
    print_line(console, "")
    if playbook.grid is not None:
        print_line(
            console, f"grid of {counted(playbook.grid.size, 'cell')} (--no-vary: one run with the defaults)", "bold"
        )
        for line in playbook.grid.lines():
            _print_labelled(console, f"{'':{GAP}}-", line, 2 * GAP)
        print_line(console, "")
        under = " with the defaults; --yaml shows those of single cells"
    print_line(console, f"expectations{under}", "bold")
    for each in playbook.expectations:
        text = each.text if each.kind != "end" else f"at the end: {each.text}"
        _print_labelled(console, f"{'':{GAP}}-", text, 2 * GAP)
    print_line(console, "")
    print_line(console, "run it", "bold")
    for command in _commands(playbook):
        print_line(console, f"{'':{GAP}}{command}")


def _print_labelled(console: Console, label: str, text: str, column: int) -> None:
    """Print a text beside its label, wrapped at ``column``; a label that is too long gets its own line above."""
    lines = _wrapped(text, max(_width(console) - column, NARROWEST))
    if len(label) >= column:
        print_line(console, label)
        label = ""
    for line in lines:
        print_line(console, f"{label:{column}}{line}".rstrip())
        label = ""


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text to a width; names with dashes stay whole."""
    return wrap(text, width, break_on_hyphens=False) or [""]


def _width(console: Console) -> int:
    return max(console.width, NARROWEST)


def _commands(playbook: Playbook) -> list[str]:
    """Return the commands that run it with its defaults, and under the Kafka version furthest from its own."""
    command = f"floodmark run {playbook.name}"
    others = [version for version in playbook.profiles if version != playbook.spec.kafka]
    if not others:
        return [command]
    own = RELEASE_LINES.index(line_of(playbook.spec.kafka))
    other = max(others, key=lambda version: abs(RELEASE_LINES.index(version) - own))
    return [command, f"{command} --set cluster.kafka={other}"]


def _playbook_entry(playbook: Playbook) -> dict[str, Any]:
    return {
        "name": playbook.name,
        "title": playbook.title,
        "story": playbook.story,
        "theme": theme_of(playbook.tags),
        "tags": list(playbook.tags),
        "source": list(playbook.origins),
        "profile": profile_of(playbook),
        "profiles": list(playbook.profiles),
        "manual": playbook.spec.manual,
        "seed": playbook.seed,
        "steps": [_step(each) for each in playbook.steps],
        "settle_us": playbook.settle_us,
        "expectations": [{"kind": each.kind, "text": each.text} for each in playbook.expectations],
        "vary": playbook.grid.lines() if playbook.grid is not None else [],
        "commands": _commands(playbook),
        "path": playbook.path,
        "yaml": without_modeline(playbook.source),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.label or str(step.index + 1),
        "when": trigger_text(step.trigger),
        "what": step_text(step),
        "event": step.event,
        "note": step.note,
        "refused": step.refused,
    }


# ``floodmark check``: validates playbooks, single files or whole folders, without running any.


@dataclass(slots=True)
class _LibraryCheck:
    """Counts and problems of the files checked so far."""

    sound: int = 0
    fragments: int = 0
    problems: list[Problem] = field(default_factory=list)
    invalid: int = 0
    """Number of files with errors."""

    def words(self) -> str:
        """Return the counts as one line."""
        parts = [f"{self.sound} valid"]
        if self.fragments:
            parts.append(f"{counted(self.fragments, 'valid fragment')}")
        if self.invalid:
            parts.append(f"{counted(len(self.problems), 'error')} in {counted(self.invalid, 'file')}")
        return f"checked {counted(self.sound + self.fragments + self.invalid, 'file')}: {', '.join(parts)}"


def check(paths: Sequence[str], *, json: bool = False) -> int:
    """Validate files, bundled playbooks and the files of folders, and print every error; return the exit code.

    With ``json`` the errors are a list on stdout, which may be empty, and nothing else is printed.
    """
    library_check = _LibraryCheck()
    console = stderr_console()
    files = [each for path in paths for each in _files(path)]
    with ProgressLine(console) as progress_line:
        for each in dict.fromkeys(files):
            if not json:
                progress_line.update(library_check.words)
            outcome = _check(each, library_check)
            if not json:
                progress_line.hide()
                print_problems(outcome) if isinstance(outcome, PlaybookError) else print_line(console, outcome)
    if json:
        print_document(to_text([_problem_entry(problem) for problem in library_check.problems]))
    elif len(files) > 1:
        print_line(console, library_check.words())
    return BAD_INPUT if library_check.problems else OK


def _files(path: str) -> Iterator[str | PlaybookError]:
    """Yield the path itself, or the files in a folder as ``run`` finds them, with fragments."""
    if not Path(path).is_dir():
        yield path
        return
    found, problems = walk(Path(path))
    yield from map(str, found)
    for problem in problems:
        yield PlaybookError([problem])
    if not found and not problems:
        message = f"found a folder without playbooks, expected one with files {' or '.join(SUFFIXES)} in it"
        yield PlaybookError([Problem(path, 1, 1, "", message)])


def _check(file: str | PlaybookError, library_check: _LibraryCheck) -> str | PlaybookError:
    """Check a file and count it; return its result line, or its errors."""
    try:
        if isinstance(file, PlaybookError):
            raise file
        fragment = checked(file)
        playbook = None if fragment else read(file)
    except PlaybookError as error:
        library_check.invalid += 1
        library_check.problems += error.problems
        return error
    if playbook is None:
        library_check.fragments += 1
        return fragment
    library_check.sound += 1
    return _sound(file, playbook)


def _sound(path: str, playbook: Playbook) -> str:
    steps, expectations = counted(len(playbook.steps), "step"), counted(len(playbook.expectations), "expectation")
    return f"{path}: valid ({profile_of(playbook)}, {steps}, {expectations})"


def _problem_entry(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("path", "line", "column", "key", "message")}
