"""Partition changes of a KRaft controller, row by row: elections, epochs, eligible leader replicas, recovery."""

from typing import Any

import pytest

from cluster_model.controller.rules.admin_rules import elect_requested_kraft
from cluster_model.controller.rules.alter_partition import accept_kraft, proposer_error, validate_kraft
from cluster_model.controller.rules.kraft_partition_changes import (
    broker_fenced,
    broker_unfenced,
    build_change,
    unclean_shutdown,
)
from cluster_model.controller.rules.partition_change import LEADER, ElectionMode, PartitionChange, created
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, PartitionState
from cluster_model.protocol.versions import Profile

P = "t-0"
PLAIN = PartitionState(P, 1, 5, (1, 2, 3), 9, (1, 2, 3))
OLD, V36, NEW = Profile.of("3.5", "kraft"), Profile.of("3.9", "kraft"), Profile.of("4.1")


def topic(profile: Profile, *, min_isr: int = 2, unclean: bool = False) -> TopicConfig:
    settings = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
    return TopicConfig.of(profile, {}, settings)


def change(
    state: PartitionState, *active: int, profile: Profile = V36, min_isr: int = 2, unclean: bool = False, **targets: Any
) -> PartitionChange | None:
    settings = topic(profile, min_isr=min_isr, unclean=unclean)
    return build_change(state, active=active.__contains__, profile=profile, topic=settings, by="test", **targets)


def after(state: PartitionState, *active: int, **how: Any) -> tuple[int, tuple[int, ...], int, int]:
    """Leader, ISR, leader epoch and partition epoch after a change."""
    made = change(state, *active, **how)
    assert made is not None
    return (made.state.leader, made.state.isr, made.state.leader_epoch, made.state.partition_epoch)


# -- leader -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leader", "isr", "active", "election", "becomes"),
    [
        (2, (1, 2, 3), (1, 2, 3), ElectionMode.ONLINE, None),
        (2, (1, 2, 3), (1, 2, 3), ElectionMode.UNCLEAN, None),
        (2, (1, 2, 3), (1, 2, 3), ElectionMode.PREFERRED, 1),
        (2, (2, 3), (1, 2, 3), ElectionMode.PREFERRED, None),
        (2, (1, 2, 3), (2, 3), ElectionMode.PREFERRED, None),
        (2, (1, 2, 3), (3,), ElectionMode.PREFERRED, 3),
        (2, (2, 3), (1, 3), ElectionMode.PREFERRED, 3),
        (1, (3, 2, 1), (2, 3), ElectionMode.ONLINE, 2),
        (1, (1, 3), (2, 3), ElectionMode.ONLINE, 3),
        (1, (1,), (2, 3), ElectionMode.ONLINE, NO_LEADER),
        (1, (1,), (2, 3), ElectionMode.UNCLEAN, 2),
        (1, (1,), (2, 3), ElectionMode.PREFERRED, NO_LEADER),
        (NO_LEADER, (1,), (2, 3), ElectionMode.ONLINE, None),
        (NO_LEADER, (1,), (1, 2), ElectionMode.ONLINE, 1),
    ],
)
def test_which_broker_leads(
    leader: int, isr: tuple[int, ...], active: tuple[int, ...], election: ElectionMode, becomes: int | None
) -> None:
    made = change(PLAIN._replace(leader=leader, isr=isr), *active, election=election)
    assert (None if made is None else made.state.leader) == becomes
    if made is not None:
        assert (made.state.leader_epoch, made.state.partition_epoch) == (6, 10)
        assert made.clean is (becomes == NO_LEADER or becomes in isr)


def test_a_topic_that_allows_it_is_led_uncleanly_but_not_by_a_preferred_election() -> None:
    lost = PLAIN._replace(isr=(1,))
    assert after(lost, 2, 3, unclean=True) == (2, (2,), 6, 10)
    assert after(lost, 2, 3, unclean=True, election=ElectionMode.PREFERRED) == (NO_LEADER, (1,), 6, 10)


# -- epochs, and the last member --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "epoch"), [(OLD, 6), (V36, 5), (NEW, 5)])
def test_a_follower_that_leaves_raises_the_leader_epoch_only_up_to_3_5(profile: Profile, epoch: int) -> None:
    assert after(PLAIN, 1, 2, profile=profile, target_isr=(1, 2)) == (1, (1, 2), epoch, 10)


