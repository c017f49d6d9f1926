"""Every bundled playbook comes out the same in every process, under every hash seed, in slices of every size."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from playbooks.bundled import names
from tests.determinism import elsewhere as other
from tests.determinism.driver import digest

OTHERWISE = {
    "event by event": ("event", "1"),
    "in slices, without assertions": ("slice", "4242", "-O"),
}
"""Slices, hash seed and flags of other processes; what they change together they must not change."""


def elsewhere(slices: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of all bundled playbooks, made in another process."""
    return other.elsewhere("driver", slices, *names(), hash_seed=hash_seed, flags=flags)


@cache
def digests() -> dict[str, dict[str, str]]:
    """Of all bundled playbooks: here, each after those behind it in the list and whole, and elsewhere, side by side."""
    with ThreadPoolExecutor() as pool:
        others = {how: pool.submit(elsewhere, *given) for how, given in OTHERWISE.items()}
        here = {name: digest(name, "whole") for name in reversed(names())}
        return {"here": here, **{how: future.result() for how, future in others.items()}}


def test_there_are_playbooks_to_compare() -> None:
    assert len(names()) >= 10


@pytest.mark.parametrize("how", OTHERWISE)
@pytest.mark.parametrize("name", names())
def test_processes_hash_seeds_slices_order_and_assertions_do_not_matter(name: str, how: str) -> None:
    found = digests()
    assert found[how][name] == found["here"][name]
