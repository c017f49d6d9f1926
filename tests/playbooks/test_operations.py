"""Operations in sessions: answers that come late, steps that wait for them, recordings that hold them."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import AdminAnswered, AdminRequested, FaultInjected
from faults.declarations.fault import Action
from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.timeline import Timeline
from tests.support.playbooks import timed

S = 1_000_000

MOVE = "- at: 1s\n  admin: reassign\n  partition: orders-0\n  brokers: [3, 1]\n  refused: never\n"
FROZEN = "- at: 1s\n  inject: gc_pause\n  target: all\n- after: 1s\n"


def test_a_step_waits_until_every_operation_is_over() -> None:
    session = Session.start(timed(MOVE + "- when: operations() == 0\n  inject: lag\n  target: broker(1)\n  for: 1s"))
    result = session.finish()
    events = session.drain()
    [answered] = [event for event in events if isinstance(event, AdminAnswered)]
    [lagged] = [event.at_us for event in events if isinstance(event, FaultInjected)]
    assert (result.verdict, answered.error) == ("pass", "")
    assert answered.at_us == lagged > 2 * S
    assert [checked.ok for checked in result.expectations] == [True]


@pytest.mark.parametrize("refused", ["never", "any", "NOT_CONTROLLER"])
def test_an_answer_that_never_comes_leaves_the_session_inconclusive(refused: str, snapshot: SnapshotAssertion) -> None:
    playbook = timed(f"{FROZEN}  admin: elect_leaders\n  refused: {refused}")
    result = Session.start(playbook, until_us=2 * S + 1_000).finish()
    assert result.verdict == "inconclusive"
    (checked,) = result.expectations
    assert not checked.ok
    assert (checked.detail, result.reason) == snapshot


def test_an_accepted_operation_in_progress_is_accepted(snapshot: SnapshotAssertion) -> None:
    result = Session.start(timed(MOVE), until_us=S + 500_000).finish()
    (checked,) = result.expectations
    assert checked.ok
    assert checked.detail == snapshot


@pytest.mark.parametrize("until_us", [-1, S + 500_000])
def test_an_answer_is_judged_by_its_own_step_where_others_are_for_other_versions(
    until_us: int, snapshot: SnapshotAssertion
) -> None:
    other = "- at: 500ms\n  admin: elect_leaders\n  kafka: 2.4-2.8\n  refused: any\n"
    limits = {} if until_us < 0 else {"until_us": until_us}
    result = Session.start(timed(other + MOVE), **limits).finish()
    [checked] = result.expectations
    assert checked.ok
    assert checked.text == snapshot


def test_a_topic_made_by_a_step_can_be_spoken_of_after_it() -> None:
    steps = "- at: 1s\n  admin: create_topic\n  topic: fresh\n  partitions: 2\n  replication: 2\n"
    playbook = timed(f"{steps}- when: leader(fresh-1) > 0\n  admin: delete_records\n  partition: fresh-1")
    result = Session.start(playbook).finish()
    assert result.verdict == "pass"
    assert not result.reason


ACTIONS = (
    Action("admin", "reassign", "", {"partition": "orders-0", "brokers": (3, 1), "throttle": 1 << 30}),
    Action("admin", "create_topic", "", {"topic": "new", "placement": ((1, 2),), "config": (("retention.ms", 9),)}),
    Action("admin", "rolling_restart", "", {"brokers": (2, 3)}),
    Action("admin", "cancel", "", {"operation": "3"}),
)


def live(session: Session | Timeline) -> None:
    for second, action in enumerate(ACTIONS, 2):
        session.advance(second * S)
        session.act(action)
    session.advance(12 * S)


@pytest.mark.slow
def test_an_operators_operations_replay_bit_for_bit(tmp_path: Path) -> None:
    session = Session.start(timed(""), recorder=Recorder(tmp_path, live=True), open_ended=True)
    live(session)
    result = session.finish()
    recorded = read_session(Path(result.session))
    assert tuple(each.action() for each in recorded.actions)[:4] == ACTIONS
    assert replay(recorded).digest == result.digest
    asked = [event for event in session.drain() if isinstance(event, AdminRequested)]
    assert [(event.operation, event.by) for event in asked] == [(action.name, "operator") for action in ACTIONS]


@pytest.mark.slow
def test_the_past_has_its_operations() -> None:
    session = Session.start(timed(""), open_ended=True)
    timeline = Timeline(session, nearest=200, bytes_per_event=1)
    live(timeline)
    past = timeline.seek_time(5 * S + 500_000)
    running = [view.name for view in past.board.operations()]
    assert "rolling_restart" in running
    again = timeline.seek_time(12 * S)
    assert again.cluster.digest() == session.cluster.digest()
    assert again.board.operations() == session.board.operations()
