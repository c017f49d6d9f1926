"""Reading, processing and writing comes out the same in every process, in all slices, after every rewind."""

from functools import cache

import pytest

from cluster_model.snapshots import pack, unpack
from tests.determinism.copying import FEATURES, STEPS, build, digest, play
from tests.determinism.elsewhere import elsewhere
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


@cache
def here(name: str) -> str:
    """Once, at one go."""
    return digest(name, STEPS["whole"])


@pytest.mark.parametrize(("slices", "hash_seed"), spread_sample([("slice", "1"), ("whole", "4242")], 1))
def test_a_digest_is_the_same_everywhere(slices: str, hash_seed: str) -> None:
    expected = {name: here(name) for name in FEATURES}
    assert elsewhere("copying", slices, hash_seed=hash_seed) == expected
    assert len(set(expected.values())) == len(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_from_any_moment_on_a_run_continues_as_it_did(name: str) -> None:
    cluster = build(name)
    kept = []
    # In other stages of a transaction each.
    for moment in spread_sample((0, 3, 6), 2):
        cluster.run(1_500_000 + moment * 1_700)
        kept.append(pack(cluster.save()))
    play(cluster, start=1_500_000)
    expected = (cluster.digest(), cluster.view())
    twin = cluster.twin()
    for packed in kept:
        twin.load(unpack(packed)[0])
        play(twin, start=1_500_000)
        assert (twin.digest(), twin.view()) == expected
