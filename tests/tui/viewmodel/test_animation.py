"""What moves: bold numbers, the sweep along a row, cells that are eaten; and how often anything is drawn at all."""

from dataclasses import replace

import pytest

from cluster_model.observation.views import EpochRun
from faults.declarations.fault import Action
from tests.tui.driving import FRAME_S, driving
from tests.tui.fake_views import log, partition, replica, session, view
from tests.tui.test_paint import LOOKS, text_of
from tui.terminal import frame_clock
from tui.terminal.terminal import EACH_S, TerminalTitle, animated
from tui.terminal.theme import ROLES, Appearance
from tui.viewmodel import partition_matrix, status_bar
from tui.viewmodel.animation import HIGHLIGHT_S, SWEEP_S, TRUNCATION_S, Animation, highlight_changes
from tui.viewmodel.partition_history import ReplicaTruncation
from tui.widgets import matrix as paint_matrix

RUNNING = status_bar.RunStatus("sandbox", 7, False, False, False, 1.0, 1.0)


class AnimationClock:
    """A motion with the hands of its clocks."""

    def __init__(self):
        self.motion, self.now_s, self.now_us = Animation(on=True), 100.0, 0

    def turn(self, seconds=0.0, micros=1_000):
        self.now_s, self.now_us = self.now_s + seconds, self.now_us + micros
        self.motion.begin_frame(self.now_s, self.now_us)
        return self.motion


# -- numbers -------------------------------------------------------------------------------------------------------


def test_a_number_is_reported_for_three_frames_after_it_changed_and_not_when_it_is_first_seen():
    seen = AnimationClock()
    assert not seen.turn().fresh("hw", 1)
    assert not seen.turn(1).fresh("hw", 1)
    assert seen.turn(1).fresh("hw", 2)
    assert seen.turn(HIGHLIGHT_S * 0.9).fresh("hw", 2)
    assert not seen.motion.idle(seen.now_s)
    assert not seen.turn(HIGHLIGHT_S * 0.2).fresh("hw", 2)
    assert seen.motion.idle(seen.now_s)


def test_a_number_that_changes_all_the_time_is_no_news():
    seen = AnimationClock()
    told = [seen.turn(frame_clock.FRAME_S).fresh("leo", number) for number in range(30)]
    assert sum(told) <= 4
    assert not any(told[6:])


def test_another_point_in_time_is_another_picture():
    seen = AnimationClock()
    seen.turn().fresh("hw", 5)
    assert not seen.turn(1, -500).fresh("hw", 4)
    seen.motion.forget()
    assert not seen.turn(1).fresh("hw", 9)


def test_off_nothing_moves():
    motion = Animation()
    motion.begin_frame(1, 1)
    assert not motion.fresh("hw", 1)
    motion.begin_frame(2, 2)
    assert not motion.fresh("hw", 2)
    assert motion.sweep(partition(), 9) == -1
    assert motion.with_truncated("here", log(), ()) == log()
    assert motion.idle(0)


@pytest.mark.parametrize("name", ["dark", "light", "ansi"])
@pytest.mark.parametrize("colour", [True, False])
def test_fresh_values_are_bold_in_unchanged_colours(name, colour):
    appearance = Appearance(colour=colour, theme=name)
    for role in sorted(ROLES):
        for over in ("", "row"):
            was, new = appearance.style(role, over), appearance.style(role, f"fresh {over}".strip())
            assert new.bold
            assert (new.color, new.bgcolor, new.reverse) == (was.color, was.bgcolor, was.reverse)


def test_counts_of_the_bar_are_reported_and_the_clock_is_not():
    seen = AnimationClock()
    sound = view()
    status_bar.build(sound, RUNNING, 120).with_changes(seen.turn())
    later = replace(sound, now_us=sound.now_us + 1_000_000, ledger=replace(sound.ledger, acked_lost=4))
    fresh = [
        field for field in status_bar.build(later, RUNNING, 120).with_changes(seen.turn(1)).fields if len(field) == 3
    ]
    assert [text.split() for text, _role, _over in fresh] == [["lost", "4"]]


