"""Partition changes of a ZooKeeper-mode controller, row by row: elections, the ISR's last member, proposals."""

from typing import Any

import pytest

from cluster_model.controller.rules import partition_change
from cluster_model.controller.rules.admin_rules import elect_requested_zk
from cluster_model.controller.rules.alter_partition import accept_zk, validate_write, validate_zk
from cluster_model.controller.rules.partition_change import LEADER, PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, PartitionState
from cluster_model.protocol.versions import Profile

P = "t-0"
PLAIN = PartitionState(P, 1, 5, (1, 2, 3), 9, (1, 2, 3))
V10, V11, V31, V32, V39 = (Profile.of(version, "zookeeper") for version in ("1.0", "1.1", "3.1", "3.2", "3.9"))


def topic(profile: Profile, *, unclean: bool = False) -> TopicConfig:
    return TopicConfig.of(profile, {}, {"unclean.leader.election.enable": unclean})


def short(change: PartitionChange | None) -> tuple[int, tuple[int, ...]] | None:
    """Leader and ISR; the epochs of any such change are checked here."""
    if change is None:
        return None
    assert (change.state.leader_epoch, change.state.partition_epoch) == (6, 10)
    return (change.state.leader, change.state.isr)


@pytest.mark.parametrize(
    ("isr", "live", "allowed", "found"),
    [
        ((1, 2, 3), (2, 3), False, (2, (2, 3))),
        ((3, 2, 1), (2, 3), False, (2, (3, 2))),
        ((1, 3), (2, 3), False, (3, (3,))),
        ((1,), (2, 3), False, None),
        ((1,), (2, 3), True, (2, (2,))),
        ((1, 3), (2, 3), True, (3, (3,))),
        ((1,), (), True, None),
    ],
)
def test_an_offline_partition(
    isr: tuple[int, ...], live: tuple[int, ...], allowed: bool, found: tuple[int, tuple[int, ...]] | None
) -> None:
    state = PLAIN._replace(isr=isr)
    change = partition_change.offline_election(
        state, live=live.__contains__, profile=V39, topic=topic(V39, unclean=allowed), by="test"
    )
    assert short(change) == found
    if change is not None:
        unclean = change.state.leader not in isr
        assert (change.clean, change.state.recovering) == (not unclean, unclean)


def test_an_election_on_demand_may_be_unclean_and_recovers_since_3_2() -> None:
    for profile, recovering in ((V31, False), (V32, True)):
        change = partition_change.offline_election(
            PLAIN._replace(isr=(1,)), live=(3,).__contains__, profile=profile, topic=topic(profile), by="", unclean=True
        )
        assert short(change) == (3, (3,))
        assert change is not None
        assert change.state.recovering is recovering


@pytest.mark.parametrize(
    ("target", "isr", "live", "found"),
    [
        ((3, 2), (1, 2, 3), (1, 2, 3), (3, (1, 2, 3))),
        ((3, 2), (1, 2, 3), (1, 2), (2, (1, 2, 3))),
        ((3, 2), (1, 2), (1, 2, 3), (2, (1, 2))),
        ((3,), (1, 2), (1, 2, 3), None),
    ],
)
def test_a_reassigned_partition(
    target: tuple[int, ...],
    isr: tuple[int, ...],
    live: tuple[int, ...],
    found: tuple[int, tuple[int, ...]] | None,
) -> None:
    state = PLAIN._replace(isr=isr)
    assert short(partition_change.reassign_election(state, target, live=live.__contains__, by="test")) == found


@pytest.mark.parametrize(
    ("leader", "isr", "live", "found"),
    [
        (2, (2, 1), (1, 2), (1, (2, 1))),
        (2, (2, 3), (1, 2), None),
        (2, (2, 1), (2, 3), None),
        (1, (1, 2), (1, 2), None),
    ],
)
def test_a_preferred_leader(
    leader: int, isr: tuple[int, ...], live: tuple[int, ...], found: tuple[int, tuple[int, ...]] | None
) -> None:
    state = PLAIN._replace(leader=leader, isr=isr)
    assert short(partition_change.preferred_election(state, live=live.__contains__, by="test")) == found


@pytest.mark.parametrize(
    ("isr", "stopping", "found"),
    [
        ((1, 2, 3), (1,), (2, (2, 3))),
        ((1, 2, 3), (1, 2), (3, (3,))),
        ((1, 3), (1,), (3, (3,))),
        ((1,), (1,), None),
    ],
)
def test_a_controlled_shutdown(
    isr: tuple[int, ...], stopping: tuple[int, ...], found: tuple[int, tuple[int, ...]] | None
) -> None:
    change = partition_change.controlled_shutdown_election(
        PLAIN._replace(isr=isr), live=(1, 2, 3).__contains__, stopping=stopping.__contains__, by="test"
    )
    assert short(change) == found


