"""Groups of the consumer protocol in their broker: accepted requests, time of responses, durable state."""

from typing import Any

import pytest

from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroupState
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    JOIN,
    LEAVE,
    LEAVE_FOR_NOW,
    CommittedOffset,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from tests.cluster_model.coordinators.group.asking import OWNER, commit, errors, fetch, offsets, read_until_loading
from tests.cluster_model.coordinators.group.consumer_protocol.clusters import ModernTalk
from tests.cluster_model.coordinators.group.members import SECOND, Talk
from tests.cluster_model.coordinators.group.tables import RANGE

E = KafkaError
FINE = (("orders-0", E.NONE),)


def joining(member: str = "m", group: str = "g", **more: Any) -> ConsumerGroupHeartbeatRequest:
    given: dict[str, Any] = {"rebalance_timeout_us": 60 * SECOND, "topics": ("orders",), "owned": (), **more}
    return ConsumerGroupHeartbeatRequest(0, group, member, JOIN, member, **given)


def living(epoch: int, member: str = "m", group: str = "g", **more: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(0, group, member, epoch, **more)


def started(kafka: str = "4.0", **more: Any) -> ModernTalk:
    talk = ModernTalk(kafka, **more)
    talk.run(1)
    return talk


def with_member(**more: Any) -> ModernTalk:
    talk = started(**more)
    assert talk.ask(OWNER, joining()).member_epoch == 1
    return talk


# -- whose requests are taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "mode", "config", "error"),
    [
        ("3.6", "kraft", {}, E.UNSUPPORTED_VERSION),
        ("3.7", "zookeeper", {"group.coordinator.rebalance.protocols": "classic,consumer"}, E.UNSUPPORTED_VERSION),
        ("3.7", "kraft", {}, E.UNSUPPORTED_VERSION),
        ("3.7", "kraft", {"group.coordinator.rebalance.protocols": "classic,consumer"}, E.NONE),
        ("3.9", "kraft", {}, E.UNSUPPORTED_VERSION),
        ("4.0", "kraft", {}, E.NONE),
        ("4.1", "kraft", {"group.coordinator.rebalance.protocols": "classic"}, E.UNSUPPORTED_VERSION),
    ],
)
def test_the_consumer_protocol_is_on_since_4_0_and_optional_since_3_7(
    kafka: str, mode: str, config: dict[str, ConfigValue], error: KafkaError
) -> None:
    talk = Talk(kafka, mode, config=config)
    talk.run(3)
    assert talk.ask(OWNER, joining()).error == error


def test_other_brokers_and_other_ids_are_refused() -> None:
    talk = started()
    assert talk.ask(1, joining()).error == E.NOT_COORDINATOR
    assert talk.ask(OWNER, joining(group="")).error == E.INVALID_REQUEST
    assert talk.ask(OWNER, living(1)).error == E.GROUP_ID_NOT_FOUND
    assert talk.ask(OWNER, living(LEAVE)).error == E.GROUP_ID_NOT_FOUND
    assert talk.host.groups == {}


def test_members_get_coordinator_load_in_progress_during_loading() -> None:
    talk = with_member()
    talk.cluster.crash(OWNER)
    read_until_loading(talk, 3)
    answer = talk.ask(3, living(1), 0.003)
    assert answer.error == E.COORDINATOR_LOAD_IN_PROGRESS
    talk.run(1)
    assert talk.ask(3, living(1)).error == E.NONE


# -- one id, one protocol ----------------------------------------------------------------------------------------------


def classic_join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(0, "g", "app", member_id, 10 * SECOND, 60 * SECOND, RANGE, version=3)


def test_a_group_with_classic_members_is_not_for_others_and_the_other_way_round() -> None:
    talk = started()
    talk.ask(OWNER, classic_join(), 4)
    assert talk.ask(OWNER, joining()).error == E.GROUP_ID_NOT_FOUND
    other = with_member()
    assert other.ask(OWNER, classic_join(), 4).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert other.ask(OWNER, living(1)).error == E.NONE


def test_an_empty_group_changes_its_protocol_and_keeps_what_it_has_committed() -> None:
    talk = started()
    member = talk.member("a")
    talk.run(5)
    member.commit("orders-0", 7)
    talk.run(1)
    member.stopped = True
    talk.run(15)
    assert talk.ask(OWNER, joining()).error == E.NONE
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": 7}
    assert talk.ask(OWNER, living(LEAVE)).error == E.NONE
    assert talk.ask(OWNER, classic_join(), 4).generation_id == 1
    assert talk.host.groups == {}
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": 7}
    talk.cluster.crash(OWNER)
    talk.run(30)
    assert talk.host.groups == {}
    assert offsets(talk.ask(talk.owner, fetch("orders-0"))) == {"orders-0": 7}


