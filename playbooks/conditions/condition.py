"""Conditions such as ``isr(orders-0) == [1] and acked_lost() == 0``: functions, type check and evaluation."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

from lark import Token, Tree

from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import listed
from playbooks.conditions.grammar import (
    ANYTHING,
    BOOLEAN,
    NUMBER,
    TEXT,
    TIME,
    ConditionError,
    EvaluationError,
    Type,
    comparable,
    joined,
    list_of,
    parse_tree,
)
from playbooks.errors import nearest, shown
from playbooks.units import UnitError, duration_us

# The functions of the condition language: one table for the checker, the evaluator and the documentation.


Argument = Literal["partition", "broker", "group", "producer", "invariant", "property", "cause", "anomaly", "fault"]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of conditions that reads the cluster. All but the first ``required`` arguments are optional."""

    name: str
    arguments: tuple[Argument, ...]
    required: int
    result: Type
    doc: str

    @property
    def signature(self) -> str:
        """Signature for messages: ``leo(partition, [broker])``."""
        arguments = [word if i < self.required else f"[{word}]" for i, word in enumerate(self.arguments)]
        return f"{self.name}({', '.join(arguments)})"


def _partition(name: str, result: Type, doc: str) -> Function:
    return Function(name, ("partition",), 1, result, doc)


def _replica(name: str, doc: str) -> Function:
    return Function(name, ("partition", "broker"), 1, NUMBER, doc)


def _count(name: str, doc: str) -> Function:
    return Function(name, (), 0, NUMBER, doc)


def _ledger(name: str, doc: str) -> Function:
    return Function(name, ("producer",), 0, NUMBER, doc)


def _acked_within(name: str, doc: str) -> Function:
    what = "from send to acknowledgement, of the producer, into the partition, or of all"
    return Function(name, ("producer", "partition"), 0, TIME, f"{doc}, {what}.")


def _read_within(name: str, doc: str) -> Function:
    what = "from append to return by poll (end to end), in the group, of the partition or of all"
    return Function(name, ("group", "partition"), 1, TIME, f"{doc}, {what}.")


FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        _partition("leader", NUMBER, "Id of the leader in the controller's state; -1 without a leader."),
        _partition("isr", list_of(NUMBER), "In-sync replicas in the controller's state, in ascending order."),
        _partition("replicas", list_of(NUMBER), "Assigned replicas, the preferred leader first."),
        _replica("leo", "Log end offset (the next to be written) of the elected leader, or of the broker's replica."),
        _replica("hw", "High watermark (exclusive) of the partition, or as known to the broker's replica."),
        _replica("lso", "Last stable offset (exclusive) of the leader or the broker: earlier transactions have ended."),
        _replica("epoch", "Leader epoch in the controller's state, or the broker's current one."),
        _replica("log_start", "Log start offset of the elected leader, or of the broker's replica."),
        _partition("diverged", NUMBER, "Offsets at which the logs of live replicas have different records."),
        Function("log", ("partition", "broker"), 2, list_of(list_of(ANYTHING)),
                 "The replica's records as [epoch, record]; a record is its name where a step gave it one."),
        Function("up", ("broker",), 1, Type("boolean"), "Whether the broker's process runs (a paused one does)."),
        Function("lag", ("group", "partition"), 1, NUMBER,
                 "LAG as kafka-consumer-groups prints it: the HW minus the committed offset, which may be negative; "
                 "a partition without a committed offset adds nothing."),
        Function("position_lag", ("group", "partition"), 1, NUMBER,
                 "Records between the positions of the group's consumers and the HW, committed or not."),
        Function("members", ("group",), 1, NUMBER, "Members of the group, by its coordinator if it has one."),
        Function("committed", ("group", "partition"), 2, NUMBER,
                 "Offset committed by the group for the partition (the next to be read); -1 for none."),
        Function("group_state", ("group",), 1, TEXT,
                 'State of the group by its coordinator: "Stable", "Empty" ..., "Dead" if it is unknown; '
                 "also state(group)."),
        Function("generation", ("group",), 1, NUMBER,
                 "Generation of the group by its coordinator; -1 if unknown."),
        Function("owned", ("group",), 1, NUMBER, "Partitions that a consumer of the group owns by its own state."),
        Function("read", ("group",), 1, NUMBER, "Records returned to the group's applications, repeats included."),
        Function("reread", ("group",), 1, NUMBER, "Records returned to the group's applications a second time."),
        Function("skipped", ("group",), 1, NUMBER,
                 "Records below the group's position that it never received."),
        Function("abandoned", ("group",), 1, NUMBER,
                 "Records fetched but unprocessed when an application ended, and received by no other since."),
        Function("rebalances", ("group",), 1, NUMBER, "Assignments of the group that took effect."),
        Function("resets", ("group",), 1, NUMBER,
                 "Resets by auto.offset.reset of members that had a position or a committed offset."),
        _read_within("read_p50", "Median latency of records"),
        _read_within("read_p95", "95th percentile latency of records"),
        _read_within("read_p99", "99th percentile latency of records"),
        _read_within("read_max", "Maximum latency of a record"),
        _ledger("sent", "Records sent by the producer, or by all producers."),
        _ledger("acked", "Records acknowledged to their producer."),
        Function("longest_stall", ("producer", "partition"), 0, TIME,
                 "Longest outage of the producer, or any (docs/reference/run-result.md): "
                 "records waited without an acknowledgement."),
        Function("longest_read_stall", ("group", "partition"), 1, TIME,
                 "Longest time that the group received nothing from a partition with records for it."),
        _acked_within("ack_p50", "Median latency of records"),
        _acked_within("ack_p95", "95th percentile latency of records"),
        _acked_within("ack_p99", "99th percentile latency of records"),
        _acked_within("ack_max", "Maximum latency of a record"),
        _ledger("failed", "Records failed with an error that proves they were not written."),
        _ledger("unknown", "Records that may or may not be in the log: a timeout, a lost connection."),
        _ledger("unknown_written", "Records of unknown outcome that are in the leader's log."),
        _ledger("aborted", "Records of aborted transactions: neither acked nor lost."),
        _ledger("acked_aborted", "Acked records whose transaction is aborted in the leader's log."),
        _ledger("aborted_committed", "Aborted records whose transaction is committed in the leader's log."),
        _ledger("missing", "Acked records currently missing in the leader's log."),
        _ledger("acked_lost", "Acked records in no replica's log; at the end of a run, all missing ones."),
        _ledger("committed_lost", "Lost records that were below the HW: a consumer could have read them."),
        _ledger("duplicates", "Records that are in a log more than once."),
        _ledger("reordered", "Records that precede an earlier sent record in a log."),
        _count("offline_partitions", "Partitions without a leader."),
        _count("under_replicated", "Partitions with fewer in-sync replicas than assigned ones."),
        _count("under_min_isr", "Partitions with fewer in-sync replicas than min.insync.replicas."),
        _count("at_min_isr", "Partitions with exactly as many in-sync replicas as min.insync.replicas."),
        _partition("leaders", list_of(NUMBER),
                   "Running brokers that believe that they are the leader, ascending: two at once are a split brain."),
        _partition("elr", list_of(NUMBER), "Eligible leader replicas (KIP-966), in ascending order."),
        _partition("partition_epoch", NUMBER,
                   "Partition epoch in the controller's state; in ZooKeeper mode the version of the state znode."),
        Function("believed_leader", ("partition", "broker"), 2, NUMBER,
                 "Leader in the broker's metadata; -1 for none, and while the broker is down."),
        Function("stale", ("broker",), 1, NUMBER,
                 "Partitions with stale metadata on the broker; 0 while it is down."),
        Function("fenced", ("broker",), 0, NUMBER,
                 "Fenced brokers; for one broker 1 if it is fenced, else 0."),
        _count("controller", "Id of the active controller's node; -1 while there is none."),
        _count("controller_epoch", "Epoch of the newest controller."),
        _count("controllers",
               "Running nodes that are or can become controller: KRaft voters, or brokers in ZooKeeper mode."),
        _count("operations", "Administrator operations still running."),
        Function("faults", ("fault",), 0, NUMBER,
                 "Active faults, all or of one name; a bounce is active until the process has been restarted."),
        Function("violations", ("invariant",), 0, NUMBER, "Violations of protocol invariants, all or of one name."),
        Function("unexpected_violations", ("invariant",), 0, NUMBER,
                 "Violations that are not known of the version."),
        Function("anomalies", ("anomaly",), 0, NUMBER,
                 "Illegal anomalies observed by clients, by their settings; of one name all, legal or not."),
        Function("liveness_violations", ("property",), 0, NUMBER,
                 "Liveness checks that missed their deadline, all or of one name (docs/reference/liveness.md)."),
        Function("unexpected_liveness_violations", ("property",), 0, NUMBER,
                 "Missed liveness checks that are not known of the version."),
        Function("findings", ("cause",), 0, NUMBER,
                 "Findings about records, one per cause, all or of one cause: findings(unclean-election)."),
        Function("now", (), 0, TIME, "Virtual time since the start."),
    )
}  # fmt: skip
"""Name → function, in the order of the documentation. Each is a method of the model's query object."""

