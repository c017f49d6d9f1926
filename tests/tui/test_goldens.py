"""Whole screens as text. After a deliberate change: look at them, then ``make goldens``."""

import pytest

from faults.declarations.fault import Action
from tests.tui.driving import driving, trimmed
from tests.tui.fake_views import session

pytestmark = pytest.mark.slow

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


def act(driver, name, broker):
    """Inject without a toast: toasts go by the wall clock."""
    driver.session_controller.act(Action("inject", name, f"broker({broker})"))


async def test_a_healthy_cluster(golden):
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"healthy-{size}")


async def test_after_a_leader_crash_that_lost_records(golden):
    """Slow replication, then the leader dies: acks=1 records are gone, acks=all ones are not."""
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        for broker in (1, 2, 3):
            act(driver, "lag", broker)
        await driver.seconds(2)
        act(driver, "crash", 1)
        await driver.seconds(12)
        await driver.press(*["down"] * 7)
        assert driver.session_controller.view.ledger.missing > 0
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"lost-{size}")


async def test_the_fault_sheet(golden):
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        await driver.press("f")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"sheet-{size}")


async def test_the_past(golden):
    """Six seconds in, with a crash at three: looked at where it had just happened."""
    async with driving(session=session()) as driver:
        await driver.seconds(3)
        act(driver, "crash", 1)
        await driver.seconds(3)
        driver.session_controller.to_time(3_250_000)
        driver.main.place_panes()
        await driver.press("down")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"past-{size}")


async def test_ascii(golden):
    async with driving(SIZES["120x40"], session=session(), glyphs="ascii") as driver:
        await driver.seconds(3)
        act(driver, "crash", 1)
        await driver.seconds(12)
        assert trimmed(driver.text()) == golden("ascii-120x40")


async def test_a_split_view_after_the_controller_died(golden):
    """The controller crashes, then a leader pauses: it is fenced, replaced, and knows nothing of it."""
    async with driving(session=session()) as driver:
        await driver.seconds(1)
        driver.session_controller.act(Action("inject", "crash", "controller"))
        await driver.seconds(5)
        act(driver, "gc_pause", 1)
        await driver.seconds(12)
        await driver.press("down")
        async for size in driver.at_sizes(SIZES):
            assert trimmed(driver.text()) == golden(f"split-{size}")


async def test_a_split_view_in_ascii(golden):
    async with driving(SIZES["120x40"], session=session(), glyphs="ascii") as driver:
        await driver.seconds(1)
        act(driver, "gc_pause", 1)
        await driver.seconds(12)
        assert trimmed(driver.text()) == golden("split-ascii-120x40")
