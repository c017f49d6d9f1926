"""Differences between real runs and the model: errors of the model now fixed, and those that stay, with reasons."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FixedError:
    """An error of the model that real brokers showed, and that is fixed."""

    error: str
    kafka: str
    """Releases, and the class of Kafka that decides."""
    test: str
    """The test that holds the model to it."""


FIXED: Final = (
    FixedError(
        "A clean election from the eligible leader replicas kept the last known leader while the ISR was below its "
        "minimum. Kafka clears it in the record of the election.",
        "3.9 to 4.1, `PartitionChangeBuilder`",
        "`tests/cluster_model/controller/rules/test_rules_kraft.py`",
    ),
)


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference in a recorded run that is no error of the model, with the reason."""

    scenario: str
    releases: tuple[str, ...]
    field: str
    reason: str


_ONE_AT_A_TIME: Final = (
    "A broker handles one request of a connection at a time (`SocketServer` mutes the channel), also while a write "
    "waits for replicas. The model handles the writes in flight together: it appends up to five batches here, real "
    "brokers appended one. After a restart the producer state has only the last batch (`ProducerStateManager`), so the "
    "model's earlier ones are written twice."
)
_BACKOFF: Final = (
    "TCP waits twice as long before each retransmission: the writes held by the cut arrived 10 s after it had ended, "
    "when the old leader had received the new leader epoch. The model retransmits 200 ms after the end of a cut."
)

KNOWN: Final[tuple[KnownDifference, ...]] = (
    KnownDifference("elr-last-member", ("4.1.2",), "orders-0 records written twice", _ONE_AT_A_TIME),
    KnownDifference("leader-isolated", ("4.1.2",), "orders-0 acknowledged records lost", _BACKOFF),
)


def known(scenario: str, release: str, field: str) -> KnownDifference | None:
    """Return the entry of :data:`KNOWN` for a difference, None if it is new."""
    for entry in KNOWN:
        if entry.scenario == scenario and entry.field == field and release in entry.releases:
            return entry
    return None
