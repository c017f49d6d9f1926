"""Recorded sessions run again: the same, or one clear error."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import SCHEMA_VERSION
from cluster_model.util.quantities import time_in_seconds
from faults.declarations.fault import Action, FaultError
from playbooks.engine import replay
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import ReplayMismatchError
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError
from playbooks.session_format.session_finder import find_session
from playbooks.version import VERSION
from tests.support.playbooks import CRASH as BUSY
from tests.support.playbooks import MANUAL, timed
from tests.support.wording import masked_text

CRASH = BUSY.replace("rate: 100/s", "rate: 20/s")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("recorded")
    return Path(Session.start(loads(CRASH, "crash.yaml"), seed=9, recorder=Recorder(parent)).finish().session)


@pytest.fixture
def session(recorded: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(recorded, tmp_path / recorded.name))


def torn(session: Path, keep: int) -> Path:
    """As if the process had died after ``keep`` bytes of events."""
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (session / name).unlink()
    events = session / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:keep])
    return session


def again(path: Path) -> replay.ReplayResult:
    return replay.replay(read_session(path))


@pytest.mark.slow
def test_a_session_comes_out_the_same(recorded: Path) -> None:
    replayed = again(recorded)
    manifest = session_files.read_manifest(recorded)
    assert manifest is not None
    assert (replayed.events, replayed.digest, replayed.notes) == (manifest.events, manifest.digest, ())


@pytest.mark.slow
def test_a_manual_session_comes_out_the_same(tmp_path: Path) -> None:
    result = ManualSession.start(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish()
    assert again(Path(result.session)).digest == result.digest


@pytest.mark.slow
def test_a_session_that_was_cut_off_is_cut_off_again(tmp_path: Path) -> None:
    result = Session.start(timed(settle="10s"), until_us=4_321_000, recorder=Recorder(tmp_path)).finish()
    assert result.verdict == "inconclusive"
    assert again(Path(result.session)).digest == result.digest


def live_session(parent: Path) -> Session:
    playbook = timed("- at: 3s\n  inject: lag\n  target: random(all)\n  for: 1s", settle="3s")
    session = Session.start(playbook, recorder=Recorder(parent, live=True), open_ended=True)
    session.advance(1_000_000, 333)
    session.act(Action("inject", "crash", "leader(orders-0)", {}, 2_000_000))
    session.advance(5_000_000)
    with pytest.raises(FaultError):
        session.act(Action("inject", "restart", "broker(3)"))
    session.act(Action("inject", "lag", "random(isr(orders-0))", {"latency": 5_000}))
    session.advance(7_777_777)
    session.act(Action("heal", "all"))
    session.advance(9_000_000, 50)
    return session


@pytest.mark.slow
def test_an_operators_actions_are_repeated(tmp_path: Path) -> None:
    result = live_session(tmp_path).finish()
    path = Path(result.session)
    verbs = [json.loads(line)["verb"] for line in (path / session_files.ACTIONS).read_text().splitlines()]
    assert verbs == ["inject", "inject", "inject", "heal", "settle"]
    assert again(path).digest == result.digest


def test_an_action_right_after_a_step_comes_after_it_again(tmp_path: Path) -> None:
    playbook = timed("- at: 2s\n  inject: gc_pause\n  target: broker(2)\n  for: 1s")
    session = Session.start(playbook, recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(2_000_000)
    assert session.steps_taken == 1
    session.act(Action("inject", "crash", "broker(3)"))
    result = session.finish()
    assert again(Path(result.session)).digest == result.digest


def test_a_live_session_that_died_is_compared_as_far_as_it_goes(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = live_session(tmp_path)
    assert session.recorder is not None
    session.recorder.close()
    replayed = again(session.recorder.path)
    assert (replayed.events, replayed.digest) == (session.recorder.events, "")
    assert replayed.notes == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 1, 100])
def test_a_session_without_a_whole_event_is_not_the_same_as_anything(
    session: Path, keep: int, snapshot: SnapshotAssertion
) -> None:
    assert b"\n" not in (session / session_files.EVENTS).read_bytes()[:keep]
    torn(session, keep)
    with pytest.raises(SessionError) as caught:
        again(session)
    assert caught.value.code == "no_whole_event"
    assert masked_text(caught.value, session=session) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(
    "garbage", [b"\xff\x00garbage", b"\0" * 4096, b'{"seq":', b"\r\r"], ids=("binary", "zeros", "half", "returns")
)
def test_garbage_after_the_last_whole_line_is_left_out_with_a_note(
    session: Path, garbage: bytes, snapshot: SnapshotAssertion
) -> None:
    torn(session, 1 << 30)
    path = session / session_files.EVENTS
    whole = path.read_bytes()
    path.write_bytes(whole + garbage)
    replayed = again(session)
    assert replayed.events == whole.count(b"\n")
    assert f" {len(garbage):,} bytes" in replayed.notes[0]
    assert replayed.notes == snapshot


@pytest.mark.parametrize("keep", [1_234, 12_345, 54_321])
def test_a_torn_session_is_read_up_to_its_last_whole_line(session: Path, keep: int) -> None:
    whole = (session / session_files.EVENTS).read_bytes()[:keep].count(b"\n")
    replayed = again(torn(session, keep))
    assert replayed.events == whole
    torn_line = [note for note in replayed.notes if note.startswith(session_files.EVENTS)]
    assert bool(torn_line) == (not (session / session_files.EVENTS).read_bytes().endswith(b"\n"))


def changed_line(session: Path, number: int, old: bytes, new: bytes) -> None:
    path = session / session_files.EVENTS
    lines = path.read_bytes().splitlines(keepends=True)
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    path.write_bytes(b"".join(lines))


def difference(session: Path) -> tuple[str, ...]:
    with pytest.raises(ReplayMismatchError) as caught:
        again(session)
    return tuple(str(caught.value).splitlines())


def test_a_difference_names_the_first_event_its_time_its_field_and_both_lines(
    session: Path, snapshot: SnapshotAssertion
) -> None:
    torn(session, 1 << 30)
    changed_line(session, 40, b'"at_us":', b'"at_us":9')
    first, what, was, now = difference(session)
    recorded = json.loads(was.removeprefix("  recorded: "))
    at_us = str(recorded["at_us"])
    assert masked_text(first, time=time_in_seconds(recorded["at_us"])) == snapshot
    assert masked_text(what, kind=recorded["kind"], recorded=at_us, replayed=at_us[1:]) == snapshot
    assert '"seq":40' in was
    assert was.replace('"at_us":9', '"at_us":').replace("recorded", "replayed") == now


def test_another_version_is_named_in_the_error(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 1 << 30)
    start = session / session_files.START
    start.write_text(start.read_text().replace('"tool_version": "', '"tool_version": "0.0.1-'))
    changed_line(session, 3, b'"at_us":', b'"at_us":9')
    first = difference(session)[0]
    assert f"0.0.1-{VERSION}, " in first
    at = first.index(" (")
    assert masked_text(first[at:], version=VERSION) == snapshot


def doctored(session: Path, doctor: Callable[[list[dict[str, Any]]], object]) -> Path:
    """A recording as another version might have made it."""
    torn(session, 1 << 30)
    path = session / session_files.EVENTS
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    doctor(events)
    lines = [json.dumps(event | {"seq": seq}, separators=(",", ":")) for seq, event in enumerate(events)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return session


def place_of(events: list[dict[str, Any]], kind: str) -> int:
    return next(place for place, event in enumerate(events) if event["kind"] == kind)


def leader(events: list[dict[str, Any]]) -> dict[str, Any]:
    return events[place_of(events, "fault_injected")]


DIFFERENCES: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "another target": lambda e: leader(e).update(target="broker 9"),
    "a recorded field": lambda e: leader(e).update(mood="grim"),
    "a replayed field": lambda e: leader(e).pop("detail"),
    "another kind": lambda e: leader(e).update(kind="node_up"),
    "an unknown kind": lambda e: leader(e).update(kind="moon_rose"),
    "a missing event": lambda e: e.insert(place_of(e, "fault_injected"), {"kind": "broker_fenced", "at_us": 7}),
    "an extra event": lambda e: e.pop(place_of(e, "fault_injected")),
    "an event after the end": lambda e: e.append({"kind": "node_up", "at_us": 9}),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DIFFERENCES)
def test_replay_mismatches_are_described(session: Path, what: str, snapshot: SnapshotAssertion) -> None:
    assert difference(doctored(session, DIFFERENCES[what]))[1] == snapshot


def test_events_that_do_not_happen_again_are_a_difference(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 1 << 30)
    path = session / session_files.EVENTS
    count = path.read_bytes().count(b"\n")
    last = json.loads(path.read_bytes().splitlines()[-1])
    path.write_bytes(path.read_bytes() + json.dumps(last | {"seq": count}).encode() + b"\n")
    first, *_rest, now = difference(session)
    assert f"event {count} " in first
    assert now == snapshot


def test_another_digest_is_a_difference(session: Path, snapshot: SnapshotAssertion) -> None:
    manifest = session / session_files.MANIFEST
    document = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(document | {"digest": "0" * 32}))
    (told,) = difference(session)
    assert masked_text(told, events=document["events"], digest=document["digest"]) == snapshot


def refused(session: Path) -> SessionError:
    with pytest.raises(SessionError) as caught:
        read_session(session)
    return caught.value


@pytest.mark.parametrize("name", [session_files.EVENTS, session_files.PLAYBOOK, session_files.ACTIONS])
def test_a_file_changed_after_sealing_is_refused(session: Path, name: str, snapshot: SnapshotAssertion) -> None:
    (session / name).write_bytes((session / name).read_bytes()[:-7] if name != session_files.ACTIONS else b"{}\n")
    refusal = refused(session)
    assert refusal.code == "size_changed"
    assert re.sub(r"\d+", "N", masked_text(refusal, session=session)) == snapshot


def test_a_changed_byte_is_noticed(session: Path, snapshot: SnapshotAssertion) -> None:
    text = (session / session_files.EVENTS).read_bytes()
    (session / session_files.EVENTS).write_bytes(text.replace(b"1", b"2", 1))
    refusal = refused(session)
    assert refusal.code == "content_changed"
    assert masked_text(refusal, session=session) == snapshot


def test_a_hole_in_the_events_is_refused(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 1 << 30)
    path = session / session_files.EVENTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:10] + lines[11:]))
    refusal = refused(session)
    assert refusal.code == "events_missing"
    assert masked_text(refusal, session=session) == snapshot


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b'{"seq": "x"}\n', b"\xff\xfe\n"])
def test_lines_that_are_no_events_are_refused(session: Path, line: bytes, snapshot: SnapshotAssertion) -> None:
    torn(session, 0)
    (session / session_files.EVENTS).write_bytes(line)
    refusal = refused(session)
    assert refusal.code == "not_an_event"
    assert masked_text(refusal, session=session) == snapshot


def test_lines_that_are_no_actions_are_refused(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 0)
    (session / session_files.ACTIONS).write_text('{"verb": "inject"}\n')
    refusal = refused(session)
    assert refusal.code == "not_an_action"
    assert masked_text(refusal, session=session) == snapshot


def test_an_unknown_verb_is_refused(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 0)
    action = {"at_us": 0, "executed": 0, "steps": 0, "verb": "dance", "name": "", "target": "", "params": {}}
    (session / session_files.ACTIONS).write_text(json.dumps(action | {"for_us": -1}) + "\n")
    refusal = refused(session)
    assert refusal.code == "unknown_verb"
    assert masked_text(refusal, session=session) == snapshot


def test_a_session_of_a_later_format_is_refused(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 0)
    start = session / session_files.START
    start.write_text(start.read_text().replace(f'"format": {session_files.FORMAT}', '"format": 99'))
    refusal = refused(session)
    assert refusal.code == "later_format"
    assert masked_text(refusal, session=session, version=VERSION) == snapshot


def test_a_session_of_a_later_schema_is_read_and_said(session: Path, snapshot: SnapshotAssertion) -> None:
    torn(session, 1 << 30)
    start = session / session_files.START
    start.write_text(start.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 99'))
    replayed = again(session)
    assert replayed.events > 0
    assert masked_text(replayed.notes[0], version=VERSION, known=SCHEMA_VERSION) == snapshot


def test_a_playbook_that_is_none_is_reported_with_its_place(session: Path) -> None:
    torn(session, 0)
    (session / session_files.PLAYBOOK).write_text("floodmark: 2\n")
    with pytest.raises(PlaybookError) as caught:
        again(session)
    places = [(Path(each.path).name, each.line, each.column) for each in caught.value.problems]
    assert (session_files.PLAYBOOK, 1, 12) in places


@pytest.mark.parametrize(
    "missing", [session_files.START, session_files.EVENTS, session_files.PLAYBOOK, session_files.ACTIONS]
)
def test_a_directory_without_the_files_is_no_session(session: Path, missing: str, snapshot: SnapshotAssertion) -> None:
    torn(session, 0)
    (session / missing).unlink()
    refusal = refused(session)
    assert refusal.code == "file_missing"
    assert masked_text(refusal, session=session) == snapshot


def test_a_directory_of_sessions_is_no_session_and_they_are_named(recorded: Path, snapshot: SnapshotAssertion) -> None:
    refusal = refused(recorded.parent)
    assert refusal.code == "file_missing"
    assert masked_text(refusal, parent=recorded.parent, session=recorded.name) == snapshot


def test_garbage_instead_of_the_start_is_reported_with_its_place(session: Path, snapshot: SnapshotAssertion) -> None:
    (session / session_files.START).write_text('{"schema_version": }')
    refusal = refused(session)
    assert refusal.code == "not_json"
    assert masked_text(refusal, session=session) == snapshot


def test_sessions_are_found_by_path_id_and_directory_name(
    recorded: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    session_id = recorded.name.removeprefix(session_files.DIRECTORY_PREFIX)
    for text in (str(recorded), session_id, recorded.name):
        assert find_session(text, recorded.parent) == recorded
    with pytest.raises(SessionError) as caught:
        find_session("nowhere", recorded.parent)
    assert caught.value.code == "no_such_session"
    assert masked_text(caught.value, root=recorded.parent) == snapshot
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SessionError) as caught:
        find_session(str(file), recorded.parent)
    assert caught.value.code == "not_a_directory"
    assert masked_text(caught.value, file=file) == snapshot
