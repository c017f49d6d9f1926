"""What lasted, on a handful of rows: conditions of partitions, stalls, faults and their ends, lag, alerts."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report.input import frames
from spark_report.tables.collect import FrameLayout, Gatherer
from spark_report.tables.queries import alerts, availability, clients, fault_effects, progress, timeline
from spark_report.tables.queries.alerts import swept
from spark_report.tables.queries.timeline import numbered
from tests.spark_report.conftest import ONE, MakeFrame, told
from tests.support.sessions import event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def placed(spark: "SparkSession") -> "DataFrame":
    row = {"session_id": ONE, "partition": "p-0", "replicas": [1, 2, 3], "min_isr": 2}
    return spark.createDataFrame(pa.Table.from_pylist([row], schema=frames.ASSIGNMENTS))


def test_ranges_are_cut_where_anything_begins_or_ends(spark: "SparkSession") -> None:
    ranges = spark.createDataFrame(
        [("k", 0, 10, 1, "first", 1), ("k", 10, 12, 1, "second", 1), ("k", 4, 11, 5, None, None)],
        "key string, start long, end long, weight long, name string, holds long",
    )
    found = told(swept(ranges, ["key"], ["weight", "holds"], "name", "holds"), "start", "end", "weight", "name")
    assert found == [(0, 4, 1, "first"), (4, 10, 6, "first"), (10, 11, 6, "second"), (11, 12, 1, "second")]


def test_too_few_replicas_and_the_alerts_for_them(events: MakeFrame, ends: MakeFrame, placed: "DataFrame") -> None:
    second = 1_000_000
    change = {"partition": "p-0", "leader": 1, "leader_epoch": 0}
    rows = [
        event("isr_changed", 10 * second, **change, isr=[1, 2], previous_isr=[1, 2, 3]),
        event("isr_changed", 20 * second, **change, isr=[1], previous_isr=[1, 2]),
        event("isr_changed", 45 * second, **change, isr=[1, 2], previous_isr=[1]),
        event("partition_offline", 80 * second, partition="p-0", leader_epoch=1, isr=[1]),
    ]
    read, over = events(rows), ends(one=(90 * second, 3))
    states = timeline.partition_states(read, placed, over)
    conditions = availability.isr_conditions(states)
    assert told(conditions, "condition", "began_us", "ended_us", "open") == [
        ("at_min_isr", 10 * second, 20 * second, False),
        ("at_min_isr", 45 * second, 80 * second, False),
        ("offline", 80 * second, 90 * second, True),
        ("under_min_isr", 20 * second, 45 * second, False),
        ("under_replicated", 10 * second, 80 * second, False),
    ]
    nothing = read.filter("false").selectExpr("session_id", "kind as what", "at_us", "seq")
    fired = alerts.alerts(conditions, nothing, clients.vacancies(read, over))
    assert told(fired, "alert", "began_us", "fired", "fired_us", "peak") == [
        ("AtMinIsrPartitionCount", 10 * second, False, None, 1),
        ("AtMinIsrPartitionCount", 45 * second, False, None, 1),
        ("OfflinePartitionsCount", 80 * second, True, 80 * second, 1),
        ("UnderMinIsrPartitionCount", 20 * second, True, 30 * second, 1),
        ("UnderReplicatedPartitions", 10 * second, True, 70 * second, 1),
    ]


def test_too_few_in_sync_is_by_the_settings_of_that_time(
    spark: "SparkSession", events: MakeFrame, ends: MakeFrame
) -> None:
    second = 1_000_000
    shrunk = {"partition": "p-0", "leader": 1, "leader_epoch": 0}
    kind = "topic_config_changed"
    read = events(
        [
            event("isr_changed", 10 * second, **shrunk, isr=[1], previous_isr=[1, 2, 3]),
            event(kind, 20 * second, target="p", detail="retention.ms=5, min.insync.replicas=1"),
            event(kind, 25 * second, target="q", detail="min.insync.replicas=2"),
            event(kind, 30 * second, target="p", detail="min.insync.replicas=9"),
            event(kind, 40 * second, target="p", detail="retention.ms=5"),
        ]
    )
    row = {"session_id": ONE, "partition": "p-0", "replicas": [1, 2, 3], "min_isr": 2}
    ended = ends(one=(50 * second, 4))

    def found(**more: int) -> tuple[list[tuple[int, int]], list[int]]:
        placed = spark.createDataFrame(pa.Table.from_pylist([{**row, **more}], schema=frames.ASSIGNMENTS))
        states = timeline.partition_states(read, placed, ended)
        under = availability.isr_conditions(states).filter("condition = 'under_min_isr'")
        spans = [(a // second, b // second) for a, b in told(under, "began_us", "ended_us")]
        return spans, sorted({each for (each,) in told(states, "min_isr")})

    # Of a topic that sets none itself that of the start counts, or as the start says.
    assert found() == ([(10, 20), (30, 50)], [1, 2, 9])
    assert found(default_min_isr=1) == ([(10, 20), (30, 40)], [1, 2, 9])
    assert found(default_min_isr=1, most_min_isr=3) == ([(10, 20), (30, 40)], [1, 2, 3])


def test_a_high_watermark_stalls_while_records_wait_above_it(events: MakeFrame, ends: MakeFrame) -> None:
    log = {"partition": "p-0", "broker": 1, "leader_epoch": 0}
    rows = [
        event("became_leader", 0, **log, log_offset=0, hw=0),
        event("appended", 1_000, **log, log_offset=0, count=5),
        event("hw_advanced", 2_000, **log, hw=5),
        event("appended", 5_000_000, **log, log_offset=5, count=5),
        event("appended", 6_000_000, **log, log_offset=10, count=5),
        event("hw_advanced", 8_000_000, **log, hw=15),
    ]
    moves = events(rows)
    found = progress.hw_stalls(moves, moves, ends(one=(20_000_000, 5)))
    assert told(found, "hw", "began_us", "ended_us", "open") == [(5, 5_000_000, 8_000_000, False)]


def test_a_partition_made_anew_stalls_by_epochs_and_offsets_of_its_own(
    events: MakeFrame, ends: MakeFrame, snapshot: SnapshotAssertion
) -> None:
    old, new = ({"partition": "p-0", "broker": 1, "leader_epoch": epoch} for epoch in (7, 0))
    rows = [
        event("became_leader", 0, **old, log_offset=90, hw=90),
        event("appended", 1_000_000, **old, log_offset=90, count=5),
        event("partition_deleted", 3_000_000, partition="p-0"),
        event("became_leader", 4_000_000, **new, log_offset=0, hw=0),
        event("appended", 6_000_000, **new, log_offset=0, count=5),
        event("hw_advanced", 8_000_000, **new, hw=5),
    ]
    moves = events(rows)
    groups = numbered(moves, progress.PLACE)
    for numbers in (None, groups):
        found = progress.hw_stalls(moves, moves, ends(one=(20_000_000, 5)), numbers)
        stalls = told(found, "began_us", "ended_us", "hw", "ended_by")
        assert [stall[:3] for stall in stalls] == [(1_000_000, 3_000_000, 90), (6_000_000, 8_000_000, 0)]
        assert [stall[3] for stall in stalls] == snapshot


def test_a_fault_until_nothing_is_left_of_it(spark: "SparkSession", events: MakeFrame, ends: MakeFrame) -> None:
    first = {"partition": "p-0", "leader": 2, "leader_epoch": 1, "isr": [2], "clean": True, "by": "broker 1 fenced"}
    placed = spark.createDataFrame(
        pa.Table.from_pylist(
            [{"session_id": ONE, "partition": "p-0", "replicas": [1, 2], "min_isr": 1}], schema=frames.ASSIGNMENTS
        )
    )
    rows = [
        event("fault_injected", 100, fault_id=1, fault="crash", target="broker 1"),
        event("produce_refused", 130, client="c", partition="p-0"),
        event("leader_elected", 170, **first),
        event("fault_healed", 200, fault_id=1, fault="crash", target="broker 1"),
        event("fault_injected", 500, fault_id=2, fault="lag", target="broker 2"),
        # A replica that joins shows no fault of its leader, though an alert fires meanwhile.
        event("isr_changed", 600, partition="p-0", leader=2, leader_epoch=1, isr=[2, 1], previous_isr=[2]),
    ]
    troubles = spark.createDataFrame(
        [(ONE, "out", "p-0", 100, 0, 180, 3, False), (ONE, "lacking", "p-0", 170, 2, 400, 4, False)],
        "session_id string, trouble string, partition string, began_us long, began_seq long, ended_us long, "
        "ended_seq long, open boolean",
    )
    read = events(rows)
    over = ends(one=(900, 5))
    states = timeline.partition_states(read, placed, over)
    fired = spark.createDataFrame(
        [
            (ONE, "UnderReplicatedPartitions", True, 170, 2, 4, 170),
            (ONE, "AtMinIsrPartitionCount", False, 100, 0, 4, None),
            (ONE, "IsrShrinksPerSec", True, 590, 5, 6, 600),
        ],
        "session_id string, alert string, fired boolean, began_us long, began_seq long, ended_seq long, fired_us long",
    )
    shown = fault_effects.signs(read)
    times = fault_effects.fault_times(timeline.faults(read, over), shown, troubles, fired, states, over)
    columns = ("fault_id", "detected_by", *(f"time_to_{what}_us" for what in ("detect", "elect", "restore", "recover")))
    assert told(times, *columns) == [(1, "UnderReplicatedPartitions", 70, 70, 80, 300), (2, "", None, None, None, None)]
    means = told(fault_effects.fault_means(times), "fault", "faults", "recovered", "mttd_us", "mttr_us", "rto_us")
    assert means == [("", 2, 1, 70, 300, 80), ("crash", 1, 1, 70, 300, 80), ("lag", 1, 0, None, None, None)]


def test_a_group_lags_and_drains(events: MakeFrame, ends: MakeFrame) -> None:
    read = {"client": "g/0", "group_id": "g", "partition": "p-0"}
    rows = [
        event("hw_advanced", 100, partition="p-0", hw=10),
        event("records_read", 200, **read, log_offset=0, end_offset=8, count=8),
        event("hw_advanced", 1_500, partition="p-0", hw=90),
        event("records_read", 1_700, **read, log_offset=8, end_offset=88, count=80),
        event("hw_advanced", 2_400, partition="p-0", hw=120),
        event("hw_advanced", 2_400, partition="p-0", hw=130),
        event("records_read", 2_400, **read, log_offset=88, end_offset=99, count=11),
        event("records_read", 3_500, **read, log_offset=99, end_offset=130, count=31),
        event("fault_injected", 1_200, fault_id=1, fault="lag", target="broker 1"),
    ]
    frame, until = events(rows), ends(one=(4_000, 4))
    tops = progress.high_watermarks(frame, frame, until)
    lags = clients.group_position_lag(progress.partition_position_lag(frame, frame, frame, tops, until))
    assert told(lags, "bin_began_us", "position_lag") == [(0, 2), (1_000, 2), (2_000, 31), (3_000, 0), (4_000, 0)]
    steps = progress.position_lag_steps(frame, frame, frame)
    assert told(steps, "at_us", "position_lag") == [(200, 2), (1_500, 82), (1_700, 2), (2_400, 31), (3_500, 0)]
    peaks = clients.position_lag_peaks(steps, lags, timeline.faults(frame, until))
    series = progress.hw_series(tops, until)
    assert told(series, "bin_began_us", "hw") == [(0, 10), (1_000, 90), (2_000, 130)]
    assert told(peaks, "peak_position_lag", "peak_at_us", "usual_position_lag", "drained_us", "final_position_lag") == [
        (82, 1_500, 2, 1_700, 0)
    ]


def test_a_controller_gives_way_to_another(events: MakeFrame, ends: MakeFrame) -> None:
    rows = [
        event("controller_changed", 1, node="broker-1", broker=1, leader_epoch=1),
        event("node_down", 50, node="broker-1", broker=1, detail="crash"),
        event("controller_changed", 80, node="broker-2", broker=2, leader_epoch=2),
    ]
    read, over = events(rows), ends(one=(90, 2))
    found = clients.failovers(read, clients.vacancies(read, over), over)
    assert told(found, "node", "from_node", "lost_us", "without_us") == [("broker-2", "broker-1", 50, 30)]


def test_the_first_of_many_rows_are_kept_and_the_others_counted(spark: "SparkSession") -> None:
    rows = spark.createDataFrame(
        [(ONE, "g", at, 1, 0) for at in range(5)],
        "session_id string, group_id string, bin_began_us long, bin_us long, position_lag long",
    )
    gather = Gatherer(FrameLayout(spark, []), most_rows=3)
    gather("group_position_lag", rows)
    tables = gather.tables()
    assert tables["group_position_lag"]["bin_began_us"].to_pylist() == [0, 1, 2]
    assert tables["left_out"].to_pylist() == [{"session_id": ONE, "table": "group_position_lag", "left_out": 2}]
