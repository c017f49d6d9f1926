"""Packages are small, say what they are, and import each other without cycles, in one order, by what they export.

A package is a folder with modules of its own; a folder below it is another package. Every import counts: at the top of
a module, inside functions, and for type checking only.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from tests.architecture.tree import imported_by, imports, module_of, modules, nodes, package_of, packages, room_of

MOST_MODULES = 15
"""Modules in one package, its ``__init__`` not counted."""
SHORTEST = 80
"""Lines of a module that only one module of its package uses."""
NOUNS = {"model_checking", "recording", "testing"}
"""Names that end in -ing, and are what the field calls a thing."""
MODEL_ORDER = (
    ("util",), ("protocol",), ("known_issues",), ("spec",), ("assignors",), ("kernel",), ("connections",), ("log",),
    ("broker",), ("zookeeper",), ("controller", "coordinators", "clients"), ("observation",), ("checker",),
    ("inspection",), ("",), ("manual", "model_checker"),
)  # fmt: skip
"""Layers of ``cluster_model``, lowest first: a package imports only from its own layer's package and from lower layers.
``""`` is ``cluster_model`` itself, with the whole cluster in it."""


@cache
def uses() -> tuple[tuple[str, str, str, int], ...]:
    """(module, module it imports, what it imports from it, line) for all imports within the product."""
    found = []
    for name, tree in modules().items():
        for imported, line in imports(tree):
            module = module_of(imported)
            if module in modules() and module != name:
                found.append((name, module, imported.removeprefix(module).removeprefix("."), line))
    return tuple(found)


def graph() -> dict[str, set[str]]:
    """Package to the packages that its modules import."""
    found: dict[str, set[str]] = {package: set() for package in packages()}
    for name, module, _, _ in uses():
        # What a package's ``__init__`` imports is not an arrow: it only passes its own modules' names on.
        if package_of(name) != package_of(module) and name not in packages():
            found[package_of(name)].add(package_of(module))
    return found


def cycles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Nodes that lie on a cycle, by the group that they are in."""
    reached: dict[str, set[str]] = {}
    for node in arrows:
        seen: set[str] = set()
        waiting = list(arrows[node])
        while waiting:
            if (each := waiting.pop()) not in seen:
                seen.add(each)
                waiting += arrows.get(each, ())
        reached[node] = seen
    groups = {tuple(sorted(o for o in reached[n] if n in reached.get(o, ()))) for n in arrows if n in reached[n]}
    return [list(group) for group in sorted(groups)]


def test_no_package_imports_itself_in_a_circle() -> None:
    assert cycles(graph()) == []


def test_a_circle_is_found() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["d", "a"]}) == [["b", "c"], ["d"]]
    assert cycles({"a": ["b", "c"], "b": ["c"], "c": []}) == []


def test_modules_import_each_other_in_no_circle_when_they_are_loaded() -> None:
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                arrows[name] |= {module_of(imported) for imported, _ in imported_by(node)}
    own = {
        name: {each for each in found if each in modules() and each not in packages()} for name, found in arrows.items()
    }
    assert cycles({name: found for name, found in own.items() if name not in packages()}) == []


def test_packages_are_small() -> None:
    sizes = Counter(package_of(name) for name in modules() if name not in packages())
    assert {package: size for package, size in sizes.items() if size > MOST_MODULES} == {}


def test_no_module_is_a_shred_of_its_neighbour() -> None:
    """A short module that one module of its package uses belongs into that one.

    Not so where it is read later than that one, or is run by itself.
    """
    users: dict[str, set[str]] = defaultdict(set)
    for name, module, _, _ in uses():
        users[module].add(name)
    later = {
        module_of(imported)
        for tree in modules().values()
        for function in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for imported, _ in imported_by(node)
    }
    shreds = [
        f"{module} of {user}"
        for module, (user, *others) in ((module, sorted(users[module])) for module in modules() if users[module])
        if not others and package_of(user) == package_of(module) and not {module, user} & packages()
        if module not in later and length_of(module) < SHORTEST
    ]
    assert shreds == []


def length_of(module: str) -> int:
    """Lines of a module."""
    return max(node.end_lineno or 0 for node in modules()[module].body)


def test_names_of_modules_are_nouns() -> None:
    """What is in a module, and not what is done there, nor a word for any bag."""
    bags = {"words", "telling", "lines", "ground", "house", "utils", "helpers", "misc", "common", "told", "asked"}
    last = {name: name.rpartition(".")[2] for name in modules()}
    assert [name for name, word in last.items() if word in bags or (word.endswith("ing") and word not in NOUNS)] == []


def parts_of(package: str) -> list[str]:
    """Modules and packages that are directly in a package."""
    return sorted(name.rpartition(".")[2] for name in modules() if name.rpartition(".")[0] == package)


def test_every_package_says_what_is_in_it() -> None:
    silent = [
        f"{package}: {part}"
        for package in sorted(packages())
        for part in parts_of(package)
        if part != "__main__" and not re.search(rf"\b{part}\b", ast.get_docstring(modules()[package]) or "")
    ]
    assert silent == []


def layer_of(name: str) -> str:
    """The folder of ``cluster_model`` that a module is in, ``""`` for the model's own modules."""
    package = package_of(name)
    return package.split(".")[1] if "." in package else ""


def test_the_model_is_in_layers() -> None:
    level = {folder: place for place, folders in enumerate(MODEL_ORDER) for folder in folders}
    upward = [
        f"{name}:{line} imports {module}"
        for name, module, _, line in uses()
        if room_of(name) == room_of(module) == "cluster_model"
        and name not in packages()
        and layer_of(name) != layer_of(module)
        and level[layer_of(module)] >= level[layer_of(name)]
    ]
    assert upward == []


def exported(package: str) -> set[str]:
    """What a package's ``__all__`` has: names, and modules that are public as they are."""
    for node in modules()[package].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def test_other_rooms_import_what_packages_export() -> None:
    """A name from its package, or anything from a module that its package has in ``__all__``."""
    past = [
        f"{name}:{line} imports {what} from {module}"
        for name, module, what, line in uses()
        if room_of(name) != room_of(module)
        and (what if module in packages() else module.rpartition(".")[2]) not in exported(package_of(module))
    ]
    assert past == []


def test_packages_define_every_exported_name() -> None:
    gone = [
        f"{package}.{name}"
        for package in packages()
        for name in exported(package)
        if f"{package}.{name}" not in modules() and name not in bound_in(package)
    ]
    assert gone == []


def bound_in(package: str) -> set[str]:
    """Names that a package's file imports whenever it is loaded."""
    top = [node for node in modules()[package].body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in top for alias in node.names}


def test_no_module_imports_names_from_its_own_package() -> None:
    """They come from the module that has them: by way of ``__init__`` they could lead back in a circle."""
    own = [
        f"{name}:{line} imports {what}"
        for name, module, what, line in uses()
        if module in packages() and name not in packages() and package_of(name) == module
    ]
    assert own == []


def test_a_package_passes_on_names_of_its_own_modules_only() -> None:
    foreign = [
        f"{package}:{line} imports {imported}"
        for package in sorted(packages())
        for imported, line in imports(modules()[package])
        if package_of(module_of(imported)) != package
    ]
    assert foreign == []
