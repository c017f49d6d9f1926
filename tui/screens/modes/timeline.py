"""Timeline mode: events by lane over time, and time spans that are summarised and exported."""

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from cluster_model.util.quantities import compact_count
from tui.keybindings.keymap import key_of
from tui.keybindings.scopes import LANES as LANE_KEYS
from tui.keybindings.scopes import bindings_of
from tui.screens.base import ModeScreen
from tui.session.background_tasks import findings_so_far, recording_of
from tui.session.session_controller import RailCache, SessionController, reach_us
from tui.terminal import glyphs
from tui.terminal.theme import Appearance
from tui.viewmodel import clipboard_text
from tui.viewmodel.row import Row
from tui.viewmodel.timeline import branches, selection, timeline_rows
from tui.viewmodel.timeline.branches import BranchLine
from tui.viewmodel.timeline.event_text import LANES, nodes_of
from tui.viewmodel.timeline.selection import MarkFinding, Span, SpanSummary, between
from tui.viewmodel.timeline.timeline_rows import (
    LOAD,
    Drawer,
    LaneColumn,
    TimelineView,
    Window,
    around,
    column_rates,
    fit,
    unit_text,
    zoomed,
)
from tui.widgets import tooltips
from tui.widgets.panes import Pane, SidePane
from tui.widgets.timeline import TimeLanes

Ends = tuple[int, int]
"""End of a span, which is a mark or a column: its own start and end time."""
SPAN_S = 12
"""Seconds that the message about an exported span is shown."""


def ends_of(stop: LaneColumn) -> Ends:
    """Return a mark as an end of a span."""
    return stop.first_us, stop.last_us + 1


ALL: tuple[str, ...] = (*LANES, LOAD)
BARS = 3
"""Lines of the status bar and of the mode bar."""
KEYS_WORDS = (
    f"{{timeline_left}} {{timeline_right}} mark {glyphs.NOTHING} {{timeline_up}} {{timeline_down}} lane"
    f" {glyphs.NOTHING} {{timeline_go}} go there {glyphs.NOTHING} {{timeline_nearer}} {{timeline_farther}}"
    " {timeline_whole} zoom"
)
MORE_WORDS = (
    f"{KEYS_WORDS} {glyphs.NOTHING} {{timeline_page_up}} {{timeline_page_down}} scroll {glyphs.NOTHING}"
    f" {{timeline_back}} {{timeline_right}} 1 s {glyphs.NOTHING} {{timeline_follow}} follow"
)
SPAN_WORDS = (
    f"{{timeline_left}} {{timeline_right}} move its end by marks {glyphs.NOTHING} {{timeline_back}} {{timeline_right}}"
    f" by a column {glyphs.NOTHING} {{timeline_export}} export {glyphs.NOTHING} esc"
)
LANE_WORDS = f"{''.join(f'{{timeline_lane_{lane}}}' for lane in LANE_KEYS)} lanes"


