"""Reconciliation of a member with its target (``CurrentAssignmentBuilder``), step by step."""

import pytest

from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    ConsumerGroupConfig,
    CurrentValue,
)
from cluster_model.coordinators.group.consumer_protocol.heartbeat import ordered, reconcile, with_assignment_epochs
from cluster_model.protocol.versions import Profile

A, B, C, D = "t-0", "t-1", "t-2", "t-10"


def test_a_member_that_is_at_the_target_epoch_stays_as_it_is() -> None:
    current = CurrentValue(5, 4, STABLE, (A, B), ())
    assert reconcile(current, 5, (C,), (), {}) is current


def test_free_partitions_are_assigned_at_once() -> None:
    found = reconcile(CurrentValue(0, 0, STABLE, (), ()), 3, (A, B), (), {})
    assert found == CurrentValue(3, 0, STABLE, (A, B), ())


def test_revocations_precede_the_new_epoch() -> None:
    found = reconcile(CurrentValue(4, 3, STABLE, (A, B), ()), 5, (A, C), None, {})
    assert found == CurrentValue(4, 4, UNREVOKED, (A,), (B,))


@pytest.mark.parametrize("owned", [None, (A, B), (B,)])
def test_until_the_member_says_so_it_has_not_given_anything_up(owned: tuple[str, ...] | None) -> None:
    current = CurrentValue(4, 4, UNREVOKED, (A,), (B,))
    assert reconcile(current, 5, (A, C), owned, {}) is current


def test_then_it_goes_to_the_target_epoch_with_what_is_free() -> None:
    found = reconcile(CurrentValue(4, 4, UNREVOKED, (A,), (B,)), 5, (A, C), (A,), {})
    assert found == CurrentValue(5, 4, STABLE, (A, C), ())


def test_partitions_are_assigned_after_their_owner_revoked_them() -> None:
    waiting = reconcile(CurrentValue(0, 0, STABLE, (), ()), 5, (A, B), (), {B: "other"})
    assert waiting == CurrentValue(5, 0, UNRELEASED, (A,), ())
    assert reconcile(waiting, 5, (A, B), None, {A: "me", B: "other"}) == CurrentValue(5, 5, UNRELEASED, (A,), ())
    assert reconcile(waiting, 5, (A, B), None, {A: "me"}) == CurrentValue(5, 5, STABLE, (A, B), ())


def test_with_nothing_but_waiting_it_is_at_the_target_epoch_all_the_same() -> None:
    found = reconcile(CurrentValue(2, 2, STABLE, (A,), ()), 5, (A, B), None, {A: "me", B: "other"})
    assert found == CurrentValue(5, 2, UNRELEASED, (A,), ())


def test_a_newer_target_may_take_more_away_in_the_next_epoch() -> None:
    found = reconcile(CurrentValue(4, 4, UNREVOKED, (A, B), (C,)), 7, (A,), (A, B), {})
    assert found == CurrentValue(5, 4, UNREVOKED, (A,), (B,))


def test_since_4_2_it_stays_in_its_epoch_until_it_has_revoked_everything() -> None:
    """KAFKA-19974."""
    assert [ConsumerGroupConfig.of(Profile.of(kafka), {}).bumps_revoking for kafka in ("4.1", "4.2")] == [True, False]
    before = CurrentValue(4, 4, UNREVOKED, (A, B), (C,))
    assert reconcile(before, 7, (A,), (A, B), {}, bumps=False) == CurrentValue(4, 4, UNREVOKED, (A,), (B,))
    assert reconcile(before, 7, (A,), (A,), {}, bumps=False) == CurrentValue(7, 4, STABLE, (A,), ())


def test_partitions_the_member_never_owned_need_no_revocation() -> None:
    """Its response was lost: it owns none of these partitions."""
    found = reconcile(CurrentValue(4, 3, STABLE, (A, B), ()), 5, (A,), (A,), {})
    assert found == CurrentValue(5, 4, STABLE, (A,), ())


def test_each_partition_has_the_epoch_in_which_it_was_assigned() -> None:
    """KIP-1251; one that comes back while its revocation is pending is assigned anew."""
    before = CurrentValue(4, 3, UNREVOKED, (A,), (B,), ((A, 2), (B, 3)))
    assert with_assignment_epochs(CurrentValue(5, 4, STABLE, (A, C), ()), before).assignment_epochs == ((A, 2), (C, 5))
    assert with_assignment_epochs(CurrentValue(5, 4, STABLE, (A, B), ()), before).assignment_epochs == ((A, 2), (B, 5))
    pending = CurrentValue(4, 3, UNREVOKED, (), (A, B))
    assert with_assignment_epochs(pending, before).assignment_epochs == ((A, 2), (B, 3))


def test_partitions_are_in_order_of_their_numbers() -> None:
    assert ordered((D, C, "s-3")) == ("s-3", C, D)
