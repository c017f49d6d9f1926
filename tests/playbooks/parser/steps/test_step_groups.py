"""Groups of steps: how they are unrolled, when their rounds and steps act, what they are called, what is refused."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import FaultInjected, StepTaken
from playbooks.engine.dry_run import dry_run
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import Session
from playbooks.errors import Problem
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import step_name, step_of, step_text
from playbooks.parser.loader import loads
from playbooks.parser.steps.step_groups import MAX_GROUPS
from playbooks.parser.steps.timed_steps import MAX_STEPS
from playbooks.results.result import SessionResult
from playbooks.timetravel.timeline import Timeline
from tests.support.mistakes import keys, messages, mistakes_of
from tests.support.playbooks import CLUSTER, MANUAL
from tests.support.playbooks import timed as of_cluster

MS = 1_000
S = 1_000_000


def timed(steps: str = "", expect: str = "", settle: str = "1s") -> Playbook:
    return of_cluster(steps, expect, settle, CLUSTER.replace("rate: 100/s", "rate: 10/s"))


ROUNDS = timed(
    """
- at: 1s
  repeat: 3
  every: 2s
  as: number
  note: three times
  steps:
    - {at: 100ms, inject: lag, target: 'broker(${number})', for: 1s}
    - {at: 1500ms, inject: gc_pause, target: broker(2), for: 100ms}
- heal: all
""",
    "- acked_lost() == 0",
)


def taken(playbook: Playbook) -> list[StepTaken]:
    session = Session.start(playbook)
    session.finish()
    return [event for event in session.drain() if isinstance(event, StepTaken) and event.by != "playbook"]


def mistakes(steps: str) -> tuple[Problem, ...]:
    return mistakes_of(lambda: timed(steps))


def test_times_inside_count_from_the_beginning_of_the_round(snapshot: SnapshotAssertion) -> None:
    steps = taken(ROUNDS)
    assert [(each.at_us // MS, each.by, each.target) for each in steps] == [
        (1_000, "step 1 round 1", ""),
        (1_100, "step 1.1 round 1", "broker(1)"),
        (2_500, "step 1.2 round 1", "broker(2)"),
        (3_000, "step 1 round 2", ""),
        (3_100, "step 1.1 round 2", "broker(2)"),
        (4_500, "step 1.2 round 2", "broker(2)"),
        (5_000, "step 1 round 3", ""),
        (5_100, "step 1.1 round 3", "broker(3)"),
        (6_500, "step 1.2 round 3", "broker(2)"),
        (6_500, "step 2", ""),
    ]
    assert [each.detail for each in steps] == snapshot


def test_a_round_that_takes_longer_delays_the_next_which_then_begins_at_once() -> None:
    steps = "- {repeat: 3, every: 1s, steps: [{after: 1500ms, heal: all}]}\n- {after: 1s, heal: all}"
    begun = [each.at_us // MS for each in taken(timed(steps))]
    assert begun == [0, 1_500, 1_500, 3_000, 3_000, 4_500, 5_500]


def test_without_every_a_round_follows_the_other() -> None:
    steps = "- {at: 1s, repeat: 2, steps: [{after: 1500ms, heal: all}]}"
    assert [each.at_us // MS for each in taken(timed(steps))] == [1_000, 2_500, 2_500, 4_000]


def test_a_group_waits_for_its_condition_once() -> None:
    steps = "- {when: now() >= 2s, within: 5s, repeat: 2, every: 1s, steps: [{heal: all}]}"
    assert [each.at_us // S for each in taken(timed(steps))] == [2, 2, 3, 3]


def test_a_condition_inside_is_waited_for_in_every_round() -> None:
    steps = """
- repeat: 2
  every: 3s
  steps:
    - {inject: crash, target: broker(3), for: 1s}
    - {when: 3 not in isr(orders-0), within: 20s, heal: lag}
    - {when: 'isr(orders-0) == [1, 2, 3]', within: 30s, heal: all}
"""
    session = Session.start(timed(steps))
    result = session.finish()
    assert result.verdict == "pass", result.reason
    assert session.steps_taken == 8


def test_a_failed_wait_names_its_round(snapshot: SnapshotAssertion) -> None:
    steps = "- heal: all\n- {repeat: 2, steps: [{when: offline_partitions() > 9, within: 1s, heal: all}]}"
    result = Session.start(timed(steps)).finish()
    assert result.verdict == "inconclusive"
    assert result.reason.startswith("step 2.1 round 1 ")
    assert result.reason == snapshot


def test_values_instead_of_a_number_and_groups_in_groups(snapshot: SnapshotAssertion) -> None:
    steps = """
