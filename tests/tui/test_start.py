"""From the start to the first picture: what is read and done for it is counted, and nothing that it can do without."""

import gc
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec

import pytest
from textual.css import stylesheet

from benchmarks.tui_frames import session_of
from tests.tui.driving import driving
from tests.tui.test_launch import ROOT
from tests.tui.test_welcome import welcomed
from tui.app import FloodmarkApp
from tui.session.session_controller import SessionController
from tui.startup import BackgroundImport, no_gc_until_painted, painted
from tui.terminal.frame_clock import MonotonicClock
from tui.terminal.theme import Appearance
from tui.welcome import WelcomeApp

pytestmark = pytest.mark.slow

OWN = ("cluster_model", "faults", "playbooks", "spark_report", "tui")
HEAVY = (
    "pyspark", "py4j", "pyarrow", "pandas", "numpy", "jinja2", "faker", "simpy", "spark_report",
    "multiprocessing", "re2", "tomlkit",
)  # fmt: skip
LATER = (
    "cluster_model.controller.zookeeper.control_plane", "cluster_model.manual.cluster", "playbooks.engine.dry_run",
    "playbooks.engine.manual_session", "playbooks.export.session_steps", "playbooks.library.index",
    "playbooks.parser.key_reference", "playbooks.results.baseline", "playbooks.results.sweep_matrix",
    "playbooks.safety_check.question", "tui.cli.reference.catalogue", "tui.palette", "tui.screens.autopsy",
    "tui.screens.help", "tui.screens.modes.clients", "tui.screens.modes.log", "tui.screens.modes.playbooks",
    "tui.screens.modes.report", "tui.screens.modes.timeline", "tui.screens.settings", "tui.session.typed_commands",
    "tui.session.destination_check", "tui.tour",
)  # fmt: skip
"""What a session's first picture does without: modes, pages, the other control plane, time that stands still."""


def read_by(code):
    """Names of all modules that a new process has read after it ran ``code``."""
    told = f"{code}\nimport sys\nprint('read', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def own(read):
    return {name for name in read if name.partition(".")[0] in OWN}


def heavy(read):
    return {name for name in read if name.partition(".")[0] in HEAVY}


def test_the_welcome_page_reads_nothing_of_the_model():
    read = read_by("from benchmarks.startup_programs import welcome; welcome()")
    assert heavy(read) == set()
    assert {name for name in read if name.partition(".")[0] in ("cluster_model", "faults", "lark", "yaml")} == set()
    assert len(own(read)) <= 27
    assert len(read) <= 430


def test_a_session_reads_what_its_first_picture_needs_and_no_more():
    read = read_by("from benchmarks.startup_programs import session; session()")
    assert "tui.screens.cluster" in read
    assert "cluster_model.controller.kraft.control_plane" in read
    assert heavy(read) == set()
    assert read & set(LATER) == set()
    assert read & {"rich.progress", "rich.traceback", "pygments", "importlib.metadata"} == set()
    assert len(own(read)) <= 377
    assert len(read) <= 845


def test_lazily_imported_modules_exist():
    """A module of another name would never be read, and never be missed."""
    assert [name for name in LATER if find_spec(name) is None] == []


@pytest.mark.parametrize(("mode", "other"), [("kraft", "zookeeper"), ("zookeeper", "kraft")])
def test_a_cluster_reads_the_control_plane_that_it_has(mode, other):
    code = (
        "from cluster_model.cluster import Cluster\n"
        "from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec\n"
        f"Cluster.build(ClusterSpec(kafka='3.3', mode={mode!r}, brokers=(BrokerSpec(1),), topics=()), 1)"
    )
    read = read_by(code)
    assert f"cluster_model.controller.{mode}.control_plane" in read
    assert f"cluster_model.controller.{other}.control_plane" not in read


