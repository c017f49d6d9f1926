"""Operations on transactions in whole clusters: what hangs is found, told and ended, all else is left alone."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import AdminAnswered, AdminProgress
from cluster_model.protocol.transaction_messages import DescribeTransactionsRequest
from faults.declarations.fault import Action, Value
from faults.injector import FaultInjector
from tests.cluster_model.coordinators.transaction.talks import Script, Talk
from tests.support.golden import GoldenFile

SECOND = 1_000_000
GOLDENS = Path(__file__).parent / "goldens"
E = KafkaError


class Rig:
    """A talk with an administrator: ``pay`` writes 5 records to orders-0, aborts them, and one more comes too late."""

    def __init__(self, kafka: str = "3.5") -> None:
        self.talk = Talk(kafka)
        self.board = FaultInjector(self.talk.cluster)
        self.events: list[AdminAnswered | AdminProgress] = []
        self.talk.run(3)

    def hang(self, name: str = "pay", *, commit: bool = False) -> Script:
        """Have a producer's late batch begin a transaction that nobody ends."""
        producer = self.talk.producer(name)
        assert producer.init() is E.NONE
        assert producer.add("orders-0") is E.NONE
        assert producer.write("orders-0", 5) is E.NONE
        late = producer.batch("orders-0")
        assert producer.end(commit=commit) is E.NONE
        self.run(0.5)
        assert producer.ask(1, late).error == E.NONE
        return producer

    def run(self, seconds: float) -> None:
        self.talk.run(seconds)
        self.events += [
            each for each in self.talk.cluster.drain() if isinstance(each, (AdminAnswered, AdminProgress))
        ]  # fmt: skip

    def begin(self, name: str, **params: Value) -> int:
        return self.board.admin(Action("admin", name, "", params))

    def answer(self, number: int) -> tuple[str, str]:
        """Error and detail."""
        until = self.talk.cluster.now_us + 70 * SECOND
        while self.talk.cluster.now_us < until:
            for event in self.events:
                if isinstance(event, AdminAnswered) and event.operation_id == number:
                    return event.error, event.detail
            self.run(0.05)
        raise AssertionError("no answer")

    def do(self, name: str, **params: Value) -> tuple[str, str]:
        return self.answer(self.begin(name, **params))

    def told(self, number: int) -> list[str]:
        return [each.detail for each in self.events if isinstance(each, AdminProgress) and each.operation_id == number]

    @property
    def stable(self) -> tuple[int, int]:
        """Last stable offset and high watermark of orders-0."""
        return self.talk.lso("orders-0"), self.talk.hw("orders-0")


def abort(rig: Rig, **params: Value) -> tuple[str, str]:
    return rig.do("abort_transaction", partition="orders-0", **params)


LONG = 5 * SECOND


# -- what hangs is ended -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["3.0", "3.2", "3.5"])
@pytest.mark.parametrize("params", [{"start_offset": 6}, {"max_transaction_timeout": LONG}], ids=["offset", "found"])
def test_a_hanging_transaction_is_ended_by_hand(
    kafka: str, params: dict[str, Value], snapshot: SnapshotAssertion
) -> None:
    rig = Rig(kafka)
    producer = rig.hang()
    rig.run(8)
    assert rig.stable == (6, 7)
    error, told = abort(rig, **params)
    assert error == ""
    assert told.startswith(f"producer {producer.producer_id}: ")
    assert told == snapshot
    rig.run(1)
    assert rig.stable == (8, 8)
    log = rig.talk.cluster.cluster_state.replica("orders-0", 1).log
    assert [(each.first_offset, each.last_offset) for each in log.transactions.aborted] == [(0, 5), (6, 7)]
    assert rig.do("find_hanging", partition="orders-0", max_transaction_timeout=0) == ("", "0 hanging transactions")