def test_a_new_coordinator_finds_one_group_of_a_name_not_two() -> None:
    talk = started()
    member = talk.member("a")
    talk.run(5)
    member.stopped = True
    talk.run(15)
    assert talk.ask(OWNER, joining()).error == E.NONE
    talk.cluster.crash(OWNER)
    talk.run(30)
    assert talk.ask(talk.owner, ListGroupsRequest(0)).groups == (("g", "consumer", "Stable", "consumer"),)
    assert talk.cluster.coordinators[talk.owner].registry.groups == {}


# -- when it is answered -----------------------------------------------------------------------------------------------


def test_responses_wait_for_replication_of_their_records_in_order() -> None:
    talk = with_member()
    for follower in (1, 3):
        talk.cluster.pause(follower)
    before = len(talk.hand.got)
    talk.hand.ask(OWNER, joining("n"))
    talk.hand.ask(OWNER, living(1))
    talk.run(4)
    assert len(talk.hand.got) == before
    assert talk.group.epoch == 2
    talk.run(1.2)
    assert [answer.error for answer in talk.hand.got[before:]] == [E.COORDINATOR_NOT_AVAILABLE] * 2
    talk.hand.ask(OWNER, living(1))
    talk.run(1)
    assert len(talk.hand.got) == before + 2, "it is still not replicated"
    for follower in (1, 3):
        talk.cluster.resume(follower)
    talk.run(3)
    assert talk.hand.got[-1].error == E.NONE


def test_a_failed_append_reverts_the_group() -> None:
    talk = with_member(offsets={"min.insync.replicas": 3})
    talk.cluster.crash(3)
    talk.run(20)
    assert talk.ask(OWNER, joining("n")).error == E.COORDINATOR_NOT_AVAILABLE
    assert (list(talk.group.members), talk.group.epoch) == (["m"], 1)
    assert talk.ask(OWNER, joining("n", "i")).error == E.NOT_COORDINATOR
    assert talk.ask(OWNER, living(1)).error == E.NONE, "what changes nothing needs no log"


def test_a_group_that_could_not_be_written_is_none() -> None:
    talk = started(offsets={"min.insync.replicas": 3})
    talk.cluster.crash(3)
    talk.run(20)
    assert talk.ask(OWNER, joining()).error == E.COORDINATOR_NOT_AVAILABLE
    assert talk.host.groups == {}


def test_a_member_that_cannot_be_dropped_is_dropped_later() -> None:
    talk = with_member(offsets={"min.insync.replicas": 3}, config={"group.consumer.session.timeout.ms": 30_000})
    talk.cluster.crash(3)
    talk.run(40)
    assert list(talk.group.members) == ["m"]
    talk.cluster.restart(3)
    talk.run(20)
    assert talk.group.members == {}


def test_a_member_that_waits_when_the_coordinator_loses_its_partition_is_sent_elsewhere() -> None:
    talk = with_member()
    talk.cluster.pause(1)
    talk.cluster.pause(3)
    before = len(talk.hand.got)
    talk.hand.ask(OWNER, joining("n"))
    talk.run(0.1)
    for other in (1, 3, 1_001, 1_002, 1_003):
        talk.cluster.cut(OWNER, other, 1)
        talk.cluster.cut(other, OWNER, 1)
    talk.run(20)
    assert [answer.error for answer in talk.hand.got[before:]] == [E.COORDINATOR_NOT_AVAILABLE]


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_a_session_is_over_after_its_time_and_every_heartbeat_begins_it_anew() -> None:
    talk = with_member()
    talk.run(44)
    assert talk.ask(OWNER, living(1)).error == E.NONE
    talk.run(44)
    assert list(talk.group.members) == ["m"]
    talk.run(1.2)
    assert (talk.group.members, talk.group.state) == ({}, ConsumerGroupState.EMPTY)
    assert talk.ask(OWNER, living(1)).error == E.UNKNOWN_MEMBER_ID


def test_a_fenced_heartbeat_is_no_sign_of_life() -> None:
    talk = with_member()
    for _ in range(5):
        talk.run(10)
        talk.ask(OWNER, living(9))
    assert talk.group.members == {}


