"""An operator drops the rest of a playbook's steps: recorded, replayed, looked back into, exported."""

from pathlib import Path

import pytest

from faults.declarations.fault import Action, FaultError
from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.export.playbook_writer import export
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.history_view import HistoryView, ReopenedSession
from tests.support.playbooks import CRASH

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def live(tmp_path):
    playbook = loads(CRASH, "crash.yaml")
    return HistoryView(Session.start(playbook, recorder=Recorder(tmp_path, live=True), open_ended=True))


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """A crash by the playbook at two, the rest dropped at three, a crash by hand at four."""
    session = live(tmp_path_factory.mktemp("sessions"))
    session.advance(3 * SECOND)
    assert session.viewed_session.next_step.index == 1
    told = session.take_over()
    session.advance(4 * SECOND)
    session.act(Action("inject", "gc_pause", "broker(3)", {}, SECOND))
    session.advance(9 * SECOND)
    return session, session.viewed_session.finish(), told


def test_remaining_steps_are_cancelled_by_a_takeover(taken, snapshot):
    session, result, told = taken
    assert session.viewed_session.steps_taken == 1
    assert session.viewed_session.next_step is None
    assert result.violations == ()
    assert result.verdict == "inconclusive"
    assert {"told": told, "reason": result.reason} == snapshot


def test_without_it_the_step_is_taken(tmp_path):
    session = live(tmp_path)
    session.advance(14 * SECOND)
    assert session.viewed_session.steps_taken == 2


def test_it_replays_bit_for_bit(taken):
    recorded = read_session(Path(taken[1].session))
    assert [each.verb for each in recorded.actions] == ["take_over", "inject", "settle"]
    assert replay(recorded).digest == taken[1].digest


def test_a_reopened_session_reaches_its_end(taken):
    reopened = ReopenedSession(read_session(Path(taken[1].session)))
    while reopened.advance(reopened.cluster.now_us + SECOND):
        pass
    assert reopened.difference == ""
    assert reopened.cluster.digest() == taken[1].digest


def test_the_past_before_it_has_the_step_and_the_past_behind_it_has_not(tmp_path, snapshot):
    session = live(tmp_path)
    session.advance(3 * SECOND)
    session.take_over()
    session.advance(6 * SECOND)
    session.to_time(2_500_000)
    assert session.viewed_session.next_step.index == 1
    with pytest.raises(FaultError) as refused:
        session.take_over()
    assert str(refused.value) == snapshot
    session.advance(5 * SECOND)
    assert session.in_past
    assert session.viewed_session.next_step is None
    session.to_present()
    assert session.viewed_session.next_step is None


def test_an_exported_takeover_has_the_same_digest(taken, snapshot):
    found = export(read_session(Path(taken[1].session)))
    assert found.digest == taken[1].digest
    assert [line for line in found.text.splitlines() if "took over" in line] == snapshot
    assert "gc_pause" in found.text
    again = loads(found.text, "x.yaml")
    assert [step.name for step in again.steps] == ["crash", "gc_pause", "now"]
    assert start_session(again).finish().digest == taken[1].digest


def test_there_is_nothing_to_take_over_behind_the_last_step(tmp_path, snapshot):
    session = live(tmp_path)
    session.advance(SECOND)
    session.take_over()
    with pytest.raises(FaultError) as refused:
        session.take_over()
    assert str(refused.value) == snapshot
    session.viewed_session.finish()
    recorded = next(tmp_path.iterdir())
    assert [each.verb for each in read_session(recorded).actions] == ["take_over", "settle"]


def test_a_recording_cannot_be_taken_over(taken, snapshot):
    session = HistoryView(ReopenedSession(read_session(Path(taken[1].session))))
    with pytest.raises(FaultError) as refused:
        session.take_over()
    assert str(refused.value) == snapshot
