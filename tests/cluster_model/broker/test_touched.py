"""Checks limited to changed replicas: a check of all replicas would find no others changed."""

from random import Random
from typing import Any

import pytest

from cluster_model.broker.broker import Broker
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.replication_rules import out_of_sync
from cluster_model.broker.replica_manager import DirtyReplicas
from cluster_model.cluster import Cluster
from tests.cluster_model.shaking import act, advance, drawn_plan, drawn_spec
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

SEEDS = (0, 2, 3, 7, 10, 11, 12, 13)
"""Seeds of short runs with many checkpoints, snapshots and ISR shrinks."""
LEADERSHIP = 15
REMOTES_INDEX = 4
"""Index of the remotes in the saved state of replicas and leaderships."""


def without_times(saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a replica's state without an idle follower's times, which are its session's."""
    if saved[LEADERSHIP] is None:
        return saved
    led = list(saved[LEADERSHIP])
    led[REMOTES_INDEX] = tuple(
        (broker, state if state[-1] < 0 else state[:2] + state[4:]) for broker, state in led[REMOTES_INDEX]
    )
    return (*saved[:LEADERSHIP], tuple(led), *saved[LEADERSHIP + 1 :])


def lags(replica: Replica, now: int) -> bool:
    led = replica.leadership
    if led is None or led.pending is not None:
        return False
    config, leo = replica.config, replica.log.leo
    return any(
        out_of_sync(replica.profile, led.remotes[broker], leo, now, config.lag_time_us, config.lag_messages)
        for broker in led.isr
        if broker in led.remotes
    )


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Compare every checkpoint, ISR task and keyframe with one that checks every replica; counts them."""
    counts = {"checkpoint": 0, "shrink": 0, "save": 0}
    checkpoint, save, shrink = DirtyReplicas.checkpoint, DirtyReplicas.save, Broker._shrink

    def checked_checkpoint(self: DirtyReplicas, now: int) -> None:
        counts["checkpoint"] += 1
        checkpoint(self, now)
        for replica in self._replicas.values():
            before = replica.save()
            replica.checkpoint(now)
            assert replica.save() == before

    def checked_save(self: DirtyReplicas) -> tuple[tuple[Any, ...], ...]:
        counts["save"] += 1
        saved = save(self)
        for replica, state in zip(self._replicas.values(), saved, strict=True):
            assert without_times(replica.save()) == without_times(state)
        return saved

    def checked_shrink(self: Broker) -> None:
        now = self._port.now
        late = [replica for replica in self.replicas.values() if lags(replica, now)]
        counts["shrink"] += len(late)
        shrink(self)
        assert all(replica.leadership is not None and replica.leadership.pending is not None for replica in late)

    monkeypatch.setattr(DirtyReplicas, "checkpoint", checked_checkpoint)
    monkeypatch.setattr(DirtyReplicas, "save", checked_save)
    monkeypatch.setattr(Broker, "_shrink", checked_shrink)
    return counts


def test_every_changed_replica_is_tracked(watched: dict[str, int]) -> None:
    for seed in range(16) if EVENING else SEEDS:
        random = Random(seed)
        spec = drawn_spec(random)
        cluster = Cluster.build(spec, seed)
        for step in drawn_plan(random, spec):
            advance(cluster, step)
            act(cluster, step)
            cluster.save()
    assert watched["checkpoint"] > 500
    assert watched["shrink"] > 10
    assert watched["save"] > 300
