"""Torn sessions sealed afterwards: nothing of what was recorded changes, and they can be replayed like any other."""

import dataclasses
import hashlib
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from faults.declarations.fault import Action
from playbooks.engine import replay
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import ReplayMismatchError, recover
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.recording.seal import LedgerRow, sums
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError
from spark_report.input.sessions import check_session
from tests.playbooks.test_durability import Killed, Mortal
from tests.support.breadth import EVENING, sample_count
from tests.support.playbooks import CRASH, MANUAL, timed
from tests.support.sessions import unseal
from tests.support.wording import masked_text

SLOW = CRASH.replace("rate: 100/s", "rate: 20/s")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with actions, of which two share their instant with events and each other."""
    parent = tmp_path_factory.mktemp("recorded")
    playbook = timed("- at: 1s\n  inject: crash\n  target: leader(orders-0)\n  for: 2s", settle="1s")
    session = Session.start(playbook, recorder=Recorder(parent, live=True), open_ended=True)
    session.advance(700_000, 90)
    session.act(Action("inject", "lag", "broker(2)", {"latency": 5_000}))
    session.act(Action("heal", "all"))
    session.advance(1_500_000)
    session.act(Action("inject", "gc_pause", "broker(3)", {}, 1_000_000))
    session.advance(3_000_000)
    return Path(session.finish().session)


@pytest.fixture
def session(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / recorded.name))


def torn(session: Path, lines: int, half: bytes = b"") -> Path:
    """As if the process had died with so many events written, and half of the next."""
    unseal(session)
    events = session / session_files.EVENTS
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:lines]) + half)
    return session


def lines_of(session: Path) -> list[bytes]:
    return (session / session_files.EVENTS).read_bytes().splitlines(keepends=True)


def test_a_torn_session_is_sealed_with_what_it_holds(session: Path) -> None:
    torn(session, 400, b'{"seq":400,"ki')
    (session / ".result.json.tmp").write_text("{")
    before = b"".join(lines_of(session)[:400])
    actions = (session / session_files.ACTIONS).read_bytes()
    done = recover(session)
    assert (done.events, done.dropped, done.end_us) == (400, 14, json.loads(before.splitlines()[-1])["at_us"])
    assert (session / session_files.EVENTS).read_bytes() == before
    assert (session / session_files.ACTIONS).read_bytes() == actions
    assert (session / "events.torn").read_bytes() == b'{"seq":400,"ki'
    assert not (session / ".result.json.tmp").exists()
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert (manifest.status, manifest.verdict, manifest.events, manifest.last_seq) == (
        *("recovered", "inconclusive"),
        *(400, 399),
    )
    assert sorted([*manifest.files, session_files.MANIFEST]) == sorted(path.name for path in session.iterdir())
    for name, seal in manifest.files.items():
        assert hashlib.sha256((session / name).read_bytes()).hexdigest() == seal.sha256


@pytest.mark.slow
def test_a_recovered_session_is_replayed_and_reported(session: Path, snapshot: SnapshotAssertion) -> None:
    done = recover(torn(session, 400))
    recorded = read_session(session)
    assert recorded.notes == snapshot
    replayed = replay.replay(recorded)
    assert (replayed.events, replayed.digest) == (400, done.manifest["digest"])
    assert replay.rerun(recorded).cluster.now_us >= done.end_us
    reported = check_session(session)
    assert (reported.source, reported.last_seq) == ("parquet", 399)
    assert reported.problems == snapshot
    assert pq.read_table(session / session_files.EVENTS_PARQUET).num_rows == 400


def test_a_session_that_tore_while_its_statistics_were_closed_is_run_again_to_there(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    text = (
        "floodmark: 1\nname: quiet\ntopics: [{name: orders, partitions: 1, replication: 3}]\n"
        "expect: [acked_lost() == 0, violations() == 0]\n"
    )
    live = Session.start(loads(text, "quiet.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    live.advance(5_500_000)
    path = Path(live.finish().session)
    lines = lines_of(path)
    assert [json.loads(line)["kind"] for line in lines[-2:]] == ["expectation_checked"] * 2
    recover(torn(path, len(lines) - 1))
    recorded = read_session(path)
    assert replay.rerun(recorded).phase == "ended"
    # Where nobody ends the rerun, as the operator's last action is missing, it does not go on for ever.
    with pytest.raises(ReplayMismatchError) as caught:
        replay.rerun(dataclasses.replace(recorded, actions=()))
    assert re.sub(r"\d[\d.]*", "N", str(caught.value).splitlines()[0]) == snapshot


def test_its_ledger_is_that_of_its_last_point_in_time(session: Path) -> None:
    recover(torn(session, 400))
    table = [LedgerRow(**row) for row in pq.read_table(session / session_files.LEDGER).to_pylist()]
    result = json.loads((session / session_files.RESULT).read_text())
    found = sums(table)
    assert found == {term: result["ledger"][term] for term in found}
    assert any(row.outcome == "sent" for row in table)
    assert result["session"] == str(session)


def test_another_digest_is_noticed(session: Path, snapshot: SnapshotAssertion) -> None:
    recover(torn(session, 400))
    manifest = json.loads((session / session_files.MANIFEST).read_text())
    (session / session_files.MANIFEST).write_text(json.dumps(manifest | {"digest": "0" * 32}))
    with pytest.raises(ReplayMismatchError) as caught:
        replay.replay(read_session(session))
    assert "0" * 32 in str(caught.value)
    assert re.sub(r"\b\w{32}\b|\d+", "N", str(caught.value)) == snapshot


@pytest.mark.parametrize("text", ["crash", "live", "manual"])
@pytest.mark.slow
def test_wherever_it_tears_it_is_recovered_to_what_a_replay_gives(recorded: Path, tmp_path: Path, text: str) -> None:
    if text == "live":
        whole = recorded
    elif text == "manual":
        whole = Path(ManualSession.start(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish().session)
    else:
        whole = Path(Session.start(loads(SLOW, "c.yaml"), recorder=Recorder(tmp_path)).finish().session)
    count = len(lines_of(whole))
    actions = [json.loads(line)["at_us"] for line in (whole / session_files.ACTIONS).read_bytes().splitlines()]
    near = [n for n, line in enumerate(lines_of(whole)) if json.loads(line)["at_us"] in actions]
    places = {
        *range(1, count, max(1, count // sample_count(4, 40))),
        *range(max(1, count - sample_count(3, 12)), count + 1),
        *near,
    }
    for place in sorted(places):
        session = torn(Path(shutil.copytree(whole, tmp_path / f"torn-{place}")), place)
        manifest = recover(session).manifest
        assert manifest["events"] == place
        replayed = replay.replay(read_session(session))
        assert (replayed.events, replayed.digest) == (place, manifest["digest"])
        shutil.rmtree(session)


@pytest.mark.slow
def test_it_stops_right_after_the_event_of_the_model_that_the_last_line_belongs_to(tmp_path: Path) -> None:
    text = SLOW.replace("brokers: 3,", "brokers: 3, network: {latency: 1ms, jitter: 0us},")
    whole = Path(Session.start(loads(text, "c.yaml"), recorder=Recorder(tmp_path)).finish().session)
    again = Session.start(loads(text, "c.yaml"))
    seen = len(again.drain())
    stood: list[tuple[int, int, int, int]] = []
    while again.cluster.now_us < 4_000_000:
        again.advance(1 << 60, 1)
        fresh = len(again.drain())
        seen += fresh
        stood.append((seen, again.cluster.executed, again.cluster.now_us, fresh))
    shared = {one[0]: one[1] for one, other in pairwise(stood) if one[3] and one[2] == other[2]}
    assert len(shared) > 3
    for place, executed in list(shared.items())[:: max(1, len(shared) // 8)]:
        session = torn(Path(shutil.copytree(whole, tmp_path / f"torn-{place}")), place)
        assert replay.replay_to_last_event(read_session(session)).cluster.executed <= executed


@pytest.mark.slow
def test_a_session_whose_process_died_after_its_statistics_were_closed_keeps_its_verdict(tmp_path: Path) -> None:
    session = Path(Session.start(loads(CRASH, "c.yaml"), recorder=Recorder(tmp_path)).finish().session)
    sealed = session_files.read_manifest(session)
    assert sealed is not None
    recover(torn(session, sealed.events))
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert (manifest.digest, manifest.verdict, manifest.events) == (sealed.digest, sealed.verdict, sealed.events)
    assert manifest.scenario_sha256 == sealed.scenario_sha256 != ""


def test_a_sealed_session_needs_no_recovery(session: Path, snapshot: SnapshotAssertion) -> None:
    before = {path.name: path.read_bytes() for path in session.iterdir()}
    with pytest.raises(SessionError) as caught:
        recover(session)
    assert caught.value.code == "sealed_already"
    assert masked_text(caught.value, session=session) == snapshot
    assert before == {path.name: path.read_bytes() for path in session.iterdir()}


def test_unrecoverable_sessions_are_left_unchanged(session: Path) -> None:
    torn(session, 400, b"half")
    events = session / session_files.EVENTS
    events.write_bytes(events.read_bytes().replace(b'"at_us":', b'"at_us":1', 1))
    before = {path.name: path.read_bytes() for path in session.iterdir()}
    with pytest.raises(ReplayMismatchError):
        recover(session)
    assert before == {path.name: path.read_bytes() for path in session.iterdir()}


@pytest.mark.slow
def test_killed_on_the_way_it_can_be_done_again(session: Path, tmp_path: Path) -> None:
    torn(session, 100, b"half of a line")
    undisturbed = Path(shutil.copytree(session, tmp_path / "undisturbed"))
    digest = recover(undisturbed).manifest["digest"]
    assert replay.replay(read_session(undisturbed)).digest == digest
    events = (undisturbed / session_files.EVENTS).read_bytes()
    for lives in range(0, 100, 1 if EVENING else 3):
        again = Path(shutil.copytree(session, tmp_path / f"again-{lives}"))
        try:
            recover(again, disk=Mortal(lives))
        except Killed:
            left = read_session(again)
            assert left.count == 100
            assert (left.manifest or recover(again)).events == 100  # the last call only forces the manifest's name
        else:
            assert lives > 20
            break
        assert (again / "events.torn").read_bytes() == b"half of a line"
        assert (again / session_files.EVENTS).read_bytes() == events
        sealed = session_files.read_manifest(again)
        assert sealed is not None
        assert (sealed.digest, sealed.events) == (digest, 100)
