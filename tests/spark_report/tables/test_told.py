"""What is taken from a session's own result: what is not what it should be is left out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_report.input.sessions import check_session
from spark_report.tables import compute
from tests.support.sessions import leader_crash, write_session


def test_only_what_is_whole_is_reported(tmp_path: Path) -> None:
    session = check_session(write_session(tmp_path, leader_crash(), session_id="a"))
    good = {"anomaly": "duplicate", "count": 2, "legal": False, "reason": ""}
    strange = [7, {"anomaly": 3, "count": 1, "legal": True}, {"anomaly": "x", "count": "many", "legal": True}, good]
    finding = {"kind": "lost", "cause": "acks-1", "sentence": "gone", "count": 3, "partitions": ["p-0", 4]}
    result = {**session.result, "anomalies": strange, "findings": [finding, {"kind": "lost"}]}
    sessions = [replace(session, result=result), replace(session, result={"anomalies": "none"})]
    assert compute.claimed_anomalies(sessions) == [
        {"session_id": "a", "anomaly": "duplicate", "legal": False, "reason": "", "found": 2}
    ]
    assert [(row["records"], row["partitions_named"]) for row in compute.claimed_findings(sessions)] == [(3, ["p-0"])]


HUGE = 10**30
POINT = {"kind": "event", "at_us": 8, "text": ["said"], "actions": [{"description": "heal"}]}
REMEDY = {"change": "acks=all", "set": [], "verdict": "saves", "before": 3, "after": 0, "rejected": 1, "seeds": 5}
REFUSED = {**REMEDY, "verdict": "refused", "after": None, "rejected": None, "seeds": 0, "note": "not under 0.10"}


def explained(tmp_path: Path, finding: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The points of no return and the remedies of a session whose explanation has this finding."""
    session = check_session(write_session(tmp_path, leader_crash(), session_id="a"))
    sessions = [replace(session, why={"findings": [{"number": 1, "kind": "lost", **finding}]})]
    return compute.kept_points(sessions), compute.kept_remedies(sessions)


def test_a_refused_change_has_no_numbers(tmp_path: Path) -> None:
    ((point,), remedies) = explained(tmp_path, {"no_return": POINT, "remedies": [REMEDY, REFUSED]})
    assert (point["at_us"], point["saving"]) == (8, ["heal"])
    assert [(row["remaining"], row["price_rejected"]) for row in remedies] == [(0, 1), (None, None)]


@pytest.mark.parametrize(
    ("finding", "points", "remedies"),
    [
        ({"no_return": {**POINT, "actions": 5}, "remedies": 5}, 1, 0),
        ({"no_return": {**POINT, "at_us": HUGE, "text": {}}, "remedies": [{**REMEDY, "before": HUGE}]}, 1, 0),
        ({"no_return": [], "remedies": [{**REMEDY, "after": HUGE, "rejected": -HUGE, "seeds": HUGE}]}, 0, 1),
        ({"number": HUGE, "no_return": POINT, "remedies": [REMEDY]}, 0, 0),
    ],
)
def test_values_that_fit_no_column_are_left_out(
    tmp_path: Path, finding: dict[str, Any], points: int, remedies: int
) -> None:
    found = explained(tmp_path, finding)
    assert [len(rows) for rows in found] == [points, remedies]
    for rows in found:
        assert pa.Table.from_pylist(rows).num_rows == len(rows)
