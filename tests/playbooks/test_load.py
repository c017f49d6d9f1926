"""A producer's load as playbooks write it: what the model gets, and that a run of it is the same in every slicing."""

import pytest

from cluster_model.clients.workload import RateCurve
from cluster_model.spec.cluster_spec import (
    RATE_UNITS,
    ClosedLoop,
    CustomPartitioner,
    HotKeys,
    ProducerSpec,
    RateProfile,
    RateSegment,
    SpreadSizes,
    TwoSizes,
    UniformSizes,
    ZipfKeys,
    constant,
)
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.units import UnitError, rate_units, share_ppm, thousandths

S = 1_000_000
HOUR = 3_600


def per_second(number: int) -> int:
    return number * HOUR * RATE_UNITS


def stretch(seconds: int, start: int, end: int | None = None) -> RateSegment:
    return RateSegment(seconds * S, per_second(start), per_second(start if end is None else end))


def forever(rate: int) -> RateSegment:
    return RateSegment(-1, per_second(rate), per_second(rate))


def producer(keys: str) -> ProducerSpec:
    text = (
        f"floodmark: 1\ntopics: [{{name: t, replication: 1}}]\nclients: {{producers: [{{name: p, topic: t, {keys}}}]}}"
    )
    return loads(text, "load.yaml").spec.producers[0]


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("{ramp: {from: 10/s, to: 500/s, over: 30s}}", RateProfile((stretch(30, 10, 500), forever(500)))),
        (
            "{ramp: {from: 10/s, to: 500/s, over: 30s}, every: 40s}",
            RateProfile((stretch(30, 10, 500), stretch(10, 500)), repeats=True),
        ),
        ("{ramp: {from: 10/s, to: 0/s, over: 30s}, every: 30s}", RateProfile((stretch(30, 10, 0),), repeats=True)),
        (
            "{step: [{rate: 100/s, for: 20s}, {rate: 0/s, for: 5s}]}",
            RateProfile((stretch(20, 100), stretch(5, 0), forever(0))),
        ),
        ("{step: [{rate: 100/s, for: 20s}, {rate: 7/s}]}", RateProfile((stretch(20, 100), forever(7)))),
        (
            "{step: [{rate: 100/s, for: 20s}, {rate: 7/s}], every: 1m}",
            RateProfile((stretch(20, 100), stretch(40, 7)), repeats=True),
        ),
        (
            "{burst: {rate: 2000/s, for: 2s, after: 8s, base: 50/s}, every: 30s}",
            RateProfile((stretch(8, 50), stretch(2, 2_000), stretch(20, 50)), repeats=True),
        ),
        ("{burst: {rate: 9/s, for: 2s}}", RateProfile((stretch(2, 9), forever(0)))),
        (
            "{burst: {rate: 9/s, for: 2s, after: 3s}, every: 5s}",
            RateProfile((stretch(3, 0), stretch(2, 9)), repeats=True),
        ),
    ],
)
def test_rates_become_stretches(text: str, profile: RateProfile) -> None:
    assert producer(f"rate: {text}").profile == profile


def test_a_plain_rate_keeps_its_interval_where_that_is_whole_and_drifts_nowhere() -> None:
    assert (producer("rate: 200/s").interval_us, producer("rate: 200/s").profile) == (5_000, None)
    third = producer("rate: 300/s, batch: 1")
    assert third.profile == constant(per_second(300))
    assert RateCurve(third.profile).when(300 * 3_600) == 3_600 * S


def test_loops_sizes_and_keys_become_what_the_model_takes() -> None:
    assert producer("rate: 1/s, loop: open").loop is None
    assert producer("batch: 4, loop: {outstanding: 50}").loop == ClosedLoop(50)
    assert producer("batch: 4, loop: {think: 10ms}").loop == ClosedLoop(4, 10_000)
    sizes = [producer(f"rate: 1/s, bytes: {text}") for text in ("512", "1KiB")]
    assert [(each.record_bytes, each.sizes) for each in sizes] == [(512, None), (1_024, None)]
    assert producer("rate: 1/s, bytes: {from: 100, to: 2KiB}").sizes == UniformSizes(100, 2_048)
    assert producer("rate: 1/s, bytes: {large: 64KiB, small: 1, share: 0.5%}").sizes == TwoSizes(1, 65_536, 5_000)
    assert producer("rate: 1/s, bytes: {median: 400, p99: 8KiB}").sizes == SpreadSizes(400, 8_192)
    for text, keys, skew in (
        ("100", 100, None),
        ("{distinct: 7}", 7, None),
        ("{distinct: 7, zipf: 1.1}", 7, ZipfKeys(1_100)),
        ("{distinct: 7, zipf: 2}", 7, ZipfKeys(2_000)),
        ("{distinct: 7, hot: 80%}", 7, HotKeys(800_000)),
    ):
        spec = producer(f"rate: 1/s, keys: {text}, tombstone_every: 3")
        assert (spec.keys, spec.skew, spec.tombstones) == (keys, skew, 3)


