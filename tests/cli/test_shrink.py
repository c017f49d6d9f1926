"""``floodmark shrink``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Typed

Type = Callable[..., Typed]
SOURCE = "kip-279-fast-failovers"
KEEP = ("--keep", "violation:log-matching")
SHORT = ("--keep", "finding:lost/unreplicated-tail")
"""What takes fewer runs."""


def test_a_playbook_is_written_that_goes_wrong_and_not_under_a_later_version(typed: Type, here: Path) -> None:
    done = typed("shrink", SOURCE, *KEEP)
    assert done.code == 0
    assert "keeping  violation:log-matching, as its version is known to" in done.err
    assert "without any one of these it is gone" in done.out
    assert sorted(path.name for path in here.iterdir()) == [f"{SOURCE}-shrunk.yaml"]
    text = (here / f"{SOURCE}-shrunk.yaml").read_text()
    assert text.count("  # without it: ") == 9
    run = typed("run", f"{SOURCE}-shrunk.yaml", "--json", "--no-why")
    assert run.code == 0
    assert json.loads(run.out)["digest"] in done.out
    assert typed("run", f"{SOURCE}-shrunk.yaml", "--set", "cluster.kafka=2.0", "--no-why").code == 1


def test_a_recorded_session_is_shrunk_and_told_as_json(typed: Type, here: Path) -> None:
    assert typed("run", SOURCE, "--out", "sessions", "--no-why").code == 0
    (session,) = (here / "sessions").iterdir()
    done = typed("shrink", session, *SHORT, "--json", "--out", "x.yaml")
    told = json.loads(done.out)
    assert done.code == 0
    assert (told["ended"], told["held"], len(told["steps"])) == ("whole", True, 3)
    assert told["passes"][0]["before"]["steps"] == 19
    assert told["steps"][0]["without"] == []
    assert typed("shrink", session, "--seed", "3").code == 2


def test_it_goes_on_where_its_budget_ended(typed: Type, here: Path) -> None:
    first = typed("shrink", SOURCE, *SHORT, "--budget", "8", "--plain")
    assert first.code == 3
    assert "steps" in first.err
    assert (
        "to go on: floodmark shrink kip-279-fast-failovers --keep finding:lost/unreplicated-tail --resume" in first.err
    )
    assert "It may not be the shortest" in (here / f"{SOURCE}-shrunk.yaml").read_text()
    assert typed("check", f"{SOURCE}-shrunk.yaml").code == 0
    assert typed("shrink", SOURCE, *SHORT).code == 2
    assert typed("shrink", SOURCE, *SHORT, "--resume").code == 0
    assert not (here / f"{SOURCE}-shrunk.journal").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("no-such",), 2, "no such file, and no bundled playbook"),
        ((SOURCE, "--keep", "violation:log-match"), 2, "did you mean 'violation:log-matching'?"),
        ((SOURCE, "--keep", "nonsense"), 2, "the session went wrong by"),
        (("kip-279-fast-failovers", "--set", "cluster.kafka=0.7"), 2, "0.7"),
        ((SOURCE, "--budget", "much"), 2, "--budget: found 'much', allowed is a number of sessions, or"),
        ((SOURCE, "--resume"), 2, "there is nothing to go on with"),
        ((SOURCE, "--out", "nowhere/x.yaml"), 2, "a directory that is there"),
        ((SOURCE, "--out", "."), 2, "is a directory, allowed is a file"),
        (("hw-two-rounds-3.9",), 3, "nothing is wrong, so there is nothing to keep"),
    ],
)
def test_what_cannot_be_shrunk_is_told_in_a_line(
    typed: Type, here: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    done = typed("shrink", *words)
    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err
    assert list(here.iterdir()) == []
