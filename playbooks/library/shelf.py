"""The bundled playbooks as a list shows them: name, title, theme and tags, read off the head of each file.

Reading all of them in full takes seconds, so nothing is checked here; :mod:`playbooks.parser.loader` does that.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from playbooks.filtering import fits
from playbooks.library.bundled import names, path_of
from playbooks.library.index import THEMES, heading, theme_of

_HEAD: Final = ("title:", "tags:", "stepping:")
"""The keys that are read: each on one line of its own."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The quicker of the two: of lines as plain as these both make the same."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """What a list says of one playbook."""

    name: str
    title: str
    theme: str
    tags: tuple[str, ...]
    manual: bool
    """Whether it is stepped by hand: time stands still in it."""

    def fits(self, words: str) -> bool:
        """Whether these words of a filter fit what is said of it."""
        return fits(words, " ".join((self.name, self.title, heading(self.theme), *self.tags)))


@cache
def shelf() -> tuple[Shelved, ...]:
    """All bundled playbooks, by theme in the order of the themes, then by name."""
    order = list(THEMES)
    return tuple(sorted(map(_shelved, names()), key=lambda each: (order.index(each.theme), each.name)))


def _shelved(name: str) -> Shelved:
    head = _head(path_of(name))
    tags = tuple(head.get("tags", ()))
    return Shelved(name, str(head.get("title", "")), theme_of(tags), tags, head.get("stepping") == "manual")


def _head(path: Path) -> dict[str, Any]:
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("steps:"):
            break
        if line.startswith(_HEAD):
            lines.append(line)
    found: dict[str, Any] = yaml.load("\n".join(lines), Loader=_LOADER) or {}
    return found
