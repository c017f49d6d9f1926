"""Pictures of the screen for README and manual, the same every time. ``python -m docs.generate.shots docs/media``."""

import asyncio
import os
import re
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from docs.generate.concepts import CONCEPTS
from docs.generate.stage import Shot, Stage, staged
from docs.generate.story import STORY, tell
from playbooks.recording.recorder import Recorder
from tui.screens.finding import AutopsyScreen
from tui.terminal.theme import Look
from tui.welcome import WelcomeApp


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
    """Why the records are gone, and what would have saved them."""
    await lost(stage)
    stage.app.main.action_finding(1)
    await stage.pause()
    page = stage.app.screen
    assert isinstance(page, AutopsyScreen)
    page.action_why()
    while page.busy:
        await asyncio.sleep(0.1)


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


async def clients(stage: Stage) -> None:
    """Everybody's books after the loss."""
    await lost(stage)
    stage.app.main.action_mode("clients")


async def playbooks(stage: Stage) -> None:
    """A playbook in the middle of its steps."""
    await stage.seconds(9.75)
    stage.app.main.action_mode("playbooks")


async def report(stage: Stage) -> None:
    """What the loss has come to so far."""
    await lost(stage)
    stage.app.main.action_mode("report")


async def compare(stage: Stage) -> None:
    """The loss, and beside it the same session without the crash."""
    await lost(stage)
    bridge = stage.app.bridge
    main = bridge.branches.current
    bridge.to_time(4_100_000)
    bridge.undo()
    while bridge.growing is not None:
        await stage.seconds(0.25)
    bridge.pause(False)
    await stage.seconds(10.25)
    stage.app.main.compare(main)


SHOTS: Final = (
    Shot("screen", (120, 40), lost),
    Shot("screen-80x24", (80, 24), lost),
    Shot("screen-200x60", (200, 60), lost),
    Shot("autopsy", (120, 44), autopsy, recorded=True),
    Shot("faults", (120, 40), sheet),
    Shot("log", (120, 40), log),
    Shot("timeline", (120, 40), timeline),
    Shot("clients", (120, 30), clients),
    Shot("playbooks", (120, 40), playbooks, "acks-1-lost-tail"),
    Shot("report", (120, 40), report),
    Shot("compare", (120, 34), compare),
    *CONCEPTS,
)
WELCOME: Final = "welcome"


async def take(shot: Shot) -> str:
    """Play a shot and return the picture as SVG, with no link to anything outside itself."""
    with TemporaryDirectory() as sessions:
        recorder = Recorder(Path(sessions), live=True) if shot.recorded else None
        async with staged(shot.size, shot.playbook, recorder) as stage:
            await shot.play(stage)
            await stage.settled()
            return standalone(stage.app.export_screenshot(title="floodmark"))


async def welcome() -> str:
    """The page that comes first."""
    app = WelcomeApp(Look(), Path("sessions"))
    async with app.run_test(size=(100, 26)) as pilot:
        await pilot.pause()
        return standalone(app.export_screenshot(title="floodmark"))


def standalone(svg: str) -> str:
    """Without the web fonts: pages that show pictures do not load them, and every system has a monospace font."""
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family:\s*[^;\"]*Fira Code[^;\"]*", "font-family: monospace", svg)


def main() -> None:
    """Write every picture, or those that are named, into the directory named on the command line."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m docs.generate.shots DIRECTORY [NAME...]")
    directory, names = Path(sys.argv[1]), sys.argv[2:]
    directory.mkdir(parents=True, exist_ok=True)
    os.environ.pop("NO_COLOR", None)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    makers = {shot.name: partial(take, shot) for shot in SHOTS} | {WELCOME: welcome, STORY: tell}
    for name in names or makers:
        path = directory / f"{name}.svg"
        path.write_text(asyncio.run(makers[name]()), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
