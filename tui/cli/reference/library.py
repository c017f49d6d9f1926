"""``floodmark library`` and ``floodmark check``: bundled playbooks and fragments, and whether files are valid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from rich.console import Console

from cluster_model.protocol.versions import PROFILE_VERSIONS
from cluster_model.util.quantities import counted, listed
from playbooks.errors import BAD_INPUT, OK, PlaybookError, Problem, nearest, shown
from playbooks.library.bundled import FRAGMENTS, fragment_names, names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.library.suffixes import SUFFIXES
from playbooks.model import Playbook, Step, step_words, timeline, when_words
from playbooks.parser.document import is_fragment, walk
from playbooks.parser.document.field_types import ranges_text
from playbooks.parser.loader import Fragment, fragment_of, load, read_fragment, read_text
from tui.cli.reference.catalogue import profile_of
from tui.output.command_end import to_text
from tui.output.console import ProgressLine, answers, complain, complain_of, people, print_document, say
from tui.session.playbook_choice import read

# Fragments on the command line: those of the library, and whether one of yours is sound.


def print_fragment(name: str, *, json: bool) -> None:
    """A bundled fragment as it stands in its file, or as a document."""
    fragment = bundled(name)
    print_document(to_text(_fragment_entry(fragment)) if json else fragment.source)


def bundled(name: str) -> Fragment:
    """The bundled fragment of that name."""
    return read_fragment(FRAGMENTS / f"{name}.yaml")


def checked(text: str) -> str:
    """What to say of a file that is a sound fragment; empty for one that is none.

    Raises:
        PlaybookError: it is one, with mistakes in it.
    """
    if not Path(text).is_file():
        return ""
    try:
        source = read_text(text)
    except PlaybookError:
        return ""  # told as a playbook that cannot be read
    if not is_fragment(source, text):
        return ""
    fragment = fragment_of(source, text)
    variables = variables_text(fragment, sign=" = ") or "none"
    return f"{text}: sound as far as a fragment can be ({counted(fragment.steps, 'step')}; variables: {variables})"


def variables_text(fragment: Fragment, sign: str = ": ") -> str:
    """The variables of a fragment, each with its default if it has one."""
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
"""Columns of the labels that stand before what is told of a playbook."""
WHEN: Final = 17
"""Columns for when a step acts; what is longer has a line of its own."""
NARROWEST: Final = 40


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """What was asked for."""

    name: str | None = None
    tag: str | None = None
    kafka: str | None = None
    yaml: bool = False
    json: bool = False


def library(wanted: LibraryOptions) -> int:
    """List the bundled playbooks, all or those of a tag and a version, or tell all about one."""
    problem = _problem(wanted)
    if problem:
        complain(problem)
        return BAD_INPUT
    if wanted.name in fragment_names() and wanted.name not in names():
        print_fragment(str(wanted.name), json=wanted.json)
        return OK
    if wanted.name is not None:
        playbook = load(path_of(wanted.name))
        if wanted.yaml or wanted.json:
            print_document(playbook.source if wanted.yaml else to_text(_playbook_entry(playbook)))
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
    """What is wrong with what was asked for; empty if nothing is."""
    known = (*names(), *fragment_names())
    if wanted.name is not None and wanted.name not in known:
        return f"no bundled playbook {shown(wanted.name)}{nearest(wanted.name, known)}; see: floodmark library"
    if wanted.name is not None and (wanted.tag is not None or wanted.kafka is not None):
        return f"found a name and {'--kafka' if wanted.tag is None else '--tag'} together, allowed is one of them"
    if wanted.yaml and wanted.json:
        return "found --yaml and --json together, allowed is one of them"
    if wanted.yaml and wanted.name is None:
        return "--yaml: found no name, needed is that of one playbook: floodmark library NAME --yaml"
    if wanted.tag is not None and wanted.tag not in (*THEMES, *TAGS):
        tags = (*THEMES, *TAGS)
        return f"--tag: found {shown(wanted.tag)}, allowed is {listed(tags)}{nearest(wanted.tag, tags)}"
    if wanted.kafka is not None and wanted.kafka not in PROFILE_VERSIONS:
        found = f"--kafka: found {shown(wanted.kafka)}, allowed is {listed(PROFILE_VERSIONS)}"
        return found + nearest(wanted.kafka, PROFILE_VERSIONS)
    return ""


def _fits(playbook: Playbook, wanted: LibraryOptions) -> bool:
    return (wanted.tag is None or wanted.tag in playbook.tags) and (
        wanted.kafka is None or wanted.kafka in playbook.profiles
    )


def _list(chosen: Sequence[Playbook]) -> None:
    console = answers()
    if not chosen:
        say(people(), "no bundled playbook is like that")
        return
    column = max(len(each.name) for each in chosen) + 2 * GAP
    for theme, doc in THEMES.items():
        found = [each for each in chosen if theme_of(each.tags) == theme]
        if not found:
            continue
        say(console, f"{heading(theme)} (--tag {theme})", "bold")
        for line in _wrapped(doc, _width(console)):
            say(console, line)
        say(console, "")
        for each in found:
            _beside(console, f"{'':{GAP}}{each.name}", each.title, column)
        say(console, "")


def _list_fragments() -> None:
    """What a playbook may include, with the variables that it may give."""
    console = answers()
    found = [bundled(name) for name in fragment_names()]
    if not found:
        return
    column = max(len(each) for each in fragment_names()) + 2 * GAP
    say(console, "Fragments, to be included by a playbook", "bold")
    say(console, "")
    for name, each in zip(fragment_names(), found, strict=True):
        _beside(console, f"{'':{GAP}}{name}", each.title, column)
        _beside(console, "", f"with {variables_text(each) or 'nothing'}", column)
    say(console, "")


def _tell_more() -> None:
    """What else there is to type, for a person at a terminal."""
    console = answers()
    more = "floodmark library NAME tells all about one, with what it does and expects; floodmark run NAME runs it"
    for line in _wrapped(more, _width(console)) if console.is_terminal else []:
        say(console, line)


def _tell(playbook: Playbook) -> None:
    console = answers()
    say(console, playbook.name, "bold")
    for text in (playbook.title, "", playbook.story, ""):
        for line in _wrapped(text, _width(console)):
            say(console, line)
    rows = [
        ("source", "; ".join(playbook.origins)),
        ("Kafka", f"{ranges_text(playbook.profiles)}; as it stands {profile_of(playbook)}"),
        ("tags", ", ".join(playbook.tags)),
        ("file", playbook.path),
    ]
    for label, text in rows:
        _beside(console, label, text, LABEL)
    say(console, "")
    under = f", under Kafka {playbook.spec.kafka}" if len(playbook.profiles) > 1 else ""
    say(console, f"what happens{under}", "bold")
    if not playbook.steps:
        say(console, f"{'':{GAP}}nothing but load")
    for when, what in timeline(playbook):
        _beside(console, f"{'':{GAP}}{when}", what, GAP + (5 if playbook.spec.manual else WHEN))
    say(console, "")
    if playbook.grid is not None:
        say(console, f"run over {counted(playbook.grid.size, 'cell')} (--no-vary: once, as it stands)", "bold")
        for line in playbook.grid.lines():
            _beside(console, f"{'':{GAP}}-", line, 2 * GAP)
        say(console, "")
        under = " as it stands; what holds in other cells only is told by --yaml"
    say(console, f"what must hold{under}", "bold")
    for each in playbook.expectations:
        text = each.text if each.kind != "end" else f"at the end: {each.text}"
        _beside(console, f"{'':{GAP}}-", text, 2 * GAP)
    say(console, "")
    say(console, "run it", "bold")
    for command in _commands(playbook):
        say(console, f"{'':{GAP}}{command}")


def _beside(console: Console, label: str, text: str, column: int) -> None:
    """Text beside its label, wrapped into what is left of the line; a label that is too long stands above it."""
    lines = _wrapped(text, max(_width(console) - column, NARROWEST))
    if len(label) >= column:
        say(console, label)
        label = ""
    for line in lines:
        say(console, f"{label:{column}}{line}".rstrip())
        label = ""


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of so many columns; names with dashes stay whole."""
    return wrap(text, width, break_on_hyphens=False) or [""]


