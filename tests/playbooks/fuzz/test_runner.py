"""One storm: the same wherever it runs, written as a playbook that comes to the same, and where it matters."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from playbooks.campaign.run_rows import RunRow
from playbooks.campaign.store import open_campaign
from playbooks.campaign.workloads.fuzz_workload import keep_run, plan_of, playbook_text
from playbooks.engine.session import Session
from playbooks.fuzz.protocol_states import STEADY
from playbooks.fuzz.runner import run_storm
from playbooks.library.bundled import presets, source_path
from playbooks.parser.loader import load, loads
from tests.playbooks.fuzz.small import GROUP, plan, text
from tests.support.breadth import sample_count, spread_sample

pytestmark = pytest.mark.slow


def test_a_run_is_the_same_row_again_and_in_another_process() -> None:
    rows = [plan(text(clients=GROUP)).row(run).line() for run in (1, 2)]
    assert rows[0] == plan(text(clients=GROUP)).row(1).line()
    code = (
        "from tests.playbooks.fuzz.small import *; "
        "print(*[plan(text(clients=GROUP)).row(run).line() for run in (1, 2)], sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "77"}, capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.stdout.splitlines() == rows


@pytest.mark.parametrize("slice_us", [1_000, 77_777])
def test_slices_leave_no_mark(slice_us: int) -> None:
    asked = plan()
    whole, _swarm, _session = asked.drive(3)
    _playbook, swarm, session = asked.begin(3)
    advance = session.advance

    def in_slices(until_us: int, max_events: int = 0, stop: object = None) -> bool:
        return advance(min(until_us, session.cluster.now_us + slice_us), max_events, stop)  # type: ignore[arg-type]

    session.advance = in_slices  # type: ignore[method-assign]
    sliced = run_storm(swarm, session)
    assert sliced.result.digest == whole.result.digest
    assert [each.trigger for each in sliced.acts] == [each.trigger for each in whole.acts]


@pytest.mark.parametrize("kafka", spread_sample(["0.10.2", "0.11", "2.8", "3.9", "4.1"], 3))
def test_a_saved_storm_run_has_the_same_digest(kafka: str) -> None:
    asked = plan(text(kafka, clients=GROUP if kafka == "3.9" else ""))
    for run in range(1, sample_count(3, 40)):
        driven, swarm, _session = asked.drive(run)
        again = Session.start(loads(playbook_text(asked, swarm, driven, "small"), "x.yaml", {})).finish()
        assert again.digest == driven.result.digest, (kafka, run)


STEPS = """
steps:
  - at: 1s
    inject: crash
    target: leader(orders-0)
    for: 1s
  - when: under_replicated() == 0
    within: 20s
    inject: gc_pause
    target: leader(orders-0)
    for: 500ms
"""


def test_keep_steps_keeps_the_playbooks_steps() -> None:
    asked = plan(text(rest=STEPS.lstrip()), keep_steps=True)
    driven, swarm, _session = asked.drive(2)
    assert len(driven.acts) > len(driven.strikes) > 0
    written = playbook_text(asked, swarm, driven, "small")
    assert Session.start(loads(written, "x.yaml", {})).finish().digest == driven.result.digest
    assert plan(text(rest=STEPS.lstrip())).begin(2)[0].steps == ()


def test_an_internal_error_is_the_runs_result(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "a wheel came off"

    def broken(*_: object) -> None:
        raise ZeroDivisionError(why)

    monkeypatch.setattr("playbooks.campaign.workloads.fuzz_workload.run_storm", broken)
    row = plan().row(5)
    assert row.error.startswith(f"ZeroDivisionError: {why} (broken, line")
    assert [each.key for each in row.found] == ["error:ZeroDivisionError"]
    assert RunRow.of_line(row.line()) == row


def test_waiting_for_states_meets_what_chance_does_not() -> None:
    """A pending change of an ISR is over in milliseconds: strikes that look at the clock alone hardly ever meet it."""
    wanted = ("PendingShrinkIsr", "PendingExpandIsr")

    def met(steered: int) -> tuple[int, int]:
        asked = plan(text(storm="faults: [gc_pause, isolate, lag]"))
        hits = strikes = 0
        for run in range(1, sample_count(13, 200)):
            _playbook, swarm, session = asked.begin(run)
            driven = run_storm(replace(swarm, steered=steered, states=wanted), session)
            strikes += len(driven.strikes)
            hits += sum(any(state in each.states for state in wanted) for each in driven.strikes)
        return hits, strikes

    (by_chance, strikes), (steered, fewer) = met(0), met(100)
    assert steered * strikes > 2 * by_chance * fewer


def test_every_injection_counts_with_the_states_that_it_met() -> None:
    driven, _swarm, _session = plan().drive(1)
    row = plan().row(1)
    assert row.counts["strikes"] == len(driven.strikes) > 0
    assert all(each.states for each in driven.strikes)
    single = [each for each in driven.strikes if each.states == (STEADY,)]
    assert sum(counts.get(STEADY, 0) for counts in row.coverage.values()) == len(single)


def test_a_kept_run_has_its_playbook_and_its_session(tmp_path: Path) -> None:
    asked = plan()
    campaign = open_campaign(tmp_path, asked, "small")
    kept = keep_run(asked, 4, campaign)
    assert load(kept.playbook).name == "small-storm-4"
    result = json.loads((kept.session / "result.json").read_text())
    assert result["digest"] == asked.row(4).digest
    assert keep_run(asked, 4, campaign) is kept


@pytest.mark.parametrize("name", presets())
def test_bundled_storms_can_be_run(name: str) -> None:
    playbook = load(source_path(name))
    assert playbook.name == name
    assert playbook.storm is not None
    assert plan_of(playbook, 0).begin(1)[1].faults
