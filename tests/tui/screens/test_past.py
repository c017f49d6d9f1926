"""The keys that go back in time, pressed on a live session and on an opened recording."""

from pathlib import Path

import pytest

from cluster_model.protocol.events import NodeDown
from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import timed
from tests.tui.driving import driving, in_feed
from tests.tui.fake_views import session as sandbox
from tests.tui.test_opening import opened, recorded  # noqa: F401 - a fixture
from tui.screens.autopsy import AskScreen
from tui.screens.cluster import BEGINNING, PAST, PRESENT
from tui.screens.modes.clients import ClientsScreen
from tui.screens.record import RecordScreen
from tui.screens.time_travel import GotoScreen
from tui.session.background_tasks import QuestionReply
from tui.terminal.format import InstantError, instant_us

pytestmark = pytest.mark.slow

SECOND = 1_000_000
SIZES = [(80, 24), (120, 40)]
BOTH = [pytest.param("live", SIZES[0], id="live"), pytest.param("recording", SIZES[1], id="recording")]
"""Each kind of session at one size."""
CRASHED = in_feed(NodeDown(0, "broker 1", 1, "crash"))


class OpenScreen:
    """A screen some seconds into a session, live or recorded."""

    def __init__(self, kind, path):
        self.kind, self.path = kind, path

    def open(self, size=(120, 40)):
        if self.kind == "live":
            return driving(size, session=sandbox(orders=2, payments=1, calm=True))
        return opened(self.path, size)


@pytest.fixture(params=["live", "recording"])
def stage(request, recorded):  # noqa: F811
    return OpenScreen(request.param, recorded)


def top(driver):
    return driver.text().split("\n")[0]


async def crashed(driver, seconds=5):
    """So many seconds in which broker 1 is crashed at two: by us here, by its operator in the recording."""
    await driver.seconds(2)
    if driver.session_controller.session.recorded is None:
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
    await driver.seconds(seconds - 2)


@pytest.mark.parametrize(("stage", "size"), BOTH, indirect=["stage"])
async def test_an_event_back_and_on_again(stage, size):
    async with stage.open(size) as driver:
        await crashed(driver)
        present = driver.session_controller.session.cluster.executed
        await driver.press(",", ",")
        assert driver.session_controller.session.cluster.executed == present - 2
        assert "PAST 00:0" in top(driver)
        assert "of 00:05.0" in top(driver)
        past = PAST.format(pause="space", present="backspace")
        assert driver.toasts()[-1] == past
        assert driver.toasts().count(past) == 1
        await driver.press(".")
        assert driver.session_controller.session.cluster.executed == present - 1
        await driver.press(".", ".")
        assert "PAUSED" in top(driver)
        assert "00:05.000" in top(driver)
        await driver.press(".")
        assert driver.session_controller.session.cluster.executed == present + 1


@pytest.mark.parametrize(("stage", "size"), BOTH, indirect=["stage"])
async def test_notable_events_back_and_on_again(stage, size, snapshot):
    async with stage.open(size) as driver:
        await crashed(driver)
        times = []
        while len(times) < 2 or times[-1] != times[-2]:
            await driver.press("<")
            times.append(driver.session_controller.view.now_us)
        assert driver.toasts()[-1] == snapshot
        assert times == sorted(times, reverse=True)
        assert times[0] >= 2 * SECOND >= times[-1]
        assert CRASHED in driver.text()
        driver.app.clear_notifications()
        await driver.press("{")
        assert CRASHED not in driver.text()
        await driver.press(">")
        assert CRASHED in driver.text()
        assert driver.session_controller.view.now_us == times[-1]


async def test_searching_on_past_the_last_notable_event_is_the_present(stage, snapshot):
    async with stage.open() as driver:
        await crashed(driver, 5.5)
        await driver.press("<", ">")
        assert not driver.session_controller.session.in_past
        assert driver.toasts()[-1] == snapshot
        assert "00:05.500" in top(driver)
        assert "PAUSED" in top(driver)


async def test_seconds_back_and_on(stage):
    async with stage.open() as driver:
        await crashed(driver)
        await driver.press("{", "{")
        assert "PAST 00:03.000 of 00:05.000" in top(driver)
        await driver.press("}")
        assert "PAST 00:04.000 of 00:05.000" in top(driver)
        await driver.press("}")
        assert "‖ PAUSED" in top(driver)
        await driver.press("}")
        await driver.frames(8)
        assert driver.session_controller.view.now_us == 6 * SECOND
        assert "‖ PAUSED" in top(driver)


