"""The engine of manual playbooks: one action a step, what steps assert, what a refusal does."""

from pathlib import Path

import pytest

from cluster_model.events import StepTaken
from faults.action import Action
from faults.catalogue import FaultError
from playbooks.loader import loads
from playbooks.manual_session import ManualSession, Shown
from playbooks.recorder import Recorder
from playbooks.result import Result
from playbooks.running import start_session
from playbooks.session import Session
from playbooks.step_checks import show_rows
from tests.support.playbooks import CRASH, MANUAL


def run(text: str) -> Result:
    return ManualSession.start(loads(text, "m.yaml")).finish()


def test_a_playbook_chooses_its_engine() -> None:
    assert isinstance(start_session(loads(MANUAL, "m.yaml")), ManualSession)
    assert isinstance(start_session(loads(CRASH, "c.yaml")), Session)


def test_a_run_passes_when_every_state_and_answer_is_as_told() -> None:
    result = run(MANUAL)
    assert result.verdict == "pass"
    assert [(checked.ok, checked.by_step) for checked in result.expectations] == [
        (True, True),
        (True, True),
        (True, False),
    ]
    assert (result.virtual_us, result.profile) == (0, "3.9-kraft")


def test_a_wrong_state_names_broker_field_found_and_expected() -> None:
    result = run(
        MANUAL.replace("{1: {leo: 1, hw: 0}}", "{1: {leo: 2, hw: 0, log: [[0, m9]]}, controller: {leader: 2}}")
    )
    assert result.verdict == "fail"
    wrong = result.expectations[0]
    assert wrong.text.startswith("state after step 3, append broker=1")
    assert wrong.detail == (
        "broker 1: leo is 1, expected 2; broker 1: log is [[0, 'm0']], expected [[0, 'm9']]; "
        "controller: leader is 1, expected 2"
    )


@pytest.mark.parametrize(
    ("refused", "ok"), [("any", True), ("never", False), ("NOT_LEADER_OR_FOLLOWER", True), ("INVALID_REQUEST", False)]
)
def test_refusals_are_asserted(refused: str, ok: bool) -> None:
    result = run(MANUAL.replace("refused: NOT_LEADER_OR_FOLLOWER", f"refused: {refused}"))
    assert result.expectations[1].ok is ok
    assert result.expectations[1].detail == "refused: NOT_LEADER_OR_FOLLOWER"


def test_a_refused_step_is_recorded_and_the_run_goes_on() -> None:
    session = ManualSession.start(loads(MANUAL.replace("    refused: NOT_LEADER_OR_FOLLOWER\n", ""), "m.yaml"))
    result = session.finish()
    taken = [event for event in session.drain() if isinstance(event, StepTaken)]
    assert [event.error for event in taken] == ["", "", "", "NOT_LEADER_OR_FOLLOWER", "", ""]
    assert result.verdict == "pass"


def test_a_step_that_was_expected_to_be_refused_and_was_not_fails() -> None:
    result = run(MANUAL.replace("append: {broker: 2, partition: orders-0}", "append: {broker: 1, partition: orders-0}"))
    assert result.verdict == "fail"
    assert result.expectations[1].detail == "accepted"


def test_a_step_that_makes_no_sense_is_told_and_makes_the_run_inconclusive() -> None:
    deliver = "deliver: {broker: 2, partition: orders-0}"
    result = run(MANUAL.replace(deliver, deliver.replace("}", ", epoch: 7}")))
    assert result.reason.startswith("step 2, deliver broker=2 partition=orders-0 epoch=7, makes no sense: ")


def test_steps_can_be_taken_one_at_a_time_with_the_same_digest() -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    taken = []
    while session.advance(0, 1):
        taken.append(session.steps_taken)
    assert taken == [1, 2, 3, 4, 5]
    assert session.finish().digest == run(MANUAL).digest


def test_show_hands_over_the_table() -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    tables: list[Shown] = []
    session.on_show = tables.append
    session.finish()
    assert [shown.step.index for shown in tables] == [5]
    rows = show_rows(tables[0].state)
    assert rows[0] == ("1", "leader", "1", "0", "0@0", "1,2", "0:m0")
    assert rows[1] == ("2", "follower", "1", "0", "0@0", "", "0:m0")
    assert rows[2] == ("controller", "leader 1, epoch 0", "", "", "", "1,2", "")


def test_always_is_looked_at_after_every_step() -> None:
    result = run(MANUAL + "  - always: leo(orders-0, 2) == 0\n")
    assert result.verdict == "fail"
    assert result.expectations[-1].detail.endswith("leo(orders-0, 2) is 1")


def test_no_fault_can_be_injected_by_hand() -> None:
    session = ManualSession.start(loads(MANUAL, "m.yaml"))
    with pytest.raises(FaultError, match="only the playbook's steps act"):
        session.act(Action("inject", "crash", "broker(1)"))


def test_it_is_recorded_like_any_other(tmp_path: Path) -> None:
    result = ManualSession.start(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish()
    assert (Path(result.session) / "manifest.json").is_file()