# -- the sweep -----------------------------------------------------------------------------------------------------


def test_a_row_is_swept_over_once_from_left_to_right_when_another_broker_leads():
    seen = AnimationClock()
    assert seen.turn().sweep(partition(leader=1), 9) == -1
    assert seen.turn().sweep(partition(leader=-1), 9) == -1
    steps = [seen.turn(SWEEP_S / 10 if at else 0).sweep(partition(leader=2), 9) for at in range(13)]
    assert steps[0] == 0
    assert steps[:10] == sorted(steps[:10])
    assert max(steps) == 8
    assert steps[-2:] == [-1, -1]
    assert seen.turn().sweep(partition(leader=2), 9) == -1


@pytest.mark.parametrize("appearance", LOOKS.values(), ids=LOOKS)
def test_a_sweep_changes_styles_and_no_text(appearance):
    built = partition_matrix.build_matrix(view(), width=100, height=6, cursor=(1, 1))
    pieces = paint_matrix.pieces(built.head.columns)
    for row in built.rows:
        plain = paint_matrix.paint(row, 100, appearance)
        swept = [paint_matrix.paint(replace(row, sweep=at), 100, appearance) for at in range(pieces)]
        assert all(text_of(each) == text_of(plain) for each in swept)
        assert sum(list(each) != list(plain) for each in swept) >= pieces - 1  # one may be where the cursor is


def test_rows_of_the_matrix_show_what_changed_in_them():
    seen = AnimationClock()

    def rows(*partitions):
        shown = view(partitions=partitions)
        built = partition_matrix.build_matrix(shown, width=100, height=6, cursor=(0, 0))
        return highlight_changes(built.rows, partitions, seen.motion, paint_matrix.pieces(built.head.columns))

    before = (partition("a"), partition("b"))
    seen.turn()
    assert (
        rows(*before) == partition_matrix.build_matrix(view(partitions=before), width=100, height=6, cursor=(0, 0)).rows
    )
    seen.turn(1)
    behind = (replica(1, "leader"), replica(2, behind=5), replica(3))
    quiet, changed = rows(partition("a"), partition("b", isr=(1, 3), replicas=behind))
    assert (quiet.fresh, quiet.sweep) == ((), -1)
    assert changed.fresh == ("isr",)
    assert [cell.fresh for cell in changed.cells] == [False, True, False]
    seen.turn(1)
    assert rows(*before)[1].sweep == -1
    seen.turn(1)
    assert rows(before[0], partition("b", leader=3))[1].sweep == 0


# -- logs ----------------------------------------------------------------------------------------------------------


def cut_log():
    """After b1 cut its log back from 130 to 121."""
    whole = log()
    lanes = [replace(lane, leo=121, runs=lane.runs[:2]) if lane.broker == 1 else lane for lane in whole.lanes]
    return replace(whole, lanes=tuple(lanes))


def tail(shown):
    return sum(run.end - run.start for run in shown.lanes[2].runs if run.start >= 121)


def test_cells_that_were_cut_are_eaten_from_the_right_in_six_frames():
    seen = AnimationClock()
    assert seen.turn().with_truncated("here", log(), ()) == log()
    cut = (ReplicaTruncation(seen.now_us + 500, 1, 121, 130, "epoch"),)
    left = [tail(seen.turn(TRUNCATION_S / 6 if at else 0).with_truncated("here", cut_log(), cut)) for at in range(8)]
    assert left[0] == 9
    assert left == sorted(left, reverse=True)
    assert len(set(left)) >= 6
    assert left[-1] == 0
    assert tail(seen.turn(1).with_truncated("here", cut_log(), cut)) == 0


