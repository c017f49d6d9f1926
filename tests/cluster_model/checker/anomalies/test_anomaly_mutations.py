"""A clean history corrupted in one way per case: exactly the expected anomaly is found."""

from collections.abc import Callable

import pytest

from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.anomalies.history_checker import HistoryChecker
from cluster_model.checker.anomalies.operations import FAIL, INFO, OK, Op, ReadOperation, Send
from tests.cluster_model.anomaly_brute import LogBranches, payload_of

K, OTHER = "t-0", "t-1"
PLAIN, CAREFUL = "assign", "subscribe committed"


class EditableHistory:
    """A history that can be changed before it is checked: operation name → operation and manner of its process."""

    def __init__(self) -> None:
        self.log_branches: LogBranches = {(K, 0): {}, (OTHER, 0): {}}
        self.ops: dict[str, tuple[Op, str]] = {}
        self.now = 0
        for name, client, first, size in (("a1", "a", 0, 10), ("b1", "b", 0, 10), ("a2", "a", 10, 10)):
            self.send(name, client, first, size, len(self.log_branches[K, 0]))
        self.write("c", 0, 5, 30)
        # Offset 35 is the transaction's marker.
        self.add("txn", Op("c#0", OK, "txn", (Send(K, "c", 0, 5, 0, 30),)))
        self.send("a3", "a", 20, 4, 36)
        for reader, manner in (("r", PLAIN), ("g/0", CAREFUL)):
            for number, (start, end) in enumerate(((0, 20), (20, 35), (36, 40))):
                self.poll(f"{reader}{number}", reader, start, end, manner)

    def write(self, client: str, first: int, size: int, offset: int, key: str = K, log_branch: int = 0) -> None:
        for index in range(size):
            self.log_branches.setdefault((key, log_branch), {})[offset + index] = (client, first + index)

    def add(self, name: str, op: Op, manner: str = PLAIN) -> None:
        self.now += 10
        self.ops[name] = (op._replace(invoked_us=self.now - 5, time_us=self.now), manner)

    def send(self, name: str, client: str, first: int, size: int, offset: int, kind: str = OK) -> None:
        self.write(client, first, size, offset)
        place = (0, offset) if kind == OK else (-1, -1)
        self.add(name, Op(f"{client}#0", kind, "send", (Send(K, client, first, size, *place),)))

    def poll(self, name: str, reader: str, start: int, end: int, manner: str = PLAIN, log_branch: int = 0) -> None:
        self.add(name, Op(f"{reader}#0", OK, "poll", (), (ReadOperation(K, log_branch, start, end),)), manner)

    def reads(self, name: str, *reads: ReadOperation) -> None:
        op, manner = self.ops[name]
        self.ops[name] = (op._replace(reads=reads), manner)

    def sends(self, name: str, *sends: Send) -> None:
        op, manner = self.ops[name]
        self.ops[name] = (op._replace(sends=sends), manner)

    def found(self) -> set[str]:
        anomalies = HistoryChecker(payload_of(self.log_branches))
        for op, manner in self.ops.values():
            anomalies.take(op, manner)
        anomalies.close(self.now)
        return {case.name for case in anomalies.cases(self.now)}


def swap(made: EditableHistory, one: int, other: int) -> None:
    log = made.log_branches[K, 0]
    log[one], log[other] = log[other], log[one]


def a_tail_is_never_read(made: EditableHistory) -> None:
    made.send("late", "b", 10, 3, 40)


def an_unplaced_write_is_never_read(made: EditableHistory) -> None:
    made.add("thrown", Op("b#0", OK, "send", (Send(K, "b", 10, 1),)))


def a_committed_record_is_dropped(made: EditableHistory) -> None:
    for name in ("r0", "g/00"):
        made.reads(name, ReadOperation(K, 0, 0, 7), ReadOperation(K, 0, 8, 20))


def its_offset_is_used_again(made: EditableHistory) -> None:
    made.log_branches[K, 1] = {**made.log_branches[K, 0], 7: ("z", 0)}
    made.add("timed out", Op("z#0", INFO, "send", (Send(K, "z", 0, 1),)))
    for name in ("r0", "g/00"):
        made.reads(name, ReadOperation(K, 1, 0, 20))


def a_committed_record_is_written_twice(made: EditableHistory) -> None:
    made.write("a", 3, 1, 40)
    made.poll("more", "r", 40, 41)


