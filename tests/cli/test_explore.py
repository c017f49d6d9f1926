"""``floodmark explore``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Steady, Typed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


def test_without_a_name_it_lists_what_comes_along(typed: Type) -> None:
    done = typed("explore")
    assert done.code == 0
    assert "truncate-to-hw" in done.out
    assert json.loads(typed("explore", "--json").out)[0]["name"] == "fast-failovers"


def counts(line: str) -> bool:
    """Whether a line tells what looking took, and not what was found."""
    return line.startswith(("states ", "speed "))


def test_counterexamples_are_printed_step_by_step_and_written_as_playbooks(
    typed: Type, tmp_path: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    folder = tmp_path / "found"
    done = typed("explore", "truncate-to-hw", "--records", "1", "--log-size", "1", "--out", str(folder))
    assert done.code == 1
    lines = done.out.splitlines()
    assert [steady(line) for line in lines if not counts(line)] == snapshot
    path = folder / "truncate-to-hw-0.10.2-strong-isr.yaml"
    assert str(path) in done.out.split()
    assert typed("check", str(path)).code == 0


def test_an_exploration_without_violation_says_so(typed: Type, tmp_path: Path) -> None:
    found = tmp_path / "found"
    done = typed("explore", "kip-320", "--records", "1", "--json", "--fingerprints", "--out", str(found))
    document = json.loads(done.out)
    assert done.code == 0
    assert (document["broken"], document["whole"], document["bounds"]["records"]) == ([], True, 1)
    assert 0 < document["collisions"] < 1e-9
    assert not found.exists()


def test_a_search_ended_early_is_inconclusive(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("explore", "kip-320", "--max-states", "500", "--no-symmetry")
    assert done.code == 3
    assert [line for line in done.out.splitlines() if not counts(line)] == snapshot


@pytest.mark.parametrize(
    "flags",
    [
        ("nix",),
        ("kip-101", "--epochs", "9"),
        ("kip-101", "--kafka", "0.7"),
        ("kip-320-module", "--kafka", "2.0"),
        ("none.yaml",),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_error(typed: Type, flags: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    done = typed("explore", *flags)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err == snapshot


def test_a_folder_that_cannot_be_made_is_reported(
    typed: Type, tmp_path: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "file").write_text("")
    done = typed(
        "explore", "truncate-to-hw", "--records", "1", "--log-size", "1", "--out", str(tmp_path / "file" / "x")
    )
    assert done.code == 1
    assert steady(done.err) == snapshot
