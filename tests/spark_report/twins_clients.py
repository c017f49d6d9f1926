"""Twins of the tables on what clients saw: outcomes, throughput, groups, their members, their lag and rebalances."""

from tests.spark_report.twins_common import Found, History, grouped, records, times
from tests.support.sessions import Row

_TRAFFIC = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted", "records_read"),
    "produce_refused",
)
_PRODUCER = (
    *("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted"),
    *("produce_refused", "produce_retried", "interceptor_failed", "producer_fenced"),
    *("transaction_begun", "transaction_committed", "transaction_aborted", "transaction_unknown"),
)
_MEMBER = (
    *("records_read", "offsets_committed", "commit_failed", "handler_failed", "records_abandoned", "consumer_failed"),
    *("truncation_detected", "consumer_reset", "group_rebalanced"),
    *("partitions_assigned", "partitions_revoked", "partitions_lost"),
)
_TIMEOUTS = ("REQUEST_TIMED_OUT", "TimeoutException")
_DEATHS = ("crash", "power_loss", "out_of_memory")


def throughput(history: History) -> Found:
    found = []
    marked = [{**row, "bin": history.bin_of(row)} for row in history.of(*_TRAFFIC)]
    for (client, begun), rows in grouped(marked, "client", "bin").items():
        acked, read = records(rows, "records_acked"), records(rows, "records_read")
        found.append(
            {
                "client": client,
                "bin_began_us": begun,
                "bin_us": history.bin_us,
                "sent": records(rows, "records_sent"),
                "acked": acked,
                "failed": records(rows, "records_failed"),
                "unknown": records(rows, "records_unknown"),
                "read": read,
                "refused": times(rows, "produce_refused"),
                "acked_per_s": acked * 1_000_000 / history.bin_us,
                "read_per_s": read * 1_000_000 / history.bin_us,
            }
        )
    return found


def outcomes(history: History) -> Found:
    found = []
    told = [row for row in history.of(*_TRAFFIC) if row["kind"] != "records_read"]
    for (client, partition, acks), rows in grouped(told, "client", "partition", "acks").items():
        late = [row for row in rows if row.get("error") in _TIMEOUTS]
        timed_out = records(late, "records_unknown")
        found.append(
            {
                "client": client,
                "partition": partition,
                "acks": acks,
                "sent": records(rows, "records_sent"),
                "acked": records(rows, "records_acked"),
                "rejected": records(rows, "records_failed"),
                "timed_out": timed_out,
                "unknown_other": records(rows, "records_unknown") - timed_out,
                "aborted": records(rows, "records_aborted"),
                "refused": times(rows, "produce_refused"),
            }
        )
    return found


def _ends(history: History, client: str) -> dict[str, int]:
    """How often the process of that name died, and was closed in order."""
    ended = [row["detail"] for row in history.of("node_down") if row["node"] == client and row["broker"] < 0]
    return {"killed": sum(ended.count(how) for how in _DEATHS), "closed": ended.count("close")}


def _failure(rows: list[Row], kind: str) -> str:
    return next((str(row["error"]) for row in reversed(rows) if row["kind"] == kind), "")


def producers(history: History) -> Found:
    found = []
    for (client,), rows in grouped(history.of(*_PRODUCER), "client").items():
        terms = {name: records(rows, f"records_{name}") for name in ("acked", "failed", "unknown", "aborted")}
        sent = records(rows, "records_sent")
        found.append(
            {
                "client": client,
                "sent": sent,
                **terms,
                "unanswered": sent - sum(terms.values()),
                "retries": times(rows, "produce_retried"),
                "refused": times(rows, "produce_refused"),
                "transactions": times(rows, "transaction_begun"),
                "transactions_committed": times(rows, "transaction_committed"),
                "transactions_aborted": times(rows, "transaction_aborted"),
                "transactions_unknown": times(rows, "transaction_unknown"),
                "interceptor_failures": records(rows, "interceptor_failed"),
                **_ends(history, client),
                "failure": _failure(rows, "producer_fenced"),
            }
        )
    return found


def _commits(rows: list[Row]) -> int:
    """A commit of several partitions is one, told by an event for each."""
    return len({(row["client"], row["at_us"], row["by"]) for row in rows if row["kind"] == "offsets_committed"})


