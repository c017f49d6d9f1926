"""A span of the timeline: chosen by keys and by the mouse, counted, exported."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.util.quantities import minutes_and_seconds
from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import timed
from tests.tui.driving import driving
from tests.tui.pointing import drag, wheel
from tests.tui.viewmodel.timeline.test_tape import acked, down, taped
from tests.tui.viewmodel.timeline.test_timeline import drawn, injected, isr, shown
from tui.session.background_tasks import export_span
from tui.viewmodel.timeline.selection import Span, between, build_span, summarise_span
from tui.viewmodel.timeline.timeline_rows import LABEL, TIME

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def lines(told, events, width=100, height=20):
    return ["".join(piece for piece, _role in row.pieces) for row in build_span(told, events, (width, height))]


def test_a_span_has_its_ends_whichever_was_chosen_first():
    assert between((5, 7), (1, 2)) == between((1, 2), (5, 7)) == Span(1, 7)
    assert Span(1, 70).within(3, 50) == Span(3, 51)
    assert Span(1, 70).within(3, 50).length_us == 48


@pytest.mark.parametrize(
    ("span_us", "told"),
    [(1_550_000, "1.55s"), (100, "0.0001s"), (0, "0s"), (1_100_001, "1.1s"), (185_250_000, "3m5.25s")],
)
def test_the_length_is_shown_to_the_millisecond(span_us, told):
    assert minutes_and_seconds(span_us) == told


def test_events_of_a_mark_are_counted_by_kind_and_lane(snapshot):
    happened = [injected(SECOND), down(SECOND), isr(2 * SECOND, "orders-0"), isr(2 * SECOND, "orders-1")]
    tape = taped(*happened, *[acked(at * SECOND, 10) for at in range(5)])
    told = summarise_span(Span(SECOND, 3 * SECOND), happened, tape.load)
    text = lines(told, happened)
    assert told.acked == 20
    assert text[:4] == snapshot
    assert "b1" in text[-2] or "b1" in text[-3]
    assert len(lines(told, happened, height=3)) == 3


@given(st.integers(0, 400), st.integers(1, 400))
def test_acknowledgements_are_exact_or_said_not_to_be(start, size):
    """A bin is a hundredth of a second wide; acknowledgements come every millisecond."""
    tape = taped(*[acked(at * 1000, 1) for at in range(600)])
    told = summarise_span(Span(start * 1000, (start + size) * 1000), [], tape.load)
    if told.exact:
        assert told.acked == min(size, 600 - start)
    else:
        assert told.acked >= min(size, 600 - start)
        assert "about" in lines(told, [])[1]
    assert told.exact == (start % 10 == 0 and ((start + size) % 10 == 0 or start + size > 599))


def test_the_span_is_drawn_over_the_lanes_and_has_ends_without_colour_too():
    looked = shown(now_us=40 * SECOND)
    chosen = replace(looked, span=(10, 20))
    assert drawn(taped(), chosen)[TIME][0][9:22] == "━" + "[" + "━" * 9 + "]" + "━"
    assert drawn(taped(), replace(looked, span=(-5, 20)))[TIME][0].startswith("━" * 20 + "]")


# -- the screen ------------------------------------------------------------------------------------------------------


def recorded(tmp_path):
    return Session.start(timed(), recorder=Recorder(tmp_path), open_ended=True)


async def lived(driver):
    await driver.seconds(1)
    driver.session_controller.act(Action("inject", "crash", "broker(1)"))
    await driver.seconds(1)
    driver.session_controller.act(Action("inject", "lag", "broker(2)"))
    await driver.seconds(2)
    await driver.press("space", "4")


async def test_keys_begin_a_span_move_its_end_and_let_go():
    async with driving(session=Session.start(timed(), open_ended=True)) as driver:
        await lived(driver)
        screen = driver.app.screen
        assert screen.span is None
        while not screen.selected or screen.selected[1] > SECOND:
            await driver.press("left")
        await driver.press("v")
        late = screen.span
        assert late == Span(screen.selected[1], screen.stop(screen.shown()).last_us + 1)
        while screen.selected[1] < 2 * SECOND:
            await driver.press("right")
        assert screen.span.start_us == late.start_us
        assert screen.span.end_us > late.end_us
        assert "Selected span" in driver.text()
        before, unit_us = screen.span, screen.shown().window.unit_us
        await driver.press("shift+left")
        assert screen.span.end_us == (screen.selected[1] // unit_us) * unit_us
        assert screen.span.start_us == before.start_us
        assert driver.session_controller.view.now_us == driver.session_controller.session.present_us, (
            "no time is gone through meanwhile"
        )
        await driver.press("escape")
        assert screen.span is None
        assert driver.app.screen is screen
        await driver.press("v", "v")
        assert screen.span is None
        await driver.press("shift+left")
        assert driver.session_controller.session.in_past
        await driver.press("escape")
        assert driver.app.screen is driver.main


async def test_a_drag_over_the_lanes_chooses_a_span_and_goes_nowhere():
    async with driving(session=Session.start(timed(), open_ended=True)) as driver:
        await lived(driver)
        screen = driver.app.screen
        window = screen.shown().window
        await drag(driver, screen.lanes, (LABEL + 30, 2), (LABEL + 25, 1), (LABEL + 20, 1))
        assert screen.span == Span(20 * window.unit_us, 31 * window.unit_us)
        assert not driver.session_controller.session.in_past
        assert "620 acknowledged" not in driver.text()
        row = next(row for row in screen.lanes.rows if row.lane == TIME)
        line = "".join(piece for piece, *_appearance in row.spans)
        assert (line.index("["), line.index("]")) == (20, 30)
        await drag(driver, screen.lanes, (LABEL + 5, 2), (screen.lanes.size.width - 1, 2))
        assert screen.span.end_us == driver.session_controller.session.present_us + 1


async def test_another_branch_has_no_span_yet():
    async with driving(session=Session.start(timed(), open_ended=True)) as driver:
        await lived(driver)
        screen = driver.app.screen
        await drag(driver, screen.lanes, (LABEL + 20, 2), (LABEL + 30, 2))
        driver.session_controller.fork()
        while driver.session_controller.growing is not None:
            await driver.frames(1)
        screen.present()
        assert screen.span is None


def exported(text, target):
    """How many events an export tells of, and what else it says."""
    count, _space, words = text.replace(str(target), "<file>").partition(" ")
    return int(count), words


async def test_a_span_is_exported_beside_the_recording(tmp_path, snapshot):
    session = recorded(tmp_path)
    async with driving(session=session) as driver:
        driver.app.recorder = session.recorder
        await lived(driver)
        screen = driver.app.screen
        await driver.press("e")
        assert list(tmp_path.glob("*.jsonl")) == []
        unchosen = driver.toasts()[-1]
        await drag(driver, screen.lanes, (LABEL + 20, 2), (LABEL + 30, 2))
        span = screen.span
        await driver.press("e")
        await driver.app.workers.wait_for_complete()
        (target,) = tmp_path.glob("*.jsonl")
        count, words = exported(driver.toasts()[-1], target)
        assert [unchosen, words] == snapshot
        assert target.name == f"{session.recorder.session_id}-{span.start_us / 1e6:g}s-{span.end_us / 1e6:g}s.jsonl"
        assert target.read_text().count("\n") == count


async def test_of_a_session_from_a_bundle_it_is_put_where_it_stays(tmp_path, monkeypatch, snapshot):
    recorder = Recorder(tmp_path / "scratch")
    session = Session.start(timed(), recorder=recorder, open_ended=True)
    session.advance(SECOND)
    monkeypatch.setattr("playbooks.session_format.session_finder._scratched", [tmp_path / "scratch"])
    monkeypatch.chdir(tmp_path)
    told, good = await export_span(recorder.path, recorder, Span(0, SECOND))
    (target,) = tmp_path.glob("*.jsonl")
    assert good
    count, words = exported(told, target)
    assert count == target.read_text().count("\n")
    assert words == snapshot


async def test_failed_exports_are_reported(tmp_path, monkeypatch, snapshot):
    session = recorded(tmp_path)
    async with driving(session=session) as driver:
        await lived(driver)
        await drag(driver, driver.app.screen.lanes, (LABEL + 20, 2), (LABEL + 30, 2))
        await driver.press("e")
        unrecorded = driver.toasts()[-1]
        driver.app.recorder = session.recorder

        def full(path, text):
            raise OSError(28, "disk full")

        monkeypatch.setattr("playbooks.recording.reader.put_in_place", full)
        await driver.press("e")
        await driver.app.workers.wait_for_complete()
        assert [unrecorded, driver.toasts()[-1].partition(".jsonl")[2]] == snapshot
        assert [each.severity for each in driver.app._notifications][-1] == "error"


# -- wheel -----------------------------------------------------------------------------------------------------------


async def test_the_wheel_scrolls_and_with_ctrl_it_zooms_about_the_pointer():
    async with driving(session=Session.start(timed(), open_ended=True)) as driver:
        await lived(driver)
        screen = driver.app.screen
        whole = screen.shown().window
        await wheel(driver, screen.lanes, (LABEL + 40, 2), -1)
        assert screen.shown().window == whole, "all of it is in sight"
        await wheel(driver, screen.lanes, (LABEL + 40, 2), -3, ctrl=True)
        near = screen.shown().window
        assert near.unit_us < whole.unit_us
        pointed_us = 40 * whole.unit_us
        assert abs(near.column(pointed_us) - 40) <= 1
        await wheel(driver, screen.lanes, (LABEL + 40, 2), -1)
        assert screen.shown().window.first < near.first
        await wheel(driver, screen.lanes, (LABEL + 40, 2), 9, ctrl=True)
        assert screen.shown().window == whole
