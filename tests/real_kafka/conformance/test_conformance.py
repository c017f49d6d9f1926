"""Recorded runs of real brokers compared with the model, without Java; and one real run."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cluster_model.protocol.releases import number_of
from playbooks.model import Playbook
from tests.real_kafka.conformance import results
from tests.real_kafka.conformance.comparison import EQUAL, POSSIBLE, WITHIN, Bounds, compare
from tests.real_kafka.conformance.known_differences import KNOWN
from tests.real_kafka.conformance.observed import (
    TIMED_OUT,
    Observed,
    ObservedGroup,
    ObservedPartition,
    ObservedProducer,
    observed_from_json,
)
from tests.real_kafka.conformance.run_queue import RunJob, RunQueue
from tests.real_kafka.conformance.scenario_table import RELEASES, SCENARIOS, SCENARIOS_DIRECTORY, scenario_named
from tests.real_kafka.run import missing
from tests.support.breadth import EVENING, sample_count

BOUNDS = Bounds(session_ms=9_000, lag_ms=30_000)
SEEDS = sample_count(1, results.SEEDS)
"""Seeds of the model: one in `make test`, for time, all in the evening; more where that one has another outcome."""


def crashed(source: str, leader: int = 2, fenced_ms: int = 21_000) -> Observed:
    """Return a run in which broker 1 crashed and another one led."""
    partition = ObservedPartition([[fenced_ms, leader, 1, True]], [[fenced_ms, [2, 3], [], False]], lost=3)
    return Observed(
        "crash", source, {"orders-0": partition}, [[fenced_ms, 1, TIMED_OUT]], [[12_000, 1]], 0,
        {"clicks": ObservedProducer(100, ["NOT_ENOUGH_REPLICAS"])}, {"billing": ObservedGroup(rebalances=1)},
    )  # fmt: skip


def found(real: Observed, *models: Observed) -> list[tuple[str, str]]:
    """Return field and rule of every difference."""
    return [(each.field, each.rule) for each in compare(real, models, BOUNDS)]


def test_runs_that_decide_the_same_agree_whatever_their_times_and_counts() -> None:
    real = crashed("real")
    real.partitions["orders-0"].lost = 7
    assert found(real, crashed("model", fenced_ms=20_164)) == []


def test_a_real_run_must_be_among_the_models_outcomes() -> None:
    both = (crashed("model"), crashed("model", leader=3))
    assert found(crashed("real", leader=3), *both) == []
    assert found(crashed("real", leader=3), both[0]) == [("orders-0 elections", EQUAL)]
    third = crashed("real", leader=-1)
    assert found(third, *both) == [("orders-0 elections", POSSIBLE)]


def test_errors_must_have_all_that_every_seed_has_and_none_that_no_seed_has() -> None:
    often, seldom = crashed("model"), crashed("model")
    often.producers["clicks"].errors = ["NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"]
    assert found(crashed("real"), often, seldom) == []
    for errors in ([], ["NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER"]):
        real = crashed("real")
        real.producers["clicks"].errors = errors
        assert found(real, often, seldom) == [("producer clicks errors", POSSIBLE)]


def test_durations_have_bounds() -> None:
    assert found(crashed("real", fenced_ms=12_500), crashed("model")) == [("broker 1 fenced", WITHIN)]
    assert found(crashed("real", fenced_ms=40_000), crashed("model")) == [("broker 1 fenced", WITHIN)]
    shrunk = Observed("cut", "real", {"orders-0": ObservedPartition()}, stopped=[[12_000, 3]])
    shrunk.partitions["orders-0"].isrs = [[11_000, [1, 2, 3], [], True], [20_000, [1, 2], [], True]]
    assert found(shrunk, shrunk) == [("orders-0 ISR without 3", WITHIN)]
    shrunk.partitions["orders-0"].isrs[1][0] = 50_000
    assert found(shrunk, shrunk) == []


def test_a_broker_is_fenced_later_if_controllers_were_down_as_well() -> None:
    late = crashed("real", fenced_ms=12_000 + 4 * 9_000)
    assert found(late, late) == [("broker 1 fenced", WITHIN)]
    late.controllers = 1
    assert found(late, late) == []
    late.fenced[0][0] += 4_001
    assert found(late, late) == [("broker 1 fenced", WITHIN)]


def test_replicas_that_return_together_may_rejoin_in_any_order() -> None:
    real, model = crashed("real"), crashed("model")
    real.partitions["orders-0"].isrs = [[1, [1], [], False], [2, [1, 2], [], True], [3, [1, 2, 3], [], True]]
    model.partitions["orders-0"].isrs = [[1, [1], [], False], [2, [1, 3], [], True], [3, [1, 2, 3], [], True]]
    assert found(real, model) == []
    model.partitions["orders-0"].isrs.append([4, [2, 3], [], True])
    assert found(real, model) == [("orders-0 ISRs", EQUAL)]


def test_replicas_that_stop_together_may_leave_one_by_one() -> None:
    real, model = crashed("real"), crashed("model")
    real.partitions["orders-0"].isrs = [[1, [1, 3], [], True], [2, [1], [], True], [9, [1, 2, 3], [], True]]
    model.partitions["orders-0"].isrs = [[1, [1], [], True], [9, [1, 2, 3], [], True]]
    assert found(real, model) == []
    real.partitions["orders-0"].isrs[1][1] = [3]
    assert found(real, model) == [("orders-0 ISRs", EQUAL)]


def test_eligible_leader_replicas_are_compared_where_shrinking_ends() -> None:
    real, model = crashed("real"), crashed("model")
    real.partitions["orders-0"].isrs = [[1, [1, 2], [], False], [2, [1], [2], False], [9, [1, 2, 3], [], True]]
    model.partitions["orders-0"].isrs = [[1, [1], [2], False], [9, [1, 2, 3], [], True]]
    assert found(real, model) == []
    model.partitions["orders-0"].isrs[0][2] = []
    assert found(real, model) == [("orders-0 ISRs", EQUAL)]


def test_every_fact_of_a_recording_is_compared() -> None:
    model = crashed("model")
    changed: dict[str, Callable[[Observed], object]] = {
        "orders-0 acknowledged records lost": lambda run: setattr(run.partitions["orders-0"], "lost", 0),
        "orders-0 records written twice": lambda run: setattr(run.partitions["orders-0"], "duplicates", 1),
        "orders-0 reassigned to": lambda run: setattr(run.partitions["orders-0"], "replicas", [1, 4]),
        "brokers fenced": lambda run: run.fenced.clear(),
        "controller changed": lambda run: setattr(run, "controllers", 1),
        "producer clicks committed transactions": lambda run: setattr(run.producers["clicks"], "committed", 1),
        "producer clicks aborted transactions": lambda run: setattr(run.producers["clicks"], "aborted", 1),
        "group billing rebalances": lambda run: setattr(run.groups["billing"], "rebalances", 2),
        "group billing caught up": lambda run: setattr(run.groups["billing"], "lag", 1),
        "group billing records read twice": lambda run: setattr(run.groups["billing"], "reread", 1),
        "group billing records skipped": lambda run: setattr(run.groups["billing"], "skipped", 1),
        "group billing partitions of members": lambda run: run.groups["billing"].owners.update(a=["orders-0"]),
        "group billing commit errors": lambda run: run.groups["billing"].commit_errors.append("UNKNOWN_MEMBER_ID"),
    }
    for field, change in changed.items():
        real = crashed("real")
        change(real)
        assert found(real, model) == [(field, EQUAL)]


def test_more_seeds_run_only_if_the_first_ones_have_another_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def observed(playbook: Playbook, chosen: Sequence[int]) -> list[Observed]:
        seeds.extend(chosen)
        return [crashed("model", leader=3 if seed == 7 else 2) for seed in chosen]

    monkeypatch.setattr(results, "_observed", observed)
    playbook = results.playbook_of(scenario_named("acks-1-leader-crash").path, "4.1.2")
    assert results.compare_with_model(crashed("real"), playbook, 4, 9) == []
    assert seeds == [1, 2, 3, 4]
    seeds.clear()
    assert results.compare_with_model(crashed("real", leader=3), playbook, 4, 9) == []
    assert seeds == list(range(1, 9))
    seeds.clear()
    assert [each.rule for each in results.compare_with_model(crashed("real", leader=-1), playbook, 4, 9)] == [POSSIBLE]
    assert seeds == list(range(1, 10))


def test_recordings_are_written_and_read_alike() -> None:
    run = crashed("real")
    assert observed_from_json(run.to_json()) == run


def recordings() -> list[tuple[str, str]]:
    """Every scenario under its newest recorded release, and where it differs; in the evening under all of them."""
    recorded = results.recorded()
    newest = dict(sorted(recorded, key=lambda each: number_of(each[1])))
    differs = {(each.scenario, release) for each in KNOWN for release in each.releases}
    return [each for each in recorded if EVENING or newest[each[0]] == each[1] or each in differs]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "release"), recordings())
def test_the_model_agrees_with_recorded_brokers(scenario: str, release: str) -> None:
    real = results.read_recording(scenario, release)
    assert real.source == f"Kafka {release}"
    playbook = results.playbook_of(scenario_named(scenario).path, release)
    differing = {each.field for each in results.compare_with_model(real, playbook, SEEDS)}
    assert differing == {each.field for each in KNOWN if each.scenario == scenario and release in each.releases}


def test_known_differences_are_of_recorded_runs() -> None:
    assert {(each.scenario, release) for each in KNOWN for release in each.releases} <= set(results.recorded())


def test_the_table_has_every_playbook_once_and_each_runs_on_its_releases() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(names) == len(set(names))
    assert {path.stem for path in SCENARIOS_DIRECTORY.glob("*.yaml")} <= set(names)
    for scenario in SCENARIOS:
        for release in scenario.releases:
            assert release in RELEASES
            assert results.playbook_of(scenario.path, release).name == scenario.name


@pytest.mark.kafka
@pytest.mark.skipif(bool(missing()), reason=f"real brokers need {', '.join(missing())}")
def test_a_scenario_runs_and_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RECORDED", tmp_path / "recorded")
    lines: list[str] = []
    job = RunJob(scenario_named("acks-1-slow-followers"), "4.1.2")
    assert RunQueue(tmp_path / "evidence", 10, 1, lines.append).run([job]) == 0, lines
    assert results.recording("acks-1-slow-followers", "4.1.2").is_file()
