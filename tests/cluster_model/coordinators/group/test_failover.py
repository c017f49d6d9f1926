"""A former coordinator and a new one; determinism and snapshots."""

import pytest

from cluster_model.coordinators.group.group_metadata import GroupState
from cluster_model.protocol.group_messages import (
    HeartbeatRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    SyncGroupRequest,
)
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import OFFSETS
from tests.cluster_model.coordinators.group.asking import (
    ERROR,
    OWNER,
    commit,
    errors,
    fetch,
    join,
    offsets,
    read_until_loading,
    started,
    with_member,
)
from tests.cluster_model.coordinators.group.members import SECOND, Talk


@pytest.mark.parametrize("kafka", ["2.8", "3.9"])
def test_while_it_reads_a_coordinator_puts_everybody_off(kafka: str) -> None:
    talk = started(kafka)
    member = with_member(talk)
    assert errors(talk.ask(OWNER, commit(6, member=member.member_id, generation=1))) == [ERROR.NONE]
    member.stopped = True
    talk.cluster.crash(OWNER)
    registry = read_until_loading(talk, 3)
    asked = [
        HeartbeatRequest(0, "g", 1, member.member_id), SyncGroupRequest(0, "g", 1, member.member_id),
        join(member.member_id), fetch(), ListGroupsRequest(0), LeaveGroupRequest(0, "g", (LeavingMember("m"),)),
    ]  # fmt: skip
    before = len(talk.hand.got)
    for each in asked:
        talk.hand.ask(3, each)
    talk.hand.ask(3, commit(9))
    talk.run(0.005)
    assert registry.loading
    got = {message.correlation_id: message for message in talk.hand.got[before:]}
    answers = [got[number] for number in sorted(got)]
    loading = ERROR.COORDINATOR_LOAD_IN_PROGRESS
    wanted = [ERROR.NONE, ERROR.REBALANCE_IN_PROGRESS, loading, loading, loading, loading]
    assert [answer.error for answer in answers[:-1]] == wanted
    assert errors(answers[-1]) == [loading]
    talk.run(0.1)
    assert offsets(talk.ask(3, fetch())) == {"orders-0": 6}


def test_a_new_coordinator_knows_members_assignments_and_offsets() -> None:
    talk = started()
    member = with_member(talk)
    member.commit("orders-1", 8)
    talk.run(1)
    before = talk.cluster.coordinators[OWNER].registry.groups["g"]
    member.stopped = True
    talk.cluster.crash(OWNER)
    registry = read_until_loading(talk, 3)
    talk.run(0.05)
    after = registry.groups["g"]
    assert (after.state, after.generation, after.leader) == (GroupState.STABLE, 1, member.member_id)
    assert after.members[member.member_id].assignment == before.members[member.member_id].assignment
    assert after.offsets.committed == before.offsets.committed
    assert after.topics == ("orders",)
    # Its session has restarted.
    talk.run(9)
    assert list(after.members) == [member.member_id]
    talk.run(2)
    assert (after.state, after.members) == (GroupState.EMPTY, {})


def test_a_member_that_waits_at_a_coordinator_that_is_one_no_more_is_sent_elsewhere() -> None:
    talk = started()
    talk.cluster.crash(OWNER)
    talk.run(12)
    talk.cluster.restart(OWNER)
    talk.run(5)
    member_id = talk.ask(3, join()).member_id
    talk.hand.ask(3, join(member_id))
    talk.run(1)
    talk.hand.ask(3, commit(group="g3"))
    assert talk.cluster.elect_leaders(f"{OFFSETS}-1", unclean=False) == ERROR.NONE
    talk.run(1)
    answer = talk.hand.got[-1]
    assert (answer.error, answer.member_id) == (ERROR.NOT_COORDINATOR, member_id)
    assert talk.cluster.coordinators[3].registry.groups == {}
    assert talk.ask(3, fetch()).error == ERROR.NOT_COORDINATOR
    assert talk.ask(OWNER, fetch()).error == ERROR.NONE


def test_syncs_that_wait_are_sent_elsewhere_too() -> None:
    talk = started()
    talk.cluster.crash(OWNER)
    talk.run(12)
    talk.cluster.restart(OWNER)
    talk.run(5)
    one, two = talk.ask(3, join()).member_id, talk.ask(3, join()).member_id
    talk.hand.ask(3, join(one))
    talk.hand.ask(3, join(two))
    talk.run(7)
    group = talk.cluster.coordinators[3].registry.groups["g"]
    assert group.state is GroupState.COMPLETING
    follower = two if group.leader == one else one
    talk.hand.ask(3, SyncGroupRequest(0, "g", 1, follower))
    talk.run(0.1)
    talk.cluster.elect_leaders(f"{OFFSETS}-1", unclean=False)
    talk.run(1)
    assert talk.hand.got[-1].error == ERROR.NOT_COORDINATOR


