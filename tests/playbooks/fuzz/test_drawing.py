"""What a run draws: all of it from its seed, all of it within what the playbook allows."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.workloads.fuzz_workload import FuzzPlan, ranges_of
from playbooks.fuzz.protocol_states import STATES
from playbooks.fuzz.runner import RunOptions, StormRandom, candidates_of, cell_of, generate_options, run_seed
from playbooks.library.bundled import presets
from playbooks.model.playbook import StormRanges
from playbooks.parser.loader import loads
from tests.playbooks.fuzz.small import GROUP, plan, text
from tests.support.mistakes import keys, messages, mistakes_of


def test_seeds_are_stable_and_all_different() -> None:
    assert run_seed(0, 1) == 49584842996145
    seeds = [run_seed(campaign, run) for campaign in range(3) for run in range(300)]
    assert len(dict.fromkeys(seeds)) == len(seeds)
    assert all(0 <= seed < 1 << 48 for seed in seeds)


def test_a_spread_keeps_to_its_bounds_and_has_small_and_large_ones() -> None:
    dice = StormRandom(7, "test")
    drawn = [dice.spread(100, 1_000_000) for _ in range(500)]
    assert all(100 <= each <= 1_000_000 for each in drawn)
    assert sum(each < 1_000 for each in drawn) > 50
    assert sum(each > 100_000 for each in drawn) > 50
    assert dice.spread(5, 5) == 5


def swarms_of(asked: FuzzPlan, runs: int) -> list[RunOptions]:
    """What the first runs draw, all of them over the cluster of the first."""
    playbook, first, session = asked.begin(1)
    assert asked.grid is None
    found = [generate_options(asked.seed, run, (), ranges_of(playbook), session.cluster) for run in range(1, runs + 1)]
    assert [found[0], found[runs - 1]] == [first, asked.begin(runs)[1]]
    return found


def test_options_are_within_the_ranges_and_differ_between_runs() -> None:
    asked = plan(text(storm="at_once: [2, 4], steered: 50, without: [crash]"))
    swarms = swarms_of(asked, 30)
    assert all(3_000_000 <= each.chaos_us <= 6_000_000 for each in swarms)
    assert all(100_000 <= each.fault_us <= 3_000_000 for each in swarms)
    assert all(2 <= each.at_once <= 4 and each.steered == 50 for each in swarms)
    assert all("crash" not in dict(each.faults) and each.faults for each in swarms)
    assert len(dict.fromkeys(each.faults for each in swarms)) == len(swarms)
    assert {each.at_once for each in swarms} == {2, 3, 4}


def test_everything_that_may_come_is_in_play_in_some_run() -> None:
    asked = plan(text(clients=GROUP))
    faults, _states = asked.frame()
    in_play = {name for swarm in swarms_of(asked, 120) for name, _weight in swarm.faults}
    assert in_play == set(faults)


def test_faults_unsupported_by_the_cluster_are_never_generated() -> None:
    cluster = plan().begin(1)[2].cluster
    there = candidates_of(StormRanges(), cluster)
    assert "poll_stall" not in there  # there is no consumer
    assert "rate_change" in there
    assert candidates_of(StormRanges(faults=("crash", "lag"), without=("lag",)), cluster) == ("crash",)


def test_settings_come_from_the_grid_of_the_playbook() -> None:
    asked = plan(text(rest="vary: {acks: [1, all], cluster.brokers: [3, 4]}\n"))
    cells = {cell_of(asked.seed, run, asked.grid) for run in range(1, 40)}
    assert len(cells) == 4
    run = next(run for run in range(1, 40) if ("cluster.brokers", "4") in cell_of(asked.seed, run, asked.grid))
    assert len(asked.begin(run)[2].cluster.brokers) == 4


@pytest.mark.parametrize(
    ("storm", "key"),
    [
        ("fault: [3s, 1s]", "fault"),
        ("chaos: 5", "chaos"),
        ("steered: 101", "steered"),
        ("faults: [crush]", "faults[1]"),
        ("faults: [crash], without: [crash]", "without"),
        ("wrath: 3", "wrath"),
    ],
)
def test_mistakes_are_reported_where_they_are(storm: str, key: str, snapshot: SnapshotAssertion) -> None:
    name = storm.partition(":")[0]
    source = text().replace("storm: {chaos: [3s, 6s], fault: [100ms, 3s], healthy: [100ms, 1s]}", f"storm: {{{storm}}}")
    assert name in source
    problems = mistakes_of(lambda: loads(source, "small.yaml"))
    assert keys(problems) == [f"storm.{key}"]
    assert messages(problems) == snapshot


def test_the_page_reports_every_state_and_every_playbook_that_comes_along() -> None:
    page = (Path(__file__).parents[3] / "docs/test/storm.md").read_text()
    rows = [f"| `{state.name}` | {state.doc} |" for state in STATES.values()] + [f"| `{name}` |" for name in presets()]
    assert [row for row in rows if row not in page] == []
