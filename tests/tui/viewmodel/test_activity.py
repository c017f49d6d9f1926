"""Throughput and latency over time: bins, sparklines, charts, and where they are shown."""

from dataclasses import replace

from cluster_model.protocol.events import RecordsAcked, RecordsRead
from tests.tui import fake_views
from tests.tui.driving import driving
from tui.viewmodel import activity as activity_module
from tui.viewmodel.activity import (
    LATENCY_STEPS_US,
    Activity,
    ActivityHistory,
    chart,
    latency_height,
    latency_line,
    rate_line,
)
from tui.viewmodel.partition_matrix import columns

SECOND = 1_000_000


def acked(at_us, records, latency_us, partition="orders-0"):
    return RecordsAcked(at_us, "checkout", partition, 0, records, -1, 1, 0, 0, latency_us, 0)


def read(at_us, records, latency_us):
    return RecordsRead(at_us, "billing/0", "billing", "orders-0", 1, 0, 0, records, latency_us, 0, records)


def history(*events):
    made = ActivityHistory()
    made.take(events)
    return made


def test_each_has_its_records_per_second_and_its_slowest_one():
    found = history(
        acked(100_000, 3, 5_000), acked(900_000, 4, 2_000, "orders-1"), acked(2_100_000, 2, 40_000),
        read(2_200_000, 5, 7_000),
    )  # fmt: skip
    assert found.client("checkout", 3 * SECOND, 10) == Activity((7.0, 0.0, 2.0), (5_000, -1, 40_000))
    assert found.partition("orders-1", 3 * SECOND, 10) == Activity((4.0, 0.0, 0.0), (2_000, -1, -1))
    assert (
        found.group("billing", 3 * SECOND, 1) == found.client("billing/0", 3 * SECOND, 1) == Activity((5.0,), (7_000,))
    )
    assert found.client("checkout", 3 * SECOND, 10).last_us == 40_000


def test_a_second_counts_when_it_is_over_and_the_past_has_nothing_of_the_future():
    found = history(acked(100_000, 3, 5_000), acked(1_100_000, 4, 6_000))
    assert found.client("checkout", 1_999_999, 10).rates == (3.0,)
    assert found.client("checkout", 999_999, 10) == Activity((), ())
    assert found.client("nobody", 2 * SECOND, 10).rates == (0.0, 0.0)


def test_a_long_session_has_wider_bins_and_the_same_records(monkeypatch):
    monkeypatch.setattr(activity_module, "MOST", 4)
    found = history(*(acked(at * SECOND, 2, at) for at in range(7)))
    assert found.width_us == 2 * SECOND
    assert found.client("checkout", 8 * SECOND, 10) == Activity((2.0, 2.0, 2.0, 1.0), (1, 3, 5, 6))


def test_heights_are_those_of_the_peak_and_those_of_the_scale():
    assert rate_line((0, 1, 50, 99, 100)) == " ▁▅██"
    assert rate_line(()) == ""
    assert latency_line((-1, 0, *LATENCY_STEPS_US)) == " ▁▂▃▄▅▆▇█"
    assert [latency_height(each - 1) for each in LATENCY_STEPS_US] == list(range(7))
    assert chart((1.0, 0.5, 0.01, -1), 2) == ("█   ", "██▁ ")


def test_sparklines_of_partitions_stand_only_where_all_else_has_its_room():
    view = fake_views.view()
    assert columns(view, 126, 0).trend == 0
    assert columns(view, 126, 0, trends=True).trend >= 8
    assert columns(view, 80, 0, trends=True).trend == 0
    many = replace(view, brokers=view.brokers * 12)
    assert columns(many, 126, 0, trends=True).trend == 0


async def test_they_are_shown_and_follow_the_time_shown():
    async with driving((200, 60)) as driver:
        await driver.seconds(5)
        (head, *rest) = driver.shown("#matrix")
        assert head.split()[-2:] == ["acked", "latency"]
        assert any("/s " in line and "ms " in line for line in rest)
        before = driver.shown("#clients")[0]
        await driver.press("home")
        assert "█" not in driver.shown("#clients")[0]
        await driver.press("backspace")
        assert driver.shown("#clients")[0] == before
        await driver.press("3")
        assert any(each.startswith("3s") for each in driver.shown("#clients-table"))
