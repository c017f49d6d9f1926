"""What a release changes is a flag in ``protocol/versions.py``; no other code compares releases."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.tree import modules, nodes

pytestmark = pytest.mark.slow

ALLOWED = {
    "cluster_model.protocol.releases": "order of releases, and rules that hold in some",
    "cluster_model.protocol.versions": "the modes of a release",
    "cluster_model.known_issues.issue": "the first release that has a bug",
    "cluster_model.protocol.config_defaults": "the table of configurations and their defaults",
    "cluster_model.protocol.features": "the table of levels of features",
    "faults.declarations.operation": "the table of operations, each with the release that brought it",
    "gateway.protocol.api_versions": "the table of versions of APIs",
    "gateway.server": "the oldest release whose versions of APIs can be spoken",
    "playbooks.diagnosis.remedies": "later releases to try, in their order",
}
"""Module → why it may compare releases."""
RELEASE = re.compile(r"(profile|client)\.number\b|\b(?:parse_version|number_of)\(|\bProfile\.of\(.*\.number\b")
"""The number of a release, as it is written."""
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_version(node: ast.AST | None) -> bool:
    """Whether something is the number of a release, written out."""
    return (
        isinstance(node, ast.Tuple)
        and len(node.elts) == 3
        and all(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in node.elts)
    )


def constants_in(tree: ast.Module) -> Iterator[str]:
    """Constants of a module that are the number of a release, or a mapping to such numbers."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            if any(is_version(each) for each in values):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (each.id for each in targets if isinstance(each, ast.Name))


@cache
def constants() -> frozenset[str]:
    return frozenset(name for tree in modules().values() for name in constants_in(tree))


def names_of_releases(function: Function) -> set[str]:
    """Names that are bound to the number of a release: parameters by their type, variables by what they are given."""
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    found = {each.arg for each in every if each.annotation and ast.unparse(each.annotation) == "Version"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and RELEASE.search(ast.unparse(node.value)) and not _asks(node.value):
            found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    return found


def _asks(node: ast.AST) -> bool:
    """Whether a value is what a function makes of a release, or of a comparison, and no release."""
    made = isinstance(node, ast.Call) and ast.unparse(node.func) not in ("parse_version", "number_of", "min", "max")
    return made or not isinstance(node, ast.Attribute | ast.Call)


def comparisons(tree: ast.Module, known: frozenset[str]) -> list[str]:
    """Comparisons with the number of a release, as ``line: code``; ``known`` are constants that are one."""
    bound = {
        id(node): names
        for function in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if (names := names_of_releases(function))
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
    }
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in nodes(tree, ast.Compare)
        if isinstance(node.ops[0], _ORDERS)
        and any(_is_release(each, known, bound.get(id(node), set())) for each in (node.left, *node.comparators))
    ]


def _is_release(node: ast.AST, known: frozenset[str], bound: set[str]) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_release(node.value, known, bound)
    if isinstance(node, ast.Name):
        return node.id in known or node.id in bound
    written = isinstance(node, ast.Attribute | ast.Call) and RELEASE.search(ast.unparse(node)) and not _asks(node)
    return bool(written) or is_version(node)


def test_releases_are_compared_in_their_tables_only() -> None:
    """A new rule of a release is a flag: see "A profile flag" in ``docs/develop/contributing.md``."""
    found = {
        name: compared
        for name, tree in modules().items()
        if name not in ALLOWED and (compared := comparisons(tree, constants()))
    }
    assert found == {}


def test_modules_allowed_to_compare_releases_do_so() -> None:
    assert [name for name in ALLOWED if not comparisons(modules()[name], constants())] == []


@pytest.mark.parametrize(
    "code",
    [
        "late = profile.number >= (2, 4, 0)",
        "late = self._profile.number[:2] == (1, 0)",
        "late = own.version >= _FIRST",
        "late = number < _FIXED[cause]",
        "late = parse_version(kafka) > (3, 9, 0)",
        "def f(profile):\n    number = profile.number\n    return g(number > other)",
        "def f(client, profile):\n    number = min(client.number, profile.number)\n    return number < (2, 7, 0)",
        "def f(version: Version, first):\n    return version < first",
    ],
)
def test_comparisons_are_found(code: str) -> None:
    assert len(comparisons(ast.parse(code), frozenset({"_FIRST", "_FIXED"}))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "late = profile.timestamps",
        "defaults = Configured('broker', profile.number, config)\nfew = defaults.number('x') < 3",
        "late = flag.holds(profile.number)",
        "late = request.version >= 4",
        "def f(worker):\n    number = worker.number\n    return number < 0",
    ],
)
def test_the_rest_is_left_alone(code: str) -> None:
    assert comparisons(ast.parse(code), frozenset({"_FIRST"})) == []
