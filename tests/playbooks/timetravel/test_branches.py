"""Branches: each is the session that would have been, had its operator done that from the beginning."""

from pathlib import Path

import pytest

from cluster_model.protocol.events import Event
from faults.declarations.fault import Action, FaultError
from playbooks.engine.replay import recover, replay
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.timetravel.branches import LETTERS, MAIN, Branch, BranchError, Branches
from tests.support.playbooks import CLUSTER
from tests.support.wording import masked_text

SECOND = 1_000_000
STEPS = """\
steps:
  - at: 500ms
    inject: lag
    target: broker(2)
    for: 1s
  - when: leader(orders-0) == 2
    within: 1600ms
    inject: lag
    target: broker(3)
settle: 1s
"""
LIVE = loads(CLUSTER.replace("rate: 100/s", "rate: 20/s") + STEPS, "live.yaml")
CRASH = Action("inject", "crash", "broker(1)", {}, 2 * SECOND)
LAG = Action("inject", "lag", "broker(3)", {}, SECOND)
HEAL = Action("heal", "all")
REFUSED = Action("inject", "crash", "broker(9)")


def start(parent: Path | None = None) -> Session:
    recorder = Recorder(parent, live=True) if parent is not None else None
    return Session.start(LIVE, recorder=recorder, open_ended=True)


def went(*fault_records: tuple[int, Action], until_us: int) -> Session:
    """A session in which that was done, in one go."""
    session = start()
    for at_us, action in fault_records:
        session.advance(at_us)
        try:
            session.act(action)
        except FaultError:
            assert action == REFUSED
    session.advance(until_us)
    return session


def lived(parent: Path | None = None) -> Branches:
    """Four seconds, with a crash at one, something refused at two and lag at three."""
    branches = Branches(start(parent))
    session = branches.current.session
    session.advance(SECOND)
    session.act(CRASH)
    session.advance(2 * SECOND)
    with pytest.raises(FaultError):
        session.act(REFUSED)
    session.advance(3 * SECOND)
    session.act(LAG)
    session.advance(4 * SECOND)
    return branches


def grown(branches: Branches, events: int = 100_000) -> str:
    growing = branches.growing
    assert growing is not None
    while not growing.advance(events):
        pass
    return branches.adopt()


def digest(session: Session) -> str:
    return session.cluster.digest()


MAIN_WENT = ((SECOND, CRASH), (2 * SECOND, REFUSED), (3 * SECOND, LAG))


@pytest.mark.slow
@pytest.mark.parametrize("events", [37, 100_000])
def test_acting_in_the_past_is_a_session_that_acted_so_from_the_beginning(events):
    branches = lived()
    main = branches.current
    before = digest(main.live), main.live.position()
    main.session.to_time(2_500_000)
    branches.fork(LAG)
    assert grown(branches, events)
    branch = branches.current
    assert (branch.letter, branch.parent, branch.left_us) == ("B", main, 2_500_000)
    branch.session.advance(5 * SECOND)
    once = went(*MAIN_WENT[:2], (2_500_000, LAG), until_us=5 * SECOND)
    assert digest(branch.live) == digest(once)
    assert (digest(main.live), main.live.position()) == before
    branches.switch(main)
    main.session.advance(5 * SECOND)
    assert digest(main.live) == digest(went(*MAIN_WENT, until_us=5 * SECOND))


@pytest.mark.slow
def test_right_after_an_event_of_the_past_it_begins_right_there():
    branches = lived()
    main = branches.current
    main.session.to_time(1_200_000)
    for _ in range(5):
        main.session.one_event_back()
    place = main.so_far()[0]
    branches.fork()
    grown(branches)
    assert branches.current.live.position() == {"at_us": place.at_us, "executed": place.executed, "steps": place.steps}
    branches.current.session.advance(4 * SECOND)
    assert digest(branches.current.live) == digest(went((SECOND, CRASH), until_us=4 * SECOND))


@pytest.mark.slow
@pytest.mark.parametrize("back_us", [0, 500_000, 2_100_000, 3_000_000])
def test_a_branch_that_does_nothing_else_goes_as_the_other_one_went(back_us):
    """Also where steps act, are given up, or the operator acted in that very instant."""
    branches = lived()
    main = branches.current
    main.session.to_time(back_us)
    place, fault_records = main.so_far()
    branches.fork()
    grown(branches)
    here, done = branches.current.so_far()
    assert here == place
    assert done == fault_records
    branches.current.session.advance(3_500_000)
    wanted = went(*[each for each in MAIN_WENT if each[0] <= back_us], until_us=3_500_000)
    assert digest(branches.current.live) == digest(wanted)


def test_a_branch_begins_in_the_present_too():
    branches = lived()
    branches.fork()
    assert grown(branches) == ""
    assert digest(branches.current.live) == digest(branches.current.parent.live)
    assert branches.current.began == "what if"


@pytest.mark.slow
def test_undo_is_a_branch_without_the_last_action_and_redo_goes_back(snapshot):
    branches = lived()
    main = branches.current
    branches.undo()
    grown(branches)
    without_lag = branches.current
    assert without_lag.left_us == 3 * SECOND
    assert without_lag.began == snapshot
    assert digest(without_lag.live) == digest(went(*MAIN_WENT[:2], until_us=3 * SECOND))
    branches.undo()
    grown(branches)
    untouched = branches.current
    assert (untouched.letter, untouched.left_us, untouched.parent) == ("C", SECOND, without_lag)
    assert digest(untouched.live) == digest(went(until_us=SECOND))
    with pytest.raises(BranchError) as caught:
        branches.undo()
    assert str(caught.value) == snapshot
    assert branches.redo() is without_lag
    assert branches.redo() is main
    with pytest.raises(BranchError) as caught:
        branches.redo()
    assert str(caught.value) == snapshot


