"""Shutdown of a KRaft broker on SIGTERM, with ``controlled.shutdown.enable`` and without (KIP-631)."""

from typing import Any

import pytest

from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import BrokerFenced, Event, LeaderElected, NodeDown
from tests.cluster_model.timelines import MS, SECOND, Watched

P = "orders-0"
STOPPED = 5 * SECOND


def stopped(kafka: str, *, hands_over: bool) -> tuple[Watched, list[Event]]:
    """Broker 1, a leader, gets SIGTERM; return the result after 15 s."""
    watched = Watched(kafka, config={"controlled.shutdown.enable": hands_over})
    watched.run(5)
    watched.cluster.drain()
    watched.cluster.shutdown(1)
    watched.cluster.run(STOPPED + 15 * SECOND)
    return watched, list(watched.cluster.drain())


def times(events: list[Event], kind: type[Any]) -> list[int]:
    return [event.at_us - STOPPED for event in events if isinstance(event, kind)]


def test_with_controlled_shutdown_others_lead_before_it_ends() -> None:
    _watched, events = stopped("3.9", hands_over=True)
    (elected,), (down,) = times(events, LeaderElected), times(events, NodeDown)
    assert 0 < elected < SECOND
    # The other brokers report with their next heartbeats that they have the metadata, and it asks again.
    assert elected < down < 3 * SECOND
    assert abs(times(events, BrokerFenced)[0] - down) < 50 * MS


@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.1"])
def test_without_it_the_process_ends_at_once_and_is_missed_like_a_crashed_one(kafka: str) -> None:
    watched, events = stopped(kafka, hands_over=False)
    assert times(events, NodeDown) == [0]
    (elected,), (fenced,) = times(events, LeaderElected), times(events, BrokerFenced)
    assert 7 * SECOND < elected <= fenced < 9 * SECOND + 40 * MS
    assert "shutdown" not in watched.text()


def test_without_it_a_fast_restart_waits_for_its_own_old_session() -> None:
    watched = Watched("3.9", config={"controlled.shutdown.enable": False})
    watched.run(5)
    watched.cluster.shutdown(1)
    watched.run(1)
    watched.cluster.restart(1)
    watched.run(15)
    text = watched.text()
    assert watched.told("recovery_finished", "broker=1", "clean=True")
    assert "BrokerRegistration: DUPLICATE_BROKER_REGISTRATION" in text
    assert watched.cluster.query.isr(P) == [1, 2, 3]


def test_its_logs_are_closed_in_order_all_the_same_so_it_stays_eligible() -> None:
    watched = Watched("4.1", config={"controlled.shutdown.enable": False, "min.insync.replicas": 3})
    watched.run(5)
    watched.cluster.shutdown(3)
    watched.run(12)
    assert watched.cluster.cluster_state.records[P].state.elr == (3,)
    watched.cluster.restart(3)
    watched.run(2.4)
    assert watched.cluster.cluster_state.records[P].state.isr != (1, 2, 3)
    assert watched.cluster.state_of(3) is ProcessState.RUNNING
    assert watched.cluster.cluster_state.records[P].state.elr == (3,), "it registered, and was not struck off"
    watched.run(5)
    assert watched.cluster.query.isr(P) == [1, 2, 3]
