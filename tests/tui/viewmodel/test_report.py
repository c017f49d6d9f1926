"""Mode report: the lines of a run's end while it goes on, and the screen."""

from dataclasses import replace

import pytest

from cluster_model.observation.views import WaitingByDesign
from cluster_model.protocol import events
from playbooks.engine.session import Session
from playbooks.engine.session_runner import UNDECIDED, PreliminaryResult, so_far
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.support.playbooks import timed
from tests.tui.driving import driving, trimmed
from tests.tui.viewmodel.timeline.test_timeline import LOST_US, SIZES, lost, over  # noqa: F401 - fixtures
from tui.screens.autopsy import AutopsyScreen
from tui.screens.modes.report import ReportScreen
from tui.terminal import glyphs
from tui.viewmodel import report_page
from tui.viewmodel.report_page import MOST

SECOND = 1_000_000
EXPECTING = timed(
    steps="- {at: 2s, inject: crash, target: broker(1), for: 3s}",
    expect="- acked_lost() == 0\n- now() < 1s\n- always: now() < 3s\n- eventually: now() > 1s\n  within: 2s",
)


def lines(told, width=100, session="", marked=0):
    page = report_page.build(told, session, width, marked)
    return ["".join(text for text, _role in row.pieces).rstrip() for row in page.rows]


def section(told, heading, **more):
    """The lines below a heading."""
    found = lines(told, **more)
    start = next(at for at, line in enumerate(found) if line.startswith(heading))
    return found[start + 1 : next((at for at in range(start, len(found)) if not found[at]), len(found))]


@pytest.fixture(scope="module")
def told(lost):  # noqa: F811
    return lost.session.so_far()


def live(playbook, until_us):
    session = Session.start(playbook, open_ended=True)
    session.advance(until_us)
    return session


def with_result(told, **changes):
    return PreliminaryResult(replace(told.result, **changes), told.holding, told.failing)


# -- what it says ----------------------------------------------------------------------------------------------------


