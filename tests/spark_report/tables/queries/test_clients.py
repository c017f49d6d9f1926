"""The report on clients says what the books of the sessions themselves say."""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cluster_model.protocol.events import DATA_KINDS, FIELDS
from playbooks.results.client_stats import ClientStats, process_events
from spark_report.tables.queries import clients, progress
from tests.spark_report.conftest import Computed, MakeFrame, told
from tests.support.sessions import Row, event

pytestmark = pytest.mark.spark

NAMES = ("t-0", "t-1", "t-2")


def history(seed: int) -> list[Row]:
    """What three producers and two groups might say, in an order that only chance explains."""
    draw = random.Random(seed)
    return [{**row, "seq": seq} for seq, row in enumerate(_events(draw))]


def _events(draw: random.Random) -> Iterator[Row]:
    at = 0
    for _ in range(480):
        at += draw.choice((0, 1, 5))
        if draw.random() < 0.08:
            yield _of_process(draw, at)
        elif draw.random() < 0.4:
            yield _of_producer(draw, at)
        else:
            yield _of_member(draw, at)


def _of_process(draw: random.Random, at: int) -> Row:
    """A broker's process has another name than any client's, and its own way to be closed."""
    node, broker = draw.choice((("p", -1), ("q", -1), ("g/0", -1), ("h/2", -1), ("controller 9", -1), ("broker 1", 1)))
    return event("node_down", at, node=node, broker=broker, detail=draw.choice(("crash", "close", "FencedX")))


def _of_producer(draw: random.Random, at: int) -> Row:
    who = {"client": draw.choice(("p", "q", "r")), "partition": "t-0", "count": draw.randint(1, 5)}
    kind = draw.choice(clients.PRODUCER_KINDS)
    failed = kind in ("records_failed", "records_unknown", "produce_refused", "producer_fenced")
    has = {name: value for name, value in who.items() if name in FIELDS[kind]}
    return event(kind, at, **has, **({"error": draw.choice(("A", "B"))} if failed else {}))


def _of_member(draw: random.Random, at: int) -> Row:
    group = draw.choice(("g", "h"))
    who = {"client": f"{group}/{draw.randint(0, 2)}", "group_id": group}
    kind = draw.choice(
        (
            "records_read",
            "records_read",
            "partitions_assigned",
            "partitions_revoked",
            "offsets_expired",
            *clients.MEMBER_KINDS,
        )
    )
    some = draw.sample(NAMES, draw.randint(1, 3))
    where = {"partition": draw.choice(NAMES), "log_offset": draw.randint(0, 60)}
    fields: dict[str, Any] = {
        "records_read": {**where, "count": draw.randint(1, 12), "log_branch": draw.choice((0, 0, 1))},
        "offsets_committed": {**where, "by": draw.choice(("auto", "sync"))},
        "commit_failed": {"error": draw.choice(("A", "B")), "by": "auto"},
        "handler_failed": {**where, "count": draw.randint(1, 3)},
        "records_abandoned": {**where, "count": draw.randint(1, 3), "by": "process ended"},
        "consumer_failed": {"error": draw.choice(("X", "Y"))},
        "truncation_detected": {**where, "end_offset": draw.choice((-1, draw.randint(0, 60)))},
        "consumer_reset": {**where, "end_offset": draw.choice((-1, 70))},
        "offsets_expired": {**where, "detail": "offsets.retention.minutes=1"},
        "group_rebalanced": {"count": 2, "detail": "generation 3 by range"},
    }.get(kind, {"count": len(some), "detail": f"{draw.choice(('', 'generation 3: '))}{', '.join(some)}"})
    if kind == "offsets_expired":
        del who["client"]
    return event(kind, at, **who, **fields)


HISTORIES = {f"random{seed}": history(seed) for seed in range(12)}


def books(rows: list[Row]) -> ClientStats:
    made = ClientStats()
    process_events(made, [SimpleNamespace(**row) for row in rows])
    return made


@pytest.fixture
def frame(events: MakeFrame) -> Any:
    return events([{**row, "session_id": name} for name, rows in HISTORIES.items() for row in rows]).repartition(3)


@pytest.fixture(params=[progress.plain_tallies, lambda frame, ends: progress.tallied(frame, rare_of(frame), ends)])
def counted(request: pytest.FixtureRequest, frame: Any, ends: MakeFrame) -> Any:
    return request.param(frame, ends(**dict.fromkeys(HISTORIES, (0, 0))))


def rare_of(frame: Any) -> Any:
    return frame.filter(~frame["kind"].isin(sorted(DATA_KINDS)))


def test_the_histories_have_what_is_to_be_compared() -> None:
    groups = [group for rows in HISTORIES.values() for group in books(rows).groups.values()]
    assert all(group.total("reread") and group.idle_us and group.truncations for group in groups)
    assert any(group.owners for group in groups)
    assert all(group.total("abandoned") for group in groups)
    assert all(books(rows).killed for rows in HISTORIES.values())
    assert all(books(rows).closed for rows in HISTORIES.values())
    producers = [each for rows in HISTORIES.values() for each in books(rows).producers.values()]
    assert {each.failure for each in producers} >= {"A", "B"}