def test_a_partition_and_a_partitioner_of_ones_own_become_what_the_model_takes() -> None:
    assert (producer("rate: 1/s").partition, producer("rate: 1/s").partitioner) == (-1, None)
    assert producer("rate: 1/s, partition: 0").partition == 0
    for text, own in (
        ("{key-0: 0}", CustomPartitioner(((0, 0),))),
        ("{others: 0}", CustomPartitioner((), 0)),
        ("{key-12: 0, others: 0, key-3: 0}", CustomPartitioner(((12, 0), (3, 0)), 0)),
    ):
        assert producer(f"rate: 1/s, keys: 20, partitioner: {text}").partitioner == own


@pytest.mark.parametrize(
    ("text", "units"), [("0/s", 0), ("1/h", RATE_UNITS), ("0.000001/h", 1), ("1/us", RATE_UNITS * HOUR * S)]
)
def test_every_rate_that_can_be_written_is_a_whole_number_of_units(text: str, units: int) -> None:
    assert rate_units(text) == units


@pytest.mark.parametrize("text", ["1", "-1/s", "1/d", "0.0000001/h", "1e3/s", "/s"])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(UnitError):
        rate_units(text)


@pytest.mark.parametrize("text", ["0%", "100%", "-5%", "5", "0.00001%", "0.0%"])
def test_shares_are_more_than_none_and_less_than_all(text: str) -> None:
    assert share_ppm("99.9999%") == 999_999
    with pytest.raises(UnitError):
        share_ppm(text)


@pytest.mark.parametrize("text", ["0", "0.000", "5.001", "1.1111", "-1", "x"])
def test_exponents_have_their_range(text: str) -> None:
    assert (thousandths("0.001"), thousandths("5")) == (1, 5_000)
    with pytest.raises(UnitError):
        thousandths(text)


MIXED = """
floodmark: 1
cluster: {kafka: 3.9}
topics:
  - {name: t, partitions: 3, replication: 3, config: {cleanup.policy: compact, segment.bytes: 20000}}
clients:
  producers:
    - {name: a, topic: t, rate: {ramp: {from: 0/s, to: 150/s, over: 3s}, every: 4s}, keys: {distinct: 90, zipf: 0.9}}
    - {name: b, topic: t, rate: {burst: {rate: 700/s, for: 500ms, base: 3/s}, every: 2s}, bytes: {from: 1, to: 900},
       batch: 3, keys: {distinct: 20, hot: 60%}}
    - {name: c, topic: t, loop: {outstanding: 5, think: 7ms}, bytes: {median: 90, p99: 3KiB}, keys: 4,
       tombstone_every: 3}
steps:
  - {at: 3s, inject: crash, target: leader(t-0)}
  - {at: 9s, inject: gc_pause, target: client(b), for: 1s}
settle: 5s
"""


@pytest.mark.slow
def test_a_run_of_it_is_the_same_in_every_slicing() -> None:
    def run(step: int, events: int) -> str:
        session = Session.start(loads(MIXED, "mixed.yaml"))
        while session.advance(session.cluster.now_us + step, events):
            pass
        return session.finish().digest

    whole = run(100 * S, 0)
    assert run(7_001, 0) == whole
    assert run(100 * S, 13) == whole


@pytest.mark.slow
def test_going_back_and_on_again_gives_the_same() -> None:
    session = Session.start(loads(MIXED, "mixed.yaml"))
    session.advance(4 * S)
    saved = session.save()
    session.advance(12 * S)
    digest = session.cluster.digest()
    session.load(*saved)
    session.advance(12 * S)
    assert session.cluster.digest() == digest
