"""Several screens as one SVG that shows them one after the other: no script, no fonts, nothing from outside itself.

A line that several screens have in common stands in it once; times are kept by CSS.
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
from tui.session.session_controller import SimBridge
from tui.terminal.frame_clock import StepClock
from tui.terminal.theme import BACKGROUND, BAR, QUIET, TEXT, Look
from tui.welcome import WelcomeApp

CELL: Final = 8.4
"""Width of a character, in the picture's units."""
LINE: Final = 17
MARGIN: Final = 10
TITLE: Final = 34
"""Height of the bar with the words."""

Run = tuple[str, str, str, bool]
"""Text, its colour, the colour behind it, whether it is bold."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One screen, and how long it is looked at."""

    words: str
    seconds: float
    lines: tuple[tuple[Run, ...], ...]


def runs(pieces: Sequence[tuple[str, Style | None]]) -> tuple[Run, ...]:
    """A line of a screen, neighbours of one look together."""
    looks = [(text, *_look(style or Style.null())) for text, style in pieces]
    return tuple(
        ("".join(each[0] for each in same), *look)
        for look, same in groupby(looks, key=lambda each: (each[1], each[2], each[3]))
    )


def _look(style: Style) -> tuple[str, str, bool]:
    colour = TEXT if style.color is None or style.color.is_default else style.color.get_truecolor().hex
    ground = BACKGROUND if style.bgcolor is None or style.bgcolor.is_default else style.bgcolor.get_truecolor().hex
    if style.reverse:
        colour, ground = ground, colour
    return colour, ground, bool(style.bold)


def draw(beats: Sequence[Beat]) -> str:
    """The picture. Where nothing may move, it is the last screen."""
    columns = max(sum(cell_len(run[0]) for run in line) for beat in beats for line in beat.lines)
    width, height = columns * CELL + 2 * MARGIN, len(beats[0].lines) * LINE + TITLE + MARGIN
    known: dict[tuple[Run, ...], int] = {}
    colours: dict[tuple[str, bool], int] = {}
    frames = [_frame(number, beat, known, width) for number, beat in enumerate(beats)]
    shared = [f'<g id="l{number}">{_line(line, colours)}</g>' for line, number in known.items()]
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


def _frame(number: int, beat: Beat, known: dict[tuple[Run, ...], int], width: float) -> str:
    lines = []
    for at, line in enumerate(beat.lines):
        if any(text.strip() or ground != BACKGROUND for text, _colour, ground, _bold in line):
            key = known.setdefault(line, len(known))
            lines.append(f'<use href="#l{key}" x="{MARGIN}" y="{TITLE + at * LINE}"/>')
    words = f'<text x="{width / 2:g}" y="18" text-anchor="middle" fill="{QUIET}">{escape(beat.words)}</text>'
    return f'<g class="b b{number}">{words}{"".join(lines)}</g>'


def _line(line: Sequence[Run], colours: dict[tuple[str, bool], int]) -> str:
    """Grounds first, then the words on them; each as wide as its cells, whatever the font is."""
    grounds, words, at = [], [], 0
    for text, colour, ground, bold in line:
        size = cell_len(text)
        if ground != BACKGROUND:
            number = colours.setdefault((ground, False), len(colours))
            grounds.append(f'<rect class="c{number}" x="{at * CELL:g}" width="{size * CELL:g}" height="{LINE}"/>')
        shown = text.strip(" ")
        if shown:
            number = colours.setdefault((colour, bold), len(colours))
            begins = at + len(text) - len(text.lstrip(" "))
            cells = f'x="{begins * CELL:g}" y="13" textLength="{cell_len(shown) * CELL:g}"'
            words.append(f'<text class="c{number}" {cells}>{escape(shown)}</text>')
        at += size
    return "".join(grounds + words)


def _timing(beats: Sequence[Beat]) -> str:
    """Each screen is seen in its part of the whole time."""
    whole, at, rules = sum(beat.seconds for beat in beats), 0.0, []
    for number, beat in enumerate(beats):
        begins, ends = 100 * at / whole, 100 * (at + beat.seconds) / whole
        seen = "" if number == 0 else "0%{visibility:hidden}"
        hidden = "" if number == len(beats) - 1 else f"{ends:.3f}%{{visibility:hidden}}"
        rules.append(f"@keyframes k{number}{{{seen}{begins:.3f}%{{visibility:visible}}{hidden}}}")
        rules.append(f".b{number}{{animation:k{number} {whole:g}s step-end infinite}}")
        at += beat.seconds
    still = f"@media(prefers-reduced-motion){{.b{{animation:none}}.b{len(beats) - 1}{{visibility:visible}}}}"
    return f".b{{visibility:hidden}}{''.join(rules)}{still}"


# A session that is played for a picture: the same every time, with the hands of its clock turned from outside.


Play = Callable[["ScreenshotHarness"], Awaitable[None]]
FRAME_S: Final = 1 / 16


class ScreenshotHarness:
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
            self.app.main.moved()
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
) -> AsyncIterator[ScreenshotHarness]:
    """A stage of a size over a bundled playbook."""
    clock = StepClock()
    session = Session.start(load(path_of(playbook)), open_ended=True, recorder=recorder)
    bridge = SimBridge(session, clock)
    app = FloodmarkApp(bridge, playbook=session.playbook.name, seed=session.cluster.seed, recorder=recorder)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield ScreenshotHarness(app, clock, pilot)


# Pictures for the page of concepts: each shows one idea in a session that can be played again.


PARTITION: Final = 0


async def offsets(stage: ScreenshotHarness) -> None:
    """Followers a little behind their leader: ends of logs, and the high watermark below them."""
    await stage.seconds(3)
    for broker in (2, 3):
        stage.inject("lag", broker)
    await stage.seconds(1)
    await _log(stage)


