"""The search for causes, with runs whose outcome is computed from the changes that are switched."""

from collections.abc import Callable, Iterable

import pytest

from playbooks.parser.loader import loads
from playbooks.release_changes import changes_between
from playbooks.upgrade import cause_search
from playbooks.upgrade.candidates import CONTROLLER_MODE, candidates
from playbooks.upgrade.cause_search import CauseSearch
from playbooks.upgrade.compared_run import MEASURES, ComparedRunJob, RunRecord

PLAYBOOK = loads(
    """floodmark: 1
name: bare
cluster: {kafka: "3.6", brokers: 3}
topics: [{name: orders, replication: 3}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s}]
steps: [{at: 5s, inject: crash, target: leader(orders-0), for: 30s}]
""",
    "bare.yaml",
)
CHANGES = changes_between("3.6.0", "4.4.0")
RULES = [each.rule for each in candidates(PLAYBOOK, CHANGES) if each.rule]
Rules = frozenset[str]


def record(losses: int, active: Iterable[str], *, stall_us: int = 0, read: Iterable[str] = RULES) -> RunRecord:
    """Return a run: ``active`` are those of the switched rules that change its events."""
    measures = dict.fromkeys(MEASURES, 0) | {"acked_lost": losses, "read_stall_us": stall_us}
    text = " ".join(sorted(active))
    return RunRecord({"verdict": "pass", "violated": "", **measures}, frozenset(read), (text, text))


def switched(job: ComparedRunJob) -> Rules:
    """Return the rules that are as in the second release."""
    later = job.settings["cluster.kafka"] == "4.4.0"
    own = {path.removeprefix("cluster.rules.") for path in job.settings if path.startswith("cluster.rules.")}
    return frozenset(RULES) - own if later else frozenset(own)


def search(runs: Callable[[Rules, int | None], RunRecord]) -> tuple[CauseSearch, list[ComparedRunJob]]:
    """Search with runs that are a function of the switched rules and the seed; return the search and all jobs."""
    found = CauseSearch(PLAYBOOK, CHANGES, runs(frozenset(), None), runs(frozenset(RULES), None))
    jobs: list[ComparedRunJob] = []
    steps, answer = found.run(), None
    while True:
        try:
            batch = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            return found, jobs
        jobs += batch
        answer = [_run(runs, job) for job in batch]


def _run(runs: Callable[[Rules, int | None], RunRecord], job: ComparedRunJob) -> RunRecord:
    whole = runs(switched(job), job.seed)
    if job.expected and whole.digests != job.expected:
        return RunRecord(rules=whole.rules, digests=whole.digests[:1], deviates=True, error="it deviates")
    return whole


def names(found: CauseSearch, measure: str = "acked_lost") -> tuple[str, list[str]]:
    """Return how changes make the difference, and which."""
    cause = found.causes[measure]
    return cause.how, [each.rule for each in cause.changes]


def active(on: Rules, *rules: str) -> Rules:
    """Return those of the rules that are switched on."""
    return on & frozenset(rules)


def test_each_change_that_is_enough_alone_is_named() -> None:
    found, _jobs = search(lambda on, _seed: record(0 if on & {"elr", "pre_vote"} else 9, active(on, "elr", "pre_vote")))
    assert names(found) == ("alone", ["elr", "pre_vote"])


def test_a_change_that_only_changes_events_is_not_named() -> None:
    found, _jobs = search(
        lambda on, _seed: record(0 if "elr" in on else 9, active(on, "elr", "pre_vote", "learns_leaders"))
    )
    assert names(found) == ("alone", ["elr"])


def test_changes_that_are_both_needed_are_named_together() -> None:
    found, _jobs = search(
        lambda on, _seed: record(0 if {"elr", "pre_vote"} <= on else 9, active(on, "elr", "pre_vote"))
    )
    assert names(found) == ("together", ["elr", "pre_vote"])


def test_a_least_set_is_found_where_no_change_is_needed() -> None:
    pairs = ({"elr", "pre_vote"}, {"strict_markers", "leader_hints"})
    found, _jobs = search(
        lambda on, _seed: record(0 if any(pair <= on for pair in pairs) else 9, active(on, *pairs[0], *pairs[1]))
    )
    how, rules = names(found)
    assert how == "together"
    assert set(rules) in pairs


def test_a_change_that_is_needed_with_something_that_is_no_candidate_is_said_to_be_needed() -> None:
    def runs(on: Rules, _seed: int | None) -> RunRecord:
        """The second release, which has all rules but at most one, has something else."""
        later = len(on) >= len(RULES) - 1
        return record(0 if later and "elr" in on else 9, active(on, "elr"))

    found, _jobs = search(runs)
    assert names(found) == ("needed", ["elr"])


def test_a_difference_that_no_candidate_makes_is_reported_as_such() -> None:
    ended: list[Rules] = []

    def runs(on: Rules, _seed: int | None) -> RunRecord:
        ended.append(on)
        return record(9 if len(ended) == 1 else 0 if len(ended) == 2 else 5, [])

    found, _jobs = search(runs)
    assert names(found) == ("none", [])


def test_a_rule_that_is_never_read_is_not_tried() -> None:
    found, jobs = search(lambda on, _seed: record(0 if "elr" in on else 9, active(on, "elr"), read=["elr", "pre_vote"]))
    assert names(found) == ("alone", ["elr"])
    tried = {path for job in jobs for path in job.settings if path.startswith("cluster.rules.")}
    assert tried == {"cluster.rules.elr", "cluster.rules.pre_vote"}


def test_groups_save_runs() -> None:
    found, jobs = search(lambda on, _seed: record(0 if "elr" in on else 9, active(on, "elr")))
    assert names(found) == ("alone", ["elr"])
    assert found.tries == len(jobs) < len(RULES) // 2


def test_the_search_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cause_search, "MOST_TRIES", 3)
    found, jobs = search(lambda on, _seed: record(0 if "elr" in on else 9, active(on, "elr")))
    assert names(found) == ("limit", [])
    assert len(jobs) <= 3


@pytest.mark.parametrize(
    ("stalls_us", "how"),
    [({1: (0, 9_000_000), 2: (0, 9_000_000)}, "alone"), ({1: (0, 9_000_000), 2: (9_000_000, 0)}, "seed"),
     ({1: (0, 9_000_000), 2: (0, 0)}, "seed")],
    ids=["every seed differs so", "another direction", "no difference"],
)  # fmt: skip
def test_a_measure_that_other_seeds_do_not_confirm_is_chance(stalls_us: dict[int, tuple[int, int]], how: str) -> None:
    def runs(on: Rules, seed: int | None) -> RunRecord:
        number = 1 if seed is None else seed - PLAYBOOK.seed
        return record(0, active(on, "elr"), stall_us=stalls_us[number]["elr" in on])

    found, _jobs = search(runs)
    assert found.causes["read_stall_us"].how == how


def test_losses_that_only_one_release_has_are_never_chance() -> None:
    found, _jobs = search(lambda on, seed: record(9 if seed is None and "elr" not in on else 0, active(on, "elr")))
    assert names(found) == ("alone", ["elr"])


def test_a_controller_mode_that_neither_release_can_change_is_untried() -> None:
    playbook = loads(PLAYBOOK.source.replace('"3.6"', '"3.2"'), "bare.yaml")
    found = CauseSearch(playbook, changes_between("3.2", "4.4"), record(9, []), record(0, []))
    assert [each.name for each in found.untried] == [CONTROLLER_MODE]
    assert found.causes["acked_lost"].how == "not_searched"
