"""Playbooks under two releases: which outcomes differ, and which single change makes each difference."""

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.upgrade import (
    UpgradeError,
    UpgradeProgress,
    assess,
    assessment_json,
    assessment_markdown,
    suitable,
)
from playbooks.upgrade.compared_run import differs
from tests.support.library import playbook_of

pytestmark = pytest.mark.slow

DEFAULTS = """floodmark: 1
name: defaults
profiles: 2.8-3.0
cluster: {kafka: "2.8", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s}]
steps:
  - {at: 5s, inject: partition, target: leader(orders-0), to: followers(orders-0)}
  - {at: 7s, inject: crash, target: leader(orders-0), for: 30s}
expect: [acked(checkout) > 100]
"""


def defaults(text: str = DEFAULTS) -> Playbook:
    return loads(text, "defaults.yaml")


def test_a_known_issue_that_makes_the_difference_is_named() -> None:
    found = assess([playbook_of("kafka-19522")], "4.0.2", "4.1.0", workers=1)
    assert [issue.number for issue in found.changes.fixed] == ["KAFKA-19522"]
    (only,) = found.playbooks
    assert {name: (cause.how, [each.issue for each in cause.changes]) for name, cause in only.causes.items()} == {
        "violated isr-eligibility": ("alone", ["KAFKA-19522"])
    }
    assert (only.before["violated"], only.after["violated"]) == ("isr-eligibility", "")


def test_a_default_that_makes_the_difference_is_named() -> None:
    (only,) = assess([defaults()], "2.8", "3.0", workers=1).playbooks
    assert only.before["acked_lost"] == 40
    assert only.after["acked_lost"] == 0
    cause = only.causes["acked_lost"]
    assert cause.how == "alone"
    assert [each.name for each in cause.changes] == ["default of acks", "default of enable.idempotence"]
    assert dict(cause.changes[0].apply) == {"clients.producers.checkout.config.acks": "all"}


CONTROLLERS = """floodmark: 1
name: controllers
cluster: {kafka: "2.8", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s}]
steps:
  - {at: 5s, inject: crash, target: leader(orders-0), for: 30s}
settle: 5s
expect: [acked(checkout) > 100]
"""


def test_a_controller_mode_that_makes_the_difference_is_named() -> None:
    (only,) = assess([defaults(CONTROLLERS)], "3.6.0", "4.4.0", workers=1).playbooks
    cause = only.causes["unavailable_us"]
    assert (cause.how, [each.name for each in cause.changes]) == ("alone", ["controller mode"])
    assert cause.changes[0].apply == (("cluster.mode", "kraft"),)


def test_explicit_client_configs_are_not_changed_defaults() -> None:
    text = DEFAULTS.replace("rate: 20/s", "rate: 20/s, config: {acks: 1}")
    (only,) = assess([defaults(text)], "2.8", "3.0", workers=1).playbooks
    assert not only.differs


def test_the_same_release_makes_no_difference() -> None:
    found = assess([defaults()], "2.8", "2.8.2", workers=1)
    assert not found.playbooks[0].differs
    assert (found.changes.fixed, found.changes.new_rules, found.changes.defaults) == ((), (), ())


def test_processes_make_no_difference() -> None:
    worse = defaults(DEFAULTS.replace("name: defaults", "name: worse").replace("at: 7s", "at: 6s"))
    one, two = (assess([defaults(), worse], "2.8", "3.0", workers=each) for each in (1, 2))
    assert assessment_json(one) == assessment_json(two)


def test_a_playbook_that_a_release_cannot_run_is_refused() -> None:
    text = DEFAULTS.replace("rate: 20/s", "rate: 20/s, config: {transactional.id: t}")
    with pytest.raises(UpgradeError, match=r"^defaults under Kafka 0\.10\.2: "):
        assess([defaults(text)], "0.10.2", "2.8", workers=1)


def test_progress_counts_playbooks_and_runs() -> None:
    seen: list[UpgradeProgress] = []
    assess([defaults()], "2.8", "2.8.2", workers=1, on_progress=seen.append)
    assert [(each.compared, each.playbooks, each.different) for each in seen] == [(0, 1, 0), (1, 1, 0)]
    seen.clear()
    found = assess([defaults()], "2.8", "3.0", workers=1, on_progress=seen.append)
    assert (seen[-1].different, seen[-1].tries) == (1, found.playbooks[0].tries)


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        ("verdict", "pass", "fail", True), ("verdict", "pass", "pass", False), ("acked_lost", 0, 1, True),
        ("rejected", 100, 91, False), ("rejected", 100, 89, True), ("unavailable_us", 0, 900_000, False),
        ("unavailable_us", 0, 1_000_000, True), ("unavailable_us", 90_000_000, 91_500_000, False),
    ],
)  # fmt: skip
def test_small_differences_are_chance(name: str, old: int | str, new: int | str, found: bool) -> None:
    assert differs(name, old, new) is found


def test_a_playbook_is_suitable_for_the_releases_that_it_names() -> None:
    assert suitable(defaults(), "2.8.0", "3.0")
    assert not suitable(defaults(), "2.8", "3.1")
    assert suitable(playbook_of("kafka-19522"), "4.0", "4.1.0")


def test_as_markdown_it_has_a_table_of_each_difference(snapshot: SnapshotAssertion) -> None:
    text = assessment_markdown(assess([playbook_of("kafka-19522"), defaults()], "4.0.2", "4.1.0", workers=1))
    assert text == snapshot
