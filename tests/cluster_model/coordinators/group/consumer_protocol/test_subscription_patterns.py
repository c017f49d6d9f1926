"""A coordinator compiles and matches the regular expressions of members with the compiler of its cluster."""

import pytest

from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    PatternError,
    PatternMatcher,
    compile_python_pattern,
    compiles,
)
from cluster_model.protocol.errors import KafkaError
from tests.cluster_model.coordinators.group.consumer_protocol.consumer_group_driver import ConsumerGroupDriver


def prefix(pattern: str) -> PatternMatcher:
    if pattern.endswith("!"):
        raise PatternError("no prefix")
    return lambda name: name.startswith(pattern)


def test_the_whole_of_a_name_matches() -> None:
    matches = compile_python_pattern("o.*|a")
    assert [name for name in ("orders", "a", "ab", "no", "") if matches(name)] == ["orders", "a"]


@pytest.mark.parametrize("pattern", ["o[", "*", "a{99999999999999999999}", "(" * 5_000])
def test_invalid_python_patterns_are_rejected_with_a_reason(pattern: str) -> None:
    with pytest.raises(PatternError, match=r".{5,}"):
        compile_python_pattern(pattern)
    assert not compiles(pattern, compile_python_pattern)


def test_the_coordinator_uses_the_given_pattern_compiler() -> None:
    driver = ConsumerGroupDriver({"t": 1, "topic": 1, "u": 1, "__consumer_offsets": 1}, prefix)
    assert driver.join("m", topics=(), pattern="t!", version=1).error == KafkaError.INVALID_REGULAR_EXPRESSION
    driver.join("m", topics=(), pattern="t", version=1)
    assert driver.owned["m"] == ("t-0", "topic-0")
    driver.heartbeat("m", pattern="_", version=1)
    assert driver.group.topics == ()