@pytest.mark.parametrize(
    ("profile", "unclean", "isr", "broker", "found"),
    [
        (V39, False, (1, 2, 3), 3, (1, (1, 2))),
        (V39, False, (1, 2, 3), 1, (NO_LEADER, (2, 3))),
        (V39, False, (1,), 1, (NO_LEADER, (1,))),
        (V39, False, (1, 2), 3, None),
        (V11, True, (1,), 1, (NO_LEADER, (1,))),
        (V10, True, (1,), 1, (NO_LEADER, ())),
        (V10, False, (1,), 1, (NO_LEADER, (1,))),
    ],
)
def test_an_offline_replica_leaves_the_isr(
    profile: Profile, unclean: bool, isr: tuple[int, ...], broker: int, found: tuple[int, tuple[int, ...]] | None
) -> None:
    settings = topic(profile, unclean=unclean)
    change = partition_change.remove_from_isr(
        PLAIN._replace(isr=isr), broker, profile=profile, topic=settings, by="test"
    )
    assert short(change) == found


@pytest.mark.parametrize(
    ("state", "live", "unclean", "found"),
    [
        (PLAIN, (1, 2, 3), False, KafkaError.ELECTION_NOT_NEEDED),
        (PLAIN._replace(leader=2), (2, 3), False, KafkaError.PREFERRED_LEADER_NOT_AVAILABLE),
        (PLAIN._replace(leader=2), (1, 2), False, 1),
        (PLAIN, (1, 2), True, KafkaError.ELECTION_NOT_NEEDED),
        (PLAIN._replace(isr=(1,)), (2,), True, 2),
        (PLAIN._replace(leader=NO_LEADER, isr=(1,)), (), True, KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
def test_elections_requested_by_an_administrator_with_zookeeper(
    state: PartitionState, live: tuple[int, ...], unclean: bool, found: KafkaError | int
) -> None:
    made = elect_requested_zk(
        state, unclean=unclean, live=live.__contains__, profile=V39, topic=topic(V39), by="administrator"
    )
    assert (made.state.leader if isinstance(made, PartitionChange) else made) == found


EPOCHS = {1: 10, 2: 20, 3: 30}
GOOD = AlterPartitionRequest(P, 1, 10, 5, 9, (1, 2), (10, 20))


@pytest.mark.parametrize(
    ("changes", "state", "error"),
    [
        ({}, PLAIN, KafkaError.NONE),
        ({"broker_epoch": 9}, None, KafkaError.STALE_BROKER_EPOCH),
        ({}, None, KafkaError.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 6}, PLAIN, KafkaError.NOT_CONTROLLER),
        ({"partition_epoch": 10, "leader_epoch": 4}, PLAIN, KafkaError.NOT_CONTROLLER),
        ({"leader_epoch": 4, "isr": (1, 2, 3)}, PLAIN, KafkaError.FENCED_LEADER_EPOCH),
        ({"isr": (3, 1, 2), "partition_epoch": 7}, PLAIN, KafkaError.NONE),
        ({"partition_epoch": 8}, PLAIN, KafkaError.INVALID_UPDATE_VERSION),
        ({"recovering": True}, PLAIN._replace(recovering=True), KafkaError.INVALID_REQUEST),
        ({"recovering": True, "isr": (1,), "isr_epochs": (10,)}, PLAIN, KafkaError.INVALID_REQUEST),
        ({"isr": (1, 4), "isr_epochs": (10, 40)}, PLAIN, KafkaError.INELIGIBLE_REPLICA),
    ],
)
def test_a_proposal_is_judged_in_order(
    changes: dict[str, Any], state: PartitionState | None, error: KafkaError
) -> None:
    assert validate_zk(state, GOOD._replace(**changes), epochs=EPOCHS, profile=V39) is error


def test_before_3_3_an_ineligible_member_is_an_operation_not_attempted() -> None:
    assert validate_zk(PLAIN, GOOD, epochs={1: 10}, profile=V32) is KafkaError.OPERATION_NOT_ATTEMPTED


def test_an_accepted_isr_proposal_keeps_the_leader_epoch() -> None:
    made = accept_zk(PLAIN._replace(recovering=True), GOOD)
    assert made == PartitionChange(PLAIN._replace(isr=(1, 2), partition_epoch=10), LEADER)
    assert accept_zk(PLAIN, GOOD._replace(isr=(3, 2, 1))) is None


def test_up_to_2_6_a_state_change_is_checked_by_zookeeper_version_alone() -> None:
    assert validate_write(PLAIN, GOOD._replace(leader=2, leader_epoch=0, broker_epoch=0)) is KafkaError.NONE
    assert validate_write(PLAIN, GOOD._replace(partition_epoch=8)) is KafkaError.INVALID_UPDATE_VERSION
    assert validate_write(PLAIN, GOOD._replace(partition_epoch=10)) is KafkaError.INVALID_UPDATE_VERSION
