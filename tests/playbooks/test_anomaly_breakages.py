"""Whole sessions in which something is broken on purpose: clients see it, and no setting excuses it."""

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.broker.partition.producer_state_manager import ProducerStateManager
from cluster_model.protocol.errors import KafkaError
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult

pytestmark = pytest.mark.slow

SOUND = """\
floodmark: 1
name: broken
title: Broken
seed: 5
cluster: {{kafka: "3.9", brokers: 3, config: {{offsets.topic.num.partitions: 1, default.replication.factor: 3}}}}
topics:
  - {{name: orders, placement: [[1, 2, 3]], config: {{min.insync.replicas: 1}}}}
clients:
  producers:
    - {{name: shop, topic: orders, rate: {rate}/s, config: {{acks: {acks}, enable.idempotence: {idempotence}}}}}
  groups:
    - {{name: billing, topics: [orders], config: {{auto.offset.reset: earliest}}}}
steps:
{steps}
settle: 8s
expect:
  - anomalies() {expected}
"""
CRASHES = "".join(f"  - {{at: {at}s, inject: crash, target: leader(orders-0), for: 4s}}\n" for at in (2, 8, 14))
ALONE = """\
  - {at: 2s, inject: partition, target: broker(2), for: 6s}
  - {at: 2s, inject: partition, target: broker(3), for: 6s}
  - {at: 4s, inject: crash, target: broker(1), for: 10s}
"""
"""Followers have not got what the leader wrote last."""
CUTS = "".join(f"  - {{at: {at}s, inject: partition, target: leader(orders-0), for: 12s}}\n" for at in (2, 24))


def acknowledged_at_once(patch: pytest.MonkeyPatch) -> None:
    """A leader answers acks=all as soon as it has written."""
    patch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)


def any_sequence(patch: pytest.MonkeyPatch) -> None:
    """A leader looks at no sequence number."""
    patch.setattr(ProducerStateManager, "check_append", lambda *_args: (KafkaError.NONE, -1))


def run(steps: str, expected: str, *, acks: str = "all", idempotence: bool = True) -> SessionResult:
    rate = 400 if steps == CRASHES else 100  # enough that something is under way when a leader dies
    text = SOUND.format(steps=steps, expected=expected, acks=acks, idempotence=str(idempotence).lower(), rate=rate)
    return Session.start(loads(text, "broken.yaml")).finish()


def illegal(result: SessionResult) -> set[str]:
    return {each.name for each in result.anomalies if not each.legal}


BREAKAGES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, set[str]]] = {
    "acknowledged early, and lost": (acknowledged_at_once, ALONE, {
        "unseen", "lost-write", "inconsistent-offsets", "nonmonotonic-send", "realtime-order",
    }),
    "written twice": (any_sequence, CRASHES, {"duplicate"}),
    "written in another order": (any_sequence, CUTS, {"nonmonotonic-send"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKAGES)
def test_injected_breakages_are_detected_as_illegal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    breakage, steps, found = BREAKAGES[name]
    sound = run(steps, "== 0")
    assert (sound.verdict, illegal(sound)) == ("pass", set())
    breakage(monkeypatch)
    broken = run(steps, "> 0")
    assert (broken.verdict, illegal(broken)) == ("pass", found)


def test_early_acknowledgements_with_acks_1_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    acknowledged_at_once(monkeypatch)
    result = run(ALONE, "== 0", acks="1", idempotence=False)
    assert result.verdict == "pass"
    assert {each.name: each.reason for each in result.anomalies if each.name == "unseen"} == {"unseen": "acks=1"}


def test_duplicates_without_idempotence_are_excused(snapshot: SnapshotAssertion) -> None:
    result = run(CRASHES, "== 0", idempotence=False)
    assert result.verdict == "pass"
    (reason,) = {each.reason for each in result.anomalies if each.name == "duplicate"}
    assert reason == snapshot