def test_producers(counted: Any) -> None:
    expected = [
        (name, client, each.sent, each.acked, each.failed, each.unknown, each.aborted, each.unanswered, each.retries,
         sum(each.refused.values()), each.transactions, each.transactions_committed, each.transactions_aborted,
         each.transactions_unknown, each.interceptor_failures, kept.killed.get(client, 0),
         kept.closed.get(client, 0), each.failure)
        for name, rows in HISTORIES.items()
        for kept in (books(rows),)
        for client, each in kept.producers.items()
    ]  # fmt: skip
    assert told(clients.producers(counted), "session_id", "client", *clients.PRODUCER) == sorted(expected)


def test_members(counted: Any) -> None:
    # A member that only led a rebalance has no book of its own, as the event is its group's.
    expected = [
        (name, group, client, each.read, each.handler_failed, each.abandoned, each.commits, each.failed_commits,
         each.lost, kept.killed.get(client, 0), kept.closed.get(client, 0), each.failure)
        for name, rows in HISTORIES.items()
        for kept in (books(rows),)
        for group, book in kept.groups.items()
        for client, each in book.members.items()
    ]  # fmt: skip
    found = told(clients.members(counted), "session_id", "group_id", "client", *clients.MEMBER)
    assert [row for row in found if any(row[3:])] == sorted(row for row in expected if any(row[3:]))


def test_groups(counted: Any, frame: Any) -> None:
    expected = [
        (name, group, each.total("read"), each.total("reread"), each.rebalances, each.idle_us, each.total("commits"),
         each.total("failed_commits"), each.total("handler_failed"), each.total("abandoned"),
         each.truncations, each.resets)
        for name, rows in HISTORIES.items()
        for group, each in books(rows).groups.items()
    ]  # fmt: skip
    assert told(clients.groups(counted, frame), "session_id", "group_id", *clients.GROUP) == sorted(expected)


def test_errors(counted: Any) -> None:
    found = told(clients.errors(counted), "session_id", "client", "error", "times", "what")
    expected = []
    for name, rows in HISTORIES.items():
        for client, each in books(rows).producers.items():
            expected += [(name, client, error, times, "refused") for error, times in each.refused.items()]
            expected += [(name, client, error, times, "outcome") for error, times in each.errors.items()]
    assert [row for row in found if row[-1] != "commit"] == sorted(expected)
    assert any(row[-1] == "commit" for row in found)


def recorded(playbook: str, computed: Computed) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a session's result tells of its clients, and the tables of a report on it: they agree wherever they can."""
    session, tables = computed.sessions[playbook], computed.rows_of(playbook)
    for row in tables["ledger"]:
        assert row["from_result"] == session.result["ledger"][row["term"]]
        assert row["agrees"] is not False
    told = session.result["clients"]
    assert {row["client"] for row in tables["producers"]} == set(told["producers"])
    for row in tables["producers"]:
        same = told["producers"][row["client"]]
        assert row["refused"] == sum(same["refused"].values())
        terms = [term for term in clients.PRODUCER if term != "refused"]
        assert [row[term] for term in terms] == [same[term] for term in terms]
    for row in tables["groups"]:
        same = told["groups"][row["group_id"]]
        assert [row[term] for term in clients.GROUP] == [same[term] for term in clients.GROUP]
    for row in tables["members"]:
        member = told["groups"][row["group_id"]]["members"][row["client"]]
        same = member | {"partitions_lost": member["lost"]}
        assert [row[term] for term in clients.MEMBER] == [same[term] for term in clients.MEMBER]
    return told, tables


def test_a_recorded_session_has_the_figures_of_its_result(computed_together: Computed) -> None:
    told_by_result, tables = recorded("two-members", computed_together)
    assert set(told_by_result["producers"]) == {"clicks", "checkout"}
    (group,) = tables["groups"]
    # Something of everything, or the comparison says little.
    assert all(row["refused"] for row in tables["producers"])
    assert all(group[term] for term in ("reread", "idle_us", "failed_commits", "handler_failed"))
    assert group["rebalances"] > 1
    refused = {
        (row["client"], row["error"]): row["times"] for row in tables["client_errors"] if row["what"] == "refused"
    }
    assert refused == {
        (name, error): times
        for name, each in told_by_result["producers"].items()
        for error, times in each["refused"].items()
    }


def test_transactions_and_ended_processes_have_the_figures_of_the_result(computed_together: Computed) -> None:
    told_by_result, tables = recorded("transactions", computed_together)
    ledger, heir, clicks = (told_by_result["producers"][name] for name in ("ledger", "heir", "clicks"))
    assert (ledger["failure"], heir["failure"]) == ("PRODUCER_FENCED", "")
    assert all(ledger[term] for term in ("aborted", "transactions_committed", "transactions_aborted"))
    assert heir["transactions"] == heir["transactions_committed"] > 5
    assert (clicks["killed"], clicks["errors"]) == (1, {"process died": clicks["failed"]})
    assert clicks["failed"]
    assert clicks["interceptor_failures"]
    group = told_by_result["groups"]["careful"]
    assert group["members"]["careful/0"]["killed"] == 1
    assert group["abandoned"]
    assert group["rebalances"] > 1
    assert group["generation"] > 1
    assert group["lag"] == 0
    (aborted,) = (row for row in tables["ledger"] if row["term"] == "aborted")
    assert aborted["agrees"]
    assert aborted["from_events"] == ledger["aborted"] + heir["aborted"]
