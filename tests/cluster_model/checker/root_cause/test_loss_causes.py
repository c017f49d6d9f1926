"""Causes of losses that no run of a correct cluster shows, from evidence constructed here."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster_model.checker.history.partition_history import ClusterHistory, MissingRecords, PartitionSnapshot
from cluster_model.checker.root_cause.findings import UNEXPLAINED, UNFENCED_FOLLOWER, UNREPLICATED_TAIL
from cluster_model.checker.root_cause.loss_chain import LossCase, loss_cause_of
from cluster_model.log.batch_store import EpochBranch
from cluster_model.protocol.events import LeaderElected
from cluster_model.protocol.records import Batch
from cluster_model.protocol.versions import Profile

PARTITION = "orders-0"


def case(*, committed: bool, isr: tuple[int, ...], acks: int = 1) -> LossCase:
    """One record of broker 1 that broker 2 had never fetched when it was elected from the ISR."""
    epoch_branch = EpochBranch(0, 1, 3, 0)
    epoch_branch.append(Batch(0, 1, 100, 500, "checkout", -1, 0, acks))
    election = LeaderElected(1_000, PARTITION, 2, 4, 5, (2,), True, "leader failed")
    scene = PartitionSnapshot(1, (1, 2), (1, 2), election, 1, 1, (), (), ())
    witness = MissingRecords(3, 0, 1, election, scene, (), -1, False)
    return LossCase(PARTITION, epoch_branch, (0, 1), acks, committed, isr, 1, witness, scene, None, 2)


def cause(given: LossCase, kafka: str) -> str:
    history = ClusterHistory(cast("Any", SimpleNamespace(records={})))
    return loss_cause_of(given, history, Profile.of(kafka))


@pytest.mark.parametrize(
    ("kafka", "found"),
    [("2.0", UNFENCED_FOLLOWER), ("2.4", UNFENCED_FOLLOWER), ("2.5", UNEXPLAINED), ("4.4", UNEXPLAINED)],
)
def test_a_committed_record_that_an_isr_member_never_had_is_no_unreplicated_tail(kafka: str, found: str) -> None:
    assert cause(case(committed=True, isr=(1, 2)), kafka) == found


def test_an_uncommitted_record_is_an_unreplicated_tail() -> None:
    assert cause(case(committed=False, isr=(1, 2)), "3.9") == UNREPLICATED_TAIL
