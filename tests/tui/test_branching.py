"""Branches on the screen: the bridge that grows them by slices, the list, two side by side, bookmarks, the words."""

import pytest

from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.recording.recorder import Recorder
from playbooks.timetravel.branches import Branches
from tests.support.playbooks import timed
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tests.tui.fake_views import session
from tests.tui.session.test_session_controller import SlowClock
from tui.output import session_end
from tui.screens.cluster import MainScreen
from tui.screens.time_travel import CompareScreen, GrowingScreen
from tui.session.session_controller import ComparisonBranch, SessionController
from tui.terminal.frame_clock import SLICE_S, StepClock
from tui.viewmodel import status_bar
from tui.viewmodel.timeline import branches
from tui.viewmodel.timeline.branches import Bookmark, Bookmarks

pytestmark = pytest.mark.slow

SECOND = 1_000_000
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
CRASH = Action("inject", "crash", "broker(1)")
LAG = Action("inject", "lag", "broker(2)")


def small():
    return session(orders=2, payments=1)


def lived(clock=None):
    """Two seconds, with a crash at one."""
    simulation = SessionController(small(), clock or StepClock())
    simulation.session.advance(SECOND)
    simulation.act(CRASH)
    simulation.session.advance(2 * SECOND)
    simulation.refresh_view()
    return simulation


# -- the bridge ------------------------------------------------------------------------------------------------------


def test_a_branch_is_grown_by_slices_of_eight_milliseconds(snapshot):
    clock = SlowClock(SLICE_S / 10)
    simulation = lived(clock)
    main = simulation.branches.current
    simulation.to_time(1_500_000)
    simulation.act(LAG)
    percents = []
    while simulation.growing is not None:
        percents.append(simulation.growing.percent)
        began = clock._now
        frame = simulation.frame()
        assert frame.paint
        assert frame.delay is not None
        assert clock._now - began <= SLICE_S * 1.5
        assert simulation.growing is None or simulation.session is main.session
    assert len(percents) > 3
    assert percents == sorted(percents)
    assert simulation.branches.current.letter == "B"
    assert simulation.paused
    assert simulation.news == snapshot


def test_a_branch_reports_what_happened_before_it_left_and_each_has_its_own_feed():
    simulation = lived()
    main, lines, chronicle = simulation.branches.current, simulation.feed.lines(100), simulation.chronicle
    simulation.fork()
    assert simulation.feed.lines(100) == lines
    assert simulation.chronicle is not chronicle
    simulation.act(LAG)
    simulation.session.advance(3 * SECOND)
    simulation.refresh_view()
    assert simulation.feed.lines(100) != lines
    simulation.switch(main)
    assert simulation.feed.lines(100) == lines


