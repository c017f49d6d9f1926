"""How long steps wait, and why a ``when`` waited in vain: what it asked at the end, and where the seed put things."""

import re
from typing import Final

from cluster_model.inspection.condition_functions import Query
from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.conditions.conditions import Condition
from playbooks.engine.expectations import explain
from playbooks.model.playbook import Trigger

_PLACED: Final = r"(?:leader|isr|replicas)\([^()]*\)"
_IDS: Final = r"\[?\s*\d"
_NAMES_BROKERS: Final = re.compile(
    rf"{_PLACED}\s*(?:==|!=|not\s+in\b|in\b)\s*{_IDS}|\d\s*\]?\s*(?:==|!=|not\s+in\b|in\b)\s*{_PLACED}"
)
"""A leader or a set of replicas compared with ids that are written out."""


def due_us(trigger: Trigger, previous_us: int, patience_us: int, round_us: int = 0) -> int:
    """When a step acts by the clock, or stops waiting for its condition; -1 for never.

    ``patience_us`` is how long a condition without a limit of its own may take, -1 for ever; ``round_us`` is when the
    round began that the time counts from, 0 for the session's beginning.
    """
    if trigger.kind == "at":
        return round_us + trigger.time_us
    if trigger.kind == "after":
        return previous_us + trigger.time_us
    within_us = trigger.within_us if trigger.within_us >= 0 else patience_us
    return previous_us + within_us if within_us >= 0 else -1


def why_in_vain(condition: Condition, query: Query, spec: ClusterSpec) -> str:
    """``leader(orders-0) is 1``, and a hint where ids meet replicas that only the seed has placed; may be empty."""
    parts = [explain(condition, query)]
    if condition.brokers or _NAMES_BROKERS.search(condition.text):
        parts += [_placed_by_seed(partition, query, spec) for partition in condition.partitions]
    return "; ".join(filter(None, parts))


def _placed_by_seed(partition: str, query: Query, spec: ClusterSpec) -> str:
    name = partition.rpartition("-")[0]
    topic = next((topic for topic in spec.topics if topic.name == name), None)
    if topic is None or topic.placement:
        return ""
    placed = list(query.replicas(partition))
    row = str(sorted(placed)) + (", ..." if topic.partitions > 1 else "")
    return f"{partition} was placed on {placed} by the seed; placement: [{row}] fixes it"