def test_a_producer_without_a_marker_is_ended_by_epoch_0(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    producer = rig.talk.producer("pay")
    producer.init()
    assert producer.write("orders-0", 2) is E.NONE, "never added: its coordinator knows nothing of it"
    rig.run(6)
    number = rig.begin("describe_producers", partition="orders-0")
    error, detail = rig.answer(number)
    assert error == ""
    assert detail == snapshot
    assert rig.told(number)[-1].split()[2:4] == ["-1", "1"]
    assert abort(rig, max_transaction_timeout=LONG)[0] == ""
    rig.run(1)
    assert rig.stable == (3, 3)
    (entry,) = rig.talk.cluster.cluster_state.replica("orders-0", 1).leadership.producers.active(
        rig.talk.cluster.now_us
    )  # type: ignore[union-attr]
    assert entry[4] == 0


def test_the_first_of_several_goes_first(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    first, second = rig.hang("pay"), rig.hang("ship")
    rig.run(6)
    assert rig.stable[0] == 6
    told = abort(rig, max_transaction_timeout=LONG)[1]
    assert told.startswith(f"producer {first.producer_id}: ")
    assert told == snapshot
    rig.run(1)
    assert rig.stable[0] == 13
    assert abort(rig, max_transaction_timeout=LONG)[1].startswith(f"producer {second.producer_id}: ")
    rig.run(1)
    assert rig.stable[0] == rig.stable[1]


def test_find_hanging_moves_to_the_new_leader() -> None:
    rig = Rig()
    rig.hang()
    rig.run(6)
    rig.talk.cluster.crash(1)
    assert abort(rig, start_offset=6)[0] == ""
    assert rig.talk.cluster.query.leader("orders-0") == 2
    rig.run(1)
    assert rig.stable == (8, 8)


# -- what does not hang is left alone ------------------------------------------------------------------------------


def test_ongoing_transactions_are_not_hanging(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    producer = rig.talk.producer("pay")
    assert producer.init(timeout_ms=60_000) is E.NONE
    producer.add("orders-0")
    producer.write("orders-0")
    rig.run(8)
    assert rig.do("find_hanging", topic="orders", max_transaction_timeout=LONG) == ("", "0 hanging transactions")
    error, detail = abort(rig, max_transaction_timeout=LONG)
    assert error == "INVALID_REQUEST"
    assert detail == snapshot
    assert rig.stable == (0, 1)
    assert abort(rig, start_offset=0)[0] == "", "by its offset anything is ended"
    rig.run(1)
    assert rig.stable == (2, 2)


def test_open_in_another_partition_hangs_all_the_same() -> None:
    rig = Rig()
    producer = rig.hang()
    assert producer.add("orders-1") is E.NONE
    rig.run(6)
    assert rig.do("find_hanging", topic="orders", max_transaction_timeout=LONG) == ("", "1 hanging transaction")


def test_transactions_younger_than_the_maximum_timeout_are_not_suspected() -> None:
    rig = Rig()
    rig.hang()
    rig.run(8)
    assert rig.do("find_hanging", topic="orders", max_transaction_timeout=20 * SECOND)[1] == "0 hanging transactions"
    assert rig.do("find_hanging", topic="orders")[1] == "0 hanging transactions"
    rig.run(15 * 60)
    assert rig.do("find_hanging", topic="orders")[1] == "1 hanging transaction"


def test_a_marker_that_is_still_to_be_written_is_waited_for() -> None:
    rig = Rig()
    producer = rig.talk.producer("pay")
    producer.init()
    producer.add("orders-0", "alone-0")
    producer.write("alone-0")
    producer.write("orders-0")
    rig.talk.cluster.crash(3)
    rig.run(20)
    assert rig.talk.cluster.query.leader("alone-0") == -1
    producer.end(commit=True)
    rig.run(8)
    assert rig.stable == (2, 2)
    number = rig.begin("list_transactions")
    assert rig.answer(number) == ("", "1 transactional id")
    assert rig.told(number)[-1].split()[-1] == "PrepareCommit"
    coordinator = rig.talk.coordinator_of("pay")
    assert producer.ask(coordinator, DescribeTransactionsRequest(0, "pay")).partitions == ("alone-0",)
    rig.talk.cluster.restart(3)
    rig.run(20)
    assert producer.ask(coordinator, DescribeTransactionsRequest(0, "pay")).partitions == ()


def test_an_id_that_is_forgotten_between_two_questions_awaits_no_marker() -> None:
    rig = Rig()
    rig.hang()
    rig.run(6)
    number = rig.begin("find_hanging", topic="orders", max_transaction_timeout=LONG)
    while rig.board.operation_runner._jobs[number].stage != "described":
        rig.run(0.0005)
    rig.talk.transactions(rig.talk.coordinator_of("pay")).registry.ids.clear()
    assert rig.answer(number) == ("", "1 hanging transaction")


def test_nothing_begins_there(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.hang()
    error, detail = abort(rig, start_offset=5)
    assert error == "INVALID_REQUEST"
    assert detail == snapshot
    assert rig.stable == (6, 7)


def test_transaction_operations_on_an_offline_partition_fail(snapshot: SnapshotAssertion) -> None:
    rig = Rig()
    rig.talk.cluster.crash(3)
    rig.run(20)
    error, detail = rig.do("describe_producers", partition="alone-0")
    assert error == "REQUEST_TIMED_OUT"
    assert detail == snapshot


@pytest.mark.parametrize("kafka", ["0.11", "2.8"])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("list_transactions", {}), ("describe_producers", {"partition": "orders-0"}),
        ("find_hanging", {"topic": "orders"}), ("abort_transaction", {"partition": "orders-0"}),
    ],
)  # fmt: skip
def test_before_3_0_there_is_none_of_it(
    kafka: str, name: str, params: dict[str, Value], snapshot: SnapshotAssertion
) -> None:
    rig = Rig(kafka)
    error, detail = rig.do(name, **params)
    assert error == "UNSUPPORTED_VERSION"
    assert detail.endswith(" 3.0")
    assert detail == snapshot


@pytest.mark.parametrize("slices", [1, 7])
def test_an_operation_continues_from_where_it_was_saved(slices: int) -> None:
    """At any moment between its begin and its end."""

    def rig_with_one() -> Rig:
        rig = Rig()
        rig.hang()
        rig.run(6)
        return rig

    rig = rig_with_one()
    number = rig.begin("abort_transaction", partition="orders-0", max_transaction_timeout=LONG)
    rig.run(slices * 0.002)
    assert rig.board.operations()
    twin = rig_with_one()
    twin.talk.cluster.load(rig.talk.cluster.save())
    twin.board.load(rig.board.save())
    for each in (rig, twin):
        assert each.answer(number)[0] == ""
    assert (twin.talk.cluster.digest(), twin.told(number)) == (rig.talk.cluster.digest(), rig.told(number))


# -- what is told ----------------------------------------------------------------------------------------------------


def story(kafka: str) -> str:
    """Transactions in several states, one that hangs if the version lets it, and its end."""
    rig = Rig(kafka)
    lines: list[str] = []

    def tell(name: str, **params: Value) -> None:
        number = rig.begin(name, **params)
        error, detail = rig.answer(number)
        what = " ".join(f"{key}={value}" for key, value in params.items())
        lines.append(f"{rig.talk.cluster.now_us // SECOND}s {name} {what}".rstrip())
        lines.extend(f"  {line}" for line in rig.told(number))
        lines.append(f"  => {error or 'ok'}{', ' if detail else ''}{detail}")

    tell("list_transactions")
    tell("describe_producers", partition="orders-0")
    if kafka < "3.6":
        rig.hang()
    idle, busy = rig.talk.producer("idle"), rig.talk.producer("busy")
    idle.init()
    busy.init()
    busy.add("orders-0", "orders-1")
    busy.write("orders-0", 3)
    rig.run(6)
    tell("list_transactions")
    tell("describe_producers", partition="orders-0")
    tell("find_hanging", topic="orders")
    tell("find_hanging", topic="orders", max_transaction_timeout=LONG)
    tell("find_hanging", partition="orders-1", max_transaction_timeout=LONG)
    tell("find_hanging", topic="nowhere")
    tell("abort_transaction", partition="orders-0", max_transaction_timeout=LONG)
    tell("abort_transaction", partition="orders-0", max_transaction_timeout=LONG)
    busy.end(commit=True)
    rig.run(1)
    tell("list_transactions")
    tell("describe_producers", partition="orders-0")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kafka", ["2.8", "3.5", "3.9"])
def test_transaction_tool_output_is_as_recorded(kafka: str, golden_file: GoldenFile) -> None:
    assert story(kafka) == golden_file(GOLDENS / f"transactions@{kafka}.txt")
