"""From each fault to its end in the cluster: detected, a new leader elected, everything served again, nothing left.

What happened after a fault began, and before it was over and the next one began, may be its effect. It is the effect
of the faults that explain it best: first those that the very node has that was replaced, left the ISR, led the
partition or was refused; then those of other replicas of the partition; then, of whatever is without a better cause,
those of the control plane and of load. A client's fault explains what that client sees, and nothing in the cluster.
Of several that explain it alike it is the one that began the outage, else one that stops a node or cuts it off rather
than one that slows it down.

A fault is detected when the first alert fires whose condition held as one of its effects came. Alerts count the whole
cluster, as Kafka's metrics do, so the effect need not be one that the alert counts.

The rules are plain Python, one walk a session; they go to executors by value and use nothing else of floodmark.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from spark_report.spark.by_value import rows_by_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = Mapping[str, Any]

DECISIONS: Final = ("broker_fenced", "isr_changed", "leader_elected", "partition_offline", "controller_changed")
SIGNS: Final = (
    *DECISIONS,
    *("produce_refused", "records_failed", "records_unknown", "commit_failed", "partitions_lost", "consumer_failed"),
    *("truncation_detected", "corrupt_batch_found", "transaction_unknown"),
)
"""Kinds that show that the cluster or a client has noticed something."""
OPERATOR: Final = ("preferred leader", "administrator", "reassignment", "new partition", "created")
"""How the reason of an election begins that no fault brought about."""
LOAD: Final = ("rate_change", "traffic_spike", "hot_key")
"""Faults of producers that brokers feel."""
SLOWING: Final = (
    *("lag", "bandwidth", "slow_responses", "slow_close", "duplicate_responses", "slow_follower", "slow_cpu"),
    *("slow_disk", "lost_writeback", "corrupt_batch", "stale_metadata", "clock_skew"),
)
"""Faults under which a node still serves, slower or worse; without them it would serve as well."""
LINGERING_US: Final = 30_000_000
"""For so long after it is over a fault still explains as much as one that is active (replica.lag.time.max.ms)."""

_NODE: Final = re.compile(r"(broker|controller|zookeeper) (\d+)")
_OTHER_END: Final = re.compile(r"(broker|controller|zookeeper)(\d+)")
_FOR_EVER: Final = 1 << 62
_NEVER: Final = 9
"""The rank of what a fault does not explain."""
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


class Fault:
    """A fault, and what it may have brought about."""

    def __init__(self, row: Row, until_seq: int) -> None:
        self.row = row
        self.until_seq = until_seq
        self.nodes = {name.strip() for name in row["target"].split(",")} - {""}
        named = [" ".join(found) for found in _NODE.findall(row["target"])]
        ends = (row["detail"] or "").partition("->")[2]
        self.cluster = bool(named)
        """Whether it is of nodes of the cluster, and not of clients alone."""
        self.everywhere = row["kind"] in LOAD or any(not name.startswith("broker") for name in named)
        """Whether it may be felt wherever nothing else explains it."""
        if self.cluster:
            self.nodes |= {" ".join(found) for found in _OTHER_END.findall(ends)}
        self.slows = row["kind"] in SLOWING
        self.detected_by: Row | None = None
        """The first alert that fires."""
        self.elected_us: int | None = None
        self.shown: list[int] = []
        """The numbers of the events that show it."""
        self.troubles: list[Row] = []

    def covers(self, row: Row) -> bool:
        """Whether what happened then may be its effect.

        Records that were under way as it began wait since before it, by no more than their client's service bound.
        """
        late = int(self.row["seq"]) <= int(row["seq"]) or row["at_us"] + (row.get("bound_us") or 0) > self.row["at_us"]
        return late and int(row["seq"]) < self.until_seq

    def began(self, row: Row) -> bool:
        """Whether this is what it began, or what continues that: of the same partition, if it is of one."""
        if abs(row["at_us"] - self.row["at_us"]) <= (row.get("bound_us") or 0):
            return True
        return any(
            (each["open"] or each["ended_us"] >= row["at_us"])
            and (not row["partition"] or each["partition"] == row["partition"])
            for each in self.troubles
        )

    def is_long_over(self, row: Row) -> bool:
        """Whether what it left behind should have shown before."""
        return not self.row["open"] and int(row["at_us"]) > int(self.row["ended_us"]) + LINGERING_US


class States:
    """Leaders and ISRs of partitions over time, as the controller decided them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._by_partition: dict[str, list[Row]] = {}
        for row in rows:
            self._by_partition.setdefault(row["partition"], []).append(row)
        self._starts = {}
        for name, states in self._by_partition.items():
            states.sort(key=lambda row: row["seq"])
            self._starts[name] = [row["seq"] for row in states]

    def _before(self, partition: str, seq: int) -> list[Row]:
        return self._by_partition[partition][: bisect_right(self._starts[partition], seq)]

    def leader(self, partition: str, seq: int) -> list[str]:
        """The broker that led after event ``seq``, or the last that did; none where that is not known."""
        if partition not in self._by_partition:
            return []
        led = next((row["leader"] for row in reversed(self._before(partition, seq)) if row["leader"] >= 0), -1)
        return _brokers([led]) if led >= 0 else []

    def replicas(self, partition: str) -> list[str]:
        """Every broker that was ever in sync."""
        return _brokers(sorted({each for row in self._by_partition.get(partition, ()) for each in row["isr"] or ()}))

    def missing(self, partition: str, seq: int) -> list[str]:
        """Those of them that were not after event ``seq``."""
        states = self._before(partition, seq) if partition in self._by_partition else []
        inside = _brokers(states[-1]["isr"] or ()) if states else self.replicas(partition)
        return [name for name in self.replicas(partition) if name not in inside]


