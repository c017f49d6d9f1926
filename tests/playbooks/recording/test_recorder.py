"""What a recording holds at every moment: while it runs, after it was sealed, after its process was killed."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import COLUMNS, FIELDS, BrokerFenced, Event, HwAdvanced
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import FLUSH_EVENTS, FLUSH_SECONDS, Recorder, RecordingError
from playbooks.recording.seal import ORDER, SCHEMA, scenario_digest
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem
from tests.support.playbooks import CRASH, timed
from tests.support.wording import masked_text

ROOT = Path(__file__).parents[3]


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def begun(tmp_path: Path, clock: Clock) -> Recorder:
    recorder = Recorder(tmp_path, clock=clock)
    playbook = timed()
    recorder.begin(playbook, 5, Session.start(playbook).cluster.view())
    return recorder


def data_event(number: int) -> Event:
    return HwAdvanced(number, "orders-0", 1, 0, number)


def lines(recorder: Recorder) -> list[dict[str, object]]:
    return [json.loads(line) for line in (recorder.path / session_files.EVENTS).read_text().splitlines()]


def test_nothing_is_on_disk_before_it_begins(tmp_path: Path) -> None:
    Recorder(tmp_path / "sessions")
    assert not (tmp_path / "sessions").exists()


def test_the_directory_says_what_is_about_to_run(tmp_path: Path) -> None:
    recorder = begun(tmp_path, Clock())
    assert recorder.path.name.startswith("session_id=2")
    assert recorder.session_id.rpartition("-")[0].endswith("-small-s5")
    start = session_files.read_start(recorder.path)
    assert (start.playbook, start.seed, start.profile, start.live) == ("small", 5, "3.9-kraft", False)
    assert start.topics[0].assignment == {"orders-0": [1, 2, 3]}
    assert (start.topics[0].min_isr, start.topics[0].default_min_isr) == (2, 1)
    own = {topic.name: (topic.min_isr, topic.partitions) for topic in start.topics[1:]}
    assert own == {"__consumer_offsets": (1, 1)}
    assert [broker["id"] for broker in start.brokers] == [1, 2, 3]
    assert start.producers == ({"name": "checkout", "topic": "orders", "acks": -1},)
    assert start.groups == ("billing",)
    assert loads((recorder.path / session_files.PLAYBOOK).read_text(), "x.yaml").name == "small"


def test_common_events_wait_for_company(tmp_path: Path) -> None:
    recorder = begun(tmp_path, Clock())
    recorder.write([data_event(number) for number in range(FLUSH_EVENTS - 1)])
    assert lines(recorder) == []
    recorder.write([data_event(FLUSH_EVENTS)])
    assert [line["seq"] for line in lines(recorder)] == list(range(FLUSH_EVENTS))


def test_common_events_wait_no_longer_than_the_interval(tmp_path: Path) -> None:
    clock = Clock()
    recorder = begun(tmp_path, clock)
    recorder.write([data_event(1)])
    assert lines(recorder) == []
    clock.now += FLUSH_SECONDS
    recorder.write([data_event(2)])
    assert len(lines(recorder)) == 2


def test_rare_events_are_written_at_once_with_what_waited_before_them(tmp_path: Path) -> None:
    recorder = begun(tmp_path, Clock())
    recorder.write([data_event(1)])
    recorder.write([BrokerFenced(7, 2, "session timed out")])
    assert [line["kind"] for line in lines(recorder)] == ["hw_advanced", "broker_fenced"]


@pytest.mark.slow
def test_a_line_has_every_field_of_its_event(tmp_path: Path) -> None:
    session = Session.start(loads(CRASH, "crash.yaml"), recorder=Recorder(tmp_path))
    session.finish()
    assert session.recorder is not None
    kinds = set()
    for number, line in enumerate(lines(session.recorder)):
        kind = str(line["kind"])
        kinds.add(kind)
        assert tuple(line) == ("seq", "kind", *FIELDS[kind])
        assert line["seq"] == number
    assert {"fault_injected", "leader_elected", "isr_changed", "records_acked", "step_taken"} <= kinds


@pytest.mark.slow
def test_a_sealed_session_holds_the_same_events_as_columns(tmp_path: Path) -> None:
    session = Session.start(loads(CRASH, "crash.yaml"), recorder=Recorder(tmp_path))
    result = session.finish()
    directory = Path(result.session)
    table = pq.read_table(directory / session_files.EVENTS_PARQUET)
    assert tuple(table.schema.names) == ORDER == ("seq", "at_us", "kind", *[c for c in COLUMNS if c not in ORDER[:3]])
    assert table.schema.equals(SCHEMA)
    assert session.recorder is not None
    rows = table.to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["kind"], row["at_us"], row["seq"]))
    recorded = {line["seq"]: line for line in lines(session.recorder)}
    assert len(rows) == len(recorded) == result.events
    for row in rows:
        assert {key: value for key, value in row.items() if key in recorded[row["seq"]]} == recorded[row["seq"]]
        assert all(value is None for key, value in row.items() if key not in recorded[row["seq"]])


def test_the_manifest_seals_every_file(tmp_path: Path) -> None:
    result = Session.start(timed(), recorder=Recorder(tmp_path)).finish()
    directory = Path(result.session)
    manifest = session_files.read_manifest(directory)
    assert manifest is not None
    assert (manifest.digest, manifest.verdict, manifest.status) == (result.digest, "pass", "complete")
    assert (manifest.first_seq, manifest.last_seq, manifest.events) == (0, result.events - 1, result.events)
    assert sorted([*manifest.files, session_files.MANIFEST]) == sorted(path.name for path in directory.iterdir())
    for name, seal in manifest.files.items():
        data = (directory / name).read_bytes()
        assert (seal.sha256, seal.bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert json.loads((directory / session_files.RESULT).read_text()) == result.to_json()


@pytest.mark.slow
def test_two_sessions_of_one_second_have_two_directories(tmp_path: Path) -> None:
    paths = {begun(tmp_path, Clock()).path for _ in range(20)}
    assert len(paths) == 20


def test_a_session_that_somebody_has_removed_cannot_be_sealed(tmp_path: Path) -> None:
    session = Session.start(timed(), recorder=Recorder(tmp_path))
    assert session.recorder is not None
    shutil.rmtree(session.recorder.path)
    with pytest.raises(RecordingError) as caught:
        session.finish()
    assert caught.value.code == "cannot_seal"
    assert str(session.recorder.path) in str(caught.value)


def test_an_unusable_parent_is_one_clear_error(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError) as caught:
        begun(tmp_path / "file", Clock())
    assert caught.value.code == "cannot_begin"
    assert masked_text(caught.value, parent=tmp_path / "file") == snapshot


def test_a_crash_keeps_the_events_and_its_account(tmp_path: Path) -> None:
    recorder = begun(tmp_path, Clock())
    recorder.write([data_event(1)])
    log = recorder.crash("what happened")
    assert log.read_text() == "what happened"
    assert len(lines(recorder)) == 1
    assert not (recorder.path / session_files.MANIFEST).exists()


def test_an_interrupt_in_the_middle_of_a_write_leaves_no_event_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = begun(tmp_path, Clock())
    recorder.write([BrokerFenced(1, 2, "session timed out")])
    write = os.write

    def interrupted(fd: int, data: bytes) -> int:
        write(fd, bytes(data)[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            recorder.write([BrokerFenced(2, 3, "session timed out")] * 3)
    recorder.close()
    assert [line["seq"] for line in lines(recorder)] == [0, 1, 2, 3]


@pytest.mark.slow
def test_kill_9_loses_nothing_that_write_returned_for(tmp_path: Path) -> None:
    program = f"""
        import sys
        from pathlib import Path
        from playbooks.recording.recorder import Recorder
        from playbooks.engine.session import Session
        from tests.support.playbooks import timed
        session = Session.start(timed("- at: 2s\\n  inject: crash\\n  target: broker(1)"), open_ended=True,
                                recorder=Recorder(Path({str(tmp_path)!r})))
        while True:
            session.advance(session.cluster.now_us + 100_000)
            session.recorder.flush()
            print(session.recorder.events, session.recorder.path, flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(40)][-1]
    os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    count, path = told.strip().split(" ", 1)
    text = (Path(path) / session_files.EVENTS).read_bytes()
    assert text.endswith(b"\n")
    recorded = [json.loads(line) for line in text.splitlines()]
    assert len(recorded) >= int(count) > 0
    assert [line["seq"] for line in recorded] == list(range(len(recorded)))
    assert not (Path(path) / session_files.MANIFEST).exists()


def test_extra_files_do_not_change_the_scenario_digest(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    Session.start(timed(), recorder=recorder).finish()
    start = session_files.read_object(recorder.path / session_files.START)
    before = scenario_digest(recorder.path, start)
    (recorder.path / "notes.txt").write_text("what I think of it")
    assert scenario_digest(recorder.path, start) == before
    (recorder.path / session_files.FRAGMENTS).write_text("{}")
    assert scenario_digest(recorder.path, start) != before


def test_a_file_whose_size_cannot_be_reported_ends_the_recording_as_any_failure_of_the_disk(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    class Broken(FileSystem):
        def size(self, fd: int) -> int:
            raise OSError(errno.EIO, "Input/output error")

    playbook = timed()
    recorder = Recorder(tmp_path, disk=Broken())
    recorder.begin(playbook, 5, Session.start(playbook).cluster.view())
    recorder.write([data_event(0)])
    with pytest.raises(RecordingError) as caught:
        recorder.flush()
    assert caught.value.code == "cannot_go_on"
    assert masked_text(caught.value, session=recorder.path) == snapshot
    assert recorder.failure
