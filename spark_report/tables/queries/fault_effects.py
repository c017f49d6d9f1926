"""Effects of each fault, and its times to detection, leader election, restored service and full recovery.

An event after the start of a fault, and before both its end and the start of the next fault, may be its effect. It is
attributed to the faults that explain it best: first those on the node that was replaced, left the ISR, was the leader,
or failed the request; then those on other replicas of the partition; then, without a better cause, those of the control
plane and of load. A client's fault explains what that client observes, and nothing in the cluster. Of several equal
ones it is the fault that started the outage, else one that stops or isolates a node rather than one that slows it down.

A fault is detected when the first alert fires whose condition began after the fault, and held at the time of an effect
of the fault that the alert's metric counts (:data:`COUNTED_BY`). Metrics count the whole cluster.

The rules are plain Python, in one pass per session; they are sent to executors by value and import no floodmark.
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.spark.by_value import rows_by_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = Mapping[str, Any]

SIGNS: Final = ("isr_changed", "leader_elected", "partition_offline", "controller_changed")
"""Kinds of controller decisions that the cluster's metrics count."""
OPERATOR: Final = ("preferred leader", "administrator", "reassignment", "new partition", "created")
"""Prefixes of the reasons of elections that no fault caused."""
LOAD: Final = ("rate_change", "traffic_spike", "hot_key")
"""Faults of producers that affect brokers."""
SLOWING: Final = (
    *("lag", "bandwidth", "slow_responses", "slow_close", "duplicate_responses", "slow_follower", "slow_cpu"),
    *("slow_disk", "lost_writeback", "corrupt_batch", "stale_metadata", "clock_skew"),
)
"""Faults under which a node still serves requests, but slower or worse."""
UNCLEAN: Final = "unclean_election"
"""Additional effect of an unclean ``leader_elected``."""
CONTROLLER_LEFT: Final = "controller_left"
"""Effect of a fault on the node that was the active controller."""
_LEAVE_ISR: Final = ("isr_changed", "leader_elected", "lacking")
COUNTED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "OfflinePartitionsCount": ("partition_offline",),
    "UnderMinIsrPartitionCount": _LEAVE_ISR,
    "UnderReplicatedPartitions": _LEAVE_ISR,
    "AtMinIsrPartitionCount": _LEAVE_ISR,
    "UncleanLeaderElectionsPerSec": (UNCLEAN,),
    "IsrShrinksPerSec": ("isr_changed",),
    "ActiveControllerCount": (CONTROLLER_LEFT, "controller_changed"),
}
"""Alert → the effects of faults that its metric counts. No metric here counts effects on clients."""
LINGERING_US: Final = 30_000_000
"""Time after its end in which a fault explains as much as an active one (replica.lag.time.max.ms)."""

_NODE: Final = re.compile(r"(broker|controller|zookeeper) (\d+)")
_OTHER_END: Final = re.compile(r"(broker|controller|zookeeper)(\d+)")
_FOR_EVER: Final = 1 << 62
_NEVER: Final = 9
"""Rank of an event that a fault does not explain."""
_COLUMNS: Final = {
    "what": "string", "kind": "string", "at_us": "bigint", "seq": "bigint", "ended_us": "bigint",
    "ended_seq": "bigint", "open": "boolean", "partition": "string", "client": "string", "broker": "bigint",
    "node": "string", "leader": "bigint", "leader_epoch": "bigint", "clean": "boolean", "isr": "array<bigint>",
    "previous_isr": "array<bigint>", "by": "string", "fault_id": "bigint", "target": "string", "detail": "string",
    "bound_us": "bigint", "fired_us": "bigint",
}  # fmt: skip
_TIMES: Final = ("detect", "elect", "restore", "recover")
SCHEMA: Final = (
    "session_id string, fault_id bigint, fault string, target string, began_us bigint, ended_us bigint, open boolean, "
    "detected_us bigint, detected_by string, elected_us bigint, partitions_out bigint, restored_us bigint, "
    "recovered_us bigint, unrecovered boolean, " + ", ".join(f"time_to_{what}_us bigint" for what in _TIMES)
)


