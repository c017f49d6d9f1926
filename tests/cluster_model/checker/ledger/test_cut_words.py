"""What the ledger says of a replica that cut its log, by the rule of the cut."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.replication_rules import DIVERGING_EPOCH, EPOCH_UNKNOWN
from cluster_model.checker.ledger.ledger import cut_words
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.protocol.events import Truncated
from cluster_model.protocol.records import CORRUPT_BATCH

RULES = ("high watermark", EPOCH_UNKNOWN, "KIP-101 epoch end", DIVERGING_EPOCH, POWER_LOSS, DISK_LOSS, CORRUPT_BATCH)


@pytest.mark.parametrize("rule", RULES)
def test_a_cut_is_described_by_its_rule(rule: str, snapshot: SnapshotAssertion) -> None:
    assert cut_words(Truncated(1_000, "orders-0", 2, 3, 10, 12, 10, rule)) == snapshot
