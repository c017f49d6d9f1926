"""Every bundled playbook comes out the same in every process, under every hash seed, in slices of every size."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from playbooks.library.bundled import names
from tests.determinism import elsewhere as other
from tests.support.breadth import EVENING

CHEAP = (
    "ack-lost", "hw-two-rounds-3.9", "kip-320-unfenced-follower", "power-loss-divergence", "rolling-restart-waiting",
    "zone-loss-matrix",
)  # fmt: skip
"""Stepped by hand, unattended, an administrator's: what clients and control planes do the other files here compare."""
NAMES = tuple(names()) if EVENING else CHEAP


def elsewhere(slices: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of bundled playbooks, made in another process, each after those behind it in the list or before."""
    order = NAMES if slices == "event" else NAMES[::-1]
    return other.elsewhere("driver", slices, *order, hash_seed=hash_seed, flags=flags)


@cache
def digests() -> tuple[dict[str, str], dict[str, str]]:
    """Of these playbooks, twice, with everything different that must not matter, side by side."""
    with ThreadPoolExecutor() as pool:
        one = pool.submit(elsewhere, "event", "1")
        two = pool.submit(elsewhere, "slice", "4242", "-O")
        return one.result(), two.result()


def test_there_are_playbooks_to_compare() -> None:
    assert set(CHEAP) <= set(NAMES) <= set(names())


@pytest.mark.parametrize("name", NAMES)
def test_processes_hash_seeds_slices_order_and_assertions_do_not_matter(name: str) -> None:
    one, two = digests()
    assert one[name] == two[name]
