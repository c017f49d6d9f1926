"""How floodmark starts itself once more, in a process of its own.

Never with the current directory on the path of modules, where ``-m`` puts it: a folder of playbooks may well hold a
``faults.py`` of somebody else's.
"""

import os
import sys
from typing import Final

PROGRAM: Final = "tui.cli.main"
"""The command line."""


def command(module: str = PROGRAM) -> tuple[str, ...]:
    """The words before a command's own."""
    return sys.executable, "-P", "-m", module


def environment() -> dict[str, str]:
    """What such a process hands on to those that it starts, Spark's workers among them."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}
