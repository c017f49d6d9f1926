"""What a power cut takes: what the elected replica had not on its disk, whatever the others had."""

from typing import Any

import pytest

from cluster_model.broker.partition.replication_rules import DIVERGING_EPOCH, LEADER_IS_SHORTER
from cluster_model.checker.root_cause.findings import POWER_LOSS_UNFLUSHED, RETRY_IN_FLIGHT
from cluster_model.log.crash_recovery import POWER_LOSS
from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

seeds = pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
VERSIONS = {
    "3.9": "kraft",
    "0.10.2": "zookeeper",
    "2.8": "zookeeper",
    "3.3": "kraft",
    "4.1": "kraft",
    "1.1": "zookeeper",
}
everywhere = pytest.mark.parametrize(
    ("kafka", "seed"),
    [
        pytest.param(kafka, seed, marks=() if seed == 101 and kafka in ("3.9", "0.10.2") else pytest.mark.slow)
        for kafka in spread_sample(list(VERSIONS), 4)
        for seed in spread_sample((101, 102), 1)
    ],
)


def _cut(name: str, seed: int, kafka: str) -> Incident:
    return Thin(name, seed, **{"cluster.kafka": kafka, "cluster.mode": VERSIONS[kafka]})


def _ends(incident: Incident) -> dict[int, Any]:
    """Broker → where the power loss cut its log."""
    return {event.broker: event for event in incident.of("truncated", partition="orders-0", rule="power loss")}


@everywhere
def test_the_disk_of_the_elected_replica_decides(kafka: str, seed: int) -> None:
    incident = _cut("power-cut-all", seed, kafka)
    result = incident.finish()
    cut = _ends(incident)
    assert sorted(cut) == [1, 2, 3]
    leader = incident.query.leader("orders-0")
    # Everything acknowledged was on all three: what is lost is the rest of what the leader had left.
    acknowledged = min(event.end_offset for event in cut.values())
    assert 0 <= acknowledged - cut[leader].log_offset - result.ledger.acked_lost <= 1
    # That is what was written in the last 30 s, and since the checkpoint before, 5 s at most.
    assert 30 * 20 <= acknowledged - cut[leader].log_offset <= 35 * 20 + 1
    others = [event.log_offset for broker, event in cut.items() if broker != leader]
    assert len({*others, cut[leader].log_offset}) == 3
    assert {loss.acks for loss in result.losses} == {-1}
    assert all(POWER_LOSS in loss.cause for loss in result.losses)
    # Producers repeated what failed since 2.1, and were idempotent since 3.0: what is repeated may come behind others.
    again = {RETRY_IN_FLIGHT} if kafka == "2.8" else set()
    assert {finding.cause for finding in result.findings} == {POWER_LOSS_UNFLUSHED} | again


@seeds
def test_the_last_to_be_fenced_is_elected_however_much_it_has(seed: int) -> None:
    for kafka, clean in (("3.9", True), ("4.1", False)):
        incident = Thin("power-cut-all", seed, **{"cluster.kafka": kafka})
        incident.finish()
        fenced = [event.broker for event in incident.of("broker_fenced") if event.at_us < 80 * SECOND]
        (elected,) = [
            event for event in incident.of("leader_elected", partition="orders-0") if event.at_us > 80 * SECOND
        ]
        # Nobody is eligible after an unclean stop (KIP-966): the last known leader is taken, which counts as unclean.
        assert (elected.leader, elected.clean) == (fenced[-1], clean)
    in_elr = [event.elr for event in incident.of("elr_changed", partition="orders-0")]
    # Brokers 2 and 3 leave it as they register after their unclean stop, in the order of their starts.
    assert in_elr in ([(2,), (2, 3), left, (), ()] for left in ((2,), (3,)))


