"""Where the thread of a consumer's application is."""

from typing import Final

POLLING: Final = 0
"""The application waits in a poll ..."""
PROCESSING: Final = 1
"""... has records in hand ..."""
COMMITTING: Final = 2
"""... waits in a commitSync ..."""
CLOSING: Final = 3
"""... or in a close ..."""
CLOSED: Final = 4
"""... and is done with it."""
STARTING: Final = 5
"""A process that has just started knows of no topics yet."""
DELIVERING: Final = 6
"""The application waits for the outcome of a dead letter."""