LEN: Final = Function("len", (), 1, NUMBER, "Number of elements of a list: len(isr(orders-0)) >= 2.")
"""The one function that does not read the cluster; its argument is any list."""

ALL: Final[dict[str, Function]] = FUNCTIONS | {LEN.name: LEN}

ALSO: Final = {
    "state": "group_state",
    "passed_over": "skipped",
    "undone": "acked_aborted",
    "leaked": "aborted_committed",
    "overdue": "liveness_violations",
    "unexpected_overdue": "unexpected_liveness_violations",
}
"""Alias of a function → its name."""

EARLIER_PROPERTIES: Final = {"parked-requests": "delayed-requests"}
"""Earlier name of a liveness property, which conditions may use → its name."""

Run = Callable[[Any], Any]
"""A compiled expression: a function of the cluster's query object."""

MAX_DEPTH: Final = 50

_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_SAME: Final[dict[str, Callable[[Any, Any], bool]]] = {"==": operator.eq, "!=": operator.ne}
_MEMBER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
}


@dataclass(frozen=True, slots=True)
class NameUse:
    """A name used in a condition, and its column from 1 in the condition's text."""

    kind: Argument
    name: str
    column: int
    function: str = ""
    """The function that has it as an argument."""


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """An expression with its type. ``constant`` is its value if it needs no cluster, else None."""

    type: Type
    run: Run
    column: int
    constant: int | str | None = None


