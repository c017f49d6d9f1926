"""What could make two runs of the model differ is not written in it at all."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tree import nodes, parsed

SET_TYPES = ("set", "frozenset", "Set", "AbstractSet", "MutableSet")
SET_METHODS = ("union", "intersection", "difference", "symmetric_difference")
ORDER_FREE = ("sorted", "sum", "any", "all", "min", "max", "len", "set", "frozenset")
ORDER_TAKING = ("list", "tuple", "iter", "enumerate", "zip", "map", "filter", "reversed", "dict", "next")


def model() -> Iterator[tuple[str, ast.Module]]:
    yield from parsed("cluster_model", "faults").items()


def calls_of(tree: ast.Module, *names: str) -> list[int]:
    return [node.lineno for node in nodes(tree, ast.Call) if isinstance(node.func, ast.Name) and node.func.id in names]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["hash", "id", "open", "print", "input", "eval", "exec", "float", "repr"])
def test_no_call_whose_answer_depends_on_the_process(function: str) -> None:
    found = [f"{name}:{line}" for name, tree in model() for line in calls_of(tree, function)]
    assert found == []


def likenesses(tree: ast.Module) -> list[ast.expr]:
    """How alike two names must be for a hint in an error message: a float that no decision hangs on."""
    return [node.value for node in nodes(tree, ast.keyword) if node.arg == "cutoff"]


def test_no_float_anywhere() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in model()
        for node in nodes(tree, ast.BinOp, ast.Constant)
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        or (isinstance(node, ast.Constant) and isinstance(node.value, float) and node not in likenesses(tree))
    ]
    assert found == []


def set_names(tree: ast.Module) -> set[str]:
    """Names and attributes of a module that hold sets, by what is assigned to them or by their annotation."""
    found = {
        name for node in nodes(tree, ast.AnnAssign) if is_set_type(node.annotation) for name in names_of(node.target)
    }
    found |= {node.arg for node in nodes(tree, ast.arg) if node.annotation is not None and is_set_type(node.annotation)}
    for node in nodes(tree, ast.ClassDef):
        for entry in node.body:
            if isinstance(entry, ast.AnnAssign) and is_set_type(entry.annotation):
                found |= {f".{name}" for name in names_of(entry.target)}
    known = -1
    while len(found) > known:  # again and again, for names that hold what later names hold
        known = len(found)
        for assigned in nodes(tree, ast.Assign):
            if is_set(assigned.value, found):
                found |= {name for target in assigned.targets for name in names_of(target)}
    return found


def names_of(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    return {f".{node.attr}"} if isinstance(node, ast.Attribute) else set()


def is_set_type(node: ast.expr) -> bool:
    base = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(base, ast.Name) and base.id in SET_TYPES


def is_set(node: ast.expr, known: set[str]) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        return is_set(node.left, known) or is_set(node.right, known)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in ("set", "frozenset")
        return isinstance(node.func, ast.Attribute) and node.func.attr in SET_METHODS
    return bool(names_of(node) & known)


TAKING = (ast.For, ast.AsyncFor, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Call, ast.Starred)


def ordered_uses(tree: ast.Module, known: set[str]) -> Iterator[int]:
    """Lines where the order of a set could get out."""
    free = {
        id(argument)
        for node in nodes(tree, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id in ORDER_FREE
        for argument in node.args
    }
    for node in nodes(tree, *TAKING):
        iterated: list[ast.expr] = []
        if isinstance(node, (ast.For, ast.AsyncFor)):
            iterated = [node.iter]
        elif isinstance(node, (ast.ListComp, ast.DictComp)) or (
            isinstance(node, ast.GeneratorExp) and id(node) not in free
        ):
            iterated = [generator.iter for generator in node.generators] if id(node) not in free else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ORDER_TAKING:
            iterated = list(node.args)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "pop"):
            iterated = list(node.args) or ([node.func.value] if node.func.attr == "pop" else [])
        elif isinstance(node, ast.Starred):
            iterated = [node.value]
        yield from (expression.lineno for expression in iterated if is_set(expression, known))


def offences(tree: ast.Module) -> list[int]:
    return list(ordered_uses(tree, set_names(tree)))


def test_no_iteration_over_a_set() -> None:
    assert [f"{name}:{line}" for name, tree in model() for line in offences(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "for x in {1, 2}: pass",
        "a = set(b)\nfor x in a: pass",
        "a = b = {1}\nc = a | d\nprint([x for x in c])",
        "def f(a: frozenset[int]):\n    return tuple(a)",
        "class C:\n    a: set[int]\n    def f(self):\n        return list(self.a)",
        "a = {x for x in y}\n', '.join(a)",
        "a: set[str] = set()\na.pop()",
        "a = {1}\nb = [*a]",
        "{x: 1 for x in set(y)}",
        "a = b.union(c)\nnext(iter(a))",
        "f(x for x in {1, 2})",
    ],
)
def test_the_rule_finds_what_it_is_for(code: str) -> None:
    assert offences(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "for x in sorted({1, 2}): pass",
        "a = {1}\nany(x > 1 for x in a)",
        "a = {1}\nx in a",
        "for x in [1, 2]: pass",
        "a = {'k': 1}\nfor x in a: pass",
        "a = [1]\na.pop()",
    ],
)
def test_the_rule_leaves_the_rest_alone(code: str) -> None:
    assert not offences(ast.parse(code))
