"""Subjects of brokers, controllers and coordinators.

It exports the list of its subjects.
"""

from typing import Final

from tests.real_kafka.vectors.servers.batch_validation import BATCH_VALIDATION
from tests.real_kafka.vectors.servers.leader_epoch_caches import LEADER_EPOCH_CACHES
from tests.real_kafka.vectors.servers.partition_changes import PARTITION_CHANGES
from tests.real_kafka.vectors.servers.producer_states import PRODUCER_STATES
from tests.real_kafka.vectors.servers.server_assignors import SERVER_ASSIGNMENTS
from tests.real_kafka.vectors.servers.transaction_transitions import TRANSACTION_TRANSITIONS
from tests.real_kafka.vectors.subject import Subject

__all__ = ["SUBJECTS"]

SUBJECTS: Final[tuple[Subject, ...]] = (
    PARTITION_CHANGES, LEADER_EPOCH_CACHES, PRODUCER_STATES, SERVER_ASSIGNMENTS, TRANSACTION_TRANSITIONS,
    BATCH_VALIDATION,
)  # fmt: skip
