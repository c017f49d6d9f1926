"""Each known issue is seen where a release has it and not where it is fixed; its rule alone makes the difference."""

import re

import pytest

from cluster_model.fidelity import AREAS
from cluster_model.known_issues import EFFECTS, KNOWN_ISSUES, UNMODELLED, KnownIssue
from cluster_model.protocol.releases import RELEASES, line_of, number_of, releases_between
from cluster_model.protocol.versions import FLAG_BY_NAME, modes_of
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.library.index import TAGS
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from tests.support.breadth import EVENING
from tests.support.library import playbook_of

NAMES = [each.number for each in KNOWN_ISSUES]
BY_NAME = {each.number: each for each in KNOWN_ISSUES}
PASSED = ("pass", list[str](), "")


SHOWN_SINCE = {
    "KAFKA-12983": "2.5",
    "KAFKA-13194": "2.5",
    "KAFKA-14139": "3.3",  # an answer to AlterPartition that comes late, in KRaft mode
    "KAFKA-14372": "3.1",
    "KAFKA-14402": "2.1",  # delivery.timeout.ms of its producer
}
"""Issue → the first affected release that its playbook fits; in older ones its numbers or settings differ."""
HIDDEN = {"KAFKA-14639": ("3.2.0",)}
"""Issue → affected releases in which another issue hides it: KAFKA-14024."""


def sides(issue: KnownIssue) -> tuple[list[str], list[str]]:
    """Affected and fixed releases under which its playbook is run: those that it names, in the evening all."""
    named = RELEASES if EVENING else releases_of(issue)
    first = number_of(SHOWN_SINCE.get(issue.number, RELEASES[0]))
    hidden = HIDDEN.get(issue.number, ())
    affected = [name for name in named if name in issue.affected and number_of(name) >= first and name not in hidden]
    since = number_of(affected[0]) if affected else ()
    return affected, [
        name for name in named if name not in issue.affected and number_of(name) > since and has(issue, name)
    ]


def between(first: str, last: str = "") -> tuple[str, ...]:
    """Releases of a range as in a playbook: ``3.6-3.9.1``, or one alone."""
    return releases_between(first, last or first)


def releases_of(issue: KnownIssue) -> tuple[str, ...]:
    """Releases that its playbook names: those of the cluster, or those that brokers are upgraded to."""
    if issue.in_upgrades:
        return (*issue.affected, *issue.fixed)
    return playbook_of(issue.playbook).profiles


def has(issue: KnownIssue, release: str) -> bool:
    """Whether a release is new enough for the playbook, not older than the oldest that it names, and has its mode."""
    new_enough = number_of(release) >= min(map(number_of, releases_of(issue)))
    return new_enough and (issue.mode is None or issue.mode in modes_of(release))


def outcome(issue: KnownIssue, release: str, **rules: bool) -> tuple[str, list[str], str]:
    """The verdict of a run, the expectations that did not hold, and the verdict's reason."""
    settings = {issue.setting: release} | {f"cluster.rules.{name}": str(on).lower() for name, on in rules.items()}
    source = apply_settings(playbook_of(issue.playbook).source, settings)
    result = start_session(loads(source, issue.playbook)).finish()
    wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
    return result.verdict, wrong, result.reason


@pytest.mark.slow
@pytest.mark.parametrize("number", NAMES)
def test_it_is_seen_where_a_release_has_it_and_not_where_it_is_fixed(number: str) -> None:
    issue = BY_NAME[number]
    affected, fixed = sides(issue)
    assert affected
    assert fixed
    for release in (*affected, *fixed):
        assert (release, outcome(issue, release)) == (release, PASSED)


@pytest.mark.slow
@pytest.mark.parametrize("number", NAMES)
def test_its_rule_alone_makes_the_difference(number: str) -> None:
    """With the rule switched an affected release does not show it."""
    issue = BY_NAME[number]
    release = sides(issue)[0][-1]
    verdict, wrong, _reason = outcome(issue, release, **{issue.rule: issue.since is not None})
    assert verdict == "fail"
    assert wrong


@pytest.mark.parametrize("number", NAMES)
def test_its_playbook_describes_itself(number: str) -> None:
    playbook = playbook_of(BY_NAME[number].playbook)
    assert playbook.name == number.lower()
    assert len(playbook.title) <= 110
    assert len(re.findall(r"[.:](?:\s|$)", playbook.story)) >= 2
    assert number in " ".join(playbook.origins)
    assert [tag for tag in playbook.tags if tag not in TAGS] == []
    assert playbook.spec.kafka in playbook.profiles


def test_every_bundled_playbook_of_an_issue_has_its_entry() -> None:
    assert list(bundled.issue_names()) == [each.playbook for each in KNOWN_ISSUES]


@pytest.mark.parametrize("issue", KNOWN_ISSUES, ids=NAMES)
def test_an_entry_says_everything(issue: KnownIssue) -> None:
    assert re.fullmatch(r"KAFKA-\d+", issue.number)
    assert issue.effect in EFFECTS
    assert not issue.title.endswith(".")
    assert issue.seen.endswith(".")
    assert issue.workaround.endswith(".")
    assert issue.number in FLAG_BY_NAME[issue.rule].meaning
    assert issue.affected
    assert any(issue.rule in area.flags for area in AREAS)


def test_unmodelled_issues_have_a_reason_and_known_releases() -> None:
    numbers = [each.number for each in UNMODELLED]
    assert len({*numbers, *NAMES}) == len(numbers) + len(NAMES)
    for each in UNMODELLED:
        assert each.reason
        affected = {name for part in each.affected.split(", ") for name in between(*part.split("-"))}
        assert affected
        assert not affected & {name for name in each.fixed.split(", ") if line_of(name)}, each.number
