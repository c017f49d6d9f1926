"""The model and its faults come out the same on every Python at hand, in every kind of slice and process."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.determinism.bare import SLICES, VERSIONS, digest
from tests.determinism.elsewhere import elsewhere
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

OTHERS = ("3.11", "3.12", "3.13", "3.14")
"""Release lines that are looked for."""
WAYS = [
    (line, flags)
    for number, line in enumerate(OTHERS)
    for flags in ((), ("-O",))
    if EVENING or number % 2 != len(flags)
]
"""Each line with and without ``-O`` for an evening; else the one or the other, in turn."""
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


def candidates(line: str) -> list[Path]:
    """Where an interpreter of a release line may be: on PATH, and where pyenv keeps its versions."""
    found = shutil.which(f"python{line}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return [*([Path(found)] if found else []), *sorted(pyenv.glob(f"{line}.*/bin/python"))]


@cache
def interpreter(line: str) -> Path | None:
    """The first candidate that runs and is what it says: a pyenv shim need not."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in candidates(line):
        done = subprocess.run([path, "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == line:
            return path
    return None


def run(python: Path, slices: str, hash_seed: str, *flags: str, versions: tuple[str, ...] = VERSIONS) -> dict[str, str]:
    """A line per Kafka version, made by another process."""
    return elsewhere("bare", slices, *versions, hash_seed=hash_seed, flags=flags, python=python)


@cache
def here() -> dict[str, str]:
    """The run that all others are held against, in this process."""
    return {kafka: digest(kafka, "whole") for kafka in VERSIONS}


def share(number: int) -> tuple[str, ...]:
    """Versions for the first, the second or the third of several: all of them for an evening, else every third."""
    return VERSIONS if EVENING else VERSIONS[number % 3 :: 3]


def test_three_have_every_version() -> None:
    assert sorted([*share(0), *share(1), *share(2)]) == sorted(VERSIONS * (3 if EVENING else 1))


def test_the_run_is_worth_comparing() -> None:
    """Every version is another history, with records that were acknowledged and are lost."""
    assert list(here()) == list(VERSIONS)
    assert len(set(here().values())) == len(VERSIONS)
    for line in here().values():
        _digest, executed, acked, lost, _violations = line.split()
        assert int(executed) > 5_500
        assert int(acked) > int(lost) > 0


@pytest.mark.parametrize(("line", "flags"), WAYS)
def test_another_python_agrees(line: str, flags: tuple[str, ...]) -> None:
    python = Path(sys.executable) if line == OWN else interpreter(line)
    if python is None:
        pytest.skip(f"no Python {line} found, neither python{line} on PATH nor among pyenv's versions: not compared")
    versions = share(OTHERS.index(line))
    assert run(python, "whole", "271828", *flags, versions=versions) == {kafka: here()[kafka] for kafka in versions}


@pytest.mark.parametrize(("number", "slices"), list(enumerate([*SLICES, "keyframes"])))
def test_slices_and_keyframes_do_not_matter(number: int, slices: str) -> None:
    versions = share(number)
    found = run(Path(sys.executable), slices, "31415", versions=versions)
    assert found == {kafka: here()[kafka] for kafka in versions}
