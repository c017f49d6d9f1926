"""The engine of timed playbooks: when steps act, how a session ends, what its verdict is."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import LOST
from cluster_model.protocol.events import (
    AdminAnswered,
    AdminRequested,
    Event,
    ExpectationChecked,
    FaultHealed,
    FaultInjected,
    StepTaken,
)
from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.engine.step_scheduler import PATIENCE_US
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult
from tests.support.playbooks import CLUSTER, CRASH, timed

S = 1_000_000


def run(playbook: Playbook, until_us: int = -1, seed: int | None = None) -> tuple[SessionResult, list[Event]]:
    session = Session.start(playbook, seed=seed, until_us=until_us)
    result = session.finish()
    return result, session.drain()


def times(events: list[Event], kind: type[Event]) -> list[int]:
    return [event.values()[0] for event in events if isinstance(event, kind)]


def test_steps_act_at_after_and_in_order() -> None:
    playbook = timed(
        """
- at: 2s
  inject: lag
  target: broker(1)
  for: 1s
- after: 500ms
  inject: lag
  target: broker(2)
  for: 1s
- inject: lag
  target: broker(3)
  for: 1s
- at: 2200ms
  heal: lag
"""
    )
    _, events = run(playbook)
    assert times(events, FaultInjected) == [2 * S, 2_500_000, 2_500_000]
    steps = [event for event in events if isinstance(event, StepTaken)]
    assert [step.by for step in steps] == ["step 1", "step 2", "step 3", "step 4", "playbook"]
    assert steps[3].at_us == 2_500_000, "a step whose time has gone by acts right after the one before it"


def test_a_step_acts_after_everything_due_at_its_time() -> None:
    playbook = timed("- at: 2s\n  inject: crash\n  target: broker(1)")
    session = Session.start(playbook)
    session.advance(2 * S)
    sent_at_two_seconds = [event for event in session.drain() if event.kind == "records_sent"][-1]
    assert sent_at_two_seconds.values()[0] == 2 * S
    assert session.steps_taken == 1


@pytest.mark.slow
def test_a_when_step_acts_on_the_event_that_makes_its_condition_true() -> None:
    result, events = run(loads(CRASH, "crash.yaml"))
    elected = next(event.values()[0] for event in events if event.kind == "leader_elected")
    assert times(events, FaultInjected) == [2 * S, elected]
    assert result.verdict == "pass"


def test_a_condition_that_holds_already_does_not_wait() -> None:
    _, events = run(timed("- when: leader(orders-0) == 1\n  inject: crash\n  target: broker(3)"))
    assert times(events, FaultInjected) == [0]


def test_a_condition_that_holds_as_its_turn_comes_does_not_wait_for_another_event() -> None:
    steps = "- at: 1234567us\n  inject: lag\n  target: broker(2)\n- when: leader(orders-0) == 1\n  inject: crash\n"
    _, events = run(timed(steps + "  target: broker(3)"))
    assert times(events, FaultInjected) == [1_234_567, 1_234_567]


def test_advance_handles_at_most_the_requested_events() -> None:
    session = Session.start(timed(), open_ended=True)
    for count in (1, 5, 100):
        before = session.cluster.executed
        assert session.advance(60 * S, count)
        assert session.cluster.executed == before + count


@pytest.mark.slow
def test_one_event_at_a_time_is_one_event_also_where_steps_and_expectations_come_in_between() -> None:
    session = Session.start(loads(CRASH, "crash.yaml"))
    running = True
    while running:
        before = session.cluster.executed
        running = session.advance(1_000 * S, 1)
        assert session.cluster.executed <= before + 1
    assert session.steps_taken == 2


def test_a_condition_not_met_within_its_time_is_inconclusive_and_named(snapshot: SnapshotAssertion) -> None:
    playbook = timed(
        """
- at: 1s
  inject: lag
  target: broker(1)
- when: leader(orders-0) == 3
  within: 4s
  heal: all
- after: 1s
  inject: crash
  target: broker(2)
