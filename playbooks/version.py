"""The version of floodmark that runs."""

from typing import Final

VERSION: Final = "0.1.0"
"""Version of floodmark, also used by the distribution; package metadata would be slow to read."""
