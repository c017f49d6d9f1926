"""A span of a recording as a file of its own."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.recording.reader import SpanError, extract_span, span_file_name
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from tests.support.playbooks import timed
from tests.support.wording import masked_text

SECOND = 1_000_000


@pytest.fixture
def growing(tmp_path: Path) -> Recorder:
    """Two seconds of a session that goes on."""
    recorder = Recorder(tmp_path)
    session = Session.start(timed(), recorder=recorder, open_ended=True)
    session.advance(2 * SECOND)
    recorder.flush()
    return recorder


def test_the_lines_are_those_of_the_recording_in_the_span_alone(growing: Recorder, tmp_path: Path) -> None:
    target = tmp_path / "span.jsonl"
    events = (growing.path / session_files.EVENTS).read_text().splitlines()
    wanted = [line for line in events if SECOND // 2 <= json.loads(line)["at_us"] < SECOND]
    assert extract_span(growing.path, SECOND // 2, SECOND, target) == len(wanted) > 10
    assert target.read_text().splitlines() == wanted


def test_a_line_that_is_not_whole_yet_is_left_out(growing: Recorder, tmp_path: Path) -> None:
    events = growing.path / session_files.EVENTS
    before = extract_span(growing.path, 0, 9 * SECOND, tmp_path / "one")
    events.write_bytes(events.read_bytes() + b'{"seq": 99, "at_')
    assert extract_span(growing.path, 0, 9 * SECOND, tmp_path / "other") == before
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_span_without_events_is_an_empty_file(growing: Recorder, tmp_path: Path) -> None:
    assert extract_span(growing.path, 100 * SECOND, 101 * SECOND, tmp_path / "none") == 0
    assert (tmp_path / "none").read_text() == ""


def test_the_name_reports_the_session_and_the_span() -> None:
    assert span_file_name("2026-tail", 1_500_000, 62_000_250) == "2026-tail-1.5s-62.00025s.jsonl"


def test_unreadable_sessions_and_unwritable_targets_are_reported(
    growing: Recorder, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(SpanError) as written:
        extract_span(growing.path, 0, SECOND, tmp_path / "nowhere" / "gone.jsonl")
    with pytest.raises(SpanError) as read:
        extract_span(tmp_path, 0, SECOND, tmp_path / "x")
    (growing.path / session_files.EVENTS).write_text("nonsense\n")
    with pytest.raises(SpanError) as understood:
        extract_span(growing.path, 0, SECOND, tmp_path / "x")
    refusals = [each.value for each in (written, read, understood)]
    assert [each.code for each in refusals] == ["unwritable", "unreadable", "not_an_event"]
    assert [masked_text(each, session=growing.path, directory=tmp_path) for each in refusals] == snapshot
    assert not (tmp_path / "x").exists()
