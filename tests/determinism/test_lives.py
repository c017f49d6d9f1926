"""Clients that end and come back do so alike in every process, under every hash seed, in slices of every size."""

import pytest

from tests.determinism.elsewhere import elsewhere
from tests.determinism.lives import END, LIVES, STEPS, digest


@pytest.mark.parametrize(("slices", "hash_seed"), [("slice", "1"), ("hour", "4242")])
@pytest.mark.parametrize("name", LIVES)
def test_a_digest_is_the_same_everywhere(name: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("lives", slices, hash_seed=hash_seed)[name] == digest(name, STEPS["whole"])


def test_each_kind_is_one_of_its_own_and_reads() -> None:
    digests = [digest(name, END) for name in LIVES]
    assert len(set(digests)) == len(LIVES)
    assert all(int(each.split()[2]) > 1_000 for each in digests)
