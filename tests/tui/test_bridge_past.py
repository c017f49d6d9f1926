"""Looking back, as the bridge does it: which instant is shown, what is told of it, and what it costs."""

from functools import partial

import pytest

from faults.declarations.fault import Action
from playbooks.timetravel.timeline import Timeline
from tests.tui.fake_views import session
from tui.session.session_controller import SEEK_LIMIT_US, SessionController
from tui.terminal.frame_clock import SLICE_S, StepClock
from tui.viewmodel.timeline.event_feed import REBUILT, NotableEvents, notable

pytestmark = pytest.mark.slow

CRASH = Action("inject", "crash", "leader(orders-0)")
SECOND = 1_000_000
FRAME_S = 1 / 16
NEAREST = 100


@pytest.fixture(autouse=True)
def many_keyframes(monkeypatch):
    monkeypatch.setattr(
        "playbooks.timetravel.history_view.Timeline", partial(Timeline, nearest=NEAREST, bytes_per_event=1 << 40)
    )


def play(simulation, seconds):
    for _ in range(round(seconds / FRAME_S)):
        simulation.clock.tick(FRAME_S)
        simulation.frame()


def lived(clock=None, **more):
    """Six seconds, with a crash at two."""
    simulation = SessionController(session(orders=2, payments=1, calm=True), clock or StepClock(), **more)
    play(simulation, 2)
    simulation.act(CRASH)
    play(simulation, 4)
    return simulation


def at(seconds):
    """One that has only come so far, frame by frame as the other one."""
    simulation = SessionController(session(orders=2, payments=1, calm=True), StepClock())
    play(simulation, min(seconds, 2))
    if seconds >= 2:
        simulation.act(CRASH)
        play(simulation, seconds - 2)
    return simulation


def words(simulation):
    return simulation.feed.lines(100)


@pytest.mark.parametrize("seconds", [0, 1, 2, 3.5])
def test_everything_shown_is_of_the_time(seconds):
    simulation, then = lived(), at(seconds)
    simulation.to_time(round(seconds * SECOND))
    if seconds:  # nothing has run at zero, and what is due then has after a jump
        assert simulation.view == then.view
        assert words(simulation) == words(then)
    assert simulation.view.now_us == seconds * SECOND
    assert simulation.paused


def test_back_in_the_present_everything_is_as_it_was_left():
    simulation = lived()
    view, lines, rates = simulation.view, words(simulation), simulation.rates
    simulation.to_time(SECOND)
    assert words(simulation) != lines
    assert simulation.rates == {}, "how fast it went then is not known before it has run"
    assert simulation.to_present()
    assert (simulation.view, words(simulation), simulation.rates) == (view, lines, rates)
    assert simulation.paused
    assert not simulation.to_present()


def test_playing_from_the_past_continues_live_at_the_present():
    simulation = lived()
    simulation.to_time(5 * SECOND)
    simulation.set_speed(2.0)
    simulation.pause(False)
    play(simulation, 0.25)
    assert (simulation.session.in_past, simulation.view.now_us) == (True, 5_500_000)
    play(simulation, 1)
    assert not simulation.session.in_past
    assert not simulation.paused
    plain = lived()
    play(plain, 1.5)
    assert simulation.view.now_us == plain.view.now_us == 7_500_000
    assert simulation.session.cluster.digest() == plain.session.cluster.digest()
    assert words(simulation) == words(plain)


def test_the_feed_grows_as_the_past_is_played():
    simulation = lived()
    simulation.to_time(1_875_000)
    simulation.pause(False)
    play(simulation, 1.125)
    assert simulation.view.now_us == 3 * SECOND
    assert simulation.session.in_past
    assert words(simulation) == words(at(3))


def test_rates_are_known_again_when_the_past_has_run_for_a_moment():
    simulation = lived()
    simulation.to_time(SECOND)
    assert simulation.rates == {}
    simulation.pause(False)
    play(simulation, 0.5)
    assert simulation.session.in_past
    assert simulation.rates["clicks"] > 0


def test_notable_events_are_gone_through_back_and_on():
    simulation = lived()
    back = []
    while simulation.previous():
        back.append(simulation.view.now_us)
        assert notable(simulation._now.happened._events[0])
    times = sorted({event.at_us for event in simulation._now.happened._events})
    assert back == times[::-1]
    assert simulation.view.now_us == times[0]
    on = [times[0]]
    while simulation.seek():
        on.append(simulation.view.now_us)
    assert on == times
    assert not simulation.session.in_past, "where nothing notable is left there is the present"
    assert simulation.paused


def test_a_search_from_the_present_is_that_of_a_live_session():
    simulation = lived()
    simulation.to_time(SECOND)
    simulation.to_present()
    known = simulation.feed.notable
    simulation.seek()
    while simulation.seeking:
        simulation.frame()
    assert simulation.feed.notable > known
    assert 6 * SECOND < simulation.view.now_us < 6 * SECOND + SEEK_LIMIT_US