""",
        "- acked_lost() == 0",
    )
    result, events = run(playbook)
    assert result.verdict == "inconclusive"
    assert result.virtual_us == 1 * S + 4 * S + 1 * S
    assert times(events, FaultInjected) == [1 * S], "steps behind it are not taken"
    unreached = result.expectations[0]
    assert not unreached.ok
    assert [result.reason, unreached.text, unreached.detail] == snapshot


def test_a_when_without_within_gives_up_after_the_engines_patience() -> None:
    playbook = timed("- when: leader(orders-0) == 3\n  heal: all", cluster=QUIET)
    result, _ = run(playbook)
    assert result.verdict == "inconclusive"
    assert result.virtual_us == PATIENCE_US + 1 * S


QUIET = """\
floodmark: 1
name: quiet
cluster: {kafka: "3.9", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
"""


def test_until_cuts_a_session_before_its_steps_are_done(snapshot: SnapshotAssertion) -> None:
    result, events = run(loads(CRASH, "crash.yaml"), until_us=3 * S)
    assert result.verdict == "inconclusive"
    assert result.reason == snapshot
    assert result.virtual_us == 3 * S
    assert not times(events, FaultHealed)


def test_until_cuts_the_quiet_time_too(snapshot: SnapshotAssertion) -> None:
    result, _ = run(timed("- at: 1s\n  heal: all", settle="10s"), until_us=5 * S)
    assert (result.verdict, result.virtual_us) == ("inconclusive", 5 * S)
    assert result.reason == snapshot


@pytest.mark.slow
def test_until_after_the_end_changes_nothing() -> None:
    playbook = loads(CRASH, "crash.yaml")
    assert run(playbook)[0].digest == run(playbook, until_us=10_000 * S)[0].digest


def test_a_step_due_when_until_comes_is_still_taken() -> None:
    _, events = run(timed("- at: 2s\n  inject: crash\n  target: broker(1)"), until_us=2 * S)
    assert times(events, FaultInjected) == [2 * S]


def test_settling_waits_for_faults_with_an_end_of_their_own() -> None:
    result, events = run(timed("- at: 1s\n  inject: gc_pause\n  target: broker(3)\n  for: 4s", settle="2s"))
    assert times(events, FaultHealed) == [5 * S]
    assert result.virtual_us == 7 * S


@pytest.mark.slow
def test_producers_without_steps_write_for_as_long_as_the_quiet_time_that_follows(snapshot: SnapshotAssertion) -> None:
    result, events = run(timed(settle="4s"))
    (quiet,) = [event.at_us for event in events if isinstance(event, StepTaken)]
    assert (quiet, result.virtual_us) == (4 * S, 8 * S)
    assert result.ledger.sent == result.ledger.acked == 400
    assert [run(timed(settle="4s"), until_us=until_us)[0].reason for until_us in (3 * S, 5 * S)] == snapshot


def test_nothing_waits_where_there_is_neither_a_step_nor_a_producer() -> None:
    assert run(loads(QUIET + "settle: 4s", "quiet.yaml"))[0].virtual_us == 4 * S


def test_settling_heals_what_is_left_and_stops_the_producers() -> None:
    _, events = run(timed("- at: 1s\n  inject: crash\n  target: broker(3)", settle="3s"))
    assert times(events, FaultHealed) == [1 * S]
    assert max(times(events, type(next(e for e in events if e.kind == "records_sent")))) <= 1 * S


@pytest.mark.slow
def test_an_always_that_broke_fails_even_when_the_rest_is_inconclusive() -> None:
    playbook = timed(
        "- at: 1s\n  inject: crash\n  target: broker(1)\n- when: leader(orders-0) == 3\n  within: 15s\n  heal: all",
        "- always: under_replicated() == 0",
    )
    result, events = run(playbook)
    assert result.verdict == "fail"
    assert result.reason
    broke = next(event for event in events if isinstance(event, ExpectationChecked) and not event.ok)
    assert broke.at_us == next(event.values()[0] for event in events if event.kind == "isr_changed")


def test_an_end_expectation_that_fails_reports_what_was_found() -> None:
    result, _ = run(timed("- at: 1s\n  heal: all", "- acked() == 7"))
    assert result.verdict == "fail"
    checked = result.expectations[0]
    assert (checked.ok, checked.detail) == (False, f"acked() is {result.ledger.acked}")
    assert result.ledger.acked > 7


def test_a_step_that_cannot_act_makes_the_session_inconclusive(snapshot: SnapshotAssertion) -> None:
    playbook = timed(
        "- at: 1s\n  inject: crash\n  target: broker(1)\n- after: 1s\n  inject: crash\n  target: broker(1)"
    )
    result, events = run(playbook)
    assert result.verdict == "inconclusive"
    assert result.reason == snapshot
    refused = [event for event in events if isinstance(event, StepTaken) and event.error]
    assert [event.by for event in refused] == ["step 2"]


def test_an_operation_that_kafka_refuses_is_recorded_and_the_run_continues() -> None:
    playbook = timed(
        "- at: 1s\n  admin: elect_leaders\n  partition: orders-0\n- after: 1s\n  inject: crash\n  target: broker(3)"
    )
    result, events = run(playbook)
    assert result.verdict == "pass"
    asked = next(event for event in events if isinstance(event, AdminRequested))
    answered = next(event for event in events if isinstance(event, AdminAnswered))
    assert (asked.by, asked.operation, asked.detail, asked.at_us) == (
        "step 1",
        "elect_leaders",
        "partition=orders-0",
        S,
    )
    assert (answered.error, answered.at_us - asked.at_us) == ("ELECTION_NOT_NEEDED", answered.latency_us)
    assert answered.latency_us > 0
    assert [each.error for each in result.refused] == ["ELECTION_NOT_NEEDED"]
    assert times(events, FaultInjected) == [2 * S]


@pytest.mark.parametrize(
    ("refused", "ok"), [("any", True), ("never", False), ("ELECTION_NOT_NEEDED", True), ("NOT_CONTROLLER", False)]
)
def test_refused_on_a_step_is_an_expectation(refused: str, ok: bool) -> None:
    playbook = timed(f"- at: 1s\n  admin: elect_leaders\n  partition: orders-0\n  refused: {refused}")
    result, _ = run(playbook)
    assert [checked.ok for checked in result.expectations] == [ok]
    assert result.expectations[0].detail == "refused: ELECTION_NOT_NEEDED"
    assert result.verdict == ("pass" if ok else "fail")


@pytest.mark.slow
def test_seeds_change_the_digest_and_nothing_else_does() -> None:
    playbook = loads(CRASH, "crash.yaml")
    digests = [run(playbook, seed=seed)[0].digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_finish_twice_is_one_result() -> None:
    session = Session.start(timed())
    assert session.finish() is session.finish()
    assert session.phase == "ended"
    assert session.advance(10**9) is False


@pytest.mark.slow
def test_a_live_session_continues_until_it_is_finished() -> None:
    session = Session.start(timed("- at: 1s\n  heal: all", "- acked_lost() == 0"), open_ended=True)
    assert session.advance(20 * S)
    assert (session.phase, session.cluster.now_us) == ("steps", 20 * S)
    result = session.finish()
    assert (result.verdict, result.virtual_us) == ("pass", 21 * S)


@pytest.mark.slow
def test_a_live_session_ended_before_its_steps_is_inconclusive(snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed("- at: 100s\n  heal: all"), open_ended=True)
    session.advance(5 * S)
    result = session.finish()
    assert result.verdict == "inconclusive"
    assert result.reason == snapshot


def test_an_operators_action_acts_now_and_answers_with_a_line(snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed(), open_ended=True)
    session.advance(1_234_567)
    assert session.act(Action("inject", "crash", "leader(orders-0)", {}, 5 * S)) == snapshot
    events = session.drain()
    assert times(events, FaultInjected) == [1_234_567]
    assert [event.by for event in events if isinstance(event, StepTaken)] == ["operator"]


def test_an_action_can_bring_the_next_step_on() -> None:
    session = Session.start(timed("- when: not up(3)\n  inject: lag\n  target: broker(1)"), open_ended=True)
    session.advance(1_234_567)
    assert session.steps_taken == 0
    session.act(Action("inject", "crash", "broker(3)"))
    assert session.steps_taken == 1
    assert times(session.drain(), FaultInjected) == [1_234_567, 1_234_567]


def test_a_refused_action_raises_and_is_traced(snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed(), open_ended=True)
    with pytest.raises(FaultError) as caught:
        session.act(Action("inject", "restart", "broker(1)"))
    (taken,) = [event for event in session.drain() if isinstance(event, StepTaken)]
    assert taken.error == str(caught.value) == snapshot


def test_nothing_can_be_broken_once_the_session_settles(snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed(settle="5s"), open_ended=True)
    session.settle()
    with pytest.raises(FaultError) as caught:
        session.act(Action("inject", "crash", "broker(1)"))
    assert str(caught.value) == snapshot


@pytest.mark.slow
def test_eventually_since_heal_counts_from_the_last_heal() -> None:
    playbook = timed(
        """
- at: 1s
  inject: crash
  target: broker(3)
  for: 3s
- at: 30s
  inject: crash
  target: broker(2)
  for: 15s
""",
        "- eventually: under_replicated() == 0\n  within: 20s\n  since: heal",
        settle="30s",
    )
    result, events = run(playbook)
    checked = result.expectations[0]
    assert checked.ok
    assert checked.at_us >= times(events, FaultHealed)[-1] == 45 * S


@pytest.mark.slow
def test_eventually_since_heal_fails_when_it_takes_too_long(snapshot: SnapshotAssertion) -> None:
    playbook = timed(
        "- at: 1s\n  inject: crash\n  target: broker(3)\n  for: 15s",
        "- eventually: under_replicated() == 0\n  within: 1ms\n  since: heal",
        settle="30s",
    )
    result, _ = run(playbook)
    assert result.verdict == "fail"
    assert result.expectations[0].detail == snapshot


def test_records_missing_at_the_end_are_lost_and_explained() -> None:
    steps = """
- at: 2s
  inject: lag
  target: followers(orders-0)
  latency: 300ms
  for: 20s
- after: 1s
  inject: crash
  target: leader(orders-0)
  for: 14s
"""
    playbook = timed(steps, "- acked_lost() > 0", settle="1ms", cluster=CLUSTER.replace("acks: all", "acks: 1"))
    result, _ = run(playbook)
    assert result.verdict == "pass"
    assert sum(loss.count for loss in result.losses) == result.ledger.acked_lost > 0
    (finding,) = [each for each in result.findings if each.kind == LOST]
    assert (finding.cause, finding.count) == ("unreplicated-tail", result.ledger.acked_lost)
    assert {link.broker for link in finding.chain if link.event_kind == "records_acked"} == {1}
    of_nodes = ("fault_injected", "node_down", "broker_fenced")
    assert {link.partition for link in finding.chain if link.event_kind in of_nodes} == {""}
    assert {link.partition for link in finding.chain if link.event_kind not in of_nodes} == {"orders-0"}


SINCE_HEAL = "- eventually: under_replicated() == 0\n  within: 5s\n  since: heal"


@pytest.mark.parametrize(
    "steps",
    ["- at: 60s\n  heal: all", "- at: 1s\n  inject: crash\n  target: broker(3)"],
    ids=["nothing healed", "last fault not healed"],
)
def test_expectations_since_heal_are_untested_without_a_heal(steps: str, snapshot: SnapshotAssertion) -> None:
    result, _ = run(timed(steps, SINCE_HEAL, settle="30s"), until_us=1 * S)
    assert result.verdict == "inconclusive"
    assert [checked.detail for checked in result.expectations] == snapshot


def test_expectations_since_heal_start_at_settling_without_faults(snapshot: SnapshotAssertion) -> None:
    result, _ = run(timed("- at: 3s\n  heal: all", SINCE_HEAL))
    (checked,) = result.expectations
    assert result.verdict == "pass"
    assert checked.detail == snapshot
