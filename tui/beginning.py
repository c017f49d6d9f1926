"""The beginning of a live session, with a screen or without one."""

from pathlib import Path

from cluster_model.errors import ModelError
from playbooks.disk import Fsync
from playbooks.loader import PlaybookError
from playbooks.recorder import Recorder, RecordingError
from playbooks.session import Session
from tui.cli.chosen import choose
from tui.cli.console import complain, complain_of


def begin_live(playbook: str, *, seed: int | None, parent: Path, fsync: Fsync) -> Session | None:
    """A session of a playbook, recorded under ``parent``, that goes on until somebody ends it.

    None where there can be none; why not is told on stderr by then.
    """
    try:
        chosen = choose(playbook, seed, {})
        if chosen.playbook.spec.manual:
            complain(f"{chosen.playbook.path}: a manual playbook stands still; play it with: floodmark run")
            return None
        recorder = Recorder(parent, live=True, fsync=fsync)
        return Session.start(chosen.playbook, seed=chosen.seed, recorder=recorder, open_ended=True)
    except PlaybookError as error:
        complain_of(error)
    except (ModelError, RecordingError) as error:
        complain(str(error))
    return None
