"""Sessions of format 1 are read with the names of format 2: events, sealed tables, result."""

import json
import shutil
from pathlib import Path

import pytest

from cluster_model.protocol.events import COLUMNS, KINDS
from playbooks.diff.session_diff import open_side
from playbooks.engine.replay import recover
from playbooks.recording.event_codec import decode
from playbooks.recording.reader import read_session
from playbooks.results.failure_keys import current_key
from playbooks.session_format import format_1, session_files
from playbooks.session_format.bundle import open_bundle
from playbooks.session_format.session_files import SessionError
from spark_report.input.sessions import check_session

GOLDENS = Path(__file__).parent / "golden_sessions"


@pytest.fixture(params=["losses", "violations"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return open_bundle(GOLDENS / f"format-1-{request.param}.floodmark", tmp_path)


def test_events_name_the_log_branch_of_records(session: Path) -> None:
    lines = decode(read_session(session).events)
    acked = [line for line in lines if line.kind == "records_acked" and line.acks != 0]
    assert acked
    assert all(line.log_branch >= 0 for line in acked)


def test_a_comparison_reads_the_same_events(session: Path) -> None:
    side = open_side(session)
    assert b"".join(line for _head, line in side.lines()) == read_session(session).events


def test_a_torn_session_is_read_alike(session: Path) -> None:
    events = read_session(session).events
    (session / session_files.MANIFEST).unlink()
    assert read_session(session).events == events
    assert len(check_session(session).problems) == 1


def test_a_torn_session_is_not_sealed_with_the_names_of_another_format(session: Path) -> None:
    (session / session_files.MANIFEST).unlink()
    before = session_files.files_in(session)
    with pytest.raises(SessionError) as caught:
        recover(session)
    assert caught.value.code == "earlier_format"
    assert session_files.files_in(session) == before


def test_the_result_has_the_keys_of_today(session: Path) -> None:
    recorded = json.loads((session / session_files.RESULT).read_text())
    result = check_session(session).result
    assert set(result) - set(recorded) == {"ledger_by_partition", "liveness_violations", "pending_liveness"}
    assert set(recorded) - set(result) == {"books", "overdue", "unjudged"}
    assert result["ledger_by_partition"] == recorded["books"]
    chains = [(now["chain"], then["chain"]) for now, then in zip(result["findings"], recorded["findings"], strict=True)]
    assert chains
    for now, then in chains:
        assert [each["description"] for each in now] == [each["words"] for each in then]
    for now, then in zip(result["findings"], recorded["findings"], strict=True):
        assert now["ranges"] == then["places"]


def test_a_known_violation_stays_known(session: Path) -> None:
    recorded = json.loads((session / session_files.RESULT).read_text())["violations"]
    assert any(each["known"] for each in recorded)
    assert check_session(session).result["violations"] == recorded
    lines = [line for line in decode(read_session(session).events) if line.kind == "invariant_violated"]
    assert [line.known for line in lines] == [each["known"] for each in recorded]


def test_names_of_format_2_are_those_of_its_events_and_tables() -> None:
    assert set(format_1.EVENT_FIELDS.values()) <= set(COLUMNS)
    assert set(format_1.EVENT_KINDS.values()) <= set(KINDS)
    assert set(format_1.LEDGER_COLUMNS.values()) <= set(session_files.LEDGER_COLUMNS)
    assert set(format_1.FINAL_READ_COLUMNS.values()) <= set(session_files.FINAL_READ_COLUMNS)


def test_an_explanation_of_format_1_does_not_count(session: Path) -> None:
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    kept = {"digest": manifest.digest, "version": "1"}
    (session / session_files.WHY).write_text(json.dumps(kept))
    assert session_files.read_why(session, manifest.digest, "1") == {}
    (session / session_files.WHY).write_text(json.dumps({**kept, "format": session_files.FORMAT}))
    assert session_files.read_why(session, manifest.digest, "1") != {}


def test_only_names_of_fields_and_kinds_are_translated() -> None:
    detail = json.dumps(',"stint":"kind":"batch_damaged" "stint"')
    line = f'{{"seq":0,"kind":"%s","at_us":1,"%s":3,"detail":{detail}}}\n'
    for earlier, current in format_1.EVENT_KINDS.items():
        translated = format_1.current_events((line % (earlier, "stint")).encode())
        assert translated == (line % (current, "log_branch")).encode()
        assert format_1.current_events(translated) == translated


def test_malformed_format_1_values_are_left_unchanged() -> None:
    odd = {"overdue": 3, "findings": [4, {"chain": [5, {"event": 6}], "places": 7}], "stuck": {"why": 8}}
    assert format_1.current_result(odd) == {
        "liveness_violations": 3,
        "findings": [4, {"chain": [5, {"event": 6}], "ranges": 7}],
        "stuck": {"why": 8},
    }


def test_names_in_the_result_are_those_of_today() -> None:
    recorded = {
        "ledger": {"undone": 1, "leaked": 2},
        "findings": [{"kind": "undone"}, {"kind": "leaked"}, {"kind": "lost"}, {"kind": []}],
        "overdue": [{"property": "parked-requests"}],
    }
    assert format_1.current_result(recorded) == {
        "ledger": {"acked_aborted": 1, "aborted_committed": 2},
        "findings": [{"kind": "acked-aborted"}, {"kind": "aborted-committed"}, {"kind": "lost"}, {"kind": []}],
        "liveness_violations": [{"property": "delayed-requests"}],
    }


def test_kinds_of_the_manifest_are_counted_under_their_names_of_today(session: Path) -> None:
    path = session / session_files.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["kinds"] |= {"liveness_overdue": 2}
    path.write_text(json.dumps(manifest))
    found = session_files.read_manifest(session)
    assert found is not None
    assert found.kinds["liveness_violated"] == 2
    assert "liveness_overdue" not in found.kinds


def test_a_key_of_a_failure_may_have_its_earlier_name() -> None:
    assert current_key("overdue:isr-rejoined") == "liveness:isr-rejoined"
    assert current_key("overdue:parked-requests") == "liveness:delayed-requests"
    assert current_key("finding:undone/*") == "finding:acked-aborted/*"
    assert current_key("violation:overdue:x") == "violation:overdue:x"


def test_a_copy_of_the_files_is_not_changed_by_reading(session: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(session, tmp_path / "copy"))
    read_session(session), check_session(session), open_side(session)
    for name in session_files.files_in(copy):
        assert (copy / name).read_bytes() == (session / name).read_bytes()
