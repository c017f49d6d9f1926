"""What a program of this folder prints in another process."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def elsewhere(
    module: str, *words: str, hash_seed: str, flags: tuple[str, ...] = (), python: str | Path = sys.executable
) -> dict[str, str]:
    """The JSON object that ``python -m tests.determinism.<module> words...`` prints; each is run once."""
    done = subprocess.run(
        [python, *flags, "-m", f"tests.determinism.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found
