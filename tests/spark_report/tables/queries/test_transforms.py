"""Each transform on a handful of rows that a reader can check by eye."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.testing import assertDataFrameEqual
from syrupy.assertion import SnapshotAssertion

from spark_report.input import frames
from spark_report.tables.queries import availability, latency, progress, timeline
from tests.spark_report.conftest import ONE, MakeFrame, told
from tests.support.sessions import event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class TestIntervals:
    def test_equal_neighbours_are_one_and_the_last_is_open(
        self, spark: "SparkSession", events: MakeFrame, ends: MakeFrame
    ) -> None:
        rows = [
            event("node_paused", 10, broker=1),
            event("node_paused", 20, broker=1),
            event("node_resumed", 30, broker=1),
            event("node_down", 40, broker=1, detail="crash"),
        ]
        found = availability.broker_outages(events(rows), ends(one=(90, 3))).select(
            "broker", "began_us", "ended_us", "open", "began_by", "ended_by"
        )
        expected = spark.createDataFrame(
            [
                (1, 10, 30, False, "broker 1 was paused", "broker 1 resumed"),
                (1, 40, 90, True, "broker 1 crashed", ""),
            ],
            found.schema,
        )
        assertDataFrameEqual(found, expected)

    def test_events_of_one_microsecond_keep_their_order(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("node_paused", 10, broker=1),
            event("node_resumed", 10, broker=1),
            event("node_paused", 10, broker=1),
        ]
        found = told(availability.broker_outages(events(rows), ends(one=(10, 2))), "began_seq", "ended_seq", "open")
        assert found == [(0, 1, False), (2, 3, True)]

    def test_touching_intervals_merge_and_remember_their_ends(self, spark: "SparkSession") -> None:
        spans = spark.createDataFrame(
            [
                (ONE, 0, 0, 10, 1, False, "a", "b"),
                (ONE, 10, 1, 30, 3, False, "c", "d"),
                (ONE, 20, 2, 25, 2, False, "e", "f"),
                (ONE, 40, 5, 50, 6, True, "g", ""),
            ],
            "session_id string, began_us long, began_seq long, ended_us long, ended_seq long, open boolean, "
            "began_by string, ended_by string",
        )
        found = told(timeline.merged(spans, []), "began_us", "ended_us", "open", "began_by", "ended_by")
        assert found == [(0, 30, False, "a", "d"), (40, 50, True, "g", "")]


class TestAvailability:
    def test_a_crash_lasts_until_somebody_takes_up_a_newer_epoch(
        self, events: MakeFrame, ends: MakeFrame, snapshot: SnapshotAssertion
    ) -> None:
        rows = [
            event("became_leader", 1, partition="p-0", broker=1, leader_epoch=0),
            event("node_down", 10, broker=1, detail="power_loss"),
            event("partition_offline", 20, partition="p-0", leader_epoch=1),
            event("became_leader", 30, partition="p-0", broker=2, leader_epoch=2),
        ]
        found = told(
            availability.partition_unavailability(events(rows), ends(one=(99, 3))),
            *("partition", "began_us", "ended_us", "began_by", "ended_by"),
        )
        assert [row[:3] for row in found] == [("p-0", 10, 30)]
        assert [row[3:] for row in found] == snapshot

    def test_a_zombie_that_takes_up_an_old_epoch_ends_nothing(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("became_leader", 1, partition="p-0", broker=1, leader_epoch=4),
            event("node_down", 10, broker=1, detail="crash"),
            event("became_leader", 20, partition="p-0", broker=2, leader_epoch=3),
        ]
        found = told(
            availability.partition_unavailability(events(rows), ends(one=(99, 2))), "began_us", "ended_us", "open"
        )
        assert found == [(10, 99, True)]

    def test_a_partition_without_a_first_leader_is_being_created_not_out(
        self, events: MakeFrame, ends: MakeFrame
    ) -> None:
        rows = [
            event("node_down", 1, broker=1, detail="crash"),
            event("became_leader", 5, partition="p-0", broker=2, leader_epoch=0),
        ]
        assert told(availability.partition_unavailability(events(rows), ends(one=(99, 1))), "partition") == []

    def test_a_deleted_partition_is_missed_by_nobody_and_begins_anew(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("became_leader", 1, partition="p-0", broker=1, leader_epoch=3),
            event("node_down", 10, broker=1, detail="crash"),
            event("partition_deleted", 14, partition="p-0"),
            event("became_leader", 21, partition="p-0", broker=2, leader_epoch=0),
            event("node_down", 30, broker=2, detail="crash"),
            event("node_up", 33, broker=2),
            event("became_leader", 37, partition="p-0", broker=2, leader_epoch=0),
        ]
        found = told(availability.partition_unavailability(events(rows), ends(one=(99, 6))), "began_us", "ended_us")
        assert found == [(10, 14), (30, 37)]

    def test_a_restarted_broker_leads_nothing_until_metadata_says_so(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("became_leader", 1, partition="p-0", broker=1, leader_epoch=3),
            event("became_leader", 1, partition="p-1", broker=2, leader_epoch=3),
            event("node_down", 10, broker=1, detail="power_loss"),
            event("node_up", 15, broker=1),
            event("became_leader", 40, partition="p-0", broker=1, leader_epoch=4),
        ]
        found = told(
            availability.partition_unavailability(events(rows), ends(one=(99, 4))),
            *("partition", "began_us", "ended_us"),
        )
        assert found == [("p-0", 10, 40)]

    def test_a_client_is_out_from_the_first_record_that_waits_to_the_next_acknowledgement(
        self, events: MakeFrame, ends: MakeFrame
    ) -> None:
        batch = {"client": "c", "partition": "p-0", "acks": -1, "count": 1}
        other = {**batch, "client": "d"}
        rows = [
            event("records_sent", 1, **batch),
            event("records_acked", 2, **batch),
            event("records_sent", 10, **batch),
            event("produce_refused", 20, **batch, error="NOT_LEADER_OR_FOLLOWER"),
            event("records_unknown", 30, **batch, error="REQUEST_TIMED_OUT"),
            event("records_acked", 40, **other),
            event("records_sent", 200_000, **batch),
            event("records_acked", 200_010, **batch),
        ]
        found = told(
            availability.unavailability(events(rows), events(rows), ends(one=(300_000, 7))),
            *("scope", "client", "acks", "began_us", "ended_us", "duration_us", "began_by"),
        )
        assert found == [("client", "c", -1, 10, 200_010, 200_000, "NOT_LEADER_OR_FOLLOWER")]


class TestPoints:
    def test_elections_by_kind(self, events: MakeFrame) -> None:
        rows = [
            event("leader_elected", 0, partition="p-0", leader=1, leader_epoch=0, clean=True),
            event("leader_elected", 1, partition="p-0", leader=2, leader_epoch=1, clean=True),
            event("partition_offline", 2, partition="p-0", leader_epoch=2),
            event("leader_elected", 3, partition="p-0", leader=3, leader_epoch=3, clean=False),
            event("node_up", 4, broker=1),
        ]
        found = told(timeline.points(events(rows)), "at_us", "finding", "election", "leader")
        assert found == [
            (0, "elections", "created", 1),
            (1, "elections", "clean", 2),
            (2, "elections", "offline", -1),
            (3, "elections", "unclean", 3),
        ]

    def test_isr_changes_by_direction(self, events: MakeFrame) -> None:
        turns = [([1, 2, 3], [1, 2]), ([1, 2], [2, 1]), ([1, 2], [1, 3]), ([1], [1, 2])]
        rows = [
            event("isr_changed", at, partition="p-0", previous_isr=before, isr=after)
            for at, (before, after) in enumerate(turns)
        ]
        found = timeline.points(events(rows)).orderBy("at_us").collect()
        assert [row.change for row in found] == ["shrink", None, "swap", "expand"]

    def test_missing_and_lost_records_keep_their_cause(self, events: MakeFrame) -> None:
        rows = [
            event("records_missing", 1, partition="p-0", client="c", count=2, cause="cut"),
            event("records_lost", 9, partition="p-0", client="c", count=1, cause="cut", committed=True),
        ]
        found = told(timeline.points(events(rows)), "finding", "status", "count", "committed", "cause")
        assert found == [("losses", "lost", 1, True, "cut"), ("losses", "missing", 2, False, "cut")]

    def test_guard_actions_keep_their_fields(self, events: MakeFrame) -> None:
        told_of = {"rule": "max_faults", "detail": "refused", "fault": "crash", "target": "broker 1", "cause": "many"}
        found = told(timeline.points(events([event("guard_acted", 3, **told_of)])), "finding", *told_of)
        assert found == [("guards", *told_of.values())]


class TestTimeline:
    def test_a_partition_begins_as_it_was_placed(
        self, spark: "SparkSession", events: MakeFrame, ends: MakeFrame
    ) -> None:
        placed = spark.createDataFrame(
            pa.Table.from_pylist(
                [{"session_id": ONE, "partition": "p-0", "replicas": [1, 2], "min_isr": 1}], schema=frames.ASSIGNMENTS
            )
        )
        rows = [
            event("leader_elected", 0, partition="p-0", leader=1, leader_epoch=0, isr=[1, 2], clean=True),
            event("isr_changed", 5, partition="p-0", leader=1, leader_epoch=0, isr=[1], previous_isr=[1, 2]),
            event("partition_offline", 7, partition="p-0", leader_epoch=1, isr=[1]),
        ]
        found = timeline.partition_states(events(rows), placed, ends(one=(9, 2))).orderBy("began_seq").collect()
        assert [(row.leader, row.isr_size, row.began_us, row.ended_us, row.open) for row in found] == [
            (1, 2, 0, 5, False),
            (1, 1, 5, 7, False),
            (-1, 1, 7, 9, True),
        ]

    def test_a_fault_that_nobody_heals_is_open(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("fault_injected", 1, fault_id=1, fault="lag", target="link 1-2"),
            event("fault_injected", 2, fault_id=2, fault="crash", target="broker 1"),
            event("fault_healed", 5, fault_id=1, fault="lag"),
        ]
        spans = timeline.faults(events(rows), ends(one=(9, 2)))
        assert told(spans, "fault", "began_us", "ended_us", "open") == [("crash", 2, 9, True), ("lag", 1, 5, False)]
        assert told(timeline.fault_windows(spans), "began_us", "ended_us", "open") == [(1, 9, True)]


class TestNumbers:
    @pytest.mark.parametrize(("seqs", "gapless"), [([0, 1, 2], True), ([0, 2], False), ([0, 1, 1, 3], False)])
    def test_holes_and_repeats_in_the_sequence_are_seen(
        self, events: MakeFrame, ends: MakeFrame, seqs: list[int], gapless: bool
    ) -> None:
        rows = [{**event("node_up", 0), "seq": seq} for seq in seqs]
        assert told(progress.counts(progress.plain_tallies(events(rows), ends(one=(9, 9)))), "gapless") == [(gapless,)]

    def test_a_ledger_that_differs_from_the_result_is_a_row(
        self, spark: "SparkSession", events: MakeFrame, ends: MakeFrame
    ) -> None:
        rows = [
            event("records_sent", 1, count=5),
            event("records_acked", 2, count=5),
            event("records_lost", 9, count=2),
        ]
        result = {"session_id": ONE, "sent": 5, "acked": 5, "acked_lost": 1, "duplicates": 0}
        results = spark.createDataFrame(pa.Table.from_pylist([result], schema=frames.RESULTS))
        totals = progress.counts(progress.plain_tallies(events(rows), ends(one=(9, 9))))
        found = {row.term: tuple(row)[2:] for row in progress.ledger(totals, results).collect()}
        assert found["sent"] == (5, 5, True)
        assert found["acked_lost"] == (2, 1, False)
        assert found["duplicates"] == (None, 0, None)
        assert found["unknown"] == (0, None, None)

    def test_a_wait_that_a_fault_touched_counts_as_during(self, events: MakeFrame, ends: MakeFrame) -> None:
        def acked(at: int, latency: int) -> dict[str, object]:
            return event("records_acked", at, client="c", count=1, latency_us=latency)

        rows = [
            acked(50, 10),
            event("fault_injected", 100, fault_id=1),
            event("fault_healed", 200, fault_id=1),
            # Sent while the fault was on, acknowledged after it had healed.
            acked(250, 60),
            # Sent in the microsecond in which the fault had just healed.
            acked(250, 50),
            acked(300, 20),
        ]
        frame, end = events(rows), ends(one=(400, 5))
        windows = timeline.fault_windows(timeline.faults(frame, end))
        found = told(latency.latencies(frame, windows, end).filter("phase is not null"), "phase", "max_us", "records")
        assert found == [("after", 50, 2), ("all", 60, 4), ("before", 10, 1), ("during", 60, 1)]

    def test_percentiles_are_of_records_not_of_batches(self, events: MakeFrame, ends: MakeFrame) -> None:
        rows = [
            event("records_read", 1, client="c", count=99, latency_us=10),
            event("records_read", 2, client="c", count=1, latency_us=1_000),
        ]
        frame, end = events(rows), ends(one=(9, 1))
        windows = timeline.fault_windows(timeline.faults(frame, end))
        found = latency.latencies(frame, windows, end).filter("phase = 'all'")
        assert told(found, "what", "p50_us", "p95_us", "max_us") == [("end_to_end", 10, 10, 1_000)]
