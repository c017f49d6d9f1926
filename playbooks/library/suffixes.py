"""How the names of files end that playbooks are in. Nothing is imported here: pytest reads this at every start."""

from typing import Final

SUFFIXES: Final = (".yaml", ".yml")
