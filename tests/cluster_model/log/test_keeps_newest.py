"""A cleaner that drops the newest record of a key is detected, once for a broker; a correct one never is."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.log import log_cleaner
from cluster_model.log.record_keys import Key, keys_of
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.events import InvariantViolated
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec, TransactionPlan
from tests.cluster_model.checker.invariants.test_safety_mutations import Place, newest_goes
from tests.cluster_model.test_compaction import COMPACT, SECOND, P, build, log_of, stop

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
NAME = "compaction-keeps-newest"
VERSIONS = ["2.8", "3.9"]
"""Tombstones expire by the age of their segment's file in 2.8, and by a time in their batch in 3.9."""


def compacted(kafka: str) -> Cluster:
    """Run a minute of records that seldom share a key; one in three deletes it, for twenty seconds."""
    topic = {"delete.retention.ms": 20_000, "min.cleanable.dirty.ratio": "0.1"}
    cluster = build(kafka, topic=topic, keys=2_000, tombstones=3, read=False)
    cluster.run(60 * SECOND)
    stop(cluster)
    return cluster


def told(cluster: Cluster) -> list[tuple[str, Place]]:
    found = [each for each in cluster.drain() if isinstance(each, InvariantViolated)]
    assert {(each.invariant, each.partition, each.known) for each in found} <= {(NAME, P, "")}
    return [
        ("tombstone" if "the tombstone at" in each.detail else "value",
         (each.broker, (each.offset, each.end_offset), each.leader_epoch)) for each in found
    ]  # fmt: skip


def newest_gone(log: ReplicaLog) -> int:
    """Return the number of keys without any remaining record, although there were some."""
    newest: dict[Key | None, int] = {}
    for _epoch_branch, batch, start, end in log.batches():
        newest |= {keys_of(log.epoch_branches.keys, batch).keys[at - batch.base]: at for at in range(start, end)}
    return sum(log.cleaned is not None and log.cleaned.covers(at) for at in newest.values())


def tombstones_go_at_once(patch: Patch) -> None:
    real = log_cleaner._Sweep._batch
    patch.setattr(
        log_cleaner._Sweep, "_batch", lambda self, batch, parts, _keeps_deletes: real(self, batch, parts, False)
    )


VALUE: list[tuple[str, Place]] = [("value", (broker, (2, 3), 0)) for broker in (1, 2, 3)]
TOMBSTONE: list[tuple[str, Place]] = [("tombstone", (broker, (5, 6), 0)) for broker in (1, 2, 3)]


def transacted() -> Cluster:
    """Run transactions of which every second one is aborted; its records would have replaced others."""
    topics = (TopicSpec("orders", 1, 3, ((1, 2, 3),), {**COMPACT, "min.cleanable.dirty.ratio": "0.1"}),)
    maker = ProducerSpec(
        "ledger", "orders", 100_000, 10, keys=500, config={"acks": "all", "transactional.id": "ledger-1"},
        transactions=TransactionPlan(20, abort=2),
    )  # fmt: skip
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    cluster = Cluster.build(ClusterSpec("3.9", None, brokers, topics, (maker,)), 7)
    cluster.run(46 * SECOND)
    stop(cluster)
    return cluster


def aborted_ones_replace_others(patch: Patch) -> None:
    real = log_cleaner._offset_map

    def mapped(*words: Any) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(TransactionIndex, "is_aborted", lambda _self, _batch: False)
            return real(*words)

    patch.setattr(log_cleaner, "_offset_map", mapped)


BROKEN: dict[str, tuple[Callable[[Patch], None], list[tuple[str, Place]]]] = {
    # A cleaner that drops values drops tombstones too.
    "values-go-with-the-older-ones": (
        newest_goes,
        [each for both in zip(VALUE, TOMBSTONE, strict=True) for each in both],
    ),
    "tombstones-go-at-once": (tombstones_go_at_once, TOMBSTONE),
}  # fmt: skip


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_sound_cleaner_takes_expired_tombstones_and_nothing_is_reported(kafka: str) -> None:
    cluster = compacted(kafka)
    for broker in (1, 2, 3):
        assert newest_gone(log_of(cluster, broker)) > 10
    assert told(cluster) == []


@pytest.mark.parametrize("kafka", VERSIONS)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_cleaner_is_reported_once_a_broker_however_much_it_takes(
    name: str, kafka: str, monkeypatch: Patch
) -> None:
    breaks, expected = BROKEN[name]
    breaks(monkeypatch)
    cluster = compacted(kafka)
    assert newest_gone(log_of(cluster, 1)) > 100
    assert told(cluster) == expected


def test_an_aborted_record_is_nobodys_newest_and_replaces_none(monkeypatch: Patch) -> None:
    sound = transacted()
    assert newest_gone(log_of(sound, 1)) > 10, "the newest of many a key was aborted"
    assert told(sound) == []
    aborted_ones_replace_others(monkeypatch)
    assert [(what, place[0]) for what, place in told(transacted())] == [("value", broker) for broker in (1, 2, 3)]
