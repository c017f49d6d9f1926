"""Syncing, heartbeats, sessions, leaving, and static members (``GroupCoordinator``, KIP-345, KIP-814)."""

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import NOTHING, Assignment
from tests.cluster_model.coordinators.group.tables import REBALANCE, SECOND, SESSION, Table, protocols

ONE = Assignment(("orders-0",))


def joined(count: int = 2) -> tuple[Table, list[str]]:
    """A group in its first generation whose leader, the first member, has not assigned yet."""
    table = Table(holds=True)
    ids = [table.enter(f"app{index}")[0] for index in range(count)]
    table.run(3 * SECOND * count)
    assert (table.state, table.group.leader) == (GroupState.COMPLETING, ids[0])
    return table, ids


def test_everybody_waits_until_the_leaders_assignment_is_stored() -> None:
    table, (one, two) = joined()
    second = table.sync(two)
    first = table.sync(one, gives={two: ONE})
    assert not {first, second} & set(table.answers)
    assert [member.assignment for member in table.written[-1].members] == [NOTHING, ONE]
    table.wrote()
    assert (table.synced(first).assignment, table.synced(second).assignment) == (NOTHING, ONE)
    assert table.state is GroupState.STABLE


def test_a_member_that_syncs_later_gets_its_assignment_at_once() -> None:
    table, (one, two) = joined()
    table.sync(one, gives={two: ONE})
    table.wrote()
    assert table.synced(table.sync(two)).assignment == ONE
    assert table.state is GroupState.STABLE


def test_an_assignment_that_cannot_be_stored_starts_another_rebalance() -> None:
    table, (one, two) = joined()
    first, second = table.sync(one, gives={two: ONE}), table.sync(two)
    table.wrote(KafkaError.NOT_COORDINATOR)
    assert [table.synced(number).error for number in (first, second)] == [KafkaError.NOT_COORDINATOR] * 2
    assert table.state is GroupState.PREPARING
    assert table.group.members[two].assignment == NOTHING


def test_a_failed_group_write_clears_all_assignments() -> None:
    table = Table()
    one, two = table.settled(2)
    assert table.group.members[two].assignment != NOTHING
    table.join(one)
    table.join(two)
    table.holds = True
    table.sync(one, gives={two: ONE})
    table.wrote(KafkaError.REQUEST_TIMED_OUT)
    assert [member.assignment for member in table.group.members.values()] == [NOTHING, NOTHING]


def test_a_session_begins_with_the_answer_to_the_join() -> None:
    table, (one, two) = joined()
    table.run(SESSION - 1)
    table.beat(one)
    assert set(table.group.members) == {one, two}
    table.run(1)
    assert set(table.group.members) == {one}


def test_an_assignment_of_an_earlier_generation_changes_nothing() -> None:
    table, (one, two) = joined()
    table.sync(one, gives={two: ONE})
    table.enter("third")
    table.join(one)
    table.join(two)
    assert (table.state, table.group.generation) == (GroupState.COMPLETING, 2)
    table.wrote()
    assert table.state is GroupState.COMPLETING
    assert table.group.members[two].assignment == NOTHING


@pytest.mark.parametrize("state", [GroupState.COMPLETING, GroupState.STABLE])
def test_a_member_that_never_syncs_is_removed_when_the_rebalance_timeout_is_over(state: GroupState) -> None:
    table, (one, two) = joined()
    if state is GroupState.STABLE:
        table.sync(one)
        table.wrote()
    silent = two if state is GroupState.STABLE else one
    other = one if state is GroupState.STABLE else two
    if state is GroupState.COMPLETING:
        table.sync(two)
    end = table.now + REBALANCE
    while table.now < end - SECOND:
        table.run(SECOND)
        assert {table.beat(each) for each in (one, two)} == {KafkaError.NONE}
    table.run(SECOND)
    assert list(table.group.members) == [other]
    assert table.beat(silent) == KafkaError.UNKNOWN_MEMBER_ID
    assert table.state is GroupState.PREPARING


@pytest.mark.parametrize("kafka", ["2.7", "2.8.0"])
def test_before_2_8_1_nobody_is(kafka: str) -> None:
    """KAFKA-12890."""
    table = Table(kafka)
    (one, _), (two, _) = table.enter("a"), table.enter("b")
    table.run(6 * SECOND)
    for _ in range(100):
        table.run(SECOND)
        table.beat(one)
        table.beat(two)
    assert table.state is GroupState.COMPLETING


