from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.util import quantities
from playbooks.results.client_stats import ClientStats
from tests.tui import fake_views
from tui.screens import layout
from tui.terminal import format as formats
from tui.terminal import frame_clock, glyphs
from tui.viewmodel import fault_sheet, log_view, partition_matrix, side_panes, status_bar
from tui.viewmodel.timeline.event_feed import Rates


def rows_of(view, width=80, height=20, cursor=(0, 0)):
    return partition_matrix.build_matrix(view, width=width, height=height, cursor=cursor)


# -- matrix ---------------------------------------------------------------------------------------------------------


def test_a_leader_shows_its_leo_and_followers_how_far_behind_they_are():
    built = rows_of(fake_views.troubled())
    assert [cell.text for cell in built.rows[0].cells] == ["★100", "●=", "●="]
    assert [cell.text for cell in built.rows[1].cells] == ["✕+30", "★100", "◔-87"]
    assert [cell.text for cell in built.rows[2].cells] == ["↺+9", "╳=", "✕-99"]


def test_a_dead_leader_that_the_controller_still_counts_on_is_marked():
    dead = fake_views.partition(
        leader=1, replicas=(fake_views.replica(1, "down"), fake_views.replica(2), fake_views.replica(3))
    )
    row = rows_of(fake_views.view(partitions=(dead,))).rows[0]
    assert row.cells[0].text == "✕100"
    assert row.epoch_role == "alarm"


def test_a_broker_without_a_replica_has_an_empty_cell():
    row = rows_of(fake_views.view(brokers=4)).rows[0]
    assert row.cells[3].text == glyphs.NOTHING


def test_lag_is_that_of_the_slowest_group_and_a_dash_where_nothing_is_committed():
    built = rows_of(fake_views.view())
    assert [row.lag for row in built.rows] == ["8", "0", "–", "–"]


def test_missing_records_are_reported_on_their_partition():
    assert [row.lost for row in rows_of(fake_views.troubled()).rows] == ["", "†4", ""]


def test_brokers_in_the_heading_show_their_state():
    head = rows_of(fake_views.troubled()).head
    assert [cell.text for cell in head.brokers] == ["✕ b1 ⊘", "‖ b2", "◔ b3"]


def test_the_isr_column_gives_way_to_brokers():
    wide = partition_matrix.columns(fake_views.view(brokers=3), 78, 0)
    full = partition_matrix.columns(fake_views.view(brokers=5), 78, 0)
    assert (wide.isr, wide.shown) == (9, 3)
    assert (full.isr, full.shown) == (0, 5)


@given(
    partitions=st.integers(0, 40), brokers=st.integers(1, 30), height=st.integers(0, 30), width=st.integers(20, 200),
    cursor=st.tuples(st.integers(0, 39), st.integers(0, 29)),
    before=st.tuples(st.integers(0, 39), st.integers(0, 29)),
)  # fmt: skip
def test_the_cursor_is_always_in_view(partitions, brokers, height, width, cursor, before):
    view = fake_views.view(
        brokers=brokers, partitions=tuple(fake_views.partition(f"t-{at}") for at in range(partitions))
    )
    cursor = (min(cursor[0], max(partitions - 1, 0)), min(cursor[1], brokers - 1))
    built = partition_matrix.build_matrix(view, width=width, height=height, cursor=cursor, before=before)
    assert len(built.rows) == max(0, min(partitions, height - 1))
    assert 0 <= built.head.cursor < built.head.columns.shown
    if built.rows:
        marked = [row.name for row in built.rows if row.cursor >= 0]
        assert marked == [f"t-{cursor[0]}"]


def test_the_window_shows_its_position():
    view = fake_views.view(partitions=tuple(fake_views.partition(f"t-{at}") for at in range(30)))
    assert rows_of(view, height=40).position == ""
    assert rows_of(view, height=11).position == "1-10 of 30 ▾"
    assert rows_of(view, height=11, cursor=(29, 0)).position == "21-30 of 30 ▴"


# -- lanes ----------------------------------------------------------------------------------------------------------


def built_lanes(**window):
    view = fake_views.view()
    return log_view.build_lanes(view, view.partitions[0], fake_views.log(**window), 3)


def lane(broker, **window):
    return next(
        row for row in built_lanes(**window).rows if isinstance(row, log_view.LogLane) and row.broker == f"b{broker}"
    )


def flat(row):
    return "".join(text for text, _role in row.cells)


