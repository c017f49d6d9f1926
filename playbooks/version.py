"""The version of floodmark that runs."""

from typing import Final

VERSION: Final = "0.1.0"
"""What the distribution takes its version from, so that nobody has to ask it which it is: that is slow."""
