"""Any sequence of decisions keeps the protocol's invariants of a partition's state, in every version and mode."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.controller.rules import admin_rules
from cluster_model.controller.rules.partition_change import PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.events import Event, IsrChanged, LeaderElected, PartitionOffline
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, PartitionState
from cluster_model.protocol.versions import Profile

pytestmark = pytest.mark.slow

P = "t-0"
BROKERS = (1, 2, 3, 4)

brokers = st.sampled_from(BROKERS)
acts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("fence", "unfence", "short")), brokers),
        st.tuples(st.just("propose"), st.sets(brokers, min_size=1)),
        st.tuples(st.sampled_from(("unclean", "preferred", "cancel")), st.just(0)),
        st.tuples(st.just("move"), st.lists(brokers, min_size=1, max_size=3, unique=True)),
    ),
    max_size=25,
)


class Partition:
    """One partition under one controller, and the brokers that the controller considers alive."""

    def __init__(self, profile: Profile, *, elr: bool, unclean: bool) -> None:
        self.events: list[Event] = []
        self.profile, self.elr = profile, elr
        self.topic = TopicConfig.of(profile, {}, {"min.insync.replicas": 2, "unclean.leader.election.enable": unclean})
        self.committed = CommittedState(self.events.append)
        self.committed.create(P, (1, 2, 3), self.topic, BROKERS)
        self.decider = ImmediateController(self.committed, profile, elr=elr)
        self.live = dict.fromkeys(BROKERS, 7)

    @property
    def state(self) -> PartitionState:
        return self.committed.records[P].state

    def act(self, what: str, given_: Any) -> None:
        if what in ("fence", "unfence", "short"):
            self._broker(what, given_)
        elif what == "propose":
            self._propose(tuple(sorted(given_)))
        elif what in ("unclean", "preferred"):
            self.decider.elect_leaders(P, self.live, 0, unclean=what == "unclean")
        else:
            self._move(what, tuple(given_) if given_ else ())

    def _broker(self, what: str, broker: int) -> None:
        if what == "fence" and self.live.pop(broker, None) is not None:
            self.decider.fence(broker, self.live, 0)
        elif what == "unfence" and broker not in self.live:
            self.live[broker] = 7
            self.decider.unfence(broker, self.live, 0)
        elif what == "short" and broker not in self.live:
            self.decider.handle_unclean_shutdown(broker, self.live, 0)

    def _propose(self, isr: tuple[int, ...]) -> None:
        state = self.state
        if self.profile.alter_partition and state.leader != NO_LEADER:
            epochs = (7,) * len(isr)
            self.decider.alter_partition(
                AlterPartitionRequest(P, state.leader, 7, state.leader_epoch, state.partition_epoch, isr, epochs),
                self.live, 0,
            )  # fmt: skip

    def _move(self, what: str, new: tuple[int, ...]) -> None:
        if not self.profile.kraft:
            return  # A ZooKeeper-mode controller needs several writes, with any events in between.
        how: dict[str, Any] = {
            "profile": self.profile, "topic": self.topic, "by": "test", "active": self.live.__contains__,
            "elr": self.elr,
        }  # fmt: skip
        change = (
            admin_rules.begin_kraft(self.state, new, **how)
            if what == "move"
            else admin_rules.cancel_kraft(self.state, **how)
        )
        if isinstance(change, PartitionChange):
            self.committed.commit(change, 0)


CASES = [
    ("1.0", "zookeeper", False), ("2.8", "zookeeper", False), ("3.9", "zookeeper", False), ("3.3", "kraft", False),
    ("3.9", "kraft", False), ("4.1", "kraft", True), ("4.1", "kraft", False),
]  # fmt: skip


@pytest.mark.parametrize(("version", "mode", "elr"), CASES)
@given(steps=acts, unclean=st.booleans())
def test_the_state_is_always_sound(
    version: str, mode: str, elr: bool, steps: list[tuple[str, Any]], unclean: bool
) -> None:
    profile = Profile.of(version, mode)
    partition = Partition(profile, elr=elr, unclean=unclean)
    for what, given_ in steps:
        before = partition.state
        partition.act(what, given_)
        sound(partition, before, may_be_empty=elr or (unclean and not profile.keeps_last_isr))


def sound(partition: Partition, before: PartitionState, *, may_be_empty: bool) -> None:
    state, live = partition.state, partition.live
    assert state.leader == NO_LEADER or state.leader in state.isr
    assert state.leader == NO_LEADER or state.leader in live
    assert all(broker in state.replicas for broker in (*state.isr, *state.elr, *state.adding, *state.removing))
    assert len(set(state.isr)) == len(state.isr)
    assert state.isr or may_be_empty
    assert not any(broker in state.isr for broker in state.elr)
    assert state.leader_epoch >= before.leader_epoch
    assert state.partition_epoch >= before.partition_epoch
    if (state.leader, state.isr) != (before.leader, before.isr):
        assert state.partition_epoch > before.partition_epoch
    if state.leader != before.leader:
        assert state.leader_epoch > before.leader_epoch
    if partition.profile.kraft and len(state.isr) > 1:
        assert all(broker in live for broker in state.isr)
    if state.recovering:
        assert len(state.isr) <= 1
    if not partition.elr:
        assert (state.elr, state.last_known) == ((), NO_LEADER)


@given(steps=acts, unclean=st.booleans())
def test_the_events_show_the_whole_of_leader_and_isr(steps: list[tuple[str, Any]], unclean: bool) -> None:
    partition = Partition(Profile.of("4.1"), elr=True, unclean=unclean)
    leader, isr = partition.state.leader, partition.state.isr
    for what, given_ in steps:
        partition.act(what, given_)
        for event in partition.events:
            if isinstance(event, LeaderElected):
                leader, isr = event.leader, event.isr
                assert event.clean or len(isr) == 1
            elif isinstance(event, PartitionOffline):
                leader, isr = NO_LEADER, event.isr
            elif isinstance(event, IsrChanged):
                isr = event.isr
        partition.events.clear()
        assert (leader, isr) == (partition.state.leader, partition.state.isr)
