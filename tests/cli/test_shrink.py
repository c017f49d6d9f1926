"""``floodmark shrink``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Steady, Typed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]
SOURCE = "kip-279-fast-failovers"
KEEP = ("--keep", "violation:log-matching")
SHORT = ("--keep", "finding:lost/unreplicated-tail")
"""What takes fewer runs."""


def test_a_playbook_is_written_that_goes_wrong_and_not_under_a_later_version(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    done = typed("shrink", SOURCE, *KEEP)
    assert done.code == 0
    ended = [line.partition(": ")[2] for line in done.out.splitlines() if line.startswith(("shrunk ", "minimal "))]
    assert {"begun": done.err, "ended": ended} == snapshot
    assert sorted(path.name for path in here.iterdir()) == [f"{SOURCE}-shrunk.yaml"]
    text = (here / f"{SOURCE}-shrunk.yaml").read_text()
    assert text.count("  # without it: ") == 10
    run = typed("run", f"{SOURCE}-shrunk.yaml", "--json", "--no-why")
    assert run.code == 0
    assert json.loads(run.out)["digest"] in done.out
    assert typed("run", f"{SOURCE}-shrunk.yaml", "--set", "cluster.kafka=2.0", "--no-why").code == 1


def test_a_recorded_session_is_shrunk_with_json_output(typed: Type, here: Path) -> None:
    assert typed("run", SOURCE, "--out", "sessions", "--no-why").code == 0
    (session,) = (here / "sessions").iterdir()
    done = typed("shrink", session, *SHORT, "--json", "--out", "x.yaml")
    told = json.loads(done.out)
    assert done.code == 0
    assert (told["ended"], told["held"], len(told["steps"])) == ("whole", True, 4)
    assert told["passes"][0]["before"]["steps"] == 21
    assert told["steps"][0]["without"] == []
    assert typed("shrink", session, "--seed", "3").code == 2


def test_it_resumes_where_its_budget_ended(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    first = typed("shrink", SOURCE, *SHORT, "--budget", "8", "--plain")
    assert first.code == 3
    assert "steps" in first.err
    written = (here / f"{SOURCE}-shrunk.yaml").read_text().splitlines()
    ended = [line for line in first.out.splitlines() if line.startswith(("shrunk ", "minimal "))]
    comments = [line for line in written if line.startswith("# ")]
    assert {"to go on": first.err.splitlines()[-1], "ended": ended, "in the playbook": comments[-1]} == snapshot
    assert typed("check", f"{SOURCE}-shrunk.yaml").code == 0
    assert typed("shrink", SOURCE, *SHORT).code == 2
    assert typed("shrink", SOURCE, *SHORT, "--resume").code == 0
    assert not (here / f"{SOURCE}-shrunk.journal").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("no-such", 2),
        (f"{SOURCE} --keep violation:log-match", 2),
        (f"{SOURCE} --keep nonsense", 2),
        (f"{SOURCE} --set cluster.kafka=0.7", 2),
        (f"{SOURCE} --budget much", 2),
        (f"{SOURCE} --resume", 2),
        (f"{SOURCE} --out nowhere/x.yaml", 2),
        (f"{SOURCE} --out .", 2),
        ("hw-two-rounds-3.9", 3),
    ],
)
def test_sessions_that_cannot_be_shrunk_are_rejected_in_one_line(
    typed: Type, here: Path, words: str, code: int, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = typed("shrink", *words.split())
    assert done.code == code
    assert "Traceback" not in done.err
    assert steady(done.err) == snapshot
    assert list(here.iterdir()) == []