def test_a_lane_is_solid_below_its_own_high_watermark_and_hatched_above():
    assert flat(lane(2)) == "3" * 14 + "5" * 30 + "▒" * 5 + " " * 11
    assert flat(lane(3)).rstrip() == " " * 4 + "╎" + "3" * 9 + "5" * 27 + "▒" * 5


def test_diverged_and_lost_records_have_their_own_cells():
    assert flat(lane(1)).rstrip() == "3" * 14 + "4" * 17 + "╳╳╳††††╳╳"
    assert lane(1).odd == "╳5 †4"
    assert lane(2).odd == ""


def test_each_lane_ends_with_its_leo_and_the_distance_to_the_leader():
    assert [lane(each).note for each in (1, 2, 3)] == ["LEO 130 −9", "LEO 139", "LEO 136 −3"]


def test_a_log_that_ends_before_the_window_says_where():
    assert flat(lane(1, start=200, end=240)).rstrip() == "◂ ends at 130"


@given(start=st.integers(0, 200), size=st.integers(10, 120))
def test_lanes_fill_the_window_exactly(start, size):
    for row in built_lanes(start=start, end=start + size).rows:
        if isinstance(row, log_view.LogLane):
            assert len(flat(row)) == size
        if isinstance(row, log_view.Ruler):
            assert len(row.text) == size


def test_ruler_labels_are_at_their_offsets():
    ruler = built_lanes(start=93, end=150).rows[0]
    assert ruler.text.index("┊100") == 7
    assert ruler.text.index("┊120") == 27
    assert ruler.text[17] == glyphs.NOTHING


def test_marks_stand_under_their_offsets():
    marks = built_lanes().rows[-1]
    line = "".join(text for text, _role in marks.pieces)
    assert line.index("▲fork 121") == 31
    assert line.index("▲HW 134") == 44


def test_marks_outside_the_window_are_left_out_but_for_the_high_watermark():
    line = "".join(text for text, _role in built_lanes(start=200, end=260).rows[-1].pieces)
    assert line == "◂HW 134 "


def test_the_window_follows_the_tail_in_steps():
    starts = [log_view.tail(leo, 60) for leo in range(200)]
    assert starts[:59] == [0] * 59
    assert {after - before for before, after in pairwise(starts)} == {0, log_view.STEP}
    assert all(start + 60 > leo for leo, start in enumerate(starts))


def test_the_fork_is_the_first_differing_offset():
    assert log_view.fork(fake_views.log()) == 121
    sound = fake_views.log()
    assert log_view.fork(replace(sound, lanes=sound.lanes[:2])) == -1


# -- status bar -----------------------------------------------------------------------------------------------------


def running(**more):
    fields = {
        "playbook": "sandbox", "seed": 7, "paused": False, "seeking": False, "ended": False,
        "requested_speed": 1.0, "real_speed": 1.0,
    }  # fmt: skip
    return status_bar.RunStatus(**(fields | more))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_fields_of_the_status_bar_never_move(width):
    def widths(view, state):
        return [len(text) for text, _role in status_bar.build(view, state, width).fields]

    calm = widths(fake_views.view(now_us=0), running())
    for state in (
        running(paused=True),
        running(seeking=True),
        running(ended=True),
        running(requested_speed=1000.0, real_speed=312.0),
        running(requested_speed=0.25, real_speed=0.1),
    ):
        assert widths(fake_views.troubled(), state) == calm


def test_the_status_bar_fits_80_columns():
    fields = status_bar.build(
        fake_views.troubled(),
        running(playbook="a-very-long-name", seed=123_456, requested_speed=1000.0, real_speed=3.0),
        80,
    ).fields
    assert sum(len(text) for text, _role in fields) <= 80


def test_the_speed_is_reported_twice_only_when_the_machine_is_the_limit():
    def text(**more):
        return "".join(part for part, _role in status_bar.build(fake_views.view(), running(**more), 120).fields)

    assert "×1000 real ×310 " in text(requested_speed=1000.0, real_speed=312.4)
    assert "real" not in text(requested_speed=10.0, real_speed=9.8)
    assert "real" not in text(requested_speed=10.0, real_speed=1.0, paused=True)


def test_the_pill_says_it_in_words():
    def pill(**more):
        return status_bar.build(fake_views.view(), running(**more), 120).fields[3][0].strip()

    assert [pill(), pill(paused=True), pill(seeking=True), pill(ended=True)] == [
        "▶ LIVE", "‖ PAUSED", "» SEEK", "ENDED",
    ]  # fmt: skip