def test_truncation_animations_keep_styles_and_reveal_new_records():
    seen = AnimationClock()
    seen.turn().with_truncated("here", log(), ())
    cut = (ReplicaTruncation(seen.now_us + 500, 1, 121, 130, "epoch"),)
    after = cut_log()
    lane = replace(after.lanes[2], leo=139, runs=(*after.lanes[2].runs, EpochRun(121, 139, 5, False, False)))
    after = replace(after, lanes=(*after.lanes[:2], lane))
    shown = seen.turn().with_truncated("here", after, cut)
    assert shown.lanes[2].runs[-4:] == (*log().lanes[2].runs[2:], EpochRun(130, 139, 5, False, False))
    assert shown.lanes[:2] == after.lanes[:2]
    shown = seen.turn(TRUNCATION_S / 2).with_truncated("here", after, cut)
    assert shown.lanes[2].runs[-3:] == (
        EpochRun(121, 124, 4, True, False), EpochRun(124, 126, 4, True, True), EpochRun(126, 139, 5, False, False),
    )  # fmt: skip
    assert seen.turn(TRUNCATION_S).with_truncated("here", after, cut) == after


def test_cuts_of_the_past_and_of_logs_that_were_not_looked_at_are_not_eaten_again():
    seen = AnimationClock()
    cut = (ReplicaTruncation(500, 1, 121, 130, "epoch"),)
    assert seen.turn().with_truncated("here", cut_log(), cut) == cut_log()
    assert seen.turn().with_truncated("here", cut_log(), cut) == cut_log()
    seen.turn().with_truncated("there", log(), ())
    seen.turn()
    seen.turn()
    late = (ReplicaTruncation(seen.now_us, 1, 121, 130, "epoch"),)
    assert seen.motion.with_truncated("there", cut_log(), late) == cut_log()


# -- on the screen -------------------------------------------------------------------------------------------------


def swept(driver):
    return [row.name for row in driver.main.matrix.rows if getattr(row, "sweep", -1) >= 0]


@pytest.mark.slow
async def test_rows_are_swept_when_leaders_move_and_all_comes_to_rest_while_time_pauses():
    async with driving() as driver:
        driver.main.motion.on = True
        await driver.seconds(2)
        assert not swept(driver)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        led = [each.name for each in driver.session_controller.view.partitions if each.leader == 1]
        for _ in range(250):
            await driver.frames(1)
            if swept(driver):
                break
        assert set(swept(driver)) <= set(led)
        await driver.press("space")
        delays = []
        for _ in range(20):
            driver.clock.tick(FRAME_S)
            delays.append(driver.app.frame())
        assert delays[0] == frame_clock.FRAME_S
        assert delays[-1] is None
        assert not swept(driver)
        assert not any(row.fresh for row in driver.main.matrix.rows if isinstance(row, partition_matrix.MatrixRow))


@pytest.mark.slow
async def test_values_changed_by_a_step_are_bold():
    async with driving() as driver:
        driver.main.motion.on = True
        await driver.seconds(2)
        await driver.press("space")
        await driver.seconds(1)
        told = 0
        for _ in range(40):
            if told:
                break
            await driver.press("full_stop")
            rows = [row for row in driver.main.matrix.rows if isinstance(row, partition_matrix.MatrixRow)]
            told += sum(len(row.fresh) + sum(cell.fresh for cell in row.cells) for row in rows)
            await driver.seconds(1)
        assert told


