"""Steps that are skipped where their target is nobody: what is recorded, told and played back."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import Event, FaultInjected, FaultSkipped, StepTaken
from faults.declarations.fault import Action, FaultError
from playbooks.engine import replay
from playbooks.engine.dry_run import dry_run
from playbooks.engine.session import Session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.timetravel.timeline import Timeline
from tests.support.playbooks import timed
from tui.cli.runs.narration import predicted_lines
from tui.cli.runs.suite import PlaybookOutcome
from tui.cli.runs.summary_documents import junit
from tui.output.result import skipped_faults_text
from tui.viewmodel.timeline.event_text import FeedEntry, describe_event

pytestmark = pytest.mark.slow

SECOND = 1_000_000
LEADERLESS = """
- {at: 1s, inject: crash, target: all, for: 20s}
- {at: 12s, inject: gc_pause, target: leader(orders-0), for: 1s%s}
- {at: 13s, inject: lag, target: broker(2), for: 1s}
"""


def run(if_any: str) -> tuple[list[Event], SessionResult]:
    session = Session.start(timed(LEADERLESS % if_any))
    events: list[Event] = []
    while session.advance(session.cluster.now_us + SECOND):
        events += session.drain()
    result = session.finish()
    return events + session.drain(), result


def test_a_step_that_finds_nobody_is_refused_and_the_run_inconclusive(snapshot: SnapshotAssertion) -> None:
    for text in ("", ", if_any: false"):
        events, result = run(text)
        assert result.verdict == "inconclusive"
        assert result.reason == snapshot(name="reason")
        assert not any(isinstance(event, FaultSkipped) for event in events)
        assert result.skipped == ()


def test_where_it_says_so_it_is_skipped_and_the_run_continues(snapshot: SnapshotAssertion) -> None:
    events, result = run(", if_any: true")
    assert (result.verdict, result.reason) == ("pass", "")
    told = [
        each for each in events if isinstance(each, FaultSkipped | FaultInjected | StepTaken) and each.at_us > SECOND
    ]
    assert [event.kind for event in told[:4]] == ["fault_skipped", "step_taken", "fault_injected", "step_taken"]
    skipped, step = told[:2]
    assert isinstance(skipped, FaultSkipped)
    assert skipped.values() == (12 * SECOND, "gc_pause", "leader(orders-0)", skipped.detail)
    assert isinstance(step, StepTaken)
    assert (step.by, step.target, step.error) == ("step 2", "leader(orders-0)", "")
    assert {"skipped": skipped.detail, "step": step.detail} == snapshot
    assert result.skipped == (skipped,)
    entry = {"fault": "gc_pause", "target": "leader(orders-0)", "at_us": 12 * SECOND, "detail": skipped.detail}
    assert result.to_json()["skipped"] == [entry]


def test_a_skip_is_reported_by_run_by_the_screen_and_in_junit(snapshot: SnapshotAssertion) -> None:
    _events, result = run(", if_any: true")
    glyph, role, key, say = describe_event(result.skipped[0])
    words = say(FeedEntry(key, 12 * SECOND, glyph, role, say, result.skipped[0]))
    job = PlaybookJob("", "paused.yaml", result.seed)
    ended = PlaybookOutcome("paused", JobOutcome(job, result), "paused", "floodmark run paused.yaml")
    suite = ElementTree.fromstring(junit([ended]).split("\n", 1)[1]).find("testsuite")
    assert suite is not None
    assert suite.get("skipped") == "1"
    case = suite.find("./testcase[skipped]")
    assert case is not None
    assert case.get("time") == "12.000000"
    said = {"run": skipped_faults_text(result.skipped), "screen": words, "junit": case.get("name")}
    assert said == snapshot


def test_a_dry_run_predicts_the_skip(snapshot: SnapshotAssertion) -> None:
    done = dry_run(timed(LEADERLESS % ", if_any: true"), 3)
    assert [bool(each.skipped) for each in done.predicted] == [False, True, False]
    second = done.predicted[1]
    assert (second.targets, second.expected, second.refused) == ((), None, "")
    assert second.skipped == snapshot
    assert second.to_json()["skipped"] == second.skipped
    assert any("skipped" in line and second.skipped in line for line in predicted_lines(second))
    assert dry_run(timed(LEADERLESS % ""), 3).predicted[1].refused == second.skipped


def live(session: Session | Timeline) -> list[str]:
    """An operator crashes everybody and asks for the leader, with and without patience."""
    said = [session.act(Action("inject", "crash", "all"))]
    session.advance(12 * SECOND)
    said.append(session.act(Action("inject", "gc_pause", "leader(orders-0)", {}, SECOND, if_any=True)))
    with pytest.raises(FaultError) as refused:
        session.act(Action("inject", "gc_pause", "leader(orders-0)", {}, SECOND))
    return [*said, str(refused.value)]


def test_an_operators_skip_is_recorded_and_comes_out_the_same(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed(), open_ended=True, recorder=Recorder(tmp_path, live=True))
    said = live(session)
    assert said == snapshot
    result = session.finish()
    directory = Path(result.session)
    lines = [json.loads(line) for line in (directory / session_files.ACTIONS).read_text().splitlines()]
    assert [line["if_any"] for line in lines] == [False, True, False, False]
    assert replay.replay(read_session(directory)).digest == result.digest
    assert json.loads((directory / session_files.RESULT).read_text())["skipped"][0]["fault"] == "gc_pause"
    # A log of before there was such a thing.
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (directory / name).unlink()
    for line in lines:
        del line["if_any"]
    (directory / session_files.ACTIONS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [action.if_any for action in read_session(directory).actions] == [False] * 4


def test_going_back_finds_the_skip_again() -> None:
    timeline = Timeline(Session.start(timed(), open_ended=True), nearest=50)
    live(timeline)
    timeline.advance(14 * SECOND)
    past = timeline.seek_time(13 * SECOND)
    assert len(past._findings.skipped) == 1
    assert len(timeline.finish().skipped) == 1
