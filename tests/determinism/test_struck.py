"""Every fault of the catalogue comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from faults.catalogue import CATALOGUE
from tests.determinism.elsewhere import elsewhere
from tests.determinism.struck import STEPS, digest
from tests.faults.whole import fits_plane
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow

OF_ZOOKEEPER = ("crash", "session_expiry", "controller_failover", "quorum_loss")
"""Faults that the control plane has to do with: what others do is no other matter in ZooKeeper mode."""
STRUCK = [
    *(
        f"kraft/{name}"
        for name in spread_sample([name for name, fault in CATALOGUE.items() if fits_plane(fault, "kraft")], 24)
    ),
    *(f"zookeeper/{name}" for name in (CATALOGUE if EVENING else OF_ZOOKEEPER)),
]
"""For an evening all faults in both planes; ``tests/faults/test_every_fault.py`` has each, and goes back in it."""


def told(slices: str, hash_seed: str) -> dict[str, str]:
    """Digests of faults, made in another process."""
    return elsewhere("struck", slices, *STRUCK, hash_seed=hash_seed)


@pytest.mark.parametrize("struck", STRUCK)
def test_a_fault_is_the_same_everywhere(struck: str) -> None:
    plane, name = struck.split("/")
    here = digest(plane, CATALOGUE[name], STEPS["odd"])
    for slices, hash_seed in spread_sample((("slice", "4242"), ("whole", "0")), 1):
        assert told(slices, hash_seed)[struck] == here


def test_no_two_faults_do_the_same() -> None:
    digests = {struck: line for struck, line in told("slice", "4242").items() if struck.startswith("kraft/")}
    assert len(set(digests.values())) == len(digests)
