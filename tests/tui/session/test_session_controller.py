from itertools import pairwise

import pytest

from faults.declarations.fault import Action, FaultError
from tests.tui.fake_views import session
from tui.session.session_controller import BEHIND_REST_S, SEEK_LIMIT_US, SessionController
from tui.terminal.frame_clock import BATCH, SLICE_S, StepClock

CRASH = Action("inject", "crash", "leader(orders-0)")


class SlowClock(StepClock):
    """Every look at it costs time, as on a machine that cannot keep up."""

    def __init__(self, cost):
        super().__init__()
        self.cost = cost

    def now(self):
        self._now += self.cost
        return self._now


def session_controller(clock=None, **more):
    return SessionController(session(orders=2, payments=1, calm=True), clock or StepClock(), **more)


def play(simulation, seconds, frame=1 / 16):
    for _ in range(round(seconds / frame)):
        simulation.clock.tick(frame)
        simulation.frame()


def digest_at(advance):
    """Digest of one session at three seconds, with a crash at two, however it got there."""
    live = session(orders=2, payments=1)
    advance(live, 2_000_000)
    live.act(CRASH)
    advance(live, 3_000_000)
    return live.cluster.digest(), live.cluster.executed


def by_events(count):
    def advance(live, until_us):
        while True:
            before = live.cluster.executed
            live.advance(until_us, count)
            if live.cluster.now_us >= until_us and live.cluster.executed - before < count:
                return

    return advance


def by_time(step_us):
    def advance(live, until_us):
        while live.cluster.now_us < until_us:
            live.advance(min(live.cluster.now_us + step_us, until_us))

    return advance


@pytest.mark.slow
def test_slices_never_change_results():
    expected = digest_at(by_time(1_000_000))
    assert digest_at(by_time(8_000)) == expected
    assert digest_at(by_events(1)) == expected
    assert digest_at(by_events(BATCH)) == expected
    assert expected[1] > 1000


@pytest.mark.slow
def test_frames_have_the_same_outcome_as_one_long_run():
    simulation = SessionController(session(orders=2, payments=1), StepClock())
    play(simulation, 2)
    simulation.act(CRASH)
    play(simulation, 1, frame=1 / 64)
    cluster = simulation.session.cluster
    assert (cluster.digest(), cluster.executed) == digest_at(by_time(1_000_000))


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.1, 0.25, 1, 10])
def test_virtual_time_follows_the_speed_exactly(speed):
    simulation = session_controller(speed=speed)
    play(simulation, 2)
    assert simulation.session.cluster.now_us == pytest.approx(2e6 * speed, abs=2)
    assert simulation.real_speed == pytest.approx(speed, rel=0.01)


def test_a_slow_machine_gives_back_the_loop_after_each_slice_and_reports_the_real_speed():
    clock = SlowClock(SLICE_S / 4)
    simulation = session_controller(clock, speed=1000)
    looks = []
    for _ in range(30):
        clock.tick(1 / 16)
        before = clock._now
        done = simulation.frame()
        looks.append((clock._now - before) / clock.cost)
    assert max(looks) <= 7, "a slice looked at the clock more often than fits eight milliseconds"
    assert simulation.real_speed < 100
    assert simulation.speed == 1000
    assert done.delay == BEHIND_REST_S
    # Nothing is owed: after slowing down, time goes on from where it is.
    at = simulation.session.cluster.now_us
    simulation.set_speed(0.1)
    clock.cost = 0
    clock.tick(1 / 16)
    simulation.frame()
    assert simulation.session.cluster.now_us - at < 50_000


@pytest.mark.slow
def test_a_slow_machine_paints_at_most_ten_times_a_second():
    clock = SlowClock(SLICE_S / 4)
    simulation = session_controller(clock, speed=1000)
    painted = []
    for _ in range(60):
        clock.tick(BEHIND_REST_S)
        if simulation.frame().paint:
            painted.append(clock._now)
    gaps = [after - before for before, after in pairwise(painted)]
    assert len(painted) > 3
    assert min(gaps) >= 0.09


def test_a_suspended_machine_does_not_make_up_for_the_lost_hours():
    simulation = session_controller()
    simulation.clock.tick(3600)
    simulation.frame()
    assert simulation.session.cluster.now_us == 250_000


def test_a_paused_session_neither_advances_nor_repaints():
    simulation = session_controller()
    play(simulation, 1)
    simulation.pause(True)
    at = simulation.session.cluster.executed
    simulation.clock.tick(1)
    done = simulation.frame()
    assert (done.paint, done.delay) == (False, None)
    assert simulation.session.cluster.executed == at
    simulation.pause(False)
    simulation.clock.tick(1 / 16)
    simulation.frame()
    assert simulation.session.cluster.now_us == pytest.approx(1_062_500, abs=1)


def test_a_step_is_exactly_one_event():
    simulation = session_controller()
    for expected in range(1, 6):
        assert simulation.step()
        assert simulation.session.cluster.executed == expected
    assert simulation.paused


def test_seeking_stops_at_the_first_notable_event():
    simulation = session_controller()
    play(simulation, 1)
    simulation.act(CRASH)
    known = simulation.feed.notable
    simulation.seek()
    for _ in range(10_000):
        simulation.frame()
        if not simulation.seeking:
            break
    assert simulation.paused
    assert simulation.feed.notable > known
    assert not simulation.ran_out
    assert 1_000_000 < simulation.session.cluster.now_us < 20_000_000


@pytest.mark.slow
def test_seeking_in_a_quiet_cluster_gives_up_and_says_so():
    live = session(orders=1, payments=1)
    live.cluster.stop_producers()
    live.advance(10_000_000)  # by then the group has its partitions
    live.drain()
    simulation = SessionController(live, StepClock())
    simulation.seek()
    for _ in range(10_000):
        simulation.frame()
        if not simulation.seeking:
            break
    assert simulation.ran_out
    assert simulation.paused
    assert simulation.session.cluster.now_us == 10_000_000 + SEEK_LIMIT_US


def test_a_refusal_comes_through_and_changes_nothing(snapshot):
    simulation = session_controller()
    with pytest.raises(FaultError) as caught:
        simulation.act(Action("inject", "restart", "broker(1)"))
    assert str(caught.value) == snapshot
    assert simulation.view.faults == ()


def test_the_view_has_active_faults_with_their_targets():
    simulation = session_controller()
    simulation.act(Action("inject", "lag", "broker(2)"))
    assert [fault.name for fault in simulation.view.faults] == ["lag"]
    assert [broker.faults for broker in simulation.view.brokers] == [(), ("lag",), ()]


def test_the_speed_stays_on_its_ladder():
    simulation = session_controller(speed=99_999)
    assert simulation.speed == 1000
    assert simulation.faster() == 1000
    assert simulation.slower() == 250
    assert simulation.set_speed(0) == 0.1