def test_brokers_are_counted_by_state():
    text = "".join(part for part, _role in status_bar.build(fake_views.troubled(), running(), 120).fields)
    assert "●1 ‖1 ✕1 " in text
    assert "urp 2 " in text
    assert "offline 1 " in text
    assert "missing 4 " in text
    assert "lost 1" in text


# -- side panes -----------------------------------------------------------------------------------------------------


def said(rows):
    return ["".join(text for text, _role in (*row.pieces, row.end)) for row in rows]


def test_faults_show_the_time_left_and_how_to_heal_them(snapshot):
    rows = side_panes.faults(fake_views.troubled())
    assert [row.fault for row in rows] == [3, 2, 1]
    assert [said(rows), said(side_panes.faults(fake_views.troubled(), 2))] == snapshot


def test_an_empty_board_says_how_to_fill_it(snapshot):
    assert said(side_panes.faults(fake_views.view())) == snapshot


def test_clients_show_their_statistics_and_keep_their_lines(snapshot):
    books = ClientStats()
    text = said(side_panes.clients(fake_views.view(), {"checkout": 199.6, "billing": 300.0}, books))
    books.producer("clicks").retries = 4
    books.group("billing").rebalances = 7
    view = fake_views.view()
    without = said(side_panes.clients(view, {}, books))
    view = replace(view, groups=(replace(view.groups[0], generation=5, members=1),))
    coordinated = said(side_panes.clients(view, {}, books))
    assert len(coordinated) == len(without) == len(text)
    assert [text, without, coordinated] == snapshot


def test_a_producer_shows_the_leader_to_which_it_has_no_connection():
    view = fake_views.view()
    without = said(side_panes.clients(view, {}, ClientStats()))
    waiting = replace(view.producers[0], unconnected=((2, "connecting"),))
    shown = said(side_panes.clients(replace(view, producers=(waiting, *view.producers[1:])), {}, ClientStats()))
    assert [line for line in shown if line not in without] == ["  b2 connecting"]
    assert len(shown) == len(without)


def test_the_replica_under_the_cursor_reports_what_it_believes(snapshot):
    text = said(side_panes.replica(fake_views.view(), 0, 0))
    assert side_panes.replica(fake_views.view(), 99, 0) == ()
    assert [text, said(side_panes.replica(fake_views.view(brokers=4), 0, 3))] == snapshot


def test_rates_are_per_virtual_second_over_the_last_two():
    rates = Rates()
    view = fake_views.view(now_us=0)
    assert rates.of(view) == {}
    for tick in range(1, 60):
        acked = replace(view.producers[0], acked=190 + 20 * tick)
        found = rates.of(replace(view, now_us=tick * 100_000, producers=(acked, *view.producers[1:])))
    assert found["checkout"] == pytest.approx(200)
    assert found["clicks"] == 0


# -- sheet ----------------------------------------------------------------------------------------------------------


class Param:
    def __init__(self, default):
        self.name, self.type, self.default = "latency", "duration", default


class Fault:
    def __init__(self, letter, params=(), usual_for_us=-1):
        self.name, self.letter, self.title, self.summary, self.params = letter, letter, "lag", "Slow.", params
        self.default_duration_us = usual_for_us


def test_the_sheet_names_the_length_of_time_that_a_fault_will_use():
    assert fault_sheet.with_defaults(Fault("l", (Param(200_000), Param(0)))) == "lag 200ms"
    assert fault_sheet.with_defaults(Fault("c")) == "lag"
    assert fault_sheet.with_defaults(Fault("g", usual_for_us=15_000_000)) == "lag 15s"


def test_many_faults_stand_in_columns_and_none_is_left_out():
    faults = [Fault(chr(ord("a") + at)) for at in range(20)]
    built = fault_sheet.build_list(faults, chosen=3, title="on b1", expectation="", width=80)
    items = [item for row in built.rows if isinstance(row, fault_sheet.ItemRow) for item in row.items]
    assert sorted(item.letter for item in items) == [fault.letter for fault in faults]
    assert [item.letter for item in items if item.chosen] == ["d"]
    assert len(built.rows) < 10


