"""Looking back is looking only: the session, its recording and what follows are those of one that was left alone."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.kernel.rng import RandomStream
from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.model.record_contents import inspect_record
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.timetravel.history_view import HistoryView, ReopenedSession
from playbooks.timetravel.timeline import Timeline
from tests.support.playbooks import CLUSTER

pytestmark = pytest.mark.slow

SECOND = 1_000_000
LIVE = loads(CLUSTER.replace("rate: 100/s", "rate: 20/s") + "settle: 2s\n", "live.yaml")
CRASH = Action("inject", "crash", "leader(orders-0)", {}, 3 * SECOND)
LAG = Action("inject", "lag", "broker(2)", {}, SECOND)
OWN = {session_files.START, session_files.MANIFEST}
"""Files that hold the session's name and the time on the wall."""


def wander(looking: HistoryView) -> None:
    """Here and there in the past, on from there by pieces, and back to the present."""
    draw = RandomStream(3, "wander")
    for _ in range(3):
        looking.to_time(draw.below(looking.present_us))
        looking.advance(looking.cluster.now_us + draw.below(SECOND))
        looking.one_event_back()
        looking.one_event_on()
        with pytest.raises(FaultError):
            looking.act(CRASH)
    looking.to_time(looking.present_us - SECOND // 3)
    while looking.in_past:
        looking.advance(looking.cluster.now_us + 50_000, 40)
    looking.to_time(0)
    looking.to_present()


def lived(looking: HistoryView, *, looks: bool) -> None:
    """Three seconds, two deeds, and a rest: with looks back before, between and after, or without."""
    for until_us, action in ((2 * SECOND, CRASH), (4 * SECOND, LAG), (7 * SECOND, Action("heal", "all"))):
        looking.advance(until_us)
        if looks:
            wander(looking)
        looking.act(action)
    looking.advance(9 * SECOND)
    if looks:
        wander(looking)


def recorded(parent: Path, *, looks: bool) -> Path:
    session = Session.start(LIVE, recorder=Recorder(parent, live=True), open_ended=True)
    lived(HistoryView(session), looks=looks)
    return Path(session.finish().session)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("plain"), looks=False)


def test_a_session_that_was_looked_back_into_seals_to_the_same_bytes(plain: Path, tmp_path: Path) -> None:
    looked = recorded(tmp_path, looks=True)
    names = sorted(each.name for each in plain.iterdir() if each.is_file())
    assert sorted(each.name for each in looked.iterdir() if each.is_file()) == names
    assert {session_files.EVENTS, session_files.ACTIONS, session_files.RESULT} <= set(names)
    for name in set(names) - OWN:
        there = (looked / name).read_bytes().replace(looked.name.encode(), plain.name.encode())
        assert there.replace(str(looked.parent).encode(), str(plain.parent).encode()) == (plain / name).read_bytes()
    ours, theirs = session_files.read_manifest(plain), session_files.read_manifest(looked)
    assert ours is not None
    assert theirs is not None
    assert (ours.digest, ours.events) == (theirs.digest, theirs.events)


def test_viewing_the_past_does_not_change_a_recording(plain: Path) -> None:
    before = {each.name: each.read_bytes() for each in plain.iterdir() if each.is_file()}
    reopened = ReopenedSession(read_session(plain))
    looking = HistoryView(reopened)
    while looking.advance(looking.cluster.now_us + SECOND):
        wander(looking)
    wander(looking)
    manifest = session_files.read_manifest(plain)
    assert manifest is not None
    assert (reopened.over, reopened.difference) == (True, "")
    assert reopened.cluster.digest() == manifest.digest
    assert not looking.advance(looking.cluster.now_us + SECOND)
    assert {each.name: each.read_bytes() for each in plain.iterdir() if each.is_file()} == before


def seen(looking: HistoryView) -> tuple[object, ...]:
    """What the panes of a screen are made of."""
    cluster = looking.cluster
    logs = [cluster.log_view(each.name, 0, 1 << 40) for each in cluster.view().partitions]
    records = [inspect_record(cluster, "orders-0", offset) for offset in range(0, 160, 5)]
    books = {name: (each.sent, each.acked, each.retries) for name, each in looking.client_stats.producers.items()}
    return (cluster.digest(), cluster.view(), looking.board.active(), logs, records, books)