def test_a_member_that_does_not_give_up_what_it_should_is_dropped_after_its_rebalance_timeout() -> None:
    talk = started()
    talk.ask(OWNER, joining(rebalance_timeout_us=12 * SECOND))
    talk.ask(OWNER, joining("n"))
    assert talk.ask(OWNER, living(1)).assignment == ("orders-0",)
    for _ in range(3):
        talk.run(3)
        assert talk.ask(OWNER, living(1, owned=("orders-0", "orders-1"))).error == E.NONE
    talk.run(3)
    assert list(talk.group.members) == ["n"]
    assert talk.ask(OWNER, living(2, "n")).assignment == ("orders-0", "orders-1")


def test_a_member_that_gives_it_up_in_time_is_not() -> None:
    talk = started()
    talk.ask(OWNER, joining(rebalance_timeout_us=12 * SECOND))
    talk.ask(OWNER, joining("n"))
    talk.ask(OWNER, living(1))
    talk.run(9)
    assert talk.ask(OWNER, living(1, owned=("orders-0",))).member_epoch == 2
    talk.run(9)
    assert list(talk.group.members) == ["m", "n"]


def test_a_new_coordinator_gives_everybody_all_the_time_again() -> None:
    talk = started()
    talk.ask(OWNER, joining(rebalance_timeout_us=30 * SECOND))
    talk.ask(OWNER, joining("n"))
    talk.ask(OWNER, living(1))
    talk.run(20)
    talk.cluster.crash(OWNER)
    while "g" not in talk.host.groups:
        talk.run(0.1)
    begun = talk.cluster.now_us
    assert set(talk.group.members) == {"m", "n"}
    assert talk.group.revocations["m"] > begun + 20 * SECOND
    assert min(talk.group.sessions.values()) > begun + 40 * SECOND
    talk.run(32)
    assert list(talk.group.members) == ["n"]


# -- offsets -----------------------------------------------------------------------------------------------------------


def member_commit(epoch: int, member: str = "m", offset: int = 5) -> Any:
    return commit(offset, generation=epoch, member=member)


def test_commits_are_a_members_of_today() -> None:
    talk = with_member()
    assert errors(talk.ask(OWNER, member_commit(1))) == [E.NONE]
    assert errors(talk.ask(OWNER, member_commit(2))) == [E.STALE_MEMBER_EPOCH]
    assert errors(talk.ask(OWNER, member_commit(1, "x"))) == [E.UNKNOWN_MEMBER_ID]
    assert errors(talk.ask(OWNER, commit())) == [E.UNKNOWN_MEMBER_ID]
    talk.ask(OWNER, living(LEAVE))
    assert errors(talk.ask(OWNER, commit(9))) == [E.NONE]
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": 9}


def test_commits_of_a_past_epoch_are_stale() -> None:
    talk = with_member()
    assert errors(talk.ask(OWNER, member_commit(1))) == [E.NONE]
    talk.ask(OWNER, joining("n"))
    assert talk.ask(OWNER, living(1, owned=())).member_epoch == 2
    assert errors(talk.ask(OWNER, member_commit(1, offset=9))) == [E.STALE_MEMBER_EPOCH]
    assert errors(talk.ask(OWNER, member_commit(2, offset=7))) == [E.NONE]
    request = TxnOffsetCommitRequest(0, "tx", "g", 7, 0, (CommittedOffset("orders-0", 9),), 1, "m")
    assert talk.host.may_commit_in_transaction(request, FINE) == E.ILLEGAL_GENERATION
    assert talk.host.may_commit_in_transaction(request._replace(generation_id=2), FINE) == E.NONE
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": 7}


@pytest.mark.parametrize("kafka", ["4.2", "4.3"])
def test_since_4_3_a_member_commits_with_every_epoch_in_which_it_had_the_partition(kafka: str) -> None:
    """KIP-1251: it keeps one partition since its first epoch, and is to give up the other."""
    older, refused = (E.NONE if kafka == "4.3" else E.STALE_MEMBER_EPOCH), E.STALE_MEMBER_EPOCH
    talk = started(kafka)
    first = talk.ask(OWNER, joining()).member_epoch
    talk.run(2)
    talk.ask(OWNER, joining("n"))
    talk.run(2)
    asked = talk.ask(OWNER, living(first, owned=("orders-0", "orders-1")))
    assert (asked.member_epoch, asked.assignment) == (first, ("orders-0",))
    second = talk.ask(OWNER, living(first, owned=("orders-0",))).member_epoch
    assert second > first
    assert errors(talk.ask(OWNER, commit(1, partition="orders-0", generation=second, member="m"))) == [E.NONE]
    assert errors(talk.ask(OWNER, commit(2, partition="orders-0", generation=first, member="m"))) == [older]
    assert errors(talk.ask(OWNER, commit(3, partition="orders-0", generation=first - 1, member="m"))) == [refused]
    assert errors(talk.ask(OWNER, commit(4, partition="orders-0", generation=second + 1, member="m"))) == [refused]
    assert errors(talk.ask(OWNER, commit(5, partition="orders-1", generation=first, member="m"))) == [refused]
    talk.cluster.crash(OWNER)
    while "g" not in talk.host.groups:
        talk.run(0.1)
    request = TxnOffsetCommitRequest(0, "tx", "g", 7, 0, (), first, "m")
    found = [talk.host.may_commit_in_transaction(request, ((name, E.NONE),)) for name in ("orders-0", "orders-1")]
    assert found == [E.NONE if kafka == "4.3" else E.ILLEGAL_GENERATION, E.ILLEGAL_GENERATION]


