"""A lasting violation is reported a few times, however many records are written and read meanwhile.

A violation is reported once per partition, broker and leader epoch; each mutation states the maximum.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.protocol.errors import KafkaError
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.cluster_model.checker.invariants import test_safety_mutations as broken
from tests.cluster_model.checker.test_control_checker import later

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
P = "orders-0"
READERS = 2
EPOCHS = 3
"""Number of leader epochs in the scenario."""


def two_leaders_fall() -> Cluster:
    """Producers with acks=1 and acks=all, two readers; the leader is paused and comes back, the next one crashes."""
    topic = TopicSpec("orders", 1, 3, ((1, 2, 3),), {"unclean.leader.election.enable": False, "min.insync.replicas": 2})
    makers = tuple(ProducerSpec(f"acks{acks}", "orders", 100_000, config={"acks": acks}) for acks in ("1", "all"))
    groups = tuple(
        GroupSpec(f"group{number}", ("orders",), 1, config={"auto.offset.reset": "earliest"})
        for number in range(READERS)
    )
    brokers, config = tuple(map(BrokerSpec, (1, 2, 3))), {"offsets.topic.num.partitions": 1}
    cluster = Cluster.build(ClusterSpec("3.9", "kraft", brokers, (topic,), makers, groups, config=config), 7)
    later(cluster, 10)
    cluster.pause(1)
    later(cluster, 20)
    cluster.resume(1)
    later(cluster, 15)
    cluster.crash(2)
    later(cluster, 15)
    cluster.restart(2)
    later(cluster, 15)
    cluster.stop_producers()
    later(cluster, 5)
    cluster.close()
    return cluster


def hw_falls_every_few_records(patch: Patch) -> None:
    real, rule = PartitionLeaderState.maybe_advance_hw, partition.high_watermark

    def advance(self: PartitionLeaderState, now: int) -> bool:
        if self.replica.log.leo % 5 == 3:
            self.replica.hw = 0
        return real(self, now)

    def high_watermark(leo: int, needed: Any) -> int:
        return max(0, rule(leo, needed) - 5) if leo % 5 == 3 else rule(leo, needed)

    patch.setattr(PartitionLeaderState, "maybe_advance_hw", advance)
    patch.setattr(partition, "high_watermark", high_watermark)


FLOODS: dict[str, tuple[Callable[[Patch], None], dict[str, int]]] = {
    # In every epoch two members lack committed records; the records that one leader lost by that are reported once.
    "hw-by-the-leader-alone": (
        broken.having(partition, "high_watermark", lambda leo, _needed: leo),
        {"leader-completeness": 2 * EPOCHS, "weak-isr": 2 * EPOCHS, "acks-all-durability": 1, "stable-reads": 1},
    ),
    # Every leader acknowledges too early; one of them is replaced before its followers have fetched.
    "ack-before-commit": (
        broken.having(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE),
        {"min-isr": EPOCHS, "acks-all-durability": 1},
    ),
    "recovery-point-ahead": (broken.flushed_ahead, {"log-bounds": EPOCHS}),
    "leader-outside-the-isr": (
        broken.commits(lambda state: state._replace(isr=tuple(b for b in state.isr if b != state.leader))),
        # No leader proposed the committed ISR.
        {"leader-in-isr": EPOCHS, "zombie-fencing": EPOCHS},
    ),
    "epoch-falls-every-time": (
        broken.commits(lambda state: state._replace(leader_epoch=state.leader_epoch % 2)), {"epoch-monotonicity": 1},
    ),
    # A HW that decreases within its leadership is below the exposed HW, and once below a record just acknowledged.
    "hw-falls-every-few-records": (
        hw_falls_every_few_records, {"hw-within-leadership": EPOCHS, "true-hw-monotone": EPOCHS, "min-isr": 1},
    ),
    "reader-above-the-hw": (broken.consumers_read_to_the_end, {"stable-reads": READERS * EPOCHS}),
    # A new leader that starts an empty log loses all records: in one epoch those of the two epochs before it.
    "an-empty-leader": (
        broken.starts_too_low, {"stable-reads": 1, "true-hw-monotone": 1, "acks-all-durability": 2},
    ),
    "newcomer-not-counted": (
        broken.having(PartitionLeaderState, "maximal_isr", property(lambda self: self.isr)), {"maximal-isr-superset":
        EPOCHS},
    ),
    "fenced-member-kept": (
        broken.having(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: []),
        {"isr-eligibility": 2},
    ),
    "recovering-in-company": (
        broken.commits(lambda state: state._replace(recovering=True)), {"recovery-barrier": EPOCHS},
    ),
}  # fmt: skip


def told(cluster: Cluster) -> Counter[str]:
    """Violations of the topic's partition, and those without a partition."""
    found = [each for each in broken.violations(cluster) if each.partition in (P, "")]
    assert not any(each.known for each in found)
    return Counter(each.invariant for each in found)


def test_the_unmodified_model_has_no_violations_over_a_thousand_reads() -> None:
    cluster = two_leaders_fall()
    assert cluster.checker.invariants.violations == {}
    assert cluster.query.epoch(P) == EPOCHS - 1
    assert min(cluster.query.read(f"group{number}") for number in range(READERS)) > 1_000


@pytest.mark.parametrize("name", FLOODS)
def test_a_lasting_violation_is_reported_a_few_times(name: str, monkeypatch: Patch) -> None:
    breaks, most = FLOODS[name]
    breaks(monkeypatch)
    found = told(two_leaders_fall())
    assert set(found) == set(most)
    assert {property_: count for property_, count in found.items() if count > most[property_]} == {}
