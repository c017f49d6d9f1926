"""The playbooks in a folder and the folders under it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playbooks.problems import PlaybookError, Problem, counted
from playbooks.yamlpos import MAX_BYTES, Mapping, compose, decode

SUFFIXES: Final = (".yaml", ".yml")
FRAGMENT: Final = "fragment"
"""Top-level key of a file that is only a part of playbooks."""


def playbooks_under(folder: Path) -> list[Path]:
    """Every playbook file in a folder, in the order of their paths.

    Left out are hidden files and folders, fragments (which have a ``fragment`` key), and folders behind links, which
    could lead round in circles. A file that is no playbook at all is in: who reads it will say what is wrong.

    Raises:
        PlaybookError: a folder that cannot be read, or has no playbook.
    """
    found = sorted(_files(folder), key=lambda path: path.parts)
    playbooks = [path for path in found if not is_fragment(path)]
    if not playbooks:
        there = f", only {counted(len(found), 'fragment')}" if found else ""
        raise PlaybookError(
            [Problem(str(folder), 1, 1, "", f"found no playbooks{there}; allowed is a folder with .yaml or .yml files")]
        )
    return playbooks


def is_fragment(path: Path) -> bool:
    """Whether a file is a part of playbooks, and none by itself; False where it cannot be read as YAML."""
    try:
        with path.open("rb") as file:
            root, _ = compose(decode(file.read(MAX_BYTES + 1), str(path)), str(path))
    except (OSError, PlaybookError):
        return False
    return isinstance(root, Mapping) and FRAGMENT in root.entries


def _files(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise PlaybookError([Problem(str(error.filename), 1, 1, "", f"cannot be read: {error.strerror}")]) from None

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(where) / name
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and (path.is_file() or path.is_symlink()):
                yield path
