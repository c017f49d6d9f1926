"""What to type to do something again."""

import shlex
from collections.abc import Sequence


def command_of(word: str, seed: int, settings: Sequence[str], until: str | None) -> str:
    """What to type to run one playbook again as it ran."""
    words = ["floodmark", "run", word, "--seed", str(seed)]
    for setting in settings:
        words += ["--set", setting]
    return shlex.join([*words, *(["--until", until] if until else [])])
