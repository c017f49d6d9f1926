"""ISR at each acknowledgement: one entry while it stays the same, in any order of the acknowledgements."""

from itertools import permutations

import pytest

from cluster_model.checker.ledger.ack_evidence import AckIsrs
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.protocol.events import RecordsAcked
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P


def told(ledger: Ledger, base: int) -> None:
    """A client receives the acknowledgement of the record at ``base``."""
    ledger.acked(RecordsAcked(0, "p", P, base, 1, -1, 1, 0, base, 0, 0))


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_acknowledgements_in_any_order_are_one_entry(order: tuple[int, ...]) -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b", "c", "d")
    ledger = stepped.cluster.checker.ledger
    ledger.ack_isrs.forget(P)
    ledger._acked[P].by_log_branch.clear()
    for base in order:
        told(ledger, base)
    assert ledger.ack_isrs.entries(P, 0) == ((0, 4, (1, 2, 3)),)


def test_another_isr_is_another_entry() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(1, 2, 3)
    stepped.append(1, "a", "b")
    assert stepped.do("shrink_isr", broker=1, out=[3]) == ""
    stepped.append(1, "c")
    assert stepped.do("expand_isr", broker=1, **{"in": 3}) == "INELIGIBLE_REPLICA"
    ledger = stepped.cluster.checker.ledger
    assert ledger.ack_isrs.entries(P, 0) == ((0, 2, (1, 2, 3)), (2, 3, (1, 2)))
    assert [ledger.ack_isrs.isr_at(P, 0, offset) for offset in (1, 2, 3)] == [(1, 2, 3), (1, 2), ()]


def test_an_acknowledgement_overtaken_by_one_of_three_is_ordered_before_it() -> None:
    vouched = AckIsrs()
    for start, end, isr in ((0, 10, (1, 2)), (10, 15, (1, 3)), (20, 30, (1, 2)), (15, 20, (1,))):
        vouched.note(P, 0, start, end, isr)
    assert vouched.entries(P, 0) == ((0, 10, (1, 2)), (10, 15, (1, 3)), (15, 20, (1,)), (20, 30, (1, 2)))