async def test_to_the_beginning_and_back_to_the_present(stage, snapshot):
    async with stage.open() as driver:
        await crashed(driver)
        before = driver.text().split("\n")[1:]
        await driver.press("home")
        assert "PAST 00:00.000 of 00:05.000" in top(driver)
        assert driver.shown("#feed")[0] == snapshot
        await driver.press("{")
        assert driver.toasts()[-1] == BEGINNING
        await driver.press("backspace")
        driver.app.clear_notifications()
        await driver.settle()
        assert driver.text().split("\n")[1:] == before
        await driver.press("backspace")
        assert driver.toasts()[-1] == PRESENT


@pytest.mark.parametrize(("stage", "size"), BOTH, indirect=["stage"])
async def test_to_a_time_that_is_typed(stage, size, snapshot):
    async with stage.open(size) as driver:
        await crashed(driver)
        await driver.press("ctrl+g")
        assert isinstance(driver.app.screen, GotoScreen)
        said = [driver.shown("#goto")]
        await driver.press(*"2.5", "enter")
        said.append(driver.shown("#goto"))
        await driver.press("s", "enter")
        assert not isinstance(driver.app.screen, GotoScreen)
        assert "PAST 00:02.5" in top(driver)
        await driver.press("ctrl+g", "escape")
        assert driver.session_controller.view.now_us == 2_500_000
        await driver.press("ctrl+g", *"1m", "enter")
        assert [*said, driver.shown("#goto")] == snapshot


@pytest.mark.parametrize(
    ("text", "at_us"),
    [("12.5s", 12_500_000), ("1m", 60_000_000), ("00:12.5", 12_500_000), ("1:00:00.000001", 3_600_000_001), ("0s", 0)],
)
def test_times_that_can_be_typed(text, at_us):
    assert instant_us(text, 0, 4_000_000_000) == at_us


@pytest.mark.parametrize("text", ["", "12", "12.5", "soon", "00:61", "-1s", "1m30s", "１s", "0.0000001s", "99999h"])
def test_times_that_cannot(text, snapshot):
    with pytest.raises(InstantError) as caught:
        instant_us(text, SECOND, 2 * SECOND)
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("text", ["3s", "0s"])
def test_times_that_are_not_there(text, snapshot):
    with pytest.raises(InstantError) as caught:
        instant_us(text, SECOND, 2 * SECOND)
    assert str(caught.value) == snapshot


async def test_the_past_is_played_and_continues_where_it_ends(stage):
    async with stage.open() as driver:
        await crashed(driver)
        await driver.press("{", "space")
        await driver.seconds(0.5)
        assert "▶ PAST 00:04.500 of 00:05.000  ×1" in top(driver)
        await driver.press("]")
        await driver.seconds(0.5)
        assert not driver.session_controller.session.in_past
        assert ("▶ LIVE" if driver.session_controller.session.recorded is None else "▶ PLAY") in top(driver)
        assert driver.session_controller.view.now_us == 5_500_000


@pytest.mark.parametrize("size", SIZES)
async def test_actions_in_a_recordings_past_do_not_change_it(size, recorded, snapshot):  # noqa: F811
    async with opened(recorded, size) as driver:
        await crashed(driver)
        faults = [fault.name for fault in driver.session_controller.view.faults]
        await driver.press("{", "{", "{", "{")
        assert driver.session_controller.view.faults == ()
        await driver.press("f", "l")
        assert driver.session_controller.branches.current.letter == "B"
        said = [driver.toasts()[-1]]
        assert [fault.name for fault in driver.session_controller.view.faults] == ["lag"]
        await driver.press("b", "up", "enter")
        assert [fault.name for fault in driver.session_controller.view.faults] == faults
        await driver.press("T")
        said.append(driver.toasts()[-1])
        await driver.press("U")
        assert [*said, driver.toasts()[-1]] == snapshot
        assert len(driver.session_controller.branches) == 2


async def test_standing_in_the_past_paints_nothing(stage):
    async with stage.open() as driver:
        await crashed(driver)
        await driver.press("<")
        painted = driver.app.frames
        dirtied = [grid.dirtied for grid in driver.main.grids()]
        await driver.frames(5)
        assert driver.app.frames == painted
        assert [grid.dirtied for grid in driver.main.grids()] == dirtied


