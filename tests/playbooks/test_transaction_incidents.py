"""What the bundled incidents of transactions come to, in numbers: before KIP-890, with its first part, and with all."""

import re

import pytest

from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

BEFORE = ("2.4", "2.8", "3.5")
CHECKED = ("3.6", "3.9")
EPOCHS = ("4.0", "4.1")


def incident(name: str, kafka: str, seed: int) -> Incident:
    mode = "kraft" if float(kafka) >= 3.3 else "zookeeper"
    return Thin(name, seed, **{"cluster.kafka": kafka, "cluster.mode": mode})


@pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
@pytest.mark.parametrize("kafka", spread_sample(["2.8", "3.0", "3.5", *CHECKED, *EPOCHS], 3))
def test_a_late_batch_opens_a_transaction_without_an_end_unless_the_leader_asks(kafka: str, seed: int) -> None:
    hangs = kafka not in (*CHECKED, *EPOCHS)
    found = incident("hanging-transaction", kafka, seed).until(13.5)
    assert found.of("transaction_aborted") == []
    found.until(16.5)
    (aborted,) = found.of("transaction_aborted", client="ledger")
    assert (aborted.error, 14 <= aborted.at_us / SECOND <= 16.5) == ("REQUEST_TIMED_OUT", True)
    assert found.query.lso("orders-0") + 4 > found.query.hw("orders-0")
    found.until(25)
    stuck = found.query.lso("orders-0")
    assert (stuck + 100 < found.query.hw("orders-0")) == hangs
    found.until(39.9)
    assert (found.query.lso("orders-0") == stuck) == hangs
    result = found.finish()
    forever = kafka < "3.0"
    assert (found.query.lso("orders-0") == stuck) == forever
    assert found.query.acked("audit") == 1_000
    ended = [(event.operation, event.error, event.detail) for event in found.of("admin_answered")]
    if forever:
        assert ended == []
    else:
        _rolled, (*found_some, number), (*aborted, told) = ended
        assert found_some == ["find_hanging", ""]
        assert number.split()[0] == ("1" if hangs else "0")
        assert aborted == ["abort_transaction", "" if hangs else "INVALID_REQUEST"]
        assert [int(each) for each in re.findall(r"\b\d\d+", told)] == ([2000, stuck] if hangs else [])
    read = {event.client: 0 for event in found.of("records_read")}
    for event in found.of("records_read"):
        read[event.client] += event.count
    assert (read["careful/0"] == result.ledger.acked) == (not forever)
    assert read["careless/0"] >= result.ledger.acked


@pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
@pytest.mark.parametrize("kafka", [*BEFORE, *CHECKED, *EPOCHS])
def test_a_late_commit_ends_the_next_transaction_unless_each_has_an_epoch(kafka: str, seed: int) -> None:
    found = incident("delayed-commit", kafka, seed).until(12.4)
    committed = found.of("transaction_committed")
    # The fifth took a request timeout longer: asked twice, answered once.
    assert [event.latency_us > SECOND // 2 for event in committed] == [False] * 4 + [True]
    assert found.query.acked_aborted() == found.query.aborted_committed() == 0
    lso = found.query.lso("orders-0")
    found.until(13)
    # Half of the sixth transaction can be read while the producer is still writing it.
    assert (found.query.lso("orders-0") > lso + 30) == (kafka not in EPOCHS)
    found.finish()
    query, ends = found.query, found.of("producer_fenced")
    if kafka in BEFORE:
        # The other half had its end with the seventh, which was aborted.
        assert 40 <= query.acked_aborted() <= 70
        assert (query.aborted_committed(), ends) == (0, [])
    elif kafka in CHECKED:
        assert 30 <= query.aborted_committed() <= 60
        assert query.acked_aborted() == 0
        assert [event.error for event in ends] == ["INVALID_TXN_STATE"]
    else:
        assert (query.acked_aborted(), query.aborted_committed(), ends) == (0, 0, [])


@pytest.mark.parametrize(
    ("kafka", "seed"), spread_sample([("2.4", 101), ("2.4", 102), ("3.9", 101), ("3.9", 102), ("4.1", 101)], 3)
)
def test_copies_are_exactly_once_with_transactions_and_duplicated_without(kafka: str, seed: int) -> None:
    found = incident("exactly-once", kafka, seed)
    result = found.finish()
    query, orders = found.query, 640
    assert (result.verdict, query.acked("checkout")) == ("pass", orders)
    # Before KIP-447 nobody refuses the member that was left behind.
    refused = [(event.client, event.error) for event in found.of("transaction_aborted")]
    assert refused == ([] if kafka == "2.4" else [("billing/0.output", "UNKNOWN_MEMBER_ID")])
    assert (query.read("audit") > orders) == (kafka == "2.4")
    assert orders < query.read("proof") < orders + 200
    assert found.of("producer_fenced") == found.of("consumer_failed") == []
