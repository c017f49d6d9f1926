"""Pictures of the screen for the README: a real session, the same every time. ``python -m tui.shots docs/media``."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.action import Action
from playbooks.bundled import path_of
from playbooks.loader import load
from playbooks.session import Session
from tui.app import FloodmarkApp
from tui.bridge import SimBridge
from tui.frameclock import StepClock

FRAME_S: Final = 1 / 16

Play = Callable[["Stage"], Awaitable[None]]


class Stage:
    """An app with the hands of its clock. Acts through the bridge: toasts go by the wall clock."""

    def __init__(self, app: FloodmarkApp, clock: StepClock) -> None:
        self.app = app
        self.clock = clock

    async def seconds(self, seconds: float) -> None:
        """Let virtual time pass, frame by frame."""
        for _ in range(round(seconds / FRAME_S)):
            self.clock.tick(FRAME_S)
            self.app.frame()
            await asyncio.sleep(0)

    def inject(self, name: str, broker: int) -> None:
        """A fault, without the sheet."""
        self.app.bridge.act(Action("inject", name, f"broker({broker})"))

    def heal(self, name: str) -> None:
        """End the faults of a kind."""
        self.app.bridge.act(Action("heal", name))

    def select_lost(self) -> None:
        """The cursor on the dead leader of the partition that lost most, its log where the replicas part."""
        view = self.app.bridge.view
        partition = max(range(len(view.partitions)), key=lambda at: view.partitions[at].missing)
        self.app.main.matrix.place(partition, 0)


async def lost(stage: Stage) -> None:
    """Slow replication for a while, in which a leader dies: records that acks=1 had acknowledged are gone."""
    await stage.seconds(3)
    for broker in (1, 2, 3):
        stage.inject("lag", broker)
    await stage.seconds(1)
    stage.inject("crash", 1)
    await stage.seconds(4)
    stage.heal("lag")
    await stage.seconds(6)
    stage.select_lost()
    await stage.seconds(0.25)
    stage.app.main.action_fork()


async def autopsy(stage: Stage) -> None:
    """Why the records are gone."""
    await lost(stage)
    stage.app.main.action_finding(1)


async def sheet(stage: Stage) -> None:
    """The fault sheet over a healthy cluster."""
    await stage.seconds(5)
    stage.app.main.matrix.place(3, 0)
    await stage.seconds(0.25)
    stage.app.main.action_fault()


async def log(stage: Stage) -> None:
    """The logs of the partition that lost records."""
    await lost(stage)
    stage.app.main.action_mode("log")


async def timeline(stage: Stage) -> None:
    """What happened when."""
    await lost(stage)
    stage.app.main.action_mode("timeline")


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: a file's name, the terminal's size, what happens first."""

    name: str
    size: tuple[int, int]
    play: Play


SHOTS: Final = (
    Shot("screen", (120, 40), lost),
    Shot("screen-80x24", (80, 24), lost),
    Shot("screen-200x60", (200, 60), lost),
    Shot("autopsy", (120, 40), autopsy),
    Shot("faults", (120, 40), sheet),
    Shot("log", (120, 40), log),
    Shot("timeline", (120, 40), timeline),
)


async def take(shot: Shot) -> str:
    """Play a shot and return the picture as SVG, with no link to anything outside itself."""
    clock = StepClock()
    session = Session.start(load(path_of("sandbox")), open_ended=True)
    app = FloodmarkApp(SimBridge(session, clock), playbook="sandbox", seed=session.cluster.seed)
    async with app.run_test(size=shot.size) as pilot:
        await pilot.pause()
        await shot.play(Stage(app, clock))
        await pilot.pause()
        return standalone(app.export_screenshot(title="floodmark"))


def standalone(svg: str) -> str:
    """Without the web fonts: pages that show pictures do not load them, and every system has a monospace font."""
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family:\s*[^;\"]*Fira Code[^;\"]*", "font-family: monospace", svg)


def main() -> None:
    """Write every picture into the directory named on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tui.shots DIRECTORY")
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    os.environ.pop("NO_COLOR", None)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    for shot in SHOTS:
        path = directory / f"{shot.name}.svg"
        path.write_text(asyncio.run(take(shot)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
