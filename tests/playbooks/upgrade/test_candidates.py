"""Changes that can be made alone: which there are for a playbook, and the settings that make and undo them."""

import pytest

from playbooks.parser.loader import loads
from playbooks.release_changes import DefaultChange, changes_between
from playbooks.upgrade.candidates import CONTROLLER_MODE, TriedChange, candidates, release_settings
from playbooks.upgrade.compared_run import ComparedRunJob

PLAYBOOK = """floodmark: 1
name: bare
cluster: {kafka: "%s", brokers: 3%s}
topics: [{name: orders, replication: 3}, {name: copies, replication: 3}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s%s}]
  groups: [{name: billing, topics: [orders], processing: 1ms, commit: sync, to: copies%s}]
steps: [{at: 5s, inject: crash, target: leader(orders-0), for: 30s}]
"""


def found(before: str, after: str, *parts: str, kafka: str = "3.6") -> dict[str, TriedChange]:
    text = PLAYBOOK % (kafka, *(parts or ("", "", "")))
    return {each.name: each for each in candidates(loads(text, "bare.yaml"), changes_between(before, after))}


def test_a_rule_is_as_in_the_other_release() -> None:
    rule = found("3.6.0", "4.4.0")["rule elr"]
    assert rule.apply == (("cluster.rules.elr", "true"),)
    assert rule.revert == (("cluster.rules.elr", "false"),)
    assert rule.rule == "elr"


def test_a_rule_that_the_playbook_switches_is_no_change() -> None:
    own = found("3.6.0", "4.4.0", ", rules: {elr: false}", "", "")
    assert "rule elr" not in own
    assert "rule pre_vote" in own


def test_a_default_of_producers_is_that_of_outputs_too() -> None:
    assert found("3.6.0", "4.4.0")["default of linger.ms"].apply == (
        ("clients.producers.checkout.config.linger.ms", "5"),
        ("clients.groups.billing.to_config.linger.ms", "5"),
    )


def test_a_client_that_sets_it_or_has_a_release_of_its_own_is_left_alone() -> None:
    parts = ("", ", config: {linger.ms: 1}", ", to_config: {client.version: '3.6'}")
    assert "default of linger.ms" not in found("3.6.0", "4.4.0", *parts)


def test_rules_of_clients_are_not_switched_for_a_client_of_another_release() -> None:
    pinned = found("3.6.0", "4.4.0", "", ", config: {client.version: '3.6'}", "")
    assert "rule elr" in pinned
    assert "rule skips_backoff" not in pinned
    assert "rule skips_backoff" in found("3.6.0", "4.4.0")


def test_a_new_configuration_can_only_be_undone() -> None:
    backoff = found("3.6.0", "4.4.0", "", ", config: {retry.backoff.ms: 70}", "")["default of retry.backoff.max.ms"]
    assert backoff.apply == ()
    assert backoff.revert == (
        ("clients.producers.checkout.config.retry.backoff.max.ms", "70"),
        ("clients.groups.billing.to_config.retry.backoff.max.ms", "100"),
    )


def test_a_default_of_topics_is_tried_once_with_that_of_brokers() -> None:
    names = found("3.6.0", "4.4.0")
    assert "default of log.message.timestamp.after.max.ms" in names
    assert "default of message.timestamp.after.max.ms" not in names


def test_a_default_of_topics_alone_is_set_on_each_topic() -> None:
    changes = changes_between("3.6", "3.6.2")
    only = DefaultChange(("topic",), "retention.ms", "1000", "2000")
    object.__setattr__(changes, "defaults", (only,))
    (change,) = candidates(loads(PLAYBOOK % ("3.6", "", "", ""), "bare.yaml"), changes)
    assert change.apply == (
        ("topics.orders.config.retention.ms", "2000"),
        ("topics.copies.config.retention.ms", "2000"),
    )


@pytest.mark.parametrize(
    ("kafka", "before", "after", "apply", "revert"),
    [
        ("3.2", "3.2", "4.4", (), ()), ("3.2", "3.6", "4.4", (("cluster.mode", "kraft"),), ()),
        ("4.4", "3.2", "3.6", (), (("cluster.mode", "zookeeper"),)), ("3.2", "3.2", "3.6", None, None),
        ("4.4", "3.6", "4.4", None, None),
    ],
    ids=["no release has both", "the first has both", "the second has both", "kept zookeeper", "kept kraft"],
)  # fmt: skip
def test_the_controller_mode_is_a_change(kafka: str, before: str, after: str, apply: object, revert: object) -> None:
    mode = found(before, after, kafka=kafka).get(CONTROLLER_MODE)
    assert (None if mode is None else mode.apply, None if mode is None else mode.revert) == (apply, revert)


def test_a_release_keeps_the_mode_of_the_playbook_if_it_can() -> None:
    playbook = loads(PLAYBOOK % ("3.2", "", "", ""), "bare.yaml")
    assert release_settings(playbook, "3.6.0") == {"cluster.kafka": "3.6.0", "cluster.mode": "zookeeper"}
    assert release_settings(playbook, "4.4")["cluster.mode"] == "kraft"


def test_every_change_is_a_valid_setting() -> None:
    before, after = "3.6.0", "4.4.0"
    playbook = loads(PLAYBOOK % ("3.6", "", "", ""), "bare.yaml")
    changes = candidates(playbook, changes_between(before, after))
    assert changes
    for change in changes:
        for release, settings in ((before, change.apply), (after, change.revert)):
            loaded = ComparedRunJob.of(playbook, release_settings(playbook, release) | dict(settings)).load()
            assert loaded.spec.kafka == release, change
