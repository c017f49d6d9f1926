"""A consumer that tells which epoch it read last hears of a log that was cut below its position (KIP-595)."""

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState
from tests.cluster_model.leaders import CONSUMER_NODE, LeaderRig, P


def elected_again() -> LeaderRig:
    """A leader of ten records of epoch 1, and five of epoch 7 behind them; everybody has them."""
    rig = LeaderRig()
    rig.append(10)
    rig.replica.apply(PartitionState(P, 1, 7, (1,), 2, (1, 2, 3)), 0)
    rig.append(5)
    return rig


def test_a_fetch_beyond_an_epochs_end_gets_the_diverging_epoch() -> None:
    rig = elected_again()
    for offset, last_epoch, parted in (
        (12, 1, (1, 10)),
        (10, 1, None),
        (12, 7, None),
        (20, 7, (7, 15)),
        (12, 4, (1, 10)),
    ):
        data = rig.read(offset, last_epoch=last_epoch)
        assert data is not None
        assert (data.error, data.diverging) == (0, parted), (offset, last_epoch)
        assert bool(data.records.extents) is (parted is None)


def test_a_fetch_without_an_epoch_is_not_checked_for_divergence() -> None:
    data = elected_again().read(12)
    assert data is not None
    assert (data.error, data.diverging, data.records.start, data.records.end) == (0, None, 12, 15)


def test_a_fetch_with_an_unknown_epoch_is_out_of_range() -> None:
    rig = elected_again()
    unknown = rig.read(12, last_epoch=9)
    assert unknown is not None
    assert (unknown.error, unknown.diverging) == (KafkaError.OFFSET_OUT_OF_RANGE, None)
    rig.replica.log.move_start(11)
    gone = rig.read(10, last_epoch=1)
    assert gone is not None
    assert gone.error == KafkaError.OFFSET_OUT_OF_RANGE


def test_a_fetch_at_a_diverging_offset_is_answered_at_once() -> None:
    rig = elected_again()
    assert rig.read(15, wait_us=500_000, last_epoch=7) is None
    rig.replica.log.epochs.entries = ((1, 0), (7, 10), (8, 12))  # as long as before, and something else at its end
    rig.settle(rig.replica)
    told = rig.answer(CONSUMER_NODE)
    assert told is not None
    assert told.diverging == (7, 12)
