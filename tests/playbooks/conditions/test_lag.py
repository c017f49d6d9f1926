"""LAG of a group as kafka-consumer-groups prints it, by commits alone, beside the position lag of its readers."""

import pytest

from cluster_model.inspection.condition_functions import ConditionQuery
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads
from tests.support.playbooks import CLUSTER, finished

SECOND = 1_000_000
pytestmark = pytest.mark.slow

NEVER = CLUSTER.replace("topics: [orders]}", "topics: [orders], config: {enable.auto.commit: false}}")
ASSIGNED = CLUSTER.replace("topics: [orders]}", "topics: [orders], coordinated: false}")


def lags(query: ConditionQuery) -> tuple[int, int, int]:
    return (
        query.lag("billing"),
        query.position_lag("billing"),
        query.hw("orders-0") - query.committed("billing", "orders-0"),
    )


def test_lag_uses_committed_offsets_and_position_lag_positions() -> None:
    session = Session.start(loads(CLUSTER, "small.yaml"), open_ended=True)
    session.advance(14 * SECOND)
    lag, position_lag, by_hand = lags(session.cluster.query)
    assert lag == by_hand > 50 > position_lag
    assert session.cluster.query.lag("billing", "orders-0") == lag


def test_while_no_coordinator_can_answer_lag_is_that_of_the_log_of_offsets() -> None:
    session = Session.start(loads(CLUSTER, "small.yaml"), open_ended=True)
    session.advance(14 * SECOND)
    query = session.cluster.query
    before = query.committed("billing", "orders-0")
    (coordinator,) = query.leaders("__consumer_offsets-0")
    session.cluster.crash(coordinator)
    assert query.group_state("billing") == ""
    assert query.committed("billing", "orders-0") == before > 0
    assert query.lag("billing") == query.hw("orders-0") - before > 0
    session.advance(40 * SECOND)
    assert query.group_state("billing") == "Stable"
    assert query.committed("billing", "orders-0") > before


def test_a_group_that_commits_nothing_has_no_lag() -> None:
    result = finished(NEVER + "settle: 10s\nexpect: [lag(billing) == 0, position_lag(billing) < 50]\n")
    (group,) = result.clients.groups
    assert (result.verdict, group.lag) == ("pass", None)
    assert group.read > 500
    assert 0 <= group.position_lag < 50


@pytest.mark.parametrize("function", ["lag(billing)", "lag(billing, orders-0)", "committed(billing, orders-0)"])
def test_lag_of_a_group_without_a_coordinator_is_rejected(function: str) -> None:
    with pytest.raises(PlaybookError) as caught:
        loads(f"{ASSIGNED}expect:\n  - {function} == 0\n", "small.yaml")
    (problem,) = caught.value.problems
    assert problem.key == "expect[1]"
    assert function[: function.index("(")] in problem.message
    assert finished(f"{ASSIGNED}settle: 5s\nexpect: [position_lag(billing) < 50]\n").verdict == "pass"
