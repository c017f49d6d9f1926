"""Starts the engine that a playbook asks for: virtual time, or one protocol action at a time."""

from typing import TYPE_CHECKING

from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.recording.recorder import Recorder

if TYPE_CHECKING:
    from playbooks.engine.manual_session import ManualSession


def start_session(
    playbook: Playbook,
    *,
    seed: int | None = None,
    recorder: Recorder | None = None,
    until_us: int = -1,
    open_ended: bool = False,
) -> "Session | ManualSession":
    """A session at its beginning. ``until_us`` and ``open_ended`` mean nothing where time stands still.

    Raises:
        ModelError: the cluster cannot be built.
        RecordingError: the recording cannot be begun.
    """
    if playbook.spec.manual:
        from playbooks.engine.manual_session import ManualSession  # noqa: PLC0415 - few are stepped by hand

        return ManualSession.start(playbook, seed=seed, recorder=recorder)
    return Session.start(playbook, seed=seed, recorder=recorder, until_us=until_us, open_ended=open_ended)
