"""The tables on clients that ``floodmark run`` prints."""

from dataclasses import replace
from io import StringIO

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from playbooks.results.client_stats import Clients, GroupSummary, MemberSummary, ProducerSummary
from tui.output.result import NOTES, ROWS, print_clients


def printed(clients: Clients) -> list[str]:
    text = StringIO()
    print_clients(Console(file=text, soft_wrap=True, highlight=False), clients)
    return text.getvalue().splitlines()


def producer(name: str, refused: int = 0, **more: int) -> ProducerSummary:
    counts = {"sent": 100_000, "acked": 90_000, "failed": 0, "unknown": 0, "unanswered": 0, "retries": refused}
    errors = tuple((name, 1) for name in ("A", "B", "C", "D")) if more.get("unknown") else ()
    refusals = (("NOT_LEADER_OR_FOLLOWER", refused),) if refused else ()
    return ProducerSummary(name, queued=0, in_flight=0, refused=refusals, errors=errors, **(counts | more))


def group(name: str, members: int = 1, failure: str = "", **more: int) -> GroupSummary:
    counts = {"read": 10, "reread": 0, "lag": 5, "generation": 2, "rebalances": 3, "idle_us": 0, "commits": 4}
    counts |= {"handler_failed": 0, "truncations": 0, "resets": 0} | more
    own = tuple(MemberSummary(f"{name}/{at}", 10, 0, 0, 4, 0, 0, failure) for at in range(members))
    return GroupSummary(name, commit_errors=(), members=own, **counts)


def test_columns_of_noughts_are_left_out(snapshot: SnapshotAssertion) -> None:
    assert printed(Clients((producer("p"),), (group("g"),))) == snapshot


def test_errors_are_named_and_members_distinguished(snapshot: SnapshotAssertion) -> None:
    found = printed(
        Clients(
            (producer("p", 7, unknown=10_000),),
            (group("g", 2, "OffsetOutOfRangeException", reread=3, idle_us=1_500_000, truncations=1),),
        )
    )
    assert found[1].split() == ["p", "100000", "90000", "0", "10000", "7", "7"]
    assert found[2].split() == ["group", "read", "reread", "rebalances", "idle", "commits", "lag"]
    assert found[3].split() == ["g", "(2)", "10", "3", "3", "1.500s", "4", "5"]
    assert found[4].split() == ["g/0", "10", "0", "4"]
    assert found[6:] == snapshot


def test_groups_that_commit_have_their_position_lag_beside_one_that_does_not() -> None:
    commits = tuple(group(f"g-{number}", lag=9, position_lag=3) for number in range(ROWS + 2))
    assert "position lag" not in printed(Clients((), commits))[0]
    found = printed(Clients((), (*commits, replace(group("audit", position_lag=17), lag=None))))
    assert found[0].split() == ["group", "read", "rebalances", "commits", "lag", "position", "lag"]
    told = {line.split()[0]: line.split()[-2:] for line in found[1:]}
    assert (told["g-0"], told["audit"]) == (["9", "3"], ["-", "17"])
    assert told["and"] == ["27", "9"]


def test_transactions_and_ended_processes_are_reported(snapshot: SnapshotAssertion) -> None:
    ends = {"transactions": 9, "transactions_committed": 5, "transactions_aborted": 2, "transactions_unknown": 1}
    fenced = replace(producer("ledger", aborted=7, killed=2, interceptor_failures=1, **ends), failure="PRODUCER_FENCED")
    good = producer("heir", transactions=3, transactions_committed=3)
    members = group("g", 2).members
    killed = replace(group("g"), members=(replace(members[0], killed=1, abandoned=4), replace(members[1], closed=1)))
    found = printed(Clients((fenced, good), (killed,)))
    assert found[0].split() == ["producer", "sent", "acked", "failed", "unknown", "aborted", "retries"]
    assert found[1].split() == ["ledger", "100000", "90000", "0", "0", "7", "0"]
    assert found[7:] == snapshot


def test_a_thousand_clients_fit_a_screen_with_all_failing_ones() -> None:
    many = [producer(f"p-{number:04}") for number in range(1_000)]
    many[777] = producer("p-0777", 4, unknown=9)
    groups = [group(f"g-{number:02}", 3, lag=number) for number in range(40)]
    found = printed(Clients(tuple(many), tuple(groups)))
    assert len(found) <= 2 * (ROWS + 2) + NOTES + 1
    assert max(map(len, found)) <= 80
    assert any(line.startswith("p-0777") for line in found)
    assert any(line.startswith("g-39 (3)") for line in found)
    rest = next(line.split() for line in found if line.startswith("and 992 more"))
    assert rest[3] == str(992 * 100_000)
