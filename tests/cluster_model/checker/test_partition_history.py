"""History of a partition's elections and ISRs, event by event."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster_model.checker.history.partition_history import ClusterHistory
from cluster_model.protocol.events import (
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
)

P = "orders-0"


def created(epoch: int = 0, isr: tuple[int, ...] = (1, 2, 3)) -> ClusterHistory:
    """The last leader of a partition that the controller has dropped, before its deletion event."""
    cluster_state = SimpleNamespace(records={}, replicas={P: {}}, committed_leader=lambda _partition: None)
    found = ClusterHistory(cast("Any", cluster_state))
    found.observe(PartitionCreated(0, P, 1, epoch, 0, isr, ""))
    return found


@pytest.fixture
def history() -> ClusterHistory:
    return created()


def elected(leader: int, epoch: int, isr: tuple[int, ...] = (1, 2, 3)) -> LeaderElected:
    return LeaderElected(epoch, P, leader, epoch, epoch, isr, True, "leader failed")


def changed(epoch: int, partition_epoch: int, isr: tuple[int, ...]) -> IsrChanged:
    return IsrChanged(epoch, P, 1, epoch, partition_epoch, isr, (), "leader")


def test_the_last_leader_of_a_deleted_partition_is_known(history: ClusterHistory) -> None:
    assert history.leader_of(P) == 1
    history.observe(elected(2, 1))
    assert history.leader_of(P) == 2
    history.observe(PartitionOffline(2, P, 2, 2, (2,)))
    assert history.leader_of(P) == -1
    history.observe(elected(3, 3))
    assert history.leader_of(P) == 3
    history.observe(PartitionDeleted(4, P))
    assert history.leader_of(P) == -1


def test_a_leader_uses_the_newest_isr_of_its_epoch_or_the_last_before(history: ClusterHistory) -> None:
    history.observe(elected(1, 2))
    history.observe(changed(2, 3, (1, 2)))
    history.observe(changed(2, 4, (1,)))
    history.observe(changed(5, 6, (3,)))
    assert [history.isr_of(P, epoch) for epoch in (0, 1, 2, 4, 5, 9)] == [
        (1, 2, 3), (1, 2, 3), (1,), (1,), (3,), (3,),
    ]  # fmt: skip


def test_an_epoch_before_all_known_ones_uses_the_oldest_isr() -> None:
    history = created(4, (1, 2))
    history.observe(changed(6, 1, (1,)))
    assert history.isr_of(P, 3) == (1, 2)
