"""Sizes of records: drawn once and for all, and batches have the bytes of their records."""

from statistics import median, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.clients.workload import LARGEST, ConstantSize, RandomSizes, keys_of_numbers
from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import (
    BrokerSpec,
    ClusterSpec,
    ProducerSpec,
    Sizes,
    SpreadSizes,
    TopicSpec,
    TwoSizes,
    UniformSizes,
)

SECOND = 1_000_000
P = "orders-0"
KINDS = (UniformSizes(100, 300), TwoSizes(100, 50_000, 50_000), SpreadSizes(400, 8_192))


def of(sizes: Sizes, count: int, *, seed: int = 7, client: str = "p", partition: str = P) -> list[int]:
    drawer = RandomSizes(sizes, client, seed)
    return [drawer.of(partition, number, 1) for number in range(count)]


@given(st.sampled_from(KINDS), st.integers(0, 5_000), st.lists(st.integers(1, 700), min_size=1, max_size=6))
def test_a_batch_has_the_bytes_of_its_records_however_they_are_cut(sizes: Sizes, start: int, parts: list[int]) -> None:
    drawer = RandomSizes(sizes, "p", 7)
    at, total = start, 0
    for records in parts:
        total += drawer.of(P, at, records)
        at += records
    assert total == drawer.of(P, start, sum(parts))


@pytest.mark.parametrize("sizes", KINDS, ids=lambda sizes: type(sizes).__name__)
def test_session_producer_and_partition_each_draw_their_own(sizes: Sizes) -> None:
    usual = of(sizes, 300)
    assert of(sizes, 300) == usual
    assert of(sizes, 300, seed=8) != usual
    assert of(sizes, 300, client="q") != usual
    assert of(sizes, 300, partition="orders-1") != usual


def test_uniform_sizes_fill_their_range_to_both_ends() -> None:
    found = of(UniformSizes(10, 13), 4_000)
    assert sorted(set(found)) == [10, 11, 12, 13]
    assert all(900 < found.count(size) < 1_100 for size in (10, 11, 12, 13))


def test_two_sizes_have_their_shares() -> None:
    found = of(TwoSizes(100, 50_000, 50_000), 10_000)
    assert set(found) == {100, 50_000}
    assert 400 < found.count(50_000) < 600


def test_spread_sizes_have_their_median_and_their_tail() -> None:
    found = of(SpreadSizes(400, 8_192), 40_000)
    assert median(found) == pytest.approx(400, rel=0.05)
    assert quantiles(found, n=100)[98] == pytest.approx(8_192, rel=0.1)
    assert quantiles(found, n=100)[0] == pytest.approx(400 * 400 / 8_192, rel=0.1)


def test_no_drawn_size_is_nothing_or_beyond_the_largest() -> None:
    wide = SpreadSizes(2, LARGEST)
    assert min(of(wide, 5_000)) == 1
    assert max(keys_of_numbers(wide, draw) for draw in (0, (1 << 64) - 1)) == LARGEST


def test_one_size_is_a_product() -> None:
    assert ConstantSize(200).of(P, 17, 30) == 6_000


def log_of(sizes: Sizes | None, producer: dict[str, int | str | bool]) -> Cluster:
    topic = TopicSpec("orders", 1, 1, ((1,),))
    maker = ProducerSpec(
        "p", "orders", 10_000, 3, record_bytes=100, stop_us=2 * SECOND, sizes=sizes, config={"acks": "all", **producer}
    )
    cluster = Cluster.build(ClusterSpec("3.9", "kraft", (BrokerSpec(1),), (topic,), (maker,)), 7)
    cluster.run(4 * SECOND)
    return cluster


@pytest.mark.parametrize("config", [{"linger.ms": 0}, {"linger.ms": 50, "batch.size": 3_000}], ids=["single", "merged"])
def test_the_log_holds_batches_of_just_those_bytes(config: dict[str, int | str | bool]) -> None:
    sizes = SpreadSizes(200, 1_000)
    log = log_of(sizes, config).brokers[1].replicas[P].log
    drawer = RandomSizes(sizes, "p", 7)
    batches = [batch for _epoch_branch, batch, _start, _end in log.batches()]
    assert sum(batch.records for batch in batches) > 500
    assert [batch.size for batch in batches] == [drawer.of(P, batch.sequence, batch.records) for batch in batches]
    assert all(batch.size <= 3_000 or batch.records == 3 for batch in batches)


def test_batches_take_more_small_records_than_large_ones() -> None:
    config: dict[str, int | str | bool] = {"linger.ms": 100, "batch.size": 3_000}
    log = log_of(UniformSizes(50, 500), config).brokers[1].replicas[P].log
    counts = {batch.records for _epoch_branch, batch, _start, _end in log.batches()}
    assert len(counts) > 2


def test_records_that_are_too_large_fail_and_others_come_after_them() -> None:
    sizes = TwoSizes(100, 5_000, 200_000)
    cluster = log_of(sizes, {"max.request.size": 4_000})
    log = cluster.brokers[1].replicas[P].log
    batches = [batch for _epoch_branch, batch, _start, _end in log.batches()]
    assert {batch.size for batch in batches} == {300}
    ledger = cluster.view().ledger
    assert ledger.failed > 100
    assert ledger.acked == ledger.sent - ledger.failed == sum(batch.records for batch in batches) > 100


def test_batch_splits_and_memory_use_generated_sizes() -> None:
    sizes = UniformSizes(50, 500)
    config: dict[str, int | str | bool] = {"linger.ms": 200, "batch.size": 6_000, "buffer.memory": 20_000}
    cluster = log_of(sizes, config)
    producer = cluster.producers["p"]
    assert producer._accumulator.used == 0
    assert cluster.view().ledger.acked == cluster.view().ledger.sent > 500