class Compiler:
    """Compiler of one tree; afterwards ``uses`` lists the partitions, groups, producers and brokers it names."""

    def __init__(self) -> None:
        self.uses: list[NameUse] = []
        self._rules: Final[dict[str, Callable[[Tree[Token], int], TypedExpression]]] = {
            "or_test": self._either,
            "and_test": self._both,
            "negation": self._negation,
            "comparison": self._comparison,
            "sum": self._chain,
            "product": self._chain,
            "minus": self._minus,
            "number": self._literal,
            "duration": self._literal,
            "string": self._literal,
            "true": self._literal,
            "false": self._literal,
            "name": self._literal,
            "list": self._list,
            "call": self._call,
        }

    def part(self, node: Tree[Token] | Token, depth: int = 0) -> TypedExpression:
        """Compile ``node``; raise :class:`ConditionError` for wrong types, names and numbers of arguments."""
        assert isinstance(node, Tree)  # single tokens are handled by the rule around them
        if depth > MAX_DEPTH:
            raise ConditionError(f"found more than {MAX_DEPTH} nested operations, the most allowed", _column(node))
        return self._rules[str(node.data)](node, depth + 1)

    def _parts(self, node: Tree[Token], depth: int) -> list[TypedExpression]:
        return [self.part(child, depth) for child in node.children if isinstance(child, Tree)]

    def _either(self, node: Tree[Token], depth: int) -> TypedExpression:
        runs = [_needed(part, BOOLEAN, "or").run for part in self._parts(node, depth)]

        def either(query: Any) -> bool:
            for run in runs:  # noqa: SIM110 - evaluated after every event: a generator takes twice as long
                if run(query):
                    return True
            return False

        return TypedExpression(BOOLEAN, either, _column(node))

    def _both(self, node: Tree[Token], depth: int) -> TypedExpression:
        runs = [_needed(part, BOOLEAN, "and").run for part in self._parts(node, depth)]

        def both(query: Any) -> bool:
            for run in runs:  # noqa: SIM110
                if not run(query):
                    return False
            return True

        return TypedExpression(BOOLEAN, both, _column(node))

    def _negation(self, node: Tree[Token], depth: int) -> TypedExpression:
        run = _needed(self._parts(node, depth)[0], BOOLEAN, "not").run
        return TypedExpression(BOOLEAN, lambda query: not run(query), _column(node))

    def _comparison(self, node: Tree[Token], depth: int) -> TypedExpression:
        """``a < b <= c`` means both; each operand is evaluated once."""
        parts = [self.part(child, depth) for child in node.children[::2]]
        signs = [" ".join(map(str, sign.children)) for sign in node.children[1::2] if isinstance(sign, Tree)]
        tests = [_test(sign, *pair) for sign, pair in zip(signs, pairwise(parts), strict=True)]
        if len(tests) == 1:
            test, left, right, bound = tests[0], parts[0].run, parts[1].run, parts[1].constant
            if bound is not None:
                return TypedExpression(BOOLEAN, lambda query: test(left(query), bound), _column(node))
            return TypedExpression(BOOLEAN, lambda query: test(left(query), right(query)), _column(node))
        runs = [part.run for part in parts]

        def chained(query: Any) -> bool:
            values = [run(query) for run in runs]
            return all(test(values[i], values[i + 1]) for i, test in enumerate(tests))

        return TypedExpression(BOOLEAN, chained, _column(node))

    def _chain(self, node: Tree[Token], depth: int) -> TypedExpression:
        """Compile operations of equal precedence, from the left; each makes the closure one call deeper."""
        operands = node.children[::2]
        deep = depth + len(operands)
        total = self.part(operands[0], deep)
        for sign, operand in zip(node.children[1::2], operands[1:], strict=True):
            total = _operation(str(sign), total, self.part(operand, deep))
        return total

    def _minus(self, node: Tree[Token], depth: int) -> TypedExpression:
        part = self.part(node.children[1], depth)
        if part.type not in {NUMBER, TIME}:
            raise ConditionError(f"found {part.type} after -, expected a number or a time", part.column)
        run = part.run
        if isinstance(part.constant, int):
            return _constant(part.type, -part.constant, _column(node))
        return TypedExpression(part.type, lambda query: -run(query), _column(node))

    def _literal(self, node: Tree[Token], _depth: int) -> TypedExpression:
        token, column = node.children[0], _column(node)
        text = str(token)
        if node.data == "number":
            return _constant(NUMBER, int(text), column)
        if node.data == "duration":
            try:
                return _constant(TIME, duration_us(text), column)
            except UnitError as error:
                raise ConditionError(f"found {shown(text)}: {error}", column) from None
        if node.data in {"true", "false"}:
            return _constant(BOOLEAN, node.data == "true", column)
        return _constant(TEXT, text[1:-1] if node.data == "string" else text, column)

    def _list(self, node: Tree[Token], depth: int) -> TypedExpression:
        parts = self._parts(node, depth)
        runs = [part.run for part in parts]
        element = joined([part.type for part in parts])
        return TypedExpression(list_of(element), lambda query: [run(query) for run in runs], _column(node))

    def _call(self, node: Tree[Token], depth: int) -> TypedExpression:
        name, column = str(node.children[0]), _column(node)
        function = ALL.get(ALSO.get(name, name))
        if function is None:
            hint = nearest(name, (*ALL, *ALSO)) or f"; expected {', '.join(ALL)}"
            raise ConditionError(f"found the function {shown(name)}, which does not exist{hint}", column)
        parts = self._parts(node, depth)
        if function is LEN:
            return _length(parts, column)
        if not function.required <= len(parts) <= len(function.arguments):
            raise ConditionError(f"found {_arguments(len(parts))}, expected {function.signature}", column)
        return self._query(function, [self._argument(function, i, part) for i, part in enumerate(parts)], column)

    def _argument(self, function: Function, index: int, part: TypedExpression) -> TypedExpression:
        kind = function.arguments[index]
        wanted = NUMBER if kind == "broker" else TEXT
        allowed = "a broker's id" if kind == "broker" else f"the name of {'an' if kind == 'invariant' else 'a'} {kind}"
        if part.type != wanted:
            raise ConditionError(f"found {part.type} in {function.name}(), expected {allowed}", part.column)
        if kind == "property" and part.constant in EARLIER_PROPERTIES:
            part = _constant(TEXT, EARLIER_PROPERTIES[str(part.constant)], part.column)
        if part.constant is not None:
            self.uses.append(NameUse(kind, str(part.constant), part.column, function.name))
        return part

    @staticmethod
    def _query(function: Function, parts: list[TypedExpression], column: int) -> TypedExpression:
        name, is_list = function.name, function.result.name == "list"
        if all(part.constant is not None for part in parts):
            ask: Run = operator.methodcaller(name, *[part.constant for part in parts])
        else:
            runs = [part.run for part in parts]

            def ask(query: Any) -> Any:
                return getattr(query, name)(*[run(query) for run in runs])

        return TypedExpression(function.result, (lambda query: _as_list(ask(query))) if is_list else ask, column)


