"""The worked traces come out the same in every process, under every hash seed, and one step at a time."""

import pytest

from tests.cluster_model.tracing import CASES
from tests.determinism.elsewhere import elsewhere

NAMES = [f"{name}@{kafka}" for name, kafka in CASES]


def told(steps: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of all traces, made in another process."""
    return elsewhere("traces", steps, hash_seed=hash_seed, flags=flags)


@pytest.mark.parametrize("name", NAMES)
def test_processes_hash_seeds_and_steps_at_a_time_do_not_matter(name: str) -> None:
    here = told("0", "0")[name]
    assert told("1", "4242")[name] == here
    assert told("3", "1", "-O")[name] == here


def test_a_version_that_differs_shows_in_the_digest() -> None:
    found = told("0", "0")
    assert found["kip-101-loss@0.10.2"] != found["kip-101-loss@1.1"]
    assert found["kip-101-loss-two-brokers@1.1"] == found["kip-101-loss-two-brokers@3.9"]
    assert len(set(found.values())) > len(NAMES) - 5
