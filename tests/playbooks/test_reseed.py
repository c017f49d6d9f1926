"""The step ``reseed``: from there on every draw comes of another seed, however the session is run."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.export.playbook_writer import export
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.timeline import Timeline
from tests.support.mistakes import keys, mistakes_of
from tests.support.playbooks import timed

pytestmark = pytest.mark.slow

SECOND = 1_000_000
STEPS = """\
- {at: 1s, inject: loss, target: broker(2), percent: 20%}
- {at: 2s, reseed: 99}
- {after: 0s, inject: lag, target: random(brokers), jitter: 2ms}
- {at: 4s, inject: crash, target: random(brokers), for: 2s}
"""


def playbook(steps: str = STEPS) -> Playbook:
    return timed(steps, settle="2s")


@cache
def digest(steps: str = STEPS) -> str:
    return Session.start(playbook(steps)).finish().digest


def test_a_seed_of_its_own_changes_what_follows_and_nothing_before() -> None:
    other = STEPS.replace("99", "100")
    assert digest(other) != digest()
    sessions = [Session.start(playbook(steps)) for steps in (STEPS, other)]
    for session in sessions:
        session.advance(2 * SECOND - 1)
    assert sessions[0].cluster.digest() == sessions[1].cluster.digest()


def test_the_session_s_own_seed_changes_nothing() -> None:
    assert digest(STEPS.replace("99", "3")) == digest(STEPS.replace("reseed: 99", "heal: bounce"))
    crash = "- {at: 4s, inject: crash, target: leader(orders-0), for: 2s}"
    assert digest(f"- {{at: 2s, reseed: 3}}\n{crash}") == digest(crash)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, SECOND), st.integers(0, 400)), max_size=10))
def test_slices_do_not_matter(slices: list[tuple[int, int]]) -> None:
    session = Session.start(playbook())
    for time_us, events in slices:
        session.advance(session.cluster.now_us + time_us, events)
    assert session.finish().digest == digest()


@pytest.mark.parametrize("at_us", [SECOND, 2 * SECOND - 1, 2 * SECOND, 3 * SECOND, 5 * SECOND])
def test_going_back_over_it_and_on_again(at_us: int) -> None:
    timeline = Timeline(Session.start(playbook()), nearest=200)
    timeline.advance(6 * SECOND)
    past = timeline.seek_time(at_us)
    fresh = Session.start(playbook())
    fresh.advance(at_us)
    assert past.cluster.digest() == fresh.cluster.digest()
    past.advance(6 * SECOND)
    fresh.advance(6 * SECOND)
    assert past.cluster.digest() == fresh.cluster.digest()


def test_a_session_goes_back_before_it_and_draws_as_before() -> None:
    session = Session.start(playbook("- {at: 3s, inject: loss, target: broker(2), percent: 20%}"))
    session.advance(2 * SECOND)
    kept = session.save()
    session.advance(5 * SECOND)
    undisturbed = session.cluster.digest()
    session.load(*kept)
    session.cluster.reseed(1234)
    session.advance(5 * SECOND)
    assert session.cluster.digest() != undisturbed
    session.load(*kept)
    session.advance(5 * SECOND)
    assert session.cluster.digest() == undisturbed


def test_a_recording_replays_and_its_export_keeps_the_step(tmp_path_factory: pytest.TempPathFactory) -> None:
    session = Session.start(playbook(), recorder=Recorder(tmp_path_factory.mktemp("sessions")))
    result = session.finish()
    recorded = read_session(session.recorder.path if session.recorder else None)  # type: ignore[arg-type]
    assert replay(recorded).digest == result.digest == digest()
    found = export(recorded)
    assert found.digest == digest()
    assert [step.name for step in loads(found.text, "x.yaml").steps if step.verb == "reseed"] == ["99"]


@pytest.mark.parametrize("value", ["-1", "now", "1.5", "[1]", "{}", "", "99999999999999999999999"])
def test_invalid_seeds_are_rejected(value: str) -> None:
    assert keys(mistakes_of(lambda: timed(f"- {{at: 1s, reseed: {value}}}"))) == ["steps[1].reseed"]


def test_a_step_by_hand_has_none() -> None:
    topics = "topics: [{name: o, partitions: 1, replication: 1}]\n"
    text = f"floodmark: 1\nname: a\nstepping: manual\n{topics}steps: [{{reseed: 1}}]\n"
    assert keys(mistakes_of(lambda: loads(text, "x.yaml"))) == ["steps[1].reseed"]
