"""SessionDriver the app in tests: a clock turned by hand, frames asked for, the screen as text."""

import asyncio
from contextlib import asynccontextmanager

from textual._context import active_app
from textual.command import CommandPalette

from tests.tui.fake_views import session as sandbox
from tui.app import FloodmarkApp
from tui.session.session_controller import SessionController
from tui.terminal.frame_clock import StepClock
from tui.viewmodel.timeline.event_feed import Feed
from tui.widgets.panes import Pane

SHEETS = {"whichkey-pane": "faults", "operations-pane": "operations"}
"""Id of the pane of a sheet → what stands on it."""

FRAME_S = 1 / 16
"""A sixteenth: a binary fraction, so that frames add up to whole seconds exactly."""
ROUNDS = 10_000
"""After which a loop that always has something to do is taken for one at rest."""
COARSE = 4
"""So many of them in one, where nobody looks in between: the longest frame that counts as long as it took."""


def in_feed(event):
    """The words of an event's line in the feed, whatever they are."""
    feed = Feed()
    feed.take([event])
    (line,) = feed.lines(1)
    return line.text


async def at_rest(_min_sleep=0.0, _max_sleep=0.0):
    """Until all that is left waits for a time, a thread or a process; in the place of Textual's own function.

    Textual's sleeps until this process needs no CPU for 20 ms: half of the time of a test, and too short where another
    process has the CPU. What it puts off by parts of a second, a new size and the next frame, is done here at once.
    """
    app = active_app.get()
    ready = asyncio.get_running_loop()._ready
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
        if ready:
            continue
        if app._exit:
            return
        unpainted = [each for each in (app.screen, *app._background_screens) if each._update_timer._active.is_set()]
        if app._resize_timer is not None:
            app._check_resize()
        elif unpainted:
            unpainted[0]._on_timer_update()
        elif app._batch_count or any(each.group == CommandPalette._GATHER_COMMANDS_GROUP for each in app.workers):
            await asyncio.sleep(0.01)  # the palette, which is searching or has just been closed
        else:
            return


class Driver:
    """An app over a session, with the hands of the clock."""

    def __init__(self, pilot, app, clock):
        self.pilot = pilot
        self.app = app
        self.clock = clock

    @property
    def session_controller(self):
        return self.app.session_controller

    @property
    def main(self):
        return self.app.main

    async def frames(self, count):
        for _ in range(count):
            self.clock.tick(FRAME_S)
            self.app.frame()
        await self.settle()

    async def seconds(self, seconds):
        """Time in which nobody looks: in few long frames, and a last one of the usual length."""
        many, rest = divmod(round(seconds / FRAME_S) - 1, COARSE)
        for frames in [*[COARSE] * many, *[1] * (rest + 1)]:
            self.clock.tick(FRAME_S * frames)
            self.app.frame()
        await self.settle()

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self):
        """Until every widget has done what it was told."""
        await self.pilot.pause()
        await at_rest()

    async def until(self, condition):
        """Wait for something that another task or thread does."""
        for _ in range(6_000):
            if condition():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(self.text())

    async def at_sizes(self, sizes):
        """Each name of a size, while the terminal is that large."""
        for name, size in sizes.items():
            await self.pilot.resize_terminal(*size)
            await self.settle()
            yield name

    def text(self):
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    def shown(self, selector):
        """The lines of a widget as they are painted, without blank ones."""
        region = self.app.screen.query_one(selector).content_region
        lines = [line[region.x : region.right].strip() for line in self.text().split("\n")[region.y : region.bottom]]
        return [line for line in lines if line]

    async def click_heading(self, selector, word):
        """Click a word in the first line of a widget."""
        region = self.app.screen.query_one(selector).region
        x = self.text().split("\n")[region.y].index(word) - region.x
        await self.pilot.click(selector, offset=(x, 0))
        await self.settle()

    def happened(self, kind):
        """The events of a kind so far, of those that have a line in the feed."""
        found = self.session_controller.notable_events(0, self.session_controller.view.now_us, 10_000)
        return [each for each in found if each.kind == kind]

    def sheet(self):
        """Which sheet is open, and whom it is about, as its title says too; None while none is open."""
        screen = self.app.screen
        for pane in screen.query(Pane):
            if pane.id in SHEETS and pane.display:
                name = screen.target_words()
                if SHEETS[pane.id] == "operations":
                    name = f"{screen.partition_name()}, b{screen.broker_id()}"
                title = self.text().split("\n")[pane.region.y]
                assert f" {name} " in title, title
                return SHEETS[pane.id], name
        return None

    def toasts(self):
        return [each.message for each in self.app._notifications]


@asynccontextmanager
async def driving(size=(120, 40), session=None, glyphs="unicode", speed=1.0):
    clock = StepClock()
    session_controller = SessionController(session or sandbox(calm=True), clock, speed=speed)
    app = FloodmarkApp(session_controller, playbook="sandbox", seed=7, glyphs=glyphs)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driver(pilot, app, clock)


def trimmed(text: str) -> str:
    """The text of a screen as its golden file holds it: no spaces at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.split("\n"))