def _constant(kind: Type, value: int | str, column: int) -> TypedExpression:
    return TypedExpression(kind, lambda _query: value, column, value)


def _column(node: Tree[Token]) -> int:
    return int(getattr(node.meta, "start_pos", 0)) + 1


def _arguments(count: int) -> str:
    return f"{count} argument{'s' if count != 1 else ''}"


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple | list) else value


def _needed(part: TypedExpression, wanted: Type, where: str) -> TypedExpression:
    if part.type != wanted:
        raise ConditionError(f"found {part.type} beside '{where}', expected {wanted}", part.column)
    return part


def _length(parts: list[TypedExpression], column: int) -> TypedExpression:
    if len(parts) != 1:
        raise ConditionError(f"found {_arguments(len(parts))}, expected len(a list)", column)
    if parts[0].type.name != "list":
        raise ConditionError(f"found {parts[0].type} in len(), expected a list", parts[0].column)
    run = parts[0].run
    return TypedExpression(NUMBER, lambda query: len(run(query)), column)


def _test(sign: str, left: TypedExpression, right: TypedExpression) -> Callable[[Any, Any], bool]:
    """Compile a comparison, after checking that it can ever be true."""
    if sign in _ORDER:
        for part in (left, right):
            if part.type not in {NUMBER, TIME}:
                raise ConditionError(f"found {part.type} beside {sign}, expected a number or a time", part.column)
    if sign in _MEMBER:
        if right.type.name != "list":
            raise ConditionError(f"found {right.type} after '{sign}', expected a list", right.column)
        if right.type.element is not None and not comparable(left.type, right.type.element):
            raise ConditionError(f"found {left.type} in {right.type}, expected an element of its type", left.column)
        return _MEMBER[sign]
    if not comparable(left.type, right.type):
        hint = "; write a time with its unit, as 5s" if {left.type, right.type} == {NUMBER, TIME} else ""
        raise ConditionError(f"found {left.type} compared with {right.type}{hint}", right.column)
    return _ORDER[sign] if sign in _ORDER else _SAME[sign]