def _brokers(ids: Iterable[int]) -> list[str]:
    return [f"broker {each}" for each in ids]


def _touched(fault: Fault, *groups: Sequence[str]) -> int:
    """The first of these groups of nodes with one that the fault is of, from 1."""
    return next((at for at, names in enumerate(groups, 1) if not fault.nodes.isdisjoint(names)), _NEVER)


class Effects:
    """Gives signs and troubles to the faults of one session."""

    def __init__(self, faults: Sequence[Row], states: States, controller: str | None) -> None:
        """``controller`` is the node that was active as the session began, None where nobody says."""
        begun = sorted(faults, key=lambda row: int(row["seq"]))
        following = [*[int(row["seq"]) for row in begun[1:]], _FOR_EVER]
        self.faults = [
            Fault(row, max(int(row["ended_seq"]), later)) for row, later in zip(begun, following, strict=True)
        ]
        self._states = states
        self._controller = controller

    def _given(self, row: Row, rank: Callable[[Fault], int]) -> list[Fault]:
        """The faults that explain best what happened then; several where nothing tells them apart."""

        def key(fault: Fault) -> tuple[int, ...]:
            # Whom a client asks changes while it waits: that is of what began the outage, whichever leads by now.
            causes = (not fault.began(row), rank(fault))
            return (*(causes if row["kind"] == "refused" else causes[::-1]), fault.is_long_over(row), fault.slows)

        ranked = [(key(fault), fault) for fault in self.faults if fault.covers(row) and rank(fault) < _NEVER]
        best = min((each for each, _fault in ranked), default=())
        return [fault for each, fault in ranked if each == best]

    def sign(self, row: Row) -> None:
        """The cluster or a client has noticed something."""
        cause = self._cause(row)
        for fault in self._given(row, cause):
            fault.shown.append(int(row["seq"]))
            if row["kind"] == "leader_elected" and fault.elected_us is None:
                fault.elected_us = row["at_us"]
        if row["kind"] == "controller_changed":
            self._controller = row["node"]

    def _cause(self, row: Row) -> Callable[[Fault], int]:
        kind = row["kind"]
        if kind not in DECISIONS:
            broker = _brokers([row["broker"]]) if (row["broker"] if row["broker"] is not None else -1) >= 0 else []
            seen_by = [row["client"] or ""]
            return lambda fault: min(_touched(fault, [*seen_by, *broker]), 2 if fault.cluster else _NEVER)
        if kind == "isr_changed":
            left = _brokers([each for each in row["previous_isr"] or () if each not in (row["isr"] or ())])
            return self._decided(left, _brokers([row["leader"]]))
        if kind == "broker_fenced":
            return self._decided(_brokers([row["broker"]]))
        if kind == "controller_changed":
            return self._decided([self._controller] if self._controller else [])
        by = row["by"] or ""
        if by.startswith(OPERATOR):
            return lambda _fault: _NEVER
        named = [" ".join(found) for found in _NODE.findall(by)]
        return self._decided(named or self._states.leader(row["partition"], row["seq"] - 1))

    @staticmethod
    def _decided(*groups: Sequence[str]) -> Callable[[Fault], int]:
        """A decision about these nodes; where they are not known any fault of the cluster may be its cause."""
        unknown = not any(groups)

        def rank(fault: Fault) -> int:
            behind = len(groups) + 1 if fault.everywhere or (unknown and fault.cluster) else _NEVER
            return min(_touched(fault, *groups), behind)

        return rank

    def trouble(self, row: Row) -> None:
        """A partition was without service or lacked replicas, or a client was refused."""
        seq, partition = row["seq"], row["partition"] or ""
        leader, replicas = self._states.leader(partition, seq), self._states.replicas(partition)
        if row["kind"] == "lacking":
            groups = [self._states.missing(partition, seq), replicas]
        elif row["kind"] == "out":
            groups = [leader, replicas]
        else:
            groups = [[row["client"] or "", *leader], replicas]

        def rank(fault: Fault) -> int:
            anything = fault.cluster and (row["kind"] == "refused" or not replicas)
            return min(_touched(fault, *groups), 3 if fault.everywhere or anything else _NEVER)

        for fault in self._given(row, rank):
            fault.shown.append(int(row["seq"]))
            fault.troubles.append(row)

    def alert(self, row: Row) -> None:
        """An alert fires: it detects the faults with an effect in the interval in which its condition held."""
        for fault in self.faults:
            early = row["fired_us"] < fault.row["at_us"]
            if not early and any(row["seq"] <= seq <= row["ended_seq"] for seq in fault.shown):
                first = fault.detected_by
                fault.detected_by = row if first is None or row["fired_us"] < first["fired_us"] else first

    def rows(self) -> list[dict[str, Any]]:
        """A row for each fault."""
        return [_told(fault) for fault in self.faults]


