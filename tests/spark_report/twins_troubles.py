"""Twins of the tables on recovery, controllers and alerts."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from spark_report.tables.queries.fault_effects import of_session
from tests.spark_report.twins_common import Found, History, Spells, election, grouped, isr_change
from tests.spark_report.twins_lasting import faults, isr_conditions, partition_states, unavailability
from tests.support.sessions import Row

_SIGNS = (
    *("broker_fenced", "isr_changed", "leader_elected", "partition_offline", "controller_changed"),
    *("produce_refused", "records_failed", "records_unknown", "commit_failed", "partitions_lost", "consumer_failed"),
    *("truncation_detected", "corrupt_batch_found", "transaction_unknown"),
)
_NOTHING: Row = dict.fromkeys(
    (
        "partition",
        "client",
        "broker",
        "node",
        "leader",
        "isr",
        "previous_isr",
        "by",
        "target",
        "detail",
        "bound_us",
        "fired_us",
    )
)
_EXPIRED = "its session with ZooKeeper is over"


def _shows_something(row: Row) -> bool:
    """A partition's first leader and a replica that joins show nothing; one that leaves does."""
    if row["kind"] == "leader_elected":
        return election(row) != "created"
    if row["kind"] == "isr_changed":
        return isr_change(row) in ("shrink", "swap")
    return row["kind"] in _SIGNS


def fault_times(history: History) -> Found:
    """The walk of the report itself, over what the other twins found: that its rules are right has tests of its own."""
    rows: list[Row] = [_given("fault", span, span["fault"]) for span in faults(history)]
    rows += [{"what": "sign", **_NOTHING, **row} for row in history.rows if _shows_something(row)]
    for span in unavailability(history):
        rows.append(_given("trouble", span, "out" if span["scope"] == "partition" else "refused"))
    lacking = [span for span in isr_conditions(history) if span["condition"] in ("under_replicated", "offline")]
    rows += [_given("trouble", span, "lacking") for span in lacking]
    fired = [span for span in alerts(history) if span["fired"]]
    rows += [{**_given("alert", span, span["alert"]), "by": span["began_by"]} for span in fired]
    rows += [_given("state", span, "") for span in partition_states(history)]
    rows.append({"what": "controller", **_NOTHING, "node": history.controller})
    return of_session(rows)


def _given(what: str, span: Row, kind: str) -> Row:
    return {**_NOTHING, **span, "what": what, "kind": kind, "at_us": span["began_us"], "seq": span["began_seq"]}


def fault_means(history: History) -> Found:
    found = []
    every = [{**row, "fault": name} for row in fault_times(history) for name in ("", row["fault"])]
    for (name,), rows in grouped(every, "fault").items():
        restored = [row["time_to_restore_us"] for row in rows if row["time_to_restore_us"] is not None]
        found.append(
            {
                "fault": name,
                "faults": len(rows),
                "detected": sum(row["detected_us"] is not None for row in rows),
                "recovered": sum(row["recovered_us"] is not None for row in rows),
                "unrecovered_faults": sum(row["unrecovered"] for row in rows),
                "mttd_us": _mean(rows, "time_to_detect_us"),
                "mtte_us": _mean(rows, "time_to_elect_us"),
                "mttr_us": _mean(rows, "time_to_recover_us"),
                "rto_us": max(restored, default=None),
            }
        )
    return found


def _mean(rows: Sequence[Row], column: str) -> int | None:
    """In whole microseconds, halves upwards."""
    known = [row[column] for row in rows if row[column] is not None]
    return int(Fraction(sum(known), len(known)) + Fraction(1, 2)) if known else None


class _Office:
    """The office of the active controller, and who holds it."""

    def __init__(self, holder: str | None) -> None:
        self.holder = holder
        self.gone = False
        """Its process has ended, or its session, since it took the office: it has to be elected again."""
        self.paused = False

    @property
    def empty(self) -> bool:
        return self.gone or self.paused

    def take(self, row: Row) -> str:
        """Bring it up to date, and say in words what happened."""
        who = row["node"] if "node" in row else f"broker {row.get('broker')}"
        if row["kind"] == "controller_changed":
            self.holder, self.gone, self.paused = who, False, False
            return f"{who} became active"
        if who == self.holder:
            if row["kind"] == "node_down" or (row["kind"] == "broker_fenced" and row["detail"] == _EXPIRED):
                self.gone = True
            elif row["kind"] in ("node_paused", "node_resumed"):
                self.paused = row["kind"] == "node_paused"
        return f"{who} left" if self.empty else f"{who} returned"


