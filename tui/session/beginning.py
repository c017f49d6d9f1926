"""The beginning of a live session, with a screen or without one."""

from pathlib import Path

from cluster_model.protocol.errors import ModelError
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.filesystem import Fsync
from tui.output.console import complain, complain_of
from tui.session.chosen import choose


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
