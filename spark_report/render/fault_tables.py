"""What faults did, as small tables of text: times to detect and recover, availability, alerts, lag, rebalances."""

from collections.abc import Callable
from typing import Any

from spark_report.model import phases
from spark_report.model.format import acks, duration, instant, number, several, share
from spark_report.model.own_topics import folded, of_users
from spark_report.model.report import Row, SessionStory
from spark_report.render.tables import View, began, length, view, when

Columns = dict[str, Callable[[Row], Any]]

MOST_ANOMALIES = 40


def fault_times(story: SessionStory) -> View:
    """Each fault with how long everything took."""
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "on": lambda row: row["target"],
        "from": lambda row: began(story, {**row, "began_seq": 0}),
        "lasted": lambda row: duration(row["ended_us"] - row["began_us"]) + (", open" if row["open"] else ""),
        "noticed after": _maybe("time_to_detect_us"),
        "noticed by": lambda row: row["detected_by"] or "",
        "leader after": _maybe("time_to_elect_us"),
        "partitions out": lambda row: number(row["partitions_out"] or 0),
        "served again after": _restored,
        "all clear after": lambda row: "not by the end" if row["unrecovered"] else _maybe("time_to_recover_us")(row),
    }
    found = [] if story.timeless else story.tables["fault_times"]
    numeric = "from|lasted|noticed after|leader after|partitions out|served again after|all clear after"
    return view("fault_times", "How long recovery took", found, columns, numeric)


def fault_times_short(story: SessionStory) -> View:
    """The same for a terminal."""
    columns: Columns = {
        "fault": lambda row: f"{row['fault']} {row['target']}",
        "from": lambda row: instant(row["began_us"]),
        "noticed": _maybe("time_to_detect_us"),
        "elected": _maybe("time_to_elect_us"),
        "served": _restored,
        "all clear": lambda row: "not by end" if row["unrecovered"] else _maybe("time_to_recover_us")(row),
    }
    found = [] if story.timeless else story.tables["fault_times"]
    return view("fault_times", "Recovery, counted from each fault", found, columns, "|".join(list(columns)[1:]))


def means(story: SessionStory) -> View:
    """Means over kinds of faults."""
    columns: Columns = {
        "over": lambda row: row["fault"] or "all faults",
        "faults": lambda row: number(row["faults"]),
        "mean time to detect": _maybe("mttd_us"),
        "to elect": _maybe("mtte_us"),
        "to recover (MTTR)": _maybe("mttr_us"),
        "service back at the latest (RTO)": _maybe("rto_us"),
        "not recovered": lambda row: number(row["unrecovered_faults"]),
    }
    found = sorted(story.tables["fault_means"], key=lambda row: (bool(row["fault"]), row["fault"]))
    kinds = {row["fault"] for row in found} - {""}
    shown = [] if story.timeless else found if len(kinds) > 1 else [row for row in found if not row["fault"]]
    return view("fault_means", "Means over faults", shown, columns, "|".join(list(columns)[1:]))


def around_faults(story: SessionStory) -> View:
    """Availability and latency before, during and after each fault: the data of the two charts."""
    names = {row["fault_id"]: f"{row['fault']} {row['target']}" for row in story.tables["faults"]}
    found: dict[tuple[int, str, str], dict[str, str]] = {}
    if not story.timeless:
        for scope, whose in (("partition", "partitions"), ("client", "clients")):
            for row in phases.served(story, scope):
                own = found.setdefault((row["fault_id"], "with service", whose), {})
                own[row["phase"]] = share(row["availability"])
        for row in story.tables["fault_latency"]:
            what = "99 % acknowledged" if row["what"] == "produce" else "99 % read"
            own = found.setdefault((row["fault_id"], what, row["client"]), {})
            own[row["phase"]] = duration(row["p99_us"])
    rows = [
        {"fault": names.get(fault_id, ""), "what": what, "whose": whose, **own}
        for (fault_id, what, whose), own in sorted(found.items(), key=lambda item: item[0][0])
    ]
    columns: Columns = {
        "fault": lambda row: row["fault"],
        "of": lambda row: row["whose"],
        "what": lambda row: row["what"],
        **{phase: _text(phase) for phase in phases.PHASES},
    }
    return view("fault_latency", "Before, during and after each fault", rows, columns, "|".join(phases.PHASES))


