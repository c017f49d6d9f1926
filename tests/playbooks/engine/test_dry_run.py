"""A dry run tells before each fault what a run would then do, and does what a run does."""

from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import FaultInjected
from faults.declarations.fault import ExpectedImpact
from playbooks.engine.dry_run import DryRun, Entry, StepPrediction, TimelineEntry, dry_run
from playbooks.engine.session import Session
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import expected_json, expected_lines
from playbooks.parser.loader import changed, load, loads
from tests.support.playbooks import CLUSTER
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def small(steps: str, more: str = "") -> Playbook:
    return loads(CLUSTER + more + "settle: 3s\nsteps:\n" + steps, "small.yaml")


def injected(playbook: Playbook, seed: int) -> list[tuple[int, str, str]]:
    session = Session.start(playbook, seed=seed)
    session.finish()
    return struck_in(session)


def struck_in(session: Session) -> list[tuple[int, str, str]]:
    return [(each.at_us, each.fault, each.target) for each in session.drain() if isinstance(each, FaultInjected)]


FEW = {
    "guarded": {"producers.checkout.rate": "20/s", "guards.stop_when": "lag(billing) > 800"},
    "zone-loss": {"producers.checkout.rate": "12/s", "producers.pay.rate": "6/s", "producers.cart.rate": "4/s"},
}
"""A fifth of their records, and what is told by their number."""


def few(name: str) -> Playbook:
    return changed(load(bundled.path_of(name)), FEW[name])


@pytest.mark.parametrize("name", FEW)
def test_it_reports_the_targets_that_a_run_then_affects(name: str) -> None:
    playbook = few(name)
    entries: list[Entry] = []
    done = dry_run(playbook, playbook.seed, on_progress=entries.append)
    told = [each for each in entries if isinstance(each, StepPrediction)]
    assert tuple(told) == done.predicted
    assert tuple(entries) == done.timeline
    happens = [each for each in told if not each.refused and each.guard_does != "refuse"]
    faults = [playbook.steps[each.step - 1].name for each in happens]
    struck = [(each.at_us, fault, ", ".join(each.targets)) for each, fault in zip(happens, faults, strict=True)]
    session = Session.start(playbook)
    result = session.finish()
    assert struck == struck_in(session) != []
    assert (done.verdict, done.virtual_us, done.unreached) == (result.verdict, result.virtual_us, ())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_targets_are_those_that_will_be_drawn(seed: int) -> None:
    steps = "".join(f"  - {{at: {at}s, inject: lag, target: 'random(2, all)', for: 1s}}\n" for at in (1, 2, 3, 4))
    playbook = small(steps)
    done = dry_run(playbook, seed)
    assert [(each.at_us, "lag", ", ".join(each.targets)) for each in done.predicted] == injected(playbook, seed)


def test_a_step_at_time_0_is_predicted_too() -> None:
    done = dry_run(small("  - {when: now() >= 0s, inject: crash, target: broker(2), for: 1s}\n"), 1)
    assert [(each.step, each.at_us, each.targets) for each in done.predicted] == [(1, 0, ("broker 2",))]


def test_dry_run_entries_have_predicted_impact_and_guard_actions(snapshot: SnapshotAssertion) -> None:
    steps = "  - {at: 2s, inject: crash, target: leader(orders-0)}\n  - {at: 3s, inject: crash, target: broker(2)}\n"
    first, second = dry_run(small(steps, "guards: {max_brokers_down: 1}\n"), 1).predicted
    assert first.expected is not None
    assert first.expected.leaders_moved[0] == "orders-0"
    assert (first.guard, second.guard, second.guard_does) == ("", "max_brokers_down", "refuse")
    assert second.guard_reason == snapshot
    _, healed = dry_run(small(steps, "guards: {max_brokers_down: 1, on_breach: heal}\n"), 1).predicted
    assert (healed.guard, healed.guard_does) == ("max_brokers_down", "heal")


def test_a_step_that_is_refused_and_steps_never_reached_are_reported(snapshot: SnapshotAssertion) -> None:
    steps = """\
  - {at: 1s, inject: restart, target: broker(1)}
  - {when: offline_partitions() > 3, within: 2s, inject: crash, target: broker(1)}
  - {inject: crash, target: broker(2)}
"""
    done = dry_run(small(steps), 1)
    (refused,) = done.predicted
    assert (refused.step, refused.expected, refused.targets) == (1, None, ())
    assert [(each.step, each.name) for each in done.unreached] == [(2, "step 2"), (3, "step 3")]
    assert done.verdict == "inconclusive"
    told = {"refused": refused.refused, "unreached": [each.text for each in done.unreached], "reason": done.reason}
    assert told == snapshot


def test_a_dry_run_is_cut_off_as_a_run_is() -> None:
    done = dry_run(few("guarded"), 71, until_us=13 * SECOND)
    assert [each.step for each in done.predicted] == [1, 2]
    assert [each.step for each in done.unreached] == [3, 4, 5]
    assert done.virtual_us == 13 * SECOND


FIELDS = {
    "sentence", "brokers_down", "leaders_moved", "offline", "shrunk", "under_min_isr", "clients", "groups",
    "transactional", "controller_moves", "quorum_lost",
}  # fmt: skip


