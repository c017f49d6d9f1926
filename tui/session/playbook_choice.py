"""Resolves typed names and paths to playbooks, and starts recorded live sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster_model.protocol.errors import ModelError
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError, Problem, nearest
from playbooks.library.bundled import fragment_names, path_of, runnable_names
from playbooks.library.suffixes import SUFFIXES
from playbooks.model import Playbook
from playbooks.parser.loader import changed, load
from playbooks.parser.settings import parse_setting
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.filesystem import Fsync
from tui.output.console import print_error, print_problems

# From typed texts to playbooks: files and bundled names, with ``--set`` and ``--seed`` applied.


@dataclass(frozen=True, slots=True)
class PlaybookChoice:
    """Playbook with the seed and settings of a run."""

    playbook: Playbook
    seed: int
    settings: dict[str, str]


def read(text: str) -> Playbook:
    """Return the playbook in a file, or the bundled one with that name; a file takes precedence.

    Raises:
        PlaybookError: no such file or name, or it is invalid.
    """
    path = Path(text)
    if not path.exists() and text in runnable_names():
        return load(path_of(text))
    if not path.exists() and text in fragment_names():
        message = f"found a fragment, expected a playbook; include the fragment by 'include: {text}'"
        raise PlaybookError([Problem(text, 1, 1, "", message)])
    if not path.exists() and path.suffix not in SUFFIXES and "/" not in text:
        raise PlaybookError(
            [
                Problem(
                    text,
                    0,
                    0,
                    "",
                    f"no such file, and no bundled playbook{nearest(text, runnable_names())}; see: floodmark library",
                )
            ]
        )
    return load(path)


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """Return ``--set`` options as path → value; the last one per path wins. Raises :class:`SettingError`."""
    return dict(parse_setting(text) for text in texts)


def choose(text: str, seed: int | None, settings: dict[str, str]) -> PlaybookChoice:
    """Read a playbook and apply the settings.

    Raises:
        PlaybookError: it is invalid, before or after the settings.
        SettingError: a setting has no such path.
    """
    playbook = changed(read(text), settings)
    return PlaybookChoice(playbook, playbook.seed if seed is None else seed, settings)


# The start of a live session, with or without the TUI.


def begin_live(playbook: str, *, seed: int | None, parent: Path, fsync: Fsync) -> Session | None:
    """Start an open-ended session of a playbook, recorded under ``parent``.

    Return None on an error, which is printed on stderr.
    """
    try:
        chosen = choose(playbook, seed, {})
        if chosen.playbook.spec.manual:
            print_error(
                f"{chosen.playbook.path}: has manual steps, which a live session cannot run; run it with: floodmark run"
            )
            return None
        recorder = Recorder(parent, live=True, fsync=fsync)
        return Session.start(chosen.playbook, seed=chosen.seed, recorder=recorder, open_ended=True)
    except PlaybookError as error:
        print_problems(error)
    except (ModelError, RecordingError) as error:
        print_error(str(error))
    return None
