"""Quorums on a real network: duration of elections, commits and their propagation, events while idle."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.controller.raft.messages import VoteRequest
from cluster_model.controller.raft.raft import Role
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.messages import NO_LEADER
from tests.cluster_model.quorums import LATENCY, MS, SECOND, QuorumRig
from tests.support.breadth import covering_cases

RTT = 2 * LATENCY + 600
"""Upper bound, with the rig's jitter."""
SEEDS = range(8)


@pytest.mark.slow
@pytest.mark.parametrize("voters", [1, 2, 3, 5])
@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.1"])
def test_a_new_quorum_elects_one_leader(voters: int, kafka: str) -> None:
    rig = QuorumRig(voters, 2, kafka=kafka, formed=False)
    rig.run(10 * SECOND)
    assert rig.leader() != NO_LEADER
    assert rig.roles().count(Role.LEADER) == 1
    assert {member.peer.leader for member in rig.members.values()} == {rig.leader()}
    rig.append("x")
    rig.run(SECOND)
    assert all(rig.applied(node) == ["x"] for node in rig.members)


def test_a_formed_quorum_has_everything_at_time_0() -> None:
    rig = QuorumRig(3, 2)
    assert rig.leader() == 1001
    for node in rig.members:
        assert [(at, base, records) for at, (base, _epoch, records) in rig.heard(node, "committed")] == [
            (0, 1, ("first",)), (0, 2, ("a", "b")),
        ]  # fmt: skip
    assert rig.heard(1001, "leader") == [(0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("naive", [False, True])
def test_an_idle_quorum_costs_next_to_nothing(naive: bool) -> None:
    """Fourteen fetches that wait for half a second would be some 5,600 events a minute."""
    rig = QuorumRig(3, 12, naive=naive)
    rig.run(5 * SECOND)
    for _minute in range(3):
        before = rig.network.kernel.executed
        rig.run(60 * SECOND)
        spent = rig.network.kernel.executed - before
        assert spent > 5_000 if naive else spent <= 5
    assert rig.heard(1001, "resigned") == []


def test_an_idle_quorum_is_as_calm_under_a_leader_of_its_own_choice() -> None:
    rig = QuorumRig(5, 3, kafka="4.1")
    rig.crash(1001)
    rig.run(10 * SECOND)
    rig.restart(1001)
    rig.run(10 * SECOND)
    before = rig.network.kernel.executed
    rig.run(60 * SECOND)
    assert rig.network.kernel.executed - before <= 5


@pytest.mark.parametrize("timeout", [200, 400])
def test_a_fetch_timeout_shorter_than_a_fetch_elects_without_end(timeout: int) -> None:
    """A response takes half a second while the quorum is idle: a voter with a shorter timeout stands repeatedly."""
    quick, naive = [
        QuorumRig(3, config={"controller.quorum.fetch.timeout.ms": timeout}, naive=naive) for naive in (False, True)
    ]
    for rig in (quick, naive):
        rig.run(20 * SECOND)
    assert quick.peer(1001).epoch == naive.peer(1001).epoch > 5


def failover(rig: QuorumRig) -> int:
    took = rig.until_leader()
    assert rig.leader() not in (NO_LEADER, 1001)
    return took


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "voters", "kafka"),
    covering_cases(
        ["crash", "power_off", "pause", "isolate"], [(3, "3.3"), (3, "3.9"), (5, "3.9"), (3, "4.1"), (5, "4.1")]
    ),
)
def test_another_leads_about_a_fetch_timeout_and_an_election_later(how: str, voters: int, kafka: str) -> None:
    times: list[int] = []
    for seed in SEEDS:
        rig = QuorumRig(voters, 1, kafka=kafka, seed=seed)
        rig.run(5 * SECOND + seed * 137 * MS)
        getattr(rig, how)(1001)
        times.append(failover(rig))
        assert {rig.peer(node).leader for node in rig.voters if node != 1001} == {rig.leader()}
    # The last response came within half a second before; split votes cost another round or two.
    assert min(times) >= 1_400 * MS
    assert max(times) <= 6 * SECOND


