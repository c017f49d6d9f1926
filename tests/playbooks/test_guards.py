"""Sessions with guards: refusals, healing and the end of chaos, the same live, replayed, sliced and looked back at."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import FaultHealed, FaultInjected, GuardActed, StepTaken, TraceEvent
from faults.declarations.fault import Action, FaultError
from playbooks.engine import replay
from playbooks.engine.session import Session
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from playbooks.timetravel.timeline import Timeline
from tests.playbooks.thinned import thinned
from tests.support.breadth import covering_cases, spread_sample
from tests.support.playbooks import CLUSTER

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def playbook(guards: str, steps: str, expect: str = "- acked_lost() == 0") -> Playbook:
    parts = {"guards": guards, "steps": steps, "expect": expect}
    text = CLUSTER + "settle: 5s\n"
    for name, part in parts.items():
        text += f"{name}:\n" + "".join(f"  {line}\n" for line in part.strip().splitlines())
    return loads(text, "guarded.yaml")


def run(which: Playbook) -> tuple[SessionResult, list[TraceEvent]]:
    session = Session.start(which)
    result = session.finish()
    return result, session.drain()


TWO_CRASHES = """
- at: 2s
  inject: crash
  target: broker(2)
  for: 10s
- at: 4s
  inject: crash
  target: broker(3)
  for: 10s
"""


def test_a_refused_step_is_reported_and_the_verdict_is_the_expectations(snapshot: SnapshotAssertion) -> None:
    result, events = run(playbook("max_brokers_down: 1", TWO_CRASHES))
    assert (result.verdict, result.reason) == ("pass", "")
    (acted,) = result.guards
    assert [event for event in events if isinstance(event, GuardActed)] == [acted]
    (step,) = [event for event in events if isinstance(event, StepTaken) and event.error]
    assert (acted.at_us, step.at_us, step.by) == (4 * SECOND, 4 * SECOND, "step 2")
    assert (acted.rule, acted.detail, acted.fault, acted.target) == (
        "max_brokers_down",
        "refused",
        "crash",
        "broker 3",
    )
    assert step.error == f"refused by {acted.rule}: {acted.cause}"
    assert step.error == snapshot
    assert len([event for event in events if isinstance(event, FaultInjected)]) == 1
    assert result.to_json()["guards"] == [
        {
            "guard": "max_brokers_down",
            "action": "refused",
            "at_us": 4 * SECOND,
            "fault": "crash",
            "target": "broker 3",
            "reason": acted.cause,
        }
    ]


def test_without_guards_nothing_is_reported() -> None:
    result, _events = run(loads(CLUSTER + "settle: 1s\n", "plain.yaml"))
    assert (result.guards, result.to_json()["guards"]) == ((), [])


def test_a_fault_that_crosses_a_limit_is_healed_at_once() -> None:
    result, events = run(playbook("max_brokers_down: 1\non_breach: heal", TWO_CRASHES))
    (acted,) = result.guards
    assert (acted.detail, acted.at_us, acted.fault) == ("healed", 4 * SECOND, "crash, crash")
    assert [event.at_us for event in events if isinstance(event, FaultHealed)] == [4 * SECOND] * 2
    assert result.verdict == "pass"


STALLED = """
- at: 5s
  inject: poll_stall
  target: members(billing)
  extra: 20s
- at: 25s
  inject: crash
  target: broker(2)
- at: 26s
  heal: all
- at: 27s
  admin: elect_leaders
  partition: orders-0
"""


def test_chaos_ends_when_its_condition_holds_and_the_run_continues() -> None:
    result, events = run(
        playbook("stop_when: position_lag(billing) > 300", STALLED, "- eventually: position_lag(billing) > 300")
    )
    stopped, refused = result.guards
    assert (stopped.detail, refused.detail, refused.fault) == ("stopped", "refused", "crash")
    assert 5 * SECOND < stopped.at_us < 25 * SECOND
    (healed,) = [event for event in events if isinstance(event, FaultHealed)]
    assert healed.at_us == stopped.at_us
    steps = [event.by for event in events if isinstance(event, StepTaken)]
    assert steps == ["step 1", "step 2", "step 3", "step 4", "playbook"]
    assert (result.verdict, result.virtual_us) == ("pass", 32 * SECOND)


FLAPPING = """
- at: 2s
  inject: flapping
  target: broker(2)
- when: fenced() == 0 and now() > 4500ms
  inject: crash
  target: broker(3)
- at: 15s
  heal: all