@pytest.mark.slow
async def test_under_the_microscope_a_truncation_eats_cells():
    async with driving(session=session()) as driver:
        driver.main.motion.on = True
        await driver.seconds(2)
        for broker in (1, 2, 3):
            driver.session_controller.act(Action("inject", "lag", f"broker({broker})"))
        await driver.seconds(1)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(4)
        driver.session_controller.act(Action("heal", "lag"))
        while not any(each.missing for each in driver.session_controller.view.partitions):
            await driver.seconds(1)
        lost = next(at for at, each in enumerate(driver.session_controller.view.partitions) if each.missing)
        driver.main.matrix.move_to(lost, 0)
        await driver.press("2")
        await driver.frames(1)
        name = driver.session_controller.view.partitions[lost].name
        driver.app.screen.microscope.go(driver.session_controller.view.partitions[lost].replicas[0].leo)
        driver.session_controller.act(Action("inject", "restart", "broker(1)"))
        left = []
        for _ in range(400):
            await driver.frames(1)
            lane = next(each for each in driver.app.screen.microscope.lanes if each.broker == 1)
            if driver.session_controller.log_history.truncations(name, driver.session_controller.view.now_us):
                left.append(sum(run.end - run.start for run in lane.runs if run.diverged))
            if len(left) > 8:
                break
        assert left[0] > 1
        assert left == sorted(left, reverse=True)
        assert left[-1] == 0


@pytest.mark.slow
async def test_animations_do_not_change_the_session():
    digests = []
    for on in (False, True):
        async with driving((80, 24)) as driver:
            driver.main.motion.on = on
            await driver.seconds(1)
            driver.session_controller.act(Action("inject", "crash", "broker(1)"))
            await driver.seconds(11)
            digests.append(driver.session_controller.session.cluster.digest())
    assert digests[0] == digests[1]


@pytest.mark.slow
async def test_without_the_focus_four_frames_a_second_are_drawn():
    async with driving() as driver:
        await driver.seconds(1)
        before = driver.app.frames
        driver.app.on_app_blur()
        await driver.frames(32)
        assert driver.app.frames - before == 8
        assert driver.session_controller.view.now_us > 2_500_000, "time goes on as ever"
        driver.app.on_app_focus()
        before = driver.app.frames
        await driver.frames(16)
        assert driver.app.frames - before == 16


def test_frames_are_as_the_settings_want_them_else_fewer_over_ssh(monkeypatch):
    assert frame_clock.frame_s("auto") == 1 / 15
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert frame_clock.frame_s("auto") == 1 / 8
    assert frame_clock.frame_s("30") == 1 / 30


def test_nothing_moves_where_the_terminal_says_so():
    assert animated({})
    assert animated({"TEXTUAL_ANIMATIONS": "basic"})
    assert not animated({"TEXTUAL_ANIMATIONS": " None "})


async def test_pictures_and_tests_have_nothing_that_moves():
    async with driving() as driver:
        assert not driver.main.motion.on


# -- the title -----------------------------------------------------------------------------------------------------


def test_the_title_says_how_far_it_is_and_what_is_missing():
    sound = view()
    assert status_bar.terminal_title(sound, running=True) == "floodmark ▶ 00:53"
    lost = replace(sound, ledger=replace(sound.ledger, missing=4))
    assert status_bar.terminal_title(lost, running=False) == "floodmark ‖ 00:53 †4"
    assert Appearance(glyphs="ascii").text(status_bar.terminal_title(lost, running=True)) == "floodmark > 00:53 #4"


def test_a_terminal_keeps_its_own_title_and_gets_it_back():
    written = []
    shown = TerminalTitle(written.append, {"TERM": "xterm"})
    shown.give_back()
    assert written == []
    shown.show("one", 0, at_once=False)
    shown.show("one", 9, at_once=True)
    shown.show("two", 9.1 + EACH_S, at_once=False)
    shown.show("three", 9.2 + EACH_S, at_once=False)
    shown.show("fo\x1bur\x07", 9.3 + EACH_S, at_once=True)
    shown.give_back()
    assert written == ["\x1b[22;2t\x1b]2;one\x07", "\x1b]2;two\x07", "\x1b]2;four\x07", "\x1b[23;2t"]
    for name in ("linux", "dumb", ""):
        TerminalTitle(pytest.fail, {"TERM": name}).show("one", 0, at_once=True)
