"""What is left out changes nothing: a cluster that handles every idle fetch has the same history."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_model.cluster import Cluster
from cluster_model.kernel import long_poll
from cluster_model.kernel.link import LinkCondition
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from tests.cluster_model.shaking import (
    SECOND,
    SHAPES,
    Step,
    act,
    advance,
    drawn_plan,
    drawn_spec,
    go_on,
    reach,
    seen,
    state,
)
from tests.support.breadth import sample_count

pytestmark = pytest.mark.slow


def drawn(seed: int) -> tuple[ClusterSpec, list[Step]]:
    random = Random(seed)
    spec = drawn_spec(random)
    return spec, drawn_plan(random, spec)


def compare(seed: int, spec: ClusterSpec, plan: list[Step]) -> tuple[int, int]:
    """Do the same to a cluster and to one that leaves nothing out; returns how many events each took."""
    left_out, naive = Cluster.build(spec, seed), Cluster.build(spec, seed, naive=True)
    for step in plan:
        reach(naive, advance(left_out, step))
        assert left_out.drain() == naive.drain()
        act(left_out, step)
        act(naive, step)
    assert seen(left_out) == seen(naive)
    assert state(left_out) == state(naive)
    return left_out.executed, naive.executed


@pytest.mark.parametrize("seed", range(1, 1 + sample_count(6, 40)))
def test_idle_exchanges_are_left_out_without_a_trace(seed: int) -> None:
    few, most = compare(seed, *drawn(seed))
    assert few * 10 <= most * 11, "exchanges that are woken all the time cost a little for every wakening"


def test_exchanges_that_hardly_ever_sleep_cost_little_and_change_nothing() -> None:
    few, most = compare(1_000_000_000, *drawn(1_000_000_000))
    assert most < few < most * 11 // 10


CALM = ClusterSpec(
    kafka="3.9",
    mode=None,
    brokers=(BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
    topics=(TopicSpec("t", 6, 3),),
)


def test_something_is_left_out() -> None:
    few, most = compare(0, CALM, [Step(60 * SECOND, 0, "nothing", 1, 2, 0)])
    assert few * 5 < most


@pytest.mark.parametrize("verb", ["crash", "torn", "power_loss", "shutdown", "disk_loss", "pause", "controller"])
def test_whatever_ends_a_process_wakes_its_exchanges(verb: str) -> None:
    plan = [Step(7 * SECOND + 123, 0, verb, 2, 1, 0), Step(20 * SECOND, 0, "nothing", 1, 2, 0)]
    compare(0, CALM, plan)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_troubled_links_keep_exchanges_awake_and_nothing_is_left_out_of_what_passes(shape: LinkCondition) -> None:
    number = 4 * SHAPES.index(shape) + 1
    plan = [
        Step(7 * SECOND + 123, 0, "shape", 2, 1, number),
        Step(9 * SECOND, 0, "sever", 2, 1, 1),
        Step(4 * SECOND, 0, "crash", 3, 1, 1),
        Step(3 * SECOND, 0, "restart", 3, 1, 1),
        Step(20 * SECOND, 0, "lift", 2, 1, 1),
        Step(40 * SECOND, 0, "nothing", 1, 2, 0),
    ]
    few, most = compare(0, CALM, plan)
    assert few * 2 < most


def test_a_sleeper_that_lost_count_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: one cycle too many slept is another history."""
    honest = long_poll.LongPoll._slept_us

    def one_more(self: long_poll.LongPoll, first: int, cycles: int) -> int:
        return honest(self, first, cycles) + (1_000 if cycles else 0)

    monkeypatch.setattr(long_poll.LongPoll, "_slept_us", one_more)
    with pytest.raises(AssertionError):
        compare(0, CALM, [Step(7 * SECOND + 123, 0, "crash", 2, 1, 0), Step(9 * SECOND, 0, "nothing", 1, 2, 0)])


@settings(max_examples=sample_count(3, 8))
@given(seed=st.integers(0, 1 << 30), place=st.integers(0, 99))
def test_keyframes_of_sleepers_change_nothing_and_continue_as_the_first_time(seed: int, place: int) -> None:
    spec, plan = drawn(seed)
    digests = go_on(Cluster.build(spec, seed), plan)
    place %= len(plan)
    cluster = Cluster.build(spec, seed)
    keyframes = []
    for step, digest in zip(plan, digests, strict=True):
        go_on(cluster, [step])
        keyframes.append(cluster.save())
        assert cluster.digest() == digest
    end = cluster.save()[:-1]
    keyframe = unpack(pack(keyframes[place]))[0]
    twin = cluster.twin()
    for other in (twin, cluster):
        other.load(keyframe)
        assert other.save()[:-1] == keyframe[:-1]
        assert go_on(other, plan[place + 1 :]) == digests[place + 1 :]
        assert other.save()[:-1] == end


def test_a_keyframe_knows_of_a_disk_that_was_lost_while_its_broker_was_down() -> None:
    spec, _plan = drawn(0)
    cluster = Cluster.build(spec, 0)
    cluster.run(9 * SECOND)
    cluster.crash(1)
    cluster.save()
    assert any(replica.log.leo for replica in cluster.brokers[1].replicas.values())
    cluster.disk_loss(1)
    keyframe = cluster.save()
    twin = cluster.twin()
    twin.load(keyframe)
    assert not any(replica.log.leo for replica in twin.brokers[1].replicas.values())
