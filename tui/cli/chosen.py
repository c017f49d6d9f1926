"""From what somebody typed to playbooks: files and bundled names, with ``--set`` and ``--seed`` applied."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from playbooks.bundled import names, path_of
from playbooks.loader import PlaybookError, Problem, load, loads
from playbooks.model import Playbook
from playbooks.problems import nearest
from playbooks.settings import apply_settings, parse_setting


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
    if not path.exists() and path.suffix not in (".yaml", ".yml") and "/" not in text:
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
    playbook = read(text)
    if settings:
        changed = apply_settings(playbook.source, settings)
        try:
            playbook = replace(loads(changed, playbook.path), path=playbook.path)
        except PlaybookError as error:
            raise PlaybookError([_blame(problem, settings) for problem in error.problems], error.texts) from None
    return Chosen(playbook, playbook.seed if seed is None else seed, settings)


def _blame(problem: Problem, settings: dict[str, str]) -> Problem:
    """A mistake that was not in the file: say which options brought it in."""
    options = " ".join(f"--set {path}={value}" for path, value in settings.items())
    return replace(problem, message=f"{problem.message} (with {options})")
