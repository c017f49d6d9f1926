"""A campaign: the same rows however the work is spread or stopped; groups, coverage, and what is no surprise."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import DUPLICATE, LOST, Finding
from playbooks.campaign.run_rows import RunFailure, RunRow, coverage_of, groups_of
from playbooks.campaign.runner import run_campaign
from playbooks.campaign.store import CampaignError, open_campaign
from playbooks.campaign.workloads.fuzz_workload import FuzzPlan, plan_of
from playbooks.library.bundled import source_path
from playbooks.parser.loader import changed, load
from playbooks.results.failure_keys import Failure, expected_reason
from tests.playbooks.fuzz.small import GROUP, plan, text
from tests.support.breadth import EVENING, covering_cases, sample_count, spread_sample

pytestmark = pytest.mark.slow

RUNS = 5
WORKERS = 0 if EVENING else 1


def _lines(path: Path, asked: FuzzPlan, *, workers: int = 1, runs: int = RUNS) -> str:
    run_campaign(open_campaign(path, asked, "small"), asked, runs, workers=workers)
    return (path / "runs.jsonl").read_text()


def test_how_many_work_makes_no_difference(tmp_path: Path) -> None:
    asked = plan()
    assert _lines(tmp_path / "one", asked) == _lines(tmp_path / "two", asked, workers=2)


def test_one_that_was_stopped_continues_to_the_same_end(tmp_path: Path) -> None:
    asked = plan()
    whole = _lines(tmp_path / "whole", asked)
    broken = tmp_path / "broken"
    _lines(broken, asked, runs=3)
    runs = broken / "runs.jsonl"
    runs.write_text("".join(reversed(runs.read_text().splitlines(keepends=True)[1:])) + '{"run":5,"se')
    assert _lines(broken, asked) == whole


def test_the_first_that_finds_is_the_last_that_counts(tmp_path: Path) -> None:
    asked = plan(text(acks="1", storm="faults: [crash, isolate, gc_pause]"), seed=5)
    campaign = open_campaign(tmp_path, asked, "small")
    come = run_campaign(campaign, asked, 200, workers=1, stops=lambda row: bool(row.found))
    assert come.stopped
    found = [bool(campaign.rows[run].found) for run in range(1, come.totals.runs + 1)]
    assert found == [False] * (come.totals.runs - 1) + [True]
    assert come.groups


def test_another_campaign_is_not_gone_on_with(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    open_campaign(tmp_path, plan(), "small")
    open_campaign(tmp_path, plan(), "small")
    with pytest.raises(CampaignError) as seed:
        open_campaign(tmp_path, plan(seed=2), "small")
    with pytest.raises(CampaignError) as other_text:
        open_campaign(tmp_path, plan(text(acks="1")), "small")
    assert (seed.value.code, other_text.value.code) == ("another_seed", "another_text")
    assert [str(each.value).replace(str(tmp_path), "<tmp>") for each in (seed, other_text)] == snapshot


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(CampaignError) as refused:
        open_campaign(tmp_path, plan(), "small")
    assert refused.value.code == "other_files"
    assert str(refused.value).replace(str(tmp_path), "<tmp>") == snapshot
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.code, str(again)) == (refused.value.code, str(refused.value))


def _row(run: int, *found: tuple[str, str], coverage: dict[str, dict[str, int]] | None = None) -> RunRow:
    return RunRow(run, run, {}, "digest", tuple(RunFailure(*each, "a sentence") for each in found), coverage or {})


def test_a_group_speaks_by_its_first_run_or_the_first_that_is_a_surprise() -> None:
    rows = [_row(3, ("a", "")), _row(1, ("a", "known"), ("b", "known")), _row(2, ("b", "known"))]
    groups = groups_of(rows)
    assert [(each.key, each.count, each.first, each.expected) for each in groups] == [
        ("a", 2, 3, ""),
        ("b", 2, 1, "known"),
    ]


def test_coverage_is_counted_and_what_was_never_reached_is_reported() -> None:
    rows = [
        _row(1, coverage={"crash": {"Truncating": 2}}),
        _row(2, coverage={"crash": {"Truncating": 1, "Steady": 1}, "lag": {"Steady": 4}}),
    ]
    seen = coverage_of(rows, ("crash", "lag", "loss"), ("Truncating", "StaleLeader"))
    assert (seen.count("crash", "Truncating"), seen.count("lag", "Steady"), seen.count("loss", "Steady")) == (3, 4, 0)
    assert (seen.reached, seen.pairs) == (3, 9)
    assert dict(seen.never()) == {
        "Steady": ("loss",), "Truncating": ("lag", "loss"), "StaleLeader": ("crash", "lag", "loss"),
    }  # fmt: skip


def _finding(kind: str, cause: str) -> Finding:
    return Finding(kind, cause, "", (), ())


@pytest.mark.parametrize(
    ("kafka", "unclean", "cause", "expected"),
    [
        ("0.11", "false", "fast-failover-divergence", True),
        ("2.0", "false", "fast-failover-divergence", False),
        ("2.4", "false", "unfenced-follower", True),
        ("2.5", "false", "unfenced-follower", False),
        ("3.9", "false", "unclean-election", False),
        ("3.9", "true", "unclean-election", True),
        ("3.9", "false", "min-isr-one", False),
        ("3.9", "false", "retry-in-flight", False),
        ("0.11", "false", "retry-in-flight", True),
        ("3.9", "false", "unreplicated-tail", True),
        ("3.9", "false", "unexplained", False),
        ("3.9", "false", "forgotten-producer-state", False),
        ("3.9", "false", "too-many-in-flight", True),
        ("4.1", "false", "last-known-leader", True),
    ],
)
def test_a_surprise_is_what_neither_version_nor_settings_allow(
    kafka: str, unclean: str, cause: str, expected: bool
) -> None:
    cluster = plan(text(kafka, unclean=unclean)).begin(1)[2].cluster
    assert bool(expected_reason(Failure("finding", f"lost/{cause}"), (), cluster, ())) is expected


def test_anomalies_are_explained_by_findings() -> None:
    cluster = plan().begin(1)[2].cluster
    seen = Failure("anomaly", "duplicate")
    explained, unexplained = _finding(DUPLICATE, "producer-restart"), _finding(DUPLICATE, "unexplained")
    assert expected_reason(seen, (explained,), cluster, ())
    assert not expected_reason(seen, (explained, unexplained), cluster, ())
    assert not expected_reason(seen, (_finding(LOST, "disk-loss"),), cluster, ())
    assert expected_reason(seen, (), cluster, ("anomaly:dup*",))
    assert expected_reason(Failure("violation", "min-isr", known=True), (), cluster, ())


def _safe(kafka: str) -> FuzzPlan:
    """The storm over a cluster that promises everything."""
    return plan_of(changed(load(source_path("storm-safe")), {"cluster.kafka": kafka}), 39 if kafka == "3.9" else 41)


def _small(kafka: str) -> FuzzPlan:
    """Shorter, with short sessions: more of it is weather."""
    return plan(text(kafka, clients=GROUP), seed=39)


@pytest.mark.parametrize(("of", "runs", "kafka"), covering_cases([(_safe, 4), (_small, 8)], ["3.9", "4.1"]))
def test_nothing_surprising_where_everything_is_guaranteed(
    of: Callable[[str], FuzzPlan], runs: int, kafka: str, tmp_path: Path
) -> None:
    asked = of(kafka)
    count = sample_count(runs, 2_000 if (of, kafka) == (_safe, "4.1") else 100)
    come = run_campaign(open_campaign(tmp_path, asked, "safe"), asked, count, workers=WORKERS)
    assert come.totals.runs == count
    assert [(group.key, group.first, group.sentence) for group in come.groups if not group.expected] == []


KINDS = {
    "storm-acks-1": "finding:lost/unreplicated-tail",
    "storm-unclean": "finding:lost/unclean-election",
    "storm-0.10.2": "finding:lost/hw-truncation",
    "storm-0.11": "finding:lost/fast-failover-divergence",
    "storm-1.0": "violation:log-matching",
}


@pytest.mark.parametrize(
    ("name", "seed"),
    spread_sample(
        [("storm-acks-1", 1), ("storm-unclean", 17), ("storm-0.10.2", 1), ("storm-0.11", 3), ("storm-1.0", 3)], 3
    ),
)
def test_from_a_seed_alone_the_right_kind_is_found(name: str, seed: int, tmp_path: Path) -> None:
    """Within two runs: the seeds are chosen for that."""
    asked, key = plan_of(load(source_path(name)), seed), KINDS[name]
    campaign = open_campaign(tmp_path, asked, name)
    come = run_campaign(campaign, asked, 2, workers=1, stops=lambda row: any(each.key == key for each in row.found))
    assert come.stopped
    assert not come.totals.errors
    assert json.loads((tmp_path / "campaign.json").read_text())["seed"] == seed


@pytest.mark.evening
@pytest.mark.parametrize("name", KINDS)
def test_from_the_first_seed_it_is_found_in_the_end(name: str, tmp_path: Path) -> None:
    asked, key = plan_of(load(source_path(name)), 1), KINDS[name]
    campaign = open_campaign(tmp_path, asked, name)
    come = run_campaign(campaign, asked, 1_000, stops=lambda row: any(each.key == key for each in row.found))
    assert come.stopped
    assert not come.totals.errors
