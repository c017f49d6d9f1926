"""Steps by hand: requests, answers and losses one by one, the controller's word, disks, and a consumer."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import RecoveryFinished
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster

A, B, C = 1, 2, 3


def told(kafka: str = "3.9", records: int = 0, **more: dict[str, int | str | bool]) -> HandSteppedCluster:
    """Three brokers that know that A leads; ``records`` are everywhere and committed."""
    hands = HandSteppedCluster(kafka, **more)
    hands.notify(A, B, C)
    if records:
        hands.do("append", broker=A, records=records)
        hands.fetch(B, C, B, C, B, C)
    return hands


def books(hands: HandSteppedCluster) -> tuple[int, int, int]:
    query = hands.cluster.query
    return query.acked(), query.failed(), query.unknown()


def test_every_verb_can_be_taken() -> None:
    hands = HandSteppedCluster("3.9")
    assert set(hands.cluster._handlers) == set(MANUAL_VERBS)


# Produce requests


def test_a_produce_is_acknowledged_when_its_answer_arrives_and_not_before(snapshot: SnapshotAssertion) -> None:
    hands = told()
    assert hands.do("produce_send", broker=A, names=["x", "y"], acks="all") == ""
    assert hands.state(A)["leo"] == 0
    assert hands.do("produce_serve", broker=A) == ""
    assert hands.state(A)["leo"] == 2
    with pytest.raises(ModelError) as caught:
        hands.do("produce_apply", broker=A)
    assert caught.value.code == "high_watermark_too_low"
    assert str(caught.value) == snapshot
    hands.fetch(B, C, B, C)
    assert books(hands) == (0, 0, 0)
    assert hands.do("produce_apply", broker=A) == ""
    assert books(hands) == (2, 0, 0)


@pytest.mark.parametrize(("served", "held"), [(False, []), (True, ["x"])])
def test_a_lost_request_and_a_lost_answer_look_alike_to_the_client(
    served: bool, held: list[str], snapshot: SnapshotAssertion
) -> None:
    hands = told()
    hands.do("produce_send", broker=A, names=["x"])
    if served:
        hands.do("produce_serve", broker=A)
    assert hands.do("produce_lose", broker=A) == ""
    assert hands.names(A) == held
    assert books(hands) == (0, 0, 1)
    with pytest.raises(ModelError) as caught:
        hands.do("produce_apply", broker=A)
    assert caught.value.code == "no_produce_request"
    assert str(caught.value) == snapshot


def test_a_lost_answer_that_was_waited_for_is_not_sent_later() -> None:
    hands = told()
    hands.do("produce_send", broker=A, names=["x"], acks="all")
    hands.do("produce_serve", broker=A)
    hands.do("produce_lose", broker=A)
    hands.fetch(B, C, B, C)
    assert hands.state(A)["hw"] == 1
    assert books(hands) == (0, 0, 1)


def test_a_produce_that_times_out_is_in_the_log_all_the_same(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.do("produce_send", broker=A, names=["x"], acks="all")
    with pytest.raises(ModelError) as caught:
        hands.do("produce_expire", broker=A)
    assert caught.value.code == "no_produce_waits"
    assert str(caught.value) == snapshot
    hands.do("produce_serve", broker=A)
    assert hands.do("produce_expire", broker=A) == ""
    assert hands.do("produce_apply", broker=A) == "REQUEST_TIMED_OUT"
    hands.fetch(B, C, B, C)
    assert hands.state(A)["hw"] == 1
    assert books(hands) == (0, 0, 1)


def test_requests_keep_their_order_and_are_answered_by_what_the_broker_is_by_then(snapshot: SnapshotAssertion) -> None:
    hands = told()
    for name in ("x", "y"):
        hands.do("produce_send", broker=A, names=[name])
    hands.do("produce_serve", broker=A)
    hands.lead(B, notify=(A, B))
    assert hands.do("produce_serve", broker=A) == "NOT_LEADER_OR_FOLLOWER"
    with pytest.raises(ModelError) as caught:
        hands.do("produce_serve", broker=A)
    assert caught.value.code == "arrived_already"
    assert str(caught.value) == snapshot
    assert hands.do("produce_apply", broker=A) == ""
    assert hands.do("produce_apply", broker=A) == "NOT_LEADER_OR_FOLLOWER"
    assert books(hands) == (1, 1, 0)


def test_acks_0_is_done_when_it_has_left(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.do("produce_send", broker=A, names=["x"], acks=0)
    assert books(hands) == (1, 0, 0)
    hands.do("produce_serve", broker=A)
    assert hands.names(A) == ["x"]
    with pytest.raises(ModelError) as caught:
        hands.do("produce_apply", broker=A)
    assert caught.value.code == "no_produce_request"
    assert str(caught.value) == snapshot


def test_a_crash_breaks_the_connection() -> None:
    hands = told()
    hands.do("produce_send", broker=A, names=["x"])
    hands.do("produce_serve", broker=A)
    hands.do("produce_send", broker=A, names=["y"])
    hands.do("produce_send", broker=B, names=["z"])
    hands.do("crash", broker=A)
    assert books(hands) == (0, 0, 2)
    assert hands.close().cluster.query.unknown() == 3


# Fetches


def test_a_delayed_fetch_is_counted_on_arrival_and_reads_when_it_is_woken(snapshot: SnapshotAssertion) -> None:
    hands = told(records=1)
    for follower in (B, C):
        hands.do("fetch_send", follower=follower)
        assert hands.do("fetch_serve", follower=follower, answer="later") == ""
    hands.append(A, "x")
    hands.do("fetch_wake", follower=B)
    hands.do("fetch_apply", follower=B)
    assert (hands.names(B)[-1], hands.state(A)["followers"]) == ("x", {"2": 1, "3": 1})
    hands.fetch(B)
    hands.do("fetch_wake", follower=C)
    hands.do("fetch_apply", follower=C)
    hands.fetch(C, B)
    assert hands.state(B)["hw"] == 2
    with pytest.raises(ModelError) as caught:
        hands.do("fetch_wake", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot


def test_a_fetch_that_finds_something_is_not_delayed() -> None:
    hands = told()
    hands.append(A, "x")
    hands.do("fetch_send", follower=B)
    hands.do("fetch_serve", follower=B, answer="later")
    assert hands.do("fetch_apply", follower=B) == ""
    assert hands.names(B) == ["x"]


def test_a_lost_fetch_and_a_lost_answer(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.append(A, "x")
    hands.do("fetch_send", follower=B)
    hands.do("fetch_lose", follower=B)
    with pytest.raises(ModelError) as caught:
        hands.do("fetch_serve", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot
    assert hands.state(A)["followers"]["2"] == -1
    hands.do("fetch_send", follower=B)
    hands.do("fetch_serve", follower=B)
    hands.do("fetch_lose", follower=B)
    assert hands.state(A)["followers"]["2"] == 0
    with pytest.raises(ModelError) as caught:
        hands.do("fetch_apply", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot
    assert hands.names(B) == []
    with pytest.raises(ModelError) as caught:
        hands.do("fetch_lose", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot


def test_a_request_outlives_the_role_of_its_sender_and_its_answer_does_not() -> None:
    hands = told("2.0", records=1)
    hands.append(A, "x")
    hands.fetch(B)
    hands.do("fetch_send", follower=B)
    hands.lead(A, notify=(A,))
    hands.notify(B)
    assert hands.do("fetch_serve", follower=B) == ""
    assert hands.state(A)["followers"]["2"] == 2, "nothing fences it before 2.1"
    assert hands.do("fetch_apply", follower=B) == "INVALID_REQUEST"


def test_a_crash_of_the_leader_takes_what_was_delayed_with_it() -> None:
    hands = told(records=1)
    hands.do("fetch_send", follower=B)
    hands.do("fetch_serve", follower=B, answer="later")
    hands.do("fetch_send", follower=C)
    hands.do("crash", broker=A)
    hands.do("restart", broker=A)
    hands.notify(A)
    assert hands.do("fetch_wake", follower=B) == "NETWORK_EXCEPTION"
    assert hands.do("fetch_serve", follower=C) == "NETWORK_EXCEPTION"
    assert hands.state(A)["followers"] == {"2": -1, "3": -1}


def test_a_fetch_from_a_leader_that_is_down_comes_to_nothing() -> None:
    hands = told(records=1)
    hands.do("crash", broker=A)
    assert hands.do("fetch", follower=B) == "NETWORK_EXCEPTION"
    assert hands.do("fetch_send", follower=B) == ""
    assert hands.do("fetch_serve", follower=B) == "NETWORK_EXCEPTION"
    assert hands.do("fetch_send", follower=A) == "NETWORK_EXCEPTION"
    assert told().do("fetch_send", follower=A) == "LEADER_NOT_AVAILABLE", "a leader follows nobody"


def test_an_answer_under_way_is_void_once_the_follower_has_a_new_role() -> None:
    hands = told(records=1)
    hands.append(A, "x")
    hands.do("fetch_send", follower=B)
    hands.do("fetch_serve", follower=B)
    hands.lead(A, notify=(A, B))
    assert hands.do("fetch_apply", follower=B) == "INVALID_REQUEST"
    assert hands.state(B)["leo"] == 1


def test_a_truncation_question_can_be_lost_and_its_answer_late(snapshot: SnapshotAssertion) -> None:
    hands = told("2.6", records=1)
    hands.lead(B, notify=(B,))
    hands.do("deliver", broker=A, truncate="later")
    assert hands.state(A)["fetcher"] == "truncating"
    hands.do("truncate_send", follower=A, answer="later")
    hands.do("truncate_lose", follower=A)
    with pytest.raises(ModelError) as caught:
        hands.do("truncate_serve", follower=A)
    assert caught.value.code == "no_epoch_request"
    assert str(caught.value) == snapshot
    hands.do("truncate_send", follower=A, answer="later")
    with pytest.raises(ModelError) as caught:
        hands.do("truncate_apply", follower=A)
    assert caught.value.code == "no_epoch_request"
    assert str(caught.value) == snapshot
    assert hands.do("truncate_serve", follower=A) == ""
    assert hands.do("truncate_apply", follower=A) == ""
    assert hands.state(A)["fetcher"] == "running"


def test_a_question_is_void_with_its_connection_or_its_role() -> None:
    hands = told("2.6", records=1)
    hands.lead(B, notify=(B,))
    hands.do("deliver", broker=A, truncate="later")
    hands.do("truncate_send", follower=A, answer="later")
    hands.do("crash", broker=B)
    assert hands.do("truncate_serve", follower=A) == "NETWORK_EXCEPTION"
    hands.do("restart", broker=B)
    hands.notify(B)
    hands.do("truncate_send", follower=A)
    hands.lead(B, notify=(B,))
    hands.do("deliver", broker=A, truncate="later")
    assert hands.do("truncate_apply", follower=A) == "INVALID_REQUEST"
    assert hands.state(A)["fetcher"] == "truncating"


def test_a_question_of_another_epoch_is_fenced_and_the_follower_gives_up() -> None:
    hands = told("2.6", records=1)
    hands.lead(B, notify=(B,))
    hands.do("deliver", broker=A, truncate="later")
    hands.do("truncate_send", follower=A, answer="later")
    hands.lead(B, notify=(B,))
    assert hands.do("truncate_serve", follower=A) == "FENCED_LEADER_EPOCH"
    hands.do("truncate_apply", follower=A)
    assert hands.state(A)["fetcher"] == "failed"
    assert hands.do("truncate_send", follower=A) == "FENCED_LEADER_EPOCH"
    hands.notify(A)
    assert hands.state(A)["fetcher"] == "running"


# Changes of the ISR


def test_a_pending_expand_counts_for_the_high_watermark_and_a_pending_shrink_still_does() -> None:
    hands = told(records=1)
    assert hands.do("shrink_isr", broker=A, out=[C], answer="later") == ""
    assert (hands.state(A)["isr"], hands.state(A)["pending"]) == ([1, 2, 3], [1, 2])
    hands.append(A, "x")
    hands.fetch(B, B)
    assert hands.state(A)["hw"] == 1
    assert hands.do("alter_serve", broker=A) == ""
    assert hands.state(A)["hw"] == 1
    assert hands.do("alter_apply", broker=A) == ""
    assert (hands.state(A)["hw"], hands.state(A)["isr"], hands.state(A)["pending"]) == (2, [1, 2], [])


def test_one_change_at_a_time() -> None:
    hands = told()
    hands.do("shrink_isr", broker=A, out=[C], answer="later")
    assert hands.do("shrink_isr", broker=A, out=[B]) == "INVALID_REQUEST"
    assert hands.do("expire_isr", broker=A, silent=[B]) == "INVALID_REQUEST"


def test_a_lost_proposal_is_sent_again(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.do("shrink_isr", broker=A, out=[C], answer="later")
    hands.do("alter_lose", broker=A)
    with pytest.raises(ModelError) as caught:
        hands.do("alter_serve", broker=A)
    assert caught.value.code == "no_alter_partition"
    assert str(caught.value) == snapshot
    hands.do("alter_send", broker=A)
    hands.do("alter_serve", broker=A)
    hands.do("alter_apply", broker=A)
    assert hands.state(A)["isr"] == [1, 2]
    with pytest.raises(ModelError) as caught:
        hands.do("alter_send", broker=A)
    assert caught.value.code == "no_isr_change"
    assert str(caught.value) == snapshot


def test_a_proposal_of_a_past_epoch_stays_pending_until_the_leader_hears_more() -> None:
    hands = told(records=1)
    hands.do("shrink_isr", broker=A, out=[C], answer="later")
    hands.do("elect", leader=A)
    assert hands.do("alter_serve", broker=A) == "FENCED_LEADER_EPOCH"
    assert hands.do("alter_apply", broker=A) == "FENCED_LEADER_EPOCH"
    assert hands.state(A)["pending"] == [1, 2]
    hands.notify(A)
    assert (hands.state(A)["pending"], hands.state(A)["isr"]) == ([], [1, 2, 3])


def test_a_leader_of_a_former_life_is_not_known_to_the_controller() -> None:
    hands = told()
    hands.do("shrink_isr", broker=A, out=[C], answer="later")
    hands.do("crash", broker=A)
    hands.do("restart", broker=A)
    assert hands.do("alter_serve", broker=A) == "STALE_BROKER_EPOCH"
    assert hands.cluster.query.isr("orders-0") == [1, 2, 3]


def test_a_newcomer_that_is_fenced_by_then_is_refused_and_the_leader_reverts() -> None:
    hands = told()
    hands.do("shrink_isr", broker=A, out=[C])
    hands.fetch(C)
    hands.do("expand_isr", broker=A, **{"in": C}, answer="later")
    hands.do("fence", broker=C)
    assert hands.do("alter_serve", broker=A) == "INELIGIBLE_REPLICA"
    assert hands.state(A)["pending"] == [1, 2, 3]
    hands.do("alter_apply", broker=A)
    assert (hands.state(A)["pending"], hands.state(A)["isr"]) == ([], [1, 2])
    assert hands.do("expand_isr", broker=A, **{"in": C}) == "INELIGIBLE_REPLICA"


def test_before_2_7_there_is_no_answer_to_wait_for(snapshot: SnapshotAssertion) -> None:
    hands = told("2.6")
    with pytest.raises(ModelError) as caught:
        hands.do("shrink_isr", broker=A, out=[C], answer="later")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert hands.do("shrink_isr", broker=A, out=[C]) == ""


@pytest.mark.parametrize(("kafka", "left"), [("2.0", [1]), ("2.1", [1, 3])])
def test_a_silent_follower_with_everything_stays_since_2_1(kafka: str, left: list[int]) -> None:
    hands = told(kafka)
    hands.append(A, "x")
    hands.fetch(C, C)
    assert hands.do("expire_isr", broker=A, silent=[B, C]) == ""
    assert hands.state(A)["isr"] == left


def test_nobody_is_out_of_sync_by_itself_where_time_pauses(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.append(A, "x")
    assert hands.do("expire_isr", broker=A) == ""
    assert hands.state(A)["isr"] == [1, 2, 3]
    with pytest.raises(ModelError) as caught:
        hands.do("expire_isr", broker=A, silent=[A])
    assert caught.value.code == "not_a_follower"
    assert str(caught.value) == snapshot


def test_in_0_8_2_so_many_messages_behind_is_out_of_sync() -> None:
    hands = told("0.8.2", brokers={"replica.lag.max.messages": 2})
    hands.fetch(B, C)
    hands.do("append", broker=A, records=2)
    hands.do("expire_isr", broker=A)
    assert hands.state(A)["isr"] == [1, 2, 3]
    hands.append(A, "x")
    hands.do("expire_isr", broker=A)
    assert hands.state(A)["isr"] == [1]


@pytest.mark.parametrize(("kafka", "left"), [("0.8.2", [1, 3]), ("2.4", [1, 2, 3])])
def test_in_0_8_2_who_has_not_fetched_is_out_even_with_everything(kafka: str, left: list[int]) -> None:
    hands = told(kafka, records=1)
    hands.do("expire_isr", broker=A, silent=[B])
    assert hands.state(A)["isr"] == left


def test_an_answer_to_a_former_role_comes_to_nothing(snapshot: SnapshotAssertion) -> None:
    hands = told()
    hands.do("shrink_isr", broker=A, out=[C], answer="later")
    hands.do("alter_serve", broker=A)
    hands.do("elect", leader=A)
    hands.notify(A)
    with pytest.raises(ModelError) as caught:
        hands.do("alter_apply", broker=A)
    assert caught.value.code == "no_alter_partition_answer"
    assert str(caught.value) == snapshot
    assert hands.state(A)["isr"] == [1, 2]


# The controller


def test_the_controller_learns_of_a_crash_by_a_fence_and_of_a_return_by_an_unfence(snapshot: SnapshotAssertion) -> None:
    hands = told(config={"unclean.leader.election.enable": False})
    hands.do("crash", broker=B)
    hands.do("crash", broker=A)
    assert hands.cluster.state()["controller"]["live"] == [1, 2, 3]
    hands.do("fence", broker=A)
    assert hands.cluster.query.leader("orders-0") == B, "for all that the controller knows, B lives"
    hands.do("fence", broker=B)
    assert (hands.cluster.query.leader("orders-0"), hands.cluster.query.isr("orders-0")) == (C, [3])
    with pytest.raises(ModelError) as caught:
        hands.do("fence", broker=B)
    assert caught.value.code == "fenced_already"
    assert str(caught.value) == snapshot
    assert hands.do("unfence", broker=B) == "BROKER_NOT_AVAILABLE"
    with pytest.raises(ModelError) as caught:
        hands.do("unfence", broker=C)
    assert caught.value.code == "not_fenced"
    assert str(caught.value) == snapshot
    hands.do("fence", broker=C)
    assert hands.cluster.query.leader("orders-0") == -1
    hands.do("unfence", broker=C)
    assert hands.cluster.query.leader("orders-0") == C


def test_an_administrators_elections() -> None:
    hands = told(config={"unclean.leader.election.enable": False})
    assert hands.do("elect_leaders") == "ELECTION_NOT_NEEDED"
    hands.lead(B, notify=(A, B, C))
    assert hands.do("elect_leaders") == ""
    assert hands.cluster.query.leader("orders-0") == A
    hands.lead(B, notify=(B,))
    hands.do("drop_from_isr", broker=A)
    assert hands.do("elect_leaders") == "PREFERRED_LEADER_NOT_AVAILABLE"
    hands.do("drop_from_isr", broker=C)
    hands.do("crash", broker=B)
    hands.do("fence", broker=B)
    assert hands.do("elect_leaders", unclean=True) == ""
    assert (hands.cluster.query.leader("orders-0"), hands.cluster.query.isr("orders-0")) == (A, [1])


# Processes and disks


@pytest.mark.parametrize(("verb", "hw"), [("crash", 0), ("shutdown", 3)])
def test_a_clean_stop_leaves_every_checkpoint_current(verb: str, hw: int, snapshot: SnapshotAssertion) -> None:
    hands = told(records=3)
    assert hands.do(verb, broker=A) == ""
    assert hands.do(verb, broker=A) == "BROKER_NOT_AVAILABLE"
    hands.do("restart", broker=A)
    assert (hands.state(A)["leo"], hands.state(A)["hw"], hands.state(A)["flushed"]) == (3, hw, hw)
    (recovered,) = [event for event in hands.cluster.drain() if isinstance(event, RecoveryFinished)]
    assert recovered.clean == (verb == "shutdown")
    assert recovered.detail == snapshot


def test_a_power_loss_leaves_what_was_flushed() -> None:
    hands = told(records=3)
    assert hands.do("flush", broker=A) == ""
    hands.do("append", broker=A, records=2)
    assert hands.state(A)["flushed"] == 3
    hands.do("power_loss", broker=A)
    assert hands.state(A)["leo"] == 3
    for verb in ("flush", "roll", "retain", "checkpoint"):
        assert hands.do(verb, broker=A) == "NETWORK_EXCEPTION"


def test_a_lost_disk_takes_flushed_records_and_checkpoints_along() -> None:
    hands = told(records=3)
    hands.do("flush", broker=A)
    hands.do("checkpoint", broker=A)
    assert hands.do("disk_loss", broker=A) == ""
    assert hands.do("disk_loss", broker=A) == "BROKER_NOT_AVAILABLE"
    hands.do("restart", broker=A)
    state = hands.state(A)
    assert (state["leo"], state["hw"], state["flushed"], state["checkpointed"]) == (0, 0, 0, 0)
    assert hands.names(B) == [0, 1, 2]


def test_a_roll_flushes_and_retention_deletes_whole_segments_below_the_high_watermark() -> None:
    hands = told(records=3, config={"retention.bytes": 150})
    assert hands.do("roll", broker=A) == ""
    assert hands.do("roll", broker=A) == "INVALID_REQUEST"
    hands.do("append", broker=A, records=2)
    assert (hands.state(A)["segments"], hands.state(A)["flushed"]) == ([0, 3], 3)
    hands.do("retain", broker=A)
    assert (hands.state(A)["segments"], hands.state(A)["log_start"]) == ([3], 3)
    assert hands.state(B)["log_start"] == 0
    hands.fetch(B, B)
    assert hands.state(B)["log_start"] == 3


def test_deleting_records_moves_the_start_and_followers_learn_of_it() -> None:
    hands = told(records=5)
    assert hands.do("delete_records", broker=A, before=3) == ""
    assert hands.do("delete_records", broker=A, before=9) == "OFFSET_OUT_OF_RANGE"
    assert hands.do("delete_records", broker=B, before=1) == "NOT_LEADER_OR_FOLLOWER"
    assert (hands.state(A)["log_start"], hands.state(B)["log_start"]) == (3, 0)
    hands.fetch(B)
    assert hands.state(B)["log_start"] == 3
    assert hands.do("delete_records", broker=A, before="hw") == ""
    assert hands.state(A)["log_start"] == 5
    assert told("0.10.2", records=1).do("delete_records", broker=A, before=1) == "UNSUPPORTED_VERSION"


# A consumer


def consumer(hands: HandSteppedCluster) -> tuple[int, list[object]]:
    state = hands.cluster.state()["consumer"]
    return state["position"], [name for _epoch, name in state["read"]]


def test_a_consumer_reads_up_to_the_high_watermark_of_whom_it_asks() -> None:
    hands = told(records=2)
    hands.append(A, "x")
    assert "consumer" not in hands.cluster.state()
    assert hands.do("consume", broker=A, records=1) == ""
    assert consumer(hands) == (1, [0])
    hands.do("consume", broker=A)
    assert consumer(hands) == (2, [0, 1])
    hands.do("consume", broker=A)
    assert consumer(hands) == (2, [0, 1]), "between HW and LEO there is nothing, and no error"
    assert told("2.3", records=1).do("consume", broker=B) == "NOT_LEADER_OR_FOLLOWER"


def test_a_consumer_that_knows_epochs_is_fenced_by_newer_leaders_and_unknown_to_older_ones() -> None:
    hands = told(records=2)
    hands.lead(B, notify=(B,))
    assert hands.do("consume", broker=A) == "", "a zombie serves whoever names no epoch"
    assert hands.do("consume", broker=A, epoch="latest") == "UNKNOWN_LEADER_EPOCH"
    assert hands.do("consume", broker=B, epoch=0) == "FENCED_LEADER_EPOCH"
    assert hands.do("consume", broker=B, epoch=1) == ""
    assert told("2.0", records=1).do("consume", broker=A, epoch=7) == "", "before 2.1 it is not sent"


def test_a_position_is_validated_by_epoch(snapshot: SnapshotAssertion) -> None:
    hands = told(records=2, config={"unclean.leader.election.enable": True})
    with pytest.raises(ModelError) as caught:
        hands.do("consume_validate", broker=A)
    assert caught.value.code == "nothing_read"
    assert str(caught.value) == snapshot
    hands.do("shrink_isr", broker=A, out=[B, C])
    hands.append(A, "x", "y")
    hands.do("consume", broker=A)
    assert hands.do("consume_validate", broker=A, epoch="latest") == ""
    assert consumer(hands)[0] == 4
    hands.lead(B, notify=(B,), unclean=True)
    assert hands.do("consume_validate", broker=B, epoch=0) == "FENCED_LEADER_EPOCH"
    assert hands.do("consume_validate", broker=B, epoch="latest") == ""
    assert consumer(hands)[0] == 2
    assert told("2.0", records=1).do("consume_validate", broker=A) == "UNSUPPORTED_VERSION"


def test_offsets_are_looked_up_and_gone_to(snapshot: SnapshotAssertion) -> None:
    hands = told(records=3)
    hands.do("delete_records", broker=A, before=1)
    assert hands.do("list_offsets", broker=A, at="latest") == ""
    assert hands.cluster.state()["consumer"]["position"] == 3
    assert hands.do("list_offsets", broker=A, at="earliest", epoch="latest") == ""
    assert hands.cluster.state()["consumer"]["position"] == 1
    assert hands.do("list_offsets", broker=B, at="earliest") == "NOT_LEADER_OR_FOLLOWER"
    hands.do("seek", offset=9)
    assert hands.do("consume", broker=A) == "OFFSET_OUT_OF_RANGE"
    with pytest.raises(ModelError) as caught:
        hands.do("seek", partition="nope-0", offset=1)
    assert caught.value.code == "no_partition"
    assert str(caught.value) == snapshot
