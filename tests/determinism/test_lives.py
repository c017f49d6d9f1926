"""Clients that end and come back do so alike in every process, under every hash seed, in slices of every size."""

from functools import cache

import pytest

from tests.determinism.elsewhere import elsewhere
from tests.determinism.lives import LIVES, STEPS, digest
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


@cache
def here(name: str) -> str:
    """Once, at one go."""
    return digest(name, STEPS["whole"])


@pytest.mark.parametrize(("slices", "hash_seed"), spread_sample([("slice", "1"), ("whole", "4242")], 1))
@pytest.mark.parametrize("name", LIVES)
def test_a_digest_is_the_same_everywhere(name: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("lives", slices, hash_seed=hash_seed)[name] == here(name)


def test_each_kind_is_one_of_its_own_and_reads() -> None:
    digests = [here(name) for name in LIVES]
    assert len(set(digests)) == len(LIVES)
    assert all(int(each.split()[2]) > 600 for each in digests)
