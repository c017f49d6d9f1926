"""How the work is sliced between keys."""

from typing import Final

SLICE_S: Final = 0.008
"""The longest that the model runs before a key may come."""
BATCH: Final = 32
"""Events between two looks at the clock."""
