"""The table of all clients: its rows, and the screen that it stands on."""

import pytest

from faults.declarations.fault import Action
from playbooks.results.client_stats import ClientStats, summarize
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tui.screens.modes.clients import ClientsScreen
from tui.viewmodel import side_panes

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


def books():
    made = ClientStats()
    made.producer("checkout").sent = 200
    clicks = made.producer("clicks")
    clicks.sent, clicks.acked, clicks.failed, clicks.unknown, clicks.retries = 300_000, 280, 2, 5, 9
    clicks.refused, clicks.errors = {"A": 1, "B": 3, "C": 2}, {"X": 7}
    group = made.group("billing")
    group.rebalances, group.idle_us, group.truncations, group.resets = 3, 1_500_000, 1, 2
    group.commit_errors = {"CommitFailedException": 4}
    group.member("billing/0").read = 150
    group.member("billing/0").reread = 12
    group.member("billing/1").failure = "OffsetOutOfRangeException"
    group.member("billing/1").handler_failed = 6
    return made


def rows(width):
    view = fake_views.view()
    built = side_panes.build(summarize(books(), view), view, {"clicks": 200.4}, width).rows
    return ["".join(text for text, _role in (*row.pieces, (" ", ""), row.end)).rstrip() for row in built]


def test_every_client_has_its_numbers(snapshot):
    told = rows(78)
    assert told == snapshot
    assert told[1].split() == ["●", "checkout", "200", "0", "0", "0", "0", "0", "9"]
    assert told[2].split() == ["◔", "clicks", "acks=1", "300k", "280", "2", "5", "9", "6", "0", "200/s"]
    assert told[7].split() == ["◔", "billing", "(2)", "150", "12", "12", "-", "3", "1.5s", "0"]
    assert told[8].split() == ["billing/0", "150", "12", "no", "partitions", "0"]
    assert told[9].split() == ["billing/1", "0", "0", "OffsetOutOfRangeException", "0"]


def test_how_transactions_and_processes_ended_is_reported(snapshot):
    made = books()
    ledger = made.producer("ledger")
    ledger.sent, ledger.aborted, ledger.failure, ledger.interceptor_failures = 20, 7, "PRODUCER_FENCED", 3
    ledger.transactions, ledger.transactions_committed, ledger.transactions_aborted = 4, 2, 1
    made.killed, made.closed = {"ledger": 2, "billing/1": 1, "broker 1": 5}, {"billing/0": 1}
    made.group("billing").member("billing/1").abandoned = 4
    view = fake_views.view()
    built = side_panes.build(summarize(made, view), view, {}, 78).rows
    assert ["".join(text for text, _role in row.pieces).strip() for row in built] == snapshot


def test_numbers_are_aligned_with_their_headings():
    for width in (78, 108):
        told = rows(width)
        ends = [told[0].index(word) + len(word) for word in told[0].split()[1:4]]
        assert [told[1][end - 1] for end in ends] == ["0", "0", "0"]
        assert [told[1][end] for end in ends] == [" "] * 3


def test_a_window_says_how_many_lines_follow(snapshot):
    view = fake_views.view()
    built = side_panes.build(summarize(books(), view), view, {}, 78).rows
    top = side_panes.window(built, 0, 5)
    assert len(top) == 5
    assert str(len(built) - 4) in top[4].pieces[0][0].split()
    assert top[4].pieces[0][0] == snapshot
    last = side_panes.last_window(built, 5)
    assert side_panes.window(built, last, 5) == built[-5:]
    assert side_panes.window(built, 0, 50) == built


def test_nobody_at_all_is_reported_too(snapshot):
    view = fake_views.view(producers=(), groups=())
    (row,) = side_panes.build(summarize(ClientStats(), view), view, {}, 78).rows
    assert row.pieces[0][0] == snapshot


@pytest.mark.slow
async def test_c_shows_all_clients(golden):
    async with driving(session=fake_views.session()) as driver:
        await driver.seconds(2)
        driver.session_controller.act(Action("inject", "crash", "broker(1)"))
        await driver.seconds(14)
        await driver.press("c")
        assert isinstance(driver.app.screen, ClientsScreen)
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"clients-{size}")
        await driver.press("escape")
        assert not isinstance(driver.app.screen, ClientsScreen)


@pytest.mark.slow
async def test_it_moves_with_the_session_and_can_be_paused():
    async with driving((80, 24)) as driver:
        await driver.seconds(1)
        await driver.press("c")
        before = driver.text()
        await driver.seconds(1)
        assert driver.text() != before
        await driver.press("space")
        assert driver.session_controller.paused
        still = driver.text()
        await driver.seconds(1)
        assert driver.text() == still


@pytest.mark.slow
async def test_a_long_table_scrolls_to_its_end_and_no_further():
    async with driving((80, 18)) as driver:
        for number in range(40):
            driver.session_controller.session.client_stats.producer(f"late-{number:02}").sent = number
        await driver.press("c")
        assert "late-39" not in driver.text()
        assert "more lines" in driver.text()
        await driver.press(*["pagedown"] * 9)
        end = driver.text()
        assert "late-39" in end
        assert "more lines" not in end
        await driver.press("down")
        assert driver.text() == end
        await driver.press("up")
        assert driver.text() != end


async def test_the_table_is_sorted_by_keys_and_by_clicks_on_its_headings():
    async with driving(session=fake_views.session(calm=True)) as driver:
        await driver.seconds(2)
        await driver.press("3")

        def order():
            lines = driver.shown("#clients-table")
            return [each for line in lines for each in ("checkout", "clicks") if f" {each} acks" in line], lines[0]

        assert order()[0] == ["checkout", "clicks"]
        await driver.press("o")
        assert order()[0] == ["clicks", "checkout"]
        assert order()[1].split()[1] == "sent▾"
        await driver.press("O")
        assert order()[0] == ["checkout", "clicks"]
        assert order()[1].split()[1] == "sent▴"
        await driver.click_heading("#clients-table", "acked")
        assert order()[1].split()[2] == "acked▾"
        for _ in range(7):
            await driver.press("o")
        assert order() == (["checkout", "clicks"], order()[1])
        assert "▾" not in order()[1]
