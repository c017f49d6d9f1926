"""Transactions come out the same in every process, under every hash seed, in all slices, after every rewind."""

from functools import cache

import pytest

from cluster_model.protocol.events import TransactionAborted, TransactionCommitted
from cluster_model.snapshots import pack, unpack
from tests.cluster_model.transacting import SECOND
from tests.determinism.elsewhere import elsewhere
from tests.determinism.transactions import END, FEATURES, STEPS, build, digest
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


@cache
def here(name: str) -> str:
    """Once, at one go."""
    return digest(name, STEPS["whole"])


@pytest.mark.parametrize(("slices", "hash_seed"), spread_sample([("slice", "1"), ("whole", "4242")], 1))
@pytest.mark.parametrize("name", FEATURES)
def test_a_digest_is_the_same_everywhere(name: str, slices: str, hash_seed: str) -> None:
    assert elsewhere("transactions", slices, hash_seed=hash_seed)[name] == here(name)


def test_each_generation_is_one_of_its_own() -> None:
    assert len({here(name) for name in FEATURES}) == len(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_from_any_moment_on_a_run_continues_as_it_did(name: str) -> None:
    cluster = build(name)
    kept = []
    for moment in spread_sample((1, 2, 4, 7, 10), 2):
        cluster.run(moment * (SECOND + 37_123))
        kept.append(pack(cluster.save()))
    cluster.run(END)
    expected = (cluster.digest(), cluster.view(), [cluster.query.acked_aborted(), cluster.query.aborted_committed()])
    ends = [event for event in cluster.drain() if isinstance(event, TransactionCommitted | TransactionAborted)]
    assert len(ends) > 20
    twin = cluster.twin()
    for packed in kept:
        twin.load(unpack(packed)[0])
        twin.run(END)
        assert (twin.digest(), twin.view(), [twin.query.acked_aborted(), twin.query.aborted_committed()]) == expected