def _operation(sign: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Compile arithmetic on whole numbers; a quotient is rounded down, and a remainder has the divisor's sign."""
    for part in (left, right):
        if part.type not in {NUMBER, TIME}:
            hint = "; a dash inside a name belongs to the name" if part.type == TEXT else ""
            raise ConditionError(f"found {part.type} beside {sign}, expected a number or a time{hint}", part.column)
    times = (left.type == TIME, right.type == TIME)
    result = _RESULTS[sign].get(times)
    if result is None:
        raise ConditionError(f"found {left.type} {sign} {right.type}, expected {_ALLOWED[sign]}", right.column)
    one, other, column = left.run, right.run, left.column
    if sign == "+":
        return TypedExpression(result, lambda query: one(query) + other(query), column)
    if sign == "-":
        return TypedExpression(result, lambda query: one(query) - other(query), column)
    if sign == "*":
        return TypedExpression(result, lambda query: one(query) * other(query), column)
    divide = operator.floordiv if sign == "/" else operator.mod
    position = right.column

    def divided(query: Any) -> Any:
        divisor = other(query)
        if divisor == 0:
            raise EvaluationError(f"division by zero: the value after {sign} was 0", position)
        return divide(one(query), divisor)

    return TypedExpression(result, divided, column)


_RESULTS: Final[dict[str, dict[tuple[bool, bool], Type]]] = {
    "+": {(False, False): NUMBER, (True, True): TIME},
    "-": {(False, False): NUMBER, (True, True): TIME},
    "*": {(False, False): NUMBER, (True, False): TIME, (False, True): TIME},
    "/": {(False, False): NUMBER, (True, False): TIME, (True, True): NUMBER},
    "%": {(False, False): NUMBER, (True, True): TIME},
}
"""Sign → (left is a time, right is a time) → result type."""

_ALLOWED: Final = {
    sign: listed(f"{Type('time' if a else 'number')} {sign} {Type('time' if b else 'number')}" for a, b in results)
    for sign, results in _RESULTS.items()
}


# Conditions: expressions about a cluster, such as ``isr(orders-0) == [1] and acked_lost() == 0``.
#
# They have numbers, times (``5s``), booleans, texts and lists; comparisons, also chained; arithmetic; ``and or not
# in``; and the functions of :data:`FUNCTIONS`. A condition has no side effects and always ends; nothing is ever
# evaluated as Python. Texts are checked and compiled once, since a condition is evaluated after many events.


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition, ready to be evaluated with a cluster's query object."""

    text: str
    type: str
    """``boolean``, ``number``, ``time``, ``text``, ``list`` or ``anything``; a step needs a boolean."""
    line: int
    column: int
    """Position in its file; 1 and 1 for a text alone."""
    uses: tuple[NameUse, ...]
    """All names in the condition."""
    _run: Callable[[Any], Any] = field(repr=False, compare=False)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the partitions in the condition."""
        return self._named("partition")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups in the condition."""
        return self._named("group")

    @property
    def producers(self) -> tuple[str, ...]:
        """Names of the producers in the condition."""
        return self._named("producer")

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of brokers written as numbers (not computed ones, as in ``leo(p-0, leader(p-0))``)."""
        return tuple(int(name) for name in self._named("broker"))

    def value(self, query: object) -> Any:
        """Return its current value: a number, boolean, text or list. Raises :class:`EvaluationError`."""
        try:
            return self._run(query)
        except ModelError as error:
            raise EvaluationError(str(error), self.column) from None
        except EvaluationError as error:
            raise EvaluationError(error.message, self.column + error.column - 1) from None

    def holds(self, query: object) -> bool:
        """Return whether it is true now. Raises :class:`EvaluationError`, also if it is not a boolean."""
        if self.type != "boolean":
            raise EvaluationError(f"{self.text} is a {self.type}, expected a true or false condition", self.column)
        return bool(self.value(query))

    def _named(self, kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(use.name for use in self.uses if use.kind == kind))

    def __reduce__(self) -> tuple[Callable[[str, int, int], "Condition"], tuple[str, int, int]]:
        return parse, (self.text, self.line, self.column)


def parse(text: str, line: int = 1, column: int = 1) -> Condition:
    """Parse a condition at a position of a file.

    Raises:
        ConditionError: with the column of the error, counted from ``column``.
    """
    compiler = Compiler()
    try:
        part = compiler.part(parse_tree(text))
    except ConditionError as error:
        raise ConditionError(error.message, column + error.column - 1) from None
    return Condition(text, part.type.name, line, column, tuple(compiler.uses), part.run)
