"""Operations on consumer groups in whole clusters: what they commit, refuse and tell, and who gets in between."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.log.offset_index import offset_for_timestamp
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import AdminAnswered, AdminProgress
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action, FaultError, Value
from faults.injector import FaultInjector
from tests.support.breadth import spread_sample
from tests.support.golden import GoldenFile

pytestmark = pytest.mark.slow

MS, SECOND = 1_000, 1_000_000
GOLDENS = Path(__file__).parent / "goldens"
MEMBERS = {"session.timeout.ms": 6_000, "auto.commit.interval.ms": 1_000}


class Rig:
    """Three brokers; ``orders`` has three partitions, to which is written for ten seconds, and ``billing`` reads it."""

    def __init__(self, kafka: str = "3.9", mode: str = "", protocol: str = "classic") -> None:
        placement = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
        config: dict[str, Value] = dict(MEMBERS)
        if kafka in ("0.9", "0.10.0"):
            config["session.timeout.ms"] = 10_000
        if protocol == "consumer":  # Its brokers decide on sessions: 45 s.
            config = {"group.protocol": protocol, "auto.commit.interval.ms": 1_000}
        self.session_s = 45 if protocol == "consumer" else 11
        spec = ClusterSpec(
            kafka,
            mode or ("kraft" if kafka >= "3.3" else "zookeeper"),
            tuple(BrokerSpec(each) for each in (1, 2, 3)),
            (
                TopicSpec("orders", 3, 3, placement),
                TopicSpec("alone", placement=((3,),)),
                TopicSpec("__consumer_offsets", placement=placement, config={"cleanup.policy": "compact"}),
            ),
            (ProducerSpec("checkout", "orders", 10 * MS, stop_us=10 * SECOND, config={"acks": "all"}),),
            (GroupSpec("billing", ("orders",), 2, config=config, coordinated=True),),  # type: ignore[arg-type]
            NetworkSpec(1_000, 300),
        )
        self.cluster = Cluster.build(spec, 5)
        self.board = FaultInjector(self.cluster)
        self.events: list[Any] = []

    def run(self, seconds: float) -> None:
        self.run_to(self.cluster.now_us + int(seconds * SECOND))

    def run_to(self, at_us: int) -> None:
        self.cluster.run(at_us)
        self.events += [each for each in self.cluster.drain() if isinstance(each, (AdminAnswered, AdminProgress))]

    def begin(self, name: str, **params: Value) -> int:
        return self.board.admin(Action("admin", name, "", params))

    def answer(self, number: int, seconds: float = 70) -> AdminAnswered:
        until = self.cluster.now_us + int(seconds * SECOND)
        while True:
            for event in self.events:
                if isinstance(event, AdminAnswered) and event.operation_id == number:
                    return event
            assert self.cluster.now_us < until, "no answer"
            self.run(0.05)

    def do(self, name: str, **params: Value) -> tuple[str, str]:
        """Error and detail."""
        answered = self.answer(self.begin(name, **params))
        return answered.error, answered.detail

    def told(self, number: int) -> list[str]:
        return [each.detail for each in self.events if isinstance(each, AdminProgress) and each.operation_id == number]

    def committed(self, group: str) -> dict[str, int]:
        for coordinator in self.cluster.coordinators.values():
            found = coordinator.registry.groups.get(group)
            if found is not None:
                return {name: value.offset for name, value in found.offsets.committed.items()}
        return {}

    def pause(self, seconds: float) -> None:
        """All of the group's members, for so long from now on."""
        self.board.inject(
            Action("inject", "gc_pause", "client(billing/0) + client(billing/1)", {}, int(seconds * SECOND))
        )


def reset(rig: Rig, **params: Value) -> tuple[str, str]:
    return rig.do("reset_offsets", group="late", execute=True, **params)


