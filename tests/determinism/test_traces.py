"""The worked traces come out the same in every process, under every hash seed, and one step at a time."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from playbooks.manual_session import ManualSession
from tests.cluster_model.tracing import CASES, playbook_of

ROOT = Path(__file__).parents[2]
NAMES = [f"{name}@{kafka}" for name, kafka in CASES]
PROGRAM = "import json; from tests.determinism.test_traces import digests; print(json.dumps(digests({steps})))"


def digests(steps: int) -> dict[str, str]:
    """Digest of every trace; ``steps`` are taken at a time, all of them when 0."""
    found: dict[str, str] = {}
    for name, kafka in CASES:
        session = ManualSession.start(playbook_of(name, kafka))
        while session.advance(0, steps):
            session.drain()
        found[f"{name}@{kafka}"] = f"{(result := session.finish()).digest} {result.events}"
    return found


@cache
def elsewhere(steps: int, hash_seed: str, *flags: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, *flags, "-c", PROGRAM.format(steps=steps)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_processes_hash_seeds_and_steps_at_a_time_do_not_matter(name: str) -> None:
    here = elsewhere(0, "0")[name]
    assert elsewhere(1, "4242")[name] == here
    assert elsewhere(3, "1", "-O")[name] == here


def test_a_version_that_differs_shows_in_the_digest() -> None:
    found = elsewhere(0, "0")
    assert found["kip-101-loss@0.10.2"] != found["kip-101-loss@1.1"] == found["kip-101-loss@2.6"]
    assert len(set(found.values())) > len(NAMES) - 5
