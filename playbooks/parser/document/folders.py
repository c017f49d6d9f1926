"""The playbooks in a folder and the folders under it."""

import os
from pathlib import Path
from typing import Final

from playbooks.errors import PlaybookError, Problem, counted
from playbooks.library.suffixes import SUFFIXES
from playbooks.parser.document.yaml_source import MAX_BYTES, Mapping, compose, decode

FRAGMENT: Final = "fragment"
"""Top-level key of a file that is only a part of playbooks."""


def walk(folder: Path) -> tuple[list[Path], list[Problem]]:
    """Every file of playbooks in a folder, fragments as well, in the order of their paths; folders that cannot be read.

    Left out are hidden files and folders, and folders behind links, which could lead round in circles. A file that is
    no playbook at all is in: who reads it will say what is wrong.
    """
    found: list[Path] = []
    problems: list[Problem] = []

    def refuse(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 1, 1, "", f"cannot be read: {error.strerror or error}"))

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(where) / name
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and (path.is_file() or path.is_symlink()):
                found.append(path)
    return sorted(found, key=lambda path: path.parts), problems


def playbooks_under(folder: Path) -> list[Path]:
    """The files of :func:`walk` that are no fragments.

    Raises:
        PlaybookError: a folder that cannot be read, or has no playbook.
    """
    found, problems = walk(folder)
    if problems:
        raise PlaybookError(problems)
    playbooks = [path for path in found if not is_fragment_file(path)]
    if not playbooks:
        there = f", only {counted(len(found), 'fragment')}" if found else ""
        raise PlaybookError(
            [Problem(str(folder), 1, 1, "", f"found no playbooks{there}; allowed is a folder with .yaml or .yml files")]
        )
    return playbooks


def is_fragment_file(path: Path) -> bool:
    """Whether a file is a part of playbooks, and none by itself; False where it cannot be read as YAML."""
    try:
        with path.open("rb") as file:
            return is_fragment(decode(file.read(MAX_BYTES + 1), str(path)), str(path))
    except (OSError, PlaybookError):
        return False


def is_fragment(text: str, path: str) -> bool:
    """Whether the text of a file says that it is a fragment; one that cannot be read as YAML says nothing."""
    try:
        root, _ = compose(text, path)
    except PlaybookError:
        return False
    return isinstance(root, Mapping) and FRAGMENT in root.entries
