"""Text tables about clients: producers, groups, members and errors, with lags from the session's own result."""

from typing import Final

from cluster_model.util.quantities import rounded_duration, thousands
from spark_report.model.report import Row, SessionModel
from spark_report.render.tables import Columns, View, number_in, timed_view

_WHAT: Final = {
    "refused": "failed attempts",
    "outcome": "failed or unknown records",
    "commit": "failed commits",
}

_SELDOM: Final = {
    "transactions": "transactions",
    "of these committed": "transactions_committed",
    "of these aborted": "transactions_aborted",
    "of these unknown": "transactions_unknown",
    "interceptor failures": "interceptor_failures",
    "killed": "killed",
    "closed": "closed",
}
"""Columns of producers that are zero in most sessions, by heading; shown only if some value is not zero."""


def producers(model: SessionModel) -> View:
    """Return the producers with records by outcome, and attempts."""
    names = {
        "sent": "sent",
        "acked": "acked",
        "failed": "failed",
        "unknown": "unknown",
        "aborted": "aborted",
        "unanswered": "unanswered",
        "retries": "retries",
        "failed attempts": "refused",
        **_seen(model, _SELDOM),
    }
    columns: Columns = {
        "producer": lambda row: row["client"],
        **{title: number_in(name) for title, name in names.items()},
        **({"ended with": lambda row: row["failure"]} if _seen(model, {"failure": "failure"}) else {}),
    }
    return timed_view(model, "producers", "Producers", columns, "|".join(names))


def producers_short(model: SessionModel) -> View:
    """Return the producers with fewer columns for a terminal: none of zeros, and only committed transactions."""
    seldom = {name: name for name in ("aborted", "unanswered", "retries")} | {"failed attempts": "refused"}
    names = {name: name for name in ("sent", "acked", "failed", "unknown")} | _seen(model, seldom)
    columns: Columns = {
        "producer": lambda row: row["client"],
        **{title: number_in(name) for title, name in names.items()},
    }
    if _seen(model, {"": "transactions"}):
        columns["committed"] = _committed
    return timed_view(model, "producers", "Producers", columns, "|".join([*names, "committed"]))


def _committed(row: Row) -> str:
    """Return the committed transactions as ``21 of 22``; empty if there were none."""
    begun = row["transactions"]
    return f"{thousands(row['transactions_committed'])} of {thousands(begun)}" if begun else ""


def _seen(model: SessionModel, names: dict[str, str], table: str = "producers") -> dict[str, str]:
    """Return the columns that have a value other than zero in some row of a table."""
    return {title: name for title, name in names.items() if any(row[name] for row in model.tables[table])}


def groups(model: SessionModel) -> View:
    """Return the groups with records read, rebalances, commits, and the final lag."""
    lags = _lags(model)
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "read": number_in("read"),
        "reread": number_in("reread"),
        "lag": lambda row: lags.get(row["group_id"], ""),
        "rebalances": number_in("rebalances"),
        "partition idle time": lambda row: rounded_duration(row["idle_us"]) if row["idle_us"] else "0",
        "commits": number_in("commits"),
        "failed commits": number_in("failed_commits"),
        "handler failed": number_in("handler_failed"),
        "unprocessed": number_in("abandoned"),
        "truncations": number_in("truncations"),
        "resets": number_in("resets"),
    }
    return timed_view(model, "groups", "Groups", columns, "|".join(list(columns)[1:]))


def groups_short(model: SessionModel) -> View:
    """Return the groups with fewer columns for a terminal."""
    lags = _lags(model)
    seldom = {
        "reread": "reread",
        "failed commits": "failed_commits",
        "handler failed": "handler_failed",
        "unprocessed": "abandoned",
    }
    names = {"read": "read", "rebalances": "rebalances", "commits": "commits"} | _seen(model, seldom, "groups")
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "lag": lambda row: lags.get(row["group_id"], ""),
        **{title: number_in(name) for title, name in names.items()},
    }
    return timed_view(model, "groups", "Groups", columns, "|".join(["lag", *names]))


def members(model: SessionModel) -> View:
    """Return the members of groups with their counts."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "member": lambda row: row["client"],
        "read": number_in("read"),
        "handler failed": number_in("handler_failed"),
        "unprocessed": number_in("abandoned"),
        "commits": number_in("commits"),
        "failed commits": number_in("failed_commits"),
        "partitions lost": number_in("partitions_lost"),
        "killed": number_in("killed"),
        "closed": number_in("closed"),
        "ended with": lambda row: row["failure"],
    }
    return timed_view(model, "members", "Group members", columns, "|".join(list(columns)[2:10]))


def errors(model: SessionModel) -> View:
    """Return the errors of clients by name."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "error": lambda row: row["error"],
        "of": lambda row: _WHAT[row["what"]],
        "times": number_in("times"),
    }
    return timed_view(model, "client_errors", "Client errors", columns, "times")


def _lags(model: SessionModel) -> dict[str, str]:
    """Return LAG by group from the session's result, because no event has it; empty without a result."""
    clients = model.recorded.result.get("clients")
    found = clients.get("groups") if isinstance(clients, dict) else None
    return {
        name: "-" if group["lag"] is None else thousands(group["lag"])
        for name, group in (found.items() if isinstance(found, dict) else ())
        if isinstance(group, dict) and "lag" in group and (group["lag"] is None or type(group["lag"]) is int)
    }