# -- layout ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    width=st.integers(60, 260), height=st.integers(18, 100), partitions=st.integers(0, 60), replicas=st.integers(1, 7),
    clients=st.integers(1, 40), controllers=st.integers(0, 6),
)  # fmt: skip
def test_panes_cover_the_screen_without_overlap(width, height, partitions, replicas, clients, controllers):
    boxes = layout.plan(
        width, height, partitions=partitions, replicas=replicas, clients=clients, controllers=controllers
    )
    for box in boxes.values():
        assert box.height >= 3
        assert 0 <= box.x <= box.x + box.width <= width
        assert layout.BARS <= box.y <= box.y + box.height <= height - 1
    for box, other in combinations(boxes.values(), 2):
        beside = box.x + box.width <= other.x or other.x + other.width <= box.x
        assert beside or box.y + box.height <= other.y or other.y + other.height <= box.y
    assert sum(box.width * box.height for box in boxes.values()) == width * (height - layout.BARS - 1)


def test_the_matrix_and_the_lanes_are_always_there():
    for size in ((60, 18), (80, 24), (120, 40), (200, 60)):
        boxes = layout.plan(*size, partitions=10, replicas=3, clients=7)
        assert boxes["matrix-pane"].height >= 8
        assert boxes["lanes-pane"].height >= 7
    assert "feed-pane" in layout.plan(80, 24, partitions=10, replicas=3, clients=7)


def test_below_the_smallest_size_nothing_is_placed():
    assert layout.plan(59, 40, partitions=1, replicas=1, clients=1) == {}
    assert layout.plan(120, 17, partitions=1, replicas=1, clients=1) == {}


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_us", "text"), [(0, "00:00.000"), (53_412_999, "00:53.412"), (3_600_000_000, "1:00:00.000"), (-1, "00:00.000")]
)
def test_the_clock(at_us, text):
    assert quantities.clock(at_us) == text


@pytest.mark.parametrize(
    ("span", "text"),
    [(250, "250us"), (4_000, "4ms"), (18_200_000, "18.2s"), (185_000_000, "3m05s")],
)
def test_durations(span, text):
    assert quantities.compact_duration(span) == text


@given(st.integers(-99_999, 9_999_999_999))
def test_counts_stay_short(number):
    assert len(quantities.compact_count(number)) <= 6


def test_speeds_go_up_and_down_the_same_ladder():
    speed, ladder = frame_clock.SPEEDS[0], [frame_clock.SPEEDS[0]]
    while frame_clock.faster(speed) != speed:
        speed = frame_clock.faster(speed)
        ladder.append(speed)
    assert tuple(ladder) == frame_clock.SPEEDS
    assert frame_clock.slower(frame_clock.SPEEDS[0]) == frame_clock.SPEEDS[0]
    assert frame_clock.slower(3.0) == 2.0
    assert frame_clock.faster(3.0) == 5.0


def test_names_are_cut_to_a_few():
    assert quantities.few_names(["a", "b", "c"]) == "a, b, c"
    assert quantities.few_names(["a", "b", "c", "d", "e"]) == "a, b +3"


def test_parameters_are_reported_in_units_and_without_those_that_do_nothing():
    assert formats.parameters("lag", "latency=250000 jitter=0 direction=both") == "latency 250ms"
    told = formats.parameters("lag", "latency=2000000 jitter=5000 direction=out")
    assert told.split(", ") == ["latency 2s", "jitter 5ms", "direction out"]
    assert formats.parameters("unheard of", "x=1") == "x=1"


@pytest.mark.parametrize(("value", "text"), [(0.25, "0.25"), (1.0, "1"), (2.5, "2.5"), (1000.0, "1000")])
def test_speeds_as_text(value, text):
    assert formats.speed(value) == text


# -- choosing glyphs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "term", "encoding", "chosen"),
    [
        (None, "xterm", "UTF-8", "unicode"),
        ("auto", "xterm", "utf8", "unicode"),
        (None, "linux", "UTF-8", "ascii"),
        (None, "xterm", "ANSI_X3.4-1968", "ascii"),
        ("unicode", "linux", "ascii", "unicode"),
        ("ascii", "xterm", "UTF-8", "ascii"),
    ],
)
def test_the_glyph_set_follows_the_terminal_unless_asked(asked, term, encoding, chosen):
    assert glyphs.choose(asked, {"TERM": term}, encoding) == chosen


def test_an_unknown_glyph_set_is_refused_with_what_is_allowed(snapshot):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its whole message is compared
        glyphs.choose("emoji")
    assert str(caught.value) == snapshot