def test_a_session_that_was_taken_over_branches_too_and_taking_over_is_undone(snapshot):
    branches = Branches(start())
    session = branches.current.session
    session.advance(SECOND // 4)
    session.take_over()
    with pytest.raises(FaultError) as caught:
        session.take_over()
    assert str(caught.value) == snapshot
    session.advance(SECOND)
    assert branches.current.live.cluster.query.under_replicated() == 0
    growing = branches.fork()
    while not growing.advance(1_000):
        pass
    branches.adopt()
    assert branches.current.live.cluster.digest() == session.cluster.digest()
    undone = branches.undo()
    assert undone is not None
    while not undone.advance(1_000):
        pass
    branches.adopt()
    assert branches.current.began == "without taking over"
    branches.current.session.advance(SECOND)
    assert branches.current.live.board.active() != ()


def test_a_second_undo_reuses_the_branch_unless_it_continued():
    branches = lived()
    branches.undo()
    grown(branches)
    branches.redo()
    assert branches.undo() is None
    assert branches.current.letter == "B"
    branches.current.session.advance(3_100_000)
    branches.redo()
    assert branches.undo() is not None


def test_undo_in_the_past_is_about_what_was_done_by_then():
    branches = lived()
    branches.current.session.to_time(2_500_000)
    branches.undo()
    grown(branches)
    assert branches.current.left_us == SECOND


def test_a_refused_action_begins_no_branch(tmp_path, snapshot):
    branches = lived(tmp_path)
    main = branches.current
    main.session.to_time(2_500_000)
    branches.fork(REFUSED)
    with pytest.raises(FaultError) as caught:
        grown(branches)
    assert str(caught.value) == snapshot
    assert list(branches) == [main]
    assert main.session.in_past
    assert len(list(tmp_path.iterdir())) == 1
    assert branches.growing is None


def test_a_cancelled_branch_leaves_no_files(tmp_path, snapshot):
    branches = lived(tmp_path)
    files = sorted(tmp_path.rglob("*"))
    growing = branches.fork()
    growing.advance(500)
    assert 0 < growing.percent < 100
    with pytest.raises(BranchError) as caught:
        branches.fork()
    assert str(caught.value) == snapshot
    assert len(list(tmp_path.iterdir())) == 2
    branches.discard()
    assert sorted(tmp_path.rglob("*")) == files
    branches.fork()
    assert branches.growing.branch.letter == "B"


@pytest.mark.slow
def test_every_branch_is_a_recording_that_replays_bit_for_bit(tmp_path, snapshot):
    branches = lived(tmp_path)
    main = branches.current
    main.session.to_time(2_500_000)
    branches.fork(HEAL)
    grown(branches)
    branches.current.session.advance(3_200_000)
    branches.undo()
    grown(branches)
    results = [each.live.finish() for each in branches]
    once = went(*MAIN_WENT, until_us=4 * SECOND)
    assert results[0].digest == once.finish().digest, "that of a session that was never forked"
    assert len({result.digest for result in results}) == 3
    ids = [Path(result.session).name for result in results]
    assert ids[1:] == [f"{ids[0]}-B", f"{ids[0]}-C"]
    for result in results:
        recorded = read_session(Path(result.session))
        assert replay(recorded).digest == result.digest
    manifest = session_files.read_manifest(Path(results[2].session))
    parent = ids[1].removeprefix(session_files.DIRECTORY_PREFIX)
    assert manifest.branch == session_files.BranchOrigin("C", parent, 2_500_000)
    assert [masked_text(note, parent=parent) for note in recorded.notes] == snapshot
    assert session_files.read_manifest(Path(results[0].session)).branch is None


@pytest.mark.slow
def test_a_branch_whose_process_died_can_be_recovered(tmp_path):
    branches = lived(tmp_path)
    branches.fork()
    grown(branches)
    branches.current.session.advance(5 * SECOND)
    branches.current.recorder.close()
    path = branches.current.recorder.path
    recover(path)
    assert session_files.read_manifest(path).branch.letter == "B"


def test_a_disk_that_takes_no_more_is_reported_and_leaves_the_session_alone(tmp_path, snapshot):
    branches = lived(tmp_path)
    branches.current.recorder.parent = tmp_path / "gone" / "file"
    (tmp_path / "gone").write_text("")
    with pytest.raises(BranchError) as caught:
        branches.fork()
    assert masked_text(caught.value, parent=tmp_path) == snapshot
    assert branches.growing is None


def test_there_are_as_many_as_letters(snapshot):
    branches = lived()
    branches._all += [Branch(letter, branches.current.session) for letter in LETTERS]
    with pytest.raises(BranchError) as caught:
        branches.fork()
    assert str(caught.value) == snapshot
    assert branches.current.letter == MAIN


def test_keyframes_of_all_share_what_one_may_have():
    branches = lived()
    alone = branches.current.session.timeline.budget
    branches.fork()
    grown(branches)
    assert [each.session.timeline.budget for each in branches] == [alone // 2] * 2


def test_events_of_a_rerun_can_be_drained():
    branches = lived()
    branches.fork()
    grown(branches)
    events: list[Event] = branches.current.session.drain()
    assert events == branches._all[0].session.drain()
