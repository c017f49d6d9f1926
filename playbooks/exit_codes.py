"""How a run ends for the shell: one number for a verdict, an error, or a stop, and the worst of several."""

from collections.abc import Iterable, Mapping
from typing import Final

OK: Final = 0
FAILED: Final = 1
BAD_INPUT: Final = 2
INCONCLUSIVE: Final = 3
INTERNAL: Final = 70
INTERRUPTED: Final = 130

CODES: Final[Mapping[str, int]] = {"pass": OK, "fail": FAILED, "inconclusive": INCONCLUSIVE}
WORST_FIRST: Final = (INTERRUPTED, INTERNAL, BAD_INPUT, FAILED, INCONCLUSIVE, OK)


def worst(codes: Iterable[int]) -> int:
    """The code that counts of several; what never ran (any other number) counts for nothing."""
    found = set(codes)
    return next((code for code in WORST_FIRST if code in found), OK)