def test_the_document_has_everything_as_plain_values() -> None:
    done = dry_run(few("guarded"), 71, until_us=31 * SECOND)
    document = done.to_json()
    outcome = {"playbook", "seed", "profile", "verdict", "virtual_us"}
    assert set(document) == {*outcome, "timeline", "steps", "unreached", "reason"}
    first, _second, third = document["steps"]
    assert (first["step"], first["at_us"], first["targets"], first["guard"]) == (1, 5 * SECOND, ["broker 3"], None)
    assert set(first["expected"]) == FIELDS
    assert third["guard"]["guard"] == "keep_last_in_sync"
    assert third["guard"]["does"] == "refuse"
    assert "orders-0" in third["expected"]["offline"]
    assert isinstance(done, DryRun)


def test_each_kind_of_thing_that_is_hit_has_a_line(snapshot: SnapshotAssertion) -> None:
    many = tuple(f"orders-{at}" for at in range(9))
    offsets = tuple(f"__consumer_offsets-{at}" for at in range(17))
    found = ExpectedImpact(
        "all of it", (*many, *offsets), many[:1], many[:2], ("checkout",), ("__transaction_state-1",), ("billing",),
        ("till",), (1, 2), controller_moves=True,
    )  # fmt: skip
    assert expected_lines(found) == snapshot
    assert expected_lines(ExpectedImpact("", quorum_lost=True)) == snapshot
    assert expected_lines(ExpectedImpact("nothing at all")) == []
    document: dict[str, Any] = expected_json(found)
    assert (document["offline"], document["brokers_down"], document["quorum_lost"]) == (["orders-0"], [1, 2], False)


TIMELINE = """\
  - {at: 1s, inject: crash, target: leader(orders-0), for: 20s}
  - {when: "leader(orders-0) == 2", within: 15s, admin: elect_leaders, partition: orders-0}
  - {after: 1s, heal: all}
  - {after: 2s, inject: lag, target: broker(3), for: 1s}
  - {when: "leader(orders-0) == 9 or now() < 0s", within: 4s, heal: all}
  - {after: 1s, inject: crash, target: broker(2)}
"""


@cache
def whole(until_us: int = -1) -> DryRun:
    text = CLUSTER + "settle: 3s\nsteps:\n" + TIMELINE.replace("== 9", "== 3")
    return dry_run(loads(text + "expect:\n  - always: leader(orders-0) == 1\n", "small.yaml"), 3, until_us=until_us)


def test_the_timeline_has_every_step_and_what_comes_between_and_after() -> None:
    done = whole()
    told = [(each.what, getattr(each, "step", 0)) for each in done.timeline]
    assert [each for each in told if each[1]] == [
        *(("fault", 1), ("step", 2), ("step", 3), ("fault", 4)),
        *(("never", 5), ("never", 6)),
    ]
    whats = [what for what, _ in told]
    assert whats.index("expectation") < whats.index("step") < whats.index("answer")
    assert whats[-4:] == ["settle", "end", "never", "never"]
    assert whats.count("healed") == 2
    times = [each.at_us for each in done.timeline if each.what != "never"]
    assert times == sorted(times)


def test_the_timeline_is_that_of_a_run() -> None:
    text = CLUSTER + "settle: 3s\nsteps:\n" + TIMELINE.replace("== 9", "== 3")
    session = Session.start(loads(text + "expect:\n  - always: leader(orders-0) == 1\n", "small.yaml"), seed=3)
    result = session.finish()
    steps = [(each.at_us, each.by) for each in session.drain() if each.kind == "step_taken"]  # type: ignore[attr-defined]
    done = whole()
    acted = [each for each in done.timeline if each.what in ("fault", "step", "settle")]
    assert [each.at_us for each in acted] == [at for at, _ in steps]
    assert (done.verdict, done.reason) == (result.verdict, result.reason)


def test_dry_run_entries_have_the_trigger_of_the_step(snapshot: SnapshotAssertion) -> None:
    step = next(each for each in whole().timeline if isinstance(each, TimelineEntry) and each.step == 2)
    waited = step.at_us - SECOND
    assert masked_text(step.when, waited=f"{waited // 10**6}.{waited % 10**6:06d}") == snapshot
    never = [each for each in whole().timeline if isinstance(each, TimelineEntry) and each.what == "never"]
    assert [each.when for each in never] == snapshot


@pytest.mark.parametrize("until_us", [0, SECOND // 2, 5 * SECOND, 12 * SECOND])
def test_a_cut_is_the_last_that_happens(until_us: int) -> None:
    done = whole(until_us)
    happened = [each for each in done.timeline if each.what != "never"]
    assert (happened[-1].what, happened[-1].at_us) == ("cut", until_us)
    assert sum(each.what == "never" for each in done.timeline) == len(done.unreached) > 0
    assert not any(each.what == "end" for each in done.timeline)


def test_a_cut_after_the_end_is_none() -> None:
    end_us = whole().virtual_us
    assert whole(end_us).timeline == whole(end_us + SECOND).timeline == whole().timeline
