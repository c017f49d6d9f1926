"""``floodmark storm``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.run_rows import coverage_of, groups_of, totals_of
from playbooks.campaign.runner import CampaignResult, write_result
from playbooks.campaign.workloads.fuzz_workload import read_plan
from tests.cli.running import Steady, Typed
from tests.playbooks.fuzz.small import plan, text
from tests.support.playbooks import MANUAL

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


@pytest.fixture
def playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(text(acks="1", storm="faults: [crash, gc_pause, isolate, restart]"))
    return "small.yaml"


def test_without_a_name_it_lists_what_comes_along(typed: Type) -> None:
    done = typed("storm")
    assert done.code == 0
    assert "storm-safe" in done.out
    assert "storm-0.11" in [each["name"] for each in json.loads(typed("storm", "--json").out)]


def test_show_prints_a_generated_run_without_running_it(
    typed: Type, playbook: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    done = typed("storm", playbook, "--show", "3", "--seed", "8")
    assert done.code == 0
    assert done.out == snapshot
    assert json.loads(typed("storm", playbook, "--show", "3", "--seed", "8", "--json").out)["run"] == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["small.yaml"]


def test_findings_have_a_session_and_a_command_that_reproduces_them(
    typed: Type, playbook: str, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = typed("storm", playbook, "--runs", "40", "--seed", "5", "--stop-on-first", "-j", "1")
    assert done.code == 0  # acks=1 promises no more
    lines = done.out.splitlines()
    again = next(line.split()[-1] for line in lines if line.startswith("  rerun "))
    rows = Path("storms/small-5/runs.jsonl").read_text().splitlines()
    digests = {row["run"]: row["digest"] for row in map(json.loads, rows)}
    run = int(again.rpartition("-")[2].removesuffix(".yaml"))
    assert json.loads(typed("run", again, "--json").out)["digest"] == digests[run]
    document = json.loads(typed("storm", playbook, "--runs", "40", "--seed", "5", "--stop-on-first", "--json").out)
    assert document["runs"] == run
    assert document["groups"][0]["expected"] == "enable.idempotence=false"
    assert document["groups"][0]["run"] == run
    assert len(list(Path("storms/small-5/sessions").iterdir())) == 1
    only = typed("storm", playbook, "--seed", "5", "--only", str(run), "--out", "elsewhere")
    assert f"elsewhere/run-{run}.yaml" in only.out.split()
    found = lines[next(at for at, line in enumerate(lines) if line.startswith("finding:")) :]
    assert {"found": steady("\n".join(found)), "one alone": steady(only.err)} == snapshot
    assert only.out.count("cluster ") == 1
    alone = json.loads(typed("storm", playbook, "--seed", "5", "--only", str(run), "--out", "third", "--json").out)
    assert (alone["runs"], alone["groups"][0]["run"]) == (1, run)
    assert "coverage" in document
    assert "coverage" not in alone


def test_unexpected_failures_fail_the_storm(typed: Type, playbook: str, snapshot: SnapshotAssertion) -> None:
    Path(playbook).write_text(Path(playbook).read_text() + "expect:\n  - sent() == 0\n")
    done = typed("storm", playbook, "--runs", "1")
    assert done.code == 1
    assert [line for line in done.out.splitlines() if line.endswith("SURPRISING")] == snapshot


def test_a_run_with_an_internal_error_is_kept_and_reported(
    typed: Type, playbook: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a wheel came off")

    monkeypatch.setattr("playbooks.campaign.workloads.fuzz_workload.run_storm", broken)
    done = typed("storm", playbook, "--runs", "2", "-j", "1")
    assert done.code == 70
    assert [line for line in done.out.splitlines() if "--only" in line] == snapshot
    assert plan().row(1).error


def test_ctrl_c_keeps_what_has_ended(
    typed: Type, playbook: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    from playbooks.campaign.workloads.fuzz_workload import FuzzPlan  # noqa: PLC0415

    whole = FuzzPlan.row

    def stopped(self: FuzzPlan, run: int) -> object:
        if run == 3:
            raise KeyboardInterrupt
        return whole(self, run)

    with monkeypatch.context() as patched:
        patched.setattr(FuzzPlan, "row", stopped)
        done = typed("storm", playbook, "--runs", "4", "-j", "1")
    assert done.code == 130
    assert done.err.splitlines()[-1] == snapshot
    assert len(Path("storms/small-0/runs.jsonl").read_text().splitlines()) == 2
    assert typed("storm", playbook, "--runs", "4", "--resume", "storms/small-0", "-j", "1").code == 0
    assert len(Path("storms/small-0/runs.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "options",
    [
        "nothing.yaml",
        "small.yaml --runs 0",
        "small.yaml --resume nowhere",
        "small.yaml --out a --resume b",
        "small.yaml --out small.yaml",
        "small.yaml --engine spork",
        "small.yaml --master local",
        "small.yaml --engine spark -j 2",
        "small.yaml --engine spark --memory 4gb",
        "small.yaml --set cluster.broker=2",
        "manual.yaml",
    ],
)
def test_bad_input_is_reported_in_a_line(typed: Type, playbook: str, options: str, snapshot: SnapshotAssertion) -> None:
    Path(playbook).with_name("manual.yaml").write_text(MANUAL)
    done = typed("storm", *options.split())
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err == snapshot
    assert not Path("storms").exists()


def test_an_unknown_name_gets_the_nearest_as_a_hint(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("storm", "storm-saf")
    assert done.code == 2
    assert done.err == snapshot


def test_spark_is_given_the_plan_and_believed(
    typed: Type, playbook: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """What another process does is done here by a stand-in: it reads the plan, and says what it came to."""
    commands: list[list[str]] = []

    def stand_in(command: list[str]) -> int:
        commands.append(command)
        folder = Path(command[3])
        row = read_plan(folder).row(1)
        faults, states = read_plan(folder).frame()
        write_result(folder, CampaignResult(totals_of([row]), groups_of([row]), coverage_of([row], faults, states)))
        return 0

    monkeypatch.setattr("tui.cli.runs.spark_jobs.run_subprocess", stand_in)
    options = (
        "--runs",
        "1",
        "--seed",
        "5",
        "--set",
        "seed=3",
        "--engine",
        "spark",
        "--master",
        "local[2]",
        "--stop-on-first",
    )
    done = typed("storm", playbook, *options)
    assert done.out.split()[:2] == ["done", "1"], done.err
    assert commands[0][3:] == ["storms/small-5", "--runs", "1", "--stop-on", "*", "--master", "local[2]"]
    assert json.loads(typed("storm", playbook, *options, "--json").out)["runs"] == 1
    assert commands[1][-1] == "--quiet"  # a document is all that is printed on stdout
    head = json.loads(Path("storms/small-5/campaign.json").read_text())
    assert head["command"] == snapshot
    assert head["strikes"] > 0


def test_spark_that_fails_is_not_believed(typed: Type, playbook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.cli.runs.spark_jobs.run_subprocess", lambda _command: 70)
    done = typed("storm", playbook, "--runs", "1", "--engine", "spark")
    assert done.code == 70
    assert "done " not in done.out
