"""The ledger's description of a truncation, by its rule."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.replication_rules import DIVERGING_EPOCH, EPOCH_UNKNOWN
from cluster_model.checker.ledger.ledger import truncation_text
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.protocol.events import RecordsMissing, Truncated
from cluster_model.protocol.records import CORRUPT_BATCH
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster

RULES = ("high watermark", EPOCH_UNKNOWN, "KIP-101 epoch end", DIVERGING_EPOCH, POWER_LOSS, DISK_LOSS, CORRUPT_BATCH)


@pytest.mark.parametrize("rule", RULES)
def test_a_truncation_is_described_by_its_rule(rule: str, snapshot: SnapshotAssertion) -> None:
    assert truncation_text(Truncated(1_000, "orders-0", 2, 3, 10, 12, 10, rule), committed=True) == snapshot


def test_a_high_watermark_is_stale_only_below_committed_records() -> None:
    at_hw, by_leader = (
        Truncated(1_000, "orders-0", 2, 3, 10, 12, 10, rule) for rule in ("high watermark", DIVERGING_EPOCH)
    )
    assert "a stale high" in truncation_text(at_hw, committed=True)
    assert "stale" not in truncation_text(at_hw, committed=False)
    assert truncation_text(by_leader, committed=True) == truncation_text(by_leader, committed=False)


@pytest.mark.parametrize("committed", [False, True])
def test_an_unreadable_record_is_not_above_a_stale_high_watermark(*, committed: bool) -> None:
    """A follower truncates to its high watermark as it starts, before KIP-101, and is elected."""
    stepped = HandSteppedCluster("0.10.2", placement=(1, 2))
    stepped.notify(1, 2)
    stepped.append(1, "a")
    stepped.fetch(2)
    if committed:
        assert stepped.do("fetch_send", follower=2) == stepped.do("fetch_serve", follower=2) == ""
    stepped.do("crash", broker=2)
    stepped.do("restart", broker=2)
    stepped.notify(2)
    stepped.lead(2, notify=(2,))
    [missing] = [event for event in stepped.cluster.drain() if isinstance(event, RecordsMissing)]
    assert missing.committed is committed
    assert ("its high watermark (0)," in missing.cause, "a stale high" in missing.cause) == (not committed, committed)