def test_an_isr_that_grows_never_raises_the_leader_epoch() -> None:
    assert after(PLAIN._replace(isr=(1,)), 1, 2, profile=OLD, target_isr=(1, 2)) == (1, (1, 2), 5, 10)


def test_the_same_isr_in_another_order_changes_the_partition_epoch_only() -> None:
    made = change(PLAIN, 1, 2, 3, target_isr=(3, 2, 1))
    assert made is not None
    assert made.state == PLAIN._replace(isr=(3, 2, 1), partition_epoch=PLAIN.partition_epoch + 1)


@pytest.mark.parametrize("profile", [OLD, V36])
def test_the_last_member_stays_without_a_leader(profile: Profile) -> None:
    assert after(PLAIN._replace(isr=(1,)), 2, 3, profile=profile, target_isr=()) == (NO_LEADER, (1,), 6, 10)


def test_a_replica_that_leaves_the_assignment_forces_a_leader_epoch() -> None:
    made = change(PLAIN, 1, 2, 3, target_isr=(1, 2), target_replicas=(1, 2))
    assert made is not None
    assert (made.state.leader, made.state.leader_epoch, made.state.replicas) == (1, 6, (1, 2))


# -- eligible leader replicas -----------------------------------------------------------------------------------------


def elr(state: PartitionState, *active: int, **how: Any) -> PartitionState:
    made = change(state, *active, profile=NEW, **how)
    assert made is not None
    return made.state


def test_elr_is_empty_while_the_isr_has_its_minimum() -> None:
    assert elr(PLAIN, 1, 2, target_isr=(1, 2)).elr == ()
    whole = elr(PLAIN._replace(isr=(1,), elr=(2,)), 1, 3, target_isr=(1, 3))
    assert (whole.elr, whole.last_known, whole.recovering) == ((), NO_LEADER, False)


def test_replicas_leaving_an_isr_below_its_minimum_join_the_elr() -> None:
    """The worked trace of KIP-966: three replicas, at least two in sync."""
    two = elr(PLAIN, 1, 2, target_isr=(1, 2))
    one = elr(two, 1, target_isr=(1,))
    assert (one.isr, one.elr, one.leader_epoch) == ((1,), (2,), 5)
    none = elr(one, target_isr=())
    assert (none.isr, none.elr, none.last_known, none.leader) == ((), (1, 2), 1, NO_LEADER)
    healed = elr(none, 2, 3)
    assert (healed.leader, healed.isr, healed.elr, healed.recovering) == (2, (2,), (1,), False)
    back = elr(healed, 1, 2, 3, unclean_shutdown=(1,))
    assert (back.leader, back.isr, back.elr) == (2, (2,), ())


def test_an_election_from_the_elr_clears_the_last_known_leader_below_the_minimum_too() -> None:
    """Seen in the metadata log of a real 4.1.2 controller: lastKnownElr is empty in the very record of the election."""
    leaderless = PLAIN._replace(leader=NO_LEADER, isr=(), elr=(1, 2), last_known=1)
    elected = elr(leaderless, 1)
    assert (elected.leader, elected.isr, elected.elr, elected.last_known) == (1, (1,), (2,), NO_LEADER)
    waiting = elr(leaderless, 3, unclean_shutdown=(2,))
    assert (waiting.leader, waiting.elr, waiting.last_known) == (NO_LEADER, (1,), 1)


def test_a_broker_that_never_was_in_sync_is_not_eligible() -> None:
    lost = elr(PLAIN._replace(isr=(1, 2)), 3, target_isr=(2,))
    assert (lost.leader, lost.isr, lost.elr) == (NO_LEADER, (2,), (1,))


def test_the_elr_is_not_used_while_a_replica_is_in_sync() -> None:
    assert change(PLAIN._replace(leader=NO_LEADER, isr=(2,), elr=(1,)), 1, 3, profile=NEW) is None


def test_a_minimum_above_the_replicas_counts_as_their_number() -> None:
    assert elr(PLAIN, 1, 2, target_isr=(1, 2), min_isr=5).elr == (3,)
    assert change(PLAIN._replace(isr=(1, 2), elr=(3,)), 1, 2, 3, profile=NEW, min_isr=5, target_isr=(1, 2, 3))
    assert elr(PLAIN._replace(isr=(1, 2), elr=(3,)), 1, 2, 3, min_isr=5, target_isr=(1, 2, 3)).elr == ()


