"""Classes are whole: none is spread over bases of its own that nothing else uses."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tests.architecture.tree import ROOMS, modules, nodes, parsed

INTERFACES = {"ABC", "Protocol", "NamedTuple", "TypedDict", "Enum", "IntEnum"}
"""Bases that say of a class that it is more than the beginning of another."""


class ClassDefinition(NamedTuple):
    """A class as it is written: the names of its bases."""

    module: str
    bases: tuple[str, ...]


def classes(trees: Mapping[str, ast.Module]) -> dict[str, list[ClassDefinition]]:
    """Name → all classes of that name."""
    found: dict[str, list[ClassDefinition]] = defaultdict(list)
    for module, tree in trees.items():
        for node in nodes(tree, ast.ClassDef):
            bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
            found[node.name].append(ClassDefinition(module, bases))
    return found


def values(trees: Iterable[ast.Module]) -> set[str]:
    """Names that are called, or handed on as what can be called; a base or the type of something is neither."""
    found: set[str] = set()
    for tree in trees:
        for call in nodes(tree, ast.Call):
            found |= {ast.unparse(each).rpartition(".")[2] for each in (call.func, *call.args)}
        for given in nodes(tree, ast.IfExp, ast.Return, ast.Assign, ast.Tuple, ast.Dict):
            found |= {each.id for each in ast.iter_child_nodes(given) if isinstance(each, ast.Name)}
    return found


def torn(trees: Mapping[str, ast.Module]) -> list[tuple[str, str, str]]:
    """(module, class, subclass) of classes with a single subclass that are never made themselves."""
    every, made = classes(trees), values(trees.values())
    heirs: dict[str, set[str]] = defaultdict(set)
    for name, written in every.items():
        for each in written:
            for base in each.bases:
                heirs[base].add(name)
    return [
        (written.module, name, *heirs[name])
        for name, (written, *_) in sorted(every.items())
        if len(heirs[name]) == 1 and name not in made and not INTERFACES & set(written.bases)
    ]


def test_a_class_name_exists_once() -> None:
    every = classes(parsed(*ROOMS, "docs/generate"))
    assert {name: [each.module for each in written] for name, written in every.items() if written[1:]} == {}


def test_no_class_is_torn_by_inheritance() -> None:
    assert torn(modules()) == []


def test_a_torn_class_is_found() -> None:
    text = "class A: ...\nclass B(A): ...\nclass C: ...\nclass D(C): ...\nclass E(C): ...\nB(), D(), E()\n"
    assert torn({"m": ast.parse(text)}) == [("m", "A", "B")]
    assert torn({"m": ast.parse(f"{text}A()\n")}) == []