@pytest.mark.parametrize(("kafka", "mode"), [("0.11", ""), ("2.1", ""), ("3.9", "zookeeper"), ("3.9", ""), ("4.0", "")])
def test_every_reset_strategy_commits_its_offsets(kafka: str, mode: str) -> None:
    rig = Rig(kafka, mode)
    rig.run(14)
    assert rig.do("delete_records", partition="orders-0", before=20)[0] == ""
    end = rig.cluster.query.hw("orders-0")
    assert end > 200
    only: dict[str, Value] = {"topics": ("orders:0",)}
    assert reset(rig, to_offset=50, **only) == ("", "1 partition reset")
    assert rig.committed("late") == {"orders-0": 50}
    since = offset_for_timestamp(rig.cluster.cluster_state.replica("orders-0", 1).log, 4 * SECOND)
    assert since is not None
    for wanted, params in (
        (50, {"to_current": True}),
        (20, {"to_earliest": True}),
        (end, {"to_latest": True}),
        (end, {"to_offset": end + 1}),
        (20, {"to_offset": 5}),
        (27, {"shift_by": 7}),
        (20, {"shift_by": -100}),
        (20, {"shift_by": 0}),
        (since.offset, {"to_datetime": 4 * SECOND}),
        (20, {"to_datetime": 0}),
        (end, {"to_datetime": 12 * SECOND}),
        (end, {"by_duration": 0}),
        (20, {"by_duration": 9_999 * SECOND}),
    ):
        assert reset(rig, **only, **params) == ("", "1 partition reset"), params
        assert rig.committed("late") == {"orders-0": wanted}, params
    assert reset(rig, by_duration=rig.cluster.now_us - 4 * SECOND, **only)[0] == ""
    # The tool subtracts from its own clock as it asks the logs, a few milliseconds from now.
    assert rig.committed("late")["orders-0"] - since.offset in (0, 1)
    assert reset(rig, from_file=("orders,0,33", "orders,2,1", "orders,2,7")) == ("", "2 partitions reset")
    assert rig.committed("late") == {"orders-0": 33, "orders-2": 7}


