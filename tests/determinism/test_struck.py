"""Every fault of the catalogue comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from faults.catalogue import CATALOGUE
from tests.determinism.elsewhere import elsewhere
from tests.determinism.struck import STEPS, digest
from tests.faults.whole import fits_plane
from tests.support.breadth import some

OWN = [name for name, fault in CATALOGUE.items() if fault.mode == "zookeeper"]
STRUCK = {
    "kraft": some([name for name, fault in CATALOGUE.items() if fits_plane(fault, "kraft")], 24),
    "zookeeper": [*OWN, *some([name for name, fault in CATALOGUE.items() if not fault.mode], 8)],
}
"""For an evening all faults in both planes; ``tests/faults/test_every_fault.py`` has each, and goes back in it."""


def told(plane: str, slices: str, hash_seed: str) -> dict[str, str]:
    """Digests of faults in such a plane, made in another process."""
    return elsewhere("struck", plane, slices, *STRUCK[plane], hash_seed=hash_seed)


@pytest.mark.parametrize(("plane", "name"), [(plane, name) for plane, names in STRUCK.items() for name in names])
def test_a_fault_is_the_same_everywhere(plane: str, name: str) -> None:
    here = digest(plane, CATALOGUE[name], STEPS["odd"])
    for slices, hash_seed in some((("slice", "4242"), ("whole", "0")), 1):
        assert told(plane, slices, hash_seed)[name] == here


def test_no_two_faults_do_the_same() -> None:
    digests = told("kraft", "slice", "4242")
    assert len(set(digests.values())) == len(digests)