class FaultImpact:
    """A fault, with the effects attributed to it."""

    def __init__(self, row: Row, until_seq: int) -> None:
        self.row = row
        self.until_seq = until_seq
        self.nodes = {name.strip() for name in row["target"].split(",")} - {""}
        named = [" ".join(found) for found in _NODE.findall(row["target"])]
        ends = (row["detail"] or "").partition("->")[2]
        self.cluster = bool(named)
        """Whether it affects nodes of the cluster, not only clients."""
        self.everywhere = row["kind"] in LOAD or any(not name.startswith("broker") for name in named)
        """Whether it may explain events anywhere that have no better cause."""
        if self.cluster:
            self.nodes |= {" ".join(found) for found in _OTHER_END.findall(ends)}
        self.slows = row["kind"] in SLOWING
        self.detected_by: Row | None = None
        """The first alert that detected it."""
        self.elected_us: int | None = None
        self.shown: list[tuple[int, str]] = []
        """Its effects: sequence number and kind of the event."""
        self.troubles: list[Row] = []
        self._lasts: dict[str, int] = {}
        """Partition, or empty for any → end of its last trouble there."""

    def add_trouble(self, row: Row) -> None:
        """Attribute a trouble to the fault."""
        self.shown.append((int(row["seq"]), row["kind"]))
        self.troubles.append(row)
        end = _FOR_EVER if row["open"] else int(row["ended_us"])
        for partition in {row["partition"] or "", ""}:
            self._lasts[partition] = max(end, self._lasts.get(partition, -1))

    def covers(self, row: Row) -> bool:
        """Return whether an event may be its effect, by time.

        Records in flight at its start may have waited before it, for at most their client's service bound.
        """
        late = int(self.row["seq"]) <= int(row["seq"]) or row["at_us"] + (row.get("bound_us") or 0) > self.row["at_us"]
        return late and int(row["seq"]) < self.until_seq

    def began(self, row: Row) -> bool:
        """Return whether a trouble started with the fault, or continues one that did at the same partition."""
        if abs(row["at_us"] - self.row["at_us"]) <= (row.get("bound_us") or 0):
            return True
        return self._lasts.get(row["partition"] or "", -1) >= int(row["at_us"])

    def is_long_over(self, row: Row) -> bool:
        """Return whether the fault ended too long ago for an effect to show only now."""
        return not self.row["open"] and int(row["at_us"]) > int(self.row["ended_us"]) + LINGERING_US


