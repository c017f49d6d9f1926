"""How large a playbook may be: what the manual says, at each limit and one above it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.conditions import condition, grammar
from playbooks.parser.document import grid, includes, variables
from playbooks.parser.document.field_types import TextType
from playbooks.parser.document.yaml_source import MAX_ALIASES, MAX_BYTES, MAX_DEPTH, MAX_NODES, compose
from playbooks.parser.loader import load, loads
from playbooks.parser.sections import expectations
from playbooks.parser.steps import step_groups, targets, timed_steps
from tests.support.mistakes import mistakes_of
from tests.support.playbooks import CLUSTER

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[3] / "docs" / "run" / "playbooks.md"


def composed(text: str, _path: Path) -> None:
    compose(text, "limits.yaml")


def loaded(text: str, path: Path) -> None:
    (path / "limits.yaml").write_text(text)
    load(path / "limits.yaml")


def expect(condition: str) -> str:
    return f"{CLUSTER}expect:\n  - {condition}\n"


def grouped(depth: int, _path: Path) -> str:
    return f"{CLUSTER}steps:\n  - {'{repeat: 1, steps: [' * depth}heal: all{']}' * depth}\n"


def rounds(count: int, _path: Path) -> str:
    """So many steps with the one that begins the only round."""
    inner = "        - heal: all\n" * (count - 1)
    return f"{CLUSTER}steps:\n  - repeat: 1\n    steps:\n{inner}"


def fragments_within_each_other(depth: int, path: Path) -> str:
    for number in range(1, depth + 1):
        more = f"include: f{number + 1}.yaml\n" if number < depth else ""
        (path / f"f{number}.yaml").write_text(f"floodmark: 1\nfragment: f{number}\n{more}settle: 1s\n")
    return CLUSTER + "include: f1.yaml\n"


def fragments(count: int, path: Path) -> str:
    (path / "one.yaml").write_text("floodmark: 1\nfragment: one\nsteps:\n  - heal: all\n")
    return CLUSTER + "steps:\n" + "  - include: one.yaml\n" * count


def variables_of_variables(count: int, _path: Path) -> str:
    chain = "".join(f"  v{number}: ${{v{number - 1}}}\n" for number in range(1, count))
    return f"{CLUSTER}vars:\n  v0: 1s\n{chain}settle: ${{v{count - 1}}}\n"


def latencies(count: int, _path: Path) -> str:
    values = ", ".join(f"{number}us" for number in range(1, count + 1))
    return f"{CLUSTER}vary:\n  settle: [{values}]\n"


Make = Callable[[int, Path], str]

LIMITS: dict[str, tuple[int, Make, Callable[[str, Path], None]]] = {
    "bytes of a file": (MAX_BYTES, lambda n, _: CLUSTER + "#" * (n - len(CLUSTER)), loaded),
    "values in a file": (MAX_NODES, lambda n, _: "[" + "x," * (n - 1) + "]", composed),
    "levels of lists and mappings": (MAX_DEPTH, lambda n, _: "[" * n + "x" + "]" * n, composed),
    "aliases in a file": (MAX_ALIASES, lambda n, _: f"a: &x 1\nb: [{'*x, ' * n}]\n", composed),
    "characters of a text": (TextType().longest, lambda n, _: CLUSTER.replace("A small cluster", "x" * n), loaded),
    "steps": (timed_steps.MAX_STEPS, lambda n, _: f"{CLUSTER}steps:\n" + "  - heal: all\n" * n, loaded),
    "steps with all rounds written out": (timed_steps.MAX_STEPS, rounds, loaded),
    "groups of steps within each other": (step_groups.MAX_GROUPS, grouped, loaded),
    "characters of a target": (
        targets.LONGEST,
        lambda n, _: f"{CLUSTER}steps:\n  - {{inject: lag, target: 'broker({' ' * (n - 9)}1)'}}\n",
        loaded,
    ),
    "expectations": (
        expectations.MAX_EXPECTATIONS,
        lambda n, _: f"{CLUSTER}expect:\n" + "  - acked() == 0\n" * n,
        loaded,
    ),
    "characters of a condition": (
        grammar.MAX_LENGTH,
        lambda n, _: expect(f"acked() =={' ' * (n - 11)}0"),
        loaded,
    ),
    "operations within each other in a condition": (
        condition.MAX_DEPTH,
        lambda n, _: expect("not " * n + "true"),
        loaded,
    ),
    "fragments included by each other": (includes.MAX_DEPTH, fragments_within_each_other, loaded),
    "includes": (includes.MAX_INCLUDES, fragments, loaded),
    "variables made of each other": (variables.MAX_CHAIN, variables_of_variables, loaded),
    "cells of a grid": (grid.MAX_CELLS, lambda n, _: f"{CLUSTER}vary:\n  seed: 1..{n}\n", loaded),
    "cells of a grid apart from seeds": (grid.MAX_SETTINGS, latencies, loaded),
}


@pytest.mark.parametrize("name", LIMITS)
def test_at_the_limit_it_is_read_and_one_above_it_is_refused(
    name: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    limit, make, read = LIMITS[name]
    read(make(limit, tmp_path), tmp_path)
    (problem,) = mistakes_of(lambda: read(make(limit + 1, tmp_path), tmp_path))
    assert problem.message.replace(str(tmp_path), "<tmp>") == snapshot


def test_the_manual_has_every_limit() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| ([0-9 ]+) \|$", DOCS.read_text(), re.MULTILINE)
    assert {name: int(number.replace(" ", "")) for name, number in rows} == {
        name: limit for name, (limit, _make, _read) in LIMITS.items()
    }


def test_errors_of_the_largest_file_are_reported_once() -> None:
    text = CLUSTER + "steps:\n" + "  - {repeat: 1000, steps: [{heal: none}]}\n"
    assert len(mistakes_of(lambda: loads(text, "many.yaml"))) == 1
