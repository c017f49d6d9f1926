"""A producer's transactions: when its application commits, aborts, or leaves them open."""

from typing import Any, Final

from cluster_model.spec.cluster_spec import TransactionPlan
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import DURATION, Fields, Integer, Key, Record

MOST: Final = 1_000_000

TRANSACTIONS: Final = Record(
    {
        "records": Key(Integer(1, MOST), "A transaction ends after so many records; no matter how many unless given."),
        "every": Key(DURATION, "... or so long after it began; with neither key after 100ms."),
        "abort": Key(Integer(1, MOST), "One transaction in so many is aborted on purpose; none unless given."),
        "hang": Key(
            Integer(1, MOST), "This one, counted from 1, is left open for good, and is the last; none unless given."
        ),
    }
)


def read_transactions(fields: Fields, notes: Notes) -> TransactionPlan | None:
    """None where nothing is said about them."""
    plan: Any = fields.get("transactions")
    if not isinstance(plan, Fields):
        return None
    if "transactional.id" not in fields.get("config", {}) and not fields.bad("config"):
        message = "found transactions without an id, allowed only with transactional.id in the producer's config"
        notes.problem(fields.at("transactions"), fields.path("transactions"), message)
    every = plan.get("every", 0)
    if plan.given("every") and not plan.bad("every") and not every:
        notes.refuse(plan.at("every"), plan.path("every"), "a time above 0")
    return TransactionPlan(plan.get("records", 0), every, plan.get("abort", 0), plan.get("hang", 0))
