"""Benchmark of the TUI over a large cluster: CPU per frame, bytes sent to the terminal, time of a jump."""

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

from benchmarks.cluster_load import SECOND, cluster_under
from benchmarks.measure import cpu_seconds
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from tui import app as app_module
from tui.app import FloodmarkApp
from tui.session.session_controller import SessionController
from tui.terminal.frame_clock import StepClock
from tui.terminal.terminal import frugal

SIZE = (200, 60)
FRAME_S = 1 / 15
FRAMES = 60
JUMPS = 12


class Spent(NamedTuple):
    """Cost of the TUI in CPU milliseconds and bytes."""

    frame_ms: float
    """Of a frame at ×1, from the view to the terminal output, without the model."""
    frame_bytes: int
    """Sent for such a frame."""
    whole_bytes: int
    """Sent for a full repaint."""
    share: float
    """Share of a core at ×1 and 15 frames per second, with the model."""
    key_ms: float
    """The slowest of several keys that move the cursor, until the TUI is idle."""
    jump_ms: float
    """The slowest of several jumps back, with its frame."""


class RenderingApp(FloodmarkApp):
    """App that renders output for a terminal without one, which Textual would skip."""

    CSS_PATH = Path(app_module.__file__).with_name("tui.tcss")
    sent = 0
    """Bytes sent so far."""

    def _display(self, screen: Screen[None], renderable: object) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.sent += len(frugal(renderable.render_segments(self.console)).encode())


def session_of(brokers: int, partitions: int) -> Session:
    """Return a live session of a cluster under a steady load."""
    spec = cluster_under(brokers, partitions, 400, 1).spec
    return Session.start(Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), ""), open_ended=True)


def screen(brokers: int, partitions: int) -> Spent:
    """Return the cost of the TUI over a cluster of this size, on a terminal with all colours."""
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
    return asyncio.run(_measured(session_of(brokers, partitions)))


async def _measured(session: Session) -> Spent:
    clock = StepClock()
    app = RenderingApp(SessionController(session, clock), playbook="load", seed=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        gc.freeze()  # as the program does
        idle = await _spent_on(lambda: None, pilot)
        frames, sizes = [], []
        began = time.process_time()
        for _ in range(FRAMES):
            clock.tick(FRAME_S)
            app.session_controller.frame()
            before = app.sent
            frames.append(
                await _spent_on(app.main.present, pilot) + cpu_seconds(app.session_controller.refresh_view) - idle
            )
            sizes.append(app.sent - before)
        looks = FRAMES * cpu_seconds(
            app.session_controller.refresh_view
        )  # one call per frame belongs to the measurement
        share = (time.process_time() - began - looks - FRAMES * idle) / (FRAMES * FRAME_S)
        before = app.sent
        await _spent_on(app.screen.refresh, pilot)
        whole = app.screen._compositor.render_update(full=True)
        assert isinstance(whole, CompositorUpdate)
        size = len(frugal(whole.render_segments(app.console)).encode())
        app.session_controller.pause(True)
        keys = []
        for _ in range(JUMPS):
            began = time.process_time()
            await pilot.press("down")
            keys.append(time.process_time() - began)
        end = session.cluster.now_us
        app.session_controller.to_time(0)  # the copy of the session that shows the past is built once
        jumps = [await _jump(app, pilot, at * end // JUMPS) - idle for at in range(JUMPS)]
        gc.unfreeze()
        middle = FRAMES // 2
        return Spent(
            1_000 * sorted(frames)[middle], sorted(sizes)[middle], size, share, 1_000 * max(keys), 1_000 * max(jumps)
        )


async def _jump(app: FloodmarkApp, pilot: Pilot[None], at_us: int) -> float:
    return await _spent_on(lambda: app.main.go_to(at_us), pilot)


async def _spent_on(work: Callable[[], object], pilot: Pilot[None]) -> float:
    """Return the CPU seconds of the work and of everything that the TUI does in response."""
    began = time.process_time()
    work()
    await pilot.pause()
    return time.process_time() - began