def test_asking_changes_nothing():
    left_alone, asked = live(EXPECTING, 0), live(EXPECTING, 0)
    for until_us in range(0, 6 * SECOND, SECOND // 2):
        left_alone.advance(until_us)
        asked.advance(until_us)
        first, again = so_far(asked), so_far(asked)
        assert first == again
    assert asked.finish().to_json() == left_alone.finish().to_json()


def test_decided_and_open_expectations_are_distinguished(snapshot):
    early, late = live(EXPECTING, SECOND // 2), live(EXPECTING, 4 * SECOND)
    begun, verdict = section(so_far(early), "Verdict"), section(so_far(late), "Verdict")
    assert [line[0] for line in begun[1:]] == [glyphs.LAGGING] * 4
    assert [line[0] for line in verdict[2:5]] == [glyphs.LAGGING, glyphs.DOWN, glyphs.OK]
    assert [begun, verdict] == snapshot
    assert so_far(late).failed
    assert not so_far(early).failed
    assert UNDECIDED not in "".join(verdict)


HEADINGS = (
    "Verdict", "Unavailable", "Findings  0", "Safety", "Liveness", "Client-visible anomalies", "Full report"
)  # fmt: skip


def test_a_session_without_expectations_and_without_harm_says_so(snapshot):
    quiet = so_far(live(timed(), SECOND))
    assert {heading: section(quiet, heading) for heading in HEADINGS} == snapshot
    assert "Faults not injected" not in lines(quiet)


@pytest.mark.slow
def test_the_statistics_add_up_to_the_ledger(told):
    ledger, books = told.result.ledger, told.result.ledger.clients
    assert sum(each.sent for each in books) == ledger.sent
    records = section(told, "Records", width=120)
    assert records[0].startswith(f"{ledger.sent} sent, {ledger.acked} acked")
    assert records[1].split()[:5] == ["producer,", "partition", "sent", "acked", "failed"]
    assert records[2].split()[:4] == ["clicks", "orders-0", str(ledger.sent), str(ledger.acked)]
    assert records[2].endswith("24  100 to 123")


def test_how_long_partitions_could_not_be_written(told):
    out = section(told, "Unavailable")
    assert out[0].startswith("clicks acks=1 ")
    assert out[1].startswith("orders-0 ")
    assert out[1].count(" to ") == len(told.result.unavailable.partitions[0].spans)


def test_findings_are_numbered_as_the_autopsy_numbers_them(told, snapshot):
    (one,) = told.result.findings
    page = report_page.build(with_result(told, findings=(one, replace(one, cause="min-isr-one"))), "", 100, 2)
    assert len(page.findings) == 2
    heads = ["".join(text for text, _role in page.rows[place].pieces) for place in page.findings]
    assert [head[:3] for head in heads] == [" 1 ", f"{glyphs.MARKER}2 "]
    assert heads == snapshot


@pytest.mark.slow
def test_broken_rules_stand_before_those_that_this_version_is_known_for(told, snapshot):
    known = events.InvariantViolated(2 * SECOND, "hw-monotonic", "orders-0", 1, "it fell", "", known="mended in 9.9")
    broken = events.InvariantViolated(3 * SECOND, "one-leader", "orders-1", 1, "there were two", "a split")
    assert section(with_result(told, violations=(known, broken)), "Safety") == snapshot


def test_overdue_liveness_and_stuck_nodes_are_listed(told, snapshot):
    late = events.LivenessViolated(
        20 * SECOND, "leader-elected", "orders-0", -1, "nobody leads", 8 * SECOND, SECOND, ""
    )
    stuck = WaitingByDesign("orders-1", "its last replica is down", "broker 2 comes back")
    assert section(with_result(told, liveness_violations=(late,), stuck=(stuck,)), "Liveness") == snapshot


def test_of_many_lines_the_rest_is_counted(told, snapshot):
    one = events.InvariantViolated(SECOND, "x", "orders-0", 1, "y", "")
    safety = section(with_result(told, violations=(one,) * (MOST + 3)), "Safety")
    assert len(safety) == MOST + 1
    assert safety[-1] == snapshot


def test_the_commands_stand_whole_however_long_the_path_is(told):
    path = "/srv/sessions/" + "very-long-name/" * 9 + "20260101-tail-7"
    for width in (60, 80, 300):
        told_lines = section(told, "Full report", session=path, width=width)
        assert all(len(line) <= width for line in told_lines)
        assert f"floodmark report {path}" in "".join(told_lines)
        assert f"floodmark export {path}" in "".join(told_lines)


@pytest.mark.parametrize("width", [20, 58, 78, 118, 198])
def test_no_line_is_wider_than_the_page(told, width):
    if width >= 78:
        assert all(len(line) <= width for line in lines(told, width))
    else:
        assert lines(told, width)


# -- the screen ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("appearance", ["", "ascii"])
async def test_the_page(lost, golden, appearance):  # noqa: F811
    async with over(lost, mode="6", glyphs=appearance or "unicode") as driver:
        assert isinstance(driver.app.screen, ReportScreen)
        await driver.press("right")
        async for name in driver.at_sizes({"120x40": SIZES["120x40"]} if appearance else SIZES):
            assert trimmed(driver.text()) == golden(f"report-{appearance}{'-' * bool(appearance)}{name}")


@pytest.mark.slow
async def test_a_finding_is_chosen_and_opened(lost):  # noqa: F811
    async with over(lost, "80x24", mode="6") as driver:
        screen = driver.app.screen
        assert f"{glyphs.MARKER}1" not in driver.text()
        await driver.press("left")
        assert screen.marked == 1
        assert f"{glyphs.MARKER}1" in driver.text()
        await driver.press("enter")
        assert isinstance(driver.app.screen, AutopsyScreen)
        assert driver.app.screen.case.number == 1
        await driver.press("escape")
        assert driver.app.screen is screen
        await driver.press(*["pagedown"] * 9)
        (unrecorded,) = section(lost.session.so_far(), "Full report")
        assert unrecorded.strip() in driver.text()


@pytest.mark.slow
async def test_it_reports_the_time_that_is_looked_at(lost, snapshot):  # noqa: F811
    async with over(lost, mode="6") as driver:
        assert "as of 00:45.000" in driver.text()
        lost.to_time(4 * SECOND)
        driver.app.screen.present()
        await driver.settle()
        assert "as of 00:04.000" in driver.text()
        assert lost.session.so_far().result.findings == ()
        (nothing,) = section(lost.session.so_far(), "Findings  0")
        assert nothing.strip() in driver.text()
        await driver.press("right", "enter")
        assert driver.toasts()[-1] == snapshot


@pytest.mark.slow
async def test_it_is_made_anew_no_more_often_than_it_can_be_read():
    async with driving((80, 24), session=live(timed(), 0)) as driver:
        await driver.press("6")
        asked = []
        whole = driver.session_controller.session.so_far
        driver.session_controller.session.so_far = lambda: asked.append(driver.clock.now()) or whole()
        await driver.seconds(3)
        assert 2 <= len(asked) <= 4
        await driver.press("space")
        assert f"as of 00:0{driver.session_controller.view.now_us / SECOND:.3f}" in driver.text()


@pytest.mark.slow
async def test_the_recording_is_named(tmp_path, snapshot):
    session = Session.start(loads(TAIL, "tail.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    async with driving((120, 40), session=session) as driver:
        driver.app.recorder = session.recorder
        await driver.press("6", *["pagedown"] * 4)
        flat = driver.text().replace("\n", "").replace("│", "").replace(" ", "")
        assert f"floodmarkreport{session.recorder.path}" in flat
        await driver.press("e")
        assert driver.toasts()[-1] == snapshot
        driver.app.workers.cancel_all()
