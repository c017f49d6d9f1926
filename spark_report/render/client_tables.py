"""Findings about clients as small tables of text: what each saw, with the figures of the session's own result."""

from typing import Final

from cluster_model.util.quantities import rounded_duration, thousands
from spark_report.model.report import Row, SessionStory
from spark_report.render.tables import Columns, View, number_in, timed_view

_WHAT: Final = {
    "refused": "attempts refused",
    "outcome": "records failed or unknown",
    "commit": "commits failed",
}

_SELDOM: Final = {
    "transactions": "transactions",
    "of these committed": "transactions_committed",
    "of these aborted": "transactions_aborted",
    "of these unknown": "transactions_unknown",
    "interceptor failed at": "interceptor_failures",
    "killed": "killed",
    "closed": "closed",
}
"""Columns of producers that most sessions have nothing in, by their headings."""


def producers(story: SessionStory) -> View:
    """Records by their outcome, and attempts, a row a producer."""
    names = {
        "sent": "sent",
        "acked": "acked",
        "failed": "failed",
        "unknown": "unknown",
        "aborted": "aborted",
        "unanswered": "unanswered",
        "attempts beyond the first": "retries",
        "attempts refused": "refused",
        **_seen(story, _SELDOM),
    }
    columns: Columns = {
        "producer": lambda row: row["client"],
        **{title: number_in(name) for title, name in names.items()},
        **({"ended with": lambda row: row["failure"]} if _seen(story, {"failure": "failure"}) else {}),
    }
    return timed_view(story, "producers", "Producers", columns, "|".join(names))


def producers_short(story: SessionStory) -> View:
    """The same for a terminal: columns of noughts are left out, and of transactions only how many committed."""
    seldom = {name: name for name in ("aborted", "unanswered", "retries", "refused")}
    names = {name: name for name in ("sent", "acked", "failed", "unknown")} | _seen(story, seldom)
    columns: Columns = {
        "producer": lambda row: row["client"],
        **{title: number_in(name) for title, name in names.items()},
    }
    if _seen(story, {"": "transactions"}):
        columns["committed"] = _committed
    return timed_view(story, "producers", "Producers", columns, "|".join([*names, "committed"]))


def _committed(row: Row) -> str:
    """``21 of 22``, in transactions; nothing where there were none."""
    begun = row["transactions"]
    return f"{thousands(row['transactions_committed'])} of {thousands(begun)}" if begun else ""


def _seen(story: SessionStory, names: dict[str, str], table: str = "producers") -> dict[str, str]:
    """Those of the columns that some row of a table has anything in."""
    return {title: name for title, name in names.items() if any(row[name] for row in story.tables[table])}


def groups(story: SessionStory) -> View:
    """What groups were handed, how often they rebalanced, what they committed, and how far behind they ended."""
    lags = _lags(story)
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "read": number_in("read"),
        "read again": number_in("reread"),
        "lag": lambda row: lags.get(row["group_id"], ""),
        "rebalances": number_in("rebalances"),
        "partitions idle": lambda row: rounded_duration(row["idle_us"]) if row["idle_us"] else "0",
        "commits": number_in("commits"),
        "not committed": number_in("failed_commits"),
        "handler failed": number_in("handler_failed"),
        "unprocessed": number_in("abandoned"),
        "truncations": number_in("truncations"),
        "resets": number_in("resets"),
    }
    return timed_view(story, "groups", "Groups", columns, "|".join(list(columns)[1:]))


def groups_short(story: SessionStory) -> View:
    """The same for a terminal, likewise."""
    lags = _lags(story)
    seldom = {
        "again": "reread",
        "not committed": "failed_commits",
        "handler failed": "handler_failed",
        "unprocessed": "abandoned",
    }
    names = {"read": "read", "rebalances": "rebalances", "commits": "commits"} | _seen(story, seldom, "groups")
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "lag": lambda row: lags.get(row["group_id"], ""),
        **{title: number_in(name) for title, name in names.items()},
    }
    return timed_view(story, "groups", "Groups", columns, "|".join(["lag", *names]))


def members(story: SessionStory) -> View:
    """The same of each consumer."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "member": lambda row: row["client"],
        "read": number_in("read"),
        "handler failed": number_in("handler_failed"),
        "unprocessed": number_in("abandoned"),
        "commits": number_in("commits"),
        "not committed": number_in("failed_commits"),
        "partitions lost": number_in("partitions_lost"),
        "killed": number_in("killed"),
        "closed": number_in("closed"),
        "ended with": lambda row: row["failure"],
    }
    return timed_view(story, "members", "Members of groups", columns, "|".join(list(columns)[2:10]))


def errors(story: SessionStory) -> View:
    """Errors that clients met, by name."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "error": lambda row: row["error"],
        "of": lambda row: _WHAT[row["what"]],
        "times": number_in("times"),
    }
    return timed_view(story, "client_errors", "Errors that clients met", columns, "times")


def _lags(story: SessionStory) -> dict[str, str]:
    """LAG by group, as the session's result has it: no event says it. Nothing where there is no such result."""
    told = story.recorded.result.get("clients")
    found = told.get("groups") if isinstance(told, dict) else None
    return {
        name: "-" if group["lag"] is None else thousands(group["lag"])
        for name, group in (found.items() if isinstance(found, dict) else ())
        if isinstance(group, dict) and "lag" in group and (group["lag"] is None or type(group["lag"]) is int)
    }
