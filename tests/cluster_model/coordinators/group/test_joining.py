"""Joining a group: accepted members, end of the phase, leader (``GroupCoordinator``, KIP-134, KIP-394)."""

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import MemberProtocol
from tests.cluster_model.coordinators.group.tables import RANGE, REBALANCE, SECOND, SESSION, Table, protocols


def test_a_new_member_is_given_an_id_and_joins_with_it() -> None:
    table = Table()
    first = table.joined(table.join(client="app"))
    assert (first.error, first.member_id, first.generation_id) == (KafkaError.MEMBER_ID_REQUIRED, "app-1", -1)
    assert not table.group.members
    number = table.join("app-1")
    table.run(3 * SECOND)
    answer = table.joined(number)
    assert (answer.error, answer.generation_id, answer.leader, answer.protocol_name) == (0, 1, "app-1", "range")
    assert [member.member_id for member in answer.members] == ["app-1"]


@pytest.mark.parametrize(("kafka", "version"), [("2.1", 4), ("3.9", 3)])
def test_old_brokers_and_old_requests_know_no_such_step(kafka: str, version: int) -> None:
    table = Table(kafka)
    number = table.join(version=version)
    table.run(3 * SECOND)
    assert table.joined(number).error == 0


def test_an_id_that_nobody_joins_with_holds_for_a_session() -> None:
    table = Table()
    table.join()
    table.run(SESSION - 1)
    assert list(table.group.pending) == ["app-1"]
    table.run(1)
    assert not table.group.pending
    assert table.joined(table.join("app-1")).error == KafkaError.UNKNOWN_MEMBER_ID


def test_the_first_rebalance_waits_out_the_initial_delay() -> None:
    table = Table()
    _id, number = table.enter()
    table.run(3 * SECOND - 1)
    assert number not in table.answers
    table.run(1)
    assert table.joined(number).generation_id == 1


def test_each_newcomer_draws_the_initial_delay_out_by_another_one() -> None:
    table = Table()
    _one, first = table.enter()
    table.run(2 * SECOND)
    table.enter("b")
    table.run(SECOND)  # at 3 s: b came during the delay
    assert first not in table.answers
    table.run(3 * SECOND - 1)
    assert first not in table.answers
    table.run(1)
    assert len(table.joined(first).members) == 2


def test_the_initial_delay_never_gets_longer_than_the_rebalance_timeout() -> None:
    table = Table()
    _one, first = table.enter(rebalance=7 * SECOND)
    for _ in range(5):
        table.run(SECOND)
        table.enter("late", rebalance=7 * SECOND)
        table.run(SECOND)
    # 3 s, then 3 s more of the 4 left, then the remaining 1 s.
    assert table.now == 10 * SECOND
    assert first in table.answers
    again = Table()
    _two, number = again.enter(rebalance=7 * SECOND)
    for until in (2, 5):
        again.run(until * SECOND - again.now)
        again.enter("late", rebalance=7 * SECOND)
    again.run(7 * SECOND - 1 - again.now)
    assert number not in again.answers
    again.run(1)
    assert number in again.answers


def test_a_group_that_has_lost_all_members_waits_one_delay_and_no_more() -> None:
    table = Table()
    (member,) = table.settled(1)
    table.leave(member)
    assert (table.state, table.group.generation) == (GroupState.EMPTY, 2)
    _id, number = table.enter()
    table.run(SECOND)
    table.enter("b")
    table.run(2 * SECOND)
    assert len(table.joined(number).members) == 2


def test_before_0_11_a_group_begins_at_once() -> None:
    table = Table("0.10.2")
    assert table.joined(table.join(version=1)).generation_id == 1


