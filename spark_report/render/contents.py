"""What a report says of a session, in the order in which a reader asks: on a page, in a terminal, in Markdown."""

from dataclasses import dataclass
from typing import Final

from spark_report.model.report import SessionStory, Story, tone
from spark_report.render import client_tables, fault_tables, tables
from spark_report.render.tables import View

MOST_SESSIONS: Final = 12
"""Sessions that are told one by one; more are listed, and are in the tables."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with tables; some have a chart on the page."""

    name: str
    title: str
    views: tuple[View, ...] = ()
    short: View | None = None
    """What a terminal of 80 columns shows of it; nothing for what is too much there."""
    nothing: str = ""
    """What to say where its tables are empty; without it such a section is left out."""
    folded: bool = False
    """It is looked up, not read."""

    def __bool__(self) -> bool:
        return any(self.views) or bool(self.nothing)


def shown_sessions(story: Story) -> list[SessionStory]:
    """The sessions that are told one by one: all of a few, else those that need attention first."""
    if len(story.sessions) <= MOST_SESSIONS:
        return list(story.sessions)
    order = {"alarm": 0, "warning": 1, "calm": 2}
    return sorted(story.sessions, key=lambda one: order[tone(one)])[:MOST_SESSIONS]


def sections(story: SessionStory) -> list[Section]:
    """All sections that have something to say."""
    return [section for section in (*_told(story), *_looked_up(story)) if section]


def _told(story: SessionStory) -> list[Section]:
    alerts = fault_tables.alerts(story)
    fired = fault_tables.alerts_short(story)
    quiet = "None of the alerts would have fired." if not fired and not story.timeless else ""
    lags, turns = fault_tables.lag_peaks(story), fault_tables.rebalances(story)
    losses, failovers = tables.losses(story), fault_tables.failovers(story)
    anomalies, whole = fault_tables.anomalies(story), fault_tables.partitions(story)
    return [
        Section("losses", losses.title, (losses,), tables.losses_short(story)),
        *(_open(tables.expectations(story)) if story.failed else ()),
        *_open(tables.violations(story)),
        *_open(fault_tables.overdue(story)),
        Section("anomalies", anomalies.title, (anomalies,), anomalies),
        Section(
            "timeline",
            "What happened when",
            (tables.faults(story), tables.unavailability(story), tables.states(story)),
        ),
        Section("availability", "Availability", (fault_tables.availability(story),)),
        Section(
            "recovery",
            "How long recovery took",
            (fault_tables.fault_times(story), fault_tables.means(story)),
            fault_tables.fault_times_short(story),
        ),
        Section(
            "latency",
            "Latency and throughput",
            (fault_tables.around_faults(story), tables.latency(story)),
            tables.latency_short(story),
        ),
        Section("alerts", alerts.title, (alerts,), fired, quiet),
        Section("lag", lags.title, (lags,), lags),
        Section("rebalances", turns.title, (turns,), turns),
        Section("failovers", failovers.title, (failovers,), failovers),
        Section("partitions", "Partitions", (whole,), whole),
        Section("producers", "Producers", (client_tables.producers(story),), client_tables.producers_short(story)),
        Section("groups", "Groups", (client_tables.groups(story),), client_tables.groups_short(story)),
    ]


def _open(found: View) -> tuple[Section, ...]:
    return (Section(found.name, found.title, (found,), found),)


def _looked_up(story: SessionStory) -> list[Section]:
    views = [
        *([] if story.failed else [tables.expectations(story)]),
        tables.ledger(story),
        fault_tables.found_causes(story),
        tables.steps(story),
        tables.guards(story),
        tables.controllers(story),
        tables.elections(story),
        tables.isr_changes(story),
        tables.truncations(story),
        fault_tables.outcomes(story),
        client_tables.members(story),
        client_tables.errors(story),
    ]
    odd = tables.ledger(story) if story.disagreements else None
    return [
        Section(found.name, found.title, (found,), odd if found.name == "ledger" else None, folded=True)
        for found in views
        if found
    ]
