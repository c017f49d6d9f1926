"""Subjects of clients and of the protocol.

It exports the list of its subjects.
"""

from typing import Final

from tests.real_kafka.vectors.clients.api_version_ranges import API_VERSION_RANGES
from tests.real_kafka.vectors.clients.client_assignments import CLIENT_ASSIGNMENTS
from tests.real_kafka.vectors.clients.config_definitions import CONFIG_DEFINITIONS
from tests.real_kafka.vectors.clients.error_codes import ERROR_CODES
from tests.real_kafka.vectors.clients.partitioner_choices import PARTITIONER_CHOICES
from tests.real_kafka.vectors.subject import Subject

__all__ = ["SUBJECTS"]

SUBJECTS: Final[tuple[Subject, ...]] = (
    ERROR_CODES,
    API_VERSION_RANGES,
    CONFIG_DEFINITIONS,
    PARTITIONER_CHOICES,
    CLIENT_ASSIGNMENTS,
)
