"""Every bundled playbook comes out the same in every process, under every hash seed, in slices of every size."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from playbooks.bundled import names
from tests.determinism.driver import MOVES, digest

ROOT = Path(__file__).parents[2]


@cache
def elsewhere(slices: str, hash_seed: str, *flags: str) -> dict[str, str]:
    """Digests of all bundled playbooks, made in another process."""
    done = subprocess.run(
        [sys.executable, *flags, "-m", "tests.determinism.driver", slices, *names()],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


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
