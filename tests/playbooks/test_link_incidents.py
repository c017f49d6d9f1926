"""Lines between machines that are long and thin: incidents in numbers."""

import pytest

from tests.playbooks.test_incidents import Incident, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

PRODUCER = "clients.producers.checkout.config."
IN_FLIGHT = PRODUCER + "max.in.flight.requests.per.connection"
BATCH = 16_384
LINE = 375_000
"""Bytes per second."""


def acked_a_second(incident: Incident, since: int, until: int) -> int:
    before = incident.until(since).query.acked()
    return (incident.until(until).query.acked() - before) // (until - since)


@pytest.mark.parametrize(
    ("kafka", "mode", "seed"),
    spread_sample([("2.8", "zookeeper", 103), ("3.9", "kraft", 101), ("3.9", "kraft", 102)], 1),
)
def test_slow_links_lose_nothing_and_pass_a_request_in_each_round_trip_of_a_follower(
    kafka: str, mode: str, seed: int
) -> None:
    incident = Thin("slow-links", seed, **{"cluster.kafka": kafka, "cluster.mode": mode})
    assert 495 < acked_a_second(incident, 1, 5) < 505
    slow = acked_a_second(incident, 10, 25)
    # A batch of 32 records: 200 ms of latency, the time on a line, and what a fetch waits for the one before.
    assert 32 / 0.3 < slow < 32 / 0.2
    assert slow * BATCH / 32 < LINE / 3
    assert acked_a_second(incident, 30, 40) >= 495
    result = incident.finish()
    assert (result.ledger.acked_lost, result.ledger.unknown, result.ledger.failed) == (0, 0, 0)
    assert incident.of("isr_changed") == incident.of("leader_elected") == incident.of("produce_refused") == []


def test_more_requests_in_flight_hide_the_way_to_the_leader_and_only_with_acks_1_fill_the_line() -> None:
    one = acked_a_second(Thin("slow-links", 103, **{IN_FLIGHT: "1"}), 10, 16)
    assert 32 / 0.6 < one < 32 / 0.4
    many = {IN_FLIGHT: "50", PRODUCER + "enable.idempotence": "false", PRODUCER + "buffer.memory": "3000000"}
    many["clients.producers.checkout.rate"] = "1000/s"
    assert 32 / 0.3 < acked_a_second(Thin("slow-links", 103, **many), 15, 21) < 32 / 0.2
    full = acked_a_second(Thin("slow-links", 103, **many, **{PRODUCER + "acks": "1"}), 15, 18)
    assert 0.8 * LINE < full * BATCH / 32 < 1.05 * LINE


def test_the_isr_stays_as_long_as_the_lag_time_is_far_above_the_round_trip() -> None:
    hasty = Thin("slow-links", 104, **{"cluster.config.replica.lag.time.max.ms": "300"}).until(20)
    assert len(hasty.of("isr_changed")) > 10
    assert hasty.query.acked_lost() == 0
