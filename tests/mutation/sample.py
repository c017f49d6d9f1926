"""Sample of mutants: one small change of the source each, by the operators of cosmic-ray.

Places are drawn per package with a seed; at each place one of the operators that fit is drawn. Annotations, decorators
and what only type checking reads are left out: nobody runs them.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).parents[2]
SHARES = {
    "cluster_model/broker": 80,
    "cluster_model/log": 60,
    "cluster_model/coordinators": 90,
    "cluster_model/controller": 60,
    "cluster_model/checker": 70,
    "playbooks/conditions": 40,
}
"""How many mutants a package gets of 400."""
LEFT_OUT = ("core/RemoveDecorator", "core/ExceptionReplacer")
"""Operators whose mutants fail when they are imported, or are seen by no reader."""


class Mutant(NamedTuple):
    """One change: the file, the line (from 1) and what cosmic-ray needs to make it again."""

    path: str
    line: int
    operator: str
    args: dict[str, object]
    occurrence: int
    definition: str
    source: str
    """The line as it was: it finds the place again after other lines have moved."""

    @property
    def package(self) -> str:
        return next(package for package in SHARES if self.path.startswith(f"{package}/"))

    def apply(self, text: str) -> str:
        """The source of the file with the change in it."""
        changed = mutate_code(text, get_operator(self.operator)(**self.args), self.occurrence)
        if changed is None:
            raise ValueError(f"{self.path} has no occurrence {self.occurrence} of {self.operator}")
        return str(changed)


def sample(seed: int, count: int, root: Path = ROOT) -> list[Mutant]:
    """Mutants of all packages, in a random order, the same for the same sources and seed."""
    chosen = random.Random(seed)
    found: list[Mutant] = []
    for package, share in SHARES.items():
        places: dict[tuple[str, tuple[int, int]], list[Mutant]] = defaultdict(list)
        for path in sorted((root / package).rglob("*.py")):
            for start, mutant in mutants_of(path, root):
                places[mutant.path, start].append(mutant)
        picked = chosen.sample(sorted(places), min(len(places), round(share * count / sum(SHARES.values()))))
        found += [chosen.choice(places[place]) for place in picked]
    chosen.shuffle(found)
    return found


def mutants_of(path: Path, root: Path = ROOT) -> Iterator[tuple[tuple[int, int], Mutant]]:
    """All mutants of a file, each with where it starts."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    unread = [*unread_spans(ast.parse(text))]
    for item in _all_work_items([path], {}):
        (spec,) = item.mutations
        start = spec.start_pos
        if spec.operator_name.startswith(LEFT_OUT) or any(first <= start < last for first, last in unread):
            continue
        yield (
            start,
            Mutant(
                path.relative_to(root).as_posix(),
                start[0],
                spec.operator_name,
                dict(spec.operator_args),
                spec.occurrence,
                spec.definition_name or "",
                lines[start[0] - 1].strip(),
            ),
        )


def unread_spans(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations and imports for type checking are: line and column of their first and last character."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            parts = [node.returns, *(argument.annotation for argument in every if argument), *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts = [node]
        for part in parts:
            if isinstance(part, ast.expr | ast.stmt):
                yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)
