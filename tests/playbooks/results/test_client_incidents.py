"""What the bundled incidents of clients come to, under other seeds, versions and settings than their own."""

from itertools import pairwise
from typing import Any

import pytest

from cluster_model.protocol.events import TraceEvent
from playbooks.results.client_stats import GroupSummary, ProducerSummary
from playbooks.results.result import SessionResult
from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.support.breadth import EVENING, spread_sample

pytestmark = pytest.mark.slow

seeds = pytest.mark.parametrize("seed", spread_sample([101, 102], 1))
KRAFT = ("3.3", "3.7", "4.1")
ZOOKEEPER = ("1.1", "2.4", "3.1")
VERSIONS = [
    *({"cluster.kafka": kafka} for kafka in KRAFT),
    *({"cluster.kafka": kafka, "cluster.mode": "zookeeper"} for kafka in ZOOKEEPER),
]
versions = pytest.mark.parametrize(
    "version", VERSIONS if EVENING else VERSIONS[2:4], ids=lambda version: version["cluster.kafka"]
)


class Heard(Incident):
    """An incident of which every event is kept."""

    def _keep(self, events: list[TraceEvent]) -> None:
        self.events += events


class HeardThin(Heard, Thin):
    """The same with a part of its records."""


def producer(result: SessionResult, name: str) -> ProducerSummary:
    return next(each for each in result.clients.producers if each.name == name)


def group(result: SessionResult, name: str) -> GroupSummary:
    return next(each for each in result.clients.groups if each.name == name)


def ends_as_expected(name: str, seed: int, **settings: str) -> SessionResult:
    """A run of other settings, in which the playbook's own expectations need not hold."""
    return come(Incident(name, seed, **{"settle": "5s", **settings}))


def come(incident: Incident) -> SessionResult:
    """What it comes to, whatever the playbook expects."""
    return incident.until(3_600).session.finish()


FEW = {"producers.clicks.rate": "20/s"}
AROUND = {"producers.clicks.start": "8s", "producers.clicks.stop": "12s"}
"""Records only around the failure at 10 s."""
FEWER = {"producers.plain.rate": "20/s", "producers.idempotent.rate": "20/s", "settle": "10s"}


# -- acks=0: nobody is told -------------------------------------------------------------------------------------------


@seeds
def test_with_acks_0_what_is_sent_to_a_dark_machine_is_nowhere_and_no_error_reports(seed: int) -> None:
    incident = Thin("acks-0-leader-crash", seed)
    result = incident.finish()
    clicks = producer(result, "clicks")
    assert (clicks.sent, clicks.acked, clicks.retries, clicks.refused, clicks.errors) == (1_000, 1_000, 0, (), ())
    # Metadata is refreshed at 30 s; it may take a request timeout of 3 s to find out that the dark broker was asked.
    assert 20 * (30 - 10) - 1 <= result.ledger.acked_lost <= 20 * (30 - 10 + 4)
    assert group(result, "billing").read == clicks.sent - result.ledger.acked_lost
    assert {loss.acks for loss in result.losses} == {0}


@versions
def test_with_acks_0_it_is_so_in_every_version(version: dict[str, str]) -> None:
    result = ends_as_expected("acks-0-leader-crash", 103, **version, **FEW)
    clicks = producer(result, "clicks")
    assert (clicks.failed, clicks.unknown, clicks.refused) == (0, 0, ())
    assert result.ledger.acked_lost > 300
    assert result.partitions[0].leo == clicks.sent - result.ledger.acked_lost


@pytest.mark.parametrize(("acks", "lost"), [("1", 200), ("all", 0)])
def test_with_acks_the_same_failure_costs_little_or_nothing(acks: str, lost: int) -> None:
    result = ends_as_expected("acks-0-leader-crash", 103, **AROUND, **{"producers.clicks.config.acks": acks})
    assert result.ledger.acked_lost <= lost
    assert producer(result, "clicks").retries > 0


# -- acks=1: the tail -------------------------------------------------------------------------------------------------