def two_batches_change_places(made: EditableHistory) -> None:
    made.log_branches[K, 0] |= {10: ("b", 5), 15: ("b", 0)}
    made.sends("b1", Send(K, "b", 0, 1, 0, 15))
    for index in range(1, 10):
        at = 10 if index == 5 else 10 + index
        made.add(f"b one {index}", Op("b#0", OK, "send", (Send(K, "b", index, 1, 0, at),)))


def a_retry_lands_behind_the_next(made: EditableHistory) -> None:
    made.add("first", Op("b#0", INFO, "send", (Send(K, "b", 10, 1),)))
    made.write("b", 10, 1, 41)
    made.send("second", "b", 11, 1, 40)
    made.poll("more", "r", 40, 42)


def a_transaction_is_written_backwards(made: EditableHistory) -> None:
    made.log_branches[K, 0] |= {30: ("c", 1), 31: ("c", 0)}
    made.sends("txn", Send(K, "c", 0, 1, 0, 31), Send(K, "c", 1, 1, 0, 30), Send(K, "c", 2, 3, 0, 32))


def a_writer_comes_between(made: EditableHistory) -> None:
    made.log_branches[K, 0][32] = ("b", 10)
    made.log_branches[K, 0] |= {33: ("c", 2), 34: ("c", 3)}
    made.sends("txn", Send(K, "c", 0, 2, 0, 30), Send(K, "c", 2, 2, 0, 33))
    made.add("between", Op("b#0", OK, "send", (Send(K, "b", 10, 1, 0, 32),)))


def an_aborted_value_is_read(made: EditableHistory) -> None:
    made.ops["txn"] = (made.ops["txn"][0]._replace(type=FAIL), PLAIN)


def a_failed_send_is_read(made: EditableHistory) -> None:
    made.send("failed", "b", 10, 1, 40, FAIL)
    made.poll("more", "g/0", 40, 41, CAREFUL)


def a_value_has_no_writer(made: EditableHistory) -> None:
    made.write("nobody", 0, 1, 40)
    made.poll("more", "r", 40, 41)


def one_poll_goes_back(made: EditableHistory) -> None:
    made.reads("r0", ReadOperation(K, 0, 0, 12), ReadOperation(K, 0, 8, 20))


def one_poll_repeats(made: EditableHistory) -> None:
    made.reads("r0", ReadOperation(K, 0, 0, 12), ReadOperation(K, 0, 11, 20))


def one_poll_leaves_out(made: EditableHistory) -> None:
    made.reads("r0", ReadOperation(K, 0, 0, 7), ReadOperation(K, 0, 8, 20))


def a_reader_begins_anew(made: EditableHistory) -> None:
    made.poll("again", "r", 0, 40)
    made.reads("again", ReadOperation(K, 0, 0, 35), ReadOperation(K, 0, 36, 40))


def a_reader_jumps(made: EditableHistory) -> None:
    made.reads("r1", ReadOperation(K, 0, 25, 35))


def a_member_begins_anew(made: EditableHistory) -> None:
    made.reads("g/01", ReadOperation(K, 0, 15, 35))


def a_rebalance_moves_the_key(made: EditableHistory) -> None:
    op, manner = made.ops["r0"]
    moved = op._replace(reads=(ReadOperation(K, 0, 0, 12), ReadOperation(K, 0, 8, 20)), moved=(K,))
    made.ops["r0"] = (moved, manner)


def a_restarted_reader_begins_anew(made: EditableHistory) -> None:
    made.add("crash", Op("r#0", OK, "crash"))
    made.add("again", Op("r#1", OK, "poll", (), (ReadOperation(K, 0, 0, 35), ReadOperation(K, 0, 36, 40))))


def a_step_over_a_marker(made: EditableHistory) -> None:
    made.poll("all", "s", 0, 35)
    made.poll("rest", "s", 36, 40)


def a_transaction_reads_its_own(made: EditableHistory) -> None:
    op, manner = made.ops["txn"]
    made.ops["txn"] = (op._replace(reads=(ReadOperation(K, 0, 32, 33),)), manner)


def transactions(made: EditableHistory, one: tuple[int, int], other: tuple[int, int]) -> tuple[Op, Op]:
    """Two overlapping transactions, with a value in each of two keys."""
    for client, (at, there) in (("x", one), ("y", other)):
        made.write(client, 0, 1, at)
        made.write(client, 0, 1, there, OTHER)
    return tuple(  # type: ignore[return-value]
        Op(f"{client}#0", OK, "txn", (Send(K, client, 0, 1, 0, at), Send(OTHER, client, 0, 1, 0, there)))
        for client, (at, there) in (("x", one), ("y", other))
    )


