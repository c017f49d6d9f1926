"""``floodmark check``: whether playbooks are sound, file by file or whole folders, without running any."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playbooks.errors import PlaybookError, Problem, counted
from playbooks.exit_codes import BAD_INPUT, OK
from playbooks.library.suffixes import SUFFIXES
from playbooks.model.playbook import Playbook
from playbooks.parser.document.folders import walk
from tui.cli.reference.catalogue import profile_of
from tui.cli.reference.fragments import checked
from tui.output.command_end import to_text
from tui.output.console import complain_of, people, print_document, say
from tui.output.progress import Telling
from tui.session.chosen import read


@dataclass(slots=True)
class _Found:
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
    found = _Found()
    console = people()
    files = [each for path in paths for each in _files(path)]
    with Telling(console) as telling:
        for each in dict.fromkeys(files):
            if not json:
                telling.tell(found.words)
            said = _check(each, found)
            if not json:
                telling.hide()
                complain_of(said) if isinstance(said, PlaybookError) else say(console, said)
    if json:
        print_document(to_text([_entry(problem) for problem in found.problems]))
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


def _check(file: str | PlaybookError, found: _Found) -> str | PlaybookError:
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


def _entry(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("path", "line", "column", "key", "message")}
