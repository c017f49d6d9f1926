"""The screen: what a frame costs over a large cluster, how much of it a terminal is sent, how long a jump takes."""

import asyncio
import subprocess
import sys
import time
from typing import NamedTuple

from benchmarks.measure import cpu_seconds
from benchmarks.models import SECOND, cluster_under
from playbooks.model import Playbook
from playbooks.session import Session
from tui.app import FloodmarkApp
from tui.bridge import SimBridge
from tui.frameclock import StepClock

SIZE = (200, 60)
FRAME_S = 1 / 15
FRAMES = 60
JUMPS = 12
HEADLESS = "from benchmarks.screen import first_picture; first_picture()"


class Spent(NamedTuple):
    """CPU milliseconds, and bytes."""

    frame_ms: float
    """Of a frame at ×1, without the model's own work: the view, the rows, the strips, the text for the terminal."""
    frame_bytes: int
    """Of a whole picture, everything painted anew."""
    key_ms: float
    """The slowest of several keys that move the cursor, until the screen has come to rest."""
    jump_ms: float
    """The slowest of several jumps back, with its picture."""


def session_of(brokers: int, partitions: int) -> Session:
    """A live session of a cluster under an even load."""
    spec = cluster_under(brokers, partitions, 400, 1).spec
    return Session.start(Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), ""), open_ended=True)


def first_picture() -> None:
    """Open the program on the sandbox without a terminal, and leave as soon as it is painted."""
    from playbooks.bundled import path_of  # noqa: PLC0415 - a child that measures its imports
    from playbooks.loader import load  # noqa: PLC0415

    asyncio.run(_shown(Session.start(load(path_of("sandbox")), open_ended=True)))


async def _shown(session: Session) -> None:
    app = FloodmarkApp(SimBridge(session, StepClock()), playbook="load", seed=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()


def first_paint_ms(tries: int) -> float:
    """CPU milliseconds of a whole process from its start to its first picture."""
    import resource  # noqa: PLC0415 - not everywhere

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    best = float("inf")
    for _ in range(tries):
        before = spent()
        subprocess.run([sys.executable, "-c", HEADLESS], check=True)
        best = min(best, 1_000 * (spent() - before))
    return best


def screen(brokers: int, partitions: int) -> Spent:
    """What the screen costs over so large a cluster."""
    return asyncio.run(_measured(session_of(brokers, partitions)))


async def _measured(session: Session) -> Spent:
    clock = StepClock()
    app = FloodmarkApp(SimBridge(session, clock), playbook="load", seed=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        frames = []
        for _ in range(FRAMES):
            clock.tick(FRAME_S)
            app.bridge.frame()
            frames.append(cpu_seconds(lambda: _painted(app)))
            await pilot.pause()
        whole = len(_text(app, full=True).encode())
        app.bridge.pause(True)
        keys = []
        for _ in range(JUMPS):
            began = time.process_time()
            await pilot.press("down")
            keys.append(time.process_time() - began)
        end = session.cluster.now_us
        app.bridge.to_time(0)  # the twin that shows the past is built once
        jumps = [
            cpu_seconds(lambda at_us=at * end // JUMPS: (app.bridge.to_time(at_us), _painted(app)))  # type: ignore[misc]
            for at in range(JUMPS)
        ]
        return Spent(1_000 * sorted(frames)[FRAMES // 2], whole, 1_000 * max(keys), 1_000 * max(jumps))


def _painted(app: FloodmarkApp) -> None:
    app.bridge.look()
    app.main.present()
    _text(app)


def _text(app: FloodmarkApp, *, full: bool = False) -> str:
    """What a terminal would be sent now."""
    update = app.screen._compositor.render_update(full=full)
    if update is None:
        return ""
    return str(update.render_segments(app.console)) if hasattr(update, "render_segments") else ""