async def test_the_log_follows_its_end_where_it_was_shorter_than_what_is_looked_at():
    async with driving(session=sandbox(orders=1, payments=1)) as driver:
        await driver.seconds(2)
        await driver.press("shift+left")
        assert driver.main.lanes.start > 10
        await driver.press("home")
        assert driver.main.lanes.start is None
        await driver.press("backspace", "shift+left")
        start = driver.main.lanes.start
        await driver.press(",")
        assert driver.main.lanes.start == start


# -- pages -----------------------------------------------------------------------------------------------------------


async def test_a_record_is_that_of_the_time(stage, snapshot):
    async with stage.open() as driver:
        await driver.seconds(3)
        newest = driver.session_controller.view.partitions[0].leo
        await driver.press("{", "{", "p")
        assert isinstance(driver.app.screen, RecordScreen)
        shown = driver.app.screen.log_offset
        assert 0 < shown < newest - 1
        await driver.press("right")
        assert driver.shown("#record")[1] == snapshot
        await driver.press("escape", "backspace", "p")
        assert driver.app.screen.log_offset == newest - 1


async def test_keys_of_time_work_on_the_page_of_clients(stage):
    async with stage.open() as driver:
        await driver.seconds(3)
        await driver.press("c")
        assert isinstance(driver.app.screen, ClientsScreen)
        rows = list(driver.app.screen._table.rows)
        await driver.press("{")
        earlier = list(driver.app.screen._table.rows)
        assert earlier != rows
        assert driver.session_controller.view.now_us == 2 * SECOND
        await driver.press("ctrl+g", *"1s", "enter")
        assert isinstance(driver.app.screen, ClientsScreen)
        assert list(driver.app.screen._table.rows) not in (rows, earlier)
        await driver.press("backspace", "escape")
        assert not driver.session_controller.session.in_past


async def test_a_question_is_about_the_time_and_says_so(tmp_path, monkeypatch, snapshot):
    asked = []

    async def put(text, path, at_us, recorder, tell):
        asked.append(at_us)
        return QuestionReply(0, ("safe",))

    monkeypatch.setattr("tui.screens.autopsy.put_question", put)
    session = Session.start(timed(settle="2s"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    async with driving(session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.seconds(3)
        await driver.press("s")
        of_the_present = driver.shown("#ask")
        await driver.press("escape", "{", "s")
        assert isinstance(driver.app.screen, AskScreen)
        of_the_past = driver.shown("#ask")
        assert [line for line in of_the_past if line in of_the_present] == of_the_present
        await driver.press("enter")
        assert asked == [2 * SECOND]
        assert [of_the_past, driver.shown("#ask")] == snapshot


async def test_a_question_about_a_recording_finds_it(recorded, monkeypatch):  # noqa: F811
    asked = []

    async def put(text, path, at_us, recorder, tell):
        asked.append((path, at_us))
        return QuestionReply(0, ("safe",))

    monkeypatch.setattr("tui.screens.autopsy.put_question", put)
    async with opened(recorded) as driver:
        await driver.seconds(3)
        await driver.press("{", "s", "enter")
        assert asked == [(recorded, 2 * SECOND)]


# -- the end ---------------------------------------------------------------------------------------------------------


async def test_the_end_of_a_recording_stays_its_end(recorded, snapshot):  # noqa: F811
    async with opened(recorded, speed=10.0) as driver:
        await driver.seconds(4)
        assert "AT END" in top(driver)
        end = driver.session_controller.view.now_us
        await driver.press("{")
        assert not driver.session_controller.ended
        assert "PAST" in top(driver)
        await driver.press("space")
        await driver.seconds(1)
        assert driver.session_controller.ended
        assert "AT END" in top(driver)
        assert driver.session_controller.view.now_us == end
        assert driver.toasts() == snapshot


async def test_a_session_left_in_the_past_seals_as_one_that_was_not(tmp_path):
    async def evening(parent, looks):
        session = Session.start(timed(settle="2s"), recorder=Recorder(parent, live=True), open_ended=True)
        async with driving(session=session) as driver:
            for action in (Action("inject", "crash", "broker(1)"), Action("heal", "all")):
                await driver.seconds(2)
                if looks:
                    await driver.press("{", ",", "<", ".", "space")
                    await driver.frames(3)
                    await driver.press("home", ">", "}", "backspace", "space")
                driver.session_controller.act(action)
            await driver.seconds(1)
            if looks:
                await driver.press("<")
        result = session.finish()
        return result.digest, [(Path(result.session) / name).read_bytes() for name in ("events.jsonl", "actions.jsonl")]

    assert await evening(tmp_path / "looked", True) == await evening(tmp_path / "not", False)