@seeds
def test_with_acks_1_a_clean_election_loses_the_unread_tail(seed: int) -> None:
    incident = Heard("acks-1-lost-tail", seed, **AROUND)
    result = incident.finish()
    (elected,) = [event for event in incident.of("leader_elected", partition="orders-0") if event.leader_epoch]
    (cut,) = incident.of("truncated", partition="orders-0")
    assert (elected.clean, cut.broker) == (True, 1)
    assert result.ledger.acked_lost == cut.end_offset - cut.log_offset
    before = [event for event in incident.of("records_read", partition="orders-0") if event.leader_epoch == 0]
    assert max(event.log_offset + event.count for event in before) <= cut.log_offset
    clicks, billing = producer(result, "clicks"), group(result, "billing")
    assert (clicks.acked, clicks.errors) == (799, ())
    assert (billing.read, billing.reread, billing.truncations, billing.resets) == (cut.log_offset + 400, 0, 0, 0)


@versions
def test_with_acks_1_the_tail_is_lost_in_every_version(version: dict[str, str]) -> None:
    result = ends_as_expected("acks-1-lost-tail", 103, **version, **AROUND)
    assert 80 < result.ledger.acked_lost < 120
    assert result.ledger.committed_lost == 0
    assert producer(result, "clicks").errors == ()


def test_with_acks_all_the_same_moment_costs_nothing() -> None:
    result = ends_as_expected("acks-1-lost-tail", 103, **AROUND, **{"producers.clicks.config.acks": "all"})
    assert (result.ledger.acked_lost, result.ledger.acked) == (0, result.ledger.sent)


# -- truncation under a consumer --------------------------------------------------------------------------------------


@seeds
def test_a_consumer_goes_back_to_where_the_logs_part_and_reads_nothing_twice(seed: int) -> None:
    incident = Thin("consumer-truncation", seed)
    result = incident.finish()
    (detected,) = incident.of("truncation_detected", group_id="billing")
    (elected,) = [event for event in incident.of("leader_elected", partition="orders-0") if not event.clean]
    assert elected.leader == 2
    assert detected.log_offset - detected.end_offset == result.ledger.committed_lost > 250
    billing, audit = group(result, "billing"), group(result, "audit")
    assert (billing.truncations, billing.resets, billing.reread) == (1, 0, 0)
    assert incident.query.reread("billing") == 0
    # Whoever comes later finds less than the first has read.
    assert (audit.read, audit.truncations) == (result.partitions[0].hw, 0)
    assert billing.read - audit.read == result.ledger.committed_lost


def test_until_consumers_validate_their_epoch_they_read_everything_again() -> None:
    result = ends_as_expected(
        "consumer-truncation", 103, **FEW, **{"cluster.kafka": "2.2", "cluster.mode": "zookeeper"}
    )
    billing = group(result, "billing")
    assert (billing.truncations, billing.resets) == (0, 1)
    assert billing.reread > 300


def test_before_kip_320_the_same_consumer_is_reset_to_the_beginning() -> None:
    result = ends_as_expected(
        "consumer-truncation", 103, **FEW, **{"cluster.kafka": "2.0", "cluster.mode": "zookeeper"}
    )
    billing = group(result, "billing")
    assert (billing.truncations, billing.resets) == (0, 1)
    assert billing.reread > 300


# -- coordinators ------------------------------------------------------------------------------------------------------


@seeds
def test_a_group_outlives_its_coordinators_with_its_offsets_and_its_generation(seed: int) -> None:
    incident = HeardThin("coordinator-cascade", seed)
    result = incident.finish()
    killed = [event.broker for event in incident.of("node_down")]
    assert len(killed) == 3
    assert all(one != other for one, other in pairwise(killed))
    committed: dict[str, int] = {}
    moments: dict[str, list[int]] = {}
    for event in incident.of("offsets_committed", group_id="billing"):
        assert event.log_offset > committed.get(event.partition, -1)
        committed[event.partition] = event.log_offset
        moments.setdefault(event.client, []).append(event.at_us)
    # Each failover is a pause of about a broker's session, and only that.
    for times in moments.values():
        pauses = [later - earlier for earlier, later in pairwise(times) if later - earlier > 3e6]
        assert len(pauses) == 3
        assert all(6 * SECOND < pause < 12 * SECOND for pause in pauses)
    billing = group(result, "billing")
    assert (billing.rebalances, billing.idle_us, billing.reread, billing.lag) == (1, 0, 0, 0)
    assert billing.failed_commits > 0
    assert {each.lost for each in billing.members} == {0}


