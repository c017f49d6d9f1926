"""A recorded session on the screen: it goes as it went, is never changed, and live branches leave it."""

import re
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cluster_model.protocol.events import NodeDown
from faults.declarations.fault import Action
from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.export.playbook_writer import export
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError
from playbooks.timetravel.branches import Branches
from playbooks.timetravel.history_view import ReopenedSession
from tests.support.playbooks import MANUAL
from tests.tui.driving import Driver, driving, in_feed
from tui import launcher
from tui.program import ProgramOptions, run_destinations
from tui.screen_choice import ScreenChoice, ScreenChoiceError
from tui.session.destination import SESSION, Destination
from tui.settings.schema import Settings
from tui.terminal.frame_clock import StepClock

pytestmark = pytest.mark.slow

SECOND = 1_000_000
CRASHED = in_feed(NodeDown(0, "broker 1", 1, "crash"))


BOOK = """\
floodmark: 1
name: sandbox
title: A small cluster under load, to be broken by hand
seed: 1
cluster: {brokers: 3, config: {offsets.topic.num.partitions: 1}}
topics:
  - {name: orders, partitions: 2, replication: 3, config: {min.insync.replicas: 2}}
  - {name: payments, partitions: 1, replication: 3}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, keys: 100, records: faker:order, config: {acks: all}}
    - {name: clicks, topic: payments, rate: 20/s, keys: 100, records: faker:click, config: {acks: 1}}
  groups:
    - {name: billing, topics: [orders, payments], members: 2, config: {auto.offset.reset: earliest}}
settle: 10s
expect:
  - acked_lost(checkout) == 0
  - committed_lost() == 0
"""


def begin(parent, **more):
    return Session.start(loads(BOOK, "sandbox.yaml"), recorder=Recorder(parent, live=True), open_ended=True, **more)


def record(parent):
    session = begin(parent)
    session.advance(2 * SECOND, 4_000)
    session.act(Action("inject", "crash", "broker(1)", {}, 4 * SECOND))
    session.act(Action("inject", "lag", "broker(2)", {}, SECOND))
    session.advance(9 * SECOND)
    session.act(Action("heal", "all"))
    session.advance(10 * SECOND)
    return session


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return Path(record(tmp_path_factory.mktemp("recorded")).finish().session)


@asynccontextmanager
async def opened(path, size=(120, 40), speed=1.0, beside=None):
    clock = StepClock()
    reopened = ReopenedSession(read_session(path))
    choice = ScreenChoice("unicode", "dark", speed, Settings())
    app = launcher.recording_app(reopened, choice, Branches(reopened, beside), clock=clock)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def torn(path, parent):
    copy = Path(shutil.copytree(path, parent / "torn"))
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (copy / name).unlink()
    events = copy / session_files.EVENTS
    events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
    return copy


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_plays_with_what_the_operator_did_and_pauses_at_its_end(recorded, size, snapshot):
    async with opened(recorded, size) as driver:
        assert "▶ PLAY" in driver.text()
        await driver.seconds(3)
        assert "00:03.0" in driver.text()
        assert CRASHED in driver.text()
        await driver.press("]", "]", "]", "]", "]", "]")
        await driver.seconds(20)
        assert driver.session_controller.ended
        assert "AT END" in driver.text()
        assert driver.toasts() == snapshot
        before = driver.session_controller.view.now_us
        await driver.press("space", ".")
        await driver.seconds(2)
        assert driver.session_controller.view.now_us == before


def files_of(path):
    return {each.name: each.read_bytes() for each in path.iterdir()}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_actions_in_an_opened_session_begin_a_live_branch(recorded, tmp_path, size, snapshot):
    before = files_of(recorded)
    async with opened(recorded, size, beside=Recorder(tmp_path, live=True, root="it")) as driver:
        await driver.seconds(1)
        await driver.press("f", "c")
        assert driver.session_controller.branches.current.letter == "B"
        assert driver.toasts()[-1] == snapshot
        assert "PLAY" not in driver.text()
        assert driver.session_controller.view.brokers[0].state == "down"
        assert driver.app.recorder.session_id == "it-B"
        await driver.press("space")
        await driver.seconds(1)
        assert "LIVE" in driver.text()
        await driver.press("b", "up", "enter")
        assert driver.session_controller.session.recorded is not None
        assert driver.app.recorder is None
        assert all(broker.state == "up" for broker in driver.session_controller.view.brokers)
        await driver.press("space")
        assert "PLAY" in driver.text()
    assert files_of(recorded) == before


