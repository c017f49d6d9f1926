"""The worked traces come out the same in every process, under every hash seed, and one step at a time."""

from functools import cache

import pytest

from tests.cluster_model.tracing import CASES
from tests.determinism.elsewhere import elsewhere
from tests.determinism.traces import digest
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

NAMES = {f"{name}@{kafka}": (name, kafka) for name, kafka in CASES}


@cache
def here(name: str) -> str:
    """Once, at one go."""
    return digest(*NAMES[name], 0)


@pytest.mark.parametrize("name", NAMES)
def test_processes_hash_seeds_and_steps_at_a_time_do_not_matter(name: str) -> None:
    for steps, hash_seed, *flags in spread_sample((("1", "4242"), ("3", "1", "-O"), ("1", "0")), 1):
        assert elsewhere("traces", steps, hash_seed=hash_seed, flags=tuple(flags))[name] == here(name)


def test_a_version_that_differs_shows_in_the_digest() -> None:
    found = {name: here(name) for name in NAMES}
    assert found["kip-101-loss@0.10.2"] != found["kip-101-loss@1.1"]
    assert found["kip-101-loss-two-brokers@1.1"] == found["kip-101-loss-two-brokers@3.9"]
    assert len(set(found.values())) > len(NAMES) - 5
