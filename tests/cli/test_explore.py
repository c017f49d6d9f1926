"""``floodmark explore``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Typed

Type = Callable[..., Typed]


def test_without_a_name_it_lists_what_comes_along(typed: Type) -> None:
    done = typed("explore")
    assert done.code == 0
    assert "truncate-to-hw" in done.out
    assert json.loads(typed("explore", "--json").out)[0]["name"] == "fast-failovers"


def test_what_breaks_is_told_step_by_step_and_written_as_a_playbook(typed: Type, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    done = typed("explore", "truncate-to-hw", "--records", "1", "--log-size", "1", "--out", str(folder))
    assert done.code == 1
    assert "broken     strong-isr in " in done.out
    assert "   10  broker 3 hears of epoch 2 and follows" in done.out
    assert "does not come to that" not in done.out
    path = folder / "truncate-to-hw-0.10.2-strong-isr.yaml"
    assert f"floodmark run {path}" in done.out
    assert typed("check", str(path)).code == 0


def test_where_nothing_breaks_it_says_so(typed: Type, tmp_path: Path) -> None:
    found = tmp_path / "found"
    done = typed("explore", "kip-320", "--records", "1", "--json", "--fingerprints", "--out", str(found))
    document = json.loads(done.out)
    assert done.code == 0
    assert (document["broken"], document["whole"], document["bounds"]["records"]) == ([], True, 1)
    assert 0 < document["collisions"] < 1e-9
    assert not found.exists()


def test_what_was_ended_early_is_inconclusive(typed: Type) -> None:
    done = typed("explore", "kip-320", "--most", "500", "--no-symmetry")
    assert done.code == 3
    assert "ended      early, with " in done.out
    assert "nothing is broken so far" in done.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("nix",), "no exploration 'nix'"),
        (("kip-101", "--epochs", "9"), "--epochs: found 9, allowed are 1 to 6"),
        (("kip-101", "--kafka", "0.7"), "0.7"),
        (("none.yaml",), "none.yaml"),
    ],
)
def test_bad_input_is_one_error(typed: Type, flags: tuple[str, ...], said: str) -> None:
    done = typed("explore", *flags)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_folder_that_cannot_be_made_is_told(typed: Type, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = typed(
        "explore", "truncate-to-hw", "--records", "1", "--log-size", "1", "--out", str(tmp_path / "file" / "x")
    )
    assert done.code == 1
    assert "cannot be written there" in done.err