def test_an_unclean_election_clears_the_elr() -> None:
    state = elr(PLAIN._replace(leader=NO_LEADER, isr=(), elr=(1,), last_known=1), 3, election=ElectionMode.UNCLEAN)
    assert (state.leader, state.isr, state.elr, state.last_known, state.recovering) == (3, (3,), (), NO_LEADER, True)


LAST = PLAIN._replace(leader=NO_LEADER, isr=(), elr=(), last_known=2)


def test_the_last_known_leader_is_elected_uncleanly_once_it_is_active() -> None:
    assert change(LAST, 1, 3, profile=NEW) is None
    made = change(LAST, 1, 2, 3, profile=NEW)
    assert made is not None
    assert (made.state.leader, made.state.isr, made.state.recovering, made.clean) == (2, (2,), True, False)


def test_a_preferred_election_also_elects_the_last_known_leader() -> None:
    made = change(LAST, 1, 2, 3, profile=NEW, election=ElectionMode.PREFERRED)
    assert made is not None
    assert (made.state.leader, made.clean) == (2, False)


def test_a_preferred_election_does_not_elect_the_last_known_leader() -> None:
    asked = elect_requested_kraft(
        LAST, unclean=False, active=(1, 3).__contains__, profile=NEW, topic=topic(NEW), by="administrator"
    )
    assert asked is KafkaError.PREFERRED_LEADER_NOT_AVAILABLE


def test_4_0_elects_the_last_known_leader_even_while_it_is_fenced() -> None:
    """KAFKA-19522, fixed in 4.1."""
    made = change(LAST, 1, 3, profile=Profile.of("4.0"), elr=True)
    assert made is not None
    assert (made.state.leader, made.state.isr, made.clean) == (2, (2,), False)


def test_the_last_known_leader_is_forgotten_once_there_is_a_leader() -> None:
    offline = PLAIN._replace(leader=NO_LEADER, isr=(), elr=(1, 3), last_known=1)
    back = elr(offline, 3)
    assert (back.leader, back.elr, back.last_known) == (3, (1,), NO_LEADER)


@pytest.mark.parametrize(("version", "replicas"), [
    ("3.7", (1, 2, 4)), ("3.8", (1, 2, 4, 3)), ("4.2", (1, 2, 4, 3)), ("4.3", (1, 2, 4)), ("4.4", (1, 2, 4)),
])  # fmt: skip
def test_a_reassignment_completes_once_the_added_replicas_are_in_sync(version: str, replicas: tuple[int, ...]) -> None:
    """Up to 3.7 (KAFKA-15665), and since 4.3 again (KAFKA-19975): replica 2 is not in sync and stays."""
    moving = PLAIN._replace(isr=(1, 3), replicas=(1, 2, 4, 3), adding=(4,), removing=(3,))
    made = change(moving, 1, 2, 3, 4, profile=Profile.of(version), target_isr=(1, 3, 4))
    assert made is not None
    assert made.state.replicas == replicas


@pytest.mark.parametrize(
    ("version", "replicas"), [("3.7", (1, 2, 4)), ("4.2", (1, 2, 4, 3, 5)), ("4.3", (1, 2, 4, 3, 5))]
)
def test_a_reassignment_to_fewer_replicas_waits_for_all_of_them(version: str, replicas: tuple[int, ...]) -> None:
    """KAFKA-19975: replica 2 is not in sync and stays; two replicas leave, one is added."""
    moving = PLAIN._replace(isr=(1, 3), replicas=(1, 2, 4, 3, 5), adding=(4,), removing=(3, 5))
    made = change(moving, 1, 2, 3, 4, profile=Profile.of(version), target_isr=(1, 3, 4))
    assert made is not None
    assert made.state.replicas == replicas


def test_the_last_known_leader_is_not_elected_while_another_replica_is_eligible() -> None:
    assert change(LAST._replace(elr=(3,)), 1, 2, profile=NEW) is None


def test_the_last_known_leader_comes_before_any_other_unclean_one() -> None:
    assert elr(LAST, 1, 2, 3, unclean=True).leader == 2
    assert elr(LAST, 1, 3, unclean=True).leader == 1


