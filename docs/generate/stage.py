"""A session that is played for a picture: the same every time, with the hands of its clock turned from outside."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from textual.pilot import Pilot

from faults.declarations.action import Action
from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load
from playbooks.recording.recorder import Recorder
from tui.app import FloodmarkApp
from tui.session.session_controller import SimBridge
from tui.terminal.frame_clock import StepClock

Play = Callable[["Stage"], Awaitable[None]]
FRAME_S: Final = 1 / 16


class Stage:
    """An app with the hands of its clock. Acts through the bridge: toasts go by the wall clock."""

    def __init__(self, app: FloodmarkApp, clock: StepClock, pilot: Pilot[None] | None = None) -> None:
        self.app = app
        self.clock = clock
        self._pilot = pilot

    async def seconds(self, seconds: float) -> None:
        """Let virtual time pass, frame by frame."""
        for _ in range(round(seconds / FRAME_S)):
            self.clock.tick(FRAME_S)
            self.app.frame()
            await asyncio.sleep(0)

    async def settled(self) -> None:
        """Every pane has its size, and shows what there is in it."""
        for _ in range(2):
            await self.pause()
            self.app.main._moved()
        await self.pause()
        self.app.clear_notifications()
        await self.pause()

    async def pause(self) -> None:
        """Let what was asked for happen."""
        if self._pilot is not None:
            await self._pilot.pause()

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


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: a file's name, the terminal's size, what happens first in which bundled playbook."""

    name: str
    size: tuple[int, int]
    play: Play
    playbook: str = "sandbox"
    recorded: bool = False
    """Whether what happens is written down, so that questions can be asked about it."""


@asynccontextmanager
async def staged(
    size: tuple[int, int], playbook: str = "sandbox", recorder: Recorder | None = None
) -> AsyncIterator[Stage]:
    """A stage of a size over a bundled playbook."""
    clock = StepClock()
    session = Session.start(load(path_of(playbook)), open_ended=True, recorder=recorder)
    bridge = SimBridge(session, clock)
    app = FloodmarkApp(bridge, playbook=session.playbook.name, seed=session.cluster.seed, recorder=recorder)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Stage(app, clock, pilot)
