"""From what somebody typed to playbooks: files and bundled names, with ``--set`` and ``--seed`` applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playbooks.errors import PlaybookError, Problem, nearest
from playbooks.library.bundled import fragment_names, names, path_of
from playbooks.library.suffixes import SUFFIXES
from playbooks.model.playbook import Playbook
from playbooks.parser.changing import changed
from playbooks.parser.loader import load
from playbooks.parser.settings import parse_setting


@dataclass(frozen=True, slots=True)
class Chosen:
    """A playbook as it will run."""

    playbook: Playbook
    seed: int
    settings: dict[str, str]


def read(text: str) -> Playbook:
    """The playbook in a file, or the bundled one of that name. A file of the same name wins.

    Raises:
        PlaybookError: no such file or name, or mistakes in it.
    """
    path = Path(text)
    if not path.exists() and text in names():
        return load(path_of(text))
    if not path.exists() and text in fragment_names():
        message = f"found a fragment, allowed is a playbook: one includes it by 'include: {text}'"
        raise PlaybookError([Problem(text, 1, 1, "", message)])
    if not path.exists() and path.suffix not in SUFFIXES and "/" not in text:
        raise PlaybookError(
            [
                Problem(
                    text,
                    1,
                    1,
                    "",
                    f"no such file, and no bundled playbook{nearest(text, names())}; see: floodmark library",
                )
            ]
        )
    return load(path)


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """``--set`` options as path → value; the last of two about the same path wins. Raises :class:`SettingError`."""
    return dict(parse_setting(text) for text in texts)


def choose(text: str, seed: int | None, settings: dict[str, str]) -> Chosen:
    """Read a playbook and change what was asked to be changed.

    Raises:
        PlaybookError: mistakes in it, before or after the settings.
        SettingError: a setting that leads nowhere.
    """
    playbook = changed(read(text), settings)
    return Chosen(playbook, playbook.seed if seed is None else seed, settings)
