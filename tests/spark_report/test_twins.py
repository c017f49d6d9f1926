"""Spark and the plain-Python twins say the same about random sessions."""

from typing import TYPE_CHECKING

import pytest

from spark_report.transforms import availability, numbers, timeline
from tests.spark_report import twins
from tests.spark_report.conftest import MakeFrame, told
from tests.spark_report.random_sessions import random_session
from tests.support.sessions import Row, ledger_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

SESSIONS = {f"random{seed}": random_session(seed) for seed in range(20)}
ENDS = {name: (rows[-1]["at_us"] + 50, len(rows) - 1) for name, rows in SESSIONS.items()}
SPAN = ("began_us", "began_seq", "ended_us", "ended_seq", "open")


@pytest.fixture
def frames(events: MakeFrame, ends: MakeFrame) -> tuple["DataFrame", "DataFrame"]:
    """All random sessions in one frame: one query compares them all, and shows that none leaks into another."""
    rows: list[Row] = [{**row, "session_id": name} for name, rows in SESSIONS.items() for row in rows]
    return events(rows).repartition(3), ends(**ENDS)


def test_the_sessions_have_what_is_to_be_compared() -> None:
    spans = [twins.partition_unavailability(SESSIONS[name], *ENDS[name]) for name in SESSIONS]
    assert sum(map(len, spans)) > 50
    assert any(span[-1] for found in spans for span in found)


def test_partition_unavailability(frames: tuple["DataFrame", "DataFrame"]) -> None:
    found = told(availability.partition_unavailability(*frames), "session_id", "partition", *SPAN)
    expected = [
        (name, *span) for name in SESSIONS for span in twins.partition_unavailability(SESSIONS[name], *ENDS[name])
    ]
    assert found == sorted(expected)


def test_client_unavailability(frames: tuple["DataFrame", "DataFrame"]) -> None:
    found = told(availability.client_unavailability(*frames), "session_id", "client", "partition", "acks", *SPAN)
    expected = [(name, *span) for name in SESSIONS for span in twins.client_unavailability(SESSIONS[name], *ENDS[name])]
    assert found == sorted(expected)


def test_the_ledger(frames: tuple["DataFrame", "DataFrame"]) -> None:
    terms = numbers.RECOUNTED
    found = told(numbers.counts(frames[0]), "session_id", "gapless", *terms)
    expected = [(name, True, *(ledger_of(rows)[term] for term in terms)) for name, rows in SESSIONS.items()]
    assert found == sorted(expected)


def test_latency_by_phase_and_over_time(frames: tuple["DataFrame", "DataFrame"]) -> None:
    events, ends = frames
    windows = timeline.fault_windows(timeline.faults(events, ends))
    timed = numbers.latencies(events, windows, ends)
    found = {
        (row.session_id, row.what, row.client, row.phase if row.phase is not None else row.bin_began_us): (
            *(row.records, row.min_us, row.p50_us, row.p99_us, row.max_us),
        )
        for row in timed.collect()
    }
    expected = {
        (name, *span[:3]): span[3:]
        for name, rows in SESSIONS.items()
        for span in twins.latencies(
            rows,
            ENDS[name][0],
            lambda row, phase: [part for part in ("all", phase, row["at_us"] // 1_000 * 1_000) if part is not None],
        )
    }
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        # Halves may be rounded either way.
        assert found[key] == pytest.approx(values, abs=0.5 + 1e-6), key
