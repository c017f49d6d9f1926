"""Risks of a cluster's placement: what each loss of brokers or racks takes away, and in which order to restart.

placement_risks: computed from the placement; simulated_failures: the same counted in a run; document: the result as
JSON and as rows of a table; failure_playbooks: playbooks of typical failures on the cluster; first_playbook: a
commented one to begin with.
"""

from playbooks.cluster_risks.document import HEADS, SIMULATED_HEAD, named, risks_json, rows
from playbooks.cluster_risks.failure_playbooks import failure_playbooks
from playbooks.cluster_risks.first_playbook import first_playbook
from playbooks.cluster_risks.placement_risks import (
    BrokerLoss,
    LossKind,
    PlacedPartition,
    Placement,
    RestartOrder,
    Risk,
)
from playbooks.cluster_risks.simulated_failures import SimulatedRisk, session_timeout_us, simulate

__all__ = [
    "HEADS",
    "SIMULATED_HEAD",
    "BrokerLoss",
    "LossKind",
    "PlacedPartition",
    "Placement",
    "RestartOrder",
    "Risk",
    "SimulatedRisk",
    "failure_playbooks",
    "first_playbook",
    "named",
    "risks_json",
    "rows",
    "session_timeout_us",
    "simulate",
]
