"""Imports one module with a mutant in it: ``pytest -p tests.mutation.substitute``, the mutant as JSON in ``MUTANT``."""

import json
import os
from importlib.machinery import SourceFileLoader
from types import CodeType

from tests.mutation.sample import ROOT, Mutant

VARIABLE = "MUTANT"


def substitute(mutant: Mutant) -> None:
    """Have the module compiled from its changed source when it is imported, whatever bytecode there is of it."""
    usual = SourceFileLoader.get_code
    path = ROOT / mutant.path

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        if loader.path != str(path):
            return usual(loader, name)
        changed: CodeType = compile(mutant.apply(path.read_text(encoding="utf-8")), loader.path, "exec")
        return changed

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


if VARIABLE in os.environ:
    substitute(Mutant(*json.loads(os.environ[VARIABLE])))
