"""The classic traces of Kafka's replication protocol, step by step, under every generation that differs.

Sources: KIP-101 (motivation, scenarios 1 and 2), KIP-279 (fast failovers), KIP-320 (unfenced follower), KIP-966 (last
replica standing), and the two-round propagation of the high watermark that all of them build on.
"""

import pytest

from cluster_model.errors import ModelError
from cluster_model.manual import ManualCluster
from tests.cluster_model.hands import Hands, P

A, B, C = 1, 2, 3

HW_GENERATION = ["0.8.2", "0.9", "0.10.1", "0.10.2"]
KIP_101_GENERATION = ["0.11", "1.0", "1.1"]
KIP_279_GENERATION = ["2.0", "2.1", "2.3", "2.6"]
FETCH_GENERATION = ["2.7", "3.3", "3.6", "3.9", "4.1"]
EPOCHS = KIP_101_GENERATION + KIP_279_GENERATION + FETCH_GENERATION
ALL = HW_GENERATION + EPOCHS


def ten_records(kafka: str) -> Hands:
    """A leads in its epoch with ten committed records that everybody has, and every HW at 10."""
    hands = Hands(kafka)
    hands.tell(A, B, C)
    hands.append(A, *(f"r{i}" for i in range(10)))
    hands.fetch(B, C, B, C, B, C)
    return hands


@pytest.mark.parametrize("kafka", ALL)
def test_high_watermark_takes_two_rounds_to_reach_the_followers(kafka: str) -> None:
    hands = ten_records(kafka)
    assert hands.ends() == {A: "10/10*", B: "10/10", C: "10/10"}

    assert hands.append(A, "x", acks="all") == ""
    assert hands.ends() == {A: "11/10*", B: "10/10", C: "10/10"}

    hands.fetch(B, C)
    assert hands.ends() == {A: "11/10*", B: "11/10", C: "11/10"}
    assert hands.state(A)["followers"] == {"2": 10, "3": 10}
    assert hands.cluster.query.acked() == 10

    hands.do("fetch_send", follower=B)
    hands.do("fetch_serve", follower=B)
    assert hands.state(A)["followers"] == {"2": 11, "3": 10}
    assert hands.ends()[A] == "11/10*"

    hands.do("fetch_send", follower=C)
    hands.do("fetch_serve", follower=C)
    assert hands.ends() == {A: "11/11*", B: "11/10", C: "11/10"}
    assert hands.cluster.query.acked() == 11

    hands.do("fetch_apply", follower=B)
    hands.do("fetch_apply", follower=C)
    assert hands.ends()[B] == "11/10", "the fetch that completes replication does not carry the HW it causes"
    hands.fetch(B, C)
    assert hands.ends() == {A: "11/11*", B: "11/11", C: "11/11"}


def scenario_1(kafka: str) -> Hands:
    """KIP-101 scenario 1 up to the second failover; m0 and m1 were written in epoch 1, m1 acknowledged."""
    hands = Hands(kafka, config={"min.insync.replicas": 2})
    hands.lead(C, tell=(A, B, C))
    hands.append(C, "m0", acks="all")
    hands.fetch(A, B, A, B)
    hands.append(C, "m1", acks="all")
    hands.fetch(A, B)
    for follower in (A, B):
        hands.do("fetch_send", follower=follower)
        hands.do("fetch_serve", follower=follower)
    hands.do("checkpoint", broker=C)
    assert hands.ends() == {A: "2/1", B: "2/1", C: "2/2*"}
    assert hands.cluster.query.acked() == 2

    hands.do("crash", broker=C)
    hands.lead(B, tell=(B, A))
    return hands


def finish_scenario_1(hands: Hands) -> Hands:
    hands.do("crash", broker=B)
    hands.lead(A, tell=(A,))
    hands.append(A, "n1")
    for broker in (B, C):
        hands.do("restart", broker=broker)
        hands.tell(broker)
        hands.fetch(broker, broker)
        assert hands.do("expand_isr", broker=A, **{"in": broker}) == ""
    return hands.close()


