"""Every bundled playbook comes out the same in every process, under every hash seed, in slices of every size."""

import pytest

from playbooks.bundled import names
from tests.determinism import elsewhere as other
from tests.determinism.driver import MOVES, digest


def elsewhere(slices: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of all bundled playbooks, made in another process."""
    return other.elsewhere("driver", slices, *names(), hash_seed=hash_seed, flags=flags)


def test_there_are_playbooks_to_compare() -> None:
    assert len(names()) >= 10


@pytest.mark.parametrize("name", names())
def test_two_processes_with_different_hash_seeds_agree(name: str) -> None:
    assert elsewhere("whole", "0")[name] == elsewhere("whole", "4242")[name]


@pytest.mark.parametrize("slices", MOVES)
@pytest.mark.parametrize("name", names())
def test_slices_do_not_matter(name: str, slices: str) -> None:
    assert elsewhere(slices, "1")[name] == elsewhere("whole", "0")[name]


@pytest.mark.parametrize("name", names())
def test_switching_assertions_off_changes_nothing(name: str) -> None:
    assert elsewhere("whole", "7", "-O")[name] == elsewhere("whole", "0")[name]


def test_a_run_after_others_in_one_process_is_the_same() -> None:
    first = {name: digest(name, "whole") for name in names()}
    again = {name: digest(name, "whole") for name in reversed(names())}
    assert first == again
