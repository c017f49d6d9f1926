"""The compiled model is the same model: the run full of faults ends in the same digests, and so do transactions."""

import ast
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import modules
from tests.support.breadth import sample_count, spread_sample

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    ("driver", "whole", "delayed-commit"),
    ("lives", "whole"),
    ("transactions", "whole"),
    ("driver", "whole", "delayed-commit-matrix", "exactly-once", "hanging-transaction", "zombie-producer"),
    ("copying", "whole"),
)
"""What runs the producers that inherit from the usual one: of transactions, of output and of dead letters."""


def classes(node: ast.AST) -> Iterator[ast.ClassDef]:
    """All below a node, wherever they stand; expressions have none."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.ClassDef):
            yield each
        if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from classes(each)


def compiled_modules() -> set[str]:
    """Dotted names of the modules that setup.py has compiled."""
    for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED":
            table: dict[str, list[str]] = ast.literal_eval(node.value)
            return {f"{folder}/{name}".replace("/", ".") for folder, names in table.items() for name in names}
    raise AssertionError("setup.py has no table of compiled modules")


@cache
def defined_in(module: str, name: str) -> str:
    """The module that defines a class, by the name it has in another module; empty for one that is not ours."""
    alias, _, attribute = name.partition(".")
    for node in modules()[module].body if module in modules() else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                if (each.asname or each.name) == alias:
                    return defined_in(
                        f"{node.module}.{each.name}" if attribute else node.module, attribute or each.name
                    )
    return ""


def test_every_class_below_a_compiled_one_is_compiled() -> None:
    """An interpreted class that inherits from a compiled one cannot be made."""
    compiled = compiled_modules()
    assert compiled <= set(modules())
    for module in set(modules()) - compiled:
        for node in classes(modules()[module]):
            bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
            if "Protocol" not in bases:  # nobody makes one of those
                below = [base for base in bases if defined_in(module, base) in compiled]
                assert not below, f"{module}.{node.name} inherits from {below[0]}, which is compiled"


def test_no_compiled_class_is_a_frozen_dataclass() -> None:
    """A keyframe that holds one cannot be read back: what a compiled class has is set from outside."""
    for module in compiled_modules():
        for node in classes(modules()[module]):
            frozen = [each for each in map(ast.unparse, node.decorator_list) if "frozen=True" in each]
            assert not frozen, f"{module}.{node.name}"


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
        env={**os.environ, "FLOODMARK_COMPILE": "1", "FLOODMARK_OPTIMIZE": str(sample_count(0, 3)), "CFLAGS": "-w"},
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
    for slices in spread_sample(("keyframes", "slice"), 1):  # the first one loads them into twins
        assert json.loads(answer(paths, "-m", "tests.determinism.bare", slices)) == plain
    for program, *words in spread_sample(PROGRAMS, 2):
        ran = ("-m", f"tests.determinism.{program}", *words)
        assert json.loads(answer(paths, *ran)) == json.loads(answer(str(ROOT), *ran))
