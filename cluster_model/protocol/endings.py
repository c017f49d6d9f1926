"""How a process ended, as ``NodeDown`` tells it; one that ends itself gives its reason there."""

from typing import Final

CRASH: Final = "crash"
"""Killed: the page cache stays, and peers are told by resets."""
POWER_LOSS: Final = "power_loss"
"""Its machine is gone: what was not yet on disk too, and nobody is told."""
OUT_OF_MEMORY: Final = "out_of_memory"
