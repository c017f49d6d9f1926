"""Risks as rows of a table and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cluster_model.spec import OFFSETS, TRANSACTIONS
from playbooks.cluster_risks.placement_risks import Placement, Risk
from playbooks.cluster_risks.simulated_failures import SimulatedRisk

HEADS: Final = ("lost", "offline", "below min ISR", "coordinators offline", "controllers")
SIMULATED_HEAD: Final = "without leader"
_COORDINATED: Final = {OFFSETS: "groups", TRANSACTIONS: "transactions"}
_NAMED: Final = 3
"""Partitions that a line of text names."""


def rows(risks: Sequence[Risk], simulated: Mapping[str, SimulatedRisk]) -> list[tuple[str, ...]]:
    """Return the cells of each failure with an effect, the worst first; with the time without leaders if simulated."""
    worst = sorted(risks, key=lambda risk: (-len(risk.offline), -len(risk.below_min_isr)))
    return [_row(risk, simulated.get(risk.failure.label)) for risk in worst if risk.has_effect or simulated]


def _row(risk: Risk, simulated: SimulatedRisk | None) -> tuple[str, ...]:
    counts = risk.coordinators
    parts = [f"{counts[topic]} of {of}" for topic, of in _COORDINATED.items() if counts[topic]]
    cells = (
        risk.failure.label,
        str(len(risk.offline)),
        str(len(risk.below_min_isr)),
        ", ".join(parts) or "none",
        "majority" if risk.has_quorum else "no majority",
    )
    return cells if simulated is None else (*cells, f"{simulated.leaderless_us / 1_000_000:.1f} s")


def named(partitions: Sequence[str]) -> str:
    """Return the first partitions as text, and how many more there are."""
    more = len(partitions) - _NAMED
    return ", ".join(partitions[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def risks_json(placement: Placement, risks: Sequence[Risk], simulated: Mapping[str, SimulatedRisk]) -> dict[str, Any]:
    """Return the whole result as a JSON document."""
    order = placement.restart_order()
    return {
        "format": 1,
        "kafka": placement.spec.kafka,
        "mode": placement.spec.mode,
        "brokers": len(placement.brokers),
        "racks": {rack: sorted(brokers) for rack, brokers in sorted(placement.racks.items())},
        "partitions": len(placement.partitions),
        "failures": [_risk_json(risk, simulated.get(risk.failure.label)) for risk in risks],
        "single_points_of_failure": [partition.name for partition in placement.single_points_of_failure()],
        "always_below_min_isr": [partition.name for partition in placement.always_below_min_isr()],
        "restart": {
            "rounds": [list(each) for each in order.rounds],
            "blocked": {str(broker): list(names) for broker, names in order.blocked.items()},
        },
    }


def _risk_json(risk: Risk, simulated: SimulatedRisk | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "kind": risk.failure.kind,
        "names": list(risk.failure.names),
        "brokers": sorted(risk.failure.brokers),
        "offline": list(risk.offline),
        "below_min_isr": list(risk.below_min_isr),
        "coordinators_offline": risk.coordinators,
        "has_quorum": risk.has_quorum,
    }
    if simulated is not None:
        document["simulated"] = {
            "offline": list(simulated.risk.offline),
            "below_min_isr": list(simulated.risk.below_min_isr),
            "leaderless_us": simulated.leaderless_us,
        }
    return document
