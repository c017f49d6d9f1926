"""The screen: what a frame costs over a large cluster, how much of it a terminal is sent, how long a jump takes."""

import asyncio
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from textual._compositor import CompositorUpdate
from textual.pilot import Pilot
from textual.screen import Screen

from benchmarks.measure import cpu_seconds
from benchmarks.models import SECOND, cluster_under
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from tui import app as app_module
from tui.app import FloodmarkApp
from tui.session.session_controller import SimBridge
from tui.terminal.frame_clock import StepClock
from tui.terminal.terminal import frugal

SIZE = (200, 60)
FRAME_S = 1 / 15
FRAMES = 60
JUMPS = 12


class Spent(NamedTuple):
    """CPU milliseconds, and bytes."""

    frame_ms: float
    """Of a frame at ×1 from the view to the text for the terminal, without the model's own work."""
    frame_bytes: int
    """What such a frame sends."""
    whole_bytes: int
    """Of a whole picture, everything painted anew."""
    share: float
    """Of a core, at ×1 and 15 frames a second, the model's own work included."""
    key_ms: float
    """The slowest of several keys that move the cursor, until the screen has come to rest."""
    jump_ms: float
    """The slowest of several jumps back, with its picture."""


class Told(FloodmarkApp):
    """It does for nobody what a terminal would have it do: Textual leaves that out where there is none."""

    CSS_PATH = Path(app_module.__file__).with_name("tui.tcss")
    sent = 0
    """Bytes so far."""

    def _display(self, screen: Screen[None], renderable: object) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.sent += len(frugal(renderable.render_segments(self.console)).encode())


def session_of(brokers: int, partitions: int) -> Session:
    """A live session of a cluster under an even load."""
    spec = cluster_under(brokers, partitions, 400, 1).spec
    return Session.start(Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), ""), open_ended=True)


def screen(brokers: int, partitions: int) -> Spent:
    """What the screen costs over so large a cluster, on a terminal of all colours."""
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
    return asyncio.run(_measured(session_of(brokers, partitions)))


async def _measured(session: Session) -> Spent:
    clock = StepClock()
    app = Told(SimBridge(session, clock), playbook="load", seed=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        gc.freeze()  # as the program does
        idle = await _spent_on(lambda: None, pilot)
        frames, sizes = [], []
        began = time.process_time()
        for _ in range(FRAMES):
            clock.tick(FRAME_S)
            app.bridge.frame()
            before = app.sent
            frames.append(await _spent_on(app.main.present, pilot) + cpu_seconds(app.bridge.look) - idle)
            sizes.append(app.sent - before)
        looks = FRAMES * cpu_seconds(app.bridge.look)  # one look each frame is the measurement's own
        share = (time.process_time() - began - looks - FRAMES * idle) / (FRAMES * FRAME_S)
        before = app.sent
        await _spent_on(app.screen.refresh, pilot)
        whole = app.screen._compositor.render_update(full=True)
        assert isinstance(whole, CompositorUpdate)
        size = len(frugal(whole.render_segments(app.console)).encode())
        app.bridge.pause(True)
        keys = []
        for _ in range(JUMPS):
            began = time.process_time()
            await pilot.press("down")
            keys.append(time.process_time() - began)
        end = session.cluster.now_us
        app.bridge.to_time(0)  # the twin that shows the past is built once
        jumps = [await _jump(app, pilot, at * end // JUMPS) - idle for at in range(JUMPS)]
        gc.unfreeze()
        middle = FRAMES // 2
        return Spent(
            1_000 * sorted(frames)[middle], sorted(sizes)[middle], size, share, 1_000 * max(keys), 1_000 * max(jumps)
        )


async def _jump(app: FloodmarkApp, pilot: Pilot[None], at_us: int) -> float:
    return await _spent_on(lambda: app.main.go_to(at_us), pilot)


async def _spent_on(work: Callable[[], object], pilot: Pilot[None]) -> float:
    """CPU seconds of some work and of all that the screen does about it."""
    began = time.process_time()
    work()
    await pilot.pause()
    return time.process_time() - began
