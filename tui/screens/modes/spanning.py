"""The part of the timeline that is about a span of time: begun with a key or dragged, counted, and exported."""

from abc import abstractmethod
from typing import Any

from tui.screens.acting import ActingMode
from tui.session.asking import recording_of
from tui.session.session_controller import SimBridge
from tui.terminal.theme import Look
from tui.viewmodel.row import Row
from tui.viewmodel.timeline import span as spans
from tui.viewmodel.timeline.span import Span, Tally, between
from tui.viewmodel.timeline.stops import Shown, Stop
from tui.widgets.timeline import TimeLanes

Ends = tuple[int, int]
"""An end of a span: a mark or a column, from an instant up to another one."""
SPAN_S = 12
"""How long it stands on the screen where a span was written to."""


class Spanning(ActingMode):
    """A timeline of which a span can be chosen."""

    def __init__(self, look: Look, bridge: SimBridge) -> None:
        super().__init__(look, bridge)
        self._ends: tuple[Ends, Ends] | None = None
        """Where the span was begun, and the end that moves."""
        self._tally: Tally | None = None

    @abstractmethod
    def shown(self) -> Shown:
        """What is looked at now."""

    @abstractmethod
    def stop(self, shown: Shown) -> Stop | None:
        """The mark that is selected."""

    @property
    def span(self) -> Span | None:
        """The span that is chosen, as far as the session has come."""
        if self._ends is None:
            return None
        session = self.bridge.session
        return between(*self._ends).within(session.timeline.first_us, session.present_us)

    def span_rows(self, span: Span, room: tuple[int, int]) -> tuple[Row, ...]:
        """All about the span; counted once as long as it is the same."""
        events = self.bridge.happened(span.start_us, span.end_us - 1, spans.COUNTED + 1)
        if self._tally is None or (self._tally.span, self._tally.events) != (span, min(len(events), spans.COUNTED)):
            self._tally = spans.tally(span, events, self.bridge.tape.load)
        return spans.build(self._tally, events, room)

    # -- keys -------------------------------------------------------------------------------------------------------

    def action_span(self) -> None:
        """Begin a span at the mark or the instant looked at; a second time, let go of it."""
        if self._ends is not None:
            self._ends = None
            self.present()
            return
        stop = self.stop(self.shown())
        here = self.column_ends(self.bridge.view.now_us) if stop is None else ends_of(stop)
        self._ends = here, here
        self.present()

    def span_to(self, end: Ends) -> None:
        """Move the end that moves, where a span is chosen."""
        if self._ends is not None:
            self._ends = self._ends[0], end

    def column_ends(self, at_us: int) -> Ends:
        """From where to where the column of an instant reaches."""
        unit_us = self.shown().window.unit_us
        start_us = at_us // unit_us * unit_us
        return start_us, start_us + unit_us

    async def action_nudge(self, columns: int) -> None:
        """By one column where a span is chosen, else by a second."""
        if self._ends is None:
            await self.action_main(f"second({columns})")
            return
        unit_us = self.shown().window.unit_us
        start_us, _end_us = self.column_ends(self._ends[1][0])
        start_us = min(max(0, start_us + columns * unit_us), self.bridge.session.present_us)
        self.span_to(self.column_ends(start_us))
        self.present()

    async def leave(self) -> None:
        """Let go of the span; without one, back to the cluster."""
        if self._ends is None:
            await super().leave()
            return
        self._ends = None
        self.present()

    def action_export_span(self) -> None:
        """Write the events of the span beside the recording."""
        span, recorder = self.span, getattr(self.app, "recorder", None)
        path = recording_of(self.bridge.session.recorded, recorder)
        if span is None:
            self._main.toast("no span is chosen: v begins one, or drag over the lanes; E exports the whole session")
        elif path is None:
            self._main.toast("this session is not being recorded: there is nothing to cut a span out of", "warning")
        else:
            self.run_worker(self._export(path, recorder, span), group="span", exclusive=True, exit_on_error=False)

    async def _export(self, path: Any, recorder: Any, span: Span) -> None:
        from tui.session.span_export import export_span  # noqa: PLC0415 - seldom wanted

        text, good = await export_span(path, recorder, span)
        self._main.toast(text, "information" if good else "error", seconds=SPAN_S)

    # -- mouse ------------------------------------------------------------------------------------------------------

    def on_time_lanes_spanned(self, message: TimeLanes.Spanned) -> None:
        """A span is dragged."""
        window = self.shown().window
        first_us, last_us = ((window.first + column) * window.unit_us for column in (message.first, message.column))
        self._ends = self.column_ends(first_us), self.column_ends(last_us)
        self.present()


def ends_of(stop: Stop) -> Ends:
    """A mark as an end of a span."""
    return stop.first_us, stop.last_us + 1