"""


def test_phases_that_cross_a_limit_by_themselves_heal_everything() -> None:
    """The crash passes while the links of the other broker are up; they go down again."""
    result, events = run(playbook("max_brokers_down: 1", FLAPPING))
    (acted,) = result.guards
    assert (acted.rule, acted.detail, acted.fault) == ("max_brokers_down", "healed", "flapping, crash")
    crash = next(event for event in events if isinstance(event, FaultInjected) and event.fault == "crash")
    assert crash.at_us < acted.at_us < 10 * SECOND
    assert [event.at_us for event in events if isinstance(event, FaultHealed)] == [acted.at_us] * 2


CASES = {
    "flapping": playbook("max_brokers_down: 1", FLAPPING),
    "refused": playbook("max_brokers_down: 1", TWO_CRASHES),
    "healed": playbook("max_brokers_down: 1\non_breach: heal", TWO_CRASHES),
    "stopped": playbook("stop_when: position_lag(billing) > 300\nmax_faults: 1", STALLED),
}


@pytest.mark.parametrize(("case", "slice_"), covering_cases(CASES, [((7_000, 0),), ((1 << 60, 1),), ((913_000, 37),)]))
def test_slices_of_any_size_give_one_digest(case: str, slice_: tuple[int, int]) -> None:
    whole = Session.start(CASES[case]).finish()
    session = Session.start(CASES[case])
    time_us, events = slice_
    while session.advance(session.cluster.now_us + time_us, events):
        session.drain()
    result = session.finish()
    assert (result.digest, result.guards) == (whole.digest, whole.guards)


def test_an_operators_faults_are_guarded_and_a_replay_refuses_them_again(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    which = playbook("max_brokers_down: 1\nstop_when: now() > 12s", "- at: 3s\n  inject: crash\n  target: broker(2)")
    session = Session.start(which, recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(5 * SECOND)
    with pytest.raises(FaultError) as over_limit:
        session.act(Action("inject", "crash", "broker(3)"))
    session.act(Action("inject", "lag", "broker(3)"))
    session.advance(15 * SECOND)
    assert session.board.active() == ()
    with pytest.raises(FaultError) as after_chaos:
        session.act(Action("inject", "lag", "broker(3)"))
    result = session.finish()
    assert [(each.rule, each.detail) for each in result.guards] == [
        ("max_brokers_down", "refused"),
        ("stop_when", "stopped"),
        ("stop_when", "refused"),
    ]
    assert [str(each.value) for each in (over_limit, after_chaos)] == snapshot
    replayed = replay.replay(read_session(Path(result.session)))
    assert replayed.digest == result.digest


@pytest.mark.parametrize("case", CASES)
def test_any_point_in_time_of_the_past_is_as_it_was(case: str) -> None:
    timeline = Timeline(Session.start(CASES[case]), nearest=300)
    digests: list[tuple[int, str, Any]] = []
    while timeline.advance(timeline.session.cluster.now_us + 1_700_000):
        cluster, guards = timeline.session.cluster, timeline.session.board.guards
        assert guards is not None
        digests.append((cluster.now_us, cluster.digest(), guards.save()))
    for at_us, digest, saved in digests:
        past = timeline.seek_time(at_us)
        assert past.board.guards is not None
        assert (past.cluster.digest(), past.board.guards.save()) == (digest, saved)


@pytest.mark.parametrize("seed", spread_sample([71, 101, 102], 1))
def test_the_bundled_drill_loses_nothing_and_ends_early(seed: int) -> None:
    session = Session.start(loads(thinned("guarded"), "guarded"), seed=seed)
    result = session.finish()
    assert (result.verdict, result.ledger.acked_lost) == ("pass", 0)
    refused, stopped, late = result.guards
    assert (refused.rule, refused.fault, refused.target) == ("keep_last_in_sync", "power_loss", "broker 1")
    assert "orders-0" in refused.cause
    assert (stopped.rule, stopped.detail) == ("stop_when", "stopped")
    assert 35 * SECOND < stopped.at_us < 80 * SECOND
    assert (late.rule, late.fault, late.at_us) == ("stop_when", "crash", 90 * SECOND)


def test_the_same_drill_without_its_guards_loses_what_was_acknowledged() -> None:
    text = thinned("guarded")
    before, _guards, rest = text.partition("guards:\n")
    _limits, _steps, steps = rest.partition("steps:\n")
    result = Session.start(loads(f"{before}steps:\n{steps}", "unguarded")).finish()
    assert result.guards == ()
    assert result.verdict == "fail"
    assert result.ledger.acked_lost > 200


def test_guards_can_be_set_from_the_command_line() -> None:
    text = apply_settings(bundled.path_of("guarded").read_text(encoding="utf-8"), {"guards.max_brokers_down": "0"})
    loaded = loads(text, "guarded")
    assert loaded.guards is not None
    assert loaded.guards.limits.max_brokers_down == 0
