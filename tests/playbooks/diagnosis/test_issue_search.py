"""The known issue that causes a failure: named on a release that has it, alone, and not where it is fixed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from cluster_model.known_issues import KNOWN_ISSUES, KnownIssue
from playbooks.diagnosis.issue_search import (
    INCONCLUSIVE,
    MOST,
    CausingIssue,
    IssueSearch,
    failures_to_explain,
    is_gone,
    issue_words,
    search_issues,
    search_words,
)
from playbooks.diagnosis.why import SessionCase, explain
from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, run_all
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from playbooks.results.failure_keys import Failure
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.support.library import playbook_of

pytestmark = pytest.mark.slow

HERE = partial(run_all, workers=1)
ISSUES = {issue.number: issue for issue in KNOWN_ISSUES}


def shown(number: str, release: str, expectation: str = "") -> Playbook:
    """The playbook of an issue under a release, with what its users expect instead of what it shows."""
    head, _found, _rest = playbook_of(ISSUES[number].playbook).source.partition("\nexpect:\n")
    source = f"{head}\nexpect: [{{{expectation}}}]\n" if expectation else f"{head}\n"
    return loads(apply_settings(source, {"cluster.kafka": release}), f"{number}.yaml")


def searched(playbook: Playbook, seeds: int = 2) -> IssueSearch:
    result = start_session(playbook).finish()
    seeds = 1 if playbook.spec.manual else seeds
    return search_issues(
        playbook, playbook.seed, result, failures_to_explain(result), run=HERE, seeds=seeds
    )  # fmt: skip


def numbers(search: IssueSearch) -> dict[str, list[str]]:
    return {key: [cause.issue.number for cause in causes] for key, causes in search.causes.items() if causes}


SEEN = (
    ("KAFKA-1211", "0.10.2", "0.11", "", "finding:lost/hw-truncation"),
    ("KAFKA-7128", "2.0.0", "2.0.1", "", "finding:lost/early-isr-join"),
    ("KAFKA-3197", "0.9", "0.10.0", "", "finding:reordered/retry-in-flight"),
    ("KAFKA-13598", "3.1.0", "3.1.1", "", "finding:duplicate/retry-without-idempotence"),
    ("KAFKA-6361", "1.1", "2.0", "", "violation:log-matching"),
    ("KAFKA-19522", "4.0", "4.1", "", "violation:isr-eligibility"),
    ("KAFKA-9752", "2.4", "2.5", "always: now() < 25s or owned(billing) == 2", "expectation:always: "),
    ("KAFKA-4682", "2.0", "2.1", "always: reread(billing) == 0", "expectation:always: "),
    ("KAFKA-16352", "3.7", "3.8", "end: longest_stall() < 20s", "expectation:longest_stall() < 20s"),
    ("KAFKA-17584", "3.8.0", "3.8.1", "end: log_start(orders-0) > 0", "expectation:log_start(orders-0) > 0"),
)

ALSO = {"KAFKA-3197": ("KAFKA-3388",)}
"""Issues whose fix alone prevents the same: that of KAFKA-3388 sends nothing more to a partition that retries."""


@pytest.mark.parametrize(("number", "affected", "_fixed", "expectation", "key"), SEEN)
def test_the_issue_is_named_where_the_release_has_it(
    number: str, affected: str, _fixed: str, expectation: str, key: str
) -> None:
    search = searched(shown(number, affected, expectation))
    found = {each: causes for each, causes in search.causes.items() if each.startswith(key)}
    assert numbers(replace(search, causes=found)) == {each: [number, *ALSO.get(number, ())] for each in found}
    assert found
    for cause in (cause for causes in found.values() for cause in causes):
        assert cause.seeds_gone == cause.seeds
        assert cause.upgrade in cause.issue.fixed
        assert cause.upgrade_removes


@pytest.mark.parametrize(("number", "_affected", "fixed", "expectation", "key"), SEEN)
def test_none_is_named_where_it_is_fixed(
    number: str, _affected: str, fixed: str, expectation: str, key: str
) -> None:  # fmt: skip
    search = searched(shown(number, fixed, expectation))
    assert not any(each.startswith(key) for each in search.causes)
    assert number not in [issue.number for issue in search.tried]


@pytest.mark.parametrize("release", ["0.9", "1.1", "2.0.0", "2.4"])
def test_a_tail_that_acks_1_loses_has_no_known_issue(release: str) -> None:
    search = searched(loads(TAIL.replace('kafka: "3.9"', f'kafka: "{release}"'), "tail.yaml"))
    lost = [key for key in search.causes if key.startswith("finding:lost/")]
    assert lost
    assert not any(search.causes[key] for key in lost)
    assert [issue.effect for issue in search.tried].count("durability") >= 2


def test_a_rule_that_the_playbook_switches_is_not_tried() -> None:
    playbook = shown("KAFKA-17584", "3.8.0", "end: log_start(orders-0) > 1000")
    assert "KAFKA-17584" in [issue.number for issue in searched(playbook).tried]
    source = apply_settings(playbook.source, {"cluster.rules.loses_units": "false"})
    assert "KAFKA-17584" not in [issue.number for issue in searched(loads(source, "off.yaml")).tried]


def test_issues_that_were_not_tried_are_listed_with_a_reason() -> None:
    search = searched(shown("KAFKA-13598", "3.1.0"))
    reasons = {issue.number: reason for issue, reason in search.left_out}
    assert reasons["KAFKA-17584"] == "other effect"
    assert reasons["KAFKA-14639"] == "no consumer groups"
    assert not {issue.number for issue in search.tried} & set(reasons)
    assert all(f"({reason})" in search_words(search) for reason in reasons.values())
    listed = {each["issue"]: each["reason"] for each in search.to_json()["not_tried"]}
    assert listed == reasons


def test_a_client_of_another_release_has_the_issues_of_its_own() -> None:
    setting = {"clients.producers.checkout.config.client.version": "3.1.0", "cluster.kafka": "3.9"}
    playbook = loads(apply_settings(shown("KAFKA-13598", "3.1.0").source, setting), "mixed.yaml")
    search = searched(playbook)
    assert numbers(search) == {"finding:duplicate/retry-without-idempotence": ["KAFKA-13598"]}
    tried = [issue.number for issue in search.tried]
    assert "KAFKA-14402" not in tried


def test_an_issue_that_hides_the_failure_by_chance_in_one_seed_is_not_named() -> None:
    """Without the bug the failure is gone in the session's own seed, and stays in both others."""
    playbook = shown("KAFKA-17584", "3.8.0", "end: log_start(orders-0) > 0")
    failing = start_session(playbook).finish()
    passing = start_session(shown("KAFKA-17584", "3.8.1", "end: log_start(orders-0) > 0")).finish()

    def run(jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        good = {"cluster.rules.loses_units": "false"}
        return [JobOutcome(job, passing if dict(job.settings) == good and not job.seed else failing) for job in jobs]

    def search(seeds: int) -> IssueSearch:
        return search_issues(playbook, 0, failing, failures_to_explain(failing), run=run, seeds=seeds)

    key = "expectation:log_start(orders-0) > 0"
    assert (numbers(search(1)), search(1).unconfirmed) == ({key: ["KAFKA-17584"]}, ())
    assert numbers(search(3)) == {}
    (doubtful,) = search(3).to_json()["unconfirmed"]
    assert doubtful == {
        "failure": key, "issue": "KAFKA-17584", "rule": "loses_units", "seeds_gone": 1, "seeds": 3,
    }  # fmt: skip
    assert "KAFKA-17584" in search_words(search(3)).rpartition(";")[2]


def test_an_upgrade_that_does_not_help_is_said_not_to() -> None:
    playbook = shown("KAFKA-17584", "3.8.0", "end: log_start(orders-0) > 0")
    failing = start_session(playbook).finish()
    passing = start_session(shown("KAFKA-17584", "3.8.1", "end: log_start(orders-0) > 0")).finish()

    def run(jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        return [JobOutcome(job, passing if "cluster.rules.loses_units" in job.settings else failing) for job in jobs]

    search = search_issues(playbook, 0, failing, failures_to_explain(failing), run=run)
    ((cause,),) = search.causes.values()
    assert (cause.upgrade, cause.upgrade_removes) == ("3.8.1", False)
    assert [each["removes"] for each in cause.to_json()["proven_by"]] == [True, False]


def test_the_failure_is_not_gone_if_another_cause_takes_its_place_or_the_run_has_no_verdict() -> None:
    lost = start_session(shown("KAFKA-7128", "2.0.0")).finish()
    clean = start_session(shown("KAFKA-7128", "2.0.1")).finish()
    failure = next(each for each in failures_to_explain(lost) if each.key.startswith("finding:lost/"))
    assert is_gone(failure, lost, clean)
    assert not is_gone(failure, lost, lost)
    assert not is_gone(failure, lost, None)
    assert not is_gone(failure, lost, replace(clean, reason="a step timed out"))
    other = tuple(replace(each, cause="min-isr-one") for each in lost.findings)
    assert not is_gone(failure, lost, replace(lost, findings=other))
    waiting = Failure(INCONCLUSIVE, "a step timed out")
    assert is_gone(waiting, replace(lost, reason=waiting.name), lost)
    assert failures_to_explain(replace(clean, reason=waiting.name))[-1] == waiting


def test_no_release_has_more_issues_than_are_tried() -> None:
    counts = {name: sum(name in issue.affected for issue in KNOWN_ISSUES) for name in ISSUES["KAFKA-14402"].affected}
    assert 0 < max(counts.values()) <= MOST


def test_the_document_has_issues_of_findings_and_of_other_failures() -> None:
    playbook = shown("KAFKA-6361", "1.1", "end: findings() == 0")
    case = SessionCase(playbook, playbook.seed)
    document = explain(case, case.run()).to_json()
    assert [finding["known_issues"] for finding in document["findings"]] == [[]]
    causes = {each["name"]: each["known_issues"] for each in document["failures"]}
    assert causes["findings() == 0"] == []
    (cause,) = causes["log-matching"]
    assert cause["issue"] == cause["playbook"].upper() == "KAFKA-6361"
    assert (cause["rule"], cause["fixed_in"]) == ("kip_279", ["2.0.0"])
    assert cause["proven_by"] == [
        {"set": ["cluster.rules.kip_279=true"], "removes": True, "seeds_gone": 1, "seeds": 1},
        {"set": ["cluster.kafka=2.0.0"], "removes": True, "seeds_gone": 1, "seeds": 1},
    ]
    assert "KAFKA-6361" in document["known_issues"]["tried"]


def test_only_the_issues_of_the_selected_finding_are_searched() -> None:
    playbook = shown("KAFKA-13598", "3.1.0", "end: duplicates() == 0")
    case = SessionCase(playbook, playbook.seed)
    why = explain(case, case.run(), number=1, seeds=1)
    assert [[cause.issue.number for cause in each.issues] for each in why.explained] == [["KAFKA-13598"]]
    assert why.failures == ()


@pytest.mark.parametrize("known", KNOWN_ISSUES, ids=list(ISSUES))
def test_its_words_have_the_releases_with_a_fix(known: KnownIssue) -> None:
    words = " ".join(text for _label, text in issue_words(CausingIssue(known, 1, 1)))
    assert all(name in words for name in (known.number, known.playbook, *known.fixed))
