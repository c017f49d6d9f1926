"""The state that liveness properties examine, without a cluster."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster_model.checker.liveness.partition_state import throttled

LEADER, FOLLOWER = 1, 2


def is_throttled(*, leader_has: bool, leader_names: str, follower_has: bool, follower_names: str) -> bool:
    """Brokers with or without a quota, and the replicas of orders-0 in the topic's two throttle lists."""
    topic = SimpleNamespace(leader_throttled=leader_names, follower_throttled=follower_names)
    leader, follower = (SimpleNamespace(broker=each, partition="orders-0", topic=topic) for each in (LEADER, FOLLOWER))
    on, off = SimpleNamespace(active=True), SimpleNamespace(active=False)
    brokers = {
        LEADER: SimpleNamespace(leader_quota=on if leader_has else off, follower_quota=off),
        FOLLOWER: SimpleNamespace(leader_quota=off, follower_quota=on if follower_has else off),
    }
    return throttled(cast("Any", follower), cast("Any", leader), cast("Any", brokers))


@pytest.mark.parametrize(("names", "concerned"), [("*", True), ("0:1,0:2", True), ("0:3", False), ("", False)])
@pytest.mark.parametrize("has", [True, False])
def test_a_quota_throttles_the_replicas_in_its_list(*, names: str, concerned: bool, has: bool) -> None:
    """The quota of a sending leader or of a receiving follower; either suffices (KIP-73)."""
    expected = concerned and has
    assert is_throttled(leader_has=has, leader_names=names, follower_has=False, follower_names="") is expected
    assert is_throttled(leader_has=False, leader_names="", follower_has=has, follower_names=names) is expected
    assert is_throttled(leader_has=has, leader_names=names, follower_has=False, follower_names="*") is expected
    assert is_throttled(leader_has=False, leader_names="*", follower_has=has, follower_names=names) is expected
