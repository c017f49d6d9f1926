"""Kafka's own topics stay out of the matrix until asked for, and count all the same."""

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.support.playbooks import CLUSTER
from tests.tui.driving import driving
from tests.tui.fake_views import session
from tui.session.session_controller import SessionController
from tui.terminal.frame_clock import StepClock
from tui.viewmodel import partition_matrix

pytestmark = pytest.mark.slow


def session_controller() -> SessionController:
    text = CLUSTER.replace("num.partitions: 1", "num.partitions: 50") + "settle: 2s\n"
    return SessionController(Session.start(loads(text, "live.yaml"), open_ended=True), StepClock())


def test_internal_partitions_are_hidden_until_requested() -> None:
    seen = session_controller()
    assert [each.name for each in seen.view.partitions] == ["orders-0"]
    assert len(seen.view.internal) == 50
    told = partition_matrix.build_matrix(seen.view, width=80, height=10, cursor=(0, 0))
    assert told.position == "i: 50 internal"
    seen.shows_internal = True
    seen.refresh_view()
    assert (len(seen.view.partitions), seen.view.internal) == (51, ())


def test_hidden_internal_partitions_are_counted() -> None:
    seen = session_controller()
    seen.session.cluster.crash(2)
    seen.session.advance(20_000_000)
    view = seen.refresh_view()
    hurt = sum(each.under_replicated for each in (*view.partitions, *view.internal))
    assert hurt == seen.session.cluster.query.under_replicated() > 1


async def test_a_key_shows_and_hides_them():
    async with driving(session=session()) as driver:
        await driver.seconds(1)
        rows = len(driver.session_controller.view.partitions)
        await driver.press("up", "i")
        await driver.seconds(1)
        assert len(driver.session_controller.view.partitions) == rows + 50
        await driver.press(*["pagedown"] * 6, "i")
        await driver.seconds(1)
        assert len(driver.session_controller.view.partitions) == rows
        assert "orders-0" in driver.text()
