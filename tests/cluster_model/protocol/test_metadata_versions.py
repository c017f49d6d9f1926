"""Levels of the protocol between nodes, against Kafka's ApiVersion and MetadataVersion."""

import pytest

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.features import CHANGED_METADATA, ELR_NEEDS, LOWEST_BOOTSTRAP_LEVEL
from cluster_model.protocol.metadata_versions import METADATA_VERSIONS, is_at_least, latest_of, metadata_version
from cluster_model.protocol.releases import PATCHES, RELEASE_LINES

LATEST = [
    ("0.8.2", "0.8.2", 0), ("0.9", "0.9.0", 0), ("0.10.0", "0.10.0-IV1", 0), ("0.10.1", "0.10.1-IV2", 0),
    ("0.10.2", "0.10.2-IV0", 0), ("0.11", "0.11.0-IV2", 0), ("1.0", "1.0-IV0", 0), ("1.1", "1.1-IV0", 0),
    ("2.0", "2.0-IV1", 0), ("2.1", "2.1-IV2", 0), ("2.2", "2.2-IV1", 0), ("2.3", "2.3-IV1", 0), ("2.4", "2.4-IV1", 0),
    ("2.5", "2.5-IV0", 0), ("2.6", "2.6-IV0", 0), ("2.7", "2.7-IV2", 0), ("2.8", "2.8-IV1", 0), ("3.0", "3.0-IV1", 1),
    ("3.1", "3.1-IV0", 2), ("3.2", "3.2-IV0", 3), ("3.3", "3.3-IV3", 7), ("3.4", "3.4-IV0", 8), ("3.5", "3.5-IV2", 11),
    ("3.6", "3.6-IV2", 14), ("3.7", "3.7-IV4", 19), ("3.8", "3.8-IV0", 20), ("3.9", "3.9-IV0", 21),
    ("4.0", "4.0-IV3", 25), ("4.1", "4.1-IV1", 27), ("4.2", "4.2-IV1", 29), ("4.3", "4.3-IV0", 30),
    ("4.4", "4.4-IV2", 33),
]  # fmt: skip
"""(line, its newest level, number of that), from the last source of each line."""


@pytest.mark.parametrize(("line", "name", "number"), LATEST)
def test_the_newest_level_of_a_line(line: str, name: str, number: int) -> None:
    latest = latest_of(line)
    assert (latest.name, latest.number) == (name, number)
    assert {latest_of(patch) for patch in PATCHES[line]} == {latest}


def test_every_line_has_a_newest_level() -> None:
    assert [line for line, _, _ in LATEST] == list(RELEASE_LINES)


def test_levels_are_in_the_order_of_releases() -> None:
    assert [version.order for version in METADATA_VERSIONS] == list(range(len(METADATA_VERSIONS)))
    newest = [latest_of(line).order for line in RELEASE_LINES]
    assert newest == sorted(set(newest))


def test_numbers_of_kraft_mode_are_consecutive() -> None:
    numbers = [version.number for version in METADATA_VERSIONS]
    assert [number for number in numbers if number] == list(range(1, 34))
    assert metadata_version("3.0-IV0").number == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3.9", "3.9-IV0"),
        ("3.9.1", "3.9-IV0"),
        ("3.9-IV0", "3.9-IV0"),
        ("21", "3.9-IV0"),
        ("1", "3.0-IV1"),
        ("3.7", "3.7-IV4"),
        ("3.7-IV2", "3.7-IV2"),
        ("0.11.0", "0.11.0-IV2"),
        ("0.11.0.1", "0.11.0-IV2"),
        ("0.10.1-IV1", "0.10.1-IV1"),
        ("0.9.0.1", "0.9.0"),
    ],
)
def test_a_level_is_named_in_kafkas_ways(text: str, name: str) -> None:
    assert metadata_version(text).name == name


@pytest.mark.parametrize("text", ["", "4.5", "3.9-IV1", "0", "34", "0.11", "2.7-IV3", "trunk"])
def test_an_unknown_level_is_refused(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        metadata_version(text)
    assert caught.value.code == "no_level"


def test_a_level_is_compared_with_another() -> None:
    old, new = metadata_version("2.7-IV1"), metadata_version("2.7-IV2")
    assert is_at_least(new, old)
    assert is_at_least(new, new)
    assert not is_at_least(old, new)
    assert not is_at_least(metadata_version("0.9.0"), metadata_version("0.10.0-IV0"))


def test_levels_that_features_name() -> None:
    named = {version.number: version.name for version in METADATA_VERSIONS}
    assert named[LOWEST_BOOTSTRAP_LEVEL] == "3.3-IV0"
    assert named[ELR_NEEDS] == "4.0-IV1"
    assert set(CHANGED_METADATA) < set(named)