def test_committed_offsets_are_returned_to_current_members_and_to_clients_outside_the_group() -> None:
    talk = with_member()
    talk.ask(OWNER, member_commit(1))
    asked = OffsetFetchRequest(0, "g", ("orders-0",))
    for who, error in (
        ((), E.NONE),
        (("m", 1), E.NONE),
        (("m", 2), E.STALE_MEMBER_EPOCH),
        (("x", 1), E.UNKNOWN_MEMBER_ID),
    ):
        answer = talk.ask(OWNER, asked._replace(member_id=who[0], member_epoch=who[1]) if who else asked)
        assert answer.error == error
        assert offsets(answer) == ({} if error else {"orders-0": 5})


def test_a_transaction_may_commit_for_a_member_of_today_or_for_nobody() -> None:
    talk = with_member()
    for who, error in (
        (("", -1), E.NONE),
        (("m", 1), E.NONE),
        (("m", 4), E.ILLEGAL_GENERATION),
        (("x", 1), E.UNKNOWN_MEMBER_ID),
    ):
        request = TxnOffsetCommitRequest(0, "tx", "g", 7, 0, (CommittedOffset("orders-0", 1),), who[1], who[0])
        modern = talk.host.may_commit_in_transaction(request, FINE)
        assert modern == error, who
    assert talk.host.may_commit_in_transaction(request._replace(group_id="h"), FINE) is None


def test_committed_offsets_survive_a_coordinator_crash() -> None:
    talk = with_member()
    talk.ask(OWNER, member_commit(1, offset=6))
    talk.cluster.crash(OWNER)
    talk.run(30)
    assert talk.owner != OWNER
    assert offsets(talk.ask(talk.owner, fetch("orders-0"))) == {"orders-0": 6}
    assert errors(talk.ask(talk.owner, member_commit(1, offset=7))) == [E.NONE]


def test_unused_offsets_expire_and_the_group_with_the_last() -> None:
    minute: dict[str, ConfigValue] = {
        "offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 10_000,
        "group.consumer.session.timeout.ms": 600_000,
    }  # fmt: skip
    talk = with_member(config=minute)
    talk.ask(OWNER, member_commit(1))
    talk.run(90)
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": 5}, "a member reads it"
    talk.ask(OWNER, living(1, topics=("payments",)))
    talk.run(15)
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": -1}
    assert list(talk.host.groups) == ["g"]
    talk.ask(OWNER, living(LEAVE))
    talk.run(15)
    assert talk.host.groups == {}
    talk.cluster.crash(OWNER)
    talk.run(30)
    assert talk.host.groups == {}


# -- administration ----------------------------------------------------------------------------------------------------


def test_a_group_is_described_and_listed() -> None:
    talk = with_member()
    (found,) = talk.ask(OWNER, DescribeGroupsRequest(0, ("g",))).groups
    assert (found.state, found.protocol_type, found.protocol) == ("Stable", "consumer", "uniform")
    (member,) = found.members
    assert (member.member_id, member.client_id, member.host) == ("m", "m", talk.hand.port.node_id)
    assert member.assignment.partitions == ("orders-0", "orders-1")
    assert (member.metadata.topics, member.metadata.generation) == (("orders",), 1)
    assert talk.ask(OWNER, ListGroupsRequest(0)).groups == (("g", "consumer", "Stable", "consumer"),)
    assert talk.ask(OWNER, ListGroupsRequest(0, ("Empty",))).groups == ()
    talk.ask(OWNER, living(LEAVE))
    assert talk.ask(OWNER, ListGroupsRequest(0, ("Empty",))).groups == (("g", "consumer", "Empty", "consumer"),)