- each: [3, 1]
  as: broker
  steps:
    - repeat: 2
      steps:
        - {after: 1s, inject: lag, target: 'broker(${broker})', latency: '${round}0ms', for: 500ms}
- heal: all
"""
    playbook = timed(steps)
    assert [(step_name(each), each.target, each.params.get("latency")) for each in playbook.steps] == [
        ("step 1 round 1", "", None),
        ("step 1.1 round 1.1", "", None),
        ("step 1.1.1 round 1.1", "broker(3)", 10 * MS),
        ("step 1.1 round 1.2", "", None),
        ("step 1.1.1 round 1.2", "broker(3)", 20 * MS),
        ("step 1 round 2", "", None),
        ("step 1.1 round 2.1", "", None),
        ("step 1.1.1 round 2.1", "broker(1)", 10 * MS),
        ("step 1.1 round 2.2", "", None),
        ("step 1.1.1 round 2.2", "broker(1)", 20 * MS),
        ("step 2", "", None),
    ]
    assert [step_text(each) for each in playbook.steps] == snapshot
    assert step_of(playbook.steps[2], playbook.steps) == "step 1.1.1 round 1.1 (3 of 11)"
    assert [each.index for each in playbook.steps] == list(range(11))


def test_a_value_may_be_a_list(snapshot: SnapshotAssertion) -> None:
    playbook = timed(
        "- each: [[1, 2, 3], [3, 2, 1]]\n  as: order\n"
        "  steps: [{admin: reassign, partition: orders-0, brokers: '${order}', refused: any}]"
    )
    assert [each.params["brokers"] for each in playbook.steps if each.verb == "admin"] == [(1, 2, 3), (3, 2, 1)]
    assert step_text(playbook.steps[2]) == snapshot


def test_steps_keep_their_simple_numbers_without_groups_and_before_them() -> None:
    playbook = timed("- heal: all\n- {repeat: 1, steps: [heal: all]}\n- heal: all")
    assert [step_name(each) for each in playbook.steps] == ["step 1", "step 2 round 1", "step 2.1 round 1", "step 3"]
    assert step_of(playbook.steps[0], playbook.steps) == "step 1 (1 of 4)"
    plain = timed("- heal: all\n- heal: all")
    assert step_of(plain.steps[1], plain.steps) == "step 2 of 2"


def test_where_steps_are_left_out_for_a_version_the_count_is_true(snapshot: SnapshotAssertion) -> None:
    playbook = timed("- {kafka: 0.8.2-1.1, heal: all}\n- heal: all")
    assert step_of(playbook.steps[0], playbook.steps).split(" (") == ["step 2", "1 of 1)"]
    session = Session.start(timed("- {kafka: 1.1, heal: all}\n- {at: 3s, heal: all}"), until_us=S)
    assert session.finish().reason == snapshot


def test_a_group_for_other_versions_is_read_and_left_out() -> None:
    playbook = timed("- {kafka: 1.1, repeat: 2, steps: [heal: all]}\n- heal: all")
    assert [step_name(each) for each in playbook.steps] == ["step 2"]
    assert mistakes("- {kafka: 1.1, repeat: 2, steps: [heal: al]}")


def test_a_dry_run_names_the_rounds() -> None:
    done = dry_run(ROUNDS, 3, until_us=4 * S)
    assert [each.name for each in done.predicted] == ["step 1.1 round 1", "step 1.2 round 1", "step 1.1 round 2"]
    assert [each.name for each in done.unreached][:2] == ["step 1.2 round 2", "step 1 round 3"]


def test_by_hand_a_group_is_its_steps_again_and_again() -> None:
    head, tail = MANUAL.split("  - append: {broker: 2", 1)
    grouped = head + (
        "  - repeat: 2\n    note: twice\n    steps:\n"
        "      - append: {broker: 1, partition: orders-0, acks: 1, names: ['r${round}']}\n"
        "      - fetch: {follower: 2, partition: orders-0}\n"
        "  - append: {broker: 2"
    )
    playbook = loads(grouped + tail.replace("leo(orders-0, 2) == 1", "leo(orders-0, 2) == 3"), "by-hand.yaml")
    session = ManualSession.start(playbook)
    result = session.finish()
    assert result.verdict == "pass", result.reason
    names = [event.by for event in session.drain() if isinstance(event, StepTaken)]
    assert names[3:10] == [
        "step 4 round 1", "step 4.1 round 1", "step 4.2 round 1",
        "step 4 round 2", "step 4.1 round 2", "step 4.2 round 2", "step 5",
    ]  # fmt: skip
    assert sum("twice" in row.notes for row in session.table.rows) == 1
    assert not any(name.startswith("round") for row in session.table.rows for name, _error in row.steps)


def test_times_have_no_place_in_a_group_by_hand(snapshot: SnapshotAssertion) -> None:
    text = MANUAL.replace("steps:\n", "steps:\n  - {repeat: 2, every: 1s, steps: [show]}\n")
    found = mistakes_of(lambda: loads(text, "m.yaml"))
    assert keys(found) == ["steps[1].every"]
    assert messages(found) == snapshot


# -- mistakes ---------------------------------------------------------------------------------------------------------


def test_each_mistake_inside_is_reported_once_with_the_way_to_it(snapshot: SnapshotAssertion) -> None:
    found = mistakes("- {repeat: 5, steps: [{inject: crash, target: broker(9)}, {inject: crush}]}")
    assert keys(found) == ["steps[1].steps[1].target", "steps[1].steps[2].inject"]
    assert messages(found) == snapshot


def test_a_mistake_of_one_round_is_found(snapshot: SnapshotAssertion) -> None:
    found = mistakes("- {each: [1, 9], as: b, steps: [{inject: crash, target: 'broker(${b})'}]}")
    assert keys(found) == ["steps[1].steps[1].target"]
    assert messages(found) == snapshot


def test_times_may_not_go_back_inside_a_round_nor_before_what_rounds_take(snapshot: SnapshotAssertion) -> None:
    inside = mistakes("- {repeat: 2, steps: [{at: 2s, heal: all}, {at: 1s, heal: all}]}")
    behind = mistakes("- {at: 1s, repeat: 3, every: 5s, steps: [{at: 2s, heal: all}]}\n- {at: 12s, heal: all}")
    assert keys(inside) == ["steps[1].steps[2].at"]
    assert keys(behind) == ["steps[2].at"]
    assert messages([*inside, *behind]) == snapshot
    assert timed("- {at: 1s, repeat: 3, every: 5s, steps: [{at: 2s, heal: all}]}\n- {at: 13s, heal: all}")


@pytest.mark.parametrize(
    ("steps", "key"),
    [
        ("{repeat: 0, steps: [heal: all]}", "steps[1].repeat"),
        ("{repeat: 2, steps: []}", "steps[1].steps"),
        ("{each: [], steps: [heal: all]}", "steps[1].each"),
        ("{repeat: 2}", "steps[1]"),
        ("{repeat: 2, each: [1], steps: [heal: all]}", "steps[1].each"),
        ("{steps: [heal: all]}", "steps[1]"),
        ("{repeat: 2, heal: all, steps: [heal: all]}", "steps[1].heal"),
        ("{repeat: 2, at: 1s, after: 1s, steps: [heal: all]}", "steps[1].after"),
    ],
)
def test_invalid_step_groups_are_reported(steps: str, key: str, snapshot: SnapshotAssertion) -> None:
    found = mistakes(f"- {steps}")
    assert keys(found) == [key]
    assert messages(found) == snapshot


def test_a_group_without_rounds_brings_no_false_mistakes_of_its_values() -> None:
    found = mistakes("- {repeat: many, steps: [{inject: lag, target: 'broker(${round})', latency: '${round}ms'}]}")
    assert keys(found) == ["steps[1].repeat"]


def nested(depth: int) -> str:
    return "{repeat: 1, steps: [" * depth + "{heal: all}" + "]}" * depth


def test_groups_nest_so_deep_and_no_deeper(snapshot: SnapshotAssertion) -> None:
    assert len(timed(f"- {nested(MAX_GROUPS)}").steps) == MAX_GROUPS + 1
    (found,) = mistakes(f"- {nested(MAX_GROUPS + 1)}")
    assert found.message == snapshot


@pytest.mark.slow
def test_rounds_count_as_steps_and_there_are_so_many_and_no_more(snapshot: SnapshotAssertion) -> None:
    half = MAX_STEPS // 2
    assert len(timed(f"- {{repeat: {half}, steps: [heal: all]}}").steps) == MAX_STEPS
    for steps in (
        f"- {{repeat: {half}, steps: [heal: all]}}\n- heal: all",
        f"- {{repeat: {half}, steps: [heal: all, heal: lag]}}",
        "- {repeat: 2000, steps: [{repeat: 2000, steps: [{repeat: 2000, steps: [heal: all]}]}]}",
    ):
        (found,) = mistakes(steps)
        assert found.message == snapshot(name="too many")


# -- the engine -------------------------------------------------------------------------------------------------------

STEPS = {
    "lag": {"inject": "lag", "target": "broker(2)", "for": "300ms"},
    "pause": {"inject": "gc_pause", "target": "leader(orders-0)", "for": "200ms"},
    "heal": {"heal": "all"},
    "elect": {"admin": "elect_leaders", "partition": "orders-0"},
}


def single(draw: st.DrawFn) -> dict[str, Any]:
    step = dict(STEPS[draw(st.sampled_from(sorted(STEPS)))])
    when = [{}, {"after": "150ms"}, {"after": "700ms"}, {"at": "0ms"}, {"at": "900ms"}]
    return {**step, **draw(st.sampled_from(when))}


def ordered(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without times that go back."""
    late, found = False, []
    for step in steps:
        early = step.get("at") == "0ms"
        found.append({key: value for key, value in step.items() if key != "at" or not (early and late)})
        late |= step.get("at") == "900ms" or "repeat" in step
    return found


