"""Kafka's releases, and rules that hold in some of them.

A release line, such as ``3.6``, stands for its last patch release; a patch release is written in full, such as
``3.6.1``. Lines before 1.0 have three numbers where Kafka's developers counted so (``0.10.2``), and patches four.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

Version = tuple[int, ...]
"""Numbers of a release, most significant first; those of a line are a prefix of those of its patches."""


def _patches(line: str, last: int) -> Iterator[str]:
    """Yield the patch releases of a line, oldest first."""
    prefix = f"{line}.0" if line in ("0.9", "0.11") else line
    yield from (f"{prefix}.{patch}" for patch in range(last + 1))


PATCHES: Final = MappingProxyType({
    line: tuple(_patches(line, last))
    for line, last in (
        ("0.8.2", 2), ("0.9", 1), ("0.10.0", 1), ("0.10.1", 1), ("0.10.2", 2), ("0.11", 3), ("1.0", 2), ("1.1", 1),
        ("2.0", 1), ("2.1", 1), ("2.2", 2), ("2.3", 1), ("2.4", 1), ("2.5", 1), ("2.6", 3), ("2.7", 2), ("2.8", 2),
        ("3.0", 2), ("3.1", 2), ("3.2", 3), ("3.3", 2), ("3.4", 1), ("3.5", 2), ("3.6", 2), ("3.7", 2), ("3.8", 1),
        ("3.9", 2), ("4.0", 2), ("4.1", 2), ("4.2", 2), ("4.3", 1), ("4.4", 0),
    )
})  # fmt: skip
"""Release line → its patch releases as published by Apache, oldest first."""

RELEASE_LINES: Final = tuple(PATCHES)
"""Release lines, oldest first."""

PATCH_RELEASES: Final = tuple(patch for patches in PATCHES.values() for patch in patches)
"""Patch releases of all lines, oldest first."""

_LINE_OF: Final = {name: line for line, patches in PATCHES.items() for name in (line, *patches)}

RELEASES: Final = tuple(_LINE_OF)
"""Everything that names a release: each line followed by its patches, oldest first."""


@cache
def parse_version(text: str) -> Version:
    """Return the numbers of a release as it is written: ``3.6`` is (3, 6)."""
    return tuple(int(part) for part in text.split("."))


@cache
def number_of(release: str) -> Version:
    """Return the numbers of a patch release, or of the last patch of a release line.

    Raises:
        KeyError: there is no such release.
    """
    line = _LINE_OF[release]
    return parse_version(PATCHES[line][-1] if release == line else release)


@cache
def line_of(release: str) -> str:
    """Return the release line of a line or patch release.

    Raises:
        KeyError: there is no such release.
    """
    return _LINE_OF[release]


@cache
def name_of(number: Version) -> str:
    """Return the shortest name of a patch release: that of its line if it is the last patch."""
    name = ".".join(map(str, number))
    line = _LINE_OF[name]
    return line if PATCHES[line][-1] == name else name


def unknown_hint(version: str) -> str:
    """Return the text on what a release that is not known was probably meant to be, empty for no idea."""
    line = next((known for known in RELEASE_LINES if version.startswith(f"{known}.")), None)
    if line is not None:
        return f"; {line} has {PATCHES[line][0]} to {PATCHES[line][-1]}"
    near = difflib.get_close_matches(version, RELEASE_LINES, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def is_within(version: Version, since: Version, until: Version | None = None) -> bool:
    """Return whether a release lies between two releases or lines, both included with all their patches."""
    return since <= version and (until is None or version[: len(until)] <= until)


@cache
def releases_between(first: str, last: str) -> tuple[str, ...]:
    """Return the lines and patch releases between two releases, both included; a line includes all its patches.

    A line counts as its last patch: 2.4 is in 2.4.1 to 2.5, and not in 2.3 to 2.4.0. Empty if the first is newer.

    Raises:
        KeyError: there is no such release.
    """
    since, until = parse_version(PATCHES[first][0] if first in PATCHES else first), number_of(last)
    return tuple(name for name in RELEASES if since <= number_of(name) <= until)


@dataclass(frozen=True, slots=True)
class ReleaseRule:
    """A rule of the protocol, or a bug, and the releases that have it.

    It holds from ``since`` to ``until`` (lines or patch releases, inclusive; None: every later one), and in later
    patches of older lines from those of ``backports`` on. A bug ends earlier in the lines of which ``fixes`` names a
    patch.
    """

    name: str
    meaning: str
    since: Version
    until: Version | None = None
    backports: tuple[Version, ...] = ()
    """Patches of lines before ``since`` that introduced the rule there."""
    fixes: tuple[Version, ...] = ()
    """Patches of lines up to ``until`` that no longer have it."""

    def holds(self, version: Version) -> bool:
        """Return whether a patch release follows this rule."""
        if _has_patch(version, self.fixes):
            return False
        return is_within(version, self.since, self.until) or _has_patch(version, self.backports)


def _has_patch(version: Version, patches: tuple[Version, ...]) -> bool:
    """Return whether a release is one of these patches or a later one of the same line."""
    return any(version[:-1] == patch[:-1] and version >= patch for patch in patches)
