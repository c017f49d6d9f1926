"""Every bundled playbook comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from playbooks.bundled import names
from tests.determinism import elsewhere as other
from tests.determinism.driver import digest

OTHERWISE = {
    "event": ("event", "1"),
    "slice": ("slice", "7"),
    "hour, without assertions": ("hour", "4242", "-O"),
}
"""Slices, hash seed and flags of other processes; what they change together they must not change."""


def elsewhere(slices: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of all bundled playbooks, made in another process."""
    return other.elsewhere("driver", slices, *names(), hash_seed=hash_seed, flags=flags)


def test_there_are_playbooks_to_compare() -> None:
    assert len(names()) >= 10


@pytest.mark.parametrize("how", OTHERWISE)
@pytest.mark.parametrize("name", names())
def test_processes_hash_seeds_slices_and_assertions_do_not_matter(name: str, how: str) -> None:
    slices, hash_seed, *flags = OTHERWISE[how]
    assert elsewhere(slices, hash_seed, *flags)[name] == elsewhere("whole", "0")[name]


def test_a_run_after_others_in_one_process_is_the_same() -> None:
    assert {name: digest(name, "whole") for name in reversed(names())} == elsewhere("whole", "0")
