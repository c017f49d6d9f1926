"""Fragments on the command line: those of the library, and whether one of yours is sound."""

from pathlib import Path
from typing import Any

from playbooks.errors import PlaybookError, counted
from playbooks.library.bundled import FRAGMENTS
from playbooks.parser.document.folders import is_fragment
from playbooks.parser.fragment_files import Fragment, fragment_of, read_fragment
from playbooks.parser.loader import read_text
from tui.output.command_end import to_text
from tui.output.console import print_document


def print_fragment(name: str, *, json: bool) -> None:
    """A bundled fragment as it stands in its file, or as a document."""
    fragment = bundled(name)
    print_document(to_text(_entry(fragment)) if json else fragment.source)


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


def _entry(fragment: Fragment) -> dict[str, Any]:
    return {
        "name": fragment.name,
        "title": fragment.title,
        "story": fragment.story,
        "variables": dict(fragment.variables),
        "path": fragment.path,
        "source": fragment.source,
    }
