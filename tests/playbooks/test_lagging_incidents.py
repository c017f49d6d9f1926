"""Groups that get nothing done, or miss something, while every broker is well: incidents in numbers."""

from itertools import pairwise
from typing import Any

import pytest

from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

seeds = pytest.mark.parametrize("seed", spread_sample([101, 102], 1))


def read(incident: Incident, group: str) -> list[Any]:
    return [event for event in incident.of("records_read") if event.group_id == group]


def offsets(events: list[Any], partition: str) -> list[int]:
    """Every offset of a partition that was handed out, as often as it was."""
    found = [event for event in events if event.partition == partition]
    return [offset for event in found for offset in range(event.log_offset, event.log_offset + event.count)]


@seeds
def test_a_batch_just_above_the_poll_interval_is_processed_for_ever(seed: int) -> None:
    incident = Incident("poll-interval-loop", seed)
    incident.finish()
    partitions = ("orders-0", "orders-1")
    rebalances = [event for event in incident.of("group_rebalanced") if event.group_id == "billing"]
    late = [event.at_us / SECOND for event in rebalances if event.at_us > 60 * SECOND]
    # They leave when they have not polled for 10 s. Either both are gone, and come back when 12.5 s of processing and
    # 3 s of an empty group's delay have passed; or one after the other is, and whoever is in has everything.
    assert len(late) >= 5
    assert all(9.9 < after - before < 15.9 for before, after in pairwise(late))
    for name in partitions:
        again = offsets([event for event in read(incident, "billing") if event.at_us > 60 * SECOND], name)
        # One batch of 500 is handed out time and again, as it is never committed.
        assert len(set(again)) == 500
        assert len(again) >= 4 * 500
    refused = [event for event in incident.of("commit_failed") if event.group_id == "billing"]
    assert len(refused) >= 8
    assert {event.error for event in refused} == {"CommitFailedException"}
    committed = [event.at_us for event in incident.of("offsets_committed") if event.group_id == "billing"]
    assert max(committed) < 50 * SECOND
    careful = read(incident, "careful")
    assert all(len(found) == len(set(found)) for found in (offsets(careful, name) for name in partitions))
    assert not [event for event in incident.of("commit_failed") if event.group_id == "careful"]


@pytest.mark.parametrize(
    ("version", "kafka"),
    spread_sample([("0.11", "zookeeper"), ("2.4", "zookeeper"), ("3.9", "kraft"), ("4.1", "kraft")], 2),
)
def test_records_before_new_partitions_are_discovered_are_skipped(version: str, kafka: str) -> None:
    incident = Thin("partitions-added-latest", 103, **{"cluster.kafka": version, "cluster.mode": kafka})
    incident.finish()
    for partition in ("orders-2", "orders-3"):
        (reset,) = incident.of("consumer_reset", partition=partition)
        assert 60 <= reset.at_us / SECOND <= 70
        # It begins at the end of that moment: some 40 s of a quarter of 40 records a second.
        assert 200 < reset.log_offset < 700
        got = offsets(read(incident, "billing"), partition)
        assert got == list(range(reset.log_offset, incident.query.hw(partition)))
    assert incident.of("commit_failed") == []


@pytest.mark.parametrize(
    ("reset", "kafka", "mode"),
    spread_sample(
        [("earliest", "2.4", "zookeeper"), ("earliest", "3.9", "kraft"), ("by_duration:PT5M", "4.1", "kraft")], 2
    ),
)
def test_a_group_that_starts_at_the_beginning_misses_nothing_of_new_partitions(
    reset: str, kafka: str, mode: str
) -> None:
    settings = {"cluster.kafka": kafka, "cluster.mode": mode, "clients.groups.billing.config.auto.offset.reset": reset}
    incident = Thin("partitions-added-latest", 104, **settings).until(105)
    for partition in ("orders-0", "orders-1", "orders-2", "orders-3"):
        assert offsets(read(incident, "billing"), partition) == list(range(incident.query.hw(partition)))
