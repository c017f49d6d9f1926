"""Reasons that allow a lost write: for each, a case that just qualifies and one that just does not."""

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.anomalies.definitions import AllowedAnomalies, ClientSettings, ProducerSettings
from cluster_model.checker.anomalies.index import KeyIndex
from cluster_model.checker.anomalies.operations import OK
from cluster_model.protocol.events import BatchCorrupted, NodeDown, PartitionDeleted, TraceEvent
from cluster_model.protocol.records import CorruptBatchRange
from cluster_model.protocol.releases import RELEASE_LINES
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P

A, B, C = 1, 2, 3
SHOP = "shop"


class Case:
    """A partition whose leader A wrote unread records in epoch 0, and the report of their loss."""

    def __init__(
        self, kafka: str = "3.9", *, acks: int = -1, transactional: bool = False, acked_aborted: int = 0,
        placement: tuple[int, ...] = (A, B, C), **config: int | bool
    ) -> None:  # fmt: skip
        named = {key.replace("_", "."): value for key, value in config.items()}
        self.stepped = HandSteppedCluster(kafka, placement=placement, config=dict(named))
        self.stepped.notify(*placement)
        self.stepped.append(A, "a", "b", acks="all")
        if len(placement) > 1:
            self.stepped.fetch(B, C, B, C)
        cluster = self.stepped.cluster
        self.facts = KeyIndex(lambda _key, _log_branch, start, end: [(start, SHOP, start, end - start)])
        self.acknowledged(0, 2)
        producers = {SHOP: ProducerSettings(acks=acks, transactional=transactional)}
        allowed_losses = cluster.checker.invariants.allowed_losses
        settings = ClientSettings(producers)
        self.now = AllowedAnomalies(
            cluster.cluster_state, settings, self.facts, allowed_losses, lambda _client: acked_aborted
        )

    def acknowledged(self, start: int, end: int) -> None:
        facts = self.facts.key(P)
        facts.sends(SHOP, start, end - start)
        facts.ended_with(OK, SHOP, start, end - start)
        facts.observe(self.stepped.cluster.cluster_state.replicas[P][A].log.branch_at(start).id, start, end)

    def why(self) -> str:
        for event in self.stepped.cluster.drain():
            if isinstance(event, TraceEvent):
                self.now.observe(event)
        return self.now.why_lost(SHOP, P, written=True)

    def alone(self) -> None:
        self.stepped.do("shrink_isr", broker=A, out=[B, C])

    def uncleanly(self) -> None:
        self.alone()
        self.stepped.do("crash", broker=A)
        self.stepped.lead(B, notify=(B, C), unclean=True)

    def off(self, *brokers: int) -> None:
        for broker in brokers:
            self.stepped.do("power_loss", broker=broker, keep=0)


def nothing(_case: Case) -> None:
    """Settings allow losses, but no event has caused one."""


def no_power_elsewhere(case: Case) -> None:
    """Two brokers without a replica of the partition lose power and return."""
    for broker in (B, C):
        case.now.observe(NodeDown(1, f"broker-{broker + 5}", broker + 5, "power_loss"))


def the_only_one_crashes(case: Case) -> None:
    case.alone()
    case.stepped.do("crash", broker=A)


def the_only_one_loses_power(case: Case) -> None:
    case.alone()
    case.off(A)


def damaged(case: Case) -> None:
    event = BatchCorrupted(1, P, A, 0, 2, "value")
    case.stepped.cluster.cluster_state.replicas[P][A].damages = (CorruptBatchRange(0, 2, "value"),)
    case.stepped.cluster.checker.invariants.allowed_losses.before(event)
    case.now.observe(event)


def damaged_before(case: Case) -> None:
    """A's disk was damaged; then B became leader, and records written by B are lost."""
    damaged(case)
    case.stepped.lead(A, notify=(A, B, C))
    case.stepped.append(A, "c", acks="all")
    case.acknowledged(2, 3)


def deleted(case: Case) -> None:
    del case.stepped.cluster.cluster_state.records[P]


Act = Callable[[Case], None]
PAIRS: dict[str, tuple[Callable[[], Case], Act, bool]] = {
    "acks=1": (lambda: Case(acks=1), nothing, True),
    "acks=0": (lambda: Case(acks=0), nothing, True),
    "acks=all": (Case, nothing, False),
    "it is deleted": (Case, deleted, True),
    "unclean elections are allowed": (lambda: Case(unclean_leader_election_enable=True), nothing, False),
    "an unclean election": (lambda: Case(unclean_leader_election_enable=True), Case.uncleanly, True),
    "a minimum of 1": (lambda: Case(min_insync_replicas=1), nothing, False),
    "a minimum of 1, and others lose power": (lambda: Case(min_insync_replicas=1), lambda case: case.off(B, C), False),
    "a minimum of 1, and the only one has crashed": (lambda: Case(min_insync_replicas=1), the_only_one_crashes, False),
    "a minimum of 1, and the only one loses power": (
        lambda: Case(min_insync_replicas=1), the_only_one_loses_power, True
    ),
    "all lose power": (lambda: Case(min_insync_replicas=2), lambda case: case.off(A, B, C), True),
    "brokers elsewhere lose power": (lambda: Case(min_insync_replicas=2), no_power_elsewhere, False),
    "one replica": (lambda: Case(placement=(A,)), nothing, False),
    "one replica loses power": (lambda: Case(placement=(A,)), lambda case: case.off(A), True),
    "a damaged disk": (Case, damaged, True),
    "a disk that was damaged before": (Case, damaged_before, False),
    "a transaction": (lambda: Case(transactional=True), nothing, False),
    "a transaction that is undone": (lambda: Case(transactional=True, acked_aborted=2), nothing, True),
    "no transaction, and others are undone": (lambda: Case(acked_aborted=2), nothing, False),
}  # fmt: skip
"""A cluster, the events applied to it, and whether a loss is allowed then."""


@pytest.mark.parametrize("name", PAIRS)
def test_a_loss_is_allowed_only_if_its_reason_has_happened(name: str, snapshot: SnapshotAssertion) -> None:
    make, act, legal = PAIRS[name]
    case = make()
    act(case)
    why = case.why()
    assert bool(why) == legal
    assert why == snapshot


@pytest.mark.parametrize("version", RELEASE_LINES)
def test_a_loss_is_allowed_if_the_version_is_known_for_it(version: str) -> None:
    case = Case(version)
    profile = case.stepped.cluster.cluster_state.profile
    assert bool(case.why()) == (not profile.kip_320)
    assert case.why().startswith("known for ") == (profile.number < (2, 1))


def test_excuses_of_a_deleted_partition_are_kept(snapshot: SnapshotAssertion) -> None:
    case = Case(unclean_leader_election_enable=True)
    case.uncleanly()
    why = case.why()
    case.now.observe(PartitionDeleted(9, P))
    case.stepped.cluster.checker.invariants.allowed_losses.forget(P)
    assert case.now.why_lost("", P) == why
    assert why == snapshot
    assert case.now.why_lost(SHOP, P, written=True) == ""


def test_the_verdict_is_kept_over_a_keyframe(snapshot: SnapshotAssertion) -> None:
    case = Case(unclean_leader_election_enable=True)
    case.uncleanly()
    why = case.why()
    saved = case.now.save()
    case.now.load(Case().now.save())
    case.now.load(saved)
    assert case.now.why_lost(SHOP, P, written=True) == why
    assert why == snapshot
