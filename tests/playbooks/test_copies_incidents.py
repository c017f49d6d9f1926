"""What becomes of partitions that are down to one copy, or to none, in numbers, under other seeds."""

import pytest

from cluster_model.protocol.errors import KafkaError
from tests.playbooks.test_incidents import SECOND, Thin, seeds

pytestmark = pytest.mark.slow


@seeds
def test_two_failures_stop_writers_and_lose_nothing(seed: int) -> None:
    incident = Thin("two-failures", seed).until(79)
    elected = [(event.leader, event.clean) for event in incident.of("leader_elected", partition="orders-0")]
    assert elected == [(2, True)]
    assert 10 + 8 <= incident.second_of("leader_elected", partition="orders-0") <= 10 + 9.2
    stopped = incident.query.acked()
    assert 399 <= stopped <= 401
    # Records that were on their way may stand in the log of the last one; nobody was promised them.
    assert incident.query.leo("orders-0") >= stopped
    result = incident.finish()
    assert (result.ledger.acked, result.ledger.acked_lost, result.ledger.duplicates) == (1_100, 0, 0)
    (checkout,) = result.clients.producers
    refused = dict(checkout.refused)
    assert refused.get(KafkaError.NOT_ENOUGH_REPLICAS.name, 0) > 0
    assert set(refused) <= {
        "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_LEADER_OR_FOLLOWER", "NETWORK_EXCEPTION",
        "REQUEST_TIMED_OUT",
    }  # fmt: skip


@seeds
def test_one_copy_is_available_or_keeps_its_guarantee_and_never_both(seed: int) -> None:
    waits, unclean = Thin("min-isr-one-waits", seed), Thin("min-isr-one-unclean", seed)
    kept, lost = waits.finish(), unclean.finish()
    (offline,) = waits.of("partition_offline", partition="orders-0")
    (back,) = waits.of("leader_elected", partition="orders-0")
    assert (back.leader, back.clean) == (1, True)
    assert back.at_us - offline.at_us > 50 * SECOND
    (elected,) = unclean.of("leader_elected", partition="orders-0")
    assert (elected.leader in (2, 3), elected.clean) == (True, False)
    assert elected.at_us <= 49.2 * SECOND
    assert (kept.ledger.acked_lost, kept.ledger.acked) == (0, kept.ledger.sent)
    assert lost.ledger.acked_lost == lost.ledger.committed_lost > 290
    assert {loss.acks for loss in lost.losses} == {-1}


def test_the_trap_is_sprung_by_min_insync_replicas_alone() -> None:
    """With 2 instead of 1 nothing is acknowledged by one copy: an unclean election loses nothing that was."""
    incident = Thin("min-isr-one-unclean", 101, **{"topics.orders.config.min.insync.replicas": "2"})
    session = incident.session
    while session.advance(session.cluster.now_us + SECOND):
        session.drain()
    result = session.finish()
    assert result.verdict == "fail"
    assert (result.ledger.acked_lost, result.ledger.committed_lost) == (0, 0)


def test_a_small_cluster_does_not_notice_its_spare_go() -> None:
    incident = Thin("decommission-small", 101)
    result = incident.finish()
    assert incident.of("partition_offline") == []
    assert [event.broker for event in incident.of("node_down", detail="shutdown")] == [4]
    assert (result.ledger.acked, result.ledger.acked_lost) == (result.ledger.sent, 0)


@seeds
def test_a_large_cluster_loses_what_lay_on_its_spares_alone(seed: int) -> None:
    incident = Thin("decommission-large", seed).until(54)
    offline = {event.partition for event in incident.of("partition_offline")}
    assert offline == {"events-0", "__consumer_offsets-0"}
    assert incident.query.group_state("billing") == ""
    result = incident.finish()
    unclean = [(event.partition, event.leader) for event in incident.of("leader_elected") if not event.clean]
    assert unclean == [("events-0", 1), ("__consumer_offsets-0", 4)]
    assert {(loss.partition, loss.client) for loss in result.losses} == {("events-0", "sensors")}
    # Half a second of metadata on its way: the leader before the last, deposed, has acknowledged that much more.
    assert 0 <= result.ledger.acked_lost - result.ledger.committed_lost <= 3