@pytest.mark.parametrize("option", ["version", "help_page"])
def test_version_and_help_import_neither_model_nor_tui(option):
    read = read_by(f"from benchmarks.startup_programs import {option}; {option}()")
    roots = {name.partition(".")[0] for name in read}
    assert roots & {"cluster_model", "faults", "textual", "lark", "yaml", "msgspec", *HEAVY} == set()
    assert len(own(read)) <= 20
    assert {"rich.markdown", "markdown_it", "pygments", "asyncio", "importlib.metadata"} & read == set()
    assert len(read) <= 240


def test_garbage_collection_is_off_until_the_first_paint():
    with no_gc_until_painted():
        assert not gc.isenabled()
        painted()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        painted()
    with no_gc_until_painted():
        assert gc.get_freeze_count() == 0
    assert gc.isenabled()


async def test_time_does_not_advance_before_the_first_paint(monkeypatch):
    """Frames on the way to it would be painted for nobody, and each of them puts it off."""
    seen = []
    app = FloodmarkApp(SessionController(session_of(3, 6), MonotonicClock()), playbook="load", seed=1)
    monkeypatch.setattr("tui.app.painted", lambda: seen.append((app.frames, app.session_controller.view.now_us)))
    async with app.run_test(size=(120, 40)) as pilot:
        while app.frames < 2:
            await pilot.pause(0.02)
        assert seen == [(0, 0)]


async def test_no_frame_is_drawn_once_the_screen_goes_away(monkeypatch):
    """What it draws on goes piece by piece: a frame in between would be told as an internal error."""
    seen = []
    monkeypatch.setattr(FloodmarkApp, "frame", lambda app: seen.append(app.is_running) or 0)
    async with FloodmarkApp(
        SessionController(session_of(3, 6), MonotonicClock()), playbook="load", seed=1
    ).run_test() as pilot:
        while not seen:
            await pilot.pause(0.02)
    assert set(seen) == {True}


def test_without_a_start_a_picture_freezes_nothing():
    before = gc.get_freeze_count()
    painted()
    assert gc.get_freeze_count() == before


@pytest.fixture
def parsed(monkeypatch):
    """How often each sheet of styles was parsed, in each place of the order of precedence."""
    counted, parse = Counter(), stylesheet.parse

    def counting(scope, css, read_from, *more, **others):
        counted[scope, css, read_from, others.get("tie_breaker")] += 1
        return parse(scope, css, read_from, *more, **others)

    monkeypatch.setattr(stylesheet, "parse", counting)
    return counted


async def test_styles_are_parsed_once_and_again_in_other_colours(parsed):
    async with driving() as driver:
        await driver.seconds(0.25)
        assert set(parsed.values()) == {1}
        driver.app.theme = "floodmark-light"
        await driver.settle()
        assert 2 in set(parsed.values())


async def test_the_styles_of_the_welcome_page_are_parsed_once(parsed):
    async with welcomed() as (_app, pilot):
        await pilot.pause()
        assert set(parsed.values()) == {1}


class Ahead(BackgroundImport):
    """Notes what it is asked for."""

    def __init__(self, names):
        super().__init__(names)
        self.asked = []

    def begin(self):
        self.asked.append("begin")
        super().begin()

    def wait(self):
        self.asked.append("wait")
        super().wait()


async def test_modules_of_a_choice_are_imported_after_the_first_paint(tmp_path):

    ahead = Ahead(("tui.terminal.frame_clock",))
    app = WelcomeApp(Appearance(), tmp_path, ahead)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert ahead.asked == ["begin"]
        await pilot.press("pagedown", "pagedown", "enter")
        assert ahead.asked[:2] == ["begin", "wait"]


def test_background_imports_finish_even_if_never_started():
    ahead = BackgroundImport(("tui.terminal.frame_clock", "tui.session.destination"))
    ahead.wait()
    ahead.begin()
    ahead.wait()
    assert {"tui.terminal.frame_clock", "tui.session.destination"} <= set(sys.modules)