async def test_nothing_leaves_it_where_it_settles_and_it_says_so(recorded, snapshot):
    async with opened(recorded) as driver:
        driver.session_controller.session.advance(12 * SECOND)
        await driver.press("w")
        await driver.press("f", "c")
        assert driver.toasts() == snapshot
        assert len(driver.session_controller.branches) == 1


def test_leaving_seals_what_branched_off_and_names_it(recorded, tmp_path, terminal, monkeypatch, capsys, snapshot):
    before = files_of(recorded)

    def fault_record(branches):
        branches.current.session.advance(2 * SECOND)
        branches.fork(Action("inject", "crash", "broker(2)", {}, SECOND))
        while not branches.growing.advance(100_000):
            pass
        branches.adopt()

    monkeypatch.setattr(
        launcher, "recording_app", lambda _session, _screen, branches: FakeApp(lambda: fault_record(branches))
    )
    left = launcher.open_recording(Destination(SESSION, str(recorded)), ProgramOptions(tmp_path, None, None, 1.0), None)
    told = capsys.readouterr()
    assert left.code == 0
    left_at = [line.replace(str(recorded), "<session>") for line in told.err.splitlines() if str(recorded) in line]
    assert [left_at[0], told.out.splitlines()[0]] == snapshot
    (path,) = tmp_path.iterdir()
    assert left.previous_destination == Destination(SESSION, str(path))
    assert replay(read_session(path)).digest == session_files.read_manifest(path).digest
    assert files_of(recorded) == before


async def test_it_pauses_and_continues_an_event_at_a_time(recorded):
    async with opened(recorded) as driver:
        await driver.seconds(1)
        await driver.press("space")
        before = driver.session_controller.session.cluster.executed
        await driver.press(".", ".")
        assert driver.session_controller.session.cluster.executed == before + 2
        assert "PAUSED" in driver.text()
        await driver.press(">")
        await driver.seconds(8)
        assert CRASHED in driver.text()
        assert driver.session_controller.paused


async def test_a_torn_one_goes_up_to_its_last_flush_and_says_so(recorded, tmp_path, snapshot):
    path = torn(recorded, tmp_path)
    last_us = read_session(path).last_us
    async with opened(path, speed=100.0) as driver:
        await driver.seconds(20)
        assert driver.session_controller.ended
        assert driver.session_controller.view.now_us == last_us
        assert driver.toasts()[-2:] == snapshot


def without_numbers(text):
    """A sentence that holds whatever event it is about."""
    return re.sub(r"\d[\d.]*", "N", text)


async def test_a_rerun_that_differs_says_so_and_stops(recorded, tmp_path, snapshot):
    path = torn(recorded, tmp_path)
    actions = path / session_files.ACTIONS
    actions.write_text(actions.read_text().replace('"broker(1)"', '"broker(3)"'))
    async with opened(path, speed=100.0) as driver:
        await driver.seconds(10)
        assert driver.session_controller.ended
        assert without_numbers(driver.toasts()[-1]) == snapshot


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_a_reopened_session_reaches_its_end_in_any_slices(recorded, batch):
    reopened = ReopenedSession(read_session(recorded))
    events = reopened.drain()
    while reopened.advance(reopened.cluster.now_us + 300_000, batch):
        events += reopened.drain()
    events += reopened.drain()
    manifest = session_files.read_manifest(recorded)
    assert (reopened.difference, len(events)) == ("", manifest.events)
    assert reopened.cluster.digest() == manifest.digest


