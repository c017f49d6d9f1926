"""The hot key in numbers: which partition is late, by how much, and that nothing but its consumer counts."""

import pytest

from cluster_model.util.deterministic_math import partition_for_key
from tests.playbooks.test_incidents import Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kafka", "seed"), spread_sample([("3.9", 101), ("2.3", 102)], 1))
def test_one_partition_is_late_by_what_one_consumer_cannot_do(kafka: str, seed: int) -> None:
    incident = Thin("hot-key", seed, **{"cluster.kafka": kafka}).until(49)
    query = incident.query
    hot = partition_for_key(b"key-0", 6)
    lags = {number: query.lag("billing", f"orders-{number}") for number in range(6)}
    # 90% of 15 records a second, and its share of all others; 12.5 are done.
    assert hot == max(lags, key=lambda number: lags[number]) == partition_for_key(b"key-0", 12)
    assert 90 < lags.pop(hot) < 220
    assert max(lags.values()) < 15
    # Twice as many members: half of them have nothing.
    assert abs(query.lag("billing-twice", f"orders-{hot}") - query.lag("billing", f"orders-{hot}")) < 30
    assert sum(not consumer.assignment for consumer in incident.session.cluster.consumers.values()) == 6
    incident.finish()
