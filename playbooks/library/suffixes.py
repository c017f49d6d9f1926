"""The file name suffixes of playbooks; it imports nothing, as pytest loads it at every start."""

from typing import Final

SUFFIXES: Final = (".yaml", ".yml")