def told(made: EditableHistory, *ops: Op, both: bool = True) -> None:
    for op in ops:
        made.now += 10
        made.ops[op.process] = (op._replace(invoked_us=500, time_us=1_000 + made.now), PLAIN)
    if both:
        made.add("see", Op("s#0", OK, "poll", (), (ReadOperation(K, 0, 40, 42), ReadOperation(OTHER, 0, 0, 2))))


def transactions_in_one_order(made: EditableHistory) -> None:
    told(made, *transactions(made, (40, 0), (41, 1)))


def transactions_behind_each_other(made: EditableHistory) -> None:
    told(made, *transactions(made, (40, 1), (41, 0)))


def transactions_read_each_other(made: EditableHistory) -> None:
    one, other = transactions(made, (40, 0), (41, 1))
    told(
        made, one._replace(reads=(ReadOperation(K, 0, 41, 42),)), other._replace(reads=(ReadOperation(OTHER, 0, 0, 1),))
    )


def one_reads_the_one_behind_it(made: EditableHistory) -> None:
    one, other = transactions(made, (40, 0), (41, 1))
    told(made, one._replace(reads=(ReadOperation(OTHER, 0, 1, 2),)), other)


def a_transaction_is_half_there(made: EditableHistory) -> None:
    made.write("d", 0, 2, 40)
    made.add("torn", Op("d#0", INFO, "txn", (Send(K, "d", 0, 2, 0, 40),)))
    made.send("next", "b", 10, 1, 42)
    made.poll("half", "s", 40, 41)
    made.poll("after", "u", 42, 43)


MUTATIONS: dict[Callable[[EditableHistory], None], set[str]] = {
    a_tail_is_never_read: {"unseen"},
    an_unplaced_write_is_never_read: {"unseen"},
    a_committed_record_is_dropped: {"lost-write", "unseen", "int-poll-skip"},
    its_offset_is_used_again: {"lost-write", "unseen", "inconsistent-offsets"},
    a_committed_record_is_written_twice: {"duplicate"},
    two_batches_change_places: {"nonmonotonic-send"},
    a_retry_lands_behind_the_next: {"nonmonotonic-send"},
    a_transaction_is_written_backwards: {"int-nonmonotonic-send", "int-send-skip"},
    a_writer_comes_between: {"int-send-skip"},
    an_aborted_value_is_read: {"G1a"},
    a_failed_send_is_read: {"G1a"},
    a_value_has_no_writer: {"phantom"},
    one_poll_goes_back: {"int-nonmonotonic-poll"},
    one_poll_repeats: {"int-nonmonotonic-poll"},
    one_poll_leaves_out: {"int-poll-skip"},
    a_reader_begins_anew: {"nonmonotonic-poll"},
    a_reader_jumps: {"poll-skip"},
    a_member_begins_anew: {"nonmonotonic-poll", "consume-dup"},
    a_transaction_reads_its_own: {"precommitted-read"},
    transactions_behind_each_other: {"G0"},
    transactions_read_each_other: {"G1c"},
    one_reads_the_one_behind_it: {"G1c"},
    a_transaction_is_half_there: {"lost-write"},
    # None of these causes an anomaly.
    a_rebalance_moves_the_key: set(),
    a_restarted_reader_begins_anew: set(),
    a_step_over_a_marker: set(),
    transactions_in_one_order: set(),
}
LAG = {"realtime-lag"}


def test_the_clean_history_has_no_anomalies() -> None:
    assert EditableHistory().found() - LAG == set()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_a_corrupted_history_has_exactly_the_expected_anomaly(mutation: Callable[[EditableHistory], None]) -> None:
    made = EditableHistory()
    mutation(made)
    assert made.found() - LAG == MUTATIONS[mutation]


# -- operations recorded part by part


def heard(tell: Callable[[HistoryChecker], None]) -> dict[str, int]:
    anomalies = HistoryChecker(lambda _key, _log_branch, start, end: [(start, "a", start, end - start)])
    tell(anomalies)
    anomalies.close(100)
    return {case.name: case.found for case in anomalies.cases(100)}


def test_a_decreasing_commit_is_reported() -> None:
    def tell(anomalies: HistoryChecker, offsets: tuple[int, ...] = (5, 9, 7, 7, 9)) -> None:
        for at, offset in enumerate(offsets):
            anomalies.groups.committed("g", f"g/{at % 2}", K, offset, at)

    assert heard(tell) == {"commit-regression": 1}
    assert heard(lambda anomalies: tell(anomalies, (5, 5, 9))) == {}


