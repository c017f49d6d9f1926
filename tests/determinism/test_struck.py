"""Every fault of the catalogue comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from faults.catalogue import CATALOGUE
from tests.determinism.elsewhere import elsewhere
from tests.determinism.struck import STEPS, digest
from tests.faults.whole import fits_plane

CASES = [
    pytest.param(plane, name, id=f"{plane}-{name}", marks=() if plane == "kraft" else pytest.mark.thorough)
    for plane in ("kraft", "zookeeper")
    for name, fault in CATALOGUE.items()
    if fits_plane(fault, plane)
]


@pytest.mark.parametrize(("plane", "name"), CASES)
def test_a_fault_is_the_same_everywhere(plane: str, name: str) -> None:
    here = digest(plane, CATALOGUE[name], STEPS["odd"])
    for slices, hash_seed in (("whole", "0"), ("slice", "4242")):
        assert elsewhere("struck", plane, slices, hash_seed=hash_seed)[name] == here


def test_no_two_faults_do_the_same() -> None:
    digests = elsewhere("struck", "kraft", "whole", hash_seed="0")
    assert len(set(digests.values())) == len(digests)