@st.composite
def groups(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    inner = [single(draw) for _ in range(draw(st.integers(1, 2)))]
    if depth > 1 and draw(st.booleans()):
        inner.append(draw(groups(depth - 1)))
    every = draw(st.sampled_from([{}, {"every": "400ms"}, {"every": "1s"}]))
    start = draw(st.sampled_from([{}, {"after": "250ms"}]))
    return {"repeat": draw(st.integers(1, 3)), "steps": ordered(inner), **every, **start}


def us(text: str) -> int:
    return int(text[:-2]) * MS if text.endswith("ms") else int(text[:-1]) * S


def written_out(steps: list[dict[str, Any]], now: int, begun: int) -> Iterator[dict[str, Any]]:
    """The same steps, each at its time."""
    for step in steps:
        now = max(now, begun + us(step["at"])) if "at" in step else now + us(step.get("after", "0ms"))
        if "repeat" not in step:
            yield {**{key: value for key, value in step.items() if key != "after"}, "at": f"{now // MS}ms"}
            continue
        begins = now
        for number in range(step["repeat"]):
            begins = max(now, begins + us(step["every"])) if number and "every" in step else now
            now = begins
            for each in written_out(step["steps"], begins, begins):
                now = us(each["at"])
                yield each


@pytest.mark.slow
@given(st.lists(groups(), min_size=1, max_size=2))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_group_is_the_same_as_its_steps_written_out(steps: list[dict[str, Any]]) -> None:
    hand = list(written_out(steps, 0, 0))
    grouped, plain = timed(yaml.safe_dump(steps)), timed(yaml.safe_dump(hand))
    one, other = Session.start(grouped), Session.start(plain)
    assert one.finish().digest == other.finish().digest
    assert one.steps_taken - sum(step.verb == "round" for step in grouped.steps) == other.steps_taken == len(hand)


SLICES = st.lists(st.tuples(st.integers(0, 2_000_000), st.integers(0, 300)), min_size=1, max_size=10)


@cache
def whole() -> SessionResult:
    """The rounds in one piece."""
    return Session.start(ROUNDS).finish()


@pytest.mark.slow
@given(SLICES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_slices_of_any_size_give_one_digest(slices: list[tuple[int, int]]) -> None:
    session = Session.start(ROUNDS)
    for time_us, events in slices:
        session.advance(session.cluster.now_us + time_us, events)
    assert session.finish().digest == whole().digest


@pytest.mark.parametrize("slice_us", [8 * MS, 3_600 * S])
def test_a_slice_of_8_ms_and_one_of_an_hour_give_one_digest(slice_us: int) -> None:
    session = Session.start(ROUNDS)
    while session.advance(session.cluster.now_us + slice_us):
        pass
    assert session.finish().digest == whole().digest


def test_event_by_event_gives_the_same_digest() -> None:
    session = Session.start(ROUNDS)
    while session.advance(3_600 * S, 1):
        pass
    assert session.finish().digest == whole().digest


@pytest.mark.slow
def test_any_point_in_time_of_a_session_with_rounds_is_found_again_and_continues_the_same() -> None:
    timeline = Timeline(Session.start(ROUNDS), nearest=200)
    while timeline.advance(timeline.session.cluster.now_us + 333 * MS):
        pass
    for at_us in (0, 1_050 * MS, 3_000 * MS, 3_001 * MS, 4_600 * MS, 5_050 * MS, 6_600 * MS):
        unbroken = Session.start(ROUNDS)
        unbroken.advance(at_us)
        past = timeline.seek_time(at_us)
        assert (past.cluster.digest(), past.position()) == (unbroken.cluster.digest(), unbroken.position())
        times = [event.at_us for event in unbroken.drain() if isinstance(event, FaultInjected)]
        while past.advance(past.cluster.now_us + S):
            pass
        later = [event.at_us for event in past.drain() if isinstance(event, FaultInjected)]
        assert times + later == [1_100 * MS, 2_500 * MS, 3_100 * MS, 4_500 * MS, 5_100 * MS, 6_500 * MS]
