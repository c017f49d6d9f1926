"""What is left out changes nothing: a cluster that handles every idle fetch has the same history."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_model.cluster import Cluster
from cluster_model.events import Event
from cluster_model.kernel import exchanges
from cluster_model.spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from cluster_model.views import ClusterView

pytestmark = pytest.mark.thorough

MS = 1_000
SECOND = 1_000_000
VERSIONS = ("0.8.2", "0.10.2", "1.0", "2.0", "2.4", "2.7", "3.3", "3.9", "4.1")


def drawn_spec(random: Random) -> ClusterSpec:
    """A small cluster with records far apart, so that exchanges fall asleep and are woken."""
    brokers = random.choice([2, 3, 4])
    producers = tuple(
        ProducerSpec(
            f"writer {index}",
            "t",
            random.choice([300 * MS, 3 * SECOND, 20 * SECOND]),
            1,
            config={"acks": random.choice(["all", "1"])},
        )
        for index in range(2)
    )
    short = {"replica.lag.time.max.ms": 4_000, "replica.fetch.wait.max.ms": random.choice([1, 20, 500])}
    return ClusterSpec(
        kafka=random.choice(VERSIONS),
        mode=None,
        brokers=tuple(BrokerSpec(index + 1) for index in range(brokers)),
        topics=(TopicSpec("t", random.choice([1, 3, 6]), 2),),
        producers=producers,
        groups=(GroupSpec("readers", ("t",)),) if random.random() < 0.3 else (),
        network=NetworkSpec(random.choice([0, 100, 500, 20_000]), random.choice([0, 1, 200, 3_000])),
        config=random.choice([{}, short]),
    )


def shaken(seed: int, *, naive: bool) -> Cluster:
    """A run with faults at drawn instants."""
    random = Random(seed)
    spec = drawn_spec(random)
    cluster = Cluster.build(spec, seed, naive=naive)
    ids = [broker.id for broker in spec.brokers]
    states = dict.fromkeys(ids, "up")
    lags: list[tuple[int, int, int]] = []
    for number in range(random.choice([3, 10])):
        cluster.run(cluster.now_us + random.choice([1, random.randrange(600 * MS), random.randrange(40 * SECOND)]))
        node = random.choice(ids)
        verb = random.choice(["crash", "power_loss", "restart", "pause", "resume", "add_lag", "remove_lag"])
        allowed, then = {
            "crash": ("up", "down"), "power_loss": ("up", "down"), "restart": ("down", "up"),
            "pause": ("up", "paused"), "resume": ("paused", "up"),
        }.get(verb, ("", ""))  # fmt: skip
        if verb == "add_lag":
            source, target = random.sample(ids, 2)
            cluster.add_lag(source, target, number, random.randrange(100 * MS), random.choice([0, 50 * MS]))
            lags.append((source, target, number))
        elif verb == "remove_lag":
            if lags:
                cluster.remove_lag(*lags.pop())
        elif states[node] == allowed:
            getattr(cluster, verb)(node)
            states[node] = then
    cluster.run(cluster.now_us + 30 * SECOND)
    return cluster


def history(cluster: Cluster) -> tuple[list[Event], ClusterView]:
    """Everything that can be observed."""
    return cluster.drain(), replace(cluster.view(), events=0)


@settings(max_examples=30)
@given(seed=st.integers(0, 1 << 30))
def test_idle_exchanges_are_left_out_without_a_trace(seed: int) -> None:
    left_out, naive = shaken(seed, naive=False), shaken(seed, naive=True)
    assert history(left_out) == history(naive)
    assert left_out.executed <= naive.executed


def test_something_is_left_out() -> None:
    pairs = [(shaken(seed, naive=False).executed, shaken(seed, naive=True).executed) for seed in range(6)]
    assert sum(few for few, _all in pairs) * 2 < sum(most for _few, most in pairs)


def test_a_sleeper_that_lost_count_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: one cycle too many slept is another history."""
    honest = exchanges.Exchange._slept_us

    def one_more(self: exchanges.Exchange, first: int, cycles: int) -> int:
        return honest(self, first, cycles) + (1_000 if cycles else 0)

    monkeypatch.setattr(exchanges.Exchange, "_slept_us", one_more)
    assert any(history(shaken(seed, naive=False)) != history(shaken(seed, naive=True)) for seed in range(6))


@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 30), pause=st.integers(1, 20 * SECOND))
def test_a_keyframe_of_sleepers_goes_on_as_the_first_time(seed: int, pause: int) -> None:
    cluster = shaken(seed, naive=False)
    keyframe = cluster.save()
    cluster.run(cluster.now_us + pause)
    first = (cluster.digest(), cluster.view())
    cluster.load(keyframe)
    cluster.run(cluster.now_us + pause)
    assert (cluster.digest(), cluster.view()) == first
