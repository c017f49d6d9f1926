"""Imports one module with a mutant in it: ``pytest -p tests.mutation.substitute``, the mutant as JSON in ``MUTANT``."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType

from tests.mutation.sample import ROOT, Mutant

VARIABLE = "MUTANT"


def compile_by(compilers: Mapping[str, Callable[[], CodeType]]) -> None:
    """Have the modules of these paths compiled so when they are imported, whatever bytecode there is of them.

    The finder comes before pytest's own, which else takes the product for a plugin and rewrites its assertions.
    """

    class Loader(SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType:
            return compilers[self.path]()

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Sequence[str] | None = None, target: None = None) -> ModuleSpec | None:
            spec = PathFinder.find_spec(name, path, target)
            if spec is None or spec.origin not in compilers:
                return None
            spec.loader = Loader(name, spec.origin)
            return spec

    sys.meta_path.insert(0, Finder)  # type: ignore[arg-type]


def substitute(mutant: Mutant) -> None:
    """Have the module compiled from its changed source."""
    path = ROOT / mutant.path
    compile_by({str(path): lambda: compile(mutant.apply(path.read_text(encoding="utf-8")), path, "exec")})


if VARIABLE in os.environ:
    substitute(Mutant(*json.loads(os.environ[VARIABLE])))