@pytest.mark.parametrize("kafka", HW_GENERATION)
def test_kip_101_scenario_1_loses_an_acknowledged_record_by_clean_elections(kafka: str) -> None:
    hands = scenario_1(kafka)
    assert hands.ends() == {A: "1/1", B: "2/1*", C: "2/2"}, "A cut its log to its own, stale HW"

    finish_scenario_1(hands)

    assert [hands.names(broker) for broker in (A, B, C)] == [["m0", "n1"], ["m0", "n1"], ["m0", "m1"]]
    query = hands.cluster.query
    assert (query.acked_lost(), query.committed_lost()) == (1, 1)
    assert query.diverged(P) == 1
    assert hands.broken() == {"acks-all-durability", "log-matching"}


@pytest.mark.parametrize("kafka", EPOCHS)
def test_kip_101_scenario_1_loses_nothing_with_leader_epochs(kafka: str) -> None:
    hands = scenario_1(kafka)
    assert hands.ends() == {A: "2/1", B: "2/1*", C: "2/2"}

    finish_scenario_1(hands)

    assert [hands.names(broker) for broker in (A, B, C)] == [["m0", "m1", "n1"]] * 3
    query = hands.cluster.query
    assert (query.acked_lost(), query.diverged(P)) == (0, 0)
    assert hands.broken() == set()


def scenario_2(kafka: str) -> Hands:
    """KIP-101 scenario 2: both of two replicas lose power, and the one that lost its tail returns first."""
    hands = Hands(kafka, placement=(2, 1))
    hands.lead(B, tell=(A, B))
    hands.append(B, "m0", "m1", acks="all")
    hands.fetch(A, A)
    hands.do("checkpoint", broker=B)
    hands.do("power_loss", broker=A, keep=1)
    hands.do("power_loss", broker=B, keep=2)
    hands.do("restart", broker=A)
    hands.lead(A, tell=(A,))
    hands.append(A, "n1")
    assert hands.names(A) == ["m0", "n1"]
    hands.do("restart", broker=B)
    hands.tell(B)
    hands.fetch(B, B)
    return hands.close()


@pytest.mark.parametrize("kafka", HW_GENERATION)
def test_kip_101_scenario_2_leaves_logs_that_differ(kafka: str) -> None:
    hands = scenario_2(kafka)

    assert hands.names(B) == ["m0", "m1"]
    assert hands.cluster.query.diverged(P) == 1


@pytest.mark.parametrize("kafka", EPOCHS)
def test_kip_101_scenario_2_ends_with_equal_logs_and_the_loss_that_no_protocol_prevents(kafka: str) -> None:
    hands = scenario_2(kafka)

    assert hands.names(B) == ["m0", "n1"]
    assert hands.cluster.query.diverged(P) == 0
    assert hands.cluster.query.acked_lost() == 1
    assert "acks-all-durability" not in hands.broken(), "a power loss excuses it"


def fast_failovers(kafka: str) -> Hands:
    """KIP-279: A writes in epoch 2, B in epoch 3, A leads again in epoch 4, and only then does B follow."""
    hands = Hands(kafka, placement=(1, 2))
    hands.tell(A, B)
    hands.append(A, *(f"r{i}" for i in range(10)))
    hands.fetch(B, B, B)
    hands.lead(A, tell=(A,))
    hands.append(A, "a10")
    hands.lead(B, tell=(B,))
    hands.append(B, "b10")
    hands.lead(A, tell=(A, B))
    return hands