@seeds
def test_a_replica_that_had_more_gives_it_up(seed: int) -> None:
    """In ZooKeeper mode broker 1 leads again, with the shortest log; since 0.11 the others are told where to cut."""
    for kafka, rule in (("2.8", DIVERGING_EPOCH), ("0.10.2", LEADER_IS_SHORTER)):
        incident = Thin("power-cut-all", seed, **{"cluster.kafka": kafka, "cluster.mode": "zookeeper"})
        incident.finish()
        left = _ends(incident)
        again = {event.broker: event for event in incident.of("truncated", partition="orders-0", rule=rule)}
        assert sorted(again) == [2, 3]
        for broker, event in again.items():
            assert (event.log_offset, event.end_offset) == (left[1].log_offset, left[broker].log_offset)


@pytest.mark.parametrize(("seed", "messages"), spread_sample([(101, 1), (101, 10), (102, 100)], 2))
def test_a_flush_bounds_what_is_lost(seed: int, messages: int) -> None:
    incident = Thin("power-cut-all", seed, **{"topics.orders.config.flush.messages": str(messages)})
    incident.until(139)
    leader = incident.query.leader("orders-0")
    end = _ends(incident)[leader].log_offset if leader in _ends(incident) else 1_199
    assert end % messages == 0
    lost = incident.query.missing()
    assert lost < messages
    assert 0 <= 1_199 - end - lost <= 1


@everywhere
def test_flushed_before_it_counts_nothing_is_lost(kafka: str, seed: int) -> None:
    incident = _cut("power-cut-all-flushed", seed, kafka)
    result = incident.finish()
    assert _ends(incident) == {}
    # Before KIP-101 (0.11) a follower cuts its log to its checkpointed high watermark, and fetches the rest again.
    rules = {event.rule for event in incident.of("truncated")}
    assert rules == ({"high watermark"} if kafka == "0.10.2" else set())
    assert (result.ledger.acked_lost, result.ledger.committed_lost) == (0, 0)
    assert result.ledger.acked >= 1_590


@everywhere
def test_one_that_goes_dark_is_made_good_by_the_others(kafka: str, seed: int) -> None:
    incident = _cut("power-cut-one", seed, kafka)
    result = incident.finish()
    (cut,) = incident.of("truncated", partition="orders-0", broker=1)
    assert (cut.log_offset, cut.rule) == (0, "power loss")
    assert cut.end_offset >= 1_199
    assert incident.second_of("leader_elected", partition="orders-0", leader=2) < 85
    assert (result.ledger.acked_lost, result.ledger.committed_lost) == (0, 0)
    assert incident.query.leo("orders-0", 1) == incident.query.leo("orders-0", 3) > 1_700


@seeds
def test_only_elr_knows_who_stopped_in_order_with_everything(seed: int) -> None:
    incident = Thin("power-cut-elr", seed)
    result = incident.finish()
    (lost,) = incident.of("truncated", partition="orders-0", rule="power loss")
    again = incident.of("truncated", partition="orders-0", rule=DIVERGING_EPOCH)
    again.sort(key=lambda event: event.broker)
    (elected,) = incident.of("leader_elected", partition="orders-0")
    assert (lost.broker, elected.leader, elected.clean) == (1, 1, True)
    # Brokers 2 and 3 had flushed up to when they stopped, and cut it off: broker 3 ten seconds of records earlier.
    assert [(event.broker, event.log_offset) for event in again] == [(2, lost.log_offset), (3, lost.log_offset)]
    assert 195 < again[0].end_offset - again[1].end_offset < 205
    assert result.ledger.acked_lost == again[0].end_offset - lost.log_offset

    newer = Thin("power-cut-elr", seed, **{"cluster.kafka": "4.1"})
    result = newer.finish()
    (elected,) = newer.of("leader_elected", partition="orders-0")
    assert (elected.leader, elected.clean) == (2, True)
    assert [event.elr for event in newer.of("elr_changed", partition="orders-0")][:3] == [(2,), (1, 2), (2,)]
    assert result.ledger.acked_lost == 0
    recovered = {event.broker: event.clean for event in newer.of("recovery_finished")}
    assert recovered == {1: False, 2: True, 3: True}


@pytest.mark.parametrize("kafka", spread_sample(["3.3", "3.6"], 1))
def test_eligible_replicas_or_not_holds_under_other_versions(kafka: str) -> None:
    Thin("power-cut-elr", 103, **{"cluster.kafka": kafka}).finish()