def test_a_rebalance_is_over_when_everybody_has_joined_again() -> None:
    table = Table()
    one, two = table.settled(2)
    table.enter("third")
    assert table.state is GroupState.PREPARING
    assert table.beat(one) == table.beat(two) == KafkaError.REBALANCE_IN_PROGRESS
    first = table.join(one)
    assert first not in table.answers
    second = table.join(two)
    assert (table.joined(first).generation_id, table.joined(second).generation_id) == (2, 2)
    assert [len(table.joined(number).members) for number in (first, second)] == [3, 0]


def test_an_id_given_out_holds_the_rebalance_up() -> None:
    table = Table()
    (one,) = table.settled(1)
    table.join(client="slow")
    number = table.join(one)  # the leader joins a stable group: a rebalance
    assert number not in table.answers
    table.run(SESSION)
    assert table.joined(number).generation_id == 2


def test_a_member_that_does_not_join_again_in_time_is_removed() -> None:
    table = Table()
    one, two = table.settled(2, session=2 * REBALANCE)
    number = table.join(one, session=2 * REBALANCE)
    table.run(REBALANCE - 1)
    assert number not in table.answers
    table.run(1)
    assert [member.member_id for member in table.joined(number).members] == [one]
    assert table.beat(two) == KafkaError.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts() -> None:
    table = Table()
    one, _two = table.settled(2, session=3 * REBALANCE)
    number = table.join(one, rebalance=REBALANCE * 2, session=3 * REBALANCE)
    table.run(2 * REBALANCE - 1)
    assert number not in table.answers
    table.run(1)
    assert number in table.answers


@pytest.mark.parametrize(
    ("kafka", "version", "timeout"), [("3.9", 0, SESSION), ("0.10.0", 1, SESSION), ("3.9", 1, REBALANCE)]
)
def test_the_session_timeout_replaces_a_missing_rebalance_timeout(kafka: str, version: int, timeout: int) -> None:
    table = Table(kafka)
    table.join(version=version)
    assert table.group.rebalance_us == timeout


def test_if_nobody_joins_again_the_phase_continues() -> None:
    table = Table()
    member_id = table.joined(_static(table)).member_id
    table.sync(member_id)
    new, _number = table.enter("new")
    table.leave(new)
    for _ in range(3):
        table.run(REBALANCE)
        assert (table.state, table.group.generation) == (GroupState.PREPARING, 1)
    assert list(table.group.members) == [member_id]


def _static(table: Table) -> int:
    number = table.join(instance="a", session=1_000 * SECOND)
    table.run(3 * SECOND)
    return number


def test_the_leader_stays_if_it_joins_again_and_another_leads_if_not() -> None:
    table = Table()
    one, two, three = table.settled(3)
    table.leave(three)
    table.join(two)
    table.join(one)
    assert table.group.leader == one
    table.sync(two)
    table.sync(one)
    table.leave(one)
    number = table.join(two)
    assert table.joined(number).leader == two


def test_the_leader_that_joins_a_stable_group_starts_a_rebalance_and_a_follower_does_not() -> None:
    table = Table()
    one, two = table.settled(2)
    answer = table.joined(table.join(two))
    assert (answer.error, answer.generation_id, answer.leader, answer.members) == (0, 1, one, ())
    assert str(table.state) == GroupState.STABLE
    table.join(one)
    assert table.state is GroupState.PREPARING


def test_a_follower_with_another_subscription_starts_one_too() -> None:
    table = Table()
    _one, two = table.settled(2)
    table.join(two, offers=protocols("range", topics=("orders", "payments")))
    assert table.state is GroupState.PREPARING


def test_a_member_that_missed_the_answer_to_its_join_gets_it_again() -> None:
    table = Table()
    one, number = table.enter()
    table.run(3 * SECOND)
    again = table.joined(table.join(one))
    assert again == table.joined(number)._replace(correlation_id=again.correlation_id)
    assert table.state is GroupState.COMPLETING
    table.join(one, offers=protocols("range", topics=("other",)))
    assert table.group.generation == 2


