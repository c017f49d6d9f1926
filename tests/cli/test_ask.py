"""``floodmark ask``: what is printed where, exit codes, the witness, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from tests.cli.running import Steady, Typed
from tests.support.playbooks import CLUSTER, timed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

ONE_COPY = CLUSTER.replace("[[1, 2, 3]], config: {min.insync.replicas: 2}", "[[1]]").replace("small", "alone")
QUICK = ("--seeds", "1", "--for", "8s", "--at", "2s", "-j", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    (tmp_path / "alone.yaml").write_text(f"{ONE_COPY}settle: 1s\n", encoding="utf-8")
    return tmp_path


def test_an_unsafe_answer_writes_a_playbook_with_the_same_outcome(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    done = typed("ask", "alone.yaml", *QUICK, "restart broker(1)")
    assert done.code == 1, done.err
    assert typed("run", "alone-witness.yaml", "--out", "s").code == 0
    before = (here / "alone-witness.yaml").read_bytes()
    again = typed("ask", "alone.yaml", *QUICK, "restart broker(1)")
    assert (again.code, again.out) == (1, done.out)
    refused = typed("ask", "alone.yaml", *QUICK, "restart broker(1)", "--witness", "alone-witness.yaml")
    assert (refused.code, refused.out) == (2, "")
    assert (here / "alone-witness.yaml").read_bytes() == before
    forced = typed("ask", "alone.yaml", *QUICK, "restart broker(1)", "--force", "--json")
    document = json.loads(forced.out)
    assert (forced.code, document["verdict"], document["witness"]) == (1, "stalls", "alone-witness.yaml")
    assert document["write_stall_us"]["worst"] > document["stall_threshold_us"]
    told = {"answer": done.out, "witness": done.err, "again": again.err, "in the way": refused.err}
    assert told == snapshot


def test_a_safe_answer_leaves_nothing(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("ask", "alone.yaml", *QUICK, "lag broker(1) latency=1ms", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert (document["verdict"], document["seeds"], document["witness"]) == ("safe", 1, "")
    assert not document["of"].endswith(",")
    assert document["steps"] == snapshot
    assert [each.name for each in here.iterdir()] == ["alone.yaml"]


def test_a_refused_action_is_neither(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("ask", "alone.yaml", *QUICK, "crash broker(1); gc_pause broker(1)", "--stall", "1h")
    assert done.code == 3, done.err
    assert done.out.splitlines()[1:3] == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("alone.yaml", "restrt broker(1)"),
        ("alone.yaml", "restart broker(7)"),
        ("alone.yaml",),
        ("alone.yaml", "heal", "--at", "soon"),
        ("alone.yaml", "heal", "--for", "1ms"),
        ("alone.yaml", "heal", "--stall", "x"),
        ("alone.yaml", "heal", "--at", "2h"),
        ("alone.yaml", "restart broker(1) for banana"),
        ("alone.yaml", "heal", "--witness", "nowhere/w.yaml"),
        ("alone.yaml", "heal", "--steps", "alone.yaml"),
        ("alone.yaml", "--steps", "alone.yaml"),
        ("alone.yaml", "heal", "--set", "nonsense"),
        ("nowhere.yaml", "heal"),
        (".", "heal"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_clear_error(typed: Type, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    found = typed("ask", *words)
    assert (found.code, found.out) == (2, ""), found.err
    assert found.err.startswith("error: ")
    assert found.err == snapshot


def test_a_caret_shows_where(typed: Type) -> None:
    done = typed("ask", "alone.yaml", "heal; restrt broker(1)")
    line, caret = done.err.splitlines()[1:3]
    assert line[caret.index("^")] == "r"


def test_a_recorded_session(typed: Type, here: Path, steady: Steady, snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed(settle="1s"), recorder=Recorder(here / "sessions", live=True), open_ended=True)
    session.advance(3_000_000)
    session.finish()
    assert session.recorder is not None
    done = typed("ask", session.recorder.session_id, "heal all", *QUICK[:4], "-j", "1")
    assert done.code == 0, done.err
    assert steady(done.out.splitlines()[0]) == snapshot
    assert typed("ask", session.recorder.path, "heal", "--seed", "4").code == 2
    assert typed("ask", session.recorder.path, "heal", "--at", "1h").code == 2