@pytest.mark.parametrize("kafka", ["1.1"])
def test_kip_279_fast_failovers_fool_the_kip_101_rule(kafka: str) -> None:
    hands = fast_failovers(kafka)
    assert hands.state(A)["epochs"] == [[0, 0], [1, 10], [3, 11]]
    hands.fetch(B)

    assert (hands.names(A)[-1], hands.names(B)[-1]) == ("a10", "b10")
    assert hands.cluster.query.diverged(P) == 1
    assert hands.ends()[A] == "11/11*", "the diverged record counts towards the HW"
    assert "log-matching" in hands.broken()


@pytest.mark.parametrize("kafka", KIP_279_GENERATION + FETCH_GENERATION)
def test_kip_279_fast_failovers_end_with_equal_logs_since(kafka: str) -> None:
    hands = fast_failovers(kafka)
    hands.fetch(B, B, B)

    assert hands.names(A) == hands.names(B)
    assert hands.names(B)[-1] == "a10"
    assert hands.broken() == set()


@pytest.mark.parametrize("kafka", ["0.11", "1.0"])
def test_kip_279_is_escaped_by_luck_where_a_leader_enters_its_epoch_only_with_a_record(kafka: str) -> None:
    hands = fast_failovers(kafka)
    assert hands.state(A)["epochs"] == [[0, 0], [1, 10]]
    hands.fetch(B, B)

    assert hands.names(A) == hands.names(B)


def unfenced_follower(kafka: str) -> Hands:
    """KIP-320: B still follows A by epoch 1 while A has been follower of C and is leader again in epoch 3."""
    hands = Hands(kafka)
    hands.lead(A, tell=(A, B, C))
    hands.append(A, *(f"r{i}" for i in range(5)))
    hands.fetch(B, C, B, C, B, C)
    hands.append(A, "x")
    hands.fetch(B)
    hands.lead(C, tell=(C, A))
    hands.append(C, "y", acks="all")
    hands.fetch(A, A)
    assert hands.names(A)[-1] == "y"
    hands.lead(A, tell=(A, C))
    hands.fetch(C)
    return hands


@pytest.mark.parametrize("kafka", ["0.11", "1.1", "2.0"])
def test_kip_320_an_unfenced_follower_is_counted_for_records_it_lacks(kafka: str) -> None:
    hands = unfenced_follower(kafka)
    assert hands.do("fetch", follower=B) == ""

    assert hands.ends()[A] == "6/6*"
    assert hands.names(B)[-1] == "x"
    assert "log-matching" in hands.broken()


@pytest.mark.parametrize("kafka", ["2.1", "2.6", "2.7", "3.9", "4.1"])
def test_kip_320_fences_a_follower_of_another_epoch(kafka: str) -> None:
    hands = unfenced_follower(kafka)
    assert hands.do("fetch", follower=B) == "FENCED_LEADER_EPOCH"
    assert hands.ends()[A] == "6/5*", "nothing is committed on the word of a follower that lacks it"
    assert hands.do("fetch", follower=B) == "FENCED_LEADER_EPOCH", "failed until it learns of a newer epoch"

    hands.tell(B)
    hands.fetch(B, B, C, B)

    assert hands.names(B)[-1] == "y"
    assert hands.ends()[A] == "6/6*"
    assert hands.broken() == set()


def unclean(kafka: str) -> Hands:
    """A leads with 100 records, B has 50 and is out of sync; A crashes and B is elected uncleanly, writes 10."""
    hands = Hands(kafka, placement=(1, 2), config={"unclean.leader.election.enable": True})
    hands.tell(A, B)
    hands.append(A, *(f"r{i}" for i in range(50)))
    hands.fetch(B, B, B)
    hands.do("shrink_isr", broker=A, out=[B])
    hands.append(A, *(f"s{i}" for i in range(50)), acks="all")
    hands.do("checkpoint", broker=A)
    assert hands.ends() == {A: "100/100*", B: "50/50"}
    hands.do("crash", broker=A)
    hands.lead(B, tell=(B,), unclean=True)
    hands.append(B, *(f"t{i}" for i in range(10)))
    hands.do("restart", broker=A)
    hands.tell(A)
    for _round in range(3):
        assert hands.do("fetch", follower=A) in ("", "OFFSET_OUT_OF_RANGE")
    return hands.close()


