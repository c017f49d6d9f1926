"""``floodmark export``: one document on stdout, or one file; nothing where it cannot be done."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.parser.loader import load, loads
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from tests.cli.running import Steady, Typed
from tests.support.playbooks import timed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("sessions")
    session = Session.start(timed(settle="1s"), recorder=Recorder(parent, live=True), open_ended=True)
    session.advance(2_000_000)
    session.act(Action("inject", "lag", "broker(2)", {"latency": 30_000}))
    session.advance(4_000_000)
    return Path(session.finish().session)


def test_the_document_is_all_there_is_on_stdout(
    typed: Type, recorded: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = typed("export", recorded)
    assert done.code == 0
    playbook = loads(done.out, "x.yaml")
    assert [step.name for step in playbook.steps] == ["lag", "now"]
    assert steady(done.err) == snapshot


def test_a_file_is_named_and_runs_to_the_same_digest(typed: Type, recorded: Path, here: Path) -> None:
    manifest = session_files.read_manifest(recorded)
    assert manifest is not None
    done = typed("export", recorded, "-o", "again.yaml", "--name", "again")
    assert (done.code, done.out) == (0, "")
    assert manifest.digest in done.err
    assert load(here / "again.yaml").name == "again"
    run = typed("run", "again.yaml", "--json", "--out", "sessions")
    assert run.code == 0
    assert json.loads(run.out)["digest"] == manifest.digest
    assert sorted(path.name for path in here.iterdir()) == ["again.yaml", "sessions"]


def test_a_file_that_is_there_is_left_alone(
    typed: Type, recorded: Path, here: Path, snapshot: SnapshotAssertion
) -> None:
    (here / "mine.yaml").write_text("precious")
    done = typed("export", recorded, "-o", "mine.yaml")
    assert done.code == 2
    assert done.err == snapshot
    assert (here / "mine.yaml").read_text() == "precious"
    assert typed("export", recorded, "-o", "mine.yaml", "--force").code == 0
    assert load(here / "mine.yaml").name == "small-exported"


@pytest.mark.parametrize(
    "words",
    [("nobody",), ("RECORDED", "--name", "a b"), ("RECORDED", "-o", "."), ("RECORDED", "-o", "none/x.yaml")],
    ids=" ".join,
)
def test_bad_input_is_one_error(
    typed: Type, recorded: Path, here: Path, words: tuple[str, ...], snapshot: SnapshotAssertion
) -> None:
    done = typed("export", *[recorded if word == "RECORDED" else word for word in words])
    assert (done.code, done.out) == (2, "")
    assert done.err.count("error") == 1
    assert done.err == snapshot
    assert list(here.iterdir()) == []


def test_a_recording_of_other_events_is_refused(
    typed: Type, recorded: Path, here: Path, snapshot: SnapshotAssertion
) -> None:
    copy = Path(shutil.copytree(recorded, here / "copy"))
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (copy / name).unlink()
    actions = (copy / session_files.ACTIONS).read_text()
    (copy / session_files.ACTIONS).write_text(actions.replace("30000", "40000"))
    done = typed("export", copy, "-o", "x.yaml")
    assert done.code == 1
    assert done.err == snapshot
    assert not (here / "x.yaml").exists()


def test_a_torn_session_says_so(
    typed: Type, recorded: Path, here: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    copy = Path(shutil.copytree(recorded, here / "copy"))
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (copy / name).unlink()
    events = (copy / session_files.EVENTS).read_bytes()
    (copy / session_files.EVENTS).write_bytes(events[: len(events) * 2 // 3])
    done = typed("export", copy)
    assert done.code == 0
    comments = [line for line in done.out.splitlines() if line.startswith("#")]
    assert {"on stderr": steady(done.err), "in the playbook": comments[3:]} == snapshot


def test_opening_what_is_no_session_is_one_error(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("open", "nobody")
    assert (done.code, done.out) == (2, "")
    (here / "empty").mkdir()
    empty = typed("open", "empty")
    assert empty.code == 2
    assert {"nobody": done.err, "empty": empty.err} == snapshot


def test_opening_needs_a_terminal(typed: Type, recorded: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("open", recorded)
    assert done.code == 2
    assert done.err == snapshot


def test_a_session_and_the_run_of_its_playbook_are_the_same_to_diff(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    session = Session.start(timed(settle="1s"), recorder=Recorder(here / "live", live=True), open_ended=True)
    session.advance(2_000_000)
    session.act(Action("admin", "create_topic", "", {"topic": "more", "partitions": 1, "replication": 3}))
    session.advance(4_000_000)
    left = Path(session.finish().session)
    assert typed("export", left, "-o", "again.yaml").code == 0
    assert typed("run", "again.yaml", "--out", "ran").code == 0
    (right,) = session_files.sessions_under(here / "ran")
    done = typed("diff", left, right)
    assert done.code == 0
    assert done.out.splitlines()[-1] == snapshot
    told = json.loads(typed("diff", left, right, "--json").out)
    assert (told["same"], told["first_difference"], told["turned"]) == (True, None, [])
