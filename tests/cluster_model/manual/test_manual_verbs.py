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
    stepped = HandSteppedCluster(kafka, **more)
    stepped.notify(A, B, C)
    if records:
        stepped.do("append", broker=A, records=records)
        stepped.fetch(B, C, B, C, B, C)
    return stepped


def books(stepped: HandSteppedCluster) -> tuple[int, int, int]:
    query = stepped.cluster.query
    return query.acked(), query.failed(), query.unknown()


def test_every_verb_can_be_taken() -> None:
    stepped = HandSteppedCluster("3.9")
    assert set(stepped.cluster._handlers) == set(MANUAL_VERBS)


# Produce requests


def test_a_produce_is_acknowledged_when_its_answer_arrives_and_not_before(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    assert stepped.do("produce_send", broker=A, names=["x", "y"], acks="all") == ""
    assert stepped.state(A)["leo"] == 0
    assert stepped.do("produce_serve", broker=A) == ""
    assert stepped.state(A)["leo"] == 2
    with pytest.raises(ModelError) as caught:
        stepped.do("produce_apply", broker=A)
    assert caught.value.code == "high_watermark_too_low"
    assert str(caught.value) == snapshot
    stepped.fetch(B, C, B, C)
    assert books(stepped) == (0, 0, 0)
    assert stepped.do("produce_apply", broker=A) == ""
    assert books(stepped) == (2, 0, 0)


@pytest.mark.parametrize(("served", "held"), [(False, []), (True, ["x"])])
def test_a_lost_request_and_a_lost_answer_look_alike_to_the_client(
    served: bool, held: list[str], snapshot: SnapshotAssertion
) -> None:
    stepped = told()
    stepped.do("produce_send", broker=A, names=["x"])
    if served:
        stepped.do("produce_serve", broker=A)
    assert stepped.do("produce_lose", broker=A) == ""
    assert stepped.names(A) == held
    assert books(stepped) == (0, 0, 1)
    with pytest.raises(ModelError) as caught:
        stepped.do("produce_apply", broker=A)
    assert caught.value.code == "no_produce_request"
    assert str(caught.value) == snapshot


def test_a_lost_answer_that_was_waited_for_is_not_sent_later() -> None:
    stepped = told()
    stepped.do("produce_send", broker=A, names=["x"], acks="all")
    stepped.do("produce_serve", broker=A)
    stepped.do("produce_lose", broker=A)
    stepped.fetch(B, C, B, C)
    assert stepped.state(A)["hw"] == 1
    assert books(stepped) == (0, 0, 1)


def test_a_produce_that_times_out_is_in_the_log_all_the_same(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.do("produce_send", broker=A, names=["x"], acks="all")
    with pytest.raises(ModelError) as caught:
        stepped.do("produce_expire", broker=A)
    assert caught.value.code == "no_produce_waits"
    assert str(caught.value) == snapshot
    stepped.do("produce_serve", broker=A)
    assert stepped.do("produce_expire", broker=A) == ""
    assert stepped.do("produce_apply", broker=A) == "REQUEST_TIMED_OUT"
    stepped.fetch(B, C, B, C)
    assert stepped.state(A)["hw"] == 1
    assert books(stepped) == (0, 0, 1)


def test_requests_keep_their_order_and_are_answered_by_what_the_broker_is_by_then(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    for name in ("x", "y"):
        stepped.do("produce_send", broker=A, names=[name])
    stepped.do("produce_serve", broker=A)
    stepped.lead(B, notify=(A, B))
    assert stepped.do("produce_serve", broker=A) == "NOT_LEADER_OR_FOLLOWER"
    with pytest.raises(ModelError) as caught:
        stepped.do("produce_serve", broker=A)
    assert caught.value.code == "arrived_already"
    assert str(caught.value) == snapshot
    assert stepped.do("produce_apply", broker=A) == ""
    assert stepped.do("produce_apply", broker=A) == "NOT_LEADER_OR_FOLLOWER"
    assert books(stepped) == (1, 1, 0)


def test_acks_0_is_done_when_it_has_left(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.do("produce_send", broker=A, names=["x"], acks=0)
    assert books(stepped) == (1, 0, 0)
    stepped.do("produce_serve", broker=A)
    assert stepped.names(A) == ["x"]
    with pytest.raises(ModelError) as caught:
        stepped.do("produce_apply", broker=A)
    assert caught.value.code == "no_produce_request"
    assert str(caught.value) == snapshot


def test_a_crash_breaks_the_connection() -> None:
    stepped = told()
    stepped.do("produce_send", broker=A, names=["x"])
    stepped.do("produce_serve", broker=A)
    stepped.do("produce_send", broker=A, names=["y"])
    stepped.do("produce_send", broker=B, names=["z"])
    stepped.do("crash", broker=A)
    assert books(stepped) == (0, 0, 2)
    assert stepped.close().cluster.query.unknown() == 3


# Fetches


def test_a_delayed_fetch_is_counted_on_arrival_and_reads_when_it_is_woken(snapshot: SnapshotAssertion) -> None:
    stepped = told(records=1)
    for follower in (B, C):
        stepped.do("fetch_send", follower=follower)
        assert stepped.do("fetch_serve", follower=follower, answer="later") == ""
    stepped.append(A, "x")
    stepped.do("fetch_wake", follower=B)
    stepped.do("fetch_apply", follower=B)
    assert (stepped.names(B)[-1], stepped.state(A)["followers"]) == ("x", {"2": 1, "3": 1})
    stepped.fetch(B)
    stepped.do("fetch_wake", follower=C)
    stepped.do("fetch_apply", follower=C)
    stepped.fetch(C, B)
    assert stepped.state(B)["hw"] == 2
    with pytest.raises(ModelError) as caught:
        stepped.do("fetch_wake", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot


def test_a_fetch_that_finds_something_is_not_delayed() -> None:
    stepped = told()
    stepped.append(A, "x")
    stepped.do("fetch_send", follower=B)
    stepped.do("fetch_serve", follower=B, answer="later")
    assert stepped.do("fetch_apply", follower=B) == ""
    assert stepped.names(B) == ["x"]


def test_a_lost_fetch_and_a_lost_answer(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.append(A, "x")
    stepped.do("fetch_send", follower=B)
    stepped.do("fetch_lose", follower=B)
    with pytest.raises(ModelError) as caught:
        stepped.do("fetch_serve", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot
    assert stepped.state(A)["followers"]["2"] == -1
    stepped.do("fetch_send", follower=B)
    stepped.do("fetch_serve", follower=B)
    stepped.do("fetch_lose", follower=B)
    assert stepped.state(A)["followers"]["2"] == 0
    with pytest.raises(ModelError) as caught:
        stepped.do("fetch_apply", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot
    assert stepped.names(B) == []
    with pytest.raises(ModelError) as caught:
        stepped.do("fetch_lose", follower=B)
    assert caught.value.code == "no_fetch"
    assert str(caught.value) == snapshot


def test_a_request_outlives_the_role_of_its_sender_and_its_answer_does_not() -> None:
    stepped = told("2.0", records=1)
    stepped.append(A, "x")
    stepped.fetch(B)
    stepped.do("fetch_send", follower=B)
    stepped.lead(A, notify=(A,))
    stepped.notify(B)
    assert stepped.do("fetch_serve", follower=B) == ""
    assert stepped.state(A)["followers"]["2"] == 2, "nothing fences it before 2.1"
    assert stepped.do("fetch_apply", follower=B) == "INVALID_REQUEST"


def test_a_crash_of_the_leader_takes_what_was_delayed_with_it() -> None:
    stepped = told(records=1)
    stepped.do("fetch_send", follower=B)
    stepped.do("fetch_serve", follower=B, answer="later")
    stepped.do("fetch_send", follower=C)
    stepped.do("crash", broker=A)
    stepped.do("restart", broker=A)
    stepped.notify(A)
    assert stepped.do("fetch_wake", follower=B) == "NETWORK_EXCEPTION"
    assert stepped.do("fetch_serve", follower=C) == "NETWORK_EXCEPTION"
    assert stepped.state(A)["followers"] == {"2": -1, "3": -1}


def test_a_fetch_from_a_stopped_leader_is_refused() -> None:
    stepped = told(records=1)
    stepped.do("crash", broker=A)
    assert stepped.do("fetch", follower=B) == "NETWORK_EXCEPTION"
    assert stepped.do("fetch_send", follower=B) == ""
    assert stepped.do("fetch_serve", follower=B) == "NETWORK_EXCEPTION"
    assert stepped.do("fetch_send", follower=A) == "NETWORK_EXCEPTION"
    assert told().do("fetch_send", follower=A) == "LEADER_NOT_AVAILABLE", "a leader follows nobody"


def test_an_answer_under_way_is_void_once_the_follower_has_a_new_role() -> None:
    stepped = told(records=1)
    stepped.append(A, "x")
    stepped.do("fetch_send", follower=B)
    stepped.do("fetch_serve", follower=B)
    stepped.lead(A, notify=(A, B))
    assert stepped.do("fetch_apply", follower=B) == "INVALID_REQUEST"
    assert stepped.state(B)["leo"] == 1


def test_a_truncation_question_can_be_lost_and_its_answer_late(snapshot: SnapshotAssertion) -> None:
    stepped = told("2.6", records=1)
    stepped.lead(B, notify=(B,))
    stepped.do("deliver", broker=A, truncate="later")
    assert stepped.state(A)["fetcher"] == "truncating"
    stepped.do("truncate_send", follower=A, answer="later")
    stepped.do("truncate_lose", follower=A)
    with pytest.raises(ModelError) as caught:
        stepped.do("truncate_serve", follower=A)
    assert caught.value.code == "no_epoch_request"
    assert str(caught.value) == snapshot
    stepped.do("truncate_send", follower=A, answer="later")
    with pytest.raises(ModelError) as caught:
        stepped.do("truncate_apply", follower=A)
    assert caught.value.code == "no_epoch_request"
    assert str(caught.value) == snapshot
    assert stepped.do("truncate_serve", follower=A) == ""
    assert stepped.do("truncate_apply", follower=A) == ""
    assert stepped.state(A)["fetcher"] == "running"


def test_a_question_is_void_with_its_connection_or_its_role() -> None:
    stepped = told("2.6", records=1)
    stepped.lead(B, notify=(B,))
    stepped.do("deliver", broker=A, truncate="later")
    stepped.do("truncate_send", follower=A, answer="later")
    stepped.do("crash", broker=B)
    assert stepped.do("truncate_serve", follower=A) == "NETWORK_EXCEPTION"
    stepped.do("restart", broker=B)
    stepped.notify(B)
    stepped.do("truncate_send", follower=A)
    stepped.lead(B, notify=(B,))
    stepped.do("deliver", broker=A, truncate="later")
    assert stepped.do("truncate_apply", follower=A) == "INVALID_REQUEST"
    assert stepped.state(A)["fetcher"] == "truncating"


def test_a_question_of_another_epoch_is_fenced_and_the_follower_gives_up() -> None:
    stepped = told("2.6", records=1)
    stepped.lead(B, notify=(B,))
    stepped.do("deliver", broker=A, truncate="later")
    stepped.do("truncate_send", follower=A, answer="later")
    stepped.lead(B, notify=(B,))
    assert stepped.do("truncate_serve", follower=A) == "FENCED_LEADER_EPOCH"
    stepped.do("truncate_apply", follower=A)
    assert stepped.state(A)["fetcher"] == "failed"
    assert stepped.do("truncate_send", follower=A) == "FENCED_LEADER_EPOCH"
    stepped.notify(A)
    assert stepped.state(A)["fetcher"] == "running"


# Changes of the ISR


def test_pending_isr_changes_keep_the_larger_isr_for_the_high_watermark() -> None:
    stepped = told(records=1)
    assert stepped.do("shrink_isr", broker=A, out=[C], answer="later") == ""
    assert (stepped.state(A)["isr"], stepped.state(A)["pending"]) == ([1, 2, 3], [1, 2])
    stepped.append(A, "x")
    stepped.fetch(B, B)
    assert stepped.state(A)["hw"] == 1
    assert stepped.do("alter_serve", broker=A) == ""
    assert stepped.state(A)["hw"] == 1
    assert stepped.do("alter_apply", broker=A) == ""
    assert (stepped.state(A)["hw"], stepped.state(A)["isr"], stepped.state(A)["pending"]) == (2, [1, 2], [])


def test_one_change_at_a_time() -> None:
    stepped = told()
    stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    assert stepped.do("shrink_isr", broker=A, out=[B]) == "INVALID_REQUEST"
    assert stepped.do("expire_isr", broker=A, silent=[B]) == "INVALID_REQUEST"


def test_a_lost_proposal_is_sent_again(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    stepped.do("alter_lose", broker=A)
    with pytest.raises(ModelError) as caught:
        stepped.do("alter_serve", broker=A)
    assert caught.value.code == "no_alter_partition"
    assert str(caught.value) == snapshot
    stepped.do("alter_send", broker=A)
    stepped.do("alter_serve", broker=A)
    stepped.do("alter_apply", broker=A)
    assert stepped.state(A)["isr"] == [1, 2]
    with pytest.raises(ModelError) as caught:
        stepped.do("alter_send", broker=A)
    assert caught.value.code == "no_isr_change"
    assert str(caught.value) == snapshot


def test_a_proposal_of_a_past_epoch_stays_pending_until_the_leader_hears_more() -> None:
    stepped = told(records=1)
    stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    stepped.do("elect", leader=A)
    assert stepped.do("alter_serve", broker=A) == "FENCED_LEADER_EPOCH"
    assert stepped.do("alter_apply", broker=A) == "FENCED_LEADER_EPOCH"
    assert stepped.state(A)["pending"] == [1, 2]
    stepped.notify(A)
    assert (stepped.state(A)["pending"], stepped.state(A)["isr"]) == ([], [1, 2, 3])


def test_a_leader_of_a_former_life_is_not_known_to_the_controller() -> None:
    stepped = told()
    stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    stepped.do("crash", broker=A)
    stepped.do("restart", broker=A)
    assert stepped.do("alter_serve", broker=A) == "STALE_BROKER_EPOCH"
    assert stepped.cluster.query.isr("orders-0") == [1, 2, 3]


def test_a_newcomer_that_is_fenced_by_then_is_refused_and_the_leader_reverts() -> None:
    stepped = told()
    stepped.do("shrink_isr", broker=A, out=[C])
    stepped.fetch(C)
    stepped.do("expand_isr", broker=A, **{"in": C}, answer="later")
    stepped.do("fence", broker=C)
    assert stepped.do("alter_serve", broker=A) == "INELIGIBLE_REPLICA"
    assert stepped.state(A)["pending"] == [1, 2, 3]
    stepped.do("alter_apply", broker=A)
    assert (stepped.state(A)["pending"], stepped.state(A)["isr"]) == ([], [1, 2])
    assert stepped.do("expand_isr", broker=A, **{"in": C}) == "INELIGIBLE_REPLICA"


def test_before_2_7_there_is_no_answer_to_wait_for(snapshot: SnapshotAssertion) -> None:
    stepped = told("2.6")
    with pytest.raises(ModelError) as caught:
        stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot
    assert stepped.do("shrink_isr", broker=A, out=[C]) == ""


@pytest.mark.parametrize(("kafka", "left"), [("2.0", [1]), ("2.1", [1, 3])])
def test_a_silent_follower_with_everything_stays_since_2_1(kafka: str, left: list[int]) -> None:
    stepped = told(kafka)
    stepped.append(A, "x")
    stepped.fetch(C, C)
    assert stepped.do("expire_isr", broker=A, silent=[B, C]) == ""
    assert stepped.state(A)["isr"] == left


def test_nobody_is_out_of_sync_by_itself_where_time_pauses(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.append(A, "x")
    assert stepped.do("expire_isr", broker=A) == ""
    assert stepped.state(A)["isr"] == [1, 2, 3]
    with pytest.raises(ModelError) as caught:
        stepped.do("expire_isr", broker=A, silent=[A])
    assert caught.value.code == "not_a_follower"
    assert str(caught.value) == snapshot


def test_in_0_8_2_so_many_messages_behind_is_out_of_sync() -> None:
    stepped = told("0.8.2", brokers={"replica.lag.max.messages": 2})
    stepped.fetch(B, C)
    stepped.do("append", broker=A, records=2)
    stepped.do("expire_isr", broker=A)
    assert stepped.state(A)["isr"] == [1, 2, 3]
    stepped.append(A, "x")
    stepped.do("expire_isr", broker=A)
    assert stepped.state(A)["isr"] == [1]


@pytest.mark.parametrize(("kafka", "left"), [("0.8.2", [1, 3]), ("2.4", [1, 2, 3])])
def test_in_0_8_2_who_has_not_fetched_is_out_even_with_everything(kafka: str, left: list[int]) -> None:
    stepped = told(kafka, records=1)
    stepped.do("expire_isr", broker=A, silent=[B])
    assert stepped.state(A)["isr"] == left


def test_responses_to_a_former_role_are_ignored(snapshot: SnapshotAssertion) -> None:
    stepped = told()
    stepped.do("shrink_isr", broker=A, out=[C], answer="later")
    stepped.do("alter_serve", broker=A)
    stepped.do("elect", leader=A)
    stepped.notify(A)
    with pytest.raises(ModelError) as caught:
        stepped.do("alter_apply", broker=A)
    assert caught.value.code == "no_alter_partition_answer"
    assert str(caught.value) == snapshot
    assert stepped.state(A)["isr"] == [1, 2]


# The controller


def test_the_controller_learns_of_a_crash_by_a_fence_and_of_a_return_by_an_unfence(snapshot: SnapshotAssertion) -> None:
    stepped = told(config={"unclean.leader.election.enable": False})
    stepped.do("crash", broker=B)
    stepped.do("crash", broker=A)
    assert stepped.cluster.state()["controller"]["live"] == [1, 2, 3]
    stepped.do("fence", broker=A)
    assert stepped.cluster.query.leader("orders-0") == B, "for all that the controller knows, B lives"
    stepped.do("fence", broker=B)
    assert (stepped.cluster.query.leader("orders-0"), stepped.cluster.query.isr("orders-0")) == (C, [3])
    with pytest.raises(ModelError) as caught:
        stepped.do("fence", broker=B)
    assert caught.value.code == "fenced_already"
    assert str(caught.value) == snapshot
    assert stepped.do("unfence", broker=B) == "BROKER_NOT_AVAILABLE"
    with pytest.raises(ModelError) as caught:
        stepped.do("unfence", broker=C)
    assert caught.value.code == "not_fenced"
    assert str(caught.value) == snapshot
    stepped.do("fence", broker=C)
    assert stepped.cluster.query.leader("orders-0") == -1
    stepped.do("unfence", broker=C)
    assert stepped.cluster.query.leader("orders-0") == C


def test_an_administrators_elections() -> None:
    stepped = told(config={"unclean.leader.election.enable": False})
    assert stepped.do("elect_leaders") == "ELECTION_NOT_NEEDED"
    stepped.lead(B, notify=(A, B, C))
    assert stepped.do("elect_leaders") == ""
    assert stepped.cluster.query.leader("orders-0") == A
    stepped.lead(B, notify=(B,))
    stepped.do("drop_from_isr", broker=A)
    assert stepped.do("elect_leaders") == "PREFERRED_LEADER_NOT_AVAILABLE"
    stepped.do("drop_from_isr", broker=C)
    stepped.do("crash", broker=B)
    stepped.do("fence", broker=B)
    assert stepped.do("elect_leaders", unclean=True) == ""
    assert (stepped.cluster.query.leader("orders-0"), stepped.cluster.query.isr("orders-0")) == (A, [1])


# Processes and disks


@pytest.mark.parametrize(("verb", "hw"), [("crash", 0), ("shutdown", 3)])
def test_a_clean_stop_leaves_every_checkpoint_current(verb: str, hw: int, snapshot: SnapshotAssertion) -> None:
    stepped = told(records=3)
    assert stepped.do(verb, broker=A) == ""
    assert stepped.do(verb, broker=A) == "BROKER_NOT_AVAILABLE"
    stepped.do("restart", broker=A)
    assert (stepped.state(A)["leo"], stepped.state(A)["hw"], stepped.state(A)["flushed"]) == (3, hw, hw)
    (recovered,) = [event for event in stepped.cluster.drain() if isinstance(event, RecoveryFinished)]
    assert recovered.clean == (verb == "shutdown")
    assert recovered.detail == snapshot


def test_a_power_loss_leaves_what_was_flushed() -> None:
    stepped = told(records=3)
    assert stepped.do("flush", broker=A) == ""
    stepped.do("append", broker=A, records=2)
    assert stepped.state(A)["flushed"] == 3
    stepped.do("power_loss", broker=A)
    assert stepped.state(A)["leo"] == 3
    for verb in ("flush", "roll", "retain", "checkpoint"):
        assert stepped.do(verb, broker=A) == "NETWORK_EXCEPTION"


def test_a_lost_disk_takes_flushed_records_and_checkpoints_along() -> None:
    stepped = told(records=3)
    stepped.do("flush", broker=A)
    stepped.do("checkpoint", broker=A)
    assert stepped.do("disk_loss", broker=A) == ""
    assert stepped.do("disk_loss", broker=A) == "BROKER_NOT_AVAILABLE"
    stepped.do("restart", broker=A)
    state = stepped.state(A)
    assert (state["leo"], state["hw"], state["flushed"], state["checkpointed"]) == (0, 0, 0, 0)
    assert stepped.names(B) == [0, 1, 2]


def test_a_roll_flushes_and_retention_deletes_whole_segments_below_the_high_watermark() -> None:
    stepped = told(records=3, config={"retention.bytes": 150})
    assert stepped.do("roll", broker=A) == ""
    assert stepped.do("roll", broker=A) == "INVALID_REQUEST"
    stepped.do("append", broker=A, records=2)
    assert (stepped.state(A)["segments"], stepped.state(A)["flushed"]) == ([0, 3], 3)
    stepped.do("retain", broker=A)
    assert (stepped.state(A)["segments"], stepped.state(A)["log_start"]) == ([3], 3)
    assert stepped.state(B)["log_start"] == 0
    stepped.fetch(B, B)
    assert stepped.state(B)["log_start"] == 3


def test_deleting_records_moves_the_start_and_followers_learn_of_it() -> None:
    stepped = told(records=5)
    assert stepped.do("delete_records", broker=A, before=3) == ""
    assert stepped.do("delete_records", broker=A, before=9) == "OFFSET_OUT_OF_RANGE"
    assert stepped.do("delete_records", broker=B, before=1) == "NOT_LEADER_OR_FOLLOWER"
    assert (stepped.state(A)["log_start"], stepped.state(B)["log_start"]) == (3, 0)
    stepped.fetch(B)
    assert stepped.state(B)["log_start"] == 3
    assert stepped.do("delete_records", broker=A, before="hw") == ""
    assert stepped.state(A)["log_start"] == 5
    assert told("0.10.2", records=1).do("delete_records", broker=A, before=1) == "UNSUPPORTED_VERSION"


# A consumer


def consumer(stepped: HandSteppedCluster) -> tuple[int, list[object]]:
    state = stepped.cluster.state()["consumer"]
    return state["position"], [name for _epoch, name in state["read"]]


def test_a_consumer_reads_up_to_the_high_watermark_of_the_fetched_broker() -> None:
    stepped = told(records=2)
    stepped.append(A, "x")
    assert "consumer" not in stepped.cluster.state()
    assert stepped.do("consume", broker=A, records=1) == ""
    assert consumer(stepped) == (1, [0])
    stepped.do("consume", broker=A)
    assert consumer(stepped) == (2, [0, 1])
    stepped.do("consume", broker=A)
    assert consumer(stepped) == (2, [0, 1]), "between HW and LEO there is nothing, and no error"
    assert told("2.3", records=1).do("consume", broker=B) == "NOT_LEADER_OR_FOLLOWER"


def test_a_consumer_that_knows_epochs_is_fenced_by_newer_leaders_and_unknown_to_older_ones() -> None:
    stepped = told(records=2)
    stepped.lead(B, notify=(B,))
    assert stepped.do("consume", broker=A) == "", "a zombie serves whoever names no epoch"
    assert stepped.do("consume", broker=A, epoch="latest") == "UNKNOWN_LEADER_EPOCH"
    assert stepped.do("consume", broker=B, epoch=0) == "FENCED_LEADER_EPOCH"
    assert stepped.do("consume", broker=B, epoch=1) == ""
    assert told("2.0", records=1).do("consume", broker=A, epoch=7) == "", "before 2.1 it is not sent"


def test_a_position_is_validated_by_epoch(snapshot: SnapshotAssertion) -> None:
    stepped = told(records=2, config={"unclean.leader.election.enable": True})
    with pytest.raises(ModelError) as caught:
        stepped.do("consume_validate", broker=A)
    assert caught.value.code == "nothing_read"
    assert str(caught.value) == snapshot
    stepped.do("shrink_isr", broker=A, out=[B, C])
    stepped.append(A, "x", "y")
    stepped.do("consume", broker=A)
    assert stepped.do("consume_validate", broker=A, epoch="latest") == ""
    assert consumer(stepped)[0] == 4
    stepped.lead(B, notify=(B,), unclean=True)
    assert stepped.do("consume_validate", broker=B, epoch=0) == "FENCED_LEADER_EPOCH"
    assert stepped.do("consume_validate", broker=B, epoch="latest") == ""
    assert consumer(stepped)[0] == 2
    assert told("2.0", records=1).do("consume_validate", broker=A) == "UNSUPPORTED_VERSION"


def test_offsets_are_looked_up_and_gone_to(snapshot: SnapshotAssertion) -> None:
    stepped = told(records=3)
    stepped.do("delete_records", broker=A, before=1)
    assert stepped.do("list_offsets", broker=A, at="latest") == ""
    assert stepped.cluster.state()["consumer"]["position"] == 3
    assert stepped.do("list_offsets", broker=A, at="earliest", epoch="latest") == ""
    assert stepped.cluster.state()["consumer"]["position"] == 1
    assert stepped.do("list_offsets", broker=B, at="earliest") == "NOT_LEADER_OR_FOLLOWER"
    stepped.do("seek", offset=9)
    assert stepped.do("consume", broker=A) == "OFFSET_OUT_OF_RANGE"
    with pytest.raises(ModelError) as caught:
        stepped.do("seek", partition="nope-0", offset=1)
    assert caught.value.code == "no_partition"
    assert str(caught.value) == snapshot