class TimelineScreen(ModeScreen):
    """Timeline mode: lanes over time, and details of the selected mark."""

    MODE = "timeline"
    SCOPE = "timeline"
    CHANGES = ModeScreen.CHANGES | {"export_span"}
    HINTS = (
        "{fault} fault there", "{timeline_span} span", "{undo} undo", "{what_if} what if", "{help} help",
        "{timeline_export} export", LANE_WORDS, "{bookmark} bookmark",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("timeline")

    def __init__(self, appearance: Appearance, session_controller: SessionController) -> None:
        super().__init__(appearance, session_controller)
        self._ends: tuple[Ends, Ends] | None = None
        """Fixed end and moving end of the selected span."""
        self._summary: SpanSummary | None = None
        self.lanes = TimeLanes(appearance, "timeline-lanes")
        self._pane = Pane(self.lanes, appearance, title="Timeline", id="timeline-mode-pane")
        self.page = SidePane(appearance, "timeline-page")
        self._page_pane = Pane(self.page, appearance, title="Events", id="timeline-page-pane")
        self._drawer = Drawer()
        self._lane_lines = 0
        self._hidden: tuple[str, ...] = ()
        self._unit_us = 0
        """Duration of a column; 0: the whole session fits."""
        self._window: Window | None = None
        self._scrolled = False
        """Whether the window was scrolled manually, and does not follow time."""
        self.selected: tuple[str, int] | None = None
        """Lane and time of the selected mark."""
        self.rail = ""
        """Letter of the branch whose rail is selected, empty for none."""
        self._findings: tuple[tuple[object, ...], list[MarkFinding]] | None = None
        self._branch = session_controller.branches.current
        self._railing = RailCache()
        self._rails: tuple[BranchLine, ...] = ()
        self.lanes.printer = tooltips.of_timeline(self.lanes, session_controller, self.shown, lambda: self._rails)

    @property
    def span(self) -> Span | None:
        """Selected span, clipped to the session."""
        if self._ends is None:
            return None
        session = self.session_controller.session
        return between(*self._ends).within(session.timeline.first_us, session.present_us)

    def span_rows(self, span: Span, room: tuple[int, int]) -> tuple[Row, ...]:
        """Return the summary of the span, counted again only when it changes."""
        events = self.session_controller.notable_events(span.start_us, span.end_us - 1, selection.COUNTED + 1)
        if self._summary is None or (self._summary.span, self._summary.events) != (
            span,
            min(len(events), selection.COUNTED),
        ):
            self._summary = selection.summarise_span(span, events, self.session_controller.tape.load)
        return selection.build_span(self._summary, events, room)

    def action_span(self) -> None:
        """Start a span at the selected mark or the time shown; if there is one, drop it."""
        if self._ends is not None:
            self._ends = None
            self.present()
            return
        stop = self.stop(self.shown())
        here = self.column_ends(self.session_controller.view.now_us) if stop is None else ends_of(stop)
        self._ends = here, here
        self.present()

    def span_to(self, end: Ends) -> None:
        """Move the moving end of the span, if there is one."""
        if self._ends is not None:
            self._ends = self._ends[0], end

    def column_ends(self, at_us: int) -> Ends:
        """Return start and end time of the column of a time."""
        unit_us = self.shown().window.unit_us
        start_us = at_us // unit_us * unit_us
        return start_us, start_us + unit_us

    async def action_nudge(self, columns: int) -> None:
        """Move the end of the span by one column; without a span, move time by one second."""
        if self._ends is None:
            await self.action_main(f"second({columns})")
            return
        unit_us = self.shown().window.unit_us
        start_us, _end_us = self.column_ends(self._ends[1][0])
        start_us = min(max(0, start_us + columns * unit_us), self.session_controller.session.present_us)
        self.span_to(self.column_ends(start_us))
        self.present()

    async def leave(self) -> None:
        """Drop the span; without one, return to the cluster."""
        if self._ends is None:
            await super().leave()
            return
        self._ends = None
        self.present()

    def action_export_span(self) -> None:
        """Write the events of the span to a file beside the recording."""
        span, recorder = self.span, getattr(self.app, "recorder", None)
        path = recording_of(self.session_controller.session.recorded, recorder)
        if span is None:
            self.main.toast("no span selected: v starts one, or drag over the lanes; E exports the whole session")
        elif path is None:
            self.main.toast("this session is not recorded, so no span can be exported", "warning")
        else:
            self.run_worker(self._export(path, recorder, span), group="span", exclusive=True, exit_on_error=False)

    async def _export(self, path: Any, recorder: Any, span: Span) -> None:
        from tui.session.background_tasks import export_span  # noqa: PLC0415 - seldom wanted

        text, good = await export_span(path, recorder, span)
        self.main.toast(text, "information" if good else "error", seconds=SPAN_S)

    def on_time_lanes_spanned(self, message: TimeLanes.Spanned) -> None:
        """Select the dragged span."""
        window = self.shown().window
        first_us, last_us = ((window.first + column) * window.unit_us for column in (message.first, message.column))
        self._ends = self.column_ends(first_us), self.column_ends(last_us)
        self.present()

    def body(self) -> list[Widget]:
        """Return the lanes, and the details below."""
        return [self._pane, self._page_pane]

    # -- showing ----------------------------------------------------------------------------------------------------

    def resized(self) -> None:
        """Reset the height of the lanes."""
        self._lane_lines = 0

    def show(self) -> None:
        """Draw the lanes that changed, and the details."""
        self._rails = self._railing.rails(self.session_controller)
        forks = branches.window(self._rails, max(2, self.size.height // 8), self.rail)
        lines = self._lines()
        if lines * len(LANES) + len(forks) != self._lane_lines:
            self._lane_lines = lines * len(LANES) + len(forks)
            self._pane.styles.height = self._lane_lines + 5
        shown = self.shown()
        drawn = self._drawer.rows(self.session_controller.tape, shown, ALL, lines, keys=self._letters())
        self.lanes.show((*drawn, *branches.rail_rows(forks, shown, self.rail)))
        unit = unit_text(shown.window.unit_us)
        peak = self._peak(shown)
        load = f" {glyphs.NOTHING} peak load {compact_count(peak)}/s" if peak else ""
        more = self.keyed(MORE_WORDS)
        many = f" {glyphs.NOTHING} {len(forks)} of {len(self._rails)} branches" if len(forks) < len(self._rails) else ""
        words = more if self.size.width > len(more) + 6 else self.keyed(KEYS_WORDS)
        self._pane.caption(f"Timeline {glyphs.NOTHING} 1 column = {unit}{load}{many}", words)
        self.page.show(self._page_rows(shown))

    def _letters(self) -> dict[str, str]:
        """Return the key of each lane."""
        return {lane: self.keyed(f"{{timeline_lane_{lane}}}") for lane in LANE_KEYS}

    def _lines(self) -> int:
        """Return the number of lines per lane of marks: more on tall terminals."""
        return max(1, min(3, (self.size.height - BARS) // 14))

    def shown(self) -> TimelineView:
        """Return the current view; the window follows the time shown."""
        session_controller, columns = self.session_controller, self.lanes.columns
        if session_controller.branches.current is not self._branch:
            self._begin_anew()
        now_us, present_us = session_controller.view.now_us, session_controller.session.present_us
        widest_us = self._widest_us()
        unit_us = min(self._unit_us or widest_us, widest_us)
        window = self._window
        if unit_us == widest_us:
            window, self._scrolled = Window(unit_us, 0, columns), False
        elif window is not None and self._scrolled:
            window = Window(unit_us, window.first, columns)
        else:
            window = around(self._in_sight_us(now_us), unit_us, columns, window)
        self._window = window
        lanes = tuple(name for name in ALL if name not in self._hidden)
        span = self.span
        chosen = (window.column(span.start_us), window.column(span.end_us - 1)) if span is not None else None
        return TimelineView(window, now_us, present_us, lanes, None if self.rail else self.selected, chosen)

    def _begin_anew(self) -> None:
        """Reset the selection after a switch of branches."""
        self._branch = self.session_controller.branches.current
        self.selected, self.rail, self._ends, self._findings = None, "", None, None

    def _widest_us(self) -> int:
        """Return the duration of a column if the whole session and its branches fit."""
        return fit(max(self.session_controller.session.present_us, reach_us(self._rails, 0)), self.lanes.columns)

    def _in_sight_us(self, now_us: int) -> int:
        """Return the time that stays visible: the end of a span, the selected mark, or the time shown."""
        if self._ends is not None:
            return self._ends[1][0]
        return self.selected[1] if self.selected else now_us

    def _peak(self, shown: TimelineView) -> int:
        if LOAD in self._hidden:
            return 0
        return max(column_rates(self.session_controller.tape.load, shown.window, shown.present_us), default=0)

    def _page_rows(self, shown: TimelineView) -> tuple[Row, ...]:
        width, height = self.page.size
        span = self.span
        if span is not None:
            self._page_pane.caption("Selected span", self.keyed(SPAN_WORDS))
            return self.span_rows(span, (width, height))
        rail = self._chosen_rail()
        if rail is not None:
            self._page_pane.caption(
                "Selected branch", "" if rail.branch.shown else self.keyed("{timeline_go}: switch to it")
            )
            return branches.about_rail(rail, width)[:height]
        stop = self.stop(shown)
        if stop is None:
            self._page_pane.caption("Events")
            lines = self.session_controller.feed.lines(height, width)
            return tuple(selection.event_row(line) for line in lines)
        happened = self.session_controller.notable_events(stop.first_us, stop.last_us, selection.EVENTS_READ)
        events = selection.events_of_stop(happened, stop)
        later = self.session_controller.notable_events(stop.last_us + 1, shown.present_us, max(0, height))
        key = key_of("finding", self.main.keys)
        rows = selection.build_mark(stop, events, self._findings_of(stop, events), later, width, key)
        there = self.keyed(f"{{timeline_go}}: {'back to the present' if self._is_there(stop) else 'go there'}")
        self._page_pane.caption("Selected mark", there)
        return rows[:height]

    def stop(self, shown: TimelineView) -> LaneColumn | None:
        """Return the selected mark."""
        if self.selected is None:
            return None
        return timeline_rows.stop_at(self.session_controller.tape, *self.selected, shown.window.unit_us)

    def _findings_of(self, stop: LaneColumn, events: list[Any]) -> list[MarkFinding]:
        """Return the findings of a mark, computed once per mark and time as that is slow."""
        session_controller = self.session_controller
        still_us = session_controller.view.now_us if session_controller.paused else -1
        state = (stop.lane, stop.first_us, stop.times, still_us, session_controller.chronicle.losses)
        if self._findings is None or self._findings[0] != state:
            self._findings = (state, selection.findings_about(findings_so_far(session_controller), events))
        return self._findings[1]

    def _is_there(self, stop: LaneColumn) -> bool:
        return self.session_controller.session.in_past and self.session_controller.view.now_us == stop.at_us

    def under_cursor(self) -> tuple[str, str]:
        """Return the selected mark with all details."""
        shown = self.shown()
        stop = self.stop(shown) if self.chosen_pane in ("", "timeline-mode-pane") else None
        if stop is None:
            return "", ""
        happened = self.session_controller.notable_events(stop.first_us, stop.last_us, selection.EVENTS_READ)
        events = selection.events_of_stop(happened, stop)
        rows = selection.build_mark(stop, events, self._findings_of(stop, events), [], clipboard_text.CELLS)
        return "the mark", clipboard_text.plain_text(rows)

    # -- keys -------------------------------------------------------------------------------------------------------

    def action_mark(self, forward: int) -> None:
        """Select the next mark of any lane."""
        self.rail = ""
        self._select(timeline_rows.step(self.session_controller.tape, self.shown(), forward), "no further mark")

    def action_across(self, down: int) -> None:
        """Select the nearest mark of another lane, or a branch below the lanes."""
        stop = None if self.rail else timeline_rows.across(self.session_controller.tape, self.shown(), down)
        letters = [each.branch.letter for each in self._rails]
        if stop is not None or not letters or (not self.rail and down < 0):
            self._select(stop, "no further lane with a mark")
            return
        at = letters.index(self.rail) + down if self.rail in letters else 0
        self.rail = letters[min(at, len(letters) - 1)] if at >= 0 else ""
        self.present()

    def _select(self, stop: LaneColumn | None, missed: str) -> None:
        if stop is None:
            self.notify(missed)
            return
        self.selected = (stop.lane, stop.at_us)
        self.span_to(ends_of(stop))
        self._scrolled = False
        self.present()

    def action_go(self) -> None:
        """Go to the time of the mark, or from there back to the present; switch to a selected branch."""
        if self.rail:
            self._change_over(self.rail)
            return
        stop = self.stop(self.shown())
        if stop is None:
            self.notify("no mark selected: left and right select one")
        elif self._is_there(stop):
            self.main.action_present()
        else:
            self.main.go_to(stop.at_us)

    def action_zoom(self, nearer: int) -> None:
        """Zoom in or out; the selected mark or the time shown stays visible."""
        self._zoom(nearer)
        self._window, self._scrolled = None, False
        self.present()

    def _zoom(self, nearer: int) -> int:
        """Change the duration of a column, and return it."""
        widest_us = self._widest_us()
        unit_us = zoomed(min(self._unit_us or widest_us, widest_us), nearer, widest_us)
        self._unit_us = 0 if unit_us == widest_us else unit_us
        return unit_us

    def action_whole(self) -> None:
        """Zoom out to the whole session."""
        self._unit_us, self._window, self._scrolled = 0, None, False
        self.present()

    def action_scroll(self, forward: int) -> None:
        """Scroll by half a window, up to the ends."""
        window = self.shown().window
        if window.unit_us == self._widest_us():
            self.notify("the whole session is visible")
        elif not self._scroll(forward * max(1, window.columns // 2)):
            self.notify("start of the session reached" if forward < 0 else "end of the session reached")

    def _scroll(self, columns: int) -> bool:
        """Scroll by columns; return False at an end."""
        window = self.shown().window
        if window.unit_us == self._widest_us():
            return False
        reach = max(self.session_controller.session.present_us, reach_us(self._rails, 0))
        last = max(0, reach // window.unit_us - window.columns // 2)
        first = min(max(0, window.first + columns), max(last, window.first))
        if first == window.first:
            return False
        self._window, self._scrolled = window._replace(first=first), True
        self.present()
        return True

    def action_follow(self) -> None:
        """Drop the selection, and follow the time shown."""
        self.selected, self.rail, self._scrolled = None, "", False
        self.present()

    def action_lane(self, lane: str) -> None:
        """Show or hide a lane."""
        self._hidden = tuple(name for name in ALL if (name in self._hidden) != (name == lane))
        if self.selected is not None and self.selected[0] in self._hidden:
            self.selected = None
        self.present()

    # -- branches ---------------------------------------------------------------------------------------------------

    def _chosen_rail(self) -> BranchLine | None:
        return next((each for each in self._rails if each.branch.letter == self.rail), None)

    def _change_over(self, letter: str, at_us: int = -1) -> None:
        """Switch to another branch: to its present, or to a time of it."""
        self.main.switch_branch(letter, at_us)
        self.present()

    # -- acting at the mark -----------------------------------------------------------------------------------------

    def chosen(self) -> int:
        """Return the node that the selected mark is about, else the broker under the main screen's cursor."""
        stop = self.stop(self.shown())
        nodes: list[int] = []
        if stop is not None:
            events = self.session_controller.notable_events(stop.first_us, stop.last_us, selection.EVENTS_READ)
            named = {
                self.session_controller.session.cluster.name_of(node): node
                for node, _name in self.main.operator.targets()
            }
            nodes = nodes_of(selection.events_of_stop(events, stop), named)
        return nodes[0] if len(nodes) == 1 else self.main.broker_under_cursor

    def go_to_selected_time(self) -> None:
        """Go to the time of the selected mark before acting; without a mark, say that the time shown is used."""
        stop = self.stop(self.shown())
        if stop is None:
            self.main.toast("no mark selected: using the time shown")
        elif self.session_controller.view.now_us != stop.at_us:
            self.main.go_to(stop.at_us)

    def action_performed(self) -> None:
        """Drop the selection after an action at a mark."""
        self.action_follow()

    # -- mouse ------------------------------------------------------------------------------------------------------

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """Toggle the lane of a clicked label, select a mark (double click: go to it), or go to another time."""
        lane, column = message.spot
        if letter := branches.letter_of(lane):
            window = self.shown().window
            self._change_over(letter, (window.first + column) * window.unit_us if column >= 0 else -1)
            return
        if column < 0:
            if lane in ALL:
                self.action_lane(lane)
            return
        stop = timeline_rows.of_column(self.session_controller.tape, lane, self.shown(), column)
        if stop is None:
            self.main.go_to(self.shown().window.instant(column, self.session_controller.session.present_us))
        elif message.twice:
            self.main.go_to(stop.at_us)
        else:
            self.rail = ""
            self._select(stop, "")

    def on_time_lanes_scrubbed(self, message: TimeLanes.Scrubbed) -> None:
        """Show the time dragged to."""
        self.main.scrub(self.shown().window.instant(message.column, self.session_controller.session.present_us))

    def on_time_lanes_released(self) -> None:
        """End the drag."""
        self.main.on_time_lanes_released()

    def on_time_lanes_lane_scrolled(self, message: TimeLanes.LaneScrolled) -> None:
        """Scroll, or zoom with ctrl around the column under the pointer."""
        window = self.shown().window
        if not message.zooms:
            self._scroll(message.steps * max(1, window.columns // 16))
            return
        at_us = (window.first + message.column) * window.unit_us
        unit_us = self._zoom(-message.steps)
        self._window = Window(unit_us, max(0, at_us // unit_us - message.column), window.columns)
        self._scrolled = True
        self.present()

    def on_time_lanes_spot_right_clicked(self, message: TimeLanes.SpotRightClicked) -> None:
        """Open the fault sheet at the clicked mark, or at that time."""
        lane, column = message.spot
        if branches.letter_of(lane) or column < 0:
            return
        shown, self.rail = self.shown(), ""
        stop = timeline_rows.of_column(self.session_controller.tape, lane, shown, column)
        if stop is None:
            self.selected = None
            self.main.go_to(shown.window.instant(column, self.session_controller.session.present_us))
        else:
            self._select(stop, "")
        self.action_fault()