def _width(console: Console) -> int:
    return max(console.width, NARROWEST)


def _commands(playbook: Playbook) -> list[str]:
    """How to run it as it stands, and under the version furthest from its own."""
    command = f"floodmark run {playbook.name}"
    others = [version for version in playbook.profiles if version != playbook.spec.kafka]
    if not others:
        return [command]
    own = PROFILE_VERSIONS.index(playbook.spec.kafka)
    other = max(others, key=lambda version: abs(PROFILE_VERSIONS.index(version) - own))
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
        "yaml": playbook.source,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.label or str(step.index + 1),
        "when": when_words(step.trigger),
        "what": step_words(step),
        "event": step.event,
        "note": step.note,
        "refused": step.refused,
    }


# ``floodmark check``: whether playbooks are sound, file by file or whole folders, without running any.


@dataclass(slots=True)
class _LibraryCheck:
    """What is known so far."""

    sound: int = 0
    fragments: int = 0
    problems: list[Problem] = field(default_factory=list)
    wrong: int = 0
    """Files with mistakes."""

    def words(self) -> str:
        """All of it on a line."""
        parts = [f"{self.sound} sound"]
        if self.fragments:
            parts.append(f"{counted(self.fragments, 'sound fragment')}")
        if self.wrong:
            parts.append(f"{counted(len(self.problems), 'mistake')} in {counted(self.wrong, 'file')}")
        return f"checked {counted(self.sound + self.fragments + self.wrong, 'file')}: {', '.join(parts)}"


