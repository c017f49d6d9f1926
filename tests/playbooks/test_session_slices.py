"""However a session is sliced, and wherever an operator acts, it comes out the same."""

from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult
from tests.support.playbooks import CRASH, timed

pytestmark = pytest.mark.slow

PLAYBOOK = loads(CRASH, "crash.yaml")
LIVE = timed(
    "- at: 2s\n  inject: lag\n  target: broker(3)\n  for: 1s\n"
    "- after: 0s\n  inject: crash\n  target: broker(2)\n  for: 2s",
    "- eventually: under_replicated() == 0\n  within: 9s\n  since: heal",
)
ACTIONS = (
    Action("inject", "crash", "leader(orders-0)", {}, 1_000_000),
    Action("inject", "lag", "random(orders)", {}, -1),
    Action("inject", "gc_pause", "random(isr(orders-0))", {}, 300_000),
    Action("heal", "all"),
    Action("admin", "elect_leaders", "", {"partition": "orders-0"}),
)


@cache
def whole() -> SessionResult:
    """The playbook in one piece."""
    return Session.start(PLAYBOOK).finish()


SLICES = st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 400)), min_size=1, max_size=12)


@given(SLICES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_slices_of_any_size_give_one_digest(slices: list[tuple[int, int]]) -> None:
    session = Session.start(PLAYBOOK)
    for time_us, events in slices:
        session.advance(session.cluster.now_us + time_us, events)
        session.drain()
    result = session.finish()
    assert (result.digest, result.events) == (whole().digest, whole().events)


@given(SLICES, st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_action_repeated_at_its_position_gives_the_same_digest(slices: list[tuple[int, int]], data: Any) -> None:
    live = Session.start(LIVE, open_ended=True)
    acted = []
    for time_us, events in slices:
        live.advance(live.cluster.now_us + time_us, events)
        action = data.draw(st.sampled_from(ACTIONS))
        acted.append((live.position(), action))
        _act(live, action)
    again = Session.start(LIVE, open_ended=True)
    for position, action in acted:
        if position["executed"] > again.cluster.executed:
            again.advance(position["at_us"], position["executed"] - again.cluster.executed)
        if again.cluster.now_us < position["at_us"] or again.steps_taken < position["steps"]:
            again.advance(position["at_us"])
        assert again.position() == position
        _act(again, action)
    assert again.cluster.digest() == live.cluster.digest()


def _act(session: Session, action: Action) -> None:
    with suppress(FaultError):  # refusals are part of the trace, and repeat
        session.act(action)