def test_a_second_on_runs_live_and_a_second_back_looks():
    simulation = lived()
    assert simulation.move_time(SECOND)
    assert simulation.seeking
    while simulation.seeking:
        simulation.frame()
    assert (simulation.view.now_us, simulation.paused, simulation.ran_out) == (7 * SECOND, True, False)
    for expected in (6, 5, 4):
        assert simulation.move_time(-SECOND)
        assert (simulation.view.now_us, simulation.session.in_past) == (expected * SECOND, True)
    assert simulation.move_time(SECOND)
    assert simulation.view.now_us == 5 * SECOND
    for _ in range(8):
        simulation.move_time(-SECOND)
    assert simulation.view.now_us == 0
    assert not simulation.move_time(-SECOND)
    for _ in range(7):
        simulation.move_time(SECOND)
    assert not simulation.session.in_past


def test_steps_in_the_past_are_one_event_each_and_end_in_the_present():
    simulation = lived()
    present = simulation.session.cluster.executed
    for back in (1, 2, 3):
        assert simulation.back()
        assert simulation.session.cluster.executed == present - back
    for left in (2, 1, 0):
        assert simulation.step()
        assert (simulation.session.cluster.executed, simulation.session.in_past) == (present - left, True)
    assert simulation.step()
    assert (simulation.session.cluster.executed, simulation.session.in_past) == (present, False)
    assert simulation.step()
    assert simulation.session.cluster.executed == present + 1


def test_actions_in_the_past_begin_a_branch():
    simulation = lived()
    main = simulation.branches.current
    before = main.live.cluster.digest()
    simulation.to_time(SECOND)
    simulation.act(CRASH)
    assert simulation.branches.current is not main
    simulation.switch(main)
    assert main.live.cluster.digest() == before
    simulation.act(Action("inject", "lag", "broker(2)"))
    play(simulation, 1)
    assert "lag" in [fault.name for fault in simulation.view.faults]


def test_looks_between_actions_change_nothing():
    def evening(looks):
        simulation = SessionController(session(orders=2, payments=1, calm=True), StepClock())
        for action in (CRASH, Action("inject", "lag", "broker(2)"), Action("heal", "all")):
            play(simulation, 1.5)
            if looks:
                for appearance in (simulation.back, simulation.previous, simulation.step, simulation.seek):
                    appearance()
                simulation.to_time(SECOND // 3)
                simulation.pause(False)
                play(simulation, 0.25)
                simulation.to_present()
                simulation.pause(False)
            simulation.act(action)
        play(simulation, 1)
        return simulation.session.cluster.digest(), words(simulation)

    assert evening(looks=True) == evening(looks=False)


def test_a_jump_repeats_no_more_than_the_widest_gap_and_takes_no_keyframe():
    simulation = lived()
    timeline = simulation.session.timeline
    kept = timeline.kept
    assert len(kept) > 10
    assert timeline.widest == NEAREST
    jumps = [lambda: simulation.move_time(-SECOND // 3), simulation.previous, simulation.back]
    for jump in (simulation.back, *jumps * 4, lambda: simulation.to_time(0), lambda: simulation.to_time(SECOND)):
        timeline.replayed = 0
        jump()
        assert 0 <= timeline.replayed <= NEAREST
    simulation.pause(False)
    play(simulation, 4)
    assert simulation.session.in_past
    assert timeline.kept == kept


def test_the_past_is_played_in_slices():
    class SlowClock(StepClock):
        def now(self):
            self._now += SLICE_S / 4
            return self._now

    simulation = lived()
    simulation.clock = SlowClock()
    simulation.to_time(SECOND)
    simulation.set_speed(1000)
    simulation.pause(False)
    before = simulation.session.cluster.executed
    simulation.clock.tick(FRAME_S)
    simulation.frame()
    assert 0 < simulation.session.cluster.executed - before <= 4 * 32


def test_in_the_past_with_nothing_moving_there_is_nothing_to_paint():
    simulation = lived()
    simulation.to_time(SECOND)
    at_event = simulation.session.cluster.executed
    for _ in range(3):
        simulation.clock.tick(1)
        done = simulation.frame()
        assert (done.paint, done.delay) == (False, None)
    assert simulation.session.cluster.executed == at_event


def test_the_feed_of_an_time_is_made_of_the_latest_events_up_to_it():
    class Rare:
        kind = "made_up"

        def __init__(self, at_us):
            self.at_us = at_us

    happened = NotableEvents()
    many = [Rare(each) for each in range(REBUILT + 500)]
    happened.take(many[:100], 250)  # 150 that are not worth a line came before them
    happened.take(many[100:], 150 + len(many))
    assert happened.feed(150).notable == 0
    assert happened.feed(151).notable == 1
    assert happened.feed(250).notable == 100
    assert happened.feed(1 << 40).notable == REBUILT
    assert (happened.before(0, 1 << 40), happened.before(7, 1 << 40), happened.before(300, 250)) == (-1, 6, 99)
    assert (happened.after(0), happened.after(151), happened.after(1 << 40)) == (0, 1, -1)
