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
    FixedError(
        "A broker handled all requests that a producer had in flight at once. Kafka reads the next request of a "
        "connection after it has answered the one before, also while a write waits for its replicas.",
        "all, `SocketServer`",
        "`tests/cluster_model/broker/test_muted_connections.py`",
    ),
    FixedError(
        "Messages held by a cut arrived 200 ms after its end. TCP doubles the time before each retransmission, so that "
        "they arrive up to as long after the end as the cut had lasted.",
        "TCP of Linux",
        "`tests/cluster_model/test_cuts.py`",
    ),
)


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference in a recorded run that is no error of the model, with the reason."""

    scenario: str
    releases: tuple[str, ...]
    field: str
    reason: str


KNOWN: Final[tuple[KnownDifference, ...]] = ()


def known(scenario: str, release: str, field: str) -> KnownDifference | None:
    """Return the entry of :data:`KNOWN` for a difference, None if it is new."""
    for entry in KNOWN:
        if entry.scenario == scenario and entry.field == field and release in entry.releases:
            return entry
    return None
