"""The log microscope as plain data: cells at any scale, the cursor's window, ticks, epochs, fetches, the inspector."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from cluster_model.inspection.log_inspector import RecordCopy, RecordInspection, ReplicaLogMarkers, WrittenRecord
from cluster_model.observation.inflight_fetches import InflightFetch
from cluster_model.observation.views import BrokerView, EpochRun, GroupView, LogView, ReplicaLogView
from playbooks.model.record_contents import PeekedRecord
from tests.tui import fake_views
from tui.terminal import glyphs
from tui.viewmodel import log_view, record_inspector
from tui.viewmodel.log_view import ZOOMS, LogWindow, bounds, share, whole
from tui.viewmodel.partition_history import KEPT_ACKNOWLEDGEMENTS, LogHistory, ReplicaTruncation

BARE = ReplicaLogMarkers(1, (), (), (), 0)


def text(row):
    return "".join(piece[0] for piece in row.pieces).rstrip() + (f" | {row.end[0]}" if row.end[0] else "")


def lane(*runs, hw=100, leo=100, log_start=0, broker=1, status="in_sync"):
    made = tuple(EpochRun(*run) for run in runs)
    lost = sum(run.end - run.start for run in made if run.lost)
    diverged = sum(run.end - run.start for run in made if run.diverged and not run.lost)
    return ReplicaLogView(broker, status, leo, hw, log_start, made, lost, diverged)


def drawn(a_lane, scope, marks=BARE, hw=100, cursor=-1):
    found = log_view.pieces(log_view.Drawing(a_lane, marks, hw), scope, cursor)
    assert sum(len(piece[0]) for piece in found) == scope.size
    return "".join(piece[0] for piece in found), found


# -- cells ----------------------------------------------------------------------------------------------------------


def test_digits_are_epochs_solid_below_the_replicas_own_high_watermark():
    shown, pieces = drawn(
        lane((0, 4, 3, False, False), (4, 10, 15, False, False), hw=6, leo=10), LogWindow(size=14), hw=6
    )
    assert shown == "333355▒▒▒▒    "
    assert [role for _text, role, _over in pieces] == ["epoch3", "epoch0", "above0", "text"]


def test_a_replica_that_knows_another_high_watermark_than_its_leader_has_a_tick_there():
    shown, _pieces = drawn(lane((0, 10, 3, False, False), hw=6, leo=10), LogWindow(size=12), hw=9)
    assert shown == f"333333{glyphs.OWN_HW}▒▒▒  "
    shown, _pieces = drawn(lane((0, 4, 3, False, False), hw=8, leo=4), LogWindow(size=12), hw=9)
    assert shown == f"3333    {glyphs.OWN_HW}   "
    shown, _pieces = drawn(lane((0, 4, 3, False, False), hw=8, leo=4), LogWindow(size=12), hw=-1)
    assert glyphs.OWN_HW not in shown


def test_lost_and_diverged_offsets_take_precedence():
    shown, _pieces = drawn(
        lane((0, 3, 4, False, False), (3, 5, 4, True, False), (5, 8, 4, True, True)), LogWindow(size=9)
    )
    assert shown == "444╳╳††† "


def test_the_worst_of_a_cell_is_shown_at_any_scale():
    marked = replace(BARE, holes=((20, 30),))
    a_lane = lane(
        (0, 20, 1, False, False),
        (30, 55, 1, False, False),
        (55, 56, 1, True, True),
        (56, 70, 1, True, False),
        (70, 95, 2, False, False),
        hw=90,
        leo=95,
    )
    assert drawn(a_lane, LogWindow(zoom=10, size=12), marked, hw=90)[0] == "11_11†╳22▒  "
    assert drawn(a_lane, LogWindow(zoom=5, size=20), marked, hw=90)[0] == "1111__11111†╳╳2222▒ "
    assert drawn(a_lane, LogWindow(zoom=100, size=10), marked, hw=90)[0] == "†         "
    assert drawn(a_lane, LogWindow(zoom=10, start=50, size=3), marked, hw=90)[0] == "†╳2"


def test_markers_and_open_transactions_are_written_over_sound_cells():
    marked = replace(BARE, control=((4, 5), (9, 10)), open=((6, 9),))
    shown, pieces = drawn(lane((0, 10, 2, False, False), leo=10), LogWindow(size=10), marked)
    assert shown == "2222c2[2]c"
    assert {role for _text, role, _over in pieces} == {"epoch2"}
    shown, _pieces = drawn(lane((0, 10, 2, True, False), leo=10), LogWindow(size=10), marked)
    assert shown == glyphs.DIVERGED * 10


def test_the_start_of_a_log_has_a_tick_before_it():
    shown, _pieces = drawn(lane((5, 9, 0, False, False), leo=9, log_start=5), LogWindow(size=12))
    assert shown == "    ╎0000   "
    assert drawn(lane((4, 9, 0, False, False), leo=9, log_start=4), LogWindow(start=4, size=8))[0] == "00000   "


def test_a_log_that_lies_elsewhere_says_where(snapshot):
    before = drawn(lane(leo=40, hw=40), LogWindow(start=100, size=20), hw=40)[0].rstrip()
    behind = drawn(lane(leo=90, log_start=80, hw=90), LogWindow(size=20), hw=90)[0].rstrip()
    empty = drawn(lane(leo=0, hw=0), LogWindow(size=20), hw=0)[0].rstrip()
    assert drawn(lane(leo=40, hw=40), LogWindow(start=100, size=5), hw=40)[0] == before[:5]
    assert [before, behind, empty] == snapshot


def test_the_cursor_is_one_cell_of_its_own():
    _shown, pieces = drawn(lane((0, 10, 2, False, False), leo=10), LogWindow(size=10), cursor=4)
    assert [(piece[0], piece[2]) for piece in pieces] == [("2222", ""), ("2", "cell"), ("22222", "")]


@pytest.mark.parametrize("zoom", ZOOMS)
def test_every_lane_is_as_long_as_the_window_at_every_scale(zoom):
    for start in (0, zoom * 3):
        for each in fake_views.log(0, 1 << 30).lanes:
            drawn(each, LogWindow(zoom=zoom, start=start, size=31), hw=134, cursor=3)


# -- where it points ------------------------------------------------------------------------------------------------


def test_it_follows_the_newest_record_of_the_replica_pointed_at():
    partition = fake_views.partition()
    scope, at = LogWindow().over(partition, 1, 40)
    assert (at, scope.offset) == (99, None)
    assert 0 <= scope.cell(at) < 40
    behind = replace(partition, replicas=(fake_views.replica(1, "leader"), fake_views.replica(2, "lagging", leo=13)))
    scope, at = LogWindow().over(behind, 2, 40)
    assert at == 12
    assert 0 <= scope.cell(12) < 40


def test_the_window_moves_no_more_than_it_must():
    partition = fake_views.partition()
    scope, at = LogWindow(offset=50, start=40).over(partition, 1, 20)
    assert (scope.start, at) == (40, 50)
    scope, at = scope.at(59).over(partition, 1, 20)
    assert (scope.start, at) == (40, 59)
    scope, at = scope.at(60).over(partition, 1, 20)
    assert scope.start == 54
    assert scope.around(30).over(partition, 1, 20)[0].start == 20


def test_an_offset_that_is_not_there_any_more_or_not_yet_is_not_pointed_at():
    partition = fake_views.partition()
    assert LogWindow(offset=5_000, start=4_990).over(partition, 1, 20)[1] == 99
    late = replace(partition, replicas=tuple(replace(each, log_start=60) for each in partition.replicas))
    assert LogWindow(offset=5).over(late, 1, 20)[1] == 60
    empty = replace(partition, replicas=tuple(replace(each, leo=0, hw=0) for each in partition.replicas))
    assert bounds(empty) == (0, 0)
    assert LogWindow().over(empty, 1, 20)[1] == 0
    assert bounds(replace(partition, replicas=())) == (0, 0)


def test_the_scale_changes_around_the_cursor():
    partition = fake_views.partition()
    scope, at = LogWindow(offset=80, start=70).over(partition, 1, 20)
    wider = scope.zoomed(1, at)
    assert (wider.zoom, wider.cell(80)) == (2, 10)
    assert scope.zoomed(99, at).zoom == ZOOMS[-1]
    assert scope.zoomed(-1, at).zoom == 1
    assert wider.zoomed(-1, at).start == 70
    for steps in range(len(ZOOMS)):
        shown, where = scope.zoomed(steps, at).over(partition, 1, 20)
        assert where == 80
        assert 0 <= shown.cell(80) < 20
        assert shown.start % shown.zoom == 0


# -- lines ----------------------------------------------------------------------------------------------------------


def sight(log=None, partition=None, cuts=(), broker=2, offset=125, marks=None):
    log = log or fake_views.log()
    marks = marks or tuple(ReplicaLogMarkers(each.broker, (), (), (), each.hw) for each in log.lanes)
    partition = partition or fake_views.partition("orders-3", leader=2, isr=(2, 3))
    return log_view.MicroscopeInput(partition, log, marks, cuts, broker, offset)


def built(width=78, height=8, **more):
    shape = log_view.columns(width)
    return log_view.build_microscope(sight(**more), LogWindow(start=90, size=shape.cells), shape, height)


def test_lanes_show_where_they_end_and_how_far_from_the_leader_and_the_isr_in_words(snapshot):
    rows = built(width=198)
    lanes = [row for row in rows if isinstance(row, log_view.LaneRow)]
    assert [row.broker for row in lanes] == [2, 3, 1]
    assert [(row.word, row.note) for row in lanes] == snapshot
    assert [row.odd for row in lanes] == ["", "", "╳5 †4"]
    assert [row.selected for row in lanes] == [True, False, False]
    assert built(width=78)[2].note == "LEO 136 −3"


def test_replicas_that_do_not_run_are_distinguished_from_the_isr(snapshot):
    log = fake_views.log()
    down = replace(log.lanes[1], status="down")
    differs = replace(log.lanes[2], status="diverged")
    lagging = replace(log.lanes[2], status="lagging")
    words = [built(log=replace(log, lanes=(log.lanes[0], each)))[2].word for each in (down, differs, lagging)]
    split = replace(fake_views.partition("orders-3", leader=2, isr=(2,)), leaders=(1, 2))
    assert [*words, built(partition=split)[3].word] == snapshot


def test_the_newest_truncation_is_reported(snapshot):
    assert built()[-1] == log_view.LogTextRow(log_view.TRUNCATED, "quiet")
    cuts = (
        ReplicaTruncation(52_900_000, 1, 121, 130, "epoch end"),
        ReplicaTruncation(3_000_000, 3, 5, 6, "high watermark"),
    )
    assert built(cuts=cuts)[-1].text == snapshot


def test_ticks_stand_below_their_cells_and_give_way_to_each_other():
    shape = log_view.columns(198)
    scope = LogWindow(start=90, size=shape.cells)

    def line(**more):
        return "".join(piece[0] for piece in log_view.ticks(sight(**more), scope, shape))

    assert line() == " " * 31 + "▲fork 121" + " " * 4 + "▲HW 134"
    marks = tuple(ReplicaLogMarkers(each, (), (), (), 98) for each in (2, 3, 1))
    assert line(marks=marks) == " " * 8 + "△LSO 98" + " " * 16 + "▲fork 121" + " " * 4 + "▲HW 134"
    marks = tuple(ReplicaLogMarkers(each, (), (), (), 132) for each in (2, 3, 1))
    assert "LSO" not in line(marks=marks)
    early = replace(fake_views.log(), hw=12)
    assert line(log=early).startswith("◂HW 12")
    late = replace(fake_views.log(), hw=5_000)
    assert line(log=late).endswith("HW 5000▸")
    nobody = replace(fake_views.log(), hw=-1, lanes=())
    assert line(log=nobody) == ""


@pytest.mark.parametrize("offset", range(90, 136, 3))
def test_the_ruler_names_the_cursors_offset_and_is_as_long_as_the_window(offset):
    pieces = log_view.ruler(LogWindow(start=90, size=46), offset)
    line = "".join(piece[0] for piece in pieces)
    assert len(line) == 46
    assert pieces[1][0].strip(glyphs.MORE_BELOW) == str(offset)
    at = offset - 90
    assert line[at] == glyphs.MORE_BELOW or line.index(glyphs.MORE_BELOW) == at
    numbers = {
        each for each in line.replace(glyphs.RULE, " ").replace(glyphs.MORE_BELOW, " ").split() if each.isdigit()
    }
    assert numbers <= {"100", "120", str(offset)}


def test_the_ruler_counts_in_the_scale(snapshot):
    line = "".join(piece[0] for piece in log_view.ruler(LogWindow(zoom=50, start=0, size=45), 50))
    assert "┊1000" in line
    assert "▾50" in line
    assert [log_view.scale(LogWindow(zoom=50)), log_view.scale(LogWindow())] == snapshot


def test_where_there_is_little_room_the_lane_of_the_cursor_stays():
    rows = built(height=4, broker=1)
    assert [row.broker for row in rows if isinstance(row, log_view.LaneRow)] == [1]
    rows = built(height=5, broker=2)
    assert [row.broker for row in rows if isinstance(row, log_view.LaneRow)] == [2, 3]
    assert len(built(height=1)) == 1


@pytest.mark.parametrize("width", range(40, 251, 7))
def test_column_widths_add_up_to_the_line(width):
    shape = log_view.columns(width)
    assert shape.cells >= 10
    assert sum(shape) == max(width, shape.label + shape.note + 10)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 44), (0, 45), (7, 5_000), (3, 10_000_000), (90, 91)])
def test_the_whole_log_fits_into_its_window(first, last):
    replicas = (fake_views.replica(1, leo=last + 1, log_start=first), fake_views.replica(2, leo=5))
    scope = whole(fake_views.partition(replicas=replicas), 46)
    assert scope.start <= first
    assert 0 <= scope.cell(last) < 46


def test_the_whole_log_is_shown_with_the_same_lanes(snapshot):
    shape = log_view.columns(78)
    scope = LogWindow(zoom=5, size=shape.cells)
    rows = log_view.overview(sight(log=fake_views.log(0, 300)), scope, shape, LogWindow(start=90, size=46))
    assert rows[1].text == snapshot
    lanes = rows[3:]
    assert [row.broker for row in lanes] == [2, 3, 1]
    assert {(row.note, row.odd) for row in lanes} == {("", "")}
    assert "†" in "".join(piece[0] for piece in lanes[2].cells)


@pytest.mark.parametrize(("size", "replicas"), [((60, 18), 3), ((80, 24), 3), ((80, 24), 9), ((200, 60), 5)])
def test_panes_fill_the_terminal(size, replicas):
    shares = share(*size, replicas)
    body = size[1] - 3
    assert shares.lanes + 7 <= body or shares.lanes == 6
    assert 3 <= shares.epochs <= body - shares.lanes - 3
    assert (shares.side_columns == 0) == (size[0] < 72)


# -- epochs ---------------------------------------------------------------------------------------------------------


def test_epochs_that_a_replica_has_otherwise_than_the_leader_are_marked():
    caches = {1: ((3, 0), (4, 104)), 2: ((3, 0), (5, 121)), 3: ((3, 0),)}
    replicas = tuple(
        fake_views.replica(broker, "leader" if broker == 2 else "in_sync", epochs=cache)
        for broker, cache in caches.items()
    )
    partition = fake_views.partition("orders-3", leader=2, replicas=replicas)
    rows = log_view.build_epochs(partition, 1, 31, 9)
    assert [text(row).split() for row in rows] == [
        ["epoch", "b1", "b2", "b3"], ["3", "0", "0", "0"], ["4", "╳104", "·", "·"], ["5", "·", "121", "·"],
    ]  # fmt: skip
    assert rows[2].pieces[1][1] == "diverged"
    nobody = log_view.build_epochs(replace(partition, leader=-1), 1, 31, 9)
    assert glyphs.DIVERGED not in "".join(map(text, nobody))


def test_many_epochs_and_replicas_are_cut_to_the_room_the_newest_and_the_cursors_stay():
    cache = tuple((epoch, epoch * 10) for epoch in range(30))
    replicas = tuple(fake_views.replica(broker, epochs=cache) for broker in range(1, 8))
    partition = fake_views.partition(leader=1, replicas=replicas)
    rows = log_view.build_epochs(partition, 7, 31, 6)
    assert len(rows) == 6
    assert text(rows[0]).split() == ["epoch", "b1", "b2", "b7", "+4"]
    assert text(rows[1]) == "26 older ▴"
    assert text(rows[-1]).split()[0] == "29"
    blank = fake_views.partition(replicas=(fake_views.replica(1, epochs=()),))
    assert text(log_view.build_epochs(blank, 1, 31, 6)[0]) == log_view.NO_EPOCHS


# -- fetches --------------------------------------------------------------------------------------------------------

BASE = InflightFetch(3, 1, "waits", offset=136, sent_us=53_408_000, until_us=53_908_000)


WIRES = (
    BASE,
    replace(BASE, state="request"),
    replace(BASE, state="request", offset=-1),
    replace(BASE, state="reply", records=3, hw=134),
    replace(BASE, state="reply"),
    replace(BASE, state="reply", records=0, error=6),
    replace(BASE, state="busy", records=1, hw=1),
    replace(BASE, state="request_cut"),
    replace(BASE, state="reply_cut"),
    replace(BASE, state="request_held"),
    replace(BASE, state="reply_held"),
    replace(BASE, state="unanswered"),
    replace(BASE, state="request", question="epoch end"),
    replace(BASE, state="pauses", sent_us=-1),
    replace(BASE, leader=2, state="request"),
    InflightFetch(3, -1, "none"),
)


def test_a_fetch_is_reported_in_words(snapshot):
    rows = log_view.build_fetches(WIRES, fake_views.partition(), fake_views.view())
    assert len(rows) == len(WIRES)
    assert [(wire.state, text(row)) for wire, row in zip(WIRES, rows, strict=True)] == snapshot


def test_a_follower_that_does_not_run_says_so_and_a_lonely_leader_too(snapshot):
    down = fake_views.view(brokers=0)
    down = replace(down, brokers=(BrokerView(3, "", "down", True, 0, ()),))
    (row,) = log_view.build_fetches((InflightFetch(3, -1, "none"),), fake_views.partition(), down)
    assert text(row) == snapshot
    assert text(log_view.build_fetches((), fake_views.partition(), down)[0]) == log_view.NO_FETCHES


# -- inspector ------------------------------------------------------------------------------------------------------

RECORD = WrittenRecord(
    "orders-3", 124, 4, 1, "checkout", 120, 1000, -1, 31_900_000, 31_913_000, True, "user-8812", False, "", 3, 412,
    (1,), "",
)  # fmt: skip
HELD = (
    RecordCopy(1, "holds", False, True),
    RecordCopy(2, "other", False, False),
    RecordCopy(3, "behind", False, False),
)
KNOWN = RecordInspection(RECORD, 2, 122, "records", 0, 7, True, "", HELD)
PLACE = record_inspector.RecordPosition("orders-3", 124, 1, 2)
NO_GROUP = record_inspector.OffsetReaders((), ())


def seen(record=RECORD, value='{"total": 41.90}', size=130, acked_us=31_915_500, **more):
    return record_inspector.InspectedRecord(
        PeekedRecord(record, value, size), replace(KNOWN, record=record, **more), acked_us
    )


def told(*found, read=NO_GROUP, room=(80, 40), place=PLACE):
    return [text(row) for row in record_inspector.build(found, HELD, place, read, room)]


def labelled(lines, label):
    """The line of a record that has a label."""
    (line,) = [line for line in lines if line.startswith(label)]
    return line


def test_a_record_is_reported_whole(snapshot):
    assert told(seen()) == snapshot


def test_the_records_outcome_comes_first(snapshot):
    on_leader = PLACE._replace(leader=1)
    lost = replace(RECORD, holders=(), gone="truncated")
    became = {
        "on the leader": told(seen(), place=on_leader),
        "not committed": told(seen(committed=False), place=on_leader),
        "not on the replica pointed at": told(seen(), place=PLACE._replace(broker=3, leader=1)),
        "lost": told(seen(lost)),
        "truncated": told(seen(replace(lost, acked=False))),
        "compacted": told(seen(replace(lost, gone="compacted"))),
        "no leader": told(seen(), place=PLACE._replace(leader=-1)),
    }
    assert {name: lines[0] for name, lines in became.items()} == snapshot


def test_acknowledgements_are_reported_as_far_as_they_are_known(snapshot):
    records = (
        seen(acked_us=-1),
        seen(replace(RECORD, acked=False)),
        seen(replace(RECORD, acks=0), acked_us=-1),
    )
    assert [labelled(told(each), "acked") for each in records] == snapshot


def test_transactions_and_markers_are_reported(snapshot):
    transactions = [told(seen(kind="transactional", transaction=state))[-1] for state in ("open", "aborted")]
    marker = told(seen(replace(RECORD, client="", acked=False), kind="commit marker", sequence=-1))
    assert [*transactions, labelled(marker, "marker")] == snapshot
    assert not [line for line in marker if line.startswith(("key", "value"))]


def test_groups_that_read_the_topic_say_how_far_they_are(snapshot):
    billing = GroupView("billing", ("orders",), 2, 150, 12, (), committed=(("orders-3", 130), ("orders-1", 5)))
    audit = GroupView("audit", ("orders",), 1, 0, 0, (), committed=(("orders-3", 124),))
    other = GroupView("other", ("payments",), 1, 0, 0, ())
    read = record_inspector.readers(fake_views.view(groups=(billing, audit, other)), "orders-3", ["billing"])
    assert labelled(told(seen(), read=read), "read by") == snapshot


def test_all_records_of_an_offset_learn_that_of_the_replica_first_then_the_newest():
    first = replace(RECORD, epoch=1, holders=(), gone="truncated")
    second = replace(RECORD, epoch=4, holders=(1,))
    third = replace(RECORD, epoch=5, holders=(2,))
    lines = told(seen(first), seen(second), seen(third))
    assert [line.split(",")[0] for line in lines if line.startswith("epoch")] == [
        "epoch 4", "epoch 5", "epoch 1 † acknowledged",
    ]  # fmt: skip


def test_narrow_panes_have_replicas_in_few_words_and_say_what_is_left_out(snapshot):
    lines = told(seen(), room=(45, 9))
    assert len(lines) == 9
    long = told(seen(value="x" * 300), room=(45, 40))
    assert max(map(len, long)) <= 45
    assert f"value    {'x' * 33}…" in long
    gone = told(seen(replace(RECORD, holders=(), gone="deleted")), room=(45, 40))
    assert [*lines[7:], labelled(gone, "held by")] == snapshot


def test_an_offset_where_nothing_was_written_says_so(snapshot):
    assert told() == snapshot


# -- what a log does not tell later ---------------------------------------------------------------------------------


def acked(offset, count=1, at_us=5, log_branch=2, partition="t-0"):
    return SimpleNamespace(
        kind="records_acked", partition=partition, log_branch=log_branch, log_offset=offset, count=count, at_us=at_us
    )


def test_the_book_knows_when_a_record_was_acknowledged():
    book = LogHistory()
    book.take([acked(0, 5, 100), acked(5, 2, 200), acked(5, 2, 300, log_branch=3), acked(9, 1, 7, log_branch=-1)])
    assert [book.acked_us("t-0", 2, offset) for offset in (0, 4, 5, 6, 7)] == [100, 100, 200, 200, -1]
    assert book.acked_us("t-0", 3, 5) == 300
    assert book.acked_us("t-0", -1, 9) == book.acked_us("x-0", 2, 0) == -1
    book.take([SimpleNamespace(kind="partition_deleted", partition="t-0")])
    assert book.acked_us("t-0", 2, 0) == -1


def test_the_book_keeps_a_bounded_number():
    book = LogHistory()
    book.take(acked(offset, at_us=offset) for offset in range(KEPT_ACKNOWLEDGEMENTS + 10))
    assert book.acked_us("t-0", 2, 9) == -1
    assert book.acked_us("t-0", 2, 10) == 10


def test_the_book_reports_truncations_up_to_a_time_the_newest_first():
    book = LogHistory()
    cut = SimpleNamespace(
        kind="truncated", partition="t-0", broker=1, log_offset=5, end_offset=9, at_us=100, rule="epoch end"
    )
    nothing = SimpleNamespace(**{**vars(cut), "log_offset": 9})
    later = SimpleNamespace(**{**vars(cut), "at_us": 200, "broker": 2})
    book.take([cut, nothing, later])
    assert [each.broker for each in book.truncations("t-0", 500)] == [2, 1]
    assert book.truncations("t-0", 150) == (ReplicaTruncation(100, 1, 5, 9, "epoch end"),)
    assert book.truncations("t-1", 500) == ()


def test_a_log_without_replicas_still_has_a_ruler():
    log = LogView("orders-3", 90, 150, -1, -1, ())
    rows = built(log=log, marks=())
    assert isinstance(rows[0], log_view.MarksRow)
    assert not [row for row in rows if isinstance(row, log_view.LaneRow)]
