"""Who lost records counts again only once its process has registered anew: late words of the dead one are no return.

In both sessions broker sessions are shorter than the heartbeat interval, so that everybody comes and goes.
"""

from typing import Any

import pytest

from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult

UNFENCED_BY_THE_DEAD = """
floodmark: 1
name: unfenced-by-the-dead
seed: 278226876167026
cluster: {kafka: "4.1", brokers: 2, config: {broker.session.timeout.ms: 1000}}
topics:
  - {name: orders, replication: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 1/s}]}
settle: 10s
steps:
  - {at: 1.26s, inject: power_loss, target: broker(2), for: 1ms}
"""
"""Its last heartbeat arrives after its machine has lost power: unfenced, and elected from the ELR."""

IN_SYNC_AFTER_DEATH = """
floodmark: 1
name: in-sync-after-death
seed: 32043394762378
cluster: {kafka: "4.1", brokers: 3, config: {broker.session.timeout.ms: 1000}}
topics:
  - {name: orders, replication: 2, config: {min.insync.replicas: 2}}
clients: {producers: [{name: checkout, topic: orders, rate: 1/s}]}
settle: 10s
steps:
  - {at: 1.67s, inject: power_loss, target: broker(3), for: 1ms}
"""
"""Its leader, which it had caught up with, adds it to the ISR when its machine has lost power already."""


def run(source: str) -> tuple[list[Any], SessionResult]:
    """What happened, without the records, and what it came to."""
    session = Session.start(loads(source.lstrip(), "unclean.yaml"))
    while session.advance(session.cluster.now_us + 1_000_000):
        pass
    result = session.finish()
    return [event for event in session.drain() if getattr(event, "partition", "orders-0") == "orders-0"], result


def when(events: list[Any], kind: str, **fields: Any) -> list[int]:
    """Places of the events of a kind with these fields."""
    return [
        place
        for place, event in enumerate(events)
        if event.kind == kind and all(getattr(event, name) == value for name, value in fields.items())
    ]


def test_a_late_heartbeat_is_no_return() -> None:
    events, result = run(UNFENCED_BY_THE_DEAD)
    (down,) = when(events, "node_down", broker=2)
    unfenced = when(events, "broker_registered", broker=2)[0]
    elected = next(place for place in when(events, "leader_elected", leader=2) if place > down)
    assert down < elected < unfenced, "the controller has a dead one lead"
    assert result.violations == ()


def test_the_word_of_its_leader_is_no_return() -> None:
    events, result = run(IN_SYNC_AFTER_DEATH)
    (down,) = when(events, "node_down", broker=3)
    joined = [place for place in when(events, "isr_changed", by="leader") if 3 in events[place].isr]
    assert down < joined[0], "a dead broker joins the ISR"
    assert result.violations == ()


@pytest.mark.parametrize("source", [UNFENCED_BY_THE_DEAD, IN_SYNC_AFTER_DEATH])
def test_a_registration_is_one(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that does not drop who registers anew breaks the promise, as both do a moment later."""
    monkeypatch.setattr(ReplicationControlManager, "handle_unclean_shutdown", lambda _self, _broker, _by: [])
    assert [each.invariant for each in run(source)[1].violations] == ["unclean-exclusion"]
