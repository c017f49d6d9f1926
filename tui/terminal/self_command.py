"""Command line to start floodmark in a child process.

The current directory is kept off the module path, where ``-m`` would put it: a folder of playbooks may contain an
unrelated ``faults.py``.
"""

import os
import sys
from typing import Final

PROGRAM: Final = "tui.cli.main"
"""Module of the command line."""
BROWSER_DRIVER: Final = "tui.terminal.browser_driver:BrowserDriver"
"""Value of TEXTUAL_DRIVER in a process whose terminal is in a browser."""


def command(module: str = PROGRAM) -> tuple[str, ...]:
    """Return the arguments before those of the command."""
    return sys.executable, "-P", "-m", module


def environment() -> dict[str, str]:
    """Return the environment of the child process, which its own children (such as Spark workers) inherit."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}
