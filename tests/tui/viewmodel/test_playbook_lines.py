"""The lines of mode playbooks as plain data: the lists, a playbook's text with its steps, what is expected."""

import json
from pathlib import Path

import pytest

from playbooks.engine.expectations import ExpectationMonitor
from playbooks.library.index import LibraryEntry
from playbooks.parser.loader import loads
from playbooks.session_format import session_files
from tests.support.playbooks import CRASH, MANUAL
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import playbook_pages
from tui.viewmodel.playbook_pages import PlaybookProgress
from tui.viewmodel.row import Row, first_shown, fitted
from tui.widgets.line_widget import row as painted

SECOND = 1_000_000
SHELF = (
    LibraryEntry("calm", "Nothing happens", "durability", ("durability", "safe"), False),
    LibraryEntry("storm", "All at once", "durability", ("durability", "loss"), False),
    LibraryEntry("trace", "Step by step", "traces", ("traces", "crash"), True),
)


def texts(rows):
    return ["".join(text for text, _role in row.pieces) for row in rows]


# -- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "at", "shown"), [(0, 0, 0), (0, 9, 5), (7, 3, 3), (4, 6, 4), (99, 6, 5), (3, 9, 5)])
def test_a_window_moves_as_little_as_can_be(first, at, shown):
    assert first_shown(first, at, 10, 5) == shown


def test_truncated_texts_end_in_an_ellipsis():
    assert [fitted("abcdef", width) for width in (9, 6, 4, 1, 0)] == ["abcdef", "abcdef", "abc…", "…", ""]


@pytest.mark.parametrize("width", [8, 20, 40])
def test_a_line_is_as_wide_as_it_should_be_and_keeps_its_end(width):
    line = painted(
        Row((("a long beginning ", "text"), ("of a line", "key")), ("end ", "quiet"), True), width, Appearance()
    )
    text = "".join(segment.text for segment in line)
    assert line.cell_length == width
    assert text.endswith("end ")
    assert ("…" in text) == (width < 31)


# -- the lists -------------------------------------------------------------------------------------------------------


def test_playbooks_stand_under_their_themes_behind_the_one_on_the_screen(snapshot):
    entries = playbook_pages.playbooks(SHELF, "mine", "")
    assert [each.key for each in entries] == ["", "", "", "calm", "storm", "", "trace"]
    assert [f"{each.text}  {each.end}".rstrip() for each in entries] == snapshot
    assert playbook_pages.choices(entries) == [1, 3, 4, 6]


def test_the_filter_leaves_what_fits_and_says_when_nothing_does(snapshot):
    assert [each.text for each in playbook_pages.playbooks(SHELF, "mine", "loss")] == ["Durability", "storm"]
    (nothing,) = playbook_pages.playbooks(SHELF, "mine", "xyz")
    assert nothing.text == snapshot
    assert playbook_pages.next_selectable((nothing,), 0, 1) == -1


@pytest.mark.parametrize(("at", "lines", "to"), [(1, 1, 3), (3, -1, 1), (4, 1, 6), (6, 5, 6), (1, -9, 1), (0, 0, 1)])
def test_headings_are_stepped_over(at, lines, to):
    assert playbook_pages.next_selectable(playbook_pages.playbooks(SHELF, "mine", ""), at, lines) == to


def test_a_list_shows_the_chosen_one_with_its_heading():
    entries = playbook_pages.playbooks(SHELF, "mine", "")
    first, rows = playbook_pages.window(entries, 3, 6, 3)
    assert first == 2
    assert texts(rows)[0] == "Durability"
    assert [row.chosen for row in rows] == [False, True, False]


# -- the text --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crash():
    return loads(CRASH, "crash.yaml")


def marked(playbook, progress):
    found = playbook_pages.marks(playbook, progress)
    lines = playbook.source.splitlines()
    return {lines[line - 1].strip(): glyph for line, (glyph, _role) in found.glyphs.items()}


