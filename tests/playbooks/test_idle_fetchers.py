"""A follower that turned to another leader waits no longer for the first one's answer, since 1.1 (KAFKA-6051)."""

import pytest

from cluster_model.cluster import Cluster
from playbooks.engine.session import Session
from playbooks.parser.loader import loads

pytestmark = pytest.mark.slow

BACK_TO_THE_FIRST = """
floodmark: 1
name: back-to-the-first
seed: 5
cluster: {kafka: "3.9", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
clients: {producers: [{name: checkout, topic: orders, rate: 20/s, config: {acks: all}}]}
settle: 30s
steps:
  - {at: 5s, inject: power_loss, target: broker(1), for: 1ms}
  - {at: 22s, admin: elect_leaders, partition: orders-0}
  - {at: 60s, settle: now}
"""
"""The fetch that was under way to the machine that went is answered by nobody; its leader comes back within 30 s."""


def silence_s(kafka: str, mode: str) -> tuple[int, int]:
    """When broker 1 leads again, and how many seconds later the first record is acknowledged by its followers."""
    source = BACK_TO_THE_FIRST.lstrip().replace('kafka: "3.9"', f'kafka: "{kafka}", mode: {mode}')
    session = Session.start(loads(source, "back.yaml"))
    cluster = session.cluster
    assert isinstance(cluster, Cluster)
    led = went_on = 0
    while session.advance(cluster.now_us + 100_000) and not went_on:
        leader = cluster.cluster_state.committed_leader("orders-0")
        if leader is None or leader.broker != 1 or leader.leadership is None or not leader.leader_epoch:
            continue
        if not led:
            led = cluster.now_us
        elif leader.hw > leader.leadership.epoch_start:
            went_on = cluster.now_us
    return led // 1_000_000, (went_on - led) // 1_000_000


@pytest.mark.parametrize(
    ("kafka", "mode", "waits"),
    [("1.0", "zookeeper", True), ("1.1", "zookeeper", False), ("3.9", "zookeeper", False), ("3.9", "kraft", False)],
)
def test_a_leader_that_is_back_is_fetched_from_at_once(kafka: str, mode: str, waits: bool) -> None:
    led, seconds = silence_s(kafka, mode)
    assert 10 < led < 30
    assert seconds == (35 - led if waits else 0)
