"""The engine of manual playbooks: one action a step, what steps assert, what a refusal does."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import StepTaken
from faults.declarations.fault import Action, FaultError
from playbooks.engine.manual_session import NEWEST, ManualSession, ShowResult
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.engine.step_scheduler import show_rows
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from tests.support.playbooks import CRASH, MANUAL


def run(text: str) -> SessionResult:
    return ManualSession.start(loads(text, "m.yaml")).finish()


def test_a_playbook_chooses_its_engine() -> None:
    assert isinstance(start_session(loads(MANUAL, "m.yaml")), ManualSession)
    assert isinstance(start_session(loads(CRASH, "c.yaml")), Session)


def test_a_manual_run_passes_if_states_and_answers_match() -> None:
    result = run(MANUAL)
    assert result.verdict == "pass"
    assert [(checked.ok, checked.by_step) for checked in result.expectations] == [
        (True, True),
        (True, True),
        (True, False),
    ]
    assert (result.virtual_us, result.profile) == (0, "3.9-kraft")


def test_a_wrong_state_names_broker_field_found_and_expected(snapshot: SnapshotAssertion) -> None:
    result = run(
        MANUAL.replace("{1: {leo: 1, hw: 0}}", "{1: {leo: 2, hw: 0, log: [[0, m9]]}, controller: {leader: 2}}")
    )
    assert result.verdict == "fail"
    wrong = result.expectations[0]
    assert [wrong.text, wrong.detail] == snapshot


@pytest.mark.parametrize(
    ("refused", "ok"), [("any", True), ("never", False), ("NOT_LEADER_OR_FOLLOWER", True), ("INVALID_REQUEST", False)]
)
def test_refusals_are_asserted(refused: str, ok: bool) -> None:
    result = run(MANUAL.replace("refused: NOT_LEADER_OR_FOLLOWER", f"refused: {refused}"))
    assert result.expectations[1].ok is ok
    assert result.expectations[1].detail == "refused: NOT_LEADER_OR_FOLLOWER"


def test_a_refused_step_is_recorded_and_the_run_continues() -> None:
    session = ManualSession.start(loads(MANUAL.replace("    refused: NOT_LEADER_OR_FOLLOWER\n", ""), "m.yaml"))
    result = session.finish()
    taken = [event for event in session.drain() if isinstance(event, StepTaken)]
    assert [event.error for event in taken] == ["", "", "", "NOT_LEADER_OR_FOLLOWER", "", ""]
    assert result.verdict == "pass"


def test_a_step_that_was_expected_to_be_refused_and_was_not_fails() -> None:
    result = run(MANUAL.replace("append: {broker: 2, partition: orders-0}", "append: {broker: 1, partition: orders-0}"))
    assert result.verdict == "fail"
    assert result.expectations[1].detail == "accepted"


def test_a_step_that_makes_no_sense_is_reported_and_makes_the_run_inconclusive(snapshot: SnapshotAssertion) -> None:
    deliver = "deliver: {broker: 2, partition: orders-0}"
    result = run(MANUAL.replace(deliver, deliver.replace("}", ", epoch: 7}")))
    assert result.verdict == "inconclusive"
    assert result.reason == snapshot


def test_steps_can_be_taken_one_at_a_time_with_the_same_digest() -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    taken = []
    while session.advance(0, 1):
        taken.append(session.steps_taken)
    assert taken == [1, 2, 3, 4, 5]
    assert session.finish().digest == run(MANUAL).digest


TWO = """\
floodmark: 1
name: two-partitions
stepping: manual
cluster: {kafka: "3.9", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2], [2, 3]]}
steps:
  - deliver: {broker: 1, partition: orders-0}
  - deliver: {broker: 2, partition: orders-1}
    then: {2: {role: leader}, controller: {leader: 2}}
  - append: {broker: 1, partition: orders-0, names: [a]}
  - append: {broker: 2, partition: orders-1, names: [b, c]}
    then: {2: {leo: 2}}
  - crash: {broker: 2}
    then: {orders-0: {1: {leo: 1, role: leader}, 2: {up: false, leo: 0}}, orders-1: {2: {leo: 2}, 3: {leo: 0}}}
  - show