def test_scopes(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.run(12)
    assert reset(rig, to_earliest=True, topics=("orders:2,0",)) == ("", "2 partitions reset")
    assert rig.committed("late") == {"orders-2": 0, "orders-0": 0}
    assert reset(rig, shift_by=5, all_topics=True) == ("", "2 partitions reset"), "what is committed, and no more"
    assert rig.committed("late") == {"orders-2": 5, "orders-0": 5}
    assert reset(rig, to_current=True, topics=("orders",)) == ("", "3 partitions reset")
    assert rig.committed("late") == {"orders-2": 5, "orders-0": 5, "orders-1": rig.cluster.query.hw("orders-1")}
    error, detail = reset(rig, to_earliest=True, topics=("nowhere",))
    assert error == "UNKNOWN_TOPIC_OR_PARTITION"
    assert detail == snapshot
    error, detail = rig.do("reset_offsets", group="nobody", all_topics=True, to_earliest=True, execute=True)
    assert error == ""
    assert detail == snapshot


def test_a_dry_run_reports_and_commits_nothing(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.run(12)
    number = rig.begin("reset_offsets", group="late", topics=("orders:1",), to_offset=1 << 40)
    answer = rig.answer(number)
    assert answer.error == ""
    assert answer.detail == snapshot
    told = rig.told(number)
    assert told == snapshot
    assert told[-1].split() == ["late", "orders", "1", str(rig.cluster.query.hw("orders-1"))]
    assert rig.committed("late") == {}


def test_a_shift_of_what_was_never_committed_fails_the_whole_command(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.run(3)
    assert reset(rig, to_offset=1, topics=("orders:0",))[0] == ""
    error, detail = reset(rig, shift_by=1, topics=("orders",))
    assert error == "INVALID_REQUEST"
    assert detail == snapshot
    assert rig.committed("late") == {"orders-0": 1}


def test_a_group_with_members_is_left_alone(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.run(8)
    before = rig.committed("billing")
    error, detail = rig.do("reset_offsets", group="billing", topics=("orders",), to_earliest=True, execute=True)
    assert error == "NON_EMPTY_GROUP"
    assert detail == snapshot
    assert before
    assert all(rig.committed("billing")[name] >= offset for name, offset in before.items())


def test_members_read_from_where_a_reset_has_put_them() -> None:
    rig = Rig()
    rig.run(12)
    ends = rig.committed("billing")
    assert all(offset > 200 for offset in ends.values())
    rig.pause(9)
    rig.run(8)
    assert rig.cluster.query.group_state("billing") == "Empty"
    assert rig.do("reset_offsets", group="billing", topics=("orders",), to_offset=100, execute=True)[0] == ""
    assert rig.committed("billing") == dict.fromkeys(ends, 100)
    before = sum(consumer.read for consumer in rig.cluster.consumers.values())
    rig.run(12)
    read = sum(consumer.read for consumer in rig.cluster.consumers.values()) - before
    assert read == sum(ends.values()) - 300
    assert rig.cluster.query.lag("billing") == 0


@pytest.mark.parametrize("at_us", spread_sample([0, 2_500, 5_000, 7_500, 12_000, 20_000], 3))
def test_a_reset_continues_from_a_keyframe_and_slices_do_not_matter(at_us: int) -> None:
    rig = Rig()
    rig.run(12)
    number = rig.begin("reset_offsets", group="late", topics=("orders",), shift_by=1, execute=True)
    rig.cluster.run(rig.cluster.now_us + at_us)
    frame, saved = rig.cluster.save(), rig.board.save()
    twin = rig.cluster.twin()
    board = FaultInjector(twin)
    twin.load(frame)
    board.load(saved)
    assert board.save() == saved
    while twin.now_us < 15 * SECOND:
        twin.run(min(15 * SECOND, twin.now_us + 700))
    rig.run_to(15 * SECOND)
    assert rig.answer(number).error == "INVALID_REQUEST"
    assert (twin.digest(), board.save()) == (rig.cluster.digest(), rig.board.save())


def test_consumer_protocol_members_block_an_offset_reset() -> None:
    rig = Rig("4.0", protocol="consumer")
    rig.run(8)
    ask: dict[str, Value] = {"group": "billing", "topics": ("orders",), "execute": True}
    assert rig.do("reset_offsets", to_earliest=True, **ask)[0] == "NON_EMPTY_GROUP"
    assert rig.cluster.query.group_state("billing") == "Stable"
    rig.pause(60)
    rig.run(50)
    assert rig.cluster.query.group_state("billing") == "Empty"
    assert rig.do("reset_offsets", to_offset=3, **ask) == ("", "3 partitions reset")
    assert set(rig.committed("billing").values()) == {3}


def outcome(rig: Rig, delay_us: int) -> tuple[str, bool]:
    """A reset that begins so much later: its error, and whether it moved the members."""
    rig.events.clear()
    rig.cluster.run(rig.cluster.now_us + delay_us)
    number = rig.begin("reset_offsets", group="billing", topics=("orders",), to_earliest=True, execute=True)
    answered = rig.answer(number)
    moved = rig.told(number) and 0 in rig.committed("billing").values()
    return answered.error, bool(moved)


def test_a_member_that_joins_in_between_makes_the_coordinator_refuse_the_commit() -> None:
    """Begun too early for it, in the middle, and too late: there are a few milliseconds from look to commit."""
    rig = Rig()
    rig.run(12)
    rig.pause(9)
    rig.run(8.93)  # In 70 ms the members wake up.
    keyframe, board = rig.cluster.save(), rig.board.save()
    found = {}
    for delay in range(0, 110 * MS, 4 * MS):
        rig.cluster.load(keyframe)
        rig.board.load(board)
        found[delay] = outcome(rig, delay)
    errors = list(dict.fromkeys(error for error, _moved in found.values()))
    assert errors == ["", "UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP"]
    assert all(moved == (error == "") for error, moved in found.values())


def test_a_coordinator_that_dies_is_looked_for_again() -> None:
    rig = Rig()
    rig.run(12)
    number = rig.begin("reset_offsets", group="late", topics=("orders",), to_offset=9, execute=True)
    coordinator = rig.cluster.query.leader("__consumer_offsets-2")
    rig.run(0.004)
    rig.cluster.crash(coordinator)
    assert rig.answer(number).error == ""
    assert set(rig.committed("late").values()) == {9}


def test_a_partition_without_a_leader_times_a_reset_out_and_is_reported_without_an_end(
    snapshot: SnapshotAssertion,
) -> None:
    rig = Rig()
    rig.run(3)
    assert reset(rig, to_earliest=True, topics=("alone",))[0] == ""
    rig.cluster.crash(3)
    rig.run(25)
    assert rig.cluster.query.leader("alone-0") == -1
    number = rig.begin("describe_group", group="late")
    assert rig.answer(number).detail == snapshot
    assert rig.told(number)[-1].split() == ["late", "alone", "0", "0", "-", "-", "-", "-", "-"]
    assert reset(rig, to_latest=True, topics=("alone",))[0] == "REQUEST_TIMED_OUT"


# -- what is told -----------------------------------------------------------------------------------------------------


def story(kafka: str, protocol: str) -> str:
    """A group described in all of its states, with what else there is to tell of groups."""
    rig = Rig(kafka, protocol=protocol)
    lines: list[str] = []

    def tell(name: str, **params: Value) -> None:
        number = rig.begin(name, **params)
        answered = rig.answer(number)
        what = " ".join(f"{key}={value}" for key, value in params.items())
        lines.append(f"{rig.cluster.now_us // SECOND}s {name} {what}".rstrip())
        lines.extend(f"  {line}" for line in rig.told(number))
        lines.append(f"  => {answered.error or 'ok'}{', ' if answered.detail else ''}{answered.detail}")

    rig.run(0.5)
    tell("describe_group", group="billing")
    rig.run(3.5)
    tell("describe_group", group="billing")
    rig.run(6)
    for show in ("offsets", "members", "state"):
        tell("describe_group", group="billing", show=show, verbose=True)
    tell("reset_offsets", group="late", topics=("orders:1,2",), to_offset=7, execute=True)
    tell("list_groups")
    tell("list_groups", state="Empty")
    tell("delete_offsets", group="billing", topics=("orders",))
    tell("delete_offsets", group="late", topics=("orders:1,9",))
    tell("delete_group", group="billing")
    tell("delete_group", group="late")
    tell("delete_group", group="late")
    rig.pause(rig.session_s + 3)
    rig.run(rig.session_s + 1)
    for show in ("offsets", "members", "state"):
        tell("describe_group", group="billing", show=show)
    tell("describe_group", group="late")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["0.9", "0.10.2", "2.0", "2.4", "3.9", "4.0-consumer"])
def test_group_descriptions(name: str, golden_file: GoldenFile) -> None:
    kafka, _dash, protocol = name.partition("-")
    assert story(kafka, protocol or "classic") == golden_file(GOLDENS / f"groups@{name}.txt")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"group": "g", "topics": ("orders",)}, "choose_one"),
        ({"group": "g", "topics": ("orders",), "to_earliest": True, "shift_by": 0}, "choose_one"),
        ({"group": "g", "to_earliest": True}, "choose_one"),
        ({"group": "g", "topics": ("orders",), "all_topics": True, "to_latest": True}, "choose_one"),
        ({"group": "g", "topics": ("orders",), "from_file": ("orders,0,1",)}, "topics_beside_file"),
        ({"group": "g", "topics": ("orders:x",), "to_latest": True}, "wrong_value"),
        ({"group": "g", "from_file": ("orders,0",)}, "wrong_value"),
        ({"topics": ("orders",), "to_latest": True}, "missing_parameter"),
        ({"group": "g", "topics": ("orders",), "to_offset": -5}, "wrong_value"),
    ],
)
def test_invalid_offset_resets_are_rejected(params: dict[str, Value], code: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(FaultError) as caught:
        Rig().begin("reset_offsets", **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


# -- conditions -------------------------------------------------------------------------------------------------------


def test_conditions_report_the_group_state(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    query = rig.cluster.query
    assert query.group_state("billing") == "Dead"
    rig.run(0.5)
    assert (query.group_state("billing"), query.members("billing")) == ("PreparingRebalance", 2)
    rig.run(9)
    assert (query.group_state("billing"), query.members("billing")) == ("Stable", 2)
    lags = [query.lag("billing", f"orders-{number}") for number in range(3)]
    assert query.lag("billing") == sum(lags) > 0
    committed = rig.committed("billing")
    assert lags == [query.hw(f"orders-{number}") - committed[f"orders-{number}"] for number in range(3)]
    assert query.lag("billing", "alone-0") == 0
    with pytest.raises(ModelError) as caught:
        query.lag("billing", "orders-9")
    assert caught.value.code == "no_partition"
    assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as caught:
        query.group_state("late")
    assert caught.value.code == "no_group"
    assert str(caught.value) == snapshot
    rig.cluster.crash(query.leader("__consumer_offsets-1"))
    assert query.group_state("billing") == ""
