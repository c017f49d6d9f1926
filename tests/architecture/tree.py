"""The product's source files, parsed once and gone through once."""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)

ROOT = Path(__file__).parents[2]
ROOMS = ("cluster_model", "faults", "gateway", "kafka_logs", "playbooks", "spark_report", "tui")


@cache
def modules() -> dict[str, ast.Module]:
    """Dotted name of every module of the rooms → its syntax tree."""
    return parsed(*ROOMS)


@cache
def parsed(*rooms: str) -> dict[str, ast.Module]:
    """Dotted name of every module in these folders → its syntax tree."""
    return dict(chain.from_iterable(_parsed_room(room).items() for room in rooms))


@cache
def _parsed_room(room: str) -> dict[str, ast.Module]:
    found = {}
    collecting = gc.isenabled()
    gc.disable()  # of a million nodes none is garbage; to look for it takes longer than to parse
    try:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    finally:
        if collecting:
            gc.enable()
    return found


@cache
def _by_type(tree: ast.Module) -> Mapping[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree):
        found[type(node)].append(node)
    return dict(found)


def nodes(tree: ast.Module, *types: type[Node]) -> Iterator[Node]:
    """All nodes of these types in a module, wherever they are."""
    for each in types:
        yield from _by_type(tree).get(each, ())  # type: ignore[misc]


@cache
def packages() -> frozenset[str]:
    """Dotted name of every package, which is a folder with an ``__init__``."""
    return frozenset(
        ".".join(path.relative_to(ROOT).parts[:-1]) for room in ROOMS for path in (ROOT / room).rglob("__init__.py")
    )


def package_of(name: str) -> str:
    """The package that a module is in; a package is in itself."""
    return name if name in packages() else name.rpartition(".")[0]


def room_of(name: str) -> str:
    """The first part of a dotted name."""
    return name.partition(".")[0]


def imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every import anywhere in a file, functions included, with its line; ``from a import b`` gives ``a.b``."""
    for node in nodes(tree, ast.Import, ast.ImportFrom):
        yield from imported_by(node)


def imported_by(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, int]]:
    """What one statement imports, with its line."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, node.lineno
    else:
        assert node.level == 0, f"line {node.lineno}: imports are absolute"
        for alias in node.names:
            yield f"{node.module}.{alias.name}", node.lineno


def module_of(imported: str) -> str:
    """The module of ours that an imported name is or stands in; the name itself for anything else."""
    known = modules()
    return imported if imported in known else imported.rpartition(".")[0]