def test_steps_are_done_next_or_left_out(crash):
    first, second = "- at: 2s", "- when: leader(orders-0) == 2"
    assert marked(crash, None) == {}
    assert marked(crash, PlaybookProgress(0, 0, 2 * SECOND, 0, "steps")) == {first: glyphs.PLAY}
    assert marked(crash, PlaybookProgress(1, 1, 22 * SECOND, 0, "steps")) == {first: glyphs.OK, second: glyphs.PLAY}
    assert marked(crash, PlaybookProgress(2, -1, -1, 0, "steps")) == {first: glyphs.OK, second: glyphs.OK}
    assert marked(crash, PlaybookProgress(1, -1, -1, 0, "steps")) == {first: glyphs.OK, second: glyphs.DOWN}


def test_all_lines_of_the_step_that_is_next_stand_out(crash):
    rows = playbook_pages.source(crash, PlaybookProgress(1, 1, 22 * SECOND, 0, "steps"))
    assert [text.split(None, 1)[1] for text in texts(row for row in rows if row.chosen)][1:] == [
        "within: 20s", "inject: lag", "target: broker(3)", "for: 2s",
    ]  # fmt: skip


def test_the_text_follows_the_steps_and_begins_at_the_cluster_where_none_run(crash):
    lines = crash.source.splitlines()
    running = playbook_pages.marks(crash, PlaybookProgress(1, 1, 0, 0, "steps")).running[0]
    assert playbook_pages.first_line(crash, PlaybookProgress(1, 1, 0, 0, "steps"), 9) == running - 1 - 3
    assert lines[playbook_pages.first_line(crash, None, 9)].startswith("cluster:")
    assert playbook_pages.first_line(crash, None, 99) == 0


@pytest.mark.parametrize(
    "progress",
    [
        PlaybookProgress(0, 0, 2 * SECOND, SECOND, "steps"),
        PlaybookProgress(1, 1, 22 * SECOND, 2 * SECOND, "steps"),
        PlaybookProgress(1, 1, -1, 2 * SECOND, "steps"),
        PlaybookProgress(1, -1, -1, 0, "steps"),
        PlaybookProgress(2, -1, -1, 0, "steps"),
        PlaybookProgress(2, -1, -1, 0, "settling"),
        PlaybookProgress(2, -1, -1, 0, "ended"),
    ],
    ids=["due", "waits", "waits for ever", "left out", "done", "settles", "over"],
)
def test_where_a_session_stands_is_reported(crash, progress, snapshot):
    assert playbook_pages.progress_text(crash, progress) == snapshot


def test_manual_playbooks_say_how_to_step_them(snapshot):
    rows = texts(playbook_pages.about_playbook(loads(MANUAL, "m.yaml"), None, 80, 9))
    assert rows[1].strip() == snapshot


def test_a_long_story_is_cut_where_the_room_ends(crash):
    rows = texts(playbook_pages.about_playbook(crash, PlaybookProgress(0, 0, 2 * SECOND, 0, "steps"), 20, 3))
    assert len(rows) == 3
    assert rows[-1].endswith("…")
    assert all(len(row) <= 20 for row in rows)


# -- what is expected ------------------------------------------------------------------------------------------------


class Query:
    """Answers as the test says."""

    def __init__(self, lost=0, under=0):
        self.acked_lost = lambda: lost
        self.under_min_isr = self.under_replicated = lambda: under


def stands(crash, query, healed_us=-1, at_us=None):
    watches = [ExpectationMonitor(each) for each in crash.expectations]
    if at_us is not None:
        for watch in watches:
            watch.observe(query, at_us, healed_us)
    return [playbook_pages.expectation_status(watch, query, healed_us) for watch in watches]


def test_before_anything_is_decided(crash, snapshot):
    found = stands(crash, Query())
    assert [each.state for each in found] == ["open"] * 3
    assert [each.detail for each in found] == snapshot


def test_failed_and_pending_expectations_are_distinguished(crash, snapshot):
    found = stands(crash, Query(lost=3, under=1), healed_us=SECOND, at_us=2 * SECOND)
    assert [each.state for each in found] == ["open", "fail", "open"]
    assert [each.detail for each in found] == snapshot
    assert [playbook_pages.title(found, runs=True), *texts(playbook_pages.rows((found[1],)))] == snapshot


def test_a_recovered_condition_stays_open_until_it_lasts(crash, snapshot):
    eventually = stands(crash, Query(), healed_us=SECOND, at_us=2 * SECOND)[2]
    assert eventually.state == "open"
    assert eventually.detail == snapshot


