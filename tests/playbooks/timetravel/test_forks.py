"""A fork stands where the session stood, may go any other way, and leaves nothing of that behind."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.kernel.rng import RandomStream
from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.timetravel.branches import FOREVER, ForkAction, ForkError, SessionForks
from tests.support.breadth import spread_sample
from tests.support.playbooks import CLUSTER, CRASH

pytestmark = pytest.mark.slow

SECOND = 1_000_000
PLAYBOOK = loads(CRASH.replace("rate: 100/s", "rate: 20/s"), "crash.yaml")
LIVE = loads(CLUSTER.replace("rate: 100/s", "rate: 20/s") + "settle: 2s\n", "live.yaml")
NEAREST = 200
END = 9_000_000

EVENING = (
    (1_000_000, Action("inject", "lag", "followers(orders-0)", {"latency": 20_000}, 4_000_000)),
    (2_500_000, Action("inject", "power_loss", "leader(orders-0)")),
    (2_500_000, Action("inject", "gc_pause", "random(followers(orders-0))", {}, 700_000)),
    (3_000_000, Action("inject", "restart", "broker(2)")),  # refused: it is up
    (6_000_000, Action("inject", "restart", "broker(1)")),
    (7_000_000, Action("heal", "all")),
)
"""What an operator does, and when; one is refused, two share an instant."""

OTHERWISE = (
    Action("inject", "crash", "leader(orders-0)"),
    Action("inject", "disk_loss", "broker(3)"),
    Action("inject", "isolate", "broker(2)"),
    Action("admin", "alter_topic_config", "", {"topic": "orders", "set": (("min.insync.replicas", "1"),)}),
    Action("admin", "create_topic", "", {"topic": "other", "partitions": 3, "replication": 2}),
    Action("admin", "delete_topic", "", {"topic": "orders"}),
    Action("inject", "traffic_spike", "", {}),
    Action("heal", "all"),
)
"""Other ways that a fork can go."""


def lived() -> tuple[Session, tuple[ForkAction, ...]]:
    """A live session at its end, and where its operator did what."""
    session = Session.start(LIVE, open_ended=True)
    acted = []
    for at_us, action in EVENING:
        session.advance(at_us)
        acted.append(ForkAction(**session.position(), verb=action.verb, action=action))
        try:
            session.act(action)
        except FaultError:
            assert action.name == "restart"
    session.advance(END)
    return session, tuple(acted)


def live_forks() -> SessionForks:
    return SessionForks(lambda: Session.start(LIVE, open_ended=True), lived()[1], nearest=NEAREST)


def timed_forks(most: int = 8) -> SessionForks:
    return SessionForks(lambda: Session.start(PLAYBOOK), nearest=150, limit=most)


def state(session: Session) -> tuple[object, ...]:
    """Everything that can be seen of a session at an instant."""
    cluster = session.cluster
    return (cluster.digest(), cluster.view(), session.position(), session.phase, session.board.active())


def unbroken(executed: int) -> Session:
    session = Session.start(PLAYBOOK)
    session.advance(FOREVER, executed)
    return session


def stray(session: Session, draw: RandomStream) -> None:
    """Leave the history: do something else, in a future with other draws, and run on."""
    session.cancel_steps()
    session.cluster.reseed(draw.below(1000))
    for _deed in range(2):
        action = OTHERWISE[draw.below(len(OTHERWISE))]
        try:
            session.act(action)
        except FaultError:
            session.cluster.stop_producers()
        session.advance(session.cluster.now_us + draw.below(4 * SECOND))


def places(last: int, count: int) -> list[int]:
    draw = RandomStream(5, "places")
    return [last, 1, *(1 + draw.below(last) for _ in range(count)), last]


@pytest.mark.parametrize("number", spread_sample(range(4), 2))
def test_earlier_forks_do_not_affect_the_next_one(number: int) -> None:
    forks = timed_forks()
    draw = RandomStream(number, "strays")
    for executed in places(1500, 7):
        session = forks.at_event(executed)
        assert state(session) == state(unbroken(executed))
        stray(session, draw)


def test_a_fork_that_repeats_the_session_has_its_outcome() -> None:
    whole = Session.start(PLAYBOOK).finish()
    forks = timed_forks()
    stray(forks.at_event(1300), RandomStream(1, "strays"))
    fork = forks.at_event(700)
    assert fork.finish().digest == whole.digest
    assert forks.at_event(900).finish().to_json() == whole.to_json()


def test_a_live_session_is_forked_with_what_its_operator_had_done_by_then() -> None:
    forks = live_forks()
    draw = RandomStream(3, "strays")
    for at_us in (END, 2_500_000, 2_499_999, 6_500_000, 3_000_000, 500_000, 8_000_000):
        session = Session.start(LIVE, open_ended=True)
        for when, action in EVENING:
            if when <= at_us:
                session.advance(when)
                try:
                    session.act(action)
                except FaultError:
                    continue
        session.advance(at_us)
        fork = forks.at_time(at_us)
        assert state(fork) == state(session)
        stray(fork, draw)


def test_running_on_does_what_the_operator_did_later() -> None:
    whole, _acted = lived()
    forks = live_forks()
    forks.at_time(2_000_000)
    assert state(forks.run_on(END)) == state(whole)


def test_right_after_an_event_comes_before_what_the_operator_did_then() -> None:
    forks = live_forks()
    acted = lived()[1]
    fork = forks.at_event(acted[1].executed)
    assert [fault.name for fault in fork.board.active()] == ["lag"]


def test_a_fork_that_is_called_off_takes_no_further_step_and_does_not_end() -> None:
    session = timed_forks().at_event(100)
    assert session.next_step is not None
    session.cancel_steps()
    assert session.advance(60 * SECOND)
    assert session.phase == "steps"
    assert not session.board.active()


def test_calling_off_in_the_quiet_time_lets_one_act_again() -> None:
    result = Session.start(PLAYBOOK)
    while result.phase != "settling":
        result.advance(result.cluster.now_us + SECOND)
    session = timed_forks().at_time(result.cluster.now_us)
    session.cancel_steps()
    session.act(Action("inject", "crash", "broker(3)"))
    assert [fault.name for fault in session.board.active()] == ["crash"]


def test_keyframes_stay_few_however_long_it_is() -> None:
    forks = timed_forks(most=4)
    forks.at_event(1500)
    assert len(forks.kept) <= 5
    assert state(forks.at_event(800)) == state(unbroken(800))


@pytest.mark.parametrize(("executed", "code"), [(-1, "before_the_start"), (1 << 40, "after_the_end")])
def test_a_time_outside_of_the_session_is_refused(executed: int, code: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ForkError) as caught:
        timed_forks().at_event(executed)
    assert caught.value.code == code
    assert re.sub(r"after \d+$", "after <end>", str(caught.value)) == snapshot


def test_a_time_after_its_end_is_refused(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ForkError) as caught:
        timed_forks().at_time(3600 * SECOND)
    assert caught.value.code == "after_the_end"
    assert re.sub(r"at \d+$", "at <end>", str(caught.value)) == snapshot


def test_another_seed_makes_another_future_of_the_same_past() -> None:
    forks = timed_forks()
    digests = []
    for seed in (1, 1, 2):
        session = forks.at_event(400)
        before = session.cluster.view()
        session.cluster.reseed(seed)
        assert session.cluster.view() == before
        session.advance(session.cluster.now_us + 12 * SECOND)
        digests.append(session.cluster.digest())
    assert digests[0] == digests[1] != digests[2]


def test_another_seed_is_slept_and_woken_the_same_in_slices_of_any_size() -> None:
    forks = timed_forks()
    digests = []
    for step in (7_000, 1_000_000):
        session = forks.at_event(400)
        session.cluster.reseed(5)
        start = session.cluster.now_us
        for at_us in range(start, start + 2 * SECOND, step):
            session.advance(at_us)
        session.advance(start + 2 * SECOND)
        digests.append(session.cluster.digest())
    assert digests[0] == digests[1]