@pytest.mark.parametrize("kafka", HW_GENERATION)
def test_unclean_election_leaves_old_records_below_the_shorter_log_for_ever(kafka: str) -> None:
    hands = unclean(kafka)

    assert hands.ends()[A] == "60/60"
    assert hands.names(A)[50:] == [f"s{i}" for i in range(10)]
    assert hands.names(B)[50:] == [f"t{i}" for i in range(10)]


@pytest.mark.parametrize("kafka", EPOCHS)
def test_unclean_election_loses_what_the_new_leader_lacked_and_nothing_diverges(kafka: str) -> None:
    hands = unclean(kafka)

    assert hands.names(A) == hands.names(B)
    query = hands.cluster.query
    assert (query.acked_lost(), query.committed_lost(), query.diverged(P)) == (50, 50, 0)
    assert hands.broken() == set(), "the configuration allows it: a loss, not a broken protocol"


@pytest.mark.parametrize("kafka", ["2.7", "3.6", "3.9"])
def test_last_replica_standing_loses_a_committed_record_everywhere_without_elr(kafka: str) -> None:
    hands = Hands(kafka, config={"min.insync.replicas": 2})
    hands.tell(A, B, C)
    hands.append(A, *(f"r{i}" for i in range(10)), acks="all")
    hands.fetch(B, C, B, C, B, C)
    hands.do("checkpoint", broker=A)
    hands.do("shrink_isr", broker=A, out=[C])
    hands.do("shrink_isr", broker=A, out=[B])
    hands.do("power_loss", broker=A, keep=8)
    assert hands.do("elect", leader=B) == "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    hands.do("restart", broker=A)
    hands.lead(A, tell=(A, B, C))
    hands.fetch(B, C, B, C)
    hands.close()

    assert hands.ends() == {A: "8/8*", B: "8/8", C: "8/8"}
    assert hands.cluster.query.acked_lost() == 2


@pytest.mark.parametrize(("kafka", "visible"), [("3.6", 11), ("3.7", 10), ("4.1", 10)])
def test_high_watermark_stands_still_below_min_isr_since_3_7(kafka: str, visible: int) -> None:
    hands = Hands(kafka, config={"min.insync.replicas": 2})
    hands.tell(A, B, C)
    hands.append(A, *(f"r{i}" for i in range(10)), acks="all")
    hands.fetch(B, C, B, C, B, C)
    hands.do("shrink_isr", broker=A, out=[B, C])

    assert hands.append(A, "z", acks=1) == ""
    assert hands.append(A, "w", acks="all") == "NOT_ENOUGH_REPLICAS"
    assert hands.state(A)["hw"] == visible


@pytest.mark.parametrize(("kafka", "joins"), [("1.0", True), ("1.1", False), ("3.9", False)])
def test_joining_the_isr_needs_the_start_of_the_leaders_epoch_since_1_1(kafka: str, joins: bool) -> None:
    """A new leader's HW is stale; a follower at that HW may lack committed records above it."""
    hands = Hands(kafka, config={"unclean.leader.election.enable": True})
    hands.tell(A, B, C)
    hands.append(A, "r0", "r1")
    hands.fetch(B)
    hands.do("shrink_isr", broker=A, out=[C])
    hands.lead(B, tell=(B, C))
    assert hands.state(B)["hw"] == 0
    hands.do("fetch_send", follower=C)
    hands.do("fetch_serve", follower=C)

    refused = hands.do("expand_isr", broker=B, **{"in": C})

    assert (refused == "") is joins


