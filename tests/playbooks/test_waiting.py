"""What a ``when`` that waited in vain tells."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.results.result import SessionResult
from tests.support.playbooks import CLUSTER, timed

pytestmark = pytest.mark.slow

QUIET = """\
floodmark: 1
name: quiet
cluster: {kafka: "3.9", brokers: 3}
"""


def run(playbook: Playbook) -> SessionResult:
    return Session.start(playbook).finish()


def test_waiting_in_vain_for_a_broker_that_only_the_seed_placed_says_where_it_put_the_partition(
    snapshot: SnapshotAssertion,
) -> None:
    seeded = CLUSTER.replace("placement: [[1, 2, 3]]", "replication: 3")
    steps = "- when: {}\n  within: 2s\n  heal: all"
    result = run(timed(steps.format("isr(orders-0) == [7]"), cluster=seeded))
    placed = Session.start(timed(cluster=seeded)).cluster.query.replicas("orders-0")
    assert f"{list(placed)} by " in result.reason
    assert "placement:" in result.reason
    assert result.reason == snapshot
    result = run(timed(steps.format("len(isr(orders-0)) == 7"), cluster=seeded))
    assert "placement:" not in result.reason, "no broker is named, so it does not matter where they are"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("leader(orders-1) in [7, 8]", ["orders-1"]),
        ("7 == leader(orders-0)", ["orders-0"]),
        ("replicas(orders-0) == [7] and now() > 0s", ["orders-0"]),
        ("leo(orders-0, 3) == 7 and leo(orders-1, 3) == 7", ["orders-0", "orders-1"]),
        ("leader(orders-0) == 7 and acked() > 0 and leader(fixed-0) == 7", ["orders-0"]),
        ("leader(orders-0) == leader(orders-1) + 9", []),
        ("leader(fixed-0) == 7", []),
    ],
)
def test_only_partitions_that_the_seed_placed_are_reported_where_brokers_are_named(
    condition: str, told: list[str], snapshot: SnapshotAssertion
) -> None:
    topics = "topics:\n  - {name: orders, partitions: 2, replication: 3}\n  - {name: fixed, placement: [[1, 2, 3]]}\n"
    text = QUIET + topics
    result = run(timed(f"- when: {condition}\n  within: 1s\n  heal: all", cluster=text))
    assert result.verdict == "inconclusive"
    assert re.findall(r"(\S+) was placed", result.reason) == told
    assert result.reason.count("placement:") == len(told)
    assert result.reason == snapshot
