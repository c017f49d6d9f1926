"""What networks in shapes come to in the bundled playbooks, in numbers, under other seeds than their own."""

from itertools import pairwise, zip_longest
from typing import Any

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.playbooks.thinned import thinned
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

seeds = pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
RING = range(5)
FULL = [[1, 2, 3], [2, 3, 4], [3, 4, 5], [1, 4, 5], [1, 2, 5]]
"""Replicas of ``orders-0`` to ``orders-4``; the first in the order of the ring leads."""


def ends(incident: Incident) -> list[int]:
    return [incident.query.hw(f"orders-{number}") for number in RING]


def isrs(incident: Incident) -> list[list[int]]:
    return [incident.query.isr(f"orders-{number}") for number in RING]


def near(broker: int) -> set[int]:
    """Whom a broker of the ring hears."""
    return {(broker + step - 1) % 5 + 1 for step in (-1, 0, 1)}


@pytest.mark.parametrize("kafka", spread_sample(["3.3", "3.9"], 1))
@seeds
def test_before_pre_votes_a_ring_has_a_new_controller_every_few_seconds(kafka: str, seed: int) -> None:
    incident = Thin("majority-ring", seed, **{"cluster.kafka": kafka}).until(69.9)
    changes = incident.of("controller_changed")
    # A follower asks for votes after 2 s to 4 s without its leader.
    assert 10 + 2 <= changes[0].at_us / SECOND <= 10 + 5
    gaps = [later.at_us - sooner.at_us for sooner, later in pairwise(changes)]
    assert 12 <= len(changes) <= 30
    assert max(gaps) <= 10 * SECOND
    assert len({event.broker for event in changes}) >= 2
    assert changes[-1].leader_epoch > 2 * len(changes), "votes that nobody won cost epochs, too"
    assert incident.of("broker_fenced") == incident.of("leader_elected") == []
    incident.finish()


@seeds
def test_before_pre_votes_a_leader_waits_for_a_controller_within_reach_and_the_others_continue(seed: int) -> None:
    """Any of the newest logs may win the votes of both its neighbours, so that seeds differ in who governs."""
    incident = Thin("majority-ring", seed).until(40)
    before = ends(incident)
    incident.until(69.9)
    grown = [after - sooner for sooner, after in zip(before, ends(incident), strict=True)]
    found = isrs(incident)
    changes = incident.of("controller_changed")
    lagging = 20 * SECOND  # followers leave an ISR after the lag time, no sooner
    governed = {
        change.broker for change, later in zip_longest(changes, changes[1:]) if later is None or later.at_us > lagging
    }
    waiting, waited_long = [], False
    for number in RING:
        shrunk = [each for each in incident.of("isr_changed", partition=f"orders-{number}") if len(each.isr) < 3]
        if not shrunk:
            waiting.append(number)
            assert (found[number], grown[number]) == (FULL[number], 0)
            assert not governed <= near(number + 1), "it heard every controller"
            continue
        (change,) = shrunk
        (*_earlier, controller) = (each.broker for each in changes if each.at_us <= change.at_us)
        assert governed & near(number + 1)
        assert controller in near(number + 1)
        assert change.at_us > lagging
        assert found[number] == sorted(set(FULL[number]) & near(number + 1))
        assert grown[number] > 60
        waited_long |= change.at_us > 40 * SECOND
    assert waited_long or waiting
    assert len(waiting) <= 1
    result = incident.finish()
    assert (result.ledger.acked, result.ledger.acked_lost) == (1_400, 0)
    for number in waiting:
        (shrunk_at,) = [
            each.at_us for each in incident.of("isr_changed", partition=f"orders-{number}") if len(each.isr) < 3
        ]
        assert shrunk_at > 69.9 * SECOND


@pytest.mark.parametrize("kafka", spread_sample(["4.0", "4.1"], 1))
@seeds
def test_with_pre_votes_the_controller_stays_and_fences_who_cannot_hear_it(kafka: str, seed: int) -> None:
    incident = Thin("majority-ring", seed, **{"cluster.kafka": kafka}).until(30)
    before = ends(incident)
    assert incident.of("controller_changed") == []
    assert sorted(event.broker for event in incident.of("broker_fenced")) == [3, 4]
    for event in incident.of("broker_fenced"):
        assert 10 + 7 <= event.at_us / SECOND <= 10 + 9.1
    assert [incident.query.leader(f"orders-{number}") for number in RING] == [1, 2, 5, 5, 5]
    incident.until(69.9)
    assert isrs(incident) == [[1, 2], [2], [5], [1, 5], [1, 5]]
    grown = [after - sooner for sooner, after in zip(before, ends(incident), strict=True)]
    assert grown[1] == grown[2] == 0
    assert min(grown[0], grown[3], grown[4]) > 60
    result = incident.finish()
    assert (result.ledger.acked, result.ledger.acked_lost) == (1_400, 0)
    (checkout,) = [each for each in result.clients.producers if each.name == "checkout"]
    assert dict(checkout.refused)["NOT_ENOUGH_REPLICAS"] > 30
    # After a cut of a minute TCP sends what it holds up to 15 s later.
    assert max(event.at_us for event in incident.of("broker_registered")) < 85 * SECOND


@pytest.mark.parametrize("seed", spread_sample([101, 102, 103], 1))
def test_a_follower_that_is_cut_off_leaves_the_isr_after_the_lag_time_and_comes_back(seed: int) -> None:
    incident = Thin("follower-partitioned", seed)
    incident.until(44.9)
    (shrunk,) = incident.of("isr_changed", partition="orders-0")
    assert (shrunk.isr, shrunk.by) == ((1, 2), "leader")
    # It is looked for every half of the lag time.
    assert 5 + 10 <= shrunk.at_us / SECOND <= 5 + 15.6
    incident.finish()
    _shrunk, expanded = incident.of("isr_changed", partition="orders-0")
    assert sorted(expanded.isr) == [1, 2, 3]
    assert 45 < expanded.at_us / SECOND < 45 + 5
    assert incident.of("leader_elected") == incident.of("broker_fenced") == incident.of("truncated") == []


@pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
def test_acks_all_has_one_spike_of_the_lag_time_and_is_as_fast_as_before(seed: int) -> None:
    session = Session.start(loads(thinned("follower-partitioned"), "follower-partitioned"), seed=seed)
    acked: list[Any] = []
    read = shrunk_us = 0
    while session.advance(session.cluster.now_us + SECOND):
        for event in session.drain():
            if event.kind == "records_acked":
                acked.append(event)
            elif event.kind == "records_read":
                read += event.count
            elif event.kind == "isr_changed" and not shrunk_us:
                shrunk_us = event.at_us

    def slowest(since_us: int, until_us: int) -> int:
        return max(event.latency_us for event in acked if since_us <= event.at_us < until_us)

    usual = slowest(2 * SECOND, 5 * SECOND)
    assert usual < SECOND // 10
    spike = slowest(5 * SECOND, shrunk_us + SECOND)
    assert abs(spike - (shrunk_us - 5 * SECOND)) < SECOND // 2
    assert slowest(shrunk_us + SECOND, 45 * SECOND) <= 2 * usual
    result = session.finish()
    assert read == result.ledger.acked == result.ledger.sent > 800