def test_a_member_that_waits_for_its_assignment_need_not_send_heartbeats() -> None:
    table, (one, two) = joined()
    table.sync(two)
    for _ in range(5):
        table.run(SESSION - SECOND)
        assert table.beat(one) == KafkaError.NONE
    assert set(table.group.members) == {one, two}
    table.sync(one)
    table.wrote()
    for _ in range(2):
        table.run(SESSION // 2)
        table.beat(one)
    assert set(table.group.members) == {one}  # its session restarted with the response to its sync


@pytest.mark.parametrize("state", [GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE])
def test_heartbeats_in_each_state(state: GroupState) -> None:
    table, (one, two) = joined()
    if state is GroupState.STABLE:
        table.sync(one)
        table.wrote()
    elif state is GroupState.PREPARING:
        table.enter("third")
    expected = KafkaError.REBALANCE_IN_PROGRESS if state is GroupState.PREPARING else KafkaError.NONE
    assert table.beat(one) == expected
    assert table.beat("somebody") == KafkaError.UNKNOWN_MEMBER_ID
    assert table.beat(two, table.group.generation + 1) == KafkaError.ILLEGAL_GENERATION
    # In every state it keeps the member's session alive.
    table.run(SESSION - SECOND)
    assert table.beat(one) == expected
    table.run(SESSION - SECOND)
    assert one in table.group.members


@pytest.mark.parametrize("state", [GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE])
def test_syncs_in_each_state(state: GroupState) -> None:
    table, (one, two) = joined()
    if state is GroupState.STABLE:
        table.sync(one, gives={two: ONE})
        table.wrote()
    elif state is GroupState.PREPARING:
        table.enter("third")
    number = table.sync(two)
    if state is GroupState.COMPLETING:
        assert number not in table.answers
    else:
        error = KafkaError.REBALANCE_IN_PROGRESS if state is GroupState.PREPARING else KafkaError.NONE
        assert table.synced(number).error == error
    assert table.synced(table.sync("somebody")).error == KafkaError.UNKNOWN_MEMBER_ID
    assert table.synced(table.sync(two, table.group.generation + 1)).error == KafkaError.ILLEGAL_GENERATION


def test_an_empty_group_knows_no_members() -> None:
    table = Table()
    (one,) = table.settled(1)
    table.leave(one)
    assert table.state is GroupState.EMPTY
    assert table.synced(table.sync(one)).error == table.beat(one) == KafkaError.UNKNOWN_MEMBER_ID
    assert table.joined(table.join(one)).error == KafkaError.UNKNOWN_MEMBER_ID


def test_a_sync_that_names_another_protocol_is_refused() -> None:
    table, (one, _two) = joined()
    assert table.synced(table.sync(one, protocol_type="connect")).error == KafkaError.INCONSISTENT_GROUP_PROTOCOL
    assert table.synced(table.sync(one, protocol_name="sticky")).error == KafkaError.INCONSISTENT_GROUP_PROTOCOL
    assert table.sync(one, protocol_type="consumer", protocol_name="range") not in table.answers


def test_a_session_without_a_sign_of_life_ends_in_a_rebalance() -> None:
    table = Table()
    one, two = table.settled(2)
    table.run(SESSION - 1)
    table.beat(one)
    assert table.state is GroupState.STABLE
    table.run(1)
    assert (table.state, list(table.group.members)) == (GroupState.PREPARING, [one])
    assert table.joined(table.join(two)).error == KafkaError.UNKNOWN_MEMBER_ID


def test_a_member_that_waits_for_a_rebalance_need_not_send_heartbeats() -> None:
    table = Table()
    one, _two = table.settled(2, session=REBALANCE - SECOND)
    number = table.join(one, session=SESSION)
    table.run(REBALANCE - SECOND - 1)
    assert number not in table.answers
    table.run(1)
    assert table.joined(number).error == 0


def test_the_record_is_written_by_the_leaders_sync_and_when_the_last_member_goes() -> None:
    table = Table()
    one, two = table.settled(2)
    assert [(value.generation, len(value.members)) for value in table.written] == [(1, 2)]
    table.leave(two)
    table.join(one)
    assert len(table.written) == 1
    table.sync(one)
    assert [(value.generation, len(value.members)) for value in table.written] == [(1, 2), (2, 1)]
    table.leave(one)
    last = table.written[-1]
    assert (last.generation, last.members, last.protocol, last.leader) == (3, (), "", "")
    assert table.state is GroupState.EMPTY


def test_leaving() -> None:
    table = Table()
    one, two = table.settled(2)
    assert table.leave("somebody") == KafkaError.UNKNOWN_MEMBER_ID
    assert table.leave(two) == KafkaError.NONE
    assert (table.state, list(table.group.members)) == (GroupState.PREPARING, [one])
    pending = table.joined(table.join()).member_id
    number = table.join(one)
    assert number not in table.answers
    assert table.leave(pending) == KafkaError.NONE
    assert table.joined(number).generation_id == 2


def static(kafka: str = "3.9", *, holds: bool = False) -> tuple[Table, str, str]:
    """A stable group of a static leader and a dynamic member."""
    table = Table(kafka)
    table.join(instance="pod-0")
    (one,) = table.group.members
    two, _number = table.enter()
    table.run(3 * SECOND)
    table.run(3 * SECOND)
    table.sync(two)
    table.sync(one, gives={one: ONE})
    assert table.state is GroupState.STABLE
    table.holds = holds
    return table, one, two


def test_a_static_member_needs_no_second_step() -> None:
    _table, one, _two = static()
    assert one.startswith("pod-0-")


def test_a_static_member_that_is_back_gets_its_place_without_a_rebalance() -> None:
    table, old, _two = static(holds=True)
    number = table.join(instance="pod-0")
    assert number not in table.answers  # until the group is stored with the new id
    table.wrote()
    answer = table.joined(number)
    assert (answer.error, answer.generation_id, answer.leader == answer.member_id) == (0, 1, True)
    assert (answer.skip_assignment, len(answer.members)) == (True, 2)
    new = answer.member_id
    assert new != old
    assert table.state is GroupState.STABLE
    assert table.synced(table.sync(new, group_instance_id="pod-0")).assignment == ONE
    assert table.beat(old, instance="pod-0") == KafkaError.FENCED_INSTANCE_ID
    assert table.beat(old) == KafkaError.UNKNOWN_MEMBER_ID
    assert {member.member_id for member in table.written[-1].members} == set(table.group.members)


@pytest.mark.parametrize(("kafka", "version"), [("3.1", 9), ("3.9", 8)])
def test_before_kip_814_it_learns_its_old_id_as_the_leaders(kafka: str, version: int) -> None:
    table, old, _two = static(kafka)
    answer = table.joined(table.join(instance="pod-0", version=version))
    assert (answer.leader, answer.members, answer.skip_assignment) == (old, (), False)


def test_if_that_cannot_be_stored_the_old_one_stays() -> None:
    table, old, two = static(holds=True)
    number = table.join(instance="pod-0")
    table.wrote(KafkaError.NOT_COORDINATOR)
    assert table.joined(number).error == KafkaError.NOT_COORDINATOR
    assert set(table.group.members) == {old, two}
    assert table.beat(old, instance="pod-0") == KafkaError.NONE


def test_another_assignor_makes_it_a_rebalance() -> None:
    table = Table()
    offers = protocols("range", "sticky")
    for instance in ("a", "b", "c"):
        table.join(instance=instance, offers=offers)
    table.run(9 * SECOND)
    for member_id in list(table.group.members):
        table.sync(member_id)
    assert (table.state, table.group.protocol) == (GroupState.STABLE, "range")
    back = protocols("sticky", "range")
    table.join(instance="a", offers=back)
    assert str(table.state) == GroupState.STABLE
    table.join(instance="b", offers=back)
    assert table.state is GroupState.PREPARING


def test_a_static_member_that_is_back_before_the_assignment_starts_a_rebalance() -> None:
    table = Table()
    first = table.join(instance="a")
    table.run(3 * SECOND)
    old = table.joined(first).member_id
    number = table.join(instance="a")
    assert (table.group.generation, table.joined(number).error) == (2, 0)
    assert table.beat(old, instance="a") == KafkaError.FENCED_INSTANCE_ID


def test_a_join_that_waits_is_fenced_by_its_successor() -> None:
    table = Table()
    first, second = table.join(instance="a"), table.join(instance="a")
    assert table.joined(first).error == KafkaError.FENCED_INSTANCE_ID
    table.run(3 * SECOND)
    assert table.joined(second).error == 0


def test_a_static_member_may_miss_a_rebalance_and_keeps_its_place() -> None:
    table = Table()
    table.join(instance="a", session=1_000 * SECOND)
    (one,) = table.group.members
    two, _number = table.enter()
    table.run(6 * SECOND)
    table.sync(one)
    number = table.join(two, offers=protocols("range", topics=("other",)))
    table.run(REBALANCE)
    assert table.joined(number).leader == two
    assert set(table.group.members) == {one, two}


def test_an_administrator_removes_a_static_member_by_its_instance() -> None:
    table, one, two = static()
    assert table.leave("", "nobody") == KafkaError.UNKNOWN_MEMBER_ID
    assert table.leave(two, "pod-0") == KafkaError.FENCED_INSTANCE_ID
    assert table.leave("", "pod-0") == KafkaError.NONE
    assert one not in table.group.members
    assert table.state is GroupState.PREPARING
    assert "pod-0" not in table.group.instances
