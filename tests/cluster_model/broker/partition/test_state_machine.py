"""Replication under any order of events: every modern version keeps its invariants, and planted bugs violate them.

Random walks (with streams of their own: the same everywhere) go far; Hypothesis goes less far and finds the shortest
counterexample.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import find, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from cluster_model.broker.partition import partition
from cluster_model.broker.partition.partition import PartitionLeaderState, Replica
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL
from cluster_model.protocol.versions import Profile
from tests.cluster_model import promises
from tests.cluster_model.broker.partition.replica_driver import BROKERS, Protocol, walk
from tests.cluster_model.promises import BrokenPromiseError
from tests.support.breadth import covering_cases, sample_count

pytestmark = pytest.mark.slow

KRAFT_39 = Profile.of("3.9", "kraft")
NEWEST = Profile.of("4.1")

broker_ids = st.sampled_from(BROKERS)
pairs = st.sampled_from([(one, other) for one in BROKERS for other in BROKERS if one != other])


class Replicating(RuleBasedStateMachine):
    """State machine with every action as a rule; the last rules combine actions that usually come together."""

    profile = KRAFT_39
    lossy = False

    @initialize()
    def begin(self) -> None:
        self.protocol = Protocol(self.profile)

    @rule(broker=broker_ids, acks=st.sampled_from((0, 1, ALL)))
    def produce(self, broker: int, acks: int) -> None:
        self.protocol.produce(broker, acks)

    @rule(broker=broker_ids, offset=st.integers(0, 4))
    def consume(self, broker: int, offset: int) -> None:
        self.protocol.consume(broker, offset)

    @rule(follower=broker_ids)
    def ask(self, follower: int) -> None:
        self.protocol.ask(follower)

    @rule(pair=pairs, how=st.sampled_from(("serve", "hear", "break_off")))
    def carry(self, pair: tuple[int, int], how: str) -> None:
        getattr(self.protocol, how)(*pair)

    @rule(broker=broker_ids, how=st.sampled_from(("deliver", "judge", "conclude")))
    def carry_word(self, broker: int, how: str) -> None:
        getattr(self.protocol, how)(broker)

    @rule(broker=broker_ids, back=st.integers(0, 3))
    def delay_metadata(self, broker: int, back: int) -> None:
        self.protocol.delay_metadata(broker, back)

    @rule(broker=broker_ids, how=st.sampled_from(("elect", "fence", "register")))
    def control(self, broker: int, how: str) -> None:
        getattr(self.protocol, how)(broker)

    @rule(broker=broker_ids, how=st.sampled_from(("crash", "restart", "checkpoint", "flush")))
    def process(self, broker: int, how: str) -> None:
        getattr(self.protocol, how)(broker)

    @rule(broker=broker_ids, keep=st.integers(0, 3))
    def lose_power(self, broker: int, keep: int) -> None:
        if self.lossy:
            self.protocol.power_loss(broker, keep)

    @rule(broker=broker_ids, seconds=st.sampled_from((4, 40)))
    def shrink(self, broker: int, seconds: int) -> None:
        self.protocol.tick(seconds)
        self.protocol.shrink(broker)

    @rule(pair=pairs, times=st.integers(1, 3))
    def replicate(self, pair: tuple[int, int], times: int) -> None:
        for _round in range(times):
            self.protocol.ask(pair[0])
            self.protocol.serve(*pair)
            self.protocol.hear(*pair)

    @rule(broker=broker_ids)
    def be_told(self, broker: int) -> None:
        while self.protocol.deliver(broker):
            pass

    @rule(broker=broker_ids)
    def agree(self, broker: int) -> None:
        self.protocol.judge(broker)
        self.protocol.conclude(broker)

    @rule(broker=broker_ids)
    def bounce(self, broker: int) -> None:
        self.protocol.crash(broker)
        self.protocol.fence(broker)
        self.protocol.restart(broker)
        self.protocol.register(broker)

    @invariant()
    def promises_are_kept(self) -> None:
        self.protocol.promises.check()


@pytest.mark.parametrize(("profile", "lossy"), covering_cases([KRAFT_39, NEWEST], [False, True]))
def test_modern_versions_keep_every_guarantee(profile: Profile, lossy: bool) -> None:
    machine = type("Machine", (Replicating,), {"profile": profile, "lossy": lossy})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=max(40, settings.default.max_examples // 2), stateful_step_count=60)
    )


@pytest.mark.parametrize(
    ("kafka", "mode"),
    [("2.1", None), ("2.8", None), ("3.3", "kraft"), ("3.9", "zookeeper"), ("3.9", "kraft"), ("4.1", None)],
)
def test_long_walks_break_no_guarantee_since_2_1(kafka: str, mode: str | None) -> None:
    acked = sum(len(walk(Profile.of(kafka, mode), number, 600).promises.acked) for number in range(sample_count(8, 15)))
    assert acked > sample_count(8, 15)


@pytest.mark.parametrize("profile", [KRAFT_39, NEWEST], ids=lambda profile: profile.name)
def test_lossy_walks_break_no_guarantee_that_is_still_given(profile: Profile) -> None:
    done = [walk(profile, number, 60, lossy=True).promises for number in range(150)]
    kept = [each for each in done if not each.excused]
    assert len(kept) > 15
    assert sum(each.lossy_crashes for each in kept) > 15
    assert sum(len(each.acked) for each in kept) > 10


@pytest.mark.parametrize(("kafka", "mode"), [("0.10.2", None), ("2.8", None), ("3.9", "zookeeper"), ("4.1", None)])
def test_outdated_metadata_changes_no_replica(kafka: str, mode: str | None) -> None:
    heard = 0
    for number in range(8):
        protocol = walk(Profile.of(kafka, mode), number, 40)
        for broker, replica in protocol.replicas.items():
            for back in range(8):
                before = replica.save()
                heard += protocol.delay_metadata(broker, back)
                assert replica.save() == before
    assert heard > 30


def broken_by(profile: Profile, number: int, steps: int = 600, *, lossy: bool = False) -> str:
    """Return the invariant that a walk violates, empty for none."""
    try:
        walk(profile, number, steps, lossy=lossy)
    except BrokenPromiseError as error:
        return error.name
    return ""


@pytest.mark.parametrize(
    ("kafka", "number", "definition"),
    [
        ("0.10.2", 1, promises.COMPLETE),  # truncation to the high watermark (KIP-101)
        ("0.10.2", 5, promises.DURABLE),
        ("0.10.2", 29, promises.EXPOSED),
        ("1.1", 2, promises.LOG_MATCHING),  # a single request for epoch ends, never repeated (KIP-279)
        ("1.1", 16, promises.EPOCHS),
        ("2.0", 254, promises.COMPLETE),  # fetches that no epoch fences (KIP-320)
    ],
)
def test_older_versions_are_found_out(kafka: str, number: int, definition: str) -> None:
    assert broken_by(Profile.of(kafka), number) == definition


@pytest.mark.parametrize(("kafka", "found"), [("3.3", promises.COMPLETE), ("3.4", promises.COMPLETE), ("3.5", "")])
def test_a_lossy_walk_detects_fetches_without_broker_epochs(kafka: str, found: str) -> None:
    """Up to 3.4 a fetch of an earlier incarnation could let a broker with lost data into the ISR (KIP-903)."""
    assert broken_by(Profile.of(kafka), 10_426, 150, lossy=True) == found


@pytest.mark.parametrize(
    ("flag", "number", "definition"),
    [
        ("isr_epoch_start", 11, promises.DURABLE),
        ("epoch_truncation", 1, promises.COMPLETE),
        ("hw_needs_min_isr", 0, promises.MIN_ISR),
        ("alter_partition", 3, promises.ELIGIBLE),
    ],
)
def test_the_newest_version_without_one_rule_is_found_out(flag: str, number: int, definition: str) -> None:
    assert broken_by(replace(NEWEST, **{flag: False}), number) == definition
    assert broken_by(NEWEST, number) == ""


def proposing_a_third(profile: Profile = NEWEST) -> Protocol:
    """Return a state: broker 1 leads with 2 in the ISR, has a committed record, and has just proposed 3."""
    protocol = Protocol(profile)
    protocol.fence(3)
    _everybody_hears(protocol)
    assert protocol.produce(1, ALL)
    for follower in (2, 3, 2, 3):
        if follower == 3:
            protocol.register(3)
            _everybody_hears(protocol)
        _follow(protocol, follower)
    assert protocol.replicas[1].hw == 1
    _follow(protocol, 3)
    assert protocol.replicas[1].leadership is not None
    assert protocol.replicas[1].leadership.pending == (1, 2, 3)
    return protocol


@pytest.mark.parametrize("kafka", ["2.8", "3.3", "3.6", "3.9", "4.1"])
def test_the_hw_waits_for_a_proposed_replica_even_if_it_seems_fenced(kafka: str) -> None:
    """KIP-497: the controller may still accept the proposal, if the broker is back by then."""
    protocol = proposing_a_third(Profile.of(kafka))
    protocol.fence(3)
    protocol.deliver(1)
    assert protocol.produce(1, ALL)
    for _round in range(2):
        _follow(protocol, 2)
    assert protocol.replicas[1].hw == 1
    protocol.register(3)
    protocol.judge(1)
    protocol.promises.check()


def come_back_with_less(profile: Profile) -> Protocol:
    """Let the proposed broker lose everything and register again before the controller handles the proposal."""
    protocol = proposing_a_third(profile)
    assert protocol.power_loss(3, 0)
    for act in (protocol.fence, protocol.restart, protocol.register):
        assert act(3)
    assert protocol.judge(1)
    return protocol


def test_a_fetch_of_an_earlier_incarnation_adds_no_replica_to_the_isr() -> None:
    """KIP-903: a broker that came back with lost data has another broker epoch."""
    protocol = come_back_with_less(NEWEST)
    protocol.promises.check()
    assert protocol.record.isr == (1, 2)

    with pytest.raises(BrokenPromiseError, match=promises.COMPLETE):
        come_back_with_less(replace(NEWEST, fetch_broker_epoch=False)).promises.check()


def _apply_anything(self: Replica, state: Any, now: int) -> bool:
    self.leader_epoch = min(self.leader_epoch, state.leader_epoch)
    self.partition_epoch = -1
    return _APPLY(self, state, now)


_APPLY = Replica.apply


def _keep_the_hw(self: Replica, offset: int, now: int, rule: str) -> None:
    self.log.truncate(offset, now)


@pytest.mark.parametrize(
    ("owner", "name", "instead", "definition"),
    [
        (PartitionLeaderState, "maximal_isr", property(lambda self: self.isr), promises.MAXIMAL_ISR),
        (partition, "may_join_isr", lambda *_any: True, promises.COMPLETE),
        (partition, "high_watermark", lambda leo, _needed: leo, promises.COMPLETE),
        (ImmediateController, "_judge", lambda *_any: KafkaError.NONE, promises.FENCING),
        (Replica, "apply", _apply_anything, promises.MAXIMAL_ISR),
        (PartitionLeaderState, "_settled", lambda *_any: KafkaError.NONE, promises.DURABLE),
        (Replica, "truncate_log", _keep_the_hw, promises.BOUNDS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_model_with_one_mistake_is_found_out(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, instead: Callable[..., Any], definition: str
) -> None:
    monkeypatch.setattr(owner, name, instead)
    found = [broken_by(NEWEST, number, 200, lossy=definition == promises.BOUNDS) for number in range(6)]
    assert definition in found


def test_hypothesis_finds_the_shortest_way_to_a_broken_guarantee() -> None:
    """Up to 0.10.2 a new leader's follower truncates its log to an outdated high watermark (KIP-101).

    One record, two rounds of fetches until the leader knows that all replicas have it, and two elections: a follower of
    the first leader drops the record and becomes the second one.
    """
    words = [("produce", 1), ("everybody fetches", 0), *(("elect", broker) for broker in BROKERS)]

    def breaks(taken: list[tuple[str, int]]) -> bool:
        protocol = Protocol(Profile.of("0.10.2"))
        try:
            for name, broker in taken:
                if name == "produce":
                    protocol.produce(broker, 1)
                elif name == "elect":
                    protocol.elect(broker)
                    _everybody_hears(protocol)
                else:
                    for each in BROKERS:
                        _follow(protocol, each)
                protocol.promises.check()
        except BrokenPromiseError:
            return True
        return False

    acts = st.lists(st.sampled_from(words), max_size=8)
    shortest = find(acts, breaks, settings=settings(max_examples=5_000, derandomize=True, deadline=None))
    assert [name for name, _broker in shortest] == ["produce", *["everybody fetches"] * 2, *["elect"] * 2]


def _everybody_hears(protocol: Protocol) -> None:
    for broker in BROKERS:
        while protocol.deliver(broker):
            pass


def _follow(protocol: Protocol, follower: int) -> None:
    for leader in BROKERS:
        if leader != follower:
            protocol.ask(follower)
            protocol.serve(follower, leader)
            protocol.hear(follower, leader)