async def isr(stage: ScreenshotHarness) -> None:
    """A follower that has not fetched for too long is out of the ISR."""
    await stage.seconds(3)
    stage.inject("gc_pause", 2)
    await stage.seconds(14)
    stage.app.main.matrix.place(PARTITION, 0)


async def epochs(stage: ScreenshotHarness) -> None:
    """After an election: each record has the epoch of the leader that wrote it."""
    await stage.seconds(3)
    stage.inject("crash", 1)
    await stage.seconds(11)
    stage.heal("crash")
    await stage.seconds(6)
    await _log(stage)


async def transactions(stage: ScreenshotHarness) -> None:
    """Read, process, write: producers with transactions, and the groups that read by them."""
    await stage.seconds(21)
    stage.app.main.action_mode("clients")


async def _log(stage: ScreenshotHarness) -> None:
    stage.app.main.matrix.place(PARTITION, 0)
    await stage.seconds(0.25)
    stage.app.main.action_mode("log")


CONCEPTS: Final = (
    Shot("concept-offsets", (110, 30), offsets),
    Shot("concept-isr", (110, 30), isr),
    Shot("concept-epochs", (110, 30), epochs),
    Shot("concept-transactions", (110, 30), transactions, "exactly-once"),
)


# The story of a loss from the fault to its autopsy, screen by screen, as one moving picture.


SIZE: Final = (112, 34)
STORY: Final = "story"
"""Name of the picture's file."""


async def tell() -> str:
    """Play it, and draw it."""
    return draw(await beats())


async def beats() -> list[Beat]:
    """All screens of the story."""
    async with staged(SIZE) as stage:
        told: list[Beat] = []

        async def show(words: str, seconds: float) -> None:
            told.append(Beat(words, seconds, await screen(stage)))

        main = stage.app.main
        await stage.seconds(3)
        main.matrix.place(3, 0)
        await stage.seconds(0.25)
        await show("a Kafka cluster under load, all in this terminal", 2.5)
        for broker in (1, 2, 3):
            stage.inject("lag", broker)
        await stage.seconds(0.75)
        await show("the network between the brokers slows down: followers fall behind", 3)
        main.action_fault()
        await show("f: everything that can go wrong, and what it would do right now", 3)
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
        await show("the followers lead now; records that acks=1 had acknowledged are gone", 3.5)
        main.action_mode("log")
        await show("2: the log under the microscope, a cell for each record", 3.5)
        stage.heal("crash")
        await stage.seconds(8)
        await show("broker 1 is back, and cuts off what only it had: now they are lost for good", 3.5)
        main.action_mode("timeline")
        await show("4: what happened when, and the way back to any instant", 3)
        main.action_mode("cluster")
        main.action_finding(1)
        await show("n: the autopsy tells why, picture by picture", 5)
        return told


async def screen(stage: ScreenshotHarness) -> tuple[tuple[tuple[str, str, str, bool], ...], ...]:
    """What is on the screen."""
    await stage.settled()
    strips = stage.app.screen._compositor.render_strips()
    return tuple(runs([(each.text, each.style) for each in strip]) for strip in strips)


# Pictures of the screen for README and manual, the same every time: ``python -m docs.generate pictures docs/media``.


async def lost(stage: ScreenshotHarness) -> None:
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


async def autopsy(stage: ScreenshotHarness) -> None:
    """Why the records are gone, and what would have saved them."""
    await lost(stage)
    stage.app.main.action_finding(1)
    await stage.pause()
    page = stage.app.screen
    assert isinstance(page, AutopsyScreen)
    page.action_why()
    while page.busy:
        await asyncio.sleep(0.1)


async def sheet(stage: ScreenshotHarness) -> None:
    """The fault sheet over a healthy cluster."""
    await stage.seconds(5)
    stage.app.main.matrix.place(3, 0)
    await stage.seconds(0.25)
    stage.app.main.action_fault()


async def log(stage: ScreenshotHarness) -> None:
    """The logs of the partition that lost records."""
    await lost(stage)
    stage.app.main.action_mode("log")


async def timeline(stage: ScreenshotHarness) -> None:
    """What happened when."""
    await lost(stage)
    stage.app.main.action_mode("timeline")


async def clients(stage: ScreenshotHarness) -> None:
    """Everybody's books after the loss."""
    await lost(stage)
    stage.app.main.action_mode("clients")


async def playbooks(stage: ScreenshotHarness) -> None:
    """A playbook in the middle of its steps."""
    await stage.seconds(9.75)
    stage.app.main.action_mode("playbooks")


async def report(stage: ScreenshotHarness) -> None:
    """What the loss has come to so far."""
    await lost(stage)
    stage.app.main.action_mode("report")


async def compare(stage: ScreenshotHarness) -> None:
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
    stage.app.main.branches.compare(main)


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


def draw_screens(arguments: Sequence[str]) -> int:
    """Draw every picture, or those that are named, into a directory."""
    makers = {shot.name: partial(take, shot) for shot in SHOTS} | {WELCOME: welcome, STORY: tell}
    if not arguments:
        print("usage: python -m docs.generate pictures DIRECTORY [NAME...]", file=sys.stderr)
        return BAD_INPUT
    directory, names = Path(arguments[0]), arguments[1:]
    for name in names:
        if name not in makers:
            print(f"no picture {shown(name)}{nearest(name, makers)}; there are {', '.join(makers)}", file=sys.stderr)
            return BAD_INPUT
    directory.mkdir(parents=True, exist_ok=True)
    os.environ.pop("NO_COLOR", None)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    for name in names or makers:
        path = directory / f"{name}.svg"
        path.write_text(asyncio.run(makers[name]()), encoding="utf-8")
        print(path)
    return OK