def check(paths: Sequence[str], *, json: bool = False) -> int:
    """Read files, bundled playbooks and all that is in folders; every mistake of each is told.

    With ``json`` the mistakes are a list on stdout, an empty one where there are none, and nothing else is said.
    """
    found = _LibraryCheck()
    console = people()
    files = [each for path in paths for each in _files(path)]
    with ProgressLine(console) as telling:
        for each in dict.fromkeys(files):
            if not json:
                telling.tell(found.words)
            said = _check(each, found)
            if not json:
                telling.hide()
                complain_of(said) if isinstance(said, PlaybookError) else say(console, said)
    if json:
        print_document(to_text([_problem_entry(problem) for problem in found.problems]))
    elif len(files) > 1:
        say(console, found.words())
    return BAD_INPUT if found.problems else OK


def _files(path: str) -> Iterator[str | PlaybookError]:
    """The path itself, or what a folder holds, as ``run`` finds it, with fragments."""
    if not Path(path).is_dir():
        yield path
        return
    found, problems = walk(Path(path))
    yield from map(str, found)
    for problem in problems:
        yield PlaybookError([problem])
    if not found and not problems:
        message = f"found a folder without playbooks, allowed is one with files {' or '.join(SUFFIXES)} in it"
        yield PlaybookError([Problem(path, 1, 1, "", message)])


def _check(file: str | PlaybookError, found: _LibraryCheck) -> str | PlaybookError:
    """What there is to say about a file."""
    try:
        if isinstance(file, PlaybookError):
            raise file
        fragment = checked(file)
        playbook = None if fragment else read(file)
    except PlaybookError as error:
        found.wrong += 1
        found.problems += error.problems
        return error
    if playbook is None:
        found.fragments += 1
        return fragment
    found.sound += 1
    return _sound(file, playbook)


def _sound(path: str, playbook: Playbook) -> str:
    steps, expectations = counted(len(playbook.steps), "step"), counted(len(playbook.expectations), "expectation")
    return f"{path}: sound ({profile_of(playbook)}, {steps}, {expectations})"


def _problem_entry(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("path", "line", "column", "key", "message")}
