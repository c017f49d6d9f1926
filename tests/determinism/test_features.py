"""Every way of fetching comes out the same in every process, under every hash seed, in slices of every size."""

from functools import cache

import pytest

from tests.determinism.elsewhere import elsewhere
from tests.determinism.features import FEATURES, STEPS, digest
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


@cache
def here(name: str) -> str:
    """Once, at one go."""
    return digest(name, STEPS["whole"])


@pytest.mark.parametrize(("slices", "hash_seed"), spread_sample([("slice", "1"), ("whole", "4242")], 1))
@pytest.mark.parametrize("name", FEATURES)
def test_a_digest_is_the_same_everywhere(name: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("features", slices, hash_seed=hash_seed)[name] == here(name)


def test_each_way_is_one_of_its_own() -> None:
    digests = [here(name) for name in FEATURES]
    assert len(set(digests)) == len(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_the_digested_run_reads_records(name: str) -> None:
    _digest, _executed, reads, *_ends = here(name).split()
    assert int(reads) > 900
