"""Scenarios of the comparison with real brokers: which playbooks, about what, on which releases."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playbooks.library.bundled import path_of

RELEASES: Final = ("3.9.2", "4.0.2", "4.1.2")
"""Releases that a run may name; the model has their profiles."""
SCENARIOS_DIRECTORY: Final = Path(__file__).parents[1] / "scenarios"


@dataclass(frozen=True, slots=True)
class ConformanceScenario:
    """One playbook that runs on real brokers and on the model."""

    name: str
    """File name of the playbook in ``scenarios/`` without its ending, or its name in the library."""
    area: str
    """Heading of the table that it belongs to."""
    releases: tuple[str, ...] = ("4.1.2",)
    """Releases that ``make conformance`` runs it on."""

    @property
    def path(self) -> Path:
        """The playbook."""
        own = SCENARIOS_DIRECTORY / f"{self.name}.yaml"
        return own if own.is_file() else Path(str(path_of(self.name)))


_LOSS: Final = "Acknowledgements and lost records"
_ISR: Final = "In-sync replicas and elections"
_OPERATIONS: Final = "Operations"
_CONTROLLER: Final = "Controllers"
_GROUPS: Final = "Consumer groups"
_TRANSACTIONS: Final = "Transactions"

SCENARIOS: Final = (
    ConformanceScenario("acks-0-leader-crash", _LOSS),
    ConformanceScenario("acks-1-leader-crash", _LOSS, ("3.9.2",)),
    ConformanceScenario("acks-all-leader-crash", _LOSS, ("3.9.2",)),
    ConformanceScenario("acks-1-slow-followers", _LOSS),
    ConformanceScenario("acks-1-lost-tail", _LOSS, ("3.9.2", "4.1.2")),
    ConformanceScenario("acks-all-slow-followers", _LOSS),
    ConformanceScenario("gc-pause-acks-1", _LOSS),
    ConformanceScenario("gc-pause-acks-all", _LOSS),
    ConformanceScenario("leader-isolated", _LOSS),
    ConformanceScenario("unclean-election", _LOSS, ("3.9.2", "4.1.2")),
    ConformanceScenario("consumer-truncation", _LOSS),
    ConformanceScenario("min-isr-matrix", _LOSS),
    ConformanceScenario("min-isr-not-enough", _LOSS),
    ConformanceScenario("min-isr-after-append", _LOSS),
    ConformanceScenario("gc-pause-short", _ISR, ("4.1.2",)),
    ConformanceScenario("follower-cut", _ISR, ("3.9.2",)),
    ConformanceScenario("follower-partitioned", _ISR),
    ConformanceScenario("follower-crash", _ISR),
    ConformanceScenario("isr-shrink-rejoin", _ISR),
    ConformanceScenario("unclean-election-off", _ISR, ("3.9.2",)),
    ConformanceScenario("elr-last-member", _ISR),
    ConformanceScenario("two-failures", _ISR, ("4.1.2",)),
    ConformanceScenario("leader-flapping", _ISR),
    ConformanceScenario("leader-shutdown", _OPERATIONS),
    ConformanceScenario("rolling-restart", _OPERATIONS),
    ConformanceScenario("rolling-restart-waiting", _OPERATIONS),
    ConformanceScenario("reassignment-throttled", _OPERATIONS),
    ConformanceScenario("preferred-election", _OPERATIONS),
    ConformanceScenario("partition-added", _OPERATIONS),
    ConformanceScenario("controller-crash", _CONTROLLER),
    ConformanceScenario("controller-and-leader-crash", _CONTROLLER),
    ConformanceScenario("quorum-lost", _CONTROLLER),
    ConformanceScenario("coordinator-crash", _GROUPS),
    ConformanceScenario("consumer-crash-classic", _GROUPS),
    ConformanceScenario("consumer-leave-eager", _GROUPS, ("3.9.2",)),
    ConformanceScenario("consumer-leave-cooperative", _GROUPS),
    ConformanceScenario("consumer-leave-static", _GROUPS),
    ConformanceScenario("consumer-leave-kip-848", _GROUPS),
    ConformanceScenario("poll-interval", _GROUPS),
    ConformanceScenario("retention-overtakes-reader", _GROUPS),
    ConformanceScenario("offsets-expiry", _GROUPS),
    ConformanceScenario("transaction-producer-crash", _TRANSACTIONS),
    ConformanceScenario("transaction-fenced", _TRANSACTIONS),
    ConformanceScenario("transaction-leader-crash", _TRANSACTIONS, ("3.9.2",)),
    ConformanceScenario("delayed-commit", _TRANSACTIONS),
)
"""All scenarios, those that cost acknowledged records first."""


def scenario_named(name: str) -> ConformanceScenario:
    """Return a scenario.

    Raises:
        KeyError: there is none of that name.
    """
    for scenario in SCENARIOS:
        if scenario.name == name:
            return scenario
    raise KeyError(name)