def test_a_leader_that_shuts_down_is_followed_at_once() -> None:
    rig = QuorumRig(3, 2)
    rig.run(5 * SECOND)
    rig.shut_down(1001)
    assert failover(rig) <= 4 * RTT


def test_a_leader_that_shuts_down_under_pre_votes_is_followed_within_a_back_off() -> None:
    rig = QuorumRig(3, 2, kafka="4.1")
    rig.run(5 * SECOND)
    rig.shut_down(1001)
    assert failover(rig) <= 500 * MS + 6 * RTT


def test_a_leader_that_restarts_at_once_does_not_lead_its_epoch_again() -> None:
    rig = QuorumRig(3)
    rig.run(5 * SECOND)
    rig.crash(1001)
    rig.restart(1001)
    assert rig.roles()[0] is Role.RESIGNED
    rig.run(10 * SECOND)
    assert rig.peer(1001).epoch > 1
    assert rig.leader() != NO_LEADER


@pytest.mark.slow
@pytest.mark.parametrize("how", ["crash", "power_off"])
@pytest.mark.parametrize("seed", SEEDS)
def test_committed_records_survive_their_leader(how: str, seed: int) -> None:
    rig = QuorumRig(3, 1, seed=seed)
    for number in range(40):
        rig.append(f"r{number}")
        rig.run(9 * MS)
    committed = rig.applied(1001)
    assert len(committed) > 10
    getattr(rig, how)(1001)
    rig.until_leader()
    rig.run(5 * SECOND)
    for node in (1002, 1003, 1):
        assert rig.applied(node)[: len(committed)] == committed
    rig.restart(1001)
    rig.run(5 * SECOND)
    assert rig.applied(1001) == rig.applied(1)


def test_power_losses_of_all_take_nothing_that_was_acknowledged() -> None:
    rig = QuorumRig(3, 1)
    rig.append("x")
    rig.run(SECOND)
    for node in rig.voters:
        rig.power_off(node)
    for node in rig.voters:
        rig.restart(node)
    rig.run(10 * SECOND)
    assert rig.applied(rig.leader()) == ["first", "a", "b", "x"]


def test_unwritten_records_are_lost_with_their_leader() -> None:
    rig = QuorumRig(3)
    rig.run(SECOND)
    assert rig.append("never") == 4
    rig.run(24 * MS)
    rig.crash(1001)
    rig.until_leader()
    rig.restart(1001)
    rig.run(10 * SECOND)
    assert all("never" not in rig.applied(node) for node in rig.voters)


@pytest.mark.parametrize("kafka", ["3.3", "3.9"])
def test_records_of_an_isolated_leader_are_truncated(kafka: str) -> None:
    rig = QuorumRig(3, 1, kafka=kafka)
    rig.run(5 * SECOND)
    rig.isolate(1001)
    rig.append("lost")
    rig.until_leader()
    rig.append("kept")
    rig.run(SECOND)
    assert rig.peer(1001).end == 5
    assert rig.applied(1001) == ["first", "a", "b"]
    rig.reconnect(1001)
    rig.run(20 * SECOND)
    for node in rig.members:
        assert rig.applied(node) == ["first", "a", "b", "kept"]


@pytest.mark.parametrize(("kafka", "lingers"), [("3.6", True), ("3.7", False), ("4.1", False)])
def test_an_isolated_leader_lingers_before_3_7(kafka: str, lingers: bool) -> None:
    rig = QuorumRig(3, kafka=kafka)
    rig.run(5 * SECOND)
    rig.isolate(1001)
    rig.run(2_400 * MS)
    assert rig.roles()[0] is Role.LEADER
    rig.run(650 * MS)
    assert (rig.roles()[0] is Role.LEADER) is lingers
    assert (rig.heard(1001, "resigned") == []) is lingers
    rig.run(60 * SECOND)
    assert (rig.roles()[0] is Role.LEADER) is lingers


