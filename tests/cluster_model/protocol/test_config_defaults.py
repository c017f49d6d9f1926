"""The table of defaults by release: those of 0.8.2, and what a release lacks.

Those of later releases are compared with Kafka's ``ConfigDef`` objects in ``tests/real_kafka/vectors``.
"""

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
from cluster_model.protocol.releases import RELEASE_LINES, parse_version
from tests.cluster_model.protocol.defaults_of_0_8_2 import DEFAULTS_OF_0_8_2

ROOT: Final = Path(__file__).parents[3]
COORDINATED: Final = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
"""Read by names that are put together: of either internal topic."""


def written(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("scope", list(DEFAULTS_OF_0_8_2))
def test_every_default_of_0_8_2_is_kafkas(scope: DefaultScope) -> None:
    ours = defaults_of(scope, parse_version("0.8.2"))
    assert {name: written(value) for name, value in ours.items() if name != "client.version"} == (
        DEFAULTS_OF_0_8_2[scope]
    )


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
            assert first.source or first.since == RELEASE_LINES[0], (scope, entry.name)
            assert all(each.source for each in later), (scope, entry.name)
            assert bool(entry.until) == bool(entry.removed_by), (scope, entry.name)
            numbers = [parse_version(each.since) for each in entry.defaults]
            assert numbers == sorted(set(numbers)), (scope, entry.name)
            assert {each.since for each in entry.defaults} <= set(RELEASE_LINES)


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
            check_release(scope, entry.name, parse_version(entry.until or RELEASE_LINES[-1]))


def test_configured_values_apply_if_the_release_has_the_key() -> None:
    new, old = (
        EffectiveConfig("consumer", parse_version(kafka), {"max.poll.records": 7}) for kafka in ("0.10.0", "0.9")
    )
    assert (new.number("max.poll.records"), old.number("max.poll.records")) == (7, (1 << 31) - 1)
    assert not old.exists("max.poll.records")


def test_a_config_without_default_has_no_number() -> None:
    with pytest.raises(LookupError):
        EffectiveConfig("consumer", parse_version("1.1"), {}).number("default.api.timeout.ms")