# -- retries -----------------------------------------------------------------------------------------------------------


@seeds
def test_a_lost_answer_is_a_second_record_or_the_first_ones_offset(seed: int) -> None:
    incident = Heard("ack-lost", seed, **FEWER)
    result = incident.finish()
    written: dict[str, list[Any]] = {"plain": [], "idempotent": []}
    for event in incident.of("appended"):
        if event.client in written:
            written[event.client] += [(event.sequence + at, event.log_offset + at) for at in range(event.count)]
    guaranteed = {
        (event.sequence + at, event.log_offset + at)
        for event in incident.of("records_acked", client="idempotent")
        for at in range(event.count)
    }
    assert guaranteed == set(written["idempotent"])
    assert len(written["idempotent"]) == len(guaranteed) == 300
    numbers = [number for number, _offset in written["plain"]]
    assert len(numbers) - len(set(numbers)) == result.ledger.duplicates > 0
    assert all(producer(result, name).retries > 0 for name in written)


@pytest.mark.parametrize("kafka", spread_sample(["3.3", "4.1"], 1))
def test_a_lost_answer_costs_the_same_in_other_versions(kafka: str) -> None:
    Incident("ack-lost", 103, **{"cluster.kafka": kafka}, **FEWER).finish()


@pytest.mark.parametrize("kafka", spread_sample(["2.1", "2.4", "3.1"], 1))
def test_a_lost_answer_costs_the_same_with_zookeeper(kafka: str) -> None:
    Incident("ack-lost", 103, **{"cluster.kafka": kafka, "cluster.mode": "zookeeper"}).finish()


def test_before_idempotence_was_on_by_default_a_lost_answer_was_a_duplicate() -> None:
    for kafka, twice in (("2.8", True), ("3.1", False)):
        settings = {"cluster.kafka": kafka, "cluster.mode": "zookeeper"}
        source = Incident("ack-lost", 103, **settings).session.playbook.source
        assert "enable.idempotence: true" in source
        plain = ends_as_expected(
            "ack-lost", 103, **settings, **{"producers.plain.config": "{acks: all, request.timeout.ms: 2000}"}
        )
        assert (plain.ledger.duplicates > 0) is twice


SLOWLY = {f"producers.{name}.rate": "20/s" for name in ("five", "one", "idempotent")}


@seeds
def test_requests_of_a_paused_leader_are_appended_last(seed: int) -> None:
    incident = Heard("retry-reorders", seed)
    result = incident.finish()
    numbers = [
        event.sequence + at
        for event in incident.of("appended", client="five", leader_epoch=1)
        for at in range(event.count)
    ]
    late = [number for place, number in enumerate(numbers) if number < max(numbers[: place + 1])]
    assert len(late) == result.ledger.reordered > 0
    assert late == sorted(late)
    for name in ("one", "idempotent"):
        order = [event.sequence for event in incident.of("appended", client=name, leader_epoch=1)]
        assert order == sorted(order)
    assert all(producer(result, name).acked == 3_000 for name in ("five", "one", "idempotent"))


@versions
def test_retries_reorder_in_other_versions(version: dict[str, str]) -> None:
    Incident("retry-reorders", 103, **version, **SLOWLY).finish()


@pytest.mark.parametrize("in_flight", [1, 2, 5])
def test_two_under_way_are_enough_for_another_order(in_flight: int) -> None:
    most = {"producers.five.config.max.in.flight.requests.per.connection": str(in_flight)}
    result = ends_as_expected("retry-reorders", 103, **most, **SLOWLY)
    assert (result.ledger.reordered > 0) is (in_flight > 1)
    assert (result.ledger.acked_lost, result.ledger.acked) == (0, 1_800)