def _told(fault: Fault) -> dict[str, Any]:
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
    """When the last of these ended; None if one never did."""
    if not troubles or any(each["open"] for each in troubles):
        return None
    return max(int(each["ended_us"]) for each in troubles)


def of_session(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row for each fault; ``rows`` are faults, signs, troubles, alerts, states, the first controller, by ``what``."""
    by_what: dict[str, list[Row]] = {}
    for row in rows:
        by_what.setdefault(row["what"], []).append(row)
    controller = next((row["node"] for row in by_what.get("controller", ())), None)
    effects = Effects(by_what.get("fault", ()), States(by_what.get("state", ())), controller)
    # An outage comes before what shows it, and what lacks replicas behind both.
    order = {"out": 0, "refused": 1, "lacking": 3}
    happened = [*by_what.get("sign", ()), *by_what.get("trouble", ())]
    for row in sorted(happened, key=lambda row: (int(row["seq"]), order.get(row["kind"], 2))):
        (effects.sign if row["what"] == "sign" else effects.trouble)(row)
    for row in sorted(by_what.get("alert", ()), key=lambda row: (int(row["fired_us"]), row["kind"])):
        effects.alert(row)
    return effects.rows()


# The same in Spark: everything of a session as rows of one table, one walk for each.


def signs(events: "DataFrame") -> "DataFrame":
    """The events that show something; the first leader of a partition and an ISR that nobody has left do not."""
    kind = F.col("kind")
    first = (kind == "leader_elected") & (F.col("leader_epoch") == 0)
    left = F.size(F.array_except(F.coalesce("previous_isr", F.array()), F.coalesce("isr", F.array()))) > 0
    return events.filter(kind.isin(*SIGNS) & ~first & ((kind != "isr_changed") | left))


def troubles(unavailability: "DataFrame", conditions: "DataFrame") -> "DataFrame":
    """Everything that a fault can leave behind, as intervals with what it is: out, refused or lacking."""
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
    """A row a fault: when it was detected, when a leader was elected, and when all was served and whole again.

    ``shown`` is what :func:`signs` gives, ``felt`` what :func:`troubles` gives, ``states`` those of partitions.
    Without ``alerts`` nothing is detected.
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
        parts["alert"] = (alerts.filter("fired"), {**began, "kind": "alert"})
    rows = [_rows(what, frame, renamed) for what, (frame, renamed) in parts.items()]
    whole = reduce(lambda one, other: one.unionByName(other), rows)
    struck = F.broadcast(faults.select("session_id").distinct())
    told = whole.join(struck, on="session_id", how="left_semi")
    return rows_by_session(
        told, lambda _session_id, table: of_session(table.to_pylist()), SCHEMA, sys.modules[__name__]
    )


def _rows(what: str, frame: "DataFrame", renamed: Mapping[str, str]) -> "DataFrame":
    """A part of what is known, with all columns; ``renamed`` are those that it has under another name."""
    own = {name: F.col(renamed.get(name, name)) for name in _COLUMNS if renamed.get(name, name) in frame.columns}
    own["what"] = F.lit(what)
    columns = [own.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in _COLUMNS.items()]
    return frame.select("session_id", *columns)


def fault_means(times: "DataFrame") -> "DataFrame":
    """Means over the faults of a session by name, and over all of them (an empty name)."""
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
