"""What is whole, what is incomplete and what is set aside, before Spark has started."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import SCHEMA_VERSION
from playbooks.session_format import session_files
from playbooks.session_format.session_files import LayoutError
from playbooks.version import VERSION
from spark_report.input.sessions import check_session, collect_sessions
from spark_report.spark.errors import ReportError
from tests.support.sessions import leader_crash, reseal, tear, write_session
from tests.support.wording import masked_text


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "sessions", leader_crash())


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def damage(session: Path) -> None:
    table = session / session_files.EVENTS_PARQUET
    table.write_bytes(table.read_bytes()[:-100])


def tear_further(session: Path) -> None:
    tear(session, bytes_off=2_000)


class TestWhole:
    def test_a_sealed_session_is_read_from_its_table(self, session: Path) -> None:
        found = check_session(session)
        assert (found.source, found.problems, found.end_us) == ("parquet", (), 20_000_000)
        assert found.last_seq == len(leader_crash()) - 1

    def test_a_directory_of_sessions_means_all_of_them_once(self, tmp_path: Path, session: Path) -> None:
        write_session(tmp_path / "sessions", leader_crash(), session_id="b")
        found, set_aside = collect_sessions([tmp_path / "sessions", session])
        assert [one.session_id for one in found] == ["20260131T101500-leader-crash-s7-9f3a", "b"]
        assert set_aside == []


class TestIncomplete:
    def test_a_torn_session_is_read_up_to_its_last_whole_line(self, session: Path, snapshot: SnapshotAssertion) -> None:
        tear(session)
        found = check_session(session)
        assert found.source == "jsonl"
        assert found.last_seq == len(leader_crash()) - 2
        assert found.problems == snapshot

    def test_a_torn_line_that_happens_to_be_whole_json_still_counts_as_torn(self, session: Path) -> None:
        # A line counts once its newline is there: before that, more of it may have been on its way.
        tear(session, bytes_off=1)
        assert check_session(session).last_seq == len(leader_crash()) - 2

    def test_a_damaged_table_is_replaced_by_the_live_log(self, session: Path, snapshot: SnapshotAssertion) -> None:
        table = session / session_files.EVENTS_PARQUET
        table.write_bytes(table.read_bytes()[:-100])
        found = check_session(session)
        assert found.source == "jsonl"
        assert re.sub(r"\d{3,}", "N", masked_text(found.problems[0], session=session)) == snapshot

    def test_a_result_changed_afterwards_is_reported(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.RESULT, verdict="pass")
        assert [masked_text(each, session=session) for each in check_session(session).problems] == snapshot

    def test_a_session_sealed_afterwards_says_so(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.MANIFEST, status="recovered")
        assert check_session(session).problems == snapshot

    def test_a_result_without_a_ledger_is_not_trusted(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.RESULT, ledger={"sent": "many"})
        reseal(session, session_files.RESULT)
        found = check_session(session)
        assert found.result == {}
        assert [masked_text(each, session=session) for each in found.problems] == snapshot


def refused(session: Path) -> LayoutError:
    """Why a session cannot be looked at, which is what a report of nothing else says."""
    with pytest.raises(LayoutError) as refusal:
        check_session(session)
    with pytest.raises(ReportError) as report:
        collect_sessions([session])
    assert report.value.code == "no_session"
    assert str(report.value) == str(refusal.value)
    return refusal.value


class TestSetAside:
    @pytest.mark.parametrize(
        ("make", "code"),
        [
            (lambda path: None, "no_such_session"),
            (lambda path: path.write_text("x"), "not_a_directory"),
            (lambda path: path.mkdir(), "nothing_recorded"),
        ],
        ids=["absent", "file", "empty"],
    )
    def test_a_foreign_path_is_named(
        self, tmp_path: Path, make: object, code: str, snapshot: SnapshotAssertion
    ) -> None:
        path = tmp_path / "foreign"
        make(path)  # type: ignore[operator]
        refusal = refused(path)
        assert refusal.code == code
        assert masked_text(refusal, path=path) == snapshot

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("{", "not_json"),
            ("[]", "wrong_type"),
            ("{}", "key_missing"),
            ('{"schema_version": true}', "wrong_type"),
            ('{"schema_version": 1, "tool_version": "\\ud800"}', "not_unicode"),
        ],
    )
    def test_a_start_that_is_none_is_named_with_what_is_wrong(
        self, session: Path, text: str, code: str, snapshot: SnapshotAssertion
    ) -> None:
        (session / session_files.START).write_text(text, encoding="utf-8")
        refusal = refused(session)
        assert refusal.code == code
        assert masked_text(refusal, session=session) == snapshot

    def test_a_session_from_a_newer_floodmark(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.START, format=99)
        refusal = refused(session)
        assert refusal.code == "later_format"
        assert masked_text(refusal, session=session, version=VERSION) == snapshot

    def test_a_session_of_a_newer_schema_is_read_and_said(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.START, schema_version=99)
        (found,), aside = collect_sessions([session])
        assert not aside
        assert [masked_text(each, version=VERSION, known=SCHEMA_VERSION) for each in found.problems] == snapshot

    def test_events_of_unknown_kinds_are_counted_and_said(self, session: Path, snapshot: SnapshotAssertion) -> None:
        edit(session / session_files.MANIFEST, kinds={"appended": 5, "weather_changed": 2, "moon_rose": 1})
        found = check_session(session)
        assert found.problems == snapshot
        log = session / session_files.EVENTS
        seq = log.read_bytes().count(b"\n")
        tear(session, 0)
        with log.open("a") as file:
            file.write(f'{{"seq":{seq},"kind":"moon_rose","at_us":99000000}}\n')
        assert check_session(session).problems == snapshot

    def test_a_damaged_table_without_a_live_log(self, session: Path, snapshot: SnapshotAssertion) -> None:
        (session / session_files.EVENTS).unlink()
        (session / session_files.EVENTS_PARQUET).write_bytes(b"PAR1 not really")
        refusal = refused(session)
        assert refusal.code == "content_changed"
        assert re.sub(r"\d{3,}", "N", masked_text(refusal, session=session)) == snapshot

    def test_a_table_with_a_foreign_column_type(self, session: Path, snapshot: SnapshotAssertion) -> None:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        (session / session_files.EVENTS).unlink()
        rows = check_session(session).last_seq + 1
        pq.write_table(pa.table({"seq": ["x"] * rows}), session / session_files.EVENTS_PARQUET)
        reseal(session, session_files.EVENTS_PARQUET)
        refusal = refused(session)
        assert refusal.code == "wrong_column_type"
        assert masked_text(refusal, session=session) == snapshot

    def test_a_torn_session_without_one_whole_line(self, session: Path, snapshot: SnapshotAssertion) -> None:
        tear(session)
        (session / session_files.EVENTS).write_text('{"seq": 0, "ki', encoding="utf-8")
        refusal = refused(session)
        assert refusal.code == "no_whole_event"
        assert masked_text(refusal, session=session) == snapshot

    def test_the_rest_is_still_reported(self, tmp_path: Path, session: Path, snapshot: SnapshotAssertion) -> None:
        found, set_aside = collect_sessions([tmp_path / "missing", session])
        assert [one.path for one in found] == [session]
        assert [aside.path for aside in set_aside] == [tmp_path / "missing"]
        assert masked_text(set_aside[0].reason, path=tmp_path / "missing") == snapshot

    def test_a_copy_of_a_session_is_not_counted_twice(
        self, tmp_path: Path, session: Path, snapshot: SnapshotAssertion
    ) -> None:
        copy = write_session(tmp_path / "copy", leader_crash())
        found, set_aside = collect_sessions([session, copy])
        assert [one.path for one in found] == [session]
        assert set_aside[0].path == copy
        assert masked_text(set_aside[0].reason, copy=copy, session=session) == snapshot

    @pytest.mark.slow
    @pytest.mark.parametrize("harm", [tear, damage, tear_further])
    @pytest.mark.parametrize("backwards", [False, True])
    def test_the_better_of_two_copies_of_a_session_is_used(
        self, tmp_path: Path, session: Path, harm: Callable[[Path], None], backwards: bool, snapshot: SnapshotAssertion
    ) -> None:
        copy = write_session(tmp_path / "copy", leader_crash())
        if harm is tear_further:
            tear(session)
        harm(copy)
        found, set_aside = collect_sessions([copy, session] if backwards else [session, copy])
        assert [one.path for one in found] == [session]
        assert [aside.path for aside in set_aside] == [copy]
        assert masked_text(set_aside[0].reason, copy=copy, session=session) == snapshot