def test_a_zombie_leader_acknowledges_acks_1_and_never_acks_all() -> None:
    hands = Hands("3.9")
    hands.tell(A, B, C)
    hands.append(A, *(f"r{i}" for i in range(10)))
    hands.fetch(B, C, B, C, B, C)
    hands.lead(B, tell=(B, C))

    assert hands.append(A, "q", acks=1) == ""
    assert hands.append(A, "p", acks="all") == ""
    assert hands.cluster.query.missing() == 1
    assert hands.do("fetch", follower=C) == ""
    hands.tell(A)
    hands.fetch(A, A)
    hands.close()

    query = hands.cluster.query
    assert (query.acked(), query.acked_lost(), query.unknown()) == (11, 1, 1)
    assert query.committed_lost() == 0
    assert hands.names(A) == hands.names(B)


def test_a_stale_decision_is_refused_and_an_older_one_can_be_delivered_first() -> None:
    hands = Hands("3.9")
    hands.tell(A, B, C)
    hands.do("elect", leader=B)
    hands.do("elect", leader=C)
    assert hands.do("deliver", broker=A, epoch=1) == ""
    assert hands.state(A)["leader"] == B
    assert hands.do("deliver", broker=A, epoch=2) == ""
    assert hands.do("deliver", broker=A, epoch=1) == "STALE_CONTROLLER_EPOCH"
    assert hands.state(A)["leader"] == C


def test_a_leader_that_lost_its_tail_and_goes_on_in_one_epoch_does_not_hide_the_loss() -> None:
    """Old ZooKeeper-mode clusters overlook a bounce: the same broker leads on, with other records at the offsets."""
    hands = Hands("1.0", placement=(1, 2))
    hands.tell(A, B)
    hands.append(A, "r0", "r1", "r2")
    hands.fetch(B)
    hands.do("power_loss", broker=A, keep=1)
    hands.do("restart", broker=A)
    hands.tell(A)
    hands.append(A, "s1", "s2")

    assert hands.names(A) == ["r0", "s1", "s2"]
    assert hands.names(B) == ["r0", "r1", "r2"]
    assert hands.cluster.query.diverged(P) == 2
    assert hands.cluster.query.missing() == 2


@pytest.mark.parametrize("kafka", ["0.10.2", "1.1", "2.6"])
def test_a_truncation_can_be_taken_apart_where_a_generation_asks(kafka: str) -> None:
    hands = fast_failovers("2.6") if kafka == "2.6" else Hands(kafka)
    if kafka != "2.6":
        hands.tell(A, B, C)
        assert hands.do("truncate_send", follower=B) == "INVALID_REQUEST"
        return
    hands.do("elect", leader=A)
    hands.tell(A)
    hands.do("deliver", broker=B, truncate="later")
    assert hands.do("fetch_send", follower=B) == "OFFSET_NOT_AVAILABLE"
    while hands.do("truncate_send", follower=B) == "":
        hands.do("truncate_apply", follower=B)
    hands.fetch(B, B)
    assert hands.names(A) == hands.names(B)


def test_a_senseless_step_says_what_is_wrong() -> None:
    hands = Hands("3.9")
    for verb, params, said in (
        ("append", {"broker": 9}, "broker 9 holds no replica of orders-0"),
        ("deliver", {"broker": 1, "epoch": 7}, "no decision of epoch 7"),
        ("append", {"broker": 1, "partition": "nope-0"}, "no partition 'nope-0'"),
        ("fetch", {}, "fetch needs follower"),
        ("crash", {"broker": 9}, "no broker 9"),
    ):
        with pytest.raises(ModelError, match=said):
            hands.do(verb, **params)
    with pytest.raises(ModelError, match="no step 'dance'"):
        hands.cluster.act("dance", {})


def test_the_manual_cluster_is_deterministic() -> None:
    first = finish_scenario_1(scenario_1("0.10.2")).cluster.digest()
    second = finish_scenario_1(scenario_1("0.10.2")).cluster.digest()
    assert first == second
    assert first != finish_scenario_1(scenario_1("3.9")).cluster.digest()
    assert isinstance(Hands("3.9").cluster, ManualCluster)