@pytest.mark.parametrize("delete", [False, True])
def test_a_replica_that_is_taken_away_takes_its_groups_along(delete: bool) -> None:
    talk = started()
    member_id = talk.ask(OWNER, join()).member_id
    talk.hand.ask(OWNER, join(member_id))
    talk.run(1)
    talk.cluster.brokers[OWNER].stop_replica(f"{OFFSETS}-1", delete=delete)
    talk.run(0.1)
    assert talk.hand.got[-1].error == ERROR.NOT_COORDINATOR
    assert talk.cluster.coordinators[OWNER].registry.owned == {}


def test_partitions_are_read_one_after_the_other() -> None:
    talk = started()
    for group, broker in (("g", 2), ("h", 3)):
        assert errors(talk.ask(broker, commit(group=group))) == [ERROR.NONE]
    registry = talk.cluster.coordinators[1].registry
    registry.leads(1)
    registry.leads(2)
    talk.run(0.015)
    assert (list(registry.loading), 1 in registry.owned) == ([2], True)
    talk.run(0.006)
    assert list(registry.groups) == ["g", "h"]


def test_a_partition_that_is_lost_and_won_again_is_read_anew() -> None:
    talk = started()
    talk.ask(OWNER, commit())
    registry = talk.cluster.coordinators[1].registry
    registry.leads(1)
    registry.resigned(1)
    talk.run(0.005)
    registry.leads(1)
    registry.leads(1)
    talk.run(0.01)
    assert list(registry.loading) == [1]
    talk.run(0.01)
    assert (registry.loading, list(registry.groups)) == ({}, ["g"])


def test_a_crash_leaves_nothing_in_memory() -> None:
    talk = started()
    with_member(talk)
    coordinator = talk.cluster.coordinators[OWNER]
    talk.cluster.crash(OWNER)
    assert (coordinator.registry.groups, coordinator.registry.owned, coordinator.registry.loading) == ({}, {}, {})


def test_a_group_over_the_limit_rebalances_as_soon_as_it_is_read() -> None:
    talk = started()
    talk.member("a")
    talk.member("b")
    talk.run(8)
    talk.cluster.coordinators[3].registry.max_size = 1
    talk.cluster.crash(OWNER)
    registry = read_until_loading(talk, 3)
    talk.run(0.02)
    assert registry.groups["g"].state is GroupState.PREPARING


# -- determinism -------------------------------------------------------------------------------------------------------


def lively(*, naive: bool = False) -> Talk:
    talk = Talk(naive=naive)
    talk.run(2)
    first = talk.member("a")
    talk.member("b", instance="pod")
    talk.run(6)
    first.commit("orders-0", 1)
    talk.run(1)
    return talk


def test_the_same_twice() -> None:
    texts = []
    digests = []
    for naive in (False, False, True):
        talk = lively(naive=naive)
        talk.cluster.crash(OWNER)
        talk.run(20)
        texts.append(talk.text())
        digests.append(talk.cluster.digest())
    assert texts[0] == texts[1] == texts[2]
    assert digests[0] == digests[1]


@pytest.mark.slow
@pytest.mark.parametrize("at", [2.0055, 3, 6.0, 7.9, 8.0075, 8.0095, 8.5])
def test_a_keyframe_at_any_moment_comes_back_exactly(at: float) -> None:
    """The members are not in the snapshot, so they are silent before it: only the brokers' state is left."""
    talk = Talk(config={"group.initial.rebalance.delay.ms": 6_000})
    talk.run(2)
    first, second = talk.member("a"), talk.member("b", instance="pod")
    talk.run(at - 2)
    first.stopped = second.stopped = True
    cluster = talk.cluster
    keyframe = cluster.save()
    packed = unpack(pack(keyframe))[0]
    cluster.run(40 * SECOND)
    digest, group = cluster.digest(), cluster.coordinators[OWNER].save()
    for each in (keyframe, packed):
        cluster.load(each)
        cluster.run(40 * SECOND)
        assert (cluster.digest(), cluster.coordinators[OWNER].save()) == (digest, group)
