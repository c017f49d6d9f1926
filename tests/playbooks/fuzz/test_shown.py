"""From nothing but a seed: the divergence that KIP-279 mended is found under 0.11, made short, and gone under 2.0."""

from pathlib import Path

import pytest

from playbooks.campaign.workloads.fuzz_workload import plan_of
from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import source_path
from playbooks.parser.loader import changed, load
from playbooks.results.failure_keys import failures_of

pytestmark = pytest.mark.slow

DIVERGED = "finding:lost/fast-failover-divergence"
SHRUNK = Path(__file__).with_name("shrunk_from_seed_1.yaml")
"""What ``floodmark shrink`` makes of run 21, with ``--keep`` and that key."""


def test_a_storm_of_seed_1_finds_it() -> None:
    row = plan_of(load(source_path("storm-0.11")), 1).row(21)
    assert DIVERGED in [each.key for each in row.found]


@pytest.mark.parametrize(("kafka", "there"), [("0.11", True), ("2.0", False)])
def test_eight_steps_are_left_of_it_and_2_0_does_not_diverge(kafka: str, there: bool) -> None:
    playbook = changed(load(SHRUNK), {"cluster.kafka": kafka})
    assert len(playbook.steps) == 8
    keys = {each.key for each in failures_of(start_session(playbook).finish())}
    assert (DIVERGED in keys, "violation:log-matching" in keys) == (there, there)
