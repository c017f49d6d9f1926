"""Starts the engine that a playbook asks for: virtual time, or one protocol action at a time."""

from typing import TYPE_CHECKING

from playbooks.model import Playbook
from playbooks.recorder import Recorder
from playbooks.session import Session

if TYPE_CHECKING:
    from playbooks.manual_session import ManualSession


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
        from playbooks.manual_session import ManualSession  # noqa: PLC0415 - few are stepped by hand

        return ManualSession.start(playbook, seed=seed, recorder=recorder)
    return Session.start(playbook, seed=seed, recorder=recorder, until_us=until_us, open_ended=open_ended)