def members(history: History) -> Found:
    found = []
    for (group, client), rows in grouped(history.of(*_MEMBER), "group_id", "client").items():
        found.append(
            {
                "group_id": group,
                "client": client,
                "read": records(rows, "records_read"),
                "handler_failed": records(rows, "handler_failed"),
                "abandoned": records(rows, "records_abandoned"),
                "commits": _commits(rows),
                "failed_commits": times(rows, "commit_failed"),
                "partitions_lost": records(rows, "partitions_lost"),
                **_ends(history, client),
                "failure": _failure(rows, "consumer_failed"),
            }
        )
    return found


def groups(history: History) -> Found:
    found = []
    for (group,), rows in grouped(history.of(*_MEMBER, "offsets_expired"), "group_id").items():
        if all(row["kind"] == "offsets_expired" for row in rows):
            continue
        found.append(
            {
                "group_id": group,
                "read": records(rows, "records_read"),
                "reread": _read_again(rows),
                "rebalances": times(rows, "group_rebalanced"),
                "idle_us": sum(idle_us for _ended, idle_us in _waits(history, group)),
                "commits": _commits(rows),
                "failed_commits": times(rows, "commit_failed"),
                "handler_failed": records(rows, "handler_failed"),
                "abandoned": records(rows, "records_abandoned"),
                "truncations": times(rows, "truncation_detected"),
                "resets": _resets(rows),
            }
        )
    return found


def _resets(rows: list[Row]) -> int:
    """Those of members whose offset was out of range, or whose committed one had expired."""
    expired: set[str] = set()
    resets = 0
    for row in rows:
        if row["kind"] == "offsets_expired":
            expired.add(row["partition"])
        elif row["kind"] == "consumer_reset":
            resets += row["end_offset"] >= 0 or row["partition"] in expired
            expired.discard(row["partition"])
    return resets


def _read_again(rows: list[Row]) -> int:
    """Records that a group is handed once more: those at the same offset that the same log branch wrote."""
    had: set[tuple[str, int, int]] = set()
    again = 0
    for row in rows:
        if row["kind"] == "records_read":
            places = {(row["partition"], row["log_branch"], row["log_offset"] + place) for place in range(row["count"])}
            again += len(places & had)
            had |= places
    return again


def _named(row: Row) -> list[str]:
    return [name for name in row["detail"].split(": ")[-1].split(", ") if name]


def _waits(history: History, group: str) -> list[tuple[int, int]]:
    """When partitions of a group got an owner again (seq), and how long they had had none that ran."""
    owner: dict[str, str] = {}
    since: dict[str, int] = {}
    found = []
    for row in history.rows:
        if row["kind"] == "node_down" and row["broker"] < 0:
            for name in [name for name, who in owner.items() if who == row["node"]]:
                since.setdefault(name, row["at_us"])
        elif row.get("group_id") != group:
            continue
        elif row["kind"] == "partitions_assigned":
            for name in _named(row):
                owner[name] = row["client"]
                if name in since:
                    found.append((row["seq"], row["at_us"] - since.pop(name)))
        elif row["kind"] in ("partitions_revoked", "partitions_lost"):
            for name in _named(row):
                if owner.get(name) == row["client"]:
                    since.setdefault(name, row["at_us"])
    return found


def rebalances(history: History) -> Found:
    """A partition that gets an owner does so by the newest rebalance of its group."""
    found = []
    for (group,), rows in grouped(history.of(*_MEMBER), "group_id").items():
        own = [row for row in rows if row["kind"] == "group_rebalanced"]
        for place, row in enumerate(own):
            until = own[place + 1]["seq"] if place + 1 < len(own) else history.end_seq + 1
            lost = [idle_us for ended, idle_us in _waits(history, group) if row["seq"] < ended < until]
            found.append(
                {
                    "at_us": row["at_us"],
                    "seq": row["seq"],
                    "group_id": group,
                    "members": row["count"],
                    "detail": row["detail"],
                    "partitions_moved": len(lost),
                    "time_lost_us": sum(lost),
                }
            )
    return found


def client_errors(history: History) -> Found:
    met: dict[tuple[str, str, str], int] = {}
    for row in history.rows:
        if row["kind"] in ("records_failed", "records_unknown"):
            what, how_often = "outcome", row["count"]
        elif row["kind"] in ("produce_refused", "commit_failed"):
            what, how_often = ("refused" if row["kind"] == "produce_refused" else "commit"), 1
        else:
            continue
        key = (what, row["client"], row["error"])
        met[key] = met.get(key, 0) + how_often
    return [{"what": what, "client": client, "error": error, "times": n} for (what, client, error), n in met.items()]
