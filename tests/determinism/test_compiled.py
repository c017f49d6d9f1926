"""The compiled model is the same model: the run full of faults ends in the same digests."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.breadth import many, some

ROOT = Path(__file__).parents[2]


def compiler() -> str | None:
    """The C compiler that extension modules are built with, if this machine has it."""
    return shutil.which((os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0])


def answer(path: str, *arguments: str) -> str:
    """What another process prints that finds the packages by ``path``."""
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.compiled
def test_the_compiled_model_has_the_same_history(tmp_path: Path) -> None:
    if compiler() is None or not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("no C compiler, or none of Python's headers, found: the compiled model was not compared")
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "tests", "sessions", "*.egg-info"))
    target = tmp_path / "compiled"
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [sys.executable, *pip, "--target", target, source],
        # To look for what to warn of takes three times as long as to compile.
        env={**os.environ, "FLOODMARK_COMPILE": "1", "FLOODMARK_OPTIMIZE": str(many(0, 3)), "CFLAGS": "-w"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    paths = f"{target}{os.pathsep}{ROOT}"
    where = answer(paths, "-c", "import cluster_model.broker.request_handler as module; print(module.__file__)").strip()
    assert where.startswith(str(target))
    assert not where.endswith(".py"), "this one is compiled"
    plain = json.loads(answer(str(ROOT), "-m", "tests.determinism.bare", "slice"))
    for slices in some(("keyframes", "slice"), 1):  # the first one loads them into twins
        assert json.loads(answer(paths, "-m", "tests.determinism.bare", slices)) == plain
