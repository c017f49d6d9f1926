"""Mode timeline: what happened when, by kind, and the way to any of it."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui import glyphs
from tui.bridge import SimBridge
from tui.evidence import findings_so_far
from tui.screens.acting import ActingMode
from tui.theme import Look
from tui.viewmodel import mark_detail, stops
from tui.viewmodel.mark_words import LANES, nodes_of
from tui.viewmodel.row import Row
from tui.viewmodel.stops import Shown, Stop
from tui.viewmodel.time_window import Window, around, fit, unit_text, zoomed
from tui.viewmodel.timeline import LOAD, TOGGLES, Drawer, column_rates
from tui.viewmodel.words import count
from tui.widgets.panes import Pane, SidePane
from tui.widgets.rows import RIGHT
from tui.widgets.timeline import TimeLanes

ALL: tuple[str, ...] = (*LANES, LOAD)
BARS = 3
"""Lines of the status bar and of the bar of modes."""
KEYS_WORDS = f"← → mark {glyphs.NOTHING} ↑ ↓ lane {glyphs.NOTHING} enter go there {glyphs.NOTHING} + - z zoom"
MORE_WORDS = (
    f"{KEYS_WORDS} {glyphs.NOTHING} pgup pgdn scroll {glyphs.NOTHING} shift+← → 1 s {glyphs.NOTHING} end follow"
)


class TimelineScreen(ActingMode):
    """Lanes over time, and all about the mark that is selected."""

    MODE = "timeline"
    HINTS = (
        "{fault} fault there", "{undo} undo", "{what_if} what if", "{help} help", f"{''.join(TOGGLES)} lanes",
        "{bookmark} bookmark",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "mark(-1)", "the mark before", show=False),
        Binding("right,l", "mark(1)", "the next mark", show=False),
        Binding("up,k", "across(-1)", "the lane above", show=False),
        Binding("down,j", "across(1)", "the lane below", show=False),
        Binding("enter", "go", "go to that instant, or back to the present", show=False),
        Binding("plus,equals_sign", "zoom(1)", "nearer", show=False),
        Binding("minus", "zoom(-1)", "farther", show=False),
        Binding("z", "whole", "the whole session", show=False),
        Binding("pageup", "scroll(-1)", "back by half a window", show=False),
        Binding("pagedown", "scroll(1)", "on by half a window", show=False),
        Binding("end", "follow", "let go of the mark, follow time", show=False),
        Binding("shift+left", "main('second(-1)')", "one second back", show=False),
        Binding("shift+right", "main('second(1)')", "one second on", show=False),
        *(Binding(key, f"lane({lane!r})", f"show or hide {lane}", show=False) for key, lane in TOGGLES.items()),
    ]

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self.lanes = TimeLanes(look, "timeline-lanes")
        self._pane = Pane(self.lanes, look, title="Timeline", id="timeline-mode-pane")
        self.page = SidePane(look, "timeline-page")
        self._page_pane = Pane(self.page, look, title="Events", id="timeline-page-pane")
        self._drawer = Drawer()
        self._lane_lines = 0
        self._hidden: tuple[str, ...] = ()
        self._unit_us = 0
        """Of a column; 0: as fits the whole session."""
        self._window: Window | None = None
        self._scrolled = False
        """Whether the window was moved by hand, and stays where it is."""
        self.selected: tuple[str, int] | None = None
        """Lane and time of the mark that is looked at."""
        self._told: tuple[tuple[object, ...], list[mark_detail.Told]] | None = None

    def body(self) -> list[Widget]:
        """Lanes above, what they tell of below."""
        return [self._pane, self._page_pane]

    # -- showing ----------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw what has changed."""
        lines = self._lines()
        if lines != self._lane_lines:
            self._lane_lines = lines
            self._pane.styles.height = len(LANES) * lines + 5
        shown = self.shown()
        self.lanes.show(self._drawer.rows(self.bridge.tape, shown, ALL, lines, keys=True))
        unit = unit_text(shown.window.unit_us)
        peak = self._peak(shown)
        load = f" {glyphs.NOTHING} load up to {count(peak)}/s" if peak else ""
        room = self.size.width > len(MORE_WORDS) + 6
        self._pane.caption(f"Timeline {glyphs.NOTHING} a column is {unit}{load}", MORE_WORDS if room else KEYS_WORDS)
        self.page.show(self._page_rows(shown))

    def _lines(self) -> int:
        """Lines for each lane of marks: more where half of the screen has room for them."""
        return max(1, min(3, (self.size.height - BARS) // 14))

    def shown(self) -> Shown:
        """What is looked at now; the window moves along with it."""
        bridge, columns = self.bridge, self.lanes.columns
        now_us, present_us = bridge.view.now_us, bridge.session.present_us
        widest_us = fit(present_us, columns)
        unit_us = min(self._unit_us or widest_us, widest_us)
        window = self._window
        if unit_us == widest_us:
            window, self._scrolled = Window(unit_us, 0, columns), False
        elif window is not None and self._scrolled:
            window = Window(unit_us, window.first, columns)
        else:
            window = around(self.selected[1] if self.selected else now_us, unit_us, columns, window)
        self._window = window
        lanes = tuple(name for name in ALL if name not in self._hidden)
        return Shown(window, now_us, present_us, lanes, self.selected)

    def _peak(self, shown: Shown) -> int:
        if LOAD in self._hidden:
            return 0
        return max(column_rates(self.bridge.tape.load, shown.window, shown.present_us), default=0)

    def _page_rows(self, shown: Shown) -> tuple[Row, ...]:
        width, height = self.page.size
        stop = self.stop(shown)
        if stop is None:
            self._page_pane.caption("Events")
            lines = self.bridge.feed.lines(height, width)
            return tuple(mark_detail.event_row(line) for line in lines)
        happened = self.bridge.happened(stop.first_us, stop.last_us, mark_detail.EVENTS_READ)
        events = mark_detail.of_stop(happened, stop)
        later = self.bridge.happened(stop.last_us + 1, shown.present_us, max(0, height))
        rows = mark_detail.build(stop, events, self._findings_of(stop, events), later, width)
        there = "enter: back to the present" if self._is_there(stop) else "enter: go there"
        self._page_pane.caption("The mark", there)
        return rows[:height]

    def stop(self, shown: Shown) -> Stop | None:
        """The mark that is selected."""
        if self.selected is None:
            return None
        return stops.stop_at(self.bridge.tape, *self.selected, shown.window.unit_us)

    def _findings_of(self, stop: Stop, events: list[Any]) -> list[mark_detail.Told]:
        """Asked for once for each mark and instant: telling all findings takes a while."""
        bridge = self.bridge
        still_us = bridge.view.now_us if bridge.paused else -1
        state = (stop.lane, stop.first_us, stop.times, still_us, bridge.chronicle.losses)
        if self._told is None or self._told[0] != state:
            self._told = (state, mark_detail.told_by(findings_so_far(bridge), events))
        return self._told[1]

    def _is_there(self, stop: Stop) -> bool:
        return self.bridge.session.in_past and self.bridge.view.now_us == stop.at_us

    # -- keys -------------------------------------------------------------------------------------------------------

    def action_mark(self, forward: int) -> None:
        """The next mark, whatever lane it is in."""
        self._select(stops.step(self.bridge.tape, self.shown(), forward), "no mark there")

    def action_across(self, down: int) -> None:
        """The nearest mark of another lane."""
        self._select(stops.across(self.bridge.tape, self.shown(), down), "no lane with a mark there")

    def _select(self, stop: Stop | None, missed: str) -> None:
        if stop is None:
            self.notify(missed)
            return
        self.selected = (stop.lane, stop.at_us)
        self._scrolled = False
        self.present()

    def action_go(self) -> None:
        """Go to the mark's instant; from there, back to the present."""
        stop = self.stop(self.shown())
        if stop is None:
            self.notify("no mark is selected: left and right choose one")
        elif self._is_there(stop):
            self._main.action_present()
        else:
            self._main.go_to(stop.at_us)

    def action_zoom(self, nearer: int) -> None:
        """Nearer or farther, the mark or the instant looked at staying in sight."""
        widest_us = fit(self.bridge.session.present_us, self.lanes.columns)
        unit_us = zoomed(min(self._unit_us or widest_us, widest_us), nearer, widest_us)
        self._unit_us = 0 if unit_us == widest_us else unit_us
        self._window, self._scrolled = None, False
        self.present()

    def action_whole(self) -> None:
        """The whole session."""
        self._unit_us, self._window, self._scrolled = 0, None, False
        self.present()

    def action_scroll(self, forward: int) -> None:
        """By half a window, as far as there is anything."""
        window, present_us = self.shown().window, self.bridge.session.present_us
        if window.unit_us == fit(present_us, window.columns):
            self.notify("this is the whole session")
            return
        last = max(0, present_us // window.unit_us - window.columns // 2)
        first = min(max(0, window.first + forward * max(1, window.columns // 2)), max(last, window.first))
        if first == window.first:
            self.notify("there is nothing before" if forward < 0 else "there is nothing behind")
            return
        self._window, self._scrolled = window._replace(first=first), True
        self.present()

    def action_follow(self) -> None:
        """Let go of the mark, and follow the instant looked at."""
        self.selected, self._scrolled = None, False
        self.present()

    def action_lane(self, lane: str) -> None:
        """Show or hide a lane."""
        self._hidden = tuple(name for name in ALL if (name in self._hidden) != (name == lane))
        if self.selected is not None and self.selected[0] in self._hidden:
            self.selected = None
        self.present()

    # -- acting at the mark -----------------------------------------------------------------------------------------

    def chosen(self) -> int:
        """The one node that the mark is about, else the broker under the main screen's cursor."""
        stop = self.stop(self.shown())
        nodes: list[int] = []
        if stop is not None:
            events = self.bridge.happened(stop.first_us, stop.last_us, mark_detail.EVENTS_READ)
            named = {self.bridge.session.cluster.name_of(node): node for node, _name in self.desk.targets()}
            nodes = nodes_of(mark_detail.of_stop(events, stop), named)
        return nodes[0] if len(nodes) == 1 else self.desk.under_cursor

    def arrive(self) -> None:
        """Whoever acts at a mark is there first; without one it is about the instant on the screen, which is told."""
        stop = self.stop(self.shown())
        if stop is None:
            self.desk.toast("no mark is selected: this is about the instant on the screen")
        elif self.bridge.view.now_us != stop.at_us:
            self.desk.go_to(stop.at_us)

    def done(self) -> None:
        """What comes next goes on from there: the mark is let go of."""
        self.action_follow()

    # -- mouse ------------------------------------------------------------------------------------------------------

    def on_time_lanes_picked(self, message: TimeLanes.Picked) -> None:
        """A label shows and hides its lane; a mark is gone to, and so is any other instant. Right: and the sheet."""
        if message.column < 0:
            if message.lane in ALL:
                self.action_lane(message.lane)
            return
        window = self.shown().window
        at_us = (window.first + message.column) * window.unit_us
        if message.lane in stops.event_lanes(self.shown().lanes):
            found = stops.stops(message.lane, self.bridge.tape.lanes[message.lane], window)
            stop = next((each for each in found if window.column(each.first_us) == message.column), None)
            if stop is not None:
                self.selected, at_us = (stop.lane, stop.at_us), stop.at_us
        if message.button == RIGHT and self.selected != (message.lane, at_us):
            self.selected = None
        self._main.go_to(at_us)
        if message.button == RIGHT:
            self.action_fault()

    def on_mouse_scroll_up(self) -> None:
        """The wheel zooms."""
        self.action_zoom(1)

    def on_mouse_scroll_down(self) -> None:
        """And back."""
        self.action_zoom(-1)