def test_one_that_was_stepped_by_hand_is_refused(tmp_path, snapshot):
    result = start_session(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish()
    with pytest.raises(SessionError) as caught:
        ReopenedSession(read_session(Path(result.session)))
    assert str(caught.value).replace(result.session, "<session>") == snapshot


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("tui.screen_choice.has_terminal", lambda: True)


class FakeApp:
    failure = None
    return_code = 0
    request = None

    def __init__(self, fault_record):
        self.run = fault_record


def code_of(path, glyphs=None, speed=1.0):
    """The exit code of the program that opens a recording."""
    return run_destinations(Destination(SESSION, str(path)), ProgramOptions(None, glyphs, None, speed))


def test_leaving_says_where_it_was_left(recorded, terminal, monkeypatch, capsys, snapshot):
    monkeypatch.setattr(launcher, "recording_app", lambda session, *_: FakeApp(lambda: session.advance(2 * SECOND)))
    assert code_of(recorded) == 0
    told = capsys.readouterr().err.replace(str(recorded), "<session>").splitlines()
    assert told[1].endswith(f": {session_files.read_manifest(recorded).verdict}")
    assert told == snapshot


def test_a_rerun_that_differed_is_the_exit_code(recorded, tmp_path, terminal, monkeypatch, capsys, snapshot):
    path = torn(recorded, tmp_path)
    actions = path / session_files.ACTIONS
    actions.write_text(actions.read_text().replace('"broker(1)"', '"broker(3)"'))
    monkeypatch.setattr(launcher, "recording_app", lambda session, *_: FakeApp(lambda: session.advance(20 * SECOND)))
    assert code_of(path) == 1
    assert without_numbers(capsys.readouterr().err.splitlines()[0]) == snapshot


@pytest.mark.parametrize(("glyphs", "speed"), [("emoji", 1.0), (None, 0.0)])
def test_bad_options_are_refused(recorded, terminal, capsys, glyphs, speed):
    assert code_of(recorded, glyphs, speed) == 2
    assert capsys.readouterr().err.count("error") == 1
    assert issubclass(ScreenChoiceError, Exception)


# -- exporting from the screen ---------------------------------------------------------------------------------------


async def test_a_key_writes_a_playbook_of_the_session_so_far(tmp_path, snapshot):
    session = record(tmp_path)
    async with driving((80, 24), session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.press("E")
        await driver.app.workers.wait_for_complete()
        await driver.settle()
        (written,) = tmp_path.glob("*.yaml")
        assert driver.toasts()[-1].replace(str(written), "<playbook>") == snapshot
        assert "inject: crash" in written.read_text()
        await driver.seconds(1)
        assert session.phase == "steps"


async def test_a_session_that_is_not_recorded_cannot_be_exported(snapshot):
    async with driving() as driver:
        await driver.press("E")
        assert driver.toasts() == snapshot


async def test_an_export_that_fails_says_why(tmp_path):
    session = record(tmp_path)
    async with driving(session=session) as driver:
        driver.app.recorder = session.recorder
        (session.recorder.path / session_files.START).write_text("{")
        await driver.press("E")
        await driver.app.workers.wait_for_complete()
        await driver.settle()
        assert driver.toasts()[-1].startswith("error: ")
        assert list(tmp_path.glob("*.yaml")) == []


async def test_sessions_driven_by_keys_replay_to_the_same_digest(tmp_path):
    session = begin(tmp_path, seed=4)
    async with driving(session=session) as driver:
        await driver.seconds(2)
        await driver.press("f", "c")
        await driver.press("space", ".", ".", ".", "l", "f", "l", ".", "a", "l")
        await driver.press("left", "left", "f", "g", "space")
        await driver.seconds(3)
        await driver.press("H")
        await driver.seconds(1)
    result = session.finish()
    found = export(read_session(Path(result.session)))
    assert found.digest == result.digest
    assert found.operator >= 4
    assert start_session(loads(found.text, "x.yaml")).finish().digest == result.digest
