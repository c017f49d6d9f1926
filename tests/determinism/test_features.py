"""Every way of fetching comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from tests.determinism.elsewhere import elsewhere
from tests.determinism.features import END, FEATURES, STEPS, build, digest


@pytest.mark.parametrize(("slices", "hash_seed"), [("whole", "0"), ("slice", "1"), ("hour", "4242")])
@pytest.mark.parametrize("name", FEATURES)
def test_a_digest_is_the_same_everywhere(name: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("features", slices, hash_seed=hash_seed)[name] == digest(name, STEPS["whole"])


def test_each_way_is_one_of_its_own() -> None:
    digests = [digest(name, END) for name in FEATURES]
    assert len(set(digests)) == len(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_what_is_run_does_something(name: str) -> None:
    cluster = build(name)
    cluster.run(10_000_000)
    assert sum(consumer.read for consumer in cluster.consumers.values()) > 100
