"""The table of defaults by release: held against Kafka's own ``ConfigDef`` objects, and what a release lacks."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol import config_defs
from cluster_model.protocol.config_defaults import (
    COARSER_UNITS,
    DEFAULTS,
    TOPIC_SYNONYMS,
    DefaultScope,
    EffectiveConfig,
    check_release,
    defaults_of,
)
from cluster_model.protocol.config_defs import SCOPES, ConfigKey, Scope
from cluster_model.protocol.errors import ConfigConflictError
from cluster_model.protocol.versions import ELR_FEATURE, PROFILE_VERSIONS, TRANSACTION_FEATURE, parse_version

ROOT: Final = Path(__file__).parents[3]
FILE: Final = Path(__file__).parent / "kafka_config_defs" / "defaults.json"
COORDINATED: Final = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
"""Read by names that are put together: of either internal topic."""

NOT_IN_CONFIG_DEFS: Final = {"client.version", ELR_FEATURE, TRANSACTION_FEATURE}
"""Of the model alone, and levels of features (``Feature``)."""

CLASSES: Final = (
    "class ", "org.apache.kafka.clients.consumer.", "org.apache.kafka.clients.producer.internals.",
    "org.apache.kafka.coordinator.group.assignor.",
)  # fmt: skip
"""What the names of classes begin with."""
ASSIGNORS: Final = {"UniformAssignor": "uniform", "RangeAssignor": "range"}
"""Assignors of brokers by their names: the table has those, and not their classes."""


@cache
def of_kafka() -> dict[str, dict[str, list[tuple[str, str | None]]]]:
    table: dict[str, dict[str, list[tuple[str, str | None]]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def as_the_table_has_it(name: str, text: str | None) -> str | None:
    """A default as Java prints it: lists lose their brackets, classes their packages."""
    if text is None:
        return None
    listed = text[1:-1].split(", ") if text.startswith("[") else [text]
    for prefix in CLASSES:
        listed = [each.removeprefix(prefix) for each in listed]
    if name == "group.consumer.assignors":
        listed = [ASSIGNORS.get(each, each) for each in listed]
    return ",".join(listed)


def written(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("scope", list(DEFAULTS))
def test_every_default_is_the_one_of_kafkas_config_def(scope: DefaultScope) -> None:
    """In every release line, and none is there that Kafka does not have."""
    told: dict[str, str | None] = {}
    for line in PROFILE_VERSIONS:
        ours = defaults_of(scope, parse_version(line))
        for name, changes in of_kafka()[scope].items():
            told[name] = dict(changes).get(line, told.get(name))
            if name not in NOT_IN_CONFIG_DEFS:
                found = written(ours[name]) if name in ours else None
                assert found == as_the_table_has_it(name, told[name]), (line, name)


@pytest.mark.parametrize("scope", list(DEFAULTS))
def test_no_configuration_is_left_out_of_the_comparison(scope: DefaultScope) -> None:
    assert [name for name in DEFAULTS[scope] if name not in of_kafka()[scope]] == [], (
        f"add its defaults in each release to {FILE.relative_to(ROOT)}; its package says how they are read from Kafka"
    )


def test_the_releases_compared_are_all_that_can_be_run() -> None:
    releases = of_kafka()["releases"]
    assert list(releases) == list(PROFILE_VERSIONS), f"{FILE.relative_to(ROOT)} is made anew as its package says"


def unread(scope: Scope, text: str) -> list[str]:
    """Configurations of a scope that ``text`` names neither as they are, nor by a constant, nor under a topic's."""
    constants = {value: name for name, value in vars(config_defs).items() if isinstance(value, str)}
    beneath = {*TOPIC_SYNONYMS.values(), *(name for each in COARSER_UNITS.values() for name, _unit in each)}
    words = set(re.findall(r"\w+", text))
    return [
        name
        for name in SCOPES[scope]
        if f'"{name}"' not in text
        and constants.get(name) not in words
        and not (scope == "broker" and name in {*beneath, *COORDINATED})
    ]


@cache
def model() -> str:
    """The source of the model without the declarations of configurations."""
    declared = ("config_defs.py", "config_defaults.py")
    paths = [path for path in (ROOT / "cluster_model").rglob("*.py") if path.name not in declared]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("scope", list(SCOPES))
def test_every_configuration_that_can_be_set_is_read(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that changes nothing would be accepted and have no effect."""
    assert unread(scope, model()) == []
    monkeypatch.setitem(SCOPES[scope], "read.by.nothing", ConfigKey("read.by.nothing", "int", "Nothing."))
    assert unread(scope, model()) == ["read.by.nothing"]


def test_every_configuration_that_can_be_set_has_its_defaults() -> None:
    for scope, keys in SCOPES.items():
        assert set(keys) <= set(DEFAULTS[scope]), scope


def test_every_change_and_every_arrival_has_its_source() -> None:
    for scope, entries in DEFAULTS.items():
        for entry in entries.values():
            first, *later = entry.defaults
            assert first.source or first.since == PROFILE_VERSIONS[0], (scope, entry.name)
            assert all(each.source for each in later), (scope, entry.name)
            assert bool(entry.until) == bool(entry.removed_by), (scope, entry.name)
            numbers = [parse_version(each.since) for each in entry.defaults]
            assert numbers == sorted(set(numbers)), (scope, entry.name)
            assert {each.since for each in entry.defaults} <= set(PROFILE_VERSIONS)


@pytest.mark.parametrize(
    ("scope", "name", "kafka"),
    [
        ("broker", "broker.session.timeout.ms", "2.7"),
        ("broker", "zookeeper.session.timeout.ms", "4.0"),
        ("broker", "replica.lag.max.messages", "0.9"),
        ("topic", "message.timestamp.after.max.ms", "3.5"),
        ("topic", "message.timestamp.difference.max.ms", "4.0"),
        ("producer", "delivery.timeout.ms", "2.0"),
        ("producer", "request.timeout.ms", "0.8.2"),
        ("consumer", "default.api.timeout.ms", "1.1"),
        ("consumer", "max.poll.records", "0.9"),
    ],
)
def test_a_configuration_that_a_release_lacks_is_refused(
    scope: DefaultScope, name: str, kafka: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ConfigConflictError) as caught:
        check_release(scope, name, parse_version(kafka))
    assert (caught.value.code, caught.value.key) == ("not_in_version", name)
    assert {name, kafka} <= set(str(caught.value).replace(",", "").replace(";", "").split())
    assert str(caught.value) == snapshot


def test_a_release_that_has_it_takes_it() -> None:
    for scope, entries in DEFAULTS.items():
        for entry in entries.values():
            check_release(scope, entry.name, parse_version(entry.since))
            check_release(scope, entry.name, parse_version(entry.until or PROFILE_VERSIONS[-1]))


def test_what_is_given_counts_where_the_release_has_it() -> None:
    new, old = (
        EffectiveConfig("consumer", parse_version(kafka), {"max.poll.records": 7}) for kafka in ("0.10.0", "0.9")
    )
    assert (new.number("max.poll.records"), old.number("max.poll.records")) == (7, (1 << 31) - 1)
    assert not old.exists("max.poll.records")


def test_a_number_that_nothing_stands_for_is_not_guessed() -> None:
    with pytest.raises(LookupError):
        EffectiveConfig("consumer", parse_version("1.1"), {}).number("default.api.timeout.ms")
