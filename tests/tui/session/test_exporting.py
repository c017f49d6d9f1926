"""The playbook of a live session: what cannot be done is told, and ends nothing."""

import asyncio
import errno
from pathlib import Path

import pytest

from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder, RecordingError
from tests.support.playbooks import timed
from tui.session.background_tasks import export_beside


def begun(tmp_path: Path) -> Recorder:
    recorder = Recorder(tmp_path)
    Session.start(timed(), recorder=recorder)
    return recorder


def test_a_recording_that_cannot_continue_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Recorder) -> None:
        raise RecordingError("disk full", code="cannot_go_on")

    recorder = begun(tmp_path)
    monkeypatch.setattr(Recorder, "flush", full)
    assert asyncio.run(export_beside(recorder)) == ("disk full", False)


def test_a_process_that_cannot_be_started_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*_args: object, **_named: object) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none)
    text, good = asyncio.run(export_beside(begun(tmp_path)))
    assert not good
    assert "no more processes" in text
