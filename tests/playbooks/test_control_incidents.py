"""What the bundled incidents of the control plane and of clocks come to, in numbers, under other seeds."""

import pytest

from cluster_model.broker.partition.replication_rules import DIVERGING_EPOCH
from tests.playbooks.test_incidents import SECOND, Thin, seeds

pytestmark = pytest.mark.slow

MS = 1_000


@seeds
def test_a_clock_that_is_ahead_deletes_a_minute_of_a_day(seed: int) -> None:
    incident = Thin("clock-ahead-retention", seed).until(59.9)
    assert incident.of("log_start_moved") == []
    result = incident.finish()
    first = incident.of("log_start_moved", broker=1)[0]
    assert (first.by, first.log_offset) == ("retention.ms", 0)
    assert 60 * SECOND <= first.at_us <= 61.1 * SECOND
    assert 595 < first.end_offset < 615
    moved = incident.of("log_start_moved", broker=1)
    assert moved[-1].at_us <= 70 * SECOND
    assert {event.by for event in incident.of("log_start_moved") if event.broker != 1} == {"leader"}
    assert {event.client for event in incident.of("consumer_reset", end_offset=200)} <= {"warehouse/0"}
    # 20 s to 70 s at 10 a second, to within the second between two looks.
    skipped = incident.query.skipped("warehouse")
    assert abs(skipped - (moved[-1].end_offset - 200)) <= 1
    assert 480 < skipped < 501
    assert (result.ledger.acked, result.ledger.acked_lost, result.ledger.committed_lost) == (800, 0, 0)


@seeds
@pytest.mark.parametrize(("by", "kept"), [("23h", True), ("24h", False)])
def test_it_takes_a_day_less_the_age_of_a_segment(seed: int, by: str, kept: bool) -> None:
    """With 24 hours all that is older than this very moment goes, with 23 nothing does."""
    incident = Thin("clock-ahead-retention", seed, **{"steps.2.by": by}).until(75)
    moved = incident.of("log_start_moved", broker=1)
    assert (moved == []) == kept


@seeds
def test_an_expired_session_moves_controller_and_leadership_within_100_ms(seed: int) -> None:
    incident = Thin("session-expiry-controller", seed)
    result = incident.finish()
    (changed,) = incident.of("controller_changed")
    assert (changed.broker != 1, changed.leader_epoch) == (True, 2)
    elected, *more = incident.of("leader_elected", partition="orders-0")
    assert 10 * SECOND < changed.at_us < elected.at_us < 10 * SECOND + 100 * MS
    assert (elected.leader, [(event.leader, event.by) for event in more]) == (2, [(1, "auto leader rebalance")])
    (back,) = incident.of("broker_registered", broker=1)
    assert elected.at_us + 100 * MS < back.at_us < 11.1 * SECOND
    (cut,) = incident.of("truncated")
    assert (cut.broker, cut.rule) == (1, DIVERGING_EPOCH)
    # All that clicks was promised by the deposed leader, 50 a second until it had registered again.
    expected = (cut.at_us - elected.at_us) * 50 // SECOND
    assert abs(result.ledger.acked_lost - expected) < 3
    assert {loss.client for loss in result.losses} == {"clicks"}
    assert incident.of("node_down") == []


@seeds
def test_a_leader_that_learns_nothing_leads_on_and_counts_as_alive(seed: int) -> None:
    incident = Thin("stale-metadata-zombie", seed).until(31.9)
    (fenced,) = incident.of("broker_fenced")
    (back,) = incident.of("broker_registered", broker=1)
    assert fenced.at_us < 12.1 * SECOND
    assert back.at_us - fenced.at_us < 2.1 * SECOND  # Its next heartbeat.
    assert incident.query.leaders("orders-0") == [1, 2]
    assert 1 not in incident.query.isr("orders-0")
    result = incident.finish()
    (follows,) = incident.of("became_follower", partition="orders-0", broker=1)
    assert follows.at_us == 32 * SECOND
    (cut,) = incident.of("truncated")
    assert (cut.broker, cut.at_us < 32.1 * SECOND) == (1, True)
    # What was acknowledged and not fetched by anybody since brokers 2 and 3 heard, half a second after the election.
    assert abs(result.ledger.acked_lost - 195) < 2
    assert {(loss.client, loss.acks) for loss in result.losses} == {("clicks", 1)}
    assert incident.query.isr("orders-0") == [1, 2, 3]


@seeds
def test_without_the_stuck_loader_little_is_lost(seed: int) -> None:
    incident = Thin("stale-metadata-zombie", seed, **{"steps.1.for": "1s"})
    incident.session.finish()
    assert incident.query.acked_lost("clicks") < 2
