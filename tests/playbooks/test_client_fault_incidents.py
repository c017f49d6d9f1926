"""What the bundled incidents of faults of clients come to, in numbers, under other seeds and versions."""

import pytest

from tests.playbooks.results.test_client_incidents import Heard, group, producer
from tests.playbooks.test_incidents import SECOND, Thin, seeds
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

VERSIONS = [
    pytest.param({"cluster.kafka": kafka, "cluster.mode": mode}, id=kafka)
    for kafka, mode in (("4.1", "kraft"), ("2.4", "zookeeper"), ("1.1", "zookeeper"))
]


# -- zombie-producer --------------------------------------------------------------------------------------------------


@seeds
def test_a_zombie_loses_its_open_transaction_and_no_more(seed: int) -> None:
    incident = Thin("zombie-producer", seed)
    result = incident.finish()
    query = incident.query
    fenced = incident.of("producer_fenced")
    # Each time a second process starts, and never when the old one's next process takes over: that one was killed.
    assert [event.client for event in fenced] == ["teller", "teller"]
    for event, start in zip(fenced, (20, 60), strict=True):
        assert start * SECOND < event.at_us < (start + 1) * SECOND
    # 20 and 10 seconds of 25 records.
    assert 700 <= query.sent("teller.duplicate") <= 750
    # A transaction is 800 ms, so of each of the four that were cut short at most so many.
    assert 2 <= query.aborted() <= 4 * 21
    # Committed readers have what was confirmed; all others have what was aborted as well.
    read, raw = group(result, "audit").read, group(result, "raw").read
    assert (read, query.reread("audit")) == (query.acked(), 0)
    assert read < raw <= read + query.aborted()
    assert query.aborted_committed() + query.acked_aborted() + query.duplicates() == 0


@pytest.mark.parametrize("version", spread_sample(VERSIONS, 2))
def test_a_zombie_is_fenced_in_every_version(version: dict[str, str]) -> None:
    incident = Thin("zombie-producer", 103, **version)
    incident.finish()
    assert [event.client for event in incident.of("producer_fenced")] == ["teller", "teller"]
    assert {event.error for event in incident.of("producer_fenced")} <= {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}


# -- traffic-spike ----------------------------------------------------------------------------------------------------


@seeds
def test_lag_is_what_came_and_was_not_processed(seed: int) -> None:
    incident = Thin("traffic-spike", seed)
    incident.until(25)
    # 50 of 80 records a second are processed; what is in hand is not committed yet.
    assert 130 <= incident.query.lag("billing") <= 300
    sent = incident.query.sent()
    incident.until(35)
    assert incident.query.sent() - sent == 790
    # Half of that pace: 25 of 80.
    peak = incident.query.lag("billing")
    assert 650 <= peak <= 860
    incident.until(55)
    # 25 of which 10 are new, for twenty seconds.
    assert peak - 400 <= incident.query.lag("billing") <= peak - 200
    incident.until(75)
    assert incident.query.lag("billing") < 20
    result = incident.finish()
    assert producer(result, "checkout").acked == producer(result, "checkout").sent
    assert incident.of("partitions_lost") == []
    assert incident.query.generation("billing") == incident.query.generation("stock")


@pytest.mark.parametrize("version", spread_sample(VERSIONS, 1))
def test_a_spike_is_the_same_in_every_version(version: dict[str, str]) -> None:
    incident = Thin("traffic-spike", 103, **version)
    incident.until(35)
    assert 650 <= incident.query.lag("billing") <= 860
    incident.finish()


def test_without_the_slow_database_the_group_is_through_much_earlier() -> None:
    incident = Thin("traffic-spike", 103, **{"steps.2.factor": "101%"})
    incident.until(35)
    assert 400 <= incident.query.lag("billing") <= 600
    incident.until(50)
    assert incident.query.lag("billing") < 20


# -- ack-reset --------------------------------------------------------------------------------------------------------


@seeds
def test_each_lost_answer_is_one_more_record_or_none(seed: int) -> None:
    incident = Heard("ack-reset", seed)
    incident.finish()
    retried = incident.of("produce_retried")
    assert [event.client for event in retried].count("plain") == 6
    assert [event.client for event in retried].count("idempotent") == 6
    last = [event.sequence for event in retried if event.client == "plain"][1:]
    assert len({*last}) == 1
    # It is over by itself, after five attempts with their pauses.
    assert [fault.at_us // SECOND for fault in incident.of("fault_healed")] == [10, 21]


@pytest.mark.parametrize("version", spread_sample(VERSIONS, 1))
def test_answers_get_lost_in_every_version(version: dict[str, str]) -> None:
    Thin("ack-reset", 103, **version).finish()
