"""Sessions keep the texts of fragments: whatever looks at one again reads them there, and never on the disk."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.replay import replay
from playbooks.engine.session_runner import start_session
from playbooks.export.playbook_writer import export
from playbooks.parser.loader import load, loads
from playbooks.parser.yaml_edit import written_out
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError
from tests.support.mistakes import mistakes_of
from tests.support.shop import FILES, KEPT, MAIN, WRITTEN_OUT, alike, save

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path)
    return tmp_path


@pytest.fixture
def session(shop: Path) -> Path:
    """A recorded session, whose fragments have gone from the disk."""
    recorder = Recorder(shop / "sessions")
    start_session(load("main.yaml"), recorder=recorder).finish()
    for name in FILES:
        (shop / name).unlink()
    return recorder.path


def test_a_session_keeps_its_fragments_and_replays_from_them(session: Path) -> None:
    assert json.loads((session / session_files.FRAGMENTS).read_text()) == KEPT
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert session_files.FRAGMENTS in manifest.files
    recorded = read_session(session)
    assert recorded.fragments == KEPT
    assert replay(recorded).digest == manifest.digest
    assert load(session / session_files.PLAYBOOK).fragments == KEPT


def test_changed_fragments_of_a_session_are_refused(session: Path, snapshot: SnapshotAssertion) -> None:
    path = session / session_files.FRAGMENTS
    text = path.read_text()
    path.write_text(text.replace("30s", "31s"))
    said = {"changed": why_unread(session)}
    path.unlink()
    said["gone"] = why_unread(session)
    path.write_text("[1]")
    (session / session_files.MANIFEST).unlink()
    said["a list"] = why_unread(session)
    assert said == snapshot(name="session")
    (problem,) = mistakes_of(lambda: load(session / session_files.PLAYBOOK))
    assert Path(problem.path) == session / session_files.PLAYBOOK
    assert problem.message.replace(str(session), "<session>") == snapshot(name="playbook")


def why_unread(session: Path) -> str:
    with pytest.raises(SessionError) as caught:
        read_session(session)
    return str(caught.value).replace(str(session), "<session>")


def test_a_session_without_fragments_has_no_file_of_them(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    recorder = Recorder(tmp_path)
    start_session(loads(WRITTEN_OUT, "x.yaml"), recorder=recorder).finish()
    assert not (recorder.path / session_files.FRAGMENTS).exists()
    (recorder.path / session_files.FRAGMENTS).write_text("{}")
    assert why_unread(recorder.path) == snapshot


def test_a_playbook_is_written_out_in_one_file(shop: Path) -> None:
    text = MAIN.replace("- heal: all", "- {repeat: 2, as: n, steps: [{heal: all, note: '$${a} ${n} ${zone} $${n}'}]}")
    one = loads(text, "x.yaml", KEPT)
    other = loads(written_out(text, "x.yaml", KEPT), "y.yaml", {})
    assert alike(one, other)
    assert [step.note for step in other.steps if step.note.startswith("$")] == ["${a} 1 b ${n}", "${a} 2 b ${n}"]
    assert written_out(WRITTEN_OUT, "x.yaml", {}) == WRITTEN_OUT


def test_checks_that_need_variables_run_after_substitution() -> None:
    text = WRITTEN_OUT.split("steps:", maxsplit=1)[0] + (
        "vars: {pause: 2s, other: '${pause}'}\nsteps:\n"
        "  - {at: 1s, heal: all, note: '${other}', given: {pause: [1s, 2s]}}\n"
        "  - {at: 2s, heal: all, given: {pause: 1s}}\n"
        "  - at: 3s\n    repeat: 2\n    given: {pause: 2s}\n"
        "    steps: [{heal: all, given: {pause: 1s}}, {heal: all, given: {pause: 2s, cluster.brokers: 3}}]\n"
        "expect:\n  - {end: acked_lost() == 0, given: {pause: 1s}}\n  - {end: violations() == 0, given: {pause: 2s}}\n"
    )
    one = loads(text, "x.yaml")
    written = written_out(text, "x.yaml", {})
    other = loads(written, "y.yaml")
    assert [(step.verb, step.note, step.trigger) for step in one.steps] == [
        (step.verb, step.note, step.trigger) for step in other.steps
    ]
    assert (
        [each.text for each in one.expectations] == [each.text for each in other.expectations] == ["violations() == 0"]
    )
    assert written.count("given") == written.count("cluster.brokers") == 1
    assert "pause" not in written


def test_a_session_with_fragments_is_exported_as_one_file(session: Path) -> None:
    exported = export(read_session(session))
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert exported.digest == manifest.digest
    assert "include" not in exported.text
    assert start_session(loads(exported.text, "e.yaml")).finish().digest == manifest.digest
