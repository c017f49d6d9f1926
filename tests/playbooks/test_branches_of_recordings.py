"""A branch of a recording is the recorded session up to where it left, and live from there; the recording stays."""

from pathlib import Path

import pytest

from faults.declarations.fault import Action, FaultError
from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.timetravel.branches import Branches
from playbooks.timetravel.history_view import ReopenedSession
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.support.playbooks import CRASH
from tests.support.sessions import unseal

pytestmark = pytest.mark.slow

SECOND = 1_000_000
LAG = Action("inject", "lag", "broker(3)", {}, SECOND)
REFUSED = Action("inject", "crash", "broker(9)")


def files_of(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.iterdir()}


def headless(parent: Path, text: str = CRASH) -> Path:
    result = start_session(loads(text, "it.yaml"), recorder=Recorder(parent)).finish()
    return Path(result.session)


def live(parent: Path) -> Path:
    """Three seconds more than its playbook, with something refused at four, and lag at five."""
    session = Session.start(loads(CRASH, "it.yaml"), recorder=Recorder(parent, live=True), open_ended=True)
    session.advance(4 * SECOND)
    with pytest.raises(FaultError):
        session.act(REFUSED)
    session.advance(5 * SECOND)
    session.act(LAG)
    session.advance(6 * SECOND)
    return Path(session.finish().session)


def reopened(path: Path, parent: Path | None = None) -> Branches:
    recorded = read_session(path)
    beside = Recorder(parent, live=True, root=recorded.start.session_id) if parent is not None else None
    return Branches(ReopenedSession(recorded), beside)


def grown(branches: Branches, events: int = 100_000) -> RecordedSession:
    growing = branches.growing
    assert growing is not None
    while not growing.advance(events):
        pass
    branches.adopt()
    recorder = branches.current.recorder
    assert recorder is not None
    recorder.flush()
    return read_session(recorder.path)


@pytest.mark.parametrize("record", [headless, live])
@pytest.mark.parametrize("back_us", [-1, 2_500_000])
def test_it_is_the_recording_to_the_byte_up_to_where_it_left(tmp_path, record, back_us):
    path = record(tmp_path / "was")
    before = files_of(path)
    branches = reopened(path, tmp_path / "is")
    branches.current.session.advance(5_500_000)
    if back_us >= 0:
        branches.current.session.to_time(back_us)
    digest = branches.current.session.cluster.digest()
    branches.fork()
    begun = grown(branches, 97)
    assert branches.current.session.cluster.digest() == digest
    recorded = read_session(path)
    assert begun.count > 100
    assert recorded.events.startswith(begun.events)
    assert begun.start.live
    assert begun.start.branch == session_files.BranchOrigin(
        "B", recorded.start.session_id, 5_500_000 if back_us < 0 else back_us
    )
    branches.current.session.act(LAG)
    branches.current.session.advance(8 * SECOND)
    result = branches.current.live.finish()
    assert replay(read_session(Path(result.session))).digest == result.digest
    assert not recorded.events.startswith(read_session(Path(result.session)).events)
    assert files_of(path) == before


def test_acting_anywhere_in_it_begins_one(tmp_path):
    branches = reopened(live(tmp_path / "was"), tmp_path / "is")
    branches.current.session.advance(3 * SECOND)
    branches.fork(Action("heal", "all"))
    grown(branches)
    assert branches.current.session.board.active() == ()
    assert branches.current.session.recorded is None
    assert branches.current.began == "heal all"


def test_undoing_leaves_out_what_its_operator_did_last_and_refusals_do_not_count(tmp_path, snapshot):
    branches = reopened(live(tmp_path / "was"), tmp_path / "is")
    branches.current.session.advance(5_500_000)
    branches.undo()
    grown(branches)
    assert branches.current.left_us == 5 * SECOND
    assert branches.current.began == snapshot(name="began")
    branches.redo()
    assert branches.current.session.recorded is not None
    branches.current.session.to_time(4_500_000)
    with pytest.raises(FaultError) as refused:
        branches.undo()
    assert str(refused.value) == snapshot(name="refused")


def test_none_leaves_where_it_settles_or_has_ended(tmp_path, snapshot):
    branches = reopened(headless(tmp_path / "was"))
    session = branches.current.session
    while session.viewed_session.phase == "steps":
        session.advance(session.cluster.now_us + 100_000)
    with pytest.raises(FaultError) as settling:
        branches.fork()
    while session.advance(session.cluster.now_us + SECOND):
        pass
    with pytest.raises(FaultError) as ended:
        branches.fork(LAG)
    assert [str(each.value) for each in (settling, ended)] == snapshot
    session.to_time(SECOND)
    branches.fork()


