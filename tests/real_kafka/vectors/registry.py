"""All subjects by name, those of clients first."""

from typing import Final

from tests.real_kafka.vectors import clients, servers
from tests.real_kafka.vectors.subject import Subject

SUBJECTS: Final[dict[str, Subject]] = {subject.name: subject for subject in (*clients.SUBJECTS, *servers.SUBJECTS)}
"""Subject by name."""
