"""Names and paths of the bundled playbooks, fragments and presets, and the file name suffixes of playbooks."""

from functools import cache
from pathlib import Path
from typing import Final

from playbooks.errors import nearest, shown

LIBRARY: Final = Path(__file__).parent
FRAGMENTS: Final = LIBRARY / "fragments"
ISSUES: Final = LIBRARY / "known_issues"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all bundled playbooks, in alphabetical order."""
    return tuple(sorted(path.stem for path in LIBRARY.glob("*.yaml")))


@cache
def fragment_names() -> tuple[str, ...]:
    """Return the names of all bundled fragments, in alphabetical order."""
    return tuple(sorted(path.stem for path in FRAGMENTS.glob("*.yaml")))


@cache
def issue_names() -> tuple[str, ...]:
    """Return the names of all bundled playbooks of known issues, such as ``kafka-13636``, by number."""
    return tuple(sorted((path.stem for path in ISSUES.glob("*.yaml")), key=lambda name: int(name.partition("-")[2])))


@cache
def runnable_names() -> tuple[str, ...]:
    """Return all names that :func:`path_of` knows: of the library, and of known issues."""
    return (*names(), *issue_names())


def path_of(name: str) -> Path:
    """Return the file of a bundled playbook, also of one of a known issue.

    Raises:
        KeyError: there is no playbook of that name; the message names the nearest.
    """
    if name not in runnable_names():
        raise KeyError(f"no bundled playbook {shown(name)}{nearest(name, runnable_names())}")
    return (LIBRARY if name in names() else ISSUES) / f"{name}.yaml"


# Presets: bundled playbooks for storms, with a cluster, its load, and the ranges of random options.


FOLDER: Final = Path(__file__).parent / "presets"


def presets() -> tuple[str, ...]:
    """Return the names of the presets."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def source_path(source: str) -> str:
    """Return the path of a source: itself if there is such a file, else the preset of that name, else itself."""
    return str(FOLDER / f"{source}.yaml") if source in presets() and not Path(source).exists() else source
