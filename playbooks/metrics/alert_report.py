"""Report of alerts: which fault each one followed, which faults no alert saw, and the time to detect.

An alert follows the faults that began in the scrape interval before its expression began to hold, else those active
then, else the one that ended last, unless that is longer ago than the window. A fault is seen by the alerts that follow
it and fire; its time to detect is from its injection to the first evaluation at which one of them fires.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from playbooks.metrics.promtool import AlertInterval
from playbooks.metrics.time_series import Disturbance, SessionSeries

WINDOW_US: Final = 300_000_000
"""Default time for which a fault may explain an alert after its end, in microseconds."""


@dataclass(frozen=True, slots=True)
class ReportedAlert:
    """An alert with the faults that it follows."""

    interval: AlertInterval
    faults: tuple[Disturbance, ...]
    operations: tuple[Disturbance, ...]
    """Operations under way, or just ended, when its expression began to hold."""

    @property
    def fired(self) -> bool:
        """Whether it fired; else it was only pending."""
        return self.interval.firing_us >= 0

    @property
    def delay_us(self) -> int:
        """From the last of its faults to the first evaluation at which it fired; -1 without either."""
        return self.interval.firing_us - self.faults[-1].began_us if self.fired and self.faults else -1

    def to_json(self) -> dict[str, Any]:
        """Return the alert as JSON."""
        own = self.interval
        return {
            "alert": own.alert,
            "labels": dict(own.labels),
            "state": "firing" if self.fired else "pending",
            "active_us": own.active_us,
            "firing_us": own.firing_us if self.fired else None,
            "until_us": own.until_us if own.until_us >= 0 else None,
            "after_faults": [each.id for each in self.faults],
            "during_operations": [each.id for each in self.operations],
            "delay_us": self.delay_us if self.delay_us >= 0 else None,
        }


@dataclass(frozen=True, slots=True)
class FaultDetection:
    """A fault with the alerts that saw it."""

    fault: Disturbance
    seen_by: tuple[str, ...]
    """Alerts that fired after it, the first one first."""
    pending: tuple[str, ...]
    """Alerts that were pending after it and did not fire before they or the session ended."""
    already_firing: tuple[str, ...]
    """Alerts that fired already when it was injected."""
    detected_us: int
    """First evaluation at which an alert fired after it, -1 for none."""

    @property
    def time_to_detect_us(self) -> int:
        """From its injection to the first alert; -1 if no alert saw it."""
        return self.detected_us - self.fault.began_us if self.detected_us >= 0 else -1

    def to_json(self) -> dict[str, Any]:
        """Return the fault as JSON."""
        return {
            "id": self.fault.id,
            "fault": self.fault.name,
            "target": self.fault.target,
            "began_us": self.fault.began_us,
            "ended_us": self.fault.ended_us if self.fault.ended_us >= 0 else None,
            "time_to_detect_us": self.time_to_detect_us if self.detected_us >= 0 else None,
            "seen_by": list(self.seen_by),
            "pending": list(self.pending),
            "already_firing": list(self.already_firing),
        }


@dataclass(frozen=True, slots=True)
class AlertReport:
    """The alerts and faults of one session."""

    name: str
    seed: int
    end_us: int
    scrape_us: int
    evaluation_us: int
    alerts: tuple[ReportedAlert, ...]
    faults: tuple[FaultDetection, ...]

    @property
    def fired(self) -> tuple[ReportedAlert, ...]:
        """Alerts that fired."""
        return tuple(each for each in self.alerts if each.fired)

    @property
    def pending(self) -> tuple[ReportedAlert, ...]:
        """Alerts that were only pending."""
        return tuple(each for each in self.alerts if not each.fired)

    @property
    def unseen(self) -> tuple[FaultDetection, ...]:
        """Faults that no alert saw."""
        return tuple(each for each in self.faults if each.detected_us < 0)

    @property
    def without_fault(self) -> tuple[ReportedAlert, ...]:
        """Alerts that fired without a fault."""
        return tuple(each for each in self.fired if not each.faults)

    @property
    def good(self) -> bool:
        """Whether an alert saw every fault, and none fired without one."""
        return not self.unseen and not self.without_fault

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "session": self.name,
            "seed": self.seed,
            "end_us": self.end_us,
            "scrape_interval_us": self.scrape_us,
            "evaluation_interval_us": self.evaluation_us,
            "faults": [each.to_json() for each in self.faults],
            "unseen": [each.fault.id for each in self.unseen],
            "alerts": [each.to_json() for each in self.alerts],
            "without_fault": [each.interval.alert for each in self.without_fault],
        }


def report_alerts(
    series: SessionSeries, intervals: Sequence[AlertInterval], evaluation_us: int, window_us: int = WINDOW_US
) -> AlertReport:
    """Attribute alerts to the faults of their session."""
    operations = [each for each in series.disturbances if each.kind == "operation"]
    since_us = max(series.interval_us, evaluation_us)
    alerts = tuple(
        ReportedAlert(
            each,
            _followed(series.faults, each.active_us, since_us, window_us),
            _followed(operations, each.active_us, since_us, window_us),
        )
        for each in intervals
    )
    faults = tuple(_detection(fault, alerts) for fault in series.faults)
    return AlertReport(series.name, series.seed, series.end_us, series.interval_us, evaluation_us, alerts, faults)


def _followed(
    disturbances: Sequence[Disturbance], active_us: int, since_us: int, window_us: int
) -> tuple[Disturbance, ...]:
    """Return those that began in the last ``since_us``, else those active then, else the one that ended last."""
    begun = [each for each in disturbances if each.began_us <= active_us]
    active = [each for each in begun if each.ended_us < 0 or each.ended_us > active_us - since_us]
    if active:
        fresh = [each for each in active if each.began_us > active_us - since_us]
        return tuple(fresh or active)
    recent = [each for each in begun if each.ended_us >= active_us - window_us]
    return tuple(sorted(recent, key=lambda each: each.ended_us)[-1:])


def _detection(fault: Disturbance, alerts: Sequence[ReportedAlert]) -> FaultDetection:
    following = [each for each in alerts if fault in each.faults]
    firing = sorted((each for each in following if each.fired), key=lambda each: each.interval.firing_us)
    already = [
        each.interval
        for each in alerts
        if each.fired
        and each.interval.active_us < fault.began_us
        and (each.interval.until_us < 0 or each.interval.until_us > fault.began_us)
    ]
    return FaultDetection(
        fault,
        tuple(dict.fromkeys(each.interval.alert for each in firing)),
        tuple(dict.fromkeys(each.interval.alert for each in following if not each.fired)),
        tuple(dict.fromkeys(each.alert for each in already)),
        firing[0].interval.firing_us if firing else -1,
    )
