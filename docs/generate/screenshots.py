"""Pictures of the TUI: single screenshots, and an animated SVG that shows several screens in turn.

The animation has no script, fonts or external links; lines that several screens share are stored once, and CSS controls
the timing.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.style import Style
from textual.pilot import Pilot

from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.errors import BAD_INPUT, OK, nearest, shown
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load
from playbooks.recording.recorder import Recorder
from tui.app import FloodmarkApp
from tui.screens.autopsy import AutopsyScreen
from tui.session.session_controller import SessionController
from tui.terminal.frame_clock import StepClock
from tui.terminal.theme import BACKGROUND, BAR, QUIET, TEXT, Appearance
from tui.welcome import WelcomeApp

CELL: Final = 8.4
"""Width of a character, in units of the picture."""
LINE: Final = 17
MARGIN: Final = 10
TITLE: Final = 34
"""Height of the title bar."""

Run = tuple[str, str, str, bool]
"""Text, its colour, its background colour, and whether it is bold."""


@dataclass(frozen=True, slots=True)
class AnimationFrame:
    """One screen of the animation, its caption, and its duration."""

    words: str
    seconds: float
    lines: tuple[tuple[Run, ...], ...]


def runs(pieces: Sequence[tuple[str, Style | None]]) -> tuple[Run, ...]:
    """Return a line of a screen, with adjacent pieces of the same style merged."""
    looks = [(text, *_look(style or Style.null())) for text, style in pieces]
    return tuple(
        ("".join(each[0] for each in same), *look)
        for look, same in groupby(looks, key=lambda each: (each[1], each[2], each[3]))
    )


def _look(style: Style) -> tuple[str, str, bool]:
    colour = TEXT if style.color is None or style.color.is_default else style.color.get_truecolor().hex
    background = BACKGROUND if style.bgcolor is None or style.bgcolor.is_default else style.bgcolor.get_truecolor().hex
    if style.reverse:
        colour, background = background, colour
    return colour, background, bool(style.bold)


def draw(beats: Sequence[AnimationFrame]) -> str:
    """Return the animation as SVG. With reduced motion it shows the last screen."""
    columns = max(sum(cell_len(run[0]) for run in line) for beat in beats for line in beat.lines)
    width, height = columns * CELL + 2 * MARGIN, len(beats[0].lines) * LINE + TITLE + MARGIN
    line_numbers: dict[tuple[Run, ...], int] = {}
    colours: dict[tuple[str, bool], int] = {}
    frames = [_frame(number, beat, line_numbers, width) for number, beat in enumerate(beats)]
    shared = [f'<g id="l{number}">{_line(line, colours)}</g>' for line, number in line_numbers.items()]
    fills = "".join(
        f".c{number}{{fill:{colour}{';font-weight:bold' * bold}}}" for (colour, bold), number in colours.items()
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
            f"<style>text{{font:14px monospace;white-space:pre}}{_timing(beats)}{fills}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>',
            f'<path d="M0 {TITLE - 8}V8a8 8 0 0 1 8-8H{width - 8:g}a8 8 0 0 1 8 8V{TITLE - 8}z" fill="{BAR}"/>',
            f"<defs>{''.join(shared)}</defs>",
            *frames,
            "</svg>",
            "",
        ]
    )


def _frame(number: int, beat: AnimationFrame, line_numbers: dict[tuple[Run, ...], int], width: float) -> str:
    lines = []
    for at, line in enumerate(beat.lines):
        if any(text.strip() or background != BACKGROUND for text, _colour, background, _bold in line):
            key = line_numbers.setdefault(line, len(line_numbers))
            lines.append(f'<use href="#l{key}" x="{MARGIN}" y="{TITLE + at * LINE}"/>')
    caption = f'<text x="{width / 2:g}" y="18" text-anchor="middle" fill="{QUIET}">{escape(beat.words)}</text>'
    return f'<g class="b b{number}">{caption}{"".join(lines)}</g>'


def _line(line: Sequence[Run], colours: dict[tuple[str, bool], int]) -> str:
    """Return backgrounds, then text; each as wide as its cells, whatever the font."""
    backgrounds, texts, at = [], [], 0
    for text, colour, background, bold in line:
        size = cell_len(text)
        if background != BACKGROUND:
            number = colours.setdefault((background, False), len(colours))
            backgrounds.append(f'<rect class="c{number}" x="{at * CELL:g}" width="{size * CELL:g}" height="{LINE}"/>')
        shown = text.strip(" ")
        if shown:
            number = colours.setdefault((colour, bold), len(colours))
            begins = at + len(text) - len(text.lstrip(" "))
            cells = f'x="{begins * CELL:g}" y="13" textLength="{cell_len(shown) * CELL:g}"'
            texts.append(f'<text class="c{number}" {cells}>{escape(shown)}</text>')
        at += size
    return "".join(backgrounds + texts)


def _timing(beats: Sequence[AnimationFrame]) -> str:
    """Return CSS that shows each screen in its part of the total time."""
    total, at, rules = sum(beat.seconds for beat in beats), 0.0, []
    for number, beat in enumerate(beats):
        begins, ends = 100 * at / total, 100 * (at + beat.seconds) / total
        seen = "" if number == 0 else "0%{visibility:hidden}"
        hidden = "" if number == len(beats) - 1 else f"{ends:.3f}%{{visibility:hidden}}"
        rules.append(f"@keyframes k{number}{{{seen}{begins:.3f}%{{visibility:visible}}{hidden}}}")
        rules.append(f".b{number}{{animation:k{number} {total:g}s step-end infinite}}")
        at += beat.seconds
    still = f"@media(prefers-reduced-motion){{.b{{animation:none}}.b{len(beats) - 1}{{visibility:visible}}}}"
    return f".b{{visibility:hidden}}{''.join(rules)}{still}"


# A session for a picture: reproducible, with a clock that is advanced explicitly.


Play = Callable[["ScreenshotHarness"], Awaitable[None]]
FRAME_S: Final = 1 / 16


class ScreenshotHarness:
    """App with an explicit clock. Acts through the session controller, since toasts use wall-clock time."""

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
        """Wait until every pane has its size and content."""
        for _ in range(2):
            await self.pause()
            self.app.main.moved()
        await self.pause()
        self.app.clear_notifications()
        await self.pause()

    async def pause(self) -> None:
        """Process pending events of the app."""
        if self._pilot is not None:
            await self._pilot.pause()

    def inject(self, name: str, broker: int) -> None:
        """Inject a fault, without the fault sheet."""
        self.app.session_controller.act(Action("inject", name, f"broker({broker})"))

    def heal(self, name: str) -> None:
        """Heal the faults of this name."""
        self.app.session_controller.act(Action("heal", name))

    def select_lost(self) -> None:
        """Select the dead leader of the partition with most lost records, at its log's divergence."""
        view = self.app.session_controller.view
        partition = max(range(len(view.partitions)), key=lambda at: view.partitions[at].missing)
        self.app.main.matrix.move_to(partition, 0)


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: file name, terminal size, and the actions in a bundled playbook before it is taken."""

    name: str
    size: tuple[int, int]
    play: Play
    playbook: str = "sandbox"
    recorded: bool = False
    """Whether the session is recorded, so that it can be analysed."""


@asynccontextmanager
async def staged(
    size: tuple[int, int], playbook: str = "sandbox", recorder: Recorder | None = None
) -> AsyncIterator[ScreenshotHarness]:
    """Yield an app of this size over a bundled playbook."""
    clock = StepClock()
    session = Session.start(load(path_of(playbook)), open_ended=True, recorder=recorder)
    session_controller = SessionController(session, clock)
    app = FloodmarkApp(session_controller, playbook=session.playbook.name, seed=session.cluster.seed, recorder=recorder)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield ScreenshotHarness(app, clock, pilot)


# Pictures for the page of concepts, each of one idea.


PARTITION: Final = 0


async def offsets(stage: ScreenshotHarness) -> None:
    """Show followers slightly behind their leader: log end offsets, and the high watermark below them."""
    await stage.seconds(3)
    for broker in (2, 3):
        stage.inject("lag", broker)
    await stage.seconds(1)
    await _log(stage)


async def isr(stage: ScreenshotHarness) -> None:
    """Show a follower that is out of the ISR because it has not fetched for too long."""
    await stage.seconds(3)
    stage.inject("gc_pause", 2)
    await stage.seconds(14)
    stage.app.main.matrix.move_to(PARTITION, 0)


async def epochs(stage: ScreenshotHarness) -> None:
    """Show leader epochs after an election: each record has the epoch of the leader that wrote it."""
    await stage.seconds(3)
    stage.inject("crash", 1)
    await stage.seconds(11)
    stage.heal("crash")
    await stage.seconds(6)
    await _log(stage)


async def transactions(stage: ScreenshotHarness) -> None:
    """Show read-process-write: transactional producers, and the groups they commit for."""
    await stage.seconds(21)
    stage.app.main.action_mode("clients")


async def _log(stage: ScreenshotHarness) -> None:
    stage.app.main.matrix.move_to(PARTITION, 0)
    await stage.seconds(0.25)
    stage.app.main.action_mode("log")


CONCEPTS: Final = (
    Shot("concept-offsets", (110, 30), offsets),
    Shot("concept-isr", (110, 30), isr),
    Shot("concept-epochs", (110, 30), epochs),
    Shot("concept-transactions", (110, 30), transactions, "exactly-once"),
)


# Animation of a data loss, from the fault to its autopsy.


SIZE: Final = (112, 34)
STORY: Final = "story"
"""File name of the animation."""


async def tell() -> str:
    """Return the animation as SVG."""
    return draw(await beats())


async def beats() -> list[AnimationFrame]:
    """Return all screens of the animation."""
    async with staged(SIZE) as stage:
        shown_beats: list[AnimationFrame] = []

        async def show(caption: str, seconds: float) -> None:
            shown_beats.append(AnimationFrame(caption, seconds, await screen(stage)))

        main = stage.app.main
        await stage.seconds(3)
        main.matrix.move_to(3, 0)
        await stage.seconds(0.25)
        await show("a Kafka cluster under load, all in this terminal", 2.5)
        for broker in (1, 2, 3):
            stage.inject("lag", broker)
        await stage.seconds(0.75)
        await show("the network between the brokers slows down: followers fall behind", 3)
        main.action_fault()
        await show("f: every fault, and its predicted impact right now", 3)
        main.close_sheet()
        stage.inject("crash", 1)
        await stage.seconds(0.5)
        await show("c: broker 1 crashes", 2.5)
        await stage.seconds(3.5)
        stage.heal("lag")
        await stage.seconds(6)
        stage.select_lost()
        await stage.seconds(0.25)
        main.action_fork()
        await show("the followers lead now; records acknowledged with acks=1 are lost", 3.5)
        main.action_mode("log")
        await show("2: the log inspector, one cell per record", 3.5)
        stage.heal("crash")
        await stage.seconds(8)
        await show("broker 1 is back and truncates its log: the records are lost for good", 3.5)
        main.action_mode("timeline")
        await show("4: the timeline of events, and a way back to any point in time", 3)
        main.action_mode("cluster")
        main.action_finding(1)
        await show("n: the autopsy explains the loss step by step", 5)
        return shown_beats


async def screen(stage: ScreenshotHarness) -> tuple[tuple[tuple[str, str, str, bool], ...], ...]:
    """Return the content of the screen."""
    await stage.settled()
    strips = stage.app.screen._compositor.render_strips()
    return tuple(runs([(each.text, each.style) for each in strip]) for strip in strips)


# Reproducible pictures of the TUI for README and manual: ``python -m docs.generate pictures docs/media``.


async def lost(stage: ScreenshotHarness) -> None:
    """Crash a leader during slow replication: records acknowledged with acks=1 are lost."""
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


async def autopsy(stage: ScreenshotHarness) -> None:
    """Show the autopsy of the loss, and the settings that would have prevented it."""
    await lost(stage)
    stage.app.main.action_finding(1)
    await stage.pause()
    page = stage.app.screen
    assert isinstance(page, AutopsyScreen)
    page.action_why()
    while page.busy:
        await asyncio.sleep(0.1)


async def sheet(stage: ScreenshotHarness) -> None:
    """Show the fault sheet over a healthy cluster."""
    await stage.seconds(5)
    stage.app.main.matrix.move_to(3, 0)
    await stage.seconds(0.25)
    stage.app.main.action_fault()


async def log(stage: ScreenshotHarness) -> None:
    """Show the logs of the partition that lost records."""
    await lost(stage)
    stage.app.main.action_mode("log")


async def timeline(stage: ScreenshotHarness) -> None:
    """Show the timeline of the loss."""
    await lost(stage)
    stage.app.main.action_mode("timeline")


async def clients(stage: ScreenshotHarness) -> None:
    """Show the statistics of all clients after the loss."""
    await lost(stage)
    stage.app.main.action_mode("clients")


async def search(stage: ScreenshotHarness) -> None:
    """Show the partitions sorted by their high watermarks, and the events that a search finds."""
    await lost(stage)
    main = stage.app.main
    for _ in range(3):
        main.action_sort()
    main.action_tail()
    main.action_search()
    main.filter_by("b2 elected")
    main.filter_bar.action_leave(True)


async def playbooks(stage: ScreenshotHarness) -> None:
    """Show a playbook in the middle of its steps."""
    await stage.seconds(9.75)
    stage.app.main.action_mode("playbooks")


async def report(stage: ScreenshotHarness) -> None:
    """Show the report of the loss so far."""
    await lost(stage)
    stage.app.main.action_mode("report")


async def compare(stage: ScreenshotHarness) -> None:
    """Show the loss, and beside it the same session without the crash."""
    await lost(stage)
    session_controller = stage.app.session_controller
    main = session_controller.branches.current
    session_controller.to_time(4_100_000)
    session_controller.undo()
    while session_controller.growing is not None:
        await stage.seconds(0.25)
    session_controller.pause(False)
    await stage.seconds(10.25)
    stage.app.main.branches.compare(main)


SHOTS: Final = (
    Shot("screen", (120, 40), lost),
    Shot("screen-80x24", (80, 24), lost),
    Shot("screen-200x60", (200, 60), lost),
    Shot("autopsy", (120, 44), autopsy, recorded=True),
    Shot("faults", (120, 40), sheet),
    Shot("log", (120, 40), log),
    Shot("timeline", (120, 40), timeline),
    Shot("clients", (120, 40), clients),
    Shot("search", (120, 40), search),
    Shot("web-phone", (88, 62), lost),
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
    """Return the picture of the welcome page."""
    app = WelcomeApp(Appearance(), Path("sessions"))
    async with app.run_test(size=(100, 26)) as pilot:
        await pilot.pause()
        return standalone(app.export_screenshot(title="floodmark"))


def standalone(svg: str) -> str:
    """Remove the web fonts, which pages with pictures do not load; every system has a monospace font."""
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family:\s*[^;\"]*Fira Code[^;\"]*", "font-family: monospace", svg)


def draw_screens(arguments: Sequence[str]) -> int:
    """Draw every picture, or the given ones, into a directory."""
    makers = {shot.name: partial(take, shot) for shot in SHOTS} | {WELCOME: welcome, STORY: tell}
    if not arguments:
        print("usage: python -m docs.generate pictures DIRECTORY [NAME...]", file=sys.stderr)
        return BAD_INPUT
    directory, names = Path(arguments[0]), arguments[1:]
    for name in names:
        if name not in makers:
            print(
                f"no picture {shown(name)}{nearest(name, makers)}; known pictures: {', '.join(makers)}", file=sys.stderr
            )
            return BAD_INPUT
    directory.mkdir(parents=True, exist_ok=True)
    os.environ.pop("NO_COLOR", None)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    for name in names or makers:
        path = directory / f"{name}.svg"
        path.write_text(asyncio.run(makers[name]()), encoding="utf-8")
        print(path)
    return OK
