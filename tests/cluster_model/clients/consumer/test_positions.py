"""A consumer's positions: policies of a reset, and the detection of truncation by epochs (KIP-320)."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.consumer.subscription_state import ResetPolicy, reset_policy
from cluster_model.protocol.config_defs import check
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import ConsumerReset, TruncationDetected
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    EpochEnd,
    EpochEndRequest,
    EpochEndResponse,
    FetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from cluster_model.protocol.versions import Profile
from tests.cluster_model.clients.consumer.test_consumer import answer, data, fill, refuse
from tests.cluster_model.rigs import LATENCY, MS, SECOND, ConsumerRig, state

E = KafkaError


# --- policies


@pytest.mark.parametrize(
    ("text", "back_us"),
    [("PT1H", 3_600), ("P1DT2H3M4S", 93_784), ("P2D", 172_800), ("PT0.5S", 0.5), ("PT10M", 600)],
)
def test_a_duration_is_read_as_iso_8601(text: str, back_us: float) -> None:
    assert check("consumer", "auto.offset.reset", f"by_duration:{text}") == f"by_duration:{text}"
    assert reset_policy(Profile.of("4.0"), f"by_duration:{text}").back_us == back_us * SECOND


@pytest.mark.parametrize("text", ["by_duration", "by_duration:", "by_duration:P", "by_duration:PT", "newest"])
def test_unknown_reset_policies_are_rejected(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        check("consumer", "auto.offset.reset", text)
    assert caught.value.code == "wrong_form"
    assert str(caught.value) == snapshot


def test_by_duration_exists_since_4_0(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        reset_policy(Profile.of("3.9"), "by_duration:PT1H")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot


def test_each_policy_asks_its_question() -> None:
    asked = [ResetPolicy(name).timestamp(5 * SECOND) for name in ("earliest", "latest")]
    assert asked == [EARLIEST, LATEST]
    assert ResetPolicy("by_duration", 2 * SECOND).timestamp(5 * SECOND) == 3 * SECOND
    assert ResetPolicy("by_duration", 9 * SECOND).timestamp(5 * SECOND) == EARLIEST


def test_by_duration_goes_to_the_end_where_no_record_is_that_young() -> None:
    rig = ConsumerRig(kafka="4.0", config={"auto.offset.reset": "by_duration:PT1S"})
    rig.run(3 * SECOND)
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    (first,) = rig.asked(ListOffsetsRequest, 1)
    assert SECOND < first.timestamp_us < rig.now
    rig.reply(1, ListOffsetsResponse(first.correlation_id, "t-0", 0, -1))
    rig.run(2 * LATENCY)
    second = rig.asked(ListOffsetsRequest, 1)[1]
    assert second.timestamp_us == LATEST
    rig.reply(1, ListOffsetsResponse(second.correlation_id, "t-0", 0, 7))
    rig.run(2 * LATENCY)
    assert rig.consumer.positions == {"t-0": 7}


# --- truncation


def at_new_leader(*, kafka: str = "3.9", policy: str = "latest") -> ConsumerRig:
    """A consumer that has read up to 5, the last of it of epoch 0, and hears of a new leader."""
    rig = ConsumerRig(kafka=kafka, config={"auto.offset.reset": policy, "metadata.max.age.ms": 1_000})
    fill(rig, "t-0", 5)
    answer(rig, data(rig, "t-0", 0, 5))
    rig.run(SECOND)
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 2, 3))
    rig.run(2 * LATENCY)
    return rig


def tell(rig: ConsumerRig, end: int, epoch: int = 0, error: KafkaError = E.NONE) -> None:
    request = rig.asked(EpochEndRequest, 2)[-1]
    rig.reply(2, EpochEndResponse(request.correlation_id, (EpochEnd("t-0", 0, error, epoch, end),)))
    rig.run(2 * LATENCY)


def test_positions_are_validated_before_fetching_from_a_new_leader() -> None:
    rig = at_new_leader()
    assert rig.asked(EpochEndRequest, 2) == [EpochEndRequest(1, (("t-0", 0, 3),), CONSUMER)]
    assert rig.asked(FetchRequest, 2) == []
    tell(rig, 5)
    assert [asked.offset for asked in rig.asked(FetchRequest, 2)[0].partitions] == [5]
    assert rig.of(TruncationDetected) == []


def test_an_end_below_the_position_is_gone_to() -> None:
    rig = at_new_leader()
    tell(rig, 3)
    assert rig.asked(FetchRequest, 2)[0].partitions[0].offset == 3
    (found,) = rig.of(TruncationDetected)
    assert (found.partition, found.leader_epoch, found.log_offset, found.end_offset) == ("t-0", 0, 5, 3)


def test_an_epoch_that_the_leader_does_not_know_is_a_reset() -> None:
    rig = at_new_leader(policy="earliest")
    tell(rig, -1, -1)
    (asked,) = rig.asked(ListOffsetsRequest, 2)
    assert asked.timestamp_us == EARLIEST
    rig.reply(2, ListOffsetsResponse(asked.correlation_id, "t-0", 0, 2))
    rig.run(2 * LATENCY)
    assert [(reset.end_offset, reset.log_offset) for reset in rig.of(ConsumerReset)] == [(5, 2)]
    assert rig.of(TruncationDetected)[0].end_offset == -1


@pytest.mark.parametrize("end", [3, -1])
def test_without_a_policy_the_application_is_reported(end: int) -> None:
    rig = at_new_leader(policy="none")
    tell(rig, end, 0 if end > 0 else -1)
    assert (rig.consumer.failed, rig.consumer.positions) == ("LogTruncationException", {"t-0": 5})
    assert rig.asked(FetchRequest, 2) == []


def test_before_2_3_consumers_do_not_look() -> None:
    rig = at_new_leader(kafka="2.2")
    assert rig.asked(EpochEndRequest, 2) == []
    (fetch,) = rig.asked(FetchRequest, 2)
    assert fetch.partitions[0].offset == 5


def test_a_position_of_a_reset_has_no_epoch_and_is_not_checked() -> None:
    rig = ConsumerRig(config={"metadata.max.age.ms": 1_000})
    fill(rig, "t-0", 5)
    answer(rig, data(rig, "t-0", 0, 5))
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    rig.reply(1, ListOffsetsResponse(rig.asked(ListOffsetsRequest, 1)[0].correlation_id, "t-0", 0, 4))
    rig.run(SECOND)
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 2, 3))
    rig.run(2 * LATENCY)
    assert rig.asked(EpochEndRequest, 2) == []
    assert rig.asked(FetchRequest, 2)[0].partitions[0].offset == 4


@pytest.mark.parametrize(("error", "refreshed"), [(E.FENCED_LEADER_EPOCH, 2), (E.UNKNOWN_LEADER_EPOCH, 1)])
def test_a_check_that_is_refused_is_made_again_after_the_back_off(error: KafkaError, refreshed: int) -> None:
    rig = at_new_leader()
    tell(rig, -1, -1, error)
    rig.run(110 * MS)
    assert len(rig.asked(EpochEndRequest, 2)) == 2
    assert len(rig.metadata_asked()) == refreshed
    tell(rig, 5)
    assert len(rig.asked(FetchRequest, 2)) == 1


def test_validation_restarts_when_the_leader_changes_again() -> None:
    rig = at_new_leader()
    rig.run(SECOND)
    rig.answer_metadata(rig.metadata_asked()[-1], state("t-0", 3, 4))
    rig.run(2 * LATENCY)
    assert len(rig.asked(EpochEndRequest, 3)) == 1
    tell(rig, 2)
    assert (rig.consumer.positions, rig.of(TruncationDetected)) == ({"t-0": 5}, [])


def test_a_loaded_consumer_waits_for_the_same_answer() -> None:
    rig = at_new_leader()
    saved = rig.network.save(), rig.consumer.save()
    tell(rig, 3)
    after = rig.consumer.save()
    rig.network.load(saved[0])
    rig.consumer.load(saved[1])
    assert rig.consumer.save() == saved[1]
    tell(rig, 3)
    assert rig.consumer.save() == after