class States:
    """Leaders and ISRs of partitions over time, in the controller's state."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._by_partition: dict[str, list[Row]] = {}
        for row in rows:
            self._by_partition.setdefault(row["partition"], []).append(row)
        self._starts = {}
        self._replicas = {}
        for name, states in self._by_partition.items():
            states.sort(key=lambda row: row["seq"])
            self._starts[name] = [row["seq"] for row in states]
            self._replicas[name] = _brokers(sorted({each for row in states for each in row["isr"] or ()}))

    def _before(self, partition: str, seq: int) -> Iterator[Row]:
        """Return the states up to event ``seq``, the last one first."""
        states = self._by_partition[partition]
        return (states[at] for at in range(bisect_right(self._starts[partition], seq) - 1, -1, -1))

    def leader(self, partition: str, seq: int) -> list[str]:
        """Return the leader after event ``seq``, or the last one before; empty if not known."""
        if partition not in self._by_partition:
            return []
        led = next((row["leader"] for row in self._before(partition, seq) if row["leader"] >= 0), -1)
        return _brokers([led]) if led >= 0 else []

    def replicas(self, partition: str) -> list[str]:
        """Return every broker that was ever in sync."""
        return self._replicas.get(partition, [])

    def missing(self, partition: str, seq: int) -> list[str]:
        """Return the replicas that were not in sync after event ``seq``."""
        last = next(self._before(partition, seq), None) if partition in self._by_partition else None
        inside = _brokers(last["isr"] or ()) if last else self.replicas(partition)
        return [name for name in self.replicas(partition) if name not in inside]


def _brokers(ids: Iterable[int]) -> list[str]:
    return [f"broker {each}" for each in ids]


def _touched(fault: FaultImpact, *groups: Sequence[str]) -> int:
    """Return the number, from 1, of the first group of nodes with a node of the fault."""
    return next((at for at, names in enumerate(groups, 1) if not fault.nodes.isdisjoint(names)), _NEVER)


class FaultAttribution:
    """Attributes events and troubles of one session to its faults."""

    def __init__(self, faults: Sequence[Row], states: States, controller: str | None) -> None:
        """Take the faults; ``controller`` is the first active controller, None if not known."""
        begun = sorted(faults, key=lambda row: int(row["seq"]))
        following = [*[int(row["seq"]) for row in begun[1:]], _FOR_EVER]
        self.faults = [
            FaultImpact(row, max(int(row["ended_seq"]), later)) for row, later in zip(begun, following, strict=True)
        ]
        self._states = states
        self._controller = controller
        self._begun = 0
        self._current: list[FaultImpact] = []

    def _may_explain(self, row: Row) -> list[FaultImpact]:
        """Return the faults that may explain an event or a later one; events must come in order."""
        late_us = row["at_us"] + (row.get("bound_us") or 0)
        while self._begun < len(self.faults):
            begins = self.faults[self._begun].row
            if begins["seq"] > row["seq"] and begins["at_us"] >= late_us:
                break
            self._current.append(self.faults[self._begun])
            self._begun += 1
        self._current = [fault for fault in self._current if int(row["seq"]) < fault.until_seq]
        return self._current

    def _given(self, row: Row, rank: Callable[[FaultImpact], int], among: Sequence[FaultImpact]) -> list[FaultImpact]:
        """Return the faults that explain an event best; several if they are equal."""

        def key(fault: FaultImpact) -> tuple[int, ...]:
            # The leader may change while a client waits, so the fault that started the outage counts first.
            causes = (not fault.began(row), rank(fault))
            return (*(causes if row["kind"] == "refused" else causes[::-1]), fault.is_long_over(row), fault.slows)

        ranked = [(key(fault), fault) for fault in among if fault.covers(row) and rank(fault) < _NEVER]
        best = min((each for each, _fault in ranked), default=())
        return [fault for each, fault in ranked if each == best]

    def sign(self, row: Row) -> None:
        """Attribute a decision of the controller."""
        for fault in self._given(row, self._cause(row), self._may_explain(row)):
            fault.shown.append((int(row["seq"]), row["kind"]))
            if row["kind"] == "leader_elected":
                fault.elected_us = row["at_us"] if fault.elected_us is None else fault.elected_us
                fault.shown += [(int(row["seq"]), UNCLEAN)] if row.get("clean") is False else []
        if row["kind"] == "controller_changed":
            self._controller = row["node"]

    def _cause(self, row: Row) -> Callable[[FaultImpact], int]:
        if row["kind"] == "isr_changed":
            left = _brokers([each for each in row["previous_isr"] or () if each not in (row["isr"] or ())])
            return self._decided(left, _brokers([row["leader"]]))
        if row["kind"] == "controller_changed":
            return self._decided([self._controller] if self._controller else [])
        by = row["by"] or ""
        if by.startswith(OPERATOR):
            return lambda _fault: _NEVER
        named = [" ".join(found) for found in _NODE.findall(by)]
        return self._decided(named or self._states.leader(row["partition"], row["seq"] - 1))

    @staticmethod
    def _decided(*groups: Sequence[str]) -> Callable[[FaultImpact], int]:
        """Return the rank of a decision about nodes; if they are unknown, any fault of the cluster may explain it."""
        unknown = not any(groups)

        def rank(fault: FaultImpact) -> int:
            behind = len(groups) + 1 if fault.everywhere or (unknown and fault.cluster) else _NEVER
            return min(_touched(fault, *groups), behind)

        return rank

    def trouble(self, row: Row) -> None:
        """Attribute a trouble: a partition was unavailable or under-replicated, or a client could not write."""
        seq, partition = row["seq"], row["partition"] or ""
        leader, replicas = self._states.leader(partition, seq), self._states.replicas(partition)
        if row["kind"] == "lacking":
            groups = [self._states.missing(partition, seq), replicas]
        elif row["kind"] == "out":
            groups = [leader, replicas]
        else:
            groups = [[row["client"] or "", *leader], replicas]

        def rank(fault: FaultImpact) -> int:
            anything = fault.cluster and (row["kind"] == "refused" or not replicas)
            return min(_touched(fault, *groups), 3 if fault.everywhere or anything else _NEVER)

        for fault in self._given(row, rank, self._may_explain(row)):
            fault.add_trouble(row)

    def alerts(self, rows: Sequence[Row]) -> None:
        """Attribute alerts: each detects the faults with an effect that its metric counts, while its condition held."""
        for row in rows:
            if CONTROLLER_LEFT in COUNTED_BY.get(row["kind"], ()):
                left = [" ".join(found) for found in _NODE.findall(row["by"] or "")]
                for fault in self._given(row, lambda fault, left=left: _touched(fault, left), self.faults):  # type: ignore[misc]
                    fault.shown.append((int(row["seq"]), CONTROLLER_LEFT))
        shown = [(seq, at, effect) for at, fault in enumerate(self.faults) for seq, effect in fault.shown]
        shown.sort()
        for row in sorted(rows, key=lambda row: (int(row["fired_us"]), row["kind"])):
            counted = COUNTED_BY.get(row["kind"], ())
            begin, end = bisect_left(shown, (row["seq"],)), bisect_left(shown, (row["ended_seq"] + 1,))
            for _seq, at, effect in shown[begin:end]:
                fault = self.faults[at]
                if effect in counted and fault.detected_by is None and fault.row["seq"] <= row["seq"]:
                    fault.detected_by = row

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each fault."""
        return [_impact_row(fault) for fault in self.faults]