@pytest.mark.parametrize(("kafka", "deposed"), [("3.9", True), ("4.1", False)])
def test_a_voter_that_was_cut_off_deposes_the_leader_only_without_pre_votes(kafka: str, deposed: bool) -> None:
    rig = QuorumRig(3, kafka=kafka)
    rig.run(5 * SECOND)
    rig.isolate(1003)
    rig.run(30 * SECOND)
    assert (rig.peer(1003).epoch > 1) is deposed
    rig.reconnect(1003)
    rig.run(30 * SECOND)
    assert (rig.heard(1001, "resigned") != []) is deposed
    assert rig.peer(1003).leader == rig.leader() != NO_LEADER


@pytest.mark.slow
def test_without_a_majority_nothing_is_committed_and_no_leader_elected() -> None:
    rig = QuorumRig(3, 2)
    rig.run(5 * SECOND)
    rig.crash(1002)
    rig.crash(1003)
    rig.append("x")
    rig.run(60 * SECOND)
    assert rig.leader() == NO_LEADER
    assert rig.applied(1) == ["first", "a", "b"]
    rig.restart(1002)
    rig.run(10 * SECOND)
    assert rig.applied(1) == ["first", "a", "b", "x"]


def test_a_commit_takes_the_linger_and_a_round_trip() -> None:
    rig = QuorumRig(3, 3, jitter=0)
    rig.run(5 * SECOND + 100 * MS)
    began = rig.now
    assert rig.append("x") == 4
    rig.run(SECOND)
    (at, _batch), *_others = rig.heard(1001, "committed")[2:]
    assert at - began == 25 * MS + 2 * LATENCY


@pytest.mark.parametrize(("config", "at_once"), [({}, True), ({"metadata.max.idle.interval.ms": 0}, False)])
def test_an_observer_learns_of_the_last_record_up_to_half_a_second_later(
    config: dict[str, ConfigValue], at_once: bool
) -> None:
    lags: list[int] = []
    for seed in SEEDS:
        rig = QuorumRig(3, 3, seed=seed, config=config)
        rig.run(5 * SECOND + seed * 61 * MS)
        rig.append("x")
        rig.run(2 * SECOND)
        (committed, _batch), *_others = rig.heard(1001, "committed")[2:]
        lags += [rig.heard(node, "committed")[2][0] - committed for node in rig.observers]
    assert max(lags) <= 500 * MS + 2 * RTT
    assert (min(lags) < 100 * MS) is at_once


@pytest.mark.parametrize(("kafka", "within"), [("4.0", 500 * MS + 2 * RTT), ("4.1", 2 * LATENCY)])
def test_voters_learn_of_a_commit_with_the_leader_since_the_hw_is_pushed(kafka: str, within: int) -> None:
    lags: list[int] = []
    for wait in (0, 61, 122, 244):
        rig = QuorumRig(3, 3, kafka=kafka, jitter=0)
        rig.run(5 * SECOND + wait * MS)
        rig.append("x")
        rig.run(2 * SECOND)
        (committed, _batch), *_others = rig.heard(1001, "committed")[2:]
        lags += [rig.heard(node, "committed")[2][0] - committed for node in (1002, 1003, *rig.observers)]
    assert 100 * MS * (kafka == "4.0") < max(lags) <= within


def test_a_fetch_that_names_a_lower_hw_is_answered_at_once() -> None:
    """Also the fetch by which the HW rises: in a quorum of two no other response could carry it."""
    rig = QuorumRig(2, 0, kafka="4.1", jitter=0, config={"metadata.max.idle.interval.ms": 0})
    rig.run(5 * SECOND + 100 * MS)
    rig.append("x")
    rig.run(2 * SECOND)
    (committed, _batch), *_others = rig.heard(1001, "committed")[2:]
    assert rig.heard(1002, "committed")[2][0] == committed + LATENCY


