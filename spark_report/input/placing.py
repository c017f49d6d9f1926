"""Where partitions were placed: as a session begins, and as topics are made while it runs.

A session's start names the topics that its playbook makes. Kafka's own are not among them, nor are those that somebody
creates later; for these it is told by events.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from spark_report.input import frames
from spark_report.input.sessions import Recorded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Placed(NamedTuple):
    """Tables of :data:`schemas.ASSIGNMENTS`."""

    begun: pa.Table
    """The partitions that a session begins with."""
    all: pa.Table
    """These, and those that were made later. Of what events alone tell, ``min.insync.replicas`` is null."""


def placed(rare: "DataFrame", sessions: Sequence[Recorded]) -> Placed:
    """Every partition's replicas; ``rare`` has all events that are not traffic."""
    begun = assignments(sessions)
    known = {(row["session_id"], row["partition"]) for row in begun}
    created = []
    for row in _shown(rare).toArrow().to_pylist():
        key = {"session_id": row["session_id"], "partition": row["partition"], "min_isr": None}
        if (row["session_id"], row["partition"]) in known:
            continue
        if row["replicas"] is not None:
            created.append({**key, "replicas": row["replicas"]})
        elif row["leader"] is not None:
            begun.append({**key, "replicas": [row["leader"], *sorted({*row["followers"]} - {row["leader"]})]})
    both = (begun, [*begun, *created])
    return Placed(*(pa.Table.from_pylist(rows, schema=frames.ASSIGNMENTS) for rows in both))


def assignments(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    """What the sessions' starts say."""
    return [
        {
            "session_id": session.session_id,
            "partition": name,
            "replicas": replicas,
            "min_isr": topic.min_isr,
            "default_min_isr": topic.default_min_isr,
            "most_min_isr": len(replicas) if _is_capped(session.start.profile) else None,
        }
        for session in sessions
        for topic in session.start.topics
        for name, replicas in topic.assignment.items()
        if replicas
    ]


def _is_capped(profile: str) -> bool:
    """Whether min.insync.replicas counts as at most the replicas that there are, as since 3.7 (KIP-966)."""
    found = re.match(r"(\d+)\.(\d+)", profile)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 7)


def _shown(rare: "DataFrame") -> "DataFrame":
    """A row a partition that was made by the controller, with its replicas, or taken up as the session began."""
    kind = F.col("kind")
    made = kind == "partition_created"
    first = kind.isin("became_leader", "became_follower") & (F.col("at_us") == 0) & (F.col("leader_epoch") == 0)
    return (
        rare.filter(made | first)
        .groupBy("session_id", "partition")
        .agg(
            # In sync as it is made is every replica.
            F.min(F.when(made, F.struct("seq", "isr")))["isr"].alias("replicas"),
            F.min(F.when(kind == "became_leader", F.col("broker"))).alias("leader"),
            F.collect_set(F.when(kind == "became_follower", F.col("broker"))).alias("followers"),
        )
    )
