"""Subjects of clients and of the protocol.

It exports the list of its subjects.
"""

from typing import Final

from tests.real_kafka.vectors.clients.error_codes import ERROR_CODES
from tests.real_kafka.vectors.subject import Subject

__all__ = ["SUBJECTS"]

SUBJECTS: Final[tuple[Subject, ...]] = (ERROR_CODES,)