"""


def test_states_of_several_partitions_are_distinguished() -> None:
    result = run(TWO)
    assert result.verdict == "pass"
    assert len(result.expectations) == 3


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("then: {2: {leo: 2}}", "then: {2: {leo: 0}}"),
        ("3: {leo: 0}", "3: {leo: 1}"),
        ("controller: {leader: 2}", "controller: {leader: 1}"),
    ],
)
def test_a_wrong_state_names_its_partition_where_there_are_several(
    right: str, wrong: str, snapshot: SnapshotAssertion
) -> None:
    result = run(TWO.replace(right, wrong))
    assert [each.detail for each in result.expectations if not each.ok] == snapshot


def test_show_reports_every_partition() -> None:
    session = ManualSession.start(loads(TWO, "m.yaml"))
    tables: list[ShowResult] = []
    session.on_show = tables.append
    session.finish()
    assert [(shown.partition, sorted(shown.state)) for shown in tables] == [
        ("orders-0", ["1", "2", "controller"]),
        ("orders-1", ["2", "3", "controller"]),
    ]


def test_without_events_there_is_a_row_for_each_step(snapshot: SnapshotAssertion) -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    session.finish()
    rows = session.table.rows
    assert rows[2].state["orders-0"]["1"]["leo"] == 1
    assert "NOT_LEADER_OR_FOLLOWER" in rows[3].notes[0]
    assert [(row.event, row.notes) for row in rows] == snapshot


@pytest.mark.slow
def test_a_row_keeps_no_more_of_a_log_than_a_cell_can_show() -> None:
    session = ManualSession.start(loads(MANUAL.replace("acks: 1, names: [m0]", "records: 5000"), "m.yaml"))
    session.finish()
    held = session.table.rows[2].state["orders-0"]["1"]
    assert (held["leo"], held["older"], held["log"][-1]) == (5000, True, [0, 4999])
    assert len(held["log"]) == NEWEST
    assert session.table.rows[1].state["orders-0"]["1"]["older"] is False


def test_an_event_gathers_the_steps_up_to_the_next() -> None:
    text = MANUAL.replace("partition: orders-0, acks: 1, names: [m0]}\n", "partition: orders-0}\n    event: a write\n")
    text = text.replace(
        "fetch: {follower: 2, partition: orders-0}\n", "fetch: {follower: 2, partition: orders-0}\n    event: a read\n"
    )
    session = ManualSession.start(loads(text, "m.yaml"))
    session.advance(0, 3)
    assert [row.event for row in session.table.rows] == [""]
    session.finish()
    rows = session.table.rows
    assert [(row.number, row.event, len(row.steps)) for row in rows] == [
        (1, "", 2),
        (2, "a write", 2),
        (3, "a read", 1),
    ]
    assert rows[1].steps[1] == ("append broker=2", "NOT_LEADER_OR_FOLLOWER")
    assert rows[1].state["orders-0"]["2"]["leo"] == 0
    assert rows[2].state["orders-0"]["2"]["leo"] == 1


@pytest.mark.parametrize(("versions", "there"), [("3.9", True), ("3.9+", True), ("2.0 - 3.9", True), ("4.0+", False)])
def test_a_step_and_an_expectation_may_be_for_some_versions(versions: str, there: bool) -> None:
    text = MANUAL.replace("  - show\n", f"  - show:\n    kafka: {versions}\n")
    text += f"  - end: leo(orders-0, 1) == 1\n    kafka: {versions}\n"
    playbook = loads(text, "m.yaml")
    assert [step.name for step in playbook.steps][5:] == ["show"] * there
    assert [each.text for each in playbook.expectations][1:] == ["leo(orders-0, 1) == 1"] * there


def test_steps_are_counted_as_in_the_file_whatever_the_version(snapshot: SnapshotAssertion) -> None:
    text = MANUAL.replace("  - append: {broker: 1,", "  - show:\n    kafka: 2.0\n  - append: {broker: 1,")
    assert [step.index for step in loads(text, "m.yaml").steps] == [0, 1, 3, 4, 5, 6]
    assert run(text).expectations[0].text == snapshot


def test_show_hands_over_the_table(snapshot: SnapshotAssertion) -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    tables: list[ShowResult] = []
    session.on_show = tables.append
    session.finish()
    assert [shown.step.index for shown in tables] == [5]
    assert show_rows(tables[0].state) == snapshot


def test_always_is_looked_at_after_every_step(snapshot: SnapshotAssertion) -> None:
    result = run(MANUAL + "  - always: leo(orders-0, 2) == 0\n")
    assert result.verdict == "fail"
    assert result.expectations[-1].detail == snapshot


def test_no_fault_can_be_injected_by_hand(snapshot: SnapshotAssertion) -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    with pytest.raises(FaultError) as caught:
        session.act(Action("inject", "crash", "broker(1)"))
    assert str(caught.value) == snapshot


def test_it_is_recorded_like_any_other(tmp_path: Path) -> None:
    result = ManualSession.start(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish()
    assert (Path(result.session) / "manifest.json").is_file()