def test_noop_records_bring_the_hw_on_a_grid_of_their_own() -> None:
    rig = QuorumRig(3, 3, config={"metadata.max.idle.interval.ms": 100})
    rig.run(5 * SECOND + 10 * MS)
    rig.append("x")
    rig.run(2 * SECOND)
    for node in (1002, 1003, *rig.observers):
        assert 0 < rig.heard(node, "committed")[2][0] - (5 * SECOND + 100 * MS) <= RTT


def test_under_load_an_observer_is_about_a_round_trip_behind() -> None:
    rig = QuorumRig(3, 1)
    rig.run(5 * SECOND)
    for number in range(40):
        rig.append(number)
        rig.run(30 * MS)
    committed = {batch: at for at, batch in rig.heard(1001, "committed")[2:30]}
    lags = [at - committed[batch] for at, batch in rig.heard(1, "committed") if batch in committed]
    assert len(lags) > 20
    assert max(lags) <= 60 * MS


def test_a_restarted_observer_fetches_the_whole_log() -> None:
    rig = QuorumRig(3, 1)
    rig.append("x")
    rig.run(2 * SECOND)
    rig.crash(1)
    rig.run(SECOND)
    rig.restart(1)
    rig.run(SECOND)
    assert rig.applied(1) == ["first", "a", "b", "x"]


def test_a_new_observer_asks_the_voters_for_the_leader() -> None:
    rig = QuorumRig(5, 2, formed=False)
    rig.run(10 * SECOND)
    rig.append("x")
    rig.run(2 * SECOND)
    for node in rig.observers:
        assert (rig.peer(node).leader, rig.applied(node)) == (rig.leader(), ["x"])
        assert rig.peer(node).node.role is Role.FOLLOWER


def test_only_the_leader_may_append(snapshot: SnapshotAssertion) -> None:
    rig = QuorumRig(3)
    with pytest.raises(ValueError, match="1002") as caught:
        rig.peer(1002).append(("x",))
    assert str(caught.value) == snapshot
    rig.crash(1001)
    rig.until_leader()
    leader = rig.leader()
    at, epoch = rig.heard(leader, "leader")[-1]
    assert (at <= rig.now, epoch) == (True, rig.peer(leader).epoch)
    assert rig.peer(leader).high_watermark == rig.peer(leader).end


def test_split_votes_end() -> None:
    """Voters that lose their leader at the same time stand at the same time."""
    rig = QuorumRig(3, jitter=0)
    rig.run(5 * SECOND)
    asked: list[int] = []
    for node in (1002, 1003):
        receive = rig.network.processes[node].receive

        def note(source: int, message: object, receive=receive) -> None:  # type: ignore[no-untyped-def]
            if isinstance(message, VoteRequest):
                asked.append(message.epoch)
            receive(source, message)

        rig.network.processes[node].receive = note
    rig.power_off(1001)
    assert failover(rig) > 3 * SECOND
    assert asked.count(2) == 2


def test_a_voter_that_is_no_voter_may_come_and_go() -> None:
    rig = QuorumRig(3, 3)
    rig.run(5 * SECOND)
    before = rig.network.kernel.executed
    for node in rig.voters:
        rig.members[node].on_disconnect(2)
    rig.run(SECOND)
    assert rig.network.kernel.executed == before


def test_a_table_of_handlers_does_what_receive_does() -> None:
    rig = QuorumRig(3)
    handlers = rig.peer(1002).handlers
    request = VoteRequest(1, 5, 1003, 9, 99, False)
    handlers[VoteRequest](1003, request)
    assert (rig.peer(1002).epoch, rig.peer(1002).node.voted) == (5, 1003)
    assert not rig.peer(1002).receive(1003, ("something else",))
    assert not rig.peer(1002).on_timer(("something else",))


def test_only_fetches_sent_on_a_response_are_skipped() -> None:
    """The fetch timeout counts from the response, which the send time of any other request does not show."""
    rig = QuorumRig(3)
    fetching = rig.peer(1002)._fetching
    assert not fetching.repeats(1)
    rig.run(700 * MS)
    assert fetching.repeats(2)
    assert not fetching.repeats(3)
