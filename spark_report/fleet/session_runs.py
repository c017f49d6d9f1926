"""Recorded sessions as runs of a fleet: what went wrong from their results, faults and recovery from their events."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS
from spark_report.input import frames
from spark_report.input.placing import placed
from spark_report.input.sessions import Recorded
from spark_report.spark.hadoop_fs import HadoopPath
from spark_report.tables.compute import ends_of
from spark_report.tables.queries import availability, health, recovery, timeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNJUDGED: Final = "a session does not say whether it is a surprise"

_FOUND: Final = pa.struct([("key", pa.string()), ("expected", pa.string()), ("sentence", pa.string())])
_SCHEMA: Final = pa.schema(
    [
        *(("session_id", pa.string()), ("fleet", pa.string()), ("run", pa.int64()), ("seed", pa.int64())),
        *(("settings", pa.string()), ("found", pa.list_(_FOUND)), ("longest_unavailable_us", pa.int64())),
        *(("unavailable_us", pa.int64()), ("acked_lost", pa.int64()), ("error", pa.string())),
        *(("again", pa.string()), ("session", pa.string())),
    ]
)


def read_sessions(spark: "SparkSession", fleet: str, sessions: Sequence[Recorded]) -> "DataFrame":
    """A row for each session that has a result; the others broke off, and have the reason as their error."""
    lines = [_line(fleet, place, session) for place, session in enumerate(sessions, 1)]
    known = frames.frame_of(spark, pa.Table.from_pylist(lines, schema=_SCHEMA))
    whole = known.join(_struck(spark, sessions), on="session_id", how="left")
    return whole.select(
        *("fleet", "run", "seed", "settings", "found"),
        F.coalesce("faults", F.array().cast("array<string>")).alias("faults"),
        *("recovery_us", "longest_unavailable_us", "unavailable_us", "acked_lost", "error", "again", "session"),
    )


def _struck(spark: "SparkSession", sessions: Sequence[Recorded]) -> "DataFrame":
    """A row for each session that a fault struck: which, and the longest time until nothing was left of one."""
    events = frames.read_events(spark, sessions)
    rare = events.filter(~F.col("kind").isin(sorted(DATA_KINDS)))
    ends, begun = (frames.frame_of(spark, table) for table in (ends_of(sessions), placed(rare, sessions).begun))
    answers = events.filter(F.col("kind").isin(*availability.ANSWERS))
    states = timeline.partition_states(rare, begun, ends)
    troubles = recovery.troubles(availability.unavailability(rare, answers, ends), health.isr_conditions(states))
    times = recovery.fault_times(timeline.faults(rare, ends), recovery.signs(events), troubles)
    return times.groupBy("session_id").agg(
        F.sort_array(F.collect_set("fault")).alias("faults"),
        F.when(F.max(F.col("unrecovered").cast("int")) > 0, F.lit(-1).cast("long"))
        .otherwise(F.max("time_to_recover_us"))
        .alias("recovery_us"),
    )


def _line(fleet: str, place: int, session: Recorded) -> dict[str, Any]:
    start, result = session.start, session.result
    unavailable, ledger = result.get("unavailable"), result.get("ledger")
    return {
        "session_id": session.session_id,
        "fleet": fleet,
        "run": place,
        "seed": start.seed,
        "settings": " ".join(f"{name}={value}" for name, value in start.settings.items()),
        "found": list(_found(result)),
        "longest_unavailable_us": _whole(unavailable, "longest_us"),
        "unavailable_us": _whole(unavailable, "us"),
        "acked_lost": _whole(ledger, "acked_lost"),
        "error": "" if result else "; ".join(session.problems) or "it has no result",
        "again": _again(session),
        "session": str(session.path),
    }


def _again(session: Recorded) -> str:
    """The command that plays a session again, which is brought to a disk for that."""
    if isinstance(session.path, HadoopPath):
        return session.path.brought_for("replay")
    return f"floodmark replay {shlex.quote(str(session.path))}"


def _found(result: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Each key once, as a storm has it, with the first sentence."""
    seen: dict[str, dict[str, str]] = {}
    for key, expected, sentence in _told(result):
        seen.setdefault(key, {"key": key, "expected": expected, "sentence": sentence})
        if not expected:
            seen[key]["expected"] = ""
    yield from seen.values()


def _told(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for each in _objects(result, "findings"):
        yield f"finding:{each.get('kind')}/{each.get('cause')}", UNJUDGED, str(each.get("sentence", ""))
    for each in _objects(result, "violations"):
        yield f"violation:{each.get('invariant')}", str(each.get("known") or ""), str(each.get("detail", ""))
    for each in _objects(result, "anomalies"):
        if each.get("legal") is False:
            yield f"anomaly:{each.get('anomaly')}", UNJUDGED, str(each.get("anomaly"))
    for each in _objects(result, "overdue"):
        yield f"overdue:{each.get('property')}", str(each.get("known") or ""), str(each.get("detail", ""))
    for each in _objects(result, "expectations"):
        if each.get("ok") is False:
            yield f"expectation:{each.get('text')}", "", str(each.get("detail", ""))


def _objects(result: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    told = result.get(name)
    yield from (each for each in (told if isinstance(told, list) else ()) if isinstance(each, dict))


def _whole(found: object, name: str) -> int | None:
    value = found.get(name) if isinstance(found, dict) else None
    return value if type(value) is int else None
