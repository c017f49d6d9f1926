"""Time series of a session: a scrape at a fixed interval of virtual time.

A playbook is run, and a recorded session is replayed and compared with its recording. Scrapes only read, so they change
no digest. All targets are scraped at the same time, at 0 and at each multiple of the interval.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    AdminAnswered,
    AdminRequested,
    Event,
    FaultHealed,
    FaultInjected,
)
from playbooks.engine.replay import begin
from playbooks.engine.session import Session
from playbooks.metrics.sampler import MetricSampler, Sample, Series
from playbooks.model.playbook import Playbook
from playbooks.recording.reader import RecordedSession
from playbooks.units import UnitError, duration_us

INTERVAL_US: Final = 5_000_000
"""Default scrape interval, in microseconds."""
LEAST_US: Final = 100_000
"""Shortest interval, in microseconds."""

Progress = Callable[[int], None]
"""Called with the virtual time reached, in microseconds."""


@dataclass(slots=True)
class Disturbance:
    """A fault or an administrator's operation of a session."""

    kind: str
    """``fault`` or ``operation``."""
    id: int
    name: str
    target: str
    began_us: int
    ended_us: int = -1
    """End, -1 if the session ended first."""


@dataclass(slots=True)
class SessionSeries:
    """Scraped values of a session, with its faults and operations."""

    name: str
    seed: int
    interval_us: int
    scrapes: list[Sample] = field(default_factory=list)
    """Sample of each scrape; the first is at virtual time 0."""
    disturbances: list[Disturbance] = field(default_factory=list)
    end_us: int = 0
    """End of the session."""

    @property
    def faults(self) -> list[Disturbance]:
        """The faults, in order."""
        return [each for each in self.disturbances if each.kind == "fault"]

    def columns(self) -> dict[Series, list[float | None]]:
        """Return the values of each series at every scrape, None where it was absent, sorted by series."""
        found: dict[Series, list[float | None]] = {}
        for number, sample in enumerate(self.scrapes):
            for series, value in sample.items():
                found.setdefault(series, [None] * len(self.scrapes))[number] = value
        return dict(sorted(found.items()))


class SeriesCollector:
    """Collects the time series of a session while it runs."""

    def __init__(self, session: Session, interval_us: int) -> None:
        self._session = session
        self._sampler = MetricSampler(session.cluster)
        self.series = SessionSeries(session.playbook.name, session.cluster.seed, interval_us)

    @property
    def due_us(self) -> int:
        """Virtual time of the next scrape."""
        return len(self.series.scrapes) * self.series.interval_us

    def take(self, events: list[Event]) -> None:
        """Take the next events of the session."""
        self._sampler.take(events)
        for event in events:
            self._note(event)

    def scrape(self) -> None:
        """Take a sample now."""
        self.series.scrapes.append(self._sampler.sample())

    def close(self) -> None:
        """Note the end of the session."""
        self.series.end_us = self._session.cluster.now_us

    def _note(self, event: Event) -> None:
        noted = self.series.disturbances
        if isinstance(event, FaultInjected):
            noted.append(Disturbance("fault", event.fault_id, event.fault, event.target, event.at_us))
        elif isinstance(event, AdminRequested):
            noted.append(Disturbance("operation", event.operation_id, event.operation, event.detail, event.at_us))
        elif isinstance(event, FaultHealed | AdminAnswered):
            kind, number = (
                ("fault", event.fault_id) if isinstance(event, FaultHealed) else ("operation", event.operation_id)
            )
            for each in noted:
                if (each.kind, each.id, each.ended_us) == (kind, number, -1):
                    each.ended_us = event.at_us


def interval_us(option: str, text: str | None, default_us: int = INTERVAL_US, least_us: int = LEAST_US) -> int:
    """Return the interval that an option gives, in microseconds.

    Raises:
        ModelError: it is no duration, too short, or has a fraction of a millisecond, which Prometheus has not.
    """
    try:
        found_us = default_us if text is None else duration_us(text)
    except UnitError as error:
        raise ModelError(f"{option} takes {error}, found {text!r}", code="bad_interval") from None
    if found_us < least_us or found_us % 1000:
        raise ModelError(
            f"{option}: found {text}, expected whole milliseconds, at least {least_us // 1000}ms", code="bad_interval"
        )
    return found_us


def scrape_playbook(
    playbook: Playbook, *, seed: int | None, interval_us: int, progress: Progress = lambda now_us: None
) -> SessionSeries:
    """Run a playbook, and return its time series.

    Raises:
        ModelError: the cluster cannot be built, or the playbook is manual and has no clock.
    """
    if playbook.spec.manual:
        raise _no_clock(playbook.name)
    session = Session.start(playbook, seed=seed)
    collector = SeriesCollector(session, interval_us)
    running = True
    while running:
        running = session.advance(collector.due_us)
        collector.take(session.drain())
        if session.cluster.now_us == collector.due_us:
            collector.scrape()
            progress(session.cluster.now_us)
    collector.close()
    return collector.series


def scrape_recording(
    recorded: RecordedSession, *, interval_us: int, progress: Progress = lambda now_us: None
) -> SessionSeries:
    """Replay a recorded session, compare it with its recording, and return its time series.

    Raises:
        ReplayMismatchError: the replay differs.
        SessionError: the recording has nothing to compare with, or was imported.
        PlaybookError: the session's playbook is not valid in this version.
        ModelError: the session is manual and has no clock.
    """
    comparison = begin(recorded)
    session = comparison.session
    if not isinstance(session, Session):
        raise _no_clock(recorded.path.name)
    collector = SeriesCollector(session, interval_us)
    comparison.on_events = collector.take

    def run_before(at_us: int) -> None:
        """Scrape at each time before ``at_us``; -1: to the end of the session."""
        while session.phase != "ended" and not comparison.done and (at_us < 0 or collector.due_us < at_us):
            comparison.run_to(collector.due_us)
            if session.cluster.now_us != collector.due_us:
                return
            collector.scrape()
            progress(session.cluster.now_us)

    for action in recorded.actions:
        run_before(action.at_us)
        if comparison.done:
            break
        comparison.repeat(action)
    run_before(-1)
    collector.close()
    if not comparison.done:
        comparison.run_to_end()
    return collector.series


def _no_clock(name: str) -> ModelError:
    return ModelError(f"{name} is a manual playbook: it has no clock, and so no time series", code="no_time_series")