@pytest.mark.parametrize(("version", "on", "isr"), [("4.1", False, (1,)), ("4.0", None, (1,)), ("4.0", True, ())])
def test_elr_can_be_turned_on_for_4_0_and_off_for_4_1(version: str, on: bool | None, isr: tuple[int, ...]) -> None:
    made = change(PLAIN._replace(isr=(1,)), profile=Profile.of(version), target_isr=(), elr=on)
    assert made is not None
    assert made.state.isr == isr


# -- recovery ---------------------------------------------------------------------------------------------------------


def test_an_unclean_leader_is_recovering_until_it_reports() -> None:
    won = change(PLAIN._replace(isr=(1,)), 2, 3, election=ElectionMode.UNCLEAN)
    assert won is not None
    assert won.state.recovering
    reported = change(won.state, 2, 3, target_isr=(2, 3), target_recovering=False)
    assert reported is not None
    assert not reported.state.recovering


# -- events -----------------------------------------------------------------------------------------------------------


def test_a_fenced_broker_leaves_whatever_it_led_and_was_in_sync_for() -> None:
    how: dict[str, Any] = {"active": (1, 2, 3).__contains__, "profile": V36, "topic": topic(V36), "by": "fenced"}
    gone = broker_fenced(PLAIN, 1, **how)
    assert gone is not None
    assert (gone.state.leader, gone.state.isr, gone.state.leader_epoch) == (2, (2, 3), 6)
    gone = broker_fenced(PLAIN, 3, **how)
    assert gone is not None
    assert (gone.state.leader, gone.state.isr, gone.state.leader_epoch) == (1, (1, 2), 5)
    assert broker_fenced(PLAIN._replace(isr=(1, 2)), 3, **how) is None


def test_an_unfenced_broker_is_elected_only_for_leaderless_partitions() -> None:
    how: dict[str, Any] = {"active": ().__contains__, "profile": V36, "topic": topic(V36), "by": "unfenced"}
    back = broker_unfenced(PLAIN._replace(leader=NO_LEADER, isr=(2,)), 2, **how)
    assert back is not None
    assert (back.state.leader, back.state.isr) == (2, (2,))
    assert broker_unfenced(PLAIN._replace(leader=NO_LEADER, isr=(2,)), 3, **how) is None
    assert broker_unfenced(PLAIN, 2, **how) is None


def test_a_broker_that_stopped_uncleanly_is_out_of_isr_and_elr() -> None:
    how: dict[str, Any] = {"active": (1,).__contains__, "profile": NEW, "topic": topic(NEW), "by": "registered"}
    dropped = unclean_shutdown(PLAIN._replace(isr=(1,), elr=(2, 3)), 2, **how)
    assert dropped is not None
    assert (dropped.state.isr, dropped.state.elr) == ((1,), (3,))
    dropped = unclean_shutdown(PLAIN._replace(isr=(1, 2)), 2, **how)
    assert dropped is not None
    assert (dropped.state.isr, dropped.state.elr) == ((1,), ())
    assert unclean_shutdown(PLAIN._replace(isr=(1,)), 2, **how) is None


def test_a_new_partition_is_in_sync_where_it_lives() -> None:
    assert created(P, (3, 1, 2), (1, 2).__contains__) == PartitionState(P, 1, 0, (1, 2), 0, (3, 1, 2))
    assert created(P, (3,), (1, 2).__contains__).leader == NO_LEADER


