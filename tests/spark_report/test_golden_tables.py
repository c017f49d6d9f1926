"""The tables of three playbooks of the library are row by row what they are known to be."""

from copy import deepcopy

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.spark_report import golden
from tests.spark_report.conftest import Computed

MOST_SHOWN = 20
TELLING = {
    "consumer-truncation": (
        "losses",
        "truncations",
        "unavailability",
        "fault_times",
        "hw_stalls",
        "position_lag_peaks",
    ),
    "poll-interval-loop": ("rebalances", "groups", "members", "group_position_lag", "latency_series"),
    "session-expiry-controller": ("controller_failovers", "elections", "isr_conditions", "alerts", "losses"),
}
"""What each playbook is there for."""


@pytest.mark.spark
@pytest.mark.slow
def test_the_tables_are_what_they_are_known_to_be(computed_together: Computed, renewing: bool) -> None:
    for playbook in golden.PLAYBOOKS:
        found = golden.known_of(computed_together.tables, computed_together.sessions[playbook].session_id)
        if renewing:
            golden.write(playbook, found)
        told = golden.differences(golden.read(playbook), found)
        if told:
            rest = [f"... and {len(told) - MOST_SHOWN} more"] if len(told) > MOST_SHOWN else []
            again = "if that is meant: make goldens"
            shown = "\n".join([f"{playbook}: {len(told)} differences", *told[:MOST_SHOWN], *rest, again])
            pytest.fail(shown, pytrace=False)


@pytest.mark.parametrize("playbook", golden.PLAYBOOKS)
def test_golden_tables_have_rows_where_a_playbook_should_fill_them(playbook: str) -> None:
    known = golden.read(playbook)
    assert all(known[name]["rows"] for name in TELLING[playbook])


def test_a_difference_names_the_table_and_the_row(snapshot: SnapshotAssertion) -> None:
    known = golden.read("session-expiry-controller")
    found = deepcopy(known)
    (row,) = found["controller_failovers"]["rows"]
    row[-1] += 1
    found["counts"]["rows"].append(found["counts"]["rows"][0])
    del found["alerts"]
    told = golden.differences(known, found)
    assert [line.partition(":")[0] for line in told] == ["alerts", *["controller_failovers"] * 2, "counts"]
    assert [line.split(" [")[0] for line in told] == snapshot
