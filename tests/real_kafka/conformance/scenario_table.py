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
    rules: tuple[str, ...]
    """Areas of the fidelity card whose rules decide what is compared."""
    releases: tuple[str, ...] = ("4.1.2",)
    """Releases that ``make conformance`` runs it on, the most important first."""

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
    ConformanceScenario("acks-0-leader-crash", _LOSS, ("producer", "recovery", "KRaft controller")),
    ConformanceScenario(
        "acks-1-leader-crash", _LOSS, ("producer", "recovery", "truncation", "KRaft controller", "consumer"), ("3.9.2",)
    ),
    ConformanceScenario(
        "acks-all-leader-crash",
        _LOSS,
        ("producer", "idempotence", "high watermark", "recovery", "KRaft controller", "consumer"),
        ("3.9.2", "4.0.2"),
    ),
    ConformanceScenario("acks-1-slow-followers", _LOSS, ("high watermark", "truncation", "KRaft controller")),
    ConformanceScenario(
        "acks-1-lost-tail", _LOSS, ("high watermark", "truncation", "ISR changes and elections"), ("4.1.2", "3.9.2")
    ),
    ConformanceScenario("acks-all-slow-followers", _LOSS, ("high watermark", "idempotence", "KRaft controller")),
    ConformanceScenario("gc-pause-acks-1", _LOSS, ("truncation", "KRaft controller", "network and machines")),
    ConformanceScenario(
        "gc-pause-acks-all", _LOSS, ("high watermark", "idempotence", "KRaft controller", "network and machines")
    ),
    ConformanceScenario("leader-isolated", _LOSS, ("connections", "network and machines", "KRaft controller")),
    ConformanceScenario(
        "unclean-election",
        _LOSS,
        ("truncation", "in-sync replicas", "KRaft controller", "ISR changes and elections"),
        ("4.1.2", "3.9.2", "4.0.2"),
    ),
    ConformanceScenario("consumer-truncation", _LOSS, ("consumer", "truncation")),
    ConformanceScenario("min-isr-matrix", _LOSS, ("in-sync replicas", "high watermark", "ISR changes and elections")),
    ConformanceScenario("min-isr-not-enough", _LOSS, ("producer", "ISR changes and elections")),
    ConformanceScenario(
        "min-isr-after-append", _LOSS, ("in-sync replicas", "high watermark", "producer"), ("4.1.2", "4.0.2")
    ),
    ConformanceScenario("gc-pause-short", _ISR, ("in-sync replicas", "KRaft controller", "network and machines")),
    ConformanceScenario("follower-cut", _ISR, ("in-sync replicas", "fetching", "network and machines"), ("3.9.2",)),
    ConformanceScenario("follower-partitioned", _ISR, ("in-sync replicas", "high watermark", "fetching")),
    ConformanceScenario("follower-crash", _ISR, ("ISR changes and elections", "KRaft controller", "recovery")),
    ConformanceScenario("isr-shrink-rejoin", _ISR, ("in-sync replicas", "fetching")),
    ConformanceScenario("unclean-election-off", _ISR, ("in-sync replicas", "KRaft controller"), ("3.9.2", "4.0.2")),
    ConformanceScenario("elr-last-member", _ISR, ("KRaft controller", "ISR changes and elections")),
    ConformanceScenario(
        "two-failures", _ISR, ("KRaft controller", "ISR changes and elections", "idempotence"), ("4.1.2", "3.9.2")
    ),
    ConformanceScenario("leader-flapping", _ISR, ("KRaft controller", "truncation", "idempotence", "recovery")),
    ConformanceScenario("leader-shutdown", _OPERATIONS, ("KRaft controller", "producer")),
    ConformanceScenario("rolling-restart", _OPERATIONS, ("KRaft controller", "idempotence", "consumer")),
    ConformanceScenario("rolling-restart-waiting", _OPERATIONS, ("KRaft controller", "ISR changes and elections")),
    ConformanceScenario("reassignment-throttled", _OPERATIONS, ("fetching", "ISR changes and elections")),
    ConformanceScenario("preferred-election", _OPERATIONS, ("KRaft controller",)),
    ConformanceScenario("partition-added", _OPERATIONS, ("topics and settings", "groups")),
    ConformanceScenario("controller-crash", _CONTROLLER, ("KRaft quorum",)),
    ConformanceScenario("controller-and-leader-crash", _CONTROLLER, ("KRaft quorum", "KRaft controller")),
    ConformanceScenario("quorum-lost", _CONTROLLER, ("KRaft quorum", "KRaft controller")),
    ConformanceScenario("coordinator-crash", _GROUPS, ("groups", "consumer")),
    ConformanceScenario("consumer-crash-classic", _GROUPS, ("groups", "consumer")),
    ConformanceScenario("consumer-leave-eager", _GROUPS, ("groups",), ("3.9.2",)),
    ConformanceScenario("consumer-leave-cooperative", _GROUPS, ("groups",)),
    ConformanceScenario("consumer-leave-static", _GROUPS, ("groups",)),
    ConformanceScenario("consumer-leave-kip-848", _GROUPS, ("consumer protocol",), ("4.1.2", "4.0.2")),
    ConformanceScenario("poll-interval", _GROUPS, ("groups", "consumer")),
    ConformanceScenario("retention-overtakes-reader", _GROUPS, ("retention", "consumer")),
    ConformanceScenario("offsets-expiry", _GROUPS, ("groups", "consumer")),
    ConformanceScenario("transaction-producer-crash", _TRANSACTIONS, ("transactions",), ("4.1.2", "3.9.2", "4.0.2")),
    ConformanceScenario(
        "transaction-fenced", _TRANSACTIONS, ("transactions", "idempotence"), ("4.1.2", "3.9.2", "4.0.2")
    ),
    ConformanceScenario("transaction-leader-crash", _TRANSACTIONS, ("transactions", "idempotence"), ("3.9.2", "4.1.2")),
    ConformanceScenario("delayed-commit", _TRANSACTIONS, ("transactions", "connections"), ("4.1.2", "4.0.2")),
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