def test_a_group_is_described_in_full() -> None:
    talk = with_member()
    talk.ask(OWNER, joining("n"))
    found, none = talk.ask(OWNER, ConsumerGroupDescribeRequest(0, ("g", "y"))).groups
    assert (found.error, found.state, found.epoch, found.target_epoch) == (E.NONE, "Reconciling", 2, 2)
    assert (found.assignor, none.error) == ("uniform", E.GROUP_ID_NOT_FOUND)
    one, two = found.members
    assert (one.member_id, one.epoch, one.assigned, one.target) == ("m", 1, ("orders-0", "orders-1"), ("orders-0",))
    assert (two.client_id, two.epoch, two.topics, two.assigned, two.target) == (
        "n", 2, ("orders",), (), ("orders-1",),
    )  # fmt: skip
    (elsewhere,) = talk.ask(1, ConsumerGroupDescribeRequest(0, ("g",))).groups
    assert elsewhere.error == E.NOT_COORDINATOR


def test_a_member_that_asks_for_classic_groups_learns_of_no_other() -> None:
    talk = with_member()
    (found,) = talk.ask(OWNER, DescribeGroupsRequest(0, ("g",), classic=True)).groups
    assert (found.error, found.state, found.members) == (E.NONE, "Dead", ())
    assert talk.ask(OWNER, ListGroupsRequest(0, types=("classic",))).groups == ()
    assert len(talk.ask(OWNER, ListGroupsRequest(0, types=("classic", "Consumer"))).groups) == 1


def test_a_commit_that_reports_its_version_needs_one_that_knows_of_epochs() -> None:
    talk = with_member()
    told = [errors(talk.ask(OWNER, member_commit(1)._replace(version=version))) for version in (0, 8, 9)]
    assert told == [[E.NONE], [E.UNSUPPORTED_VERSION], [E.NONE]]
    talk.ask(OWNER, living(LEAVE))
    stranger = member_commit(1)._replace(group_id="y")
    told = [errors(talk.ask(OWNER, stranger._replace(version=version))) for version in (0, 8, 9)]
    assert told == [[E.ILLEGAL_GENERATION], [E.ILLEGAL_GENERATION], [E.GROUP_ID_NOT_FOUND]]


def test_only_an_empty_group_is_deleted() -> None:
    talk = with_member()
    talk.ask(OWNER, member_commit(1))
    delete = DeleteGroupsRequest(0, ("g",))
    assert talk.ask(OWNER, delete).groups == (("g", E.NON_EMPTY_GROUP),)
    talk.ask(OWNER, living(LEAVE))
    assert talk.ask(OWNER, delete).groups == (("g", E.NONE),)
    assert talk.ask(OWNER, delete).groups == (("g", E.GROUP_ID_NOT_FOUND),)
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": -1}


def test_offsets_of_what_members_read_are_not_deleted() -> None:
    talk = with_member()
    talk.ask(OWNER, member_commit(1))
    delete = OffsetDeleteRequest(0, "g", ("orders-0",))
    assert talk.ask(OWNER, delete).partitions == (("orders-0", E.GROUP_SUBSCRIBED_TO_TOPIC),)
    talk.ask(OWNER, living(1, topics=("payments",)))
    assert talk.ask(OWNER, delete).partitions == (("orders-0", E.NONE),)
    assert offsets(talk.ask(OWNER, fetch("orders-0"))) == {"orders-0": -1}


# -- what it knows -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_coordinator_that_is_one_no_more_forgets_its_groups_and_the_next_reads_them_anew() -> None:
    talk = with_member()
    talk.cluster.crash(OWNER)
    talk.run(20)
    assert list(talk.cluster.coordinators[3].consumer_groups.groups) == ["g"]
    talk.cluster.restart(OWNER)
    talk.run(10)
    talk.cluster.elect_leaders("__consumer_offsets-1", unclean=False)
    talk.run(2)
    assert talk.owner == OWNER
    assert (list(talk.cluster.coordinators[3].consumer_groups.groups), list(talk.host.groups)) == ([], ["g"])


def test_a_member_that_leaves_for_now_is_waited_for_from_its_last_heartbeat_on() -> None:
    talk = started()
    talk.ask(OWNER, joining(group_instance_id="i"))
    talk.run(30)
    assert talk.ask(OWNER, living(LEAVE_FOR_NOW, group_instance_id="i")).error == E.NONE
    talk.run(14)
    assert list(talk.group.members) == ["m"]
    talk.run(1.5)
    assert talk.group.members == {}


def test_a_partition_that_goes_when_another_comes_is_noticed() -> None:
    talk = with_member()
    broker = talk.cluster.brokers[OWNER]
    gone = broker.states["orders-1"]
    broker.forget("orders-1")
    broker.states["payments-0"] = gone._replace(partition="payments-0")
    assert talk.ask(OWNER, living(1)).assignment == ("orders-0",)