@pytest.mark.parametrize("opened", [False, True])
def test_logs_records_and_statistics_are_those_of_the_time(plain: Path, *, opened: bool) -> None:
    session = Session.start(LIVE, open_ended=True)
    looking = HistoryView(ReopenedSession(read_session(plain)) if opened else session)
    if opened:
        while looking.advance(looking.cluster.now_us + SECOND):
            pass
    else:
        lived(looking, looks=False)
    end = seen(looking)
    for at_us in (8_500_000, 1_700_000, 4_000_000, 2_000_001, 6_300_000):
        unbroken = HistoryView(ReopenedSession(read_session(plain)))
        unbroken.advance(at_us)
        looking.to_time(at_us)
        assert seen(looking) == seen(unbroken)
    looking.to_present()
    assert seen(looking) == end


def test_a_jump_runs_no_more_again_than_the_widest_gap_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "playbooks.timetravel.history_view.Timeline", partial(Timeline, nearest=50, bytes_per_event=1_000)
    )
    looking = HistoryView(Session.start(LIVE, open_ended=True))
    lived(looking, looks=False)
    timeline = looking.timeline
    kept = timeline.kept
    assert len(kept) > 10
    assert timeline.widest == 50
    for at_us in range(0, 9 * SECOND, 777_777):
        looking.to_time(at_us)
        assert timeline.replayed <= timeline.widest
        looking.one_event_back()
        assert timeline.replayed <= timeline.widest
    looking.to_time(0)
    while looking.in_past:
        looking.advance(looking.cluster.now_us + SECOND)
    assert timeline.kept == kept


def test_the_history_view_steps_single_events_both_ways() -> None:
    looking = HistoryView(Session.start(LIVE, open_ended=True))
    looking.advance(2 * SECOND)
    present = looking.cluster.executed
    back = []
    for _ in range(5):
        assert looking.one_event_back()
        back.append(looking.cluster.executed)
    assert back == [present - each for each in (1, 2, 3, 4, 5)]
    on = []
    while looking.in_past:
        looking.one_event_on()
        on.append(looking.cluster.executed)
    assert on == [*(present - each for each in (4, 3, 2, 1, 0)), present]
    assert looking.cluster.now_us == 2 * SECOND


def test_nothing_lies_before_the_beginning_and_the_present_is_the_end() -> None:
    looking = HistoryView(Session.start(LIVE, open_ended=True))
    assert not looking.one_event_back()
    looking.advance(SECOND)
    looking.to_time(-5)
    assert (looking.in_past, looking.cluster.now_us) == (True, 0)
    while looking.one_event_back():
        pass
    assert (looking.cluster.executed, looking.cluster.now_us) == (0, 0)
    looking.to_time(SECOND)
    assert not looking.in_past


def test_events_of_the_past_are_reported_once_and_in_order_as_it_is_played() -> None:
    looking = HistoryView(Session.start(LIVE, open_ended=True))
    lived(looking, looks=False)
    everything = looking.drain()
    looking.to_time(3 * SECOND)
    assert looking.drain() == []
    told = []
    while looking.in_past:
        told += looking.drain()
        looking.advance(looking.cluster.now_us + 100_000)
    after = [event for event in everything if event.at_us > 3 * SECOND]  # type: ignore[attr-defined]
    assert told == after[: len(told)]
    assert len(told) > len(after) // 2
    assert all(before.at_us <= event.at_us for before, event in pairwise(told))  # type: ignore[attr-defined]


def test_the_past_itself_refuses_everything_and_a_recording_has_words_of_its_own(
    plain: Path, snapshot: SnapshotAssertion
) -> None:
    live = HistoryView(Session.start(LIVE, open_ended=True))
    live.advance(SECOND)
    live.to_time(0)
    with pytest.raises(FaultError) as past:
        live.act(CRASH)
    assert live.timeline.board.active() == ()
    opened = HistoryView(ReopenedSession(read_session(plain)))
    opened.advance(SECOND)
    opened.to_time(0)
    with pytest.raises(FaultError) as recording:
        opened.act(CRASH)
    assert [str(each.value) for each in (past, recording)] == snapshot
