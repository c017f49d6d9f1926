"""Who waits for a machine that lost power finds out by a socket's timeout: half a minute that is not overdue."""

import pytest

from cluster_model.checker.liveness import deadlines
from cluster_model.checker.liveness.deadlines import Disturbances
from cluster_model.protocol.events import IsrChanged
from playbooks.engine.session import Session
from playbooks.parser.loader import loads

pytestmark = pytest.mark.slow

ASKED_THE_DEAD = """
floodmark: 1
name: asked-the-dead
seed: 252806412710994
cluster: {kafka: "3.9", brokers: 3, config: {replica.lag.time.max.ms: 3000}}
topics:
  - {name: orders, replication: 1}
clients: {groups: [{name: billing, topics: [orders]}]}
settle: 60s
steps:
  - {at: 0s, inject: crash, target: broker(3), for: 1ms}
  - {at: 3.2s, inject: power_loss, target: controller, for: 50s}
"""
"""A proposal is under way to a controller whose machine goes: the next controller hears of it 30 s later."""

FETCHED_FROM_THE_DEAD = """
floodmark: 1
name: fetched-from-the-dead
seed: 252806412710994
cluster: {kafka: "0.11", brokers: 3}
topics:
  - {name: orders, replication: 2, partitions: 2}
clients: {groups: [{name: billing, topics: [orders]}]}
settle: 60s
steps:
  - {at: 0s, inject: session_expiry, target: broker(2)}
  - {at: 0s, inject: power_loss, target: leader(orders-1), for: 2ms}
"""
"""A fetch is under way to a leader whose machine goes, and is back at once."""


def finished(source: str) -> tuple[Session, tuple[str, ...]]:
    """A session that is over, and which properties were overdue in it."""
    session = Session.start(loads(source.lstrip(), "silence.yaml"))
    while session.advance(session.cluster.now_us + 1_000_000):
        pass
    return session, tuple(each.property for each in session.finish().liveness_violations)


@pytest.mark.parametrize(
    ("source", "partition", "since_s", "until_s"),
    [(ASKED_THE_DEAD, "__consumer_offsets-0", 3, 34), (FETCHED_FROM_THE_DEAD, "orders-1", 1, 31)],
)
def test_it_is_found_out_in_the_end(source: str, partition: str, since_s: int, until_s: int) -> None:
    session, overdue = finished(source)
    grew = [
        event.at_us // 1_000_000
        for event in session.drain()
        if isinstance(event, IsrChanged) and event.partition == partition and len(event.isr) > len(event.previous_isr)
    ]
    assert overdue == ()
    assert [second for second in grew if second > since_s + 10][:1] == [until_s]


def test_a_checker_that_forgets_former_controllers_is_too_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Disturbances, "recent_controllers", lambda _self, _since_us: ())
    assert "alter-partition" in finished(ASKED_THE_DEAD)[1]


def test_a_checker_that_takes_no_note_of_power_losses_is_too_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "POWER_LOSS", "never")
    assert "isr-rejoined" in finished(FETCHED_FROM_THE_DEAD)[1]
