"""Findings about clients as small tables of text: what each saw, with the figures of the session's own result."""

from collections.abc import Callable
from typing import Any, Final

from spark_report.model.format import duration, number
from spark_report.model.report import Row, SessionStory
from spark_report.render.tables import View, view

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

Columns = dict[str, Callable[[Row], Any]]


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
        **{title: _number(name) for title, name in names.items()},
        **({"ended with": lambda row: row["failure"]} if _seen(story, {"failure": "failure"}) else {}),
    }
    return _view(story, "producers", "Producers", columns, "|".join(names))


def producers_short(story: SessionStory) -> View:
    """The same for a terminal: columns of noughts are left out, and of transactions only how many committed."""
    seldom = {name: name for name in ("aborted", "unanswered", "retries", "refused")}
    names = {name: name for name in ("sent", "acked", "failed", "unknown")} | _seen(story, seldom)
    columns: Columns = {
        "producer": lambda row: row["client"],
        **{title: _number(name) for title, name in names.items()},
    }
    if _seen(story, {"": "transactions"}):
        columns["committed"] = _committed
    return _view(story, "producers", "Producers", columns, "|".join([*names, "committed"]))


def _committed(row: Row) -> str:
    """``21 of 22``, in transactions; nothing where there were none."""
    begun = row["transactions"]
    return f"{number(row['transactions_committed'])} of {number(begun)}" if begun else ""


def _seen(story: SessionStory, names: dict[str, str], table: str = "producers") -> dict[str, str]:
    """Those of the columns that some row of a table has anything in."""
    return {title: name for title, name in names.items() if any(row[name] for row in story.tables[table])}


def groups(story: SessionStory) -> View:
    """What groups were handed, how often they rebalanced, what they committed, and how far behind they ended."""
    lags = _lags(story)
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "read": _number("read"),
        "read again": _number("reread"),
        "lag": lambda row: lags.get(row["group_id"], ""),
        "rebalances": _number("rebalances"),
        "partitions idle": lambda row: duration(row["idle_us"]) if row["idle_us"] else "0",
        "commits": _number("commits"),
        "not committed": _number("failed_commits"),
        "skipped": _number("skipped"),
        "unprocessed": _number("abandoned"),
        "truncations": _number("truncations"),
        "resets": _number("resets"),
    }
    return _view(story, "groups", "Groups", columns, "|".join(list(columns)[1:]))


def groups_short(story: SessionStory) -> View:
    """The same for a terminal, likewise."""
    lags = _lags(story)
    seldom = {"again": "reread", "not committed": "failed_commits", "skipped": "skipped", "unprocessed": "abandoned"}
    names = {"read": "read", "rebalances": "rebalances", "commits": "commits"} | _seen(story, seldom, "groups")
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "lag": lambda row: lags.get(row["group_id"], ""),
        **{title: _number(name) for title, name in names.items()},
    }
    return _view(story, "groups", "Groups", columns, "|".join(["lag", *names]))


def members(story: SessionStory) -> View:
    """The same of each consumer."""
    columns: Columns = {
        "group": lambda row: row["group_id"],
        "member": lambda row: row["client"],
        "read": _number("read"),
        "skipped": _number("skipped"),
        "unprocessed": _number("abandoned"),
        "commits": _number("commits"),
        "not committed": _number("failed_commits"),
        "partitions lost": _number("partitions_lost"),
        "killed": _number("killed"),
        "closed": _number("closed"),
        "ended with": lambda row: row["failure"],
    }
    return _view(story, "members", "Members of groups", columns, "|".join(list(columns)[2:10]))


def errors(story: SessionStory) -> View:
    """Errors that clients met, by name."""
    columns: Columns = {
        "client": lambda row: row["client"],
        "error": lambda row: row["error"],
        "of": lambda row: _WHAT[row["what"]],
        "times": _number("times"),
    }
    return _view(story, "client_errors", "Errors that clients met", columns, "times")


def _view(story: SessionStory, name: str, title: str, columns: Columns, numeric: str) -> View:
    """Steps taken by hand have no clients worth a table."""
    return view(name, title, [] if story.timeless else story.tables[name], columns, numeric)


def _number(column: str) -> Callable[[Row], str]:
    return lambda row: number(row[column])


def _lags(story: SessionStory) -> dict[str, str]:
    """Lag by group, as the session's result has it: no event tells it. Nothing where there is no such result."""
    told = story.recorded.result.get("clients")
    found = told.get("groups") if isinstance(told, dict) else None
    return {
        name: number(group["lag"])
        for name, group in (found.items() if isinstance(found, dict) else ())
        if isinstance(group, dict) and type(group.get("lag")) is int
    }