def test_a_refused_action_in_the_past_keeps_the_view(snapshot):
    simulation = lived()
    simulation.to_time(SECOND // 2)
    simulation.act(Action("inject", "crash", "broker(9)"))
    ((text, good),) = simulation.news
    assert text == snapshot
    assert not good
    assert len(simulation.branches) == 1
    assert simulation.session.in_past


def test_the_compared_branch_follows_up_to_its_own_end():
    simulation = lived()
    main = simulation.branches.current
    simulation.to_time(SECOND // 2)
    simulation.act(LAG)
    simulation.session.advance(1_200_000)
    here = simulation.branches.current
    simulation.compare(main)
    before = main.live.cluster.digest()
    there = main.session
    jumps = (
        lambda: simulation.to_time(SECOND),
        simulation.step,
        lambda: simulation.move_time(-SECOND // 4),
        simulation.back,
    )
    for jump in jumps:
        jump()
        assert there.cluster.now_us == simulation.session.cluster.now_us
    simulation.pause(False)
    while simulation.session.cluster.now_us < 1_100_000:
        simulation.clock.tick(1 / 16)
        simulation.frame()
        assert there.cluster.now_us == simulation.session.cluster.now_us
    simulation.session.advance(3 * SECOND)
    simulation.session.advance(3 * SECOND)
    simulation.to_time(2_500_000)
    assert not simulation.comparison.reaches
    assert main.live.cluster.digest() == before
    simulation.switch(main)
    assert simulation.comparison is None
    assert simulation.branches.current is main is not here


def test_the_compared_branch_catches_up_in_slices_while_time_pauses():
    simulation = lived(SlowClock(SLICE_S / 4))
    main = simulation.branches.current
    simulation.fork()
    while simulation.growing is not None:
        simulation.frame()
    simulation.to_time(0)
    simulation.compare(main)
    simulation.set_speed(1000.0)
    simulation.pause(False)
    painted = 0
    for _ in range(400):
        if simulation.frame().paint:
            painted += 1
            assert main.session.cluster.now_us == simulation.session.cluster.now_us
        if not simulation.session.in_past:
            break
    assert painted > 1


def test_a_companion_that_is_let_go_shows_its_present():
    branches = Branches(small())
    branches.current.session.advance(SECOND)
    comparison = ComparisonBranch(branches.current)
    comparison.jump(SECOND // 2)
    assert branches.current.session.in_past
    comparison.leave()
    assert not branches.current.session.in_past


# -- words -----------------------------------------------------------------------------------------------------------


def text_of(pieces):
    return "".join(text for text, _role in pieces)


@pytest.mark.parametrize("width", [72, 96, 106])
def test_the_list_of_branches_has_its_columns(width):
    view = fake_views.view()
    began = "crash on broker(1) and more words than fit anywhere here"
    row = branches.row("C", "main", 44_000_000, began, view, shown=True)
    line = text_of(branches.line(row, width, chosen=True))
    assert len(line) <= width
    assert line.startswith("▌ C ▶    main at 00:44.000")
    numbers = [row.lost, row.missing, row.failed, row.unknown, row.violations]
    heading = text_of(branches.heading(width))
    assert heading.split()[:5] == ["branch", "forked", "at", "now", "at"]
    for name, number in zip(("lost", "missing", "failed", "unknown", "viol."), numbers, strict=True):
        end = heading.index(name) + len(name)
        assert line[:end].split()[-1] == str(number)
    assert ("first action" in heading) == ("crash" in line) == (width >= branches.ROOMY)
    assert len(branches.about_branch(row, width)) <= width


def test_the_first_branch_left_none(snapshot):
    row = branches.row("main", "", -1, "", fake_views.view(), shown=False)
    assert branches.about_branch(row, 80) == snapshot
    assert " at " not in text_of(branches.line(row, 80, chosen=False))


def test_numbers_that_differ_are_marked():
    one = fake_views.view()
    other = fake_views.view(now_us=one.now_us)
    name = one.partitions[0].name
    same = [text_of(row.pieces) for row in branches.comparison_rows((one, other), ("main", "B"), name)]
    assert not any("differs" in line for line in same)
    assert same[0].split() == ["main", "B"]
    gone = fake_views.view(partitions=())
    told = [text_of(row.pieces) for row in branches.comparison_rows((one, gone), ("main", "B"), name)]
    assert "-" in next(line for line in told if line.startswith("leader"))
    none = [text_of(row.pieces) for row in branches.comparison_rows((one, None), ("main", "B"), name)]
    assert all(line.split()[-1] == "-" for line in none[1:])
    assert max(map(len, same)) <= 78


def test_bookmarks_are_ordered_and_unique():
    marks = Bookmarks()
    assert marks.add(Bookmark(2 * SECOND, "main"))
    assert marks.add(Bookmark(SECOND, "B"))
    assert not marks.add(Bookmark(2 * SECOND, "main"))
    assert [each.words for each in marks] == ["00:01.000  B", "00:02.000  main"]
    marks.drop(marks[0])
    assert len(marks) == 1


@pytest.mark.parametrize(("letter", "narrow", "wide"), [("main", " Ymain ", " Y main "), ("C", " Y C ", " Y FORK C ")])
def test_the_status_bar_says_which_branch_once_there_are_several(letter, narrow, wide):
    view = fake_views.view()

    def bar(width, branch):
        running = status_bar.RunStatus("sandbox", 7, True, False, False, 1.0, 1.0, branch=branch)
        return text_of(status_bar.build(view, running, width).fields)

    assert narrow in bar(80, letter)
    assert wide in bar(120, letter)
    assert "seed 7" in bar(200, letter)
    for width in (80, 120, 132, 150, 200):
        assert len(bar(width, letter)) <= width
        assert " Y" not in bar(width, "")
        assert len(bar(width, "B")) == len(bar(width, "main"))


# -- the screen ------------------------------------------------------------------------------------------------------


def top(driver):
    return driver.text().split("\n")[0]


async def crashed(driver):
    """Two seconds, with a crash at one."""
    await driver.seconds(1)
    driver.session_controller.act(CRASH)
    await driver.seconds(1)


async def test_acting_in_the_past_undoing_and_comparing(golden, snapshot):
    async with driving(session=small()) as driver:
        await crashed(driver)
        assert " Y" not in top(driver)
        await driver.press("{", "f", "l")
        said = [driver.toasts()[-1]]
        assert driver.session_controller.branches.current.letter == "B"
        assert "00:01.000" in top(driver)
        assert "Y FORK B" in top(driver)
        await driver.press("space")
        await driver.seconds(0.5)
        await driver.press("space", "u")
        said.append(driver.toasts()[-1])
        assert driver.session_controller.branches.current.letter == "C"
        await driver.press("U")
        said.append(driver.toasts()[-1])
        assert driver.session_controller.branches.current.letter == "B"
        assert said == snapshot
        driver.app.clear_notifications()
        await driver.press("b", "down")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"branches-{size}")
        await driver.press("up", "up", "c")
        assert isinstance(driver.app.screen, CompareScreen)
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"compare-{size}")
        await driver.press("b", "up", "enter")
        assert driver.session_controller.branches.current.letter == "main"
        assert driver.session_controller.comparison is None
        assert isinstance(driver.app.screen, MainScreen)


async def test_a_shorter_compared_branch_says_so_and_time_keys_move_both(snapshot):
    async with driving((120, 40), session=small()) as driver:
        await crashed(driver)
        await driver.press("{", "w", "b", "c")
        said = [driver.toasts()[-1]]
        assert driver.session_controller.comparison is None
        await driver.press("up", "enter", "b", "down", "c")
        assert not driver.session_controller.comparison.reaches
        said += driver.shown("#compare-1")
        await driver.press("home")
        assert "main · 00:00.000" in driver.text()
        assert "B · 00:00.000" in driver.text()
        partition = driver.main.matrix.cursor
        await driver.press("down")
        assert driver.main.matrix.cursor != partition
        await driver.press("escape")
        assert driver.session_controller.comparison is None
        await driver.press("u", "U", "U")
        assert [*said, driver.toasts()[-1]] == snapshot


async def test_a_branch_on_its_way_is_reported_and_can_be_given_up(monkeypatch, snapshot):
    async with driving((80, 24), session=small()) as driver:
        await crashed(driver)
        monkeypatch.setattr("tui.session.session_controller.BATCH", 1)
        clock = driver.session_controller.clock = SlowClock(SLICE_S)
        clock._now = driver.clock.now()
        await driver.press("{", "w")
        assert isinstance(driver.app.screen, GrowingScreen)
        told = driver.shown("#growing")[0]
        driver.app.frame()
        await driver.press("u", "b", "escape")
        assert isinstance(driver.app.screen, MainScreen)
        assert "PAST 00:01.0 of 00:02.0" in top(driver)
        assert len(driver.session_controller.branches) == 1
        await driver.press("w")
        monkeypatch.setattr("tui.session.session_controller.BATCH", 100_000)
        for _ in range(8):
            driver.app.frame()
        await driver.settle()
        assert isinstance(driver.app.screen, MainScreen)
        assert driver.session_controller.branches.current.letter == "B"
        assert [told, driver.toasts()[-1]] == snapshot


async def test_bookmarks_are_gone_to_from_the_list_and_by_name(snapshot):
    async with driving((80, 24), session=small()) as driver:
        await driver.press("ctrl+b")
        none = driver.shown("#choice")
        await driver.press("enter", "d", "escape")
        await crashed(driver)
        await driver.press("{", "B", "B")
        assert [(each.at_us, each.letter) for each in driver.main.branches.bookmarks] == [(SECOND, "main")]
        assert [*none, driver.toasts()[-1]] == snapshot
        await driver.press("w", "ctrl+b", "enter")
        assert driver.session_controller.branches.current.letter == "main"
        assert driver.session_controller.view.now_us == SECOND
        await driver.press("backspace", "ctrl+p", *"go 00:00.5", "enter")
        assert driver.session_controller.view.now_us == SECOND // 2
        await driver.press("ctrl+b", "d")
        assert driver.shown("#choice") == none


async def test_the_dialog_of_times_offers_the_bookmarks():
    async with driving((80, 24), session=small()) as driver:
        await driver.press("ctrl+g")
        assert "bookmarks" not in driver.text()
        await driver.press("escape")
        await crashed(driver)
        await driver.press("{", "B", "w", "}")
        await driver.seconds(1)
        await driver.press("B", "ctrl+g", "down", "down", "up")
        assert "▌ 00:01.000  main" in driver.text()
        await driver.press("enter")
        assert driver.session_controller.branches.current.letter == "main"
        assert driver.session_controller.view.now_us == SECOND
        await driver.press("ctrl+g", "down", *"0.5s", "enter")
        assert driver.session_controller.view.now_us == SECOND // 2, "what is typed goes before what is marked"


# -- the end ---------------------------------------------------------------------------------------------------------


def test_every_branch_is_sealed_and_printed(tmp_path, capsys, snapshot):
    live = Session.start(timed(settle="1s"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    branches = Branches(live)
    branches.current.session.advance(SECOND)
    branches.fork()
    while not branches.growing.advance(100_000):
        pass
    branches.adopt()
    assert session_end.seal_all(branches) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if line.startswith("branch ")] == snapshot
    assert len([line for line in told if line.startswith("branch ")]) == 2
    assert (told[0].split()[0], told[5].split()[0]) == ("branch", "branch")
    paths = [line.split()[1] for line in told if line.startswith("session ")]
    assert paths == [str(each.recorder.path) for each in branches]
    assert all((each.recorder.path / "manifest.json").exists() for each in branches)


def test_sealing_that_is_interrupted_names_all_that_is_not_sealed(tmp_path, capsys, monkeypatch):
    live = Session.start(timed(settle="1s"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    branches = Branches(live)
    branches.fork()
    while not branches.growing.advance(100_000):
        pass
    branches.adopt()

    def interrupt(_session):
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "finish", interrupt)
    assert session_end.seal_all(branches) == 130
    err = capsys.readouterr().err.replace("\n", "")
    assert all(str(each.recorder.path) in err for each in branches)