def _vacancies(history: History) -> Found:
    """When the office was empty, after somebody had held it."""
    office, spells = _Office(history.controller), Spells(())
    for row in history.of("controller_changed", "node_down", "node_paused", "node_resumed", "broker_fenced"):
        label = office.take(row)
        spells.set((), office.empty, row["at_us"], row["seq"], label)
    return spells.close(history.end_us, history.end_seq)


def controller_failovers(history: History) -> Found:
    """A node took another's place; in a session that does not say who was first, later epochs tell that there was."""
    vacant = {span["ended_seq"]: span["began_us"] for span in _vacancies(history)}
    found, before = [], history.controller
    for row in history.of("controller_changed"):
        if before or (before is None and row["leader_epoch"] > 1):
            lost_us = vacant.get(row["seq"])
            found.append(
                {
                    **{name: row[name] for name in ("at_us", "seq", "node", "leader_epoch")},
                    "from_node": before or "",
                    "lost_us": lost_us,
                    "without_us": None if lost_us is None else row["at_us"] - lost_us,
                }
            )
        before = row["node"]
    return found


_ALERTS: dict[str, tuple[str, str, str, int]] = {
    "offline": ("OfflinePartitionsCount", "controller:type=KafkaController", "page", 0),
    "under_min_isr": ("UnderMinIsrPartitionCount", "server:type=ReplicaManager", "page", 10),
    "under_replicated": ("UnderReplicatedPartitions", "server:type=ReplicaManager", "warn", 60),
    "at_min_isr": ("AtMinIsrPartitionCount", "server:type=ReplicaManager", "warn", 60),
    "unclean": ("UncleanLeaderElectionsPerSec", "controller:type=ControllerStats", "page", 0),
    "shrink": ("IsrShrinksPerSec", "server:type=ReplicaManager", "warn", 0),
    "controller": ("ActiveControllerCount", "controller:type=KafkaController", "page", 10),
}
"""What is counted → the alert, where Kafka has its metric, how bad it is, and the seconds for which it must hold."""


def alerts(history: History) -> Found:
    found: Found = []
    for what, spans in (("controller", _vacancies(history)), *_anywhere(history), *_instants(history)):
        alert, metric, severity, seconds = _ALERTS[what]
        for span in spans:
            fired = span["duration_us"] >= seconds * 1_000_000
            plain = {"alert": alert, "metric": f"kafka.{metric},name={alert}", "severity": severity}
            fires = {"fired": fired, "fired_us": span["began_us"] + seconds * 1_000_000 if fired else None}
            found.append({"peak": 1, **span, **plain, "for_us": seconds * 1_000_000, **fires})
    return found


def _anywhere(history: History) -> list[tuple[str, Found]]:
    """When a condition held for any partition, and for how many at most."""
    found = []
    for (condition,), spans in grouped(isr_conditions(history), "condition").items():
        turns: list[tuple[int, int, str, int]] = []
        for span in spans:
            turns.append((span["began_seq"], span["began_us"], span["began_by"], 1))
            if not span["open"]:
                turns.append((span["ended_seq"], span["ended_us"], span["ended_by"], -1))
        spells, count, peaks = Spells(()), 0, dict[int, int]()
        began = 0
        for seq, at_us, label, step in sorted(turns):
            if not count:
                began = seq
            count += step
            peaks[began] = max(peaks.get(began, 0), count)
            spells.set((), count > 0, at_us, seq, label)
        whole = spells.close(history.end_us, history.end_seq)
        found.append((str(condition), [{**span, "peak": peaks[span["began_seq"]]} for span in whole]))
    return found


def _instants(history: History) -> list[tuple[str, Found]]:
    """Unclean elections and shrinks of the ISR; all at one instant are one."""
    happened: list[dict[str, Any]] = []
    for row in history.rows:
        if election(row) == "unclean":
            happened.append({**row, "what": "unclean"})
        elif row["kind"] == "isr_changed" and isr_change(row) in ("shrink", "swap"):
            happened.append({**row, "what": "shrink"})
    found = []
    for (what, at_us), rows in grouped(happened, "what", "at_us").items():
        when = {"began_us": at_us, "ended_us": at_us, "began_seq": rows[0]["seq"], "ended_seq": rows[-1]["seq"] + 1}
        how = {"open": False, "began_by": what, "ended_by": "", "duration_us": 0, "peak": len(rows)}
        found.append((what, [{**when, **how}]))
    return found
