"""Excused losses: only unclean elections and lossy crashes of the replicas with the last copy excuse a loss."""

import pytest

from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.checker.invariants.base import AllowedLosses
from cluster_model.checker.invariants.durability import AcksOneBounded
from cluster_model.checker.invariants.invariant_checker import DEFINITIONS
from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import InvariantViolated
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Profile, modes_of
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P
from tests.cluster_model.storms import SECOND, LossyStorm, disturbances, spec_of
from tests.support.breadth import EVENING, sample_count

A, B, C = 1, 2, 3


def excuses_of(cluster: Cluster) -> AllowedLosses:
    return cluster.checker.invariants.allowed_losses


def stepped(kafka: str = "3.9", **config: int | bool) -> HandSteppedCluster:
    made = HandSteppedCluster(kafka, config={key.replace("_", "."): value for key, value in config.items()})
    made.notify(A, B, C)
    made.append(A, "a", "b", acks="all")
    made.fetch(B, C, B, C)
    return made


def test_a_process_crash_never_excuses_a_loss_of_acks_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """An early acknowledgement, then a crash of the leader's process."""
    monkeypatch.setattr(PartitionLeaderState, "_settled", lambda _self, _required: KafkaError.NONE)
    made = stepped()
    made.append(A, "c", acks="all")
    made.do("crash", broker=A)
    made.lead(B, notify=(B, C))
    early, found = [event for event in made.cluster.drain() if isinstance(event, InvariantViolated)]
    assert (early.invariant, early.known) == ("min-isr", "")
    assert (found.invariant, found.partition, found.known) == ("acks-all-durability", P, "")
    assert (found.offset, found.end_offset, found.leader_epoch) == (2, 3, 0)
    assert not excuses_of(made.cluster).covers(P, 0)


def test_an_unclean_election_excuses_earlier_records_only() -> None:
    made = stepped(unclean_leader_election_enable=True)
    made.do("shrink_isr", broker=A, out=[B, C])
    made.append(A, "c", acks="all")
    made.do("crash", broker=A)
    made.lead(B, notify=(B, C), unclean=True)
    assert made.broken() == set()
    assert excuses_of(made.cluster).covers(P, 0)
    assert not excuses_of(made.cluster).covers(P, 1)


def test_a_lossy_crash_excuses_only_with_the_last_member() -> None:
    made = stepped()
    made.do("power_loss", broker=B, keep=0)
    assert not excuses_of(made.cluster).covers(P, 0)
    made.do("shrink_isr", broker=A, out=[B, C])
    assert not excuses_of(made.cluster).covers(P, 0)
    made.do("power_loss", broker=A, keep=0)
    assert excuses_of(made.cluster).covers(P, 0)
    assert not excuses_of(made.cluster).covers(P, 1)


def test_the_last_isr_member_may_have_lost_power_together_with_others() -> None:
    made = stepped()
    made.do("power_loss", broker=A, keep=0)
    assert not excuses_of(made.cluster).covers(P, 0)
    made.do("power_loss", broker=B, keep=0)
    made.do("power_loss", broker=C, keep=0)
    assert excuses_of(made.cluster).covers(P, 0)


def test_with_eligible_leader_replicas_as_many_as_the_minimum_may_be_lost() -> None:
    made = stepped("4.1", min_insync_replicas=2)
    made.do("power_loss", broker=A, keep=0)
    assert not excuses_of(made.cluster).covers(P, 0)
    made.do("power_loss", broker=B, keep=0)
    assert excuses_of(made.cluster).covers(P, 0)


def test_a_replica_that_lost_records_has_caught_up_at_a_later_leaders_hw() -> None:
    made = stepped()
    made.do("power_loss", broker=C, keep=0)
    made.do("restart", broker=C)
    made.lead(B, notify=(A, B, C))
    assert excuses_of(made.cluster).lacks_lost_records(P, C)
    made.fetch(C, A, C, A)
    made.append(B, "d")
    made.fetch(C, A, C, A)
    assert not excuses_of(made.cluster).lacks_lost_records(P, C)


def test_loss_of_acks_1_is_reported_exactly_and_is_no_violation() -> None:
    made = stepped()
    made.append(A, "x")
    made.append(A, "y", "z")
    made.lead(B, notify=(A, B, C))
    assert made.broken() == set()
    bounded = made.cluster.checker.invariants.properties["acks-one-bounded"]
    assert isinstance(bounded, AcksOneBounded)
    assert bounded.lost_ranges(P) == ((2, 5, 0, 1),)


def test_state_goes_into_keyframes() -> None:
    made = stepped(unclean_leader_election_enable=True)
    made.do("shrink_isr", broker=A, out=[B, C])
    made.append(A, "c")
    made.do("power_loss", broker=C, keep=0)
    made.lead(B, notify=(B,), unclean=True)
    safety = made.cluster.checker.invariants
    saved = safety.save()
    other = stepped(unclean_leader_election_enable=True).cluster.checker.invariants
    assert other.save() != saved
    other.load(saved)
    assert other.save() == saved


@pytest.mark.parametrize("version", RELEASE_LINES)
def test_an_invariant_guaranteed_by_a_version_is_guaranteed_by_later_ones(version: str) -> None:
    """Checked in the default mode, and in all circumstances together."""
    profile, place = Profile.of(version), RELEASE_LINES.index(version)
    for definition in DEFINITIONS.values():
        when = tuple(repair.when for repair in definition.fixes)
        if definition.guaranteed_by(profile, when):
            assert all(definition.guaranteed_by(Profile.of(later), when) for later in RELEASE_LINES[place:])
        else:
            known = definition.known(profile, when)
            assert known.startswith(f"known for {version if len(modes_of(version)) == 1 else profile.name}: ")


LOSSY = [("3.9", "kraft"), ("4.1", "kraft"), ("3.9", "zookeeper"), ("2.1", "zookeeper"), ("0.10.2", "zookeeper")]
OFTEN = [("0.10.2", "zookeeper"), ("3.9", "zookeeper"), ("4.1", "kraft")][: sample_count(1, 3)]
"""Where so many storms lose something that was acknowledged by all; of the others it takes ten."""
FIRST = 28
"""Seed of the first storm."""


def storm(kafka: str, mode: str, seed: int) -> LossyStorm:
    found = disturbances(seed, spec_of(seed, kafka, mode), 20, LossyStorm)
    found.heal()
    found.run(60 * SECOND)
    assert isinstance(found, LossyStorm)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), LOSSY)
def test_lossy_storms_cause_only_known_violations(kafka: str, mode: str) -> None:
    assert storm(kafka, mode, 1).cluster.checker.invariants.unexpected == {}


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), LOSSY if EVENING else OFTEN)
def test_many_lossy_storms_cause_only_known_violations(kafka: str, mode: str) -> None:
    lost = 0
    for seed in range(FIRST, FIRST + sample_count(2, 10)):
        found = storm(kafka, mode, seed)
        assert found.cluster.checker.invariants.unexpected == {}, seed
        lost += found.missing.get(-1, 0)
    assert lost or (kafka, mode) not in OFTEN
