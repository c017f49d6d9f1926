"""``floodmark settings``: where the file is, what is in force, an example."""

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Steady, Typed

Type = Callable[..., Typed]


@pytest.fixture
def path(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLOODMARK_CONFIG", str(here / "config.toml"))
    return here / "config.toml"


def test_without_a_settings_file_the_defaults_are_listed(
    typed: Type, path: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = typed("settings")
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert first.startswith(f"{path}  ")
    assert steady(first) == snapshot
    assert [line.split() for line in rest][1] == ["screen.theme", '"dark"', "default"]


def test_effective_settings_are_printed_with_errors_of_the_file(
    typed: Type, path: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    path.write_text('[screen]\ntheme = "light"\nspeed = 0\n[keys]\npause = ["x", "home"]\nbeginning = "ctrl+home"\n')
    done = typed("settings")
    assert done.code == 2
    rows = [line.split() for line in done.out.splitlines()]
    assert ["screen.theme", '"light"', "file"] in rows
    assert ["screen.speed", "1", "default"] in rows
    assert ["keys.pause", "x", "home", "file"] in rows
    assert done.err.startswith(f"error: {path}:3: ")
    assert steady(done.err) == snapshot


def test_the_example_is_a_file(typed: Type, path: Path, snapshot: SnapshotAssertion) -> None:
    path.write_text(typed("settings", "--example").out)
    assert typed("settings").code == 0
    assert [line for line in path.read_text().splitlines() if line.startswith("# pause = ")] == snapshot