def test_a_playbook_that_expects_nothing_says_so(snapshot):
    assert [*texts(playbook_pages.rows(())), playbook_pages.title((), runs=False)] == snapshot


# -- recorded sessions -----------------------------------------------------------------------------------------------


def session(parent, name, verdict="fail", result=True):
    path = parent / f"session_id={name}"
    path.mkdir(parents=True)
    head = {
        "format": 1, "schema_version": 1, "tool_version": "1", "session_id": name, "playbook": "storm", "title": "All",
        "seed": 3, "profile": "3.9-kraft", "wall_start": "2026-01-31T10:15:00.000+00:00",
    }  # fmt: skip
    start = {**head, "live": True, "settings": {}, "topics": [], "brokers": [], "producers": [], "groups": []}
    (path / session_files.START).write_text(json.dumps(start))
    (path / session_files.PLAYBOOK).write_text("floodmark: 1\n# a remark\nname: storm\n")
    (path / session_files.ACTIONS).write_text(
        '{"verb":"inject","name":"crash","target":"broker(1)","at_us":2000000}\n{"x"\n'
    )
    if result:
        sealed = {
            **head, "wall_end": "", "virtual_us": 12 * SECOND, "events": 9, "first_seq": 0, "last_seq": 8,
            "digest": "d", "verdict": verdict, "status": "complete", "files": {},
        }  # fmt: skip
        (path / session_files.MANIFEST).write_text(json.dumps(sealed))
        told = {"expectations": [{"text": "acked_lost() == 0", "ok": verdict == "pass", "detail": "acked_lost() is 3"}]}
        (path / session_files.RESULT).write_text(json.dumps(told))
    return path


def test_sessions_stand_newest_first_with_their_verdict(tmp_path):
    old, new = session(tmp_path, "20260131T101500-a"), session(tmp_path, "20260201T101500-b", "pass")
    paths = playbook_pages.newest_first(tmp_path)
    assert paths == [new, old]
    entries = playbook_pages.entries(paths, tmp_path, old)
    rows = [playbook_pages.row(each, playbook_pages.card(Path(each.key)), 50, False) for each in entries]
    assert texts(rows) == [f"  {glyphs.OK} storm s3", f"  {glyphs.DOWN} storm s3"]
    assert [row.end[0] for row in rows] == ["2026-01-31 10:15 ", "this session "]


def test_a_narrow_line_leaves_the_seed_and_the_year_out(tmp_path):
    known = playbook_pages.card(session(tmp_path, "20260131T101500-a"))
    (entry,) = playbook_pages.entries([known.path], tmp_path, None)
    row = playbook_pages.row(entry, known, 28, True)
    assert texts([row]) == [f"{glyphs.MARKER} {glyphs.DOWN} storm"]
    assert row.end[0] == "01-31 10:15 "


def test_session_summaries_show_the_playbook(tmp_path, snapshot):
    path = session(tmp_path, "20260131T101500-a")
    about = texts(playbook_pages.about_session(playbook_pages.card(path)))[:3]
    assert [*about, *texts(playbook_pages.expected(path))] == snapshot
    told = texts(playbook_pages.text_of(path))
    assert [line.split() for line in told[:2]] == [["operator", "actions"], ["2.0s", "inject", "crash", "broker(1)"]]
    assert told[-3:] == ["floodmark: 1", "# a remark", "name: storm"]


def test_one_without_its_end_and_one_that_is_none(tmp_path, snapshot):
    torn = session(tmp_path, "20260131T101500-a", result=False)
    unsealed = [
        texts(playbook_pages.about_session(playbook_pages.card(torn)))[1],
        *texts(playbook_pages.expected(torn)),
    ]
    (torn / session_files.START).write_text("{")
    broken = texts(playbook_pages.about_session(playbook_pages.card(torn)))[1].rpartition(": ")[0]
    gone = texts(playbook_pages.text_of(tmp_path / "gone"))[0]
    assert [each.replace(str(tmp_path), "<tmp>") for each in (*unsealed, broken, gone)] == snapshot


def test_no_session_at_all_is_reported(tmp_path, snapshot):
    (none,) = playbook_pages.entries([], tmp_path, None)
    assert none.text.replace(str(tmp_path), "<tmp>") == snapshot