def test_two_owners_in_one_generation_are_reported() -> None:
    def tell(anomalies: HistoryChecker, generation: int = 4, *, gives_up: bool = False) -> None:
        anomalies.groups.owns("g", "g/0#0", K, 4, 1)
        if gives_up:
            anomalies.groups.released("g", "g/0#0", K)
        anomalies.groups.owns("g", "g/1#0", K, generation, 2)

    assert heard(tell) == {"two-owners": 1}
    assert heard(lambda anomalies: tell(anomalies, 5)) == {}
    assert heard(lambda anomalies: tell(anomalies, gives_up=True)) == {}


def test_a_record_before_one_acknowledged_earlier_is_reported() -> None:
    def tell(anomalies: HistoryChecker, offset: int = 3) -> None:
        anomalies.realtime.sent("a", K, 0)
        anomalies.realtime.acknowledged("a", K, 0, 5, 10, 1)
        anomalies.realtime.record_outcome("a", K, 0, 5)
        anomalies.realtime.sent("b", K, 0)
        anomalies.realtime.acknowledged("b", K, 0, 2, offset, 2)

    assert heard(tell) == {"realtime-order": 2}
    assert heard(lambda anomalies: tell(anomalies, 15)) == {}
    # Five of seven were known when it was sent.
    assert heard(lambda anomalies: tell(anomalies, 14)) == {"realtime-order": 1}


def test_a_send_in_flight_before_may_have_a_lower_offset() -> None:
    def tell(anomalies: HistoryChecker) -> None:
        anomalies.realtime.sent("b", K, 0)
        anomalies.realtime.sent("a", K, 0)
        anomalies.realtime.acknowledged("a", K, 0, 5, 10, 1)
        anomalies.realtime.acknowledged("b", K, 0, 2, 3, 2)

    assert heard(tell) == {}


def test_a_poll_lags_behind_what_was_known() -> None:
    made = EditableHistory()
    made.poll("behind", "late", 0, 20)
    assert "realtime-lag" in made.found()


# -- memory


@pytest.mark.slow
def test_a_long_clean_run_takes_a_few_ranges() -> None:
    """Two writers take turns, three processes read everything, and a transaction marker follows every batch."""

    def is_marker(offset: int) -> bool:
        return offset % 11 == 10

    def entries(batches: int) -> int:
        anomalies = HistoryChecker(
            lambda _key, _log_branch, start, end: runs(start, end),
            lambda _key, _log_branch, start, end: all(map(is_marker, range(start, end))),
        )
        for number in range(batches):
            client, at = "ab"[number % 2], 11 * number
            send = Send(K, client, 10 * (number // 2), 10, 0, at)
            op = Op(f"{client}#0", OK, "send", (send,), invoked_us=10 * number + 1, time_us=10 * number + 2)
            anomalies.take(op)
            for reader in "rst":
                poll = Op(f"{reader}#0", OK, "poll", (), (ReadOperation(K, 0, at, at + 10),))
                anomalies.take(poll._replace(invoked_us=10 * number + 3, time_us=10 * number + 4), CAREFUL)
            if number % 500 == 0:
                anomalies.cases(number)
        anomalies.cases(batches)
        assert {case.name for case in anomalies.cases(0)} == set()
        assert anomalies.lags.entries <= 1_024
        return anomalies.entries - anomalies.lags.entries

    def runs(start: int, end: int) -> list[tuple[int, str, int, int]]:
        return [
            (
                max(start, at),
                "ab"[at // 11 % 2],
                10 * (at // 22) + max(start, at) - at,
                min(end, at + 10) - max(start, at),
            )
            for at in range(start // 11 * 11, end, 11)
            if max(start, at) < min(end, at + 10)
        ]

    assert entries(4_000) <= entries(400) + 4


def test_every_kind_has_a_mutation() -> None:
    by_parts = {"commit-regression", "two-owners", "realtime-order", "realtime-lag"}
    assert set().union(*MUTATIONS.values()) | by_parts == set(KINDS)


def test_names_are_the_documented_ones() -> None:
    jepsen = (
        "inconsistent-offsets duplicate lost-write unseen G1a precommitted-read int-nonmonotonic-poll int-poll-skip "
        "nonmonotonic-poll poll-skip int-nonmonotonic-send int-send-skip nonmonotonic-send G0 G1c phantom consume-dup "
        "realtime-lag"
    )
    assert [kind.name for kind in KINDS.values() if not kind.own] == jepsen.split()