def test_none_leaves_where_the_rerun_is_another_session(tmp_path, snapshot):
    path = live(tmp_path / "was")
    unseal(path)
    actions = path / session_files.ACTIONS
    actions.write_text(actions.read_text().replace('"broker(3)"', '"broker(2)"'))
    branches = reopened(path)
    session = branches.current.session
    while session.advance(session.cluster.now_us + SECOND):
        pass
    with pytest.raises(FaultError) as refused:
        branches.fork()
    assert str(refused.value) == snapshot
    session.to_time(4_900_000)
    branches.fork()
    assert branches.growing is not None


def test_a_torn_one_is_left_as_it_is_and_continues_in_a_branch(tmp_path):
    path = headless(tmp_path / "was")
    unseal(path)
    events = path / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:40_000])
    before = files_of(path)
    branches = reopened(path, tmp_path / "is")
    session = branches.current.session
    while session.advance(session.cluster.now_us + SECOND):
        pass
    branches.fork()
    begun = grown(branches)
    assert begun.events.startswith(read_session(path).events)
    branches.current.session.advance(4 * SECOND)
    result = branches.current.live.finish()
    assert replay(read_session(Path(result.session))).digest == result.digest
    assert files_of(path) == before


# -- with something set otherwise ------------------------------------------------------------------------------------

ACKS = {"clients.producers.clicks.config.acks": "all"}


def harmed(session: Session) -> int:
    ledger = session.cluster.view().ledger
    return ledger.missing + ledger.acked_lost


def test_a_what_if_branch_reaches_the_same_time_and_replays(tmp_path, snapshot):
    session = Session.start(loads(TAIL, "tail.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    branches = Branches(session)
    branches.current.session.advance(14 * SECOND)
    branches.current.session.act(Action("inject", "lag", "broker(2)", {}, SECOND))
    branches.current.session.advance(15 * SECOND)
    assert harmed(session)
    growing = branches.what_if("acks=all", ACKS)
    begun = grown(branches, 313)
    assert growing.percent == 100
    assert (harmed(branches.current.live), growing.branch.letter) == (0, "B")
    assert growing.words("").split()[-4] == str(harmed(session))
    assert growing.words("") == snapshot
    assert branches.current.session.cluster.now_us == 15 * SECOND
    assert [each.name for each in begun.actions] == ["lag"]
    assert begun.start.branch is not None
    assert begun.start.branch.at_us == 0
    assert (branches.current.began, branches.current.left_us) == ("acks=all", 0)
    result = branches.current.live.finish()
    assert replay(read_session(Path(result.session))).digest == result.digest


def test_a_branch_of_a_finished_run_settles_like_it(tmp_path):
    path = headless(tmp_path / "was", TAIL)
    before = files_of(path)
    branches = reopened(path, tmp_path / "is")
    main = branches.current.session
    while main.advance(main.cluster.now_us + SECOND):
        pass
    branches.what_if("acks=all", ACKS)
    begun = grown(branches)
    here = branches.current.session
    assert here.cluster.now_us == main.cluster.now_us
    assert here.viewed_session.settles_us == main.viewed_session.settles_us
    assert [each.verb for each in begun.actions] == ["settle"]
    assert harmed(branches.current.live) == 0
    assert files_of(path) == before


def test_operator_actions_refused_in_a_branch_are_counted(tmp_path, snapshot):
    branches = Branches(Session.start(loads(TAIL, "tail.yaml"), open_ended=True))
    branches.current.session.advance(3 * SECOND)
    branches.current.session.act(Action("admin", "elect_leaders", "", {"partition": "orders-0"}))
    branches.current.session.act(Action("inject", "lag", "broker(3)", {}, SECOND))
    growing = branches.what_if("fewer brokers", {"cluster.brokers": "2", "topics.orders.placement": "[[1, 2]]"})
    while not growing.advance(100_000):
        pass
    assert growing.refused == 1
    assert growing.words("") == snapshot


def test_settings_that_lead_nowhere_are_reported_in_one_line():
    branches = Branches(Session.start(loads(TAIL, "tail.yaml"), open_ended=True))
    for settings in ({"topics.nobody.config.x": "1"}, {"cluster.kafka": "0.1"}):
        with pytest.raises(FaultError) as told:
            branches.what_if("this", settings)
        assert str(told.value).startswith("this: ")
        assert "\n" not in str(told.value)
    assert branches.growing is None