def _impact_row(fault: FaultImpact) -> dict[str, Any]:
    row, alert = fault.row, fault.detected_by
    out = [each for each in fault.troubles if each["kind"] == "out"]
    whens = {
        "detect": None if alert is None else alert["fired_us"],
        "elect": fault.elected_us,
        "restore": _last_end(out),
        "recover": _last_end(fault.troubles),
    }
    return {
        "fault_id": row["fault_id"],
        "fault": row["kind"],
        "target": row["target"],
        "began_us": row["at_us"],
        "ended_us": row["ended_us"],
        "open": row["open"],
        "detected_us": whens["detect"],
        "detected_by": "" if alert is None else alert["kind"],
        "elected_us": whens["elect"],
        "partitions_out": len({each["partition"] for each in out}),
        "restored_us": whens["restore"],
        "recovered_us": whens["recover"],
        "unrecovered": any(each["open"] for each in fault.troubles),
        **{f"time_to_{what}_us": None if at is None else at - row["at_us"] for what, at in whens.items()},
    }


def _last_end(troubles: Sequence[Row]) -> int | None:
    """Return the end of the last trouble; None without any, or if one is open."""
    if not troubles or any(each["open"] for each in troubles):
        return None
    return max(int(each["ended_us"]) for each in troubles)


def of_session(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a row for each fault; ``rows`` has faults, signs, troubles, alerts, states and controller by ``what``."""
    by_what: dict[str, list[Row]] = {}
    for row in rows:
        by_what.setdefault(row["what"], []).append(row)
    controller = next((row["node"] for row in by_what.get("controller", ())), None)
    effects = FaultAttribution(by_what.get("fault", ()), States(by_what.get("state", ())), controller)
    # Of one event, an outage comes before its signs, and under-replication after both.
    order = {"out": 0, "refused": 1, "lacking": 3}
    happened = [*by_what.get("sign", ()), *by_what.get("trouble", ())]
    for row in sorted(happened, key=lambda row: (int(row["seq"]), order.get(row["kind"], 2))):
        (effects.sign if row["what"] == "sign" else effects.trouble)(row)
    effects.alerts(by_what.get("alert", ()))
    return effects.rows()


# The same in Spark: all rows of a session in one table, processed in one pass.


def signs(events: "DataFrame") -> "DataFrame":
    """Return the events that may be effects, without first elections and ISR changes that only add replicas."""
    kind = F.col("kind")
    first = (kind == "leader_elected") & (F.col("leader_epoch") == 0)
    left = F.size(F.array_except(F.coalesce("previous_isr", F.array()), F.coalesce("isr", F.array()))) > 0
    return events.filter(kind.isin(*SIGNS) & ~first & ((kind != "isr_changed") | left))


def troubles(unavailability: "DataFrame", conditions: "DataFrame") -> "DataFrame":
    """Return the intervals that a fault can cause by kind: ``out``, ``refused`` (a client) or ``lacking`` replicas."""
    span = ("partition", "began_us", "began_seq", "ended_us", "ended_seq", "open")
    scope = F.when(F.col("scope") == "partition", F.lit("out")).otherwise(F.lit("refused"))
    out = unavailability.select("session_id", scope.alias("trouble"), "client", *span, "bound_us")
    lacking = conditions.filter(F.col("condition").isin("under_replicated", "offline"))
    other = lacking.select("session_id", F.lit("lacking").alias("trouble"), *span)
    return out.unionByName(other, allowMissingColumns=True)


def fault_times(
    faults: "DataFrame", shown: "DataFrame", felt: "DataFrame", alerts: "DataFrame | None", states: "DataFrame",
    sessions: "DataFrame",
) -> "DataFrame":  # fmt: skip
    """Return a row per fault with its times of detection, leader election, restored service and full recovery.

    ``shown`` is the result of :func:`signs`, ``felt`` that of :func:`troubles`, ``states`` has partition states.
    Without ``alerts`` no fault is detected.
    """
    began = {"at_us": "began_us", "seq": "began_seq"}
    parts: dict[str, tuple[DataFrame, Mapping[str, str]]] = {
        "fault": (faults, {**began, "kind": "fault"}),
        "sign": (shown, {}),
        "trouble": (felt, {**began, "kind": "trouble"}),
        "state": (states, began),
        "controller": (sessions, {"node": "controller"}),
    }
    if alerts is not None:
        parts["alert"] = (alerts.filter("fired"), {**began, "kind": "alert", "by": "began_by"})
    rows = [_rows(what, frame, renamed) for what, (frame, renamed) in parts.items()]
    whole = reduce(lambda one, other: one.unionByName(other), rows)
    struck = F.broadcast(faults.select("session_id").distinct())
    relevant = whole.join(struck, on="session_id", how="left_semi")
    return rows_by_session(
        relevant, lambda _session_id, table: of_session(table.to_pylist()), SCHEMA, sys.modules[__name__]
    )


def _rows(what: str, frame: "DataFrame", renamed: Mapping[str, str]) -> "DataFrame":
    """Return the rows of one input with all columns; ``renamed`` maps columns to their names in the input."""
    own = {name: F.col(renamed.get(name, name)) for name in _COLUMNS if renamed.get(name, name) in frame.columns}
    own["what"] = F.lit(what)
    columns = [own.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in _COLUMNS.items()]
    return frame.select("session_id", *columns)


def fault_means(times: "DataFrame") -> "DataFrame":
    """Return means over the faults of a session by name, and over all faults (an empty name)."""
    each = times.withColumn("fault", F.explode(F.array(F.lit(""), F.col("fault"))))
    mean = {"mttd_us": "time_to_detect_us", "mtte_us": "time_to_elect_us", "mttr_us": "time_to_recover_us"}
    return each.groupBy("session_id", "fault").agg(
        F.count(F.lit(1)).alias("faults"),
        F.count("detected_us").alias("detected"),
        F.count("recovered_us").alias("recovered"),
        F.count(F.when(F.col("unrecovered"), F.lit(1))).alias("unrecovered_faults"),
        *(F.round(F.mean(column)).cast("long").alias(name) for name, column in mean.items()),
        F.max("time_to_restore_us").alias("rto_us"),
    )
