"""Is it safe to ...? Asked on the screen, answered by another process."""

import asyncio
import signal

import pytest

from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from tests.support.playbooks import CLUSTER, timed
from tests.tui.driving import driving
from tui.screens.autopsy import AskScreen
from tui.session import background_tasks
from tui.session.background_tasks import QuestionReply, put_question

pytestmark = pytest.mark.slow


def recorded(tmp_path):
    made = timed(settle="2s", cluster=CLUSTER.replace("rate: 100/s", "rate: 10/s"))
    return Session.start(made, recorder=Recorder(tmp_path, live=True), open_ended=True)


async def test_the_broker_under_the_cursor_is_what_the_prompt_begins_with(tmp_path, snapshot):
    session = recorded(tmp_path)
    async with driving((80, 24), session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.seconds(1)
        await driver.press("right", "s")
        assert isinstance(driver.app.screen, AskScreen)
        assert driver.app.screen._prompt.value == "restart broker(2)"
        assert driver.shown("#ask") == snapshot
        await driver.press("escape")
        assert not isinstance(driver.app.screen, AskScreen)


async def test_the_answer_is_shown_below_the_question_while_time_continues(tmp_path, monkeypatch, snapshot):
    asked, go = [], asyncio.Event()

    async def put(text, path, at_us, recorder, tell):
        asked.append((text, path, at_us))
        tell("1 of 10")
        await go.wait()
        return QuestionReply(1, ("not safe: writes stall", "  why         orders-0"))

    monkeypatch.setattr("tui.screens.autopsy.put_question", put)
    session = recorded(tmp_path)
    async with driving((120, 40), session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.seconds(2)
        await driver.press("s", *"; heal all", "enter")
        ((question, *about),) = asked
        assert question.split("; ") == ["restart broker(1)", "heal all"]
        assert about == [session.recorder.path, 2_000_000]
        meanwhile = driver.shown("#ask")
        await driver.seconds(1)
        assert session.cluster.now_us == 3_000_000
        go.set()
        await driver.until(lambda: "not safe: writes stall" in driver.text())
        assert [meanwhile, driver.shown("#ask")] == snapshot


async def test_escape_stops_asking_before_it_leaves(tmp_path, monkeypatch):
    begun, stopped = [], []

    async def put(text, path, at_us, recorder, tell):
        begun.append(text)
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            stopped.append(text)
            raise

    monkeypatch.setattr("tui.screens.autopsy.put_question", put)
    session = recorded(tmp_path)
    async with driving((80, 24), session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.press("s", "enter")
        await driver.until(lambda: begun)
        await driver.press("escape")
        await driver.until(lambda: stopped == ["restart broker(1)"])
        assert isinstance(driver.app.screen, AskScreen)
        await driver.press("escape")
        assert not isinstance(driver.app.screen, AskScreen)


async def test_unrecorded_sessions_cannot_be_checked_for_safety(snapshot):
    async with driving((80, 24)) as driver:
        await driver.press("s")
        assert not isinstance(driver.app.screen, AskScreen)
        assert driver.toasts() == snapshot


@pytest.mark.parametrize(("text", "code"), [("restrt broker(2)", 2), ("heal all", 0)])
async def test_another_process_answers(tmp_path, monkeypatch, text, code, snapshot):
    monkeypatch.setattr(background_tasks, "SEEDS", 1)
    session = recorded(tmp_path)
    session.advance(1_234_567)
    reply = await put_question(text, session.recorder.path, 1_234_567, session.recorder, lambda told: None)
    assert reply.code == code, reply.lines
    assert reply.lines[0].replace(str(tmp_path), "<tmp>") == snapshot
    assert list(tmp_path.glob("*.yaml")) == []


async def test_a_question_that_is_cancelled_leaves_no_process(tmp_path):
    session = recorded(tmp_path)
    session.advance(1_000_000)
    begun = []
    start = asyncio.create_subprocess_exec

    async def watched(*words, **options):
        begun.append(await start(*words, **options))
        return begun[0]

    background_tasks.asyncio.create_subprocess_exec = watched
    try:
        work = asyncio.create_task(put_question("heal all", session.recorder.path, 1_000_000, None, lambda told: None))
        while not begun:
            await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    finally:
        background_tasks.asyncio.create_subprocess_exec = start
    assert begun[0].returncode not in (None, 0), "it is waited for, too"


class Stubborn:
    """A process that ends when the test says so."""

    def __init__(self):
        self.signals = []
        self.ended = asyncio.Event()

    def send_signal(self, number):
        self.signals.append(number)

    async def communicate(self):
        await self.ended.wait()


async def test_a_process_is_waited_for_however_often_that_is_cancelled():
    """As the program ends its worker, all workers, and all tasks are cancelled, one after the other."""
    process = Stubborn()
    work = asyncio.create_task(background_tasks._stopped(process))
    for _ in range(4):
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.sleep(0)
    assert not work.done()
    assert process.signals[:2] == [signal.SIGINT, signal.SIGKILL]
    process.ended.set()
    await work
