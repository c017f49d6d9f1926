"""What is taken from a session's own result: what is not what it should be is left out."""

from dataclasses import replace
from pathlib import Path

from spark_report.input.sessions import look_at
from spark_report.tables import compute
from tests.support.sessions import leader_crash, write_session


def test_only_what_is_whole_is_told(tmp_path: Path) -> None:
    session = look_at(write_session(tmp_path, leader_crash(), session_id="a"))
    good = {"anomaly": "duplicate", "count": 2, "legal": False, "reason": ""}
    strange = [7, {"anomaly": 3, "count": 1, "legal": True}, {"anomaly": "x", "count": "many", "legal": True}, good]
    finding = {"kind": "lost", "cause": "acks-1", "sentence": "gone", "count": 3, "partitions": ["p-0", 4]}
    result = {**session.result, "anomalies": strange, "findings": [finding, {"kind": "lost"}]}
    sessions = [replace(session, result=result), replace(session, result={"anomalies": "none"})]
    assert compute.claimed_anomalies(sessions) == [
        {"session_id": "a", "anomaly": "duplicate", "legal": False, "reason": "", "found": 2}
    ]
    assert [(row["records"], row["partitions_named"]) for row in compute.claimed_findings(sessions)] == [(3, ["p-0"])]