def test_a_rebalance_ends_syncs_that_wait() -> None:
    table = Table()
    _one, _first = table.enter()
    two, _second = table.enter("b")
    table.run(6 * SECOND)
    number = table.sync(two)
    assert number not in table.answers
    table.enter("c")
    assert table.synced(number).error == KafkaError.REBALANCE_IN_PROGRESS


def test_a_new_member_whose_join_nobody_answers_is_dropped_after_five_minutes() -> None:
    table = Table()
    one, _two = table.settled(2, rebalance=1_000 * SECOND, session=1_000 * SECOND)
    _id, number = table.enter("new", rebalance=1_000 * SECOND)
    table.join(one, rebalance=1_000 * SECOND, session=1_000 * SECOND)
    table.run(300 * SECOND - 1)
    assert number not in table.answers
    table.run(1)
    assert (table.joined(number).error, table.joined(number).member_id) == (KafkaError.UNKNOWN_MEMBER_ID, "")


@pytest.mark.parametrize(
    ("offers", "kind", "error"),
    [
        (protocols("roundrobin", "range"), "consumer", 0),
        (protocols("sticky"), "consumer", KafkaError.INCONSISTENT_GROUP_PROTOCOL),
        (RANGE, "connect", KafkaError.INCONSISTENT_GROUP_PROTOCOL),
        ((), "consumer", KafkaError.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_somebody_who_cannot_go_along_is_refused(offers: tuple[MemberProtocol, ...], kind: str, error: int) -> None:
    table = Table()
    table.settled(1)
    answer = table.joined(table.join(offers=offers, kind=kind))
    assert answer.error == (error or KafkaError.MEMBER_ID_REQUIRED)


@pytest.mark.parametrize(("offers", "kind"), [((), "consumer"), (RANGE, "")])
def test_an_empty_group_takes_a_member_that_names_a_type_and_a_protocol(
    offers: tuple[MemberProtocol, ...], kind: str
) -> None:
    table = Table()
    answer = table.joined(table.join(offers=offers, kind=kind))
    assert answer.error == KafkaError.INCONSISTENT_GROUP_PROTOCOL


def test_the_assignor_is_voted_for_among_those_that_all_support() -> None:
    table = Table()
    table.enter("a", offers=protocols("sticky", "range", "roundrobin"))
    table.enter("b", offers=protocols("roundrobin", "range"))
    _id, number = table.enter("c", offers=protocols("roundrobin", "range", "sticky"))
    table.run(6 * SECOND)
    assert table.joined(number).protocol_name == "roundrobin"
    table = Table()
    table.enter("a", offers=protocols("range", "roundrobin"))
    _id, number = table.enter("b", offers=protocols("roundrobin", "range"))
    table.run(6 * SECOND)
    assert table.joined(number).protocol_name == "range"


def test_a_full_group_takes_no_more() -> None:
    table = Table(group_max_size=2)
    one, two = table.settled(2)
    answer = table.joined(table.join())
    assert (answer.error, answer.member_id) == (KafkaError.GROUP_MAX_SIZE_REACHED, "")
    assert table.joined(table.join(two)).error == 0
    table.join(one)
    assert table.state is GroupState.PREPARING
    member_id = table.joined(table.join()).member_id
    table.join(member_id)
    # The last of the three to rejoin is rejected.
    assert table.joined(table.join(two)).error == KafkaError.GROUP_MAX_SIZE_REACHED
    assert list(table.group.members) == [one, member_id]


def test_before_2_2_there_is_no_such_limit() -> None:
    table = Table("2.1", group_max_size=1)
    table.join(version=3)
    table.join(version=3)
    assert table.group.joined == 2


def test_session_limits_by_version() -> None:
    limits = {kafka: Table(kafka).members._config.max_session_us // SECOND for kafka in ("0.9", "0.10.1", "2.2", "2.3")}
    assert limits == {"0.9": 30, "0.10.1": 300, "2.2": 300, "2.3": 1_800}