@pytest.mark.parametrize(
    ("state", "active", "unclean", "found"),
    [
        (PLAIN, (1, 2, 3), False, KafkaError.ELECTION_NOT_NEEDED),
        (PLAIN._replace(leader=2), (2, 3), False, KafkaError.PREFERRED_LEADER_NOT_AVAILABLE),
        (PLAIN._replace(leader=2), (1, 2, 3), False, 1),
        (PLAIN, (1, 2, 3), True, KafkaError.ELECTION_NOT_NEEDED),
        (PLAIN._replace(leader=NO_LEADER, isr=(1,)), (), True, KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        (PLAIN._replace(leader=NO_LEADER, isr=(1,)), (3,), True, 3),
    ],
)
def test_elections_requested_by_an_administrator_in_kraft(
    state: PartitionState, active: tuple[int, ...], unclean: bool, found: KafkaError | int
) -> None:
    made = elect_requested_kraft(
        state, unclean=unclean, active=active.__contains__, profile=V36, topic=topic(V36), by="administrator"
    )
    assert (made.state.leader if isinstance(made, PartitionChange) else made) == found


# -- AlterPartition ---------------------------------------------------------------------------------------------------

EPOCHS = {1: 10, 2: 20, 3: 30}
GOOD = AlterPartitionRequest(P, 1, 10, 5, 9, (1, 2), (10, 20))
LATER = PLAIN._replace(partition_epoch=9)


@pytest.mark.parametrize(
    ("changes", "state", "active", "error"),
    [
        ({}, PLAIN, (1, 2, 3), KafkaError.NONE),
        ({"broker_epoch": 11}, None, (1, 2, 3), KafkaError.STALE_BROKER_EPOCH),
        ({}, None, (1, 2, 3), KafkaError.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 6, "partition_epoch": 8}, PLAIN, (1, 2, 3), KafkaError.NOT_CONTROLLER),
        ({"partition_epoch": 10, "leader_epoch": 4}, PLAIN, (1, 2, 3), KafkaError.NOT_CONTROLLER),
        ({"leader_epoch": 4, "leader": 2, "broker_epoch": 20}, PLAIN, (1, 2, 3), KafkaError.FENCED_LEADER_EPOCH),
        ({"leader": 2, "broker_epoch": 20, "partition_epoch": 8}, PLAIN, (1, 2, 3), KafkaError.INVALID_REQUEST),
        ({"partition_epoch": 8, "isr": (2, 9)}, PLAIN, (1, 2, 3), KafkaError.INVALID_UPDATE_VERSION),
        ({"isr": (1, 2, 3), "isr_epochs": (10, 20, 30), "partition_epoch": 8}, PLAIN, (1, 2, 3),
         KafkaError.INVALID_UPDATE_VERSION),
        ({"isr": (2, 3), "isr_epochs": (20, 31)}, PLAIN, (1, 2, 3), KafkaError.INVALID_REQUEST),
        ({"isr": (1, 4), "isr_epochs": (10, 40)}, PLAIN, (1, 2, 3), KafkaError.INVALID_REQUEST),
        ({"recovering": True}, PLAIN._replace(recovering=True), (1, 2, 3), KafkaError.INVALID_REQUEST),
        ({"recovering": True, "isr": (1,), "isr_epochs": (10,)}, PLAIN, (1, 2, 3), KafkaError.INVALID_REQUEST),
        ({"recovering": True, "isr": (1,), "isr_epochs": (10,)}, PLAIN._replace(recovering=True), (1, 2, 3),
         KafkaError.NONE),
        ({}, PLAIN, (1, 3), KafkaError.INELIGIBLE_REPLICA),
        ({"isr_epochs": (10, 19)}, PLAIN, (1, 2, 3), KafkaError.INELIGIBLE_REPLICA),
        ({"isr_epochs": (-1, -1)}, PLAIN, (1, 2, 3), KafkaError.NONE),
    ],
)  # fmt: skip
def test_a_proposal_is_judged_in_order(
    changes: dict[str, Any], state: PartitionState | None, active: tuple[int, ...], error: KafkaError
) -> None:
    asked = GOOD._replace(**changes)
    assert validate_kraft(state, asked, epochs=EPOCHS, active=active.__contains__, profile=V36) is error


def test_an_unregistered_member_is_ineligible() -> None:
    epochs = {1: 10}
    assert validate_kraft(PLAIN, GOOD, epochs=epochs, active=(1, 2).__contains__, profile=V36) == 107


def test_the_proposal_that_completes_a_reassignment_may_cost_the_lead() -> None:
    moving = PartitionState(P, 1, 5, (1,), 9, (2, 3, 1), (2, 3), (1,))
    asked = AlterPartitionRequest(P, 1, 10, 5, 9, (1, 2, 3), (10, 20, 30))
    made = accept_kraft(moving, asked, active=EPOCHS.__contains__, profile=V36, topic=topic(V36))
    assert made is not None
    assert made.by == LEADER
    assert made.state == PartitionState(P, 2, 6, (2, 3), 10, (2, 3))
    assert proposer_error(made, asked) is KafkaError.NEW_LEADER_ELECTED
    part = asked._replace(isr=(1, 2), isr_epochs=(10, 20))
    made = accept_kraft(moving, part, active=EPOCHS.__contains__, profile=V36, topic=topic(V36))
    assert made is not None
    assert made.state == moving._replace(isr=(1, 2), partition_epoch=10)
    assert proposer_error(made, part) is KafkaError.NONE