def availability(story: SessionStory) -> View:
    """The share of time with service, the worst first."""
    columns: Columns = {
        "partition": lambda row: row["partition"],
        "seen by": lambda row: "the cluster" if row["scope"] == "partition" else row["client"],
        "acks": lambda row: acks(row["acks"]),
        "available": lambda row: "" if row["availability"] is None else share(row["availability"]),
        "out of service": lambda row: duration(row["unavailable_us"]) if row["unavailable_us"] else "0",
        "times": lambda row: number(row["intervals"]),
        "longest": lambda row: duration(row["longest_unavailable_us"]) if row["longest_unavailable_us"] else "0",
        "at the end": lambda row: "still out" if row["open"] else "",
    }
    found = [] if story.timeless else [row for row in story.tables["availability"] if row["intervals"]]
    found = sorted(found, key=lambda row: row["availability"] if row["availability"] is not None else 2.0)
    found = folded(found, lambda row: row["unavailable_us"])
    return view("availability", "Availability", found, columns, "available|out of service|times|longest")


def alerts(story: SessionStory) -> View:
    """The alerts that fired, those that page first; conditions that passed before they did come after."""
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"] if row["fired"] else "did not fire",
        "fires at": lambda row: "" if row["fired_us"] is None else instant(row["fired_us"]),
        "condition from": lambda row: instant(row["began_us"]),
        "for": lambda row: duration(row["duration_us"]) if row["duration_us"] else "an instant",
        "must hold": lambda row: duration(row["for_us"]) if row["for_us"] else "at once",
        "at most": lambda row: number(row["peak"]),
        "metric": lambda row: row["metric"],
    }
    return view("alerts", "Alerts that an operator would have had", _alerts(story), columns, _ALERT_NUMBERS)


_ALERT_NUMBERS = "fires at|condition from|for|must hold|at most"


def alerts_short(story: SessionStory) -> View:
    """The alerts that fired, one row each with how often."""
    first: dict[str, Row] = {}
    times: dict[str, int] = {}
    for row in _alerts(story):
        if row["fired"]:
            first.setdefault(row["alert"], row)
            times[row["alert"]] = times.get(row["alert"], 0) + 1
    columns: Columns = {
        "alert": lambda row: row["alert"],
        "severity": lambda row: row["severity"],
        "first at": lambda row: instant(row["fired_us"]),
        "times": lambda row: number(times[row["alert"]]),
        "at most": lambda row: number(row["peak"]),
    }
    return view("alerts", "Alerts that fire", list(first.values()), columns, "first at|times|at most")


def _alerts(story: SessionStory) -> list[Row]:
    found = [] if story.timeless else story.tables["alerts"]
    return sorted(found, key=lambda row: (not row["fired"], row["severity"] != "page", row["began_us"]))


def anomalies(story: SessionStory) -> View:
    """What clients could see that a log without failures would not show them."""
    columns: Columns = {
        "anomaly": lambda row: row["anomaly"],
        "found": lambda row: number(row["found"]),
        "may it be": lambda row: "yes" if row["legal"] else "NO",
        "because": lambda row: row["reason"] or ("" if row["legal"] else "nothing in the settings allows it"),
    }
    found = sorted(story.tables["anomalies_told"], key=lambda row: (row["legal"], -row["found"]))[:MOST_ANOMALIES]
    return view("anomalies_told", "Anomalies that clients could see", found, columns, "found")


def lag_peaks(story: SessionStory) -> View:
    """The greatest lag of each group."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "greatest lag": lambda row: number(row["peak_lag"]),
        "at": lambda row: instant(row["peak_at_us"]),
        "usual": lambda row: number(row["usual_lag"]),
        "drained after": lambda row: _maybe("time_to_drain_us")(row) or "not by the end",
        "at the end": lambda row: number(row["final_lag"]),
    }
    found = [row for row in story.tables["lag_peaks"] if row["peak_lag"] and not story.timeless]
    return view("lag_peaks", "Lag of groups", found, columns, "|".join(list(columns)[1:]))


def rebalances(story: SessionStory) -> View:
    """Rebalances with what they cost."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "group": lambda row: row["group_id"],
        "members": lambda row: number(row["members"]),
        "partitions moved": lambda row: number(row["partitions_moved"]),
        "idle": lambda row: duration(row["time_lost_us"]) if row["time_lost_us"] else "0",
        "because": lambda row: row["detail"] or "",
    }
    numeric = "at|members|partitions moved|idle"
    return view("rebalances", "Rebalances", story.tables["rebalances"], columns, numeric)


