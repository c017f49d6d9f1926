"""How the names of files end that playbooks are in."""

from typing import Final

SUFFIXES: Final = (".yaml", ".yml")
