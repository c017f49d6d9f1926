"""Settings of the consumer protocol, the broker's and the client's (KIP-848)."""

from dataclasses import fields

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.assignors.base import NEWEST_SERVER_RULES
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroupConfig
from cluster_model.protocol.config_defs import ConfigValue, check
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile

SECOND = 1_000_000


def test_a_member_by_the_consumer_protocol_has_what_is_that_protocols() -> None:
    config: dict[str, ConfigValue] = {"group.protocol": "consumer", "group.remote.assignor": "range"}
    before, after = (GroupSettings.of(Profile.of("4.1"), each) for each in ({}, config))
    changed = {f.name for f in fields(GroupSettings) if getattr(before, f.name) != getattr(after, f.name)}
    assert changed == {"consumer_protocol", "remote_assignor", "version"}
    assert (after.consumer_protocol, after.remote_assignor, after.version) == (True, "range", 1)
    assert GroupSettings.of(Profile.of("3.7"), config).version == 0
    assert not before.consumer_protocol


MODERN_FIELDS: dict[str, tuple[ConfigValue, str, int | bool | tuple[str, ...]]] = {
    "group.coordinator.rebalance.protocols": ("classic", "enabled", False),
    "group.consumer.session.timeout.ms": (7, "session_us", 7_000),
    "group.consumer.heartbeat.interval.ms": (7, "heartbeat_us", 7_000),
    "group.consumer.max.size": (7, "max_size", 7),
    "group.consumer.assignors": ("range, uniform", "assignors", ("range", "uniform")),
    "offsets.commit.timeout.ms": (7, "write_timeout_us", 7_000),
}


@pytest.mark.parametrize("name", MODERN_FIELDS)
def test_a_setting_of_the_consumer_protocol_changes_its_own_field(name: str) -> None:
    value, field, expected = MODERN_FIELDS[name]
    profile = Profile.of("4.1")
    before, after = (
        ConsumerGroupConfig.of(profile, {}),
        ConsumerGroupConfig.of(profile, {name: check("broker", name, value)}),
    )
    changed = {f.name for f in fields(ConsumerGroupConfig) if getattr(before, f.name) != getattr(after, f.name)}
    assert (changed, getattr(after, field)) == ({field}, expected)


def test_the_consumer_protocols_defaults() -> None:
    assert ConsumerGroupConfig.of(Profile.of("4.0"), {}) == ConsumerGroupConfig(
        enabled=True, session_us=45 * SECOND, heartbeat_us=5 * SECOND, max_size=2**31 - 1,
        assignors=("uniform", "range"), assignor_rules=NEWEST_SERVER_RULES, fences_rejoins=True,
        assignment_epochs=False, assignment_interval_us=0, first_epoch=0, timed_assignments=False,
        bumps_revoking=True, assigns_by_new_assignor=False, ends_empty=False,
        write_timeout_us=5 * SECOND,
    )  # fmt: skip
    newest = ConsumerGroupConfig.of(Profile.of("4.4"), {})
    assert (newest.assignment_interval_us, newest.first_epoch, newest.timed_assignments) == (SECOND, 1, True)
    assert not ConsumerGroupConfig.of(Profile.of("3.9"), {}).enabled


@pytest.mark.parametrize("value", ["consumer", "classic,new", "", "classic consumer"])
def test_the_classic_protocol_is_always_there(value: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("broker", "group.coordinator.rebalance.protocols", value)
    assert caught.value.code == "wrong_form"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("kafka", "mode", "config", "code"),
    [
        ("3.6", "kraft", {"group.protocol": "consumer"}, "not_in_version"),
        ("3.9", "zookeeper", {"group.protocol": "consumer"}, "not_in_version"),
        ("4.0", "kraft", {"group.protocol": "consumer", "session.timeout.ms": 9_000}, "other_protocol"),
        ("4.0", "kraft", {"group.protocol": "consumer", "heartbeat.interval.ms": 9}, "other_protocol"),
        ("4.0", "kraft", {"group.protocol": "consumer", "partition.assignment.strategy": "range"}, "other_protocol"),
        ("4.0", "kraft", {"group.remote.assignor": "range"}, "other_protocol"),
    ],
)
def test_group_settings_unsupported_by_version_or_protocol_are_rejected(
    kafka: str, mode: str, config: dict[str, ConfigValue], code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ModelError) as caught:
        GroupSettings.of(Profile.of(kafka, mode), config)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
