"""Keyframes: saved after any event of any run, a cluster goes on from them as if nothing had been."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster, StopReason
from cluster_model.kernel.process import DISCONNECTED
from cluster_model.snapshots import ColumnTable, Snapshot, columns, pack, rows, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.support.breadth import sample_count
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

MS = 1_000
SECOND = 1_000_000

TARGETS = ("broker(1)", "leader(orders-0)", "random(followers(orders-1))", "random(2, isr(orders-0))", "controller")
CLIENTS = ("client(checkout)", "random(2, clients)", "members(billing)", "client(metrics) + client(billing/1)")
FAULTS = st.one_of(
    st.builds(
        lambda name, target, for_ms: Action("inject", name, target, {}, for_ms * MS),
        st.sampled_from(("crash", "power_loss", "gc_pause")),
        st.sampled_from(TARGETS),
        st.integers(50, 14_000),
    ),
    st.builds(
        lambda target, ms, for_ms: Action("inject", "lag", target, {"latency": ms * MS, "jitter": MS}, for_ms * MS),
        st.sampled_from((*TARGETS, "all")),
        st.integers(1, 900),
        st.integers(50, 9_000),
    ),
    st.builds(lambda target: Action("inject", "restart", target), st.sampled_from((*TARGETS, *CLIENTS))),
    st.builds(
        lambda name, target, for_ms: Action("inject", name, target, {}, for_ms * MS),
        st.sampled_from(("crash", "close", "gc_pause", "poll_stall")),
        st.sampled_from(CLIENTS),
        st.integers(1, 9_000),
    ),
    st.just(Action("heal", "all")),
    st.just(Action("admin", "elect_leaders", "", {"partition": "orders-0", "unclean": True})),
)
SCHEDULES = st.lists(st.tuples(st.integers(0, 4_000), FAULTS), max_size=6)
"""(milliseconds after the one before, what is done)."""
KAFKA = st.sampled_from((("0.8.2", None), ("0.10.2", None), ("2.0", None), ("2.5", None), ("3.9", "zookeeper"),
                         ("3.9", "kraft"), ("4.1", None)))  # fmt: skip


def spec_of(kafka: str, mode: str | None, pace: int = 1) -> ClusterSpec:
    topic = {"unclean.leader.election.enable": True, "segment.bytes": 20_000, "retention.ms": 8_000}
    return ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=(BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        topics=(TopicSpec("orders", 2, 3, ((1, 2, 3), (3, 1, 2)), topic),),
        producers=(
            ProducerSpec(
                "checkout", "orders", pace * 40 * MS, 4, config={"acks": "all", "linger.ms": 90}, resends=True
            ),
            ProducerSpec("audit", "orders", pace * 90 * MS, 1, config={"acks": "1"}),
            ProducerSpec("metrics", "orders", pace * 70 * MS, 2, config={"acks": "0"}),
        ),
        groups=(GroupSpec("billing", ("orders",), 2, 2 * MS),),
        config=those_of(
            "broker", kafka, {"log.retention.check.interval.ms": 5_000, "log.initial.task.delay.ms": 1_000}
        ),
    )


class Run:
    """A cluster, its faults, and what is still to be done to it."""

    def __init__(self, cluster: Cluster, schedule: list[tuple[int, Action]]) -> None:
        self.cluster = cluster
        self.board = FaultInjector(cluster)
        self.waiting: list[tuple[int, Action]] = []
        at_us = 0
        for gap_ms, action in schedule:
            at_us += gap_ms * MS
            self.waiting.append((at_us, action))
        self.end_us = at_us + 5 * SECOND
        self.done = 0

    def go(self, executed: int = 1 << 60) -> "Run":
        """On until so many events are handled, or to the end."""
        while self.cluster.executed < executed:
            ours = self.done < len(self.waiting)
            at_us = self.waiting[self.done][0] if ours else self.end_us
            if self.cluster.run(at_us, executed - self.cluster.executed) is not StopReason.TIME or not ours:
                return self
            self._do(self.waiting[self.done][1])
            self.done += 1
        return self

    def _do(self, action: Action) -> None:
        try:
            if action.verb == "inject":
                self.board.inject(action)
            elif action.verb == "heal":
                self.board.heal(action.name)
            else:
                self.board.admin(action)
        except FaultError:
            return

    def save(self) -> tuple[Snapshot, tuple[Any, ...]]:
        return self.cluster.save(), (self.board.save(), self.done)

    def load(self, keyframe: Snapshot, rest: tuple[Any, ...]) -> "Run":
        self.cluster.load(keyframe)
        board, self.done = rest
        self.board.load(board)
        return self

    def seen(self) -> tuple[Any, ...]:
        """Everything that can be seen."""
        cluster = self.cluster
        logs = [cluster.log_view(name, 0, 1 << 40) for name in cluster.cluster_state.records]
        return (cluster.digest(), cluster.view(), logs, self.board.active(), cluster.drain())


@settings(max_examples=sample_count(8, max(20, settings.default.max_examples // 5)))
@given(kafka=KAFKA, seed=st.integers(0, 99), schedule=SCHEDULES, early=st.integers(0, 999), late=st.integers(0, 999))
def test_from_any_event_on_a_run_continues_as_it_did(
    kafka: tuple[str, str | None], seed: int, schedule: list[tuple[int, Action]], early: int, late: int
) -> None:
    def fresh() -> Run:
        return Run(Cluster.build(spec_of(*kafka, pace=2), seed), schedule)

    events = fresh().go().cluster.executed
    expected = fresh().go().seen()
    early, late = sorted((events * early // 1_000, events * late // 1_000))

    run = fresh()
    kept = [run.go(executed).save() for executed in (early, late)]
    packed = [pack(*state) for state in kept]
    assert run.go().seen() == expected  # saving leaves no mark

    twin = Run(run.cluster.twin(), schedule)
    for place in (1, 0, 1):  # in any order, and without a mark on the cluster that it reads from
        assert twin.load(*unpack(packed[place])).go().seen() == expected
    assert twin.load(*kept[0]).go(late).seen()[0] == fresh().go(late).cluster.digest()

    for state in reversed(kept):  # one that goes back itself can only go on from there, or further back
        assert run.load(*state).go().seen() == expected


def small(seconds: int) -> Run:
    run = Run(Cluster.build(spec_of("3.9", None), 1), [])
    run.cluster.run(seconds * SECOND)
    return run


def test_a_keyframe_of_batches_that_were_forgotten_is_refused(snapshot: SnapshotAssertion) -> None:
    run = small(1)
    early = run.save()
    run.cluster.run(2 * SECOND)
    late = run.save()
    run.load(*early)
    with pytest.raises(ValueError, match="keyframe") as caught:
        run.load(*late)
    assert str(caught.value) == snapshot


def test_a_keyframe_does_not_fit_a_cluster_that_wrote_nothing(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match="keyframe") as caught:
        small(0).load(*small(1).save())
    assert str(caught.value) == snapshot


def test_a_twin_that_goes_another_way_leaves_the_logs_alone() -> None:
    run = small(3)
    before = run.seen()
    keyframe = run.save()
    run.cluster.run(4 * SECOND)
    after = run.seen()

    twin = Run(run.cluster.twin(), []).load(*keyframe)
    twin.cluster.crash(1)
    twin.cluster.run(30 * SECOND)
    assert twin.cluster.query.leo("orders-0") > run.cluster.query.leo("orders-0")
    assert run.seen()[:3] == after[:3]
    assert Run(run.cluster.twin(), []).load(*keyframe).seen()[:3] == before[:3]


def test_a_twin_of_a_twin_goes_back_too() -> None:
    run = small(2)
    twin = Run(run.cluster.twin(), []).load(*run.save())
    twin.cluster.power_loss(1)  # from here on the twin has a history of its own
    twin.cluster.run(20 * SECOND)
    kept = twin.save()
    twin.cluster.run(25 * SECOND)
    end = twin.seen()[:3]

    third = Run(twin.cluster.twin(), []).load(*kept)
    third.cluster.run(25 * SECOND)
    assert third.seen()[:3] == end
    assert twin.seen()[:3] == end


def test_singletons_stay_singletons_after_packing() -> None:
    run = small(1)
    run.cluster.crash(1)
    keyframe, _rest = unpack(pack(run.cluster.save()))
    messages = [payload[-1] for _at, _sequence, _kind, _target, payload in keyframe.network[0][-1] if payload]
    assert any(message is DISCONNECTED for message in messages)


class Pair(tuple[Any, ...]):
    """Not a plain tuple: to be left as it is."""


_LEAVES = st.none() | st.integers(-3, 3) | st.text(max_size=2) | st.builds(Pair, st.just((1, 2)))
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=9).map(tuple),
        st.integers(1, 3).flatmap(
            lambda width: st.lists(st.tuples(*[inner] * width), min_size=7, max_size=9).map(tuple),
        ),
    ),
    max_leaves=40,
)


@settings(max_examples=sample_count(40, settings.default.max_examples))
@given(_TREES)
def test_columns_become_rows_again(tree: Any) -> None:
    assert repr(rows(columns(tree))) == repr(tree)


def test_snapshot_tables_are_stored_by_column() -> None:
    table = tuple((number, (number, -1), None) for number in range(9))
    numbers = tuple(range(9))
    assert columns((table,)) == ((numbers, (numbers, (-1,) * 9), (None,) * 9),)
    assert type(columns(table)) is ColumnTable
    ragged = (*table, (1, 2))
    assert columns(ragged) == ragged


def test_a_packed_keyframe_knows_its_size() -> None:
    small_one, large = (pack(small(seconds).cluster.save()) for seconds in (0, 20))
    assert len(small_one.blob) < small_one.size < len(small_one.blob) + 1_000
    assert small_one.size < large.size