def failovers(story: SessionStory) -> View:
    """Controllers that gave way to others."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "controller": lambda row: row["node"],
        "in place of": lambda row: row["from_node"] or "",
        "epoch": lambda row: row["leader_epoch"],
        "without one for": lambda row: "" if row["without_us"] is None else duration(row["without_us"]),
    }
    numeric = "at|epoch|without one for"
    return view("controller_failovers", "Controller failovers", story.tables["controller_failovers"], columns, numeric)


def partitions(story: SessionStory) -> View:
    """Each partition in one row, the worst first; those of which nothing is to be said are left out."""
    served = [row for row in story.tables["availability"] if row["scope"] == "partition"]
    shares = {row["partition"]: row["availability"] for row in served}
    lost: dict[str, int] = {}
    for row in story.lost:
        lost[row["partition"]] = lost.get(row["partition"], 0) + row["count"]

    def bad(row: Row) -> tuple[int, float, int]:
        known = shares.get(row["partition"])
        return -lost.get(row["partition"], 0), 1.0 if known is None else known, -(row["under_replicated_us"] or 0)

    columns: Columns = {
        "partition": lambda row: row["partition"],
        "lost": lambda row: number(lost.get(row["partition"], 0)),
        "available": lambda row: "" if shares.get(row["partition"]) is None else share(shares[row["partition"]]),
        "under-repl.": _short_time("under_replicated_us"),
        "under min": _short_time("under_min_isr_us"),
        "elected": lambda row: number(row["elections_clean"] + row["elections_unclean"]),
        "ISR moves": lambda row: number(row["isr_shrinks"] + row["isr_expands"]),
    }
    found = [] if story.timeless else sorted(story.tables["partitions"], key=bad)
    found = of_users([row for row in found if bad(row) != (0, 1.0, 0)])
    return view("partitions", "Partitions", found, columns, "|".join(list(columns)[1:]))


def _short_time(column: str) -> Callable[[Row], str]:
    return lambda row: duration(row[column]) if row[column] else "0"


def conditions(story: SessionStory, partition: str) -> View:
    """When a partition had too few replicas in sync."""
    columns: Columns = {
        "was": lambda row: row["condition"].replace("_", " "),
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
        "began with": lambda row: row["began_by"],
        "ended by": lambda row: row["ended_by"] or "the end of the session",
    }
    found = [row for row in story.tables["isr_conditions"] if row["partition"] == partition]
    return view("isr_conditions", "Too few in sync", found, columns, "from|for")


def stalls(story: SessionStory, partition: str) -> View:
    """When records waited above a partition's high watermark."""
    columns: Columns = {
        "HW": lambda row: row["hw"],
        "from": lambda row: began(story, row),
        "for": lambda row: length(story, row),
    }
    found = [row for row in story.tables["hw_stalls"] if row["partition"] == partition]
    return view("hw_stalls", "Stalls of the high watermark", found, columns, "HW|from|for")


def outcomes(story: SessionStory) -> View:
    """What became of what was sent, by partition."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "partition": lambda row: row["partition"],
        "acks": lambda row: acks(row["acks"]),
        **{
            name: _count(name)
            for name in ("sent", "acked", "rejected", "timed_out", "unknown_other", "aborted", "refused")
        },
    }
    named = {name.replace("_", " "): value for name, value in columns.items()}
    return view("outcomes", "Records by partition", story.tables["outcomes"], named, "|".join(list(named)[3:]))


def overdue(story: SessionStory) -> View:
    """Promises that were not kept in time."""
    columns: Columns = {
        "at": lambda row: when(story, row),
        "promise": lambda row: row["property"],
        "partition": lambda row: row["partition"],
        "due within": lambda row: duration(row["bound_us"]),
        "found": lambda row: row["detail"],
        "known": lambda row: row["known"] or "",
    }
    return view("overdue", "Promises not kept in time", story.tables["overdue"], columns, "at|due within")


def found_causes(story: SessionStory) -> View:
    """What went wrong with records, once for each cause."""
    columns: Columns = {
        "what": lambda row: row["kind"],
        "by": lambda row: row["cause"],
        "records": lambda row: number(row["records"]),
        "committed": lambda row: number(row["committed_records"]),
        "partitions": lambda row: ", ".join(row["partitions_named"] or ()),
        "cause": lambda row: row["sentence"],
    }
    return view("findings", "Causes, each told once", story.tables["findings"], columns, "records|committed")


def _restored(row: Row) -> str:
    if row["time_to_restore_us"] is not None:
        return duration(row["time_to_restore_us"])
    out = row["partitions_out"] or 0
    return f"{several(out, 'partition')}: not by the end" if out else "never out"


def _maybe(column: str) -> Callable[[Row], str]:
    return lambda row: "" if row[column] is None else duration(row[column])


def _text(column: str) -> Callable[[Row], str]:
    return lambda row: row.get(column, "")


def _count(column: str) -> Callable[[Row], str]:
    return lambda row: number(row[column])
