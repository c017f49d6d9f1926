"""Partitions that no start names are known by what happened to them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from playbooks.session_format import session_files
from spark_report.input.frames import replica_assignments
from spark_report.input.sessions import check_session
from spark_report.tables.queries import availability, timeline
from tests.spark_report.conftest import MakeFrame, told
from tests.support.sessions import event, leader_crash, write_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OWN, LATER, ADDED = "__consumer_offsets-0", "later-0", "orders-9"
ROWS = [
    event("became_leader", 0, partition=OWN, broker=2, leader_epoch=0),
    event("became_follower", 0, partition=OWN, broker=3, leader=2, leader_epoch=0),
    event("became_follower", 0, partition=OWN, broker=1, leader=2, leader_epoch=0),
    event("became_follower", 0, partition="orders-0", broker=9, leader=1, leader_epoch=0),
    event("partition_created", 4, partition=LATER, leader=3, leader_epoch=0, isr=[3, 1], detail="3,1"),
    event("became_leader", 4, partition=LATER, broker=3, leader_epoch=0),
    event("isr_changed", 6, partition=LATER, leader=3, leader_epoch=0, isr=[3], previous_isr=[3, 1]),
    event("isr_changed", 7, partition=OWN, leader=2, leader_epoch=0, isr=[2], previous_isr=[2, 3, 1]),
    event("partition_deleted", 8, partition=LATER),
]
MADE = "replicas 1, 2, 3; min.insync.replicas=2"
ADD = [
    event("partition_created", 4, partition=ADDED, leader=1, leader_epoch=0, isr=[1, 2, 3], detail=MADE),
    event("isr_changed", 6, partition=ADDED, leader=1, leader_epoch=0, isr=[1], previous_isr=[1, 2, 3]),
    event("isr_changed", 9, partition=ADDED, leader=1, leader_epoch=0, isr=[1, 2], previous_isr=[1]),
    event("topic_config_changed", 12, target="orders", detail="min.insync.replicas=3"),
    event("topic_config_changed", 15, target="orders", detail="retention.ms=9"),
]


def test_replicas_are_those_that_took_it_up_or_that_it_was_made_with(
    spark: "SparkSession", events: MakeFrame, ends: MakeFrame, tmp_path: Path
) -> None:
    session = check_session(write_session(tmp_path, leader_crash()))
    assert not isinstance(session, session_files.LayoutError)
    name = session.session_id
    read, over = events([{**row, "session_id": name} for row in ROWS]), ends(**{name: (20, 20)})
    known = replica_assignments(read, [session])
    begun = {row["partition"]: row["replicas"] for row in known.begun.to_pylist()}
    every = {row["partition"]: (row["replicas"], row["min_isr"]) for row in known.all.to_pylist()}
    assert begun[OWN] == [2, 1, 3]
    assert LATER not in begun
    assert (every[OWN], every[LATER]) == (([2, 1, 3], None), ([3, 1], None))
    assert every["orders-0"][0] == session.start.topics[0].assignment["orders-0"]

    at_start, everywhere = spark.createDataFrame(known.begun), spark.createDataFrame(known.all)
    states = timeline.partition_states(read, at_start, over)
    mine = states.filter(f"partition in ('{OWN}', '{LATER}')")
    assert told(mine, "partition", "leader", "isr_size", "began_us", "ended_us") == [
        (OWN, 2, 1, 7, 20),
        (OWN, 2, 3, 0, 7),
        (LATER, 3, 1, 6, 8),
        (LATER, 3, 2, 4, 6),
    ]
    conditions = availability.isr_conditions(mine)
    # Nothing is said of a minimum that nobody knows.
    assert told(conditions, "partition", "condition", "began_us", "ended_us", "open") == [
        (OWN, "under_replicated", 7, 20, True),
        (LATER, "under_replicated", 6, 8, False),
    ]
    sums = availability.partitions(
        read, everywhere, over, conditions, read.limit(0).selectExpr("*", "at_us as duration_us")
    )
    assert told(sums.filter(f"partition = '{OWN}'"), "under_replicated_us", "under_min_isr_us") == [(13, None)]


def test_a_partition_that_is_added_needs_as_many_in_sync_as_its_topic(
    spark: "SparkSession", events: MakeFrame, ends: MakeFrame, tmp_path: Path
) -> None:
    session = check_session(write_session(tmp_path, leader_crash()))
    assert not isinstance(session, session_files.LayoutError)
    name = session.session_id
    read, over = events([{**row, "session_id": name} for row in ADD]), ends(**{name: (20, 20)})
    known = replica_assignments(read, [session])
    [added] = [row for row in known.all.to_pylist() if row["partition"] == ADDED]
    assert (added["min_isr"], added["default_min_isr"]) == (2, session.start.topics[0].default_min_isr)
    states = timeline.partition_states(
        read, spark.createDataFrame(known.begun), over, spark.createDataFrame(known.all)
    ).filter(f"partition = '{ADDED}'")
    assert told(states, "isr_size", "min_isr", "began_us") == sorted(
        [(3, 2, 4), (1, 2, 6), (2, 2, 9), (2, 3, 12), (2, 2, 15)]
    )
    under = availability.isr_conditions(states).filter("condition = 'under_min_isr'")
    assert told(under, "began_us", "ended_us") == [(6, 9), (12, 15)]
