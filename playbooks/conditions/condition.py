"""From a condition's tree to a closure: types are checked once, and evaluating is then a few calls."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from lark import Token, Tree

from playbooks.conditions.functions import ALL, ALSO, LEN, Argument, Function
from playbooks.conditions.types import (
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
)
from playbooks.errors import listed, nearest, shown
from playbooks.units import UnitError, duration_us

Run = Callable[[Any], Any]
"""A compiled expression: takes the cluster's query object, gives a value."""

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
class Use:
    """A name that a condition speaks of, and its column from 1 in the condition's text."""

    kind: Argument
    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Part:
    """An expression with its type. ``constant`` is its value when no cluster is needed for it, else None."""

    type: Type
    run: Run
    column: int
    constant: int | str | None = None


class Compiler:
    """Compiles one tree; afterwards ``uses`` lists the partitions, groups, producers and brokers it names."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self._rules: Final[dict[str, Callable[[Tree[Token], int], Part]]] = {
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

    def part(self, node: Tree[Token] | Token, depth: int = 0) -> Part:
        """The compiled ``node``; raises :class:`ConditionError` for wrong types, names and numbers of arguments."""
        assert isinstance(node, Tree)  # single tokens are handled by the rule they stand in
        if depth > MAX_DEPTH:
            raise ConditionError(
                f"found more than {MAX_DEPTH} operations within each other, the most allowed", _column(node)
            )
        return self._rules[str(node.data)](node, depth + 1)

    def _parts(self, node: Tree[Token], depth: int) -> list[Part]:
        return [self.part(child, depth) for child in node.children if isinstance(child, Tree)]

    def _either(self, node: Tree[Token], depth: int) -> Part:
        runs = [_needed(part, BOOLEAN, "or").run for part in self._parts(node, depth)]
        return Part(BOOLEAN, lambda query: any(run(query) for run in runs), _column(node))

    def _both(self, node: Tree[Token], depth: int) -> Part:
        runs = [_needed(part, BOOLEAN, "and").run for part in self._parts(node, depth)]
        return Part(BOOLEAN, lambda query: all(run(query) for run in runs), _column(node))

    def _negation(self, node: Tree[Token], depth: int) -> Part:
        run = _needed(self._parts(node, depth)[0], BOOLEAN, "not").run
        return Part(BOOLEAN, lambda query: not run(query), _column(node))

    def _comparison(self, node: Tree[Token], depth: int) -> Part:
        """``a < b <= c`` means both; each operand is evaluated once."""
        parts = [self.part(child, depth) for child in node.children[::2]]
        signs = [" ".join(map(str, sign.children)) for sign in node.children[1::2] if isinstance(sign, Tree)]
        tests = [_test(sign, *pair) for sign, pair in zip(signs, pairwise(parts), strict=True)]
        if len(tests) == 1:
            test, left, right = tests[0], parts[0].run, parts[1].run
            return Part(BOOLEAN, lambda query: test(left(query), right(query)), _column(node))
        runs = [part.run for part in parts]

        def chained(query: Any) -> bool:
            values = [run(query) for run in runs]
            return all(test(values[i], values[i + 1]) for i, test in enumerate(tests))

        return Part(BOOLEAN, chained, _column(node))

    def _chain(self, node: Tree[Token], depth: int) -> Part:
        """Operations of one rank, from the left; each makes the closure one call deeper."""
        operands = node.children[::2]
        deep = depth + len(operands)
        total = self.part(operands[0], deep)
        for sign, operand in zip(node.children[1::2], operands[1:], strict=True):
            total = _operation(str(sign), total, self.part(operand, deep))
        return total

    def _minus(self, node: Tree[Token], depth: int) -> Part:
        part = self.part(node.children[1], depth)
        if part.type not in {NUMBER, TIME}:
            raise ConditionError(f"found {part.type} after -, allowed is a number or a time", part.column)
        run = part.run
        if isinstance(part.constant, int):
            return _constant(part.type, -part.constant, _column(node))
        return Part(part.type, lambda query: -run(query), _column(node))

    def _literal(self, node: Tree[Token], _depth: int) -> Part:
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

    def _list(self, node: Tree[Token], depth: int) -> Part:
        parts = self._parts(node, depth)
        runs = [part.run for part in parts]
        element = joined([part.type for part in parts])
        return Part(list_of(element), lambda query: [run(query) for run in runs], _column(node))

    def _call(self, node: Tree[Token], depth: int) -> Part:
        name, column = str(node.children[0]), _column(node)
        function = ALL.get(ALSO.get(name, name))
        if function is None:
            hint = nearest(name, (*ALL, *ALSO)) or f"; known are {', '.join(ALL)}"
            raise ConditionError(f"found the function {shown(name)}, which does not exist{hint}", column)
        parts = self._parts(node, depth)
        if function is LEN:
            return _length(parts, column)
        if not function.required <= len(parts) <= len(function.arguments):
            raise ConditionError(f"found {_arguments(len(parts))}, allowed is {function.signature}", column)
        return self._query(function, [self._argument(function, i, part) for i, part in enumerate(parts)], column)

    def _argument(self, function: Function, index: int, part: Part) -> Part:
        kind = function.arguments[index]
        wanted = NUMBER if kind == "broker" else TEXT
        word = "a broker's id" if kind == "broker" else f"the name of {'an' if kind == 'invariant' else 'a'} {kind}"
        if part.type != wanted:
            raise ConditionError(f"found {part.type} in {function.name}(), allowed is {word}", part.column)
        if part.constant is not None:
            self.uses.append(Use(kind, str(part.constant), part.column))
        return part

    @staticmethod
    def _query(function: Function, parts: list[Part], column: int) -> Part:
        name, whole = function.name, function.result.name == "list"
        if all(part.constant is not None for part in parts):
            ask: Run = operator.methodcaller(name, *[part.constant for part in parts])
        else:
            runs = [part.run for part in parts]

            def ask(query: Any) -> Any:
                return getattr(query, name)(*[run(query) for run in runs])

        return Part(function.result, (lambda query: _as_list(ask(query))) if whole else ask, column)


def _constant(kind: Type, value: int | str, column: int) -> Part:
    return Part(kind, lambda _query: value, column, value)


def _column(node: Tree[Token]) -> int:
    return int(getattr(node.meta, "start_pos", 0)) + 1


def _arguments(count: int) -> str:
    return f"{count} argument{'s' if count != 1 else ''}"


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple | list) else value


def _needed(part: Part, wanted: Type, where: str) -> Part:
    if part.type != wanted:
        raise ConditionError(f"found {part.type} beside '{where}', allowed is {wanted}", part.column)
    return part


def _length(parts: list[Part], column: int) -> Part:
    if len(parts) != 1:
        raise ConditionError(f"found {_arguments(len(parts))}, allowed is len(a list)", column)
    if parts[0].type.name != "list":
        raise ConditionError(f"found {parts[0].type} in len(), allowed is a list", parts[0].column)
    run = parts[0].run
    return Part(NUMBER, lambda query: len(run(query)), column)


def _test(sign: str, left: Part, right: Part) -> Callable[[Any, Any], bool]:
    """The comparison, after making sure that it can ever be true."""
    if sign in _ORDER:
        for part in (left, right):
            if part.type not in {NUMBER, TIME}:
                raise ConditionError(f"found {part.type} beside {sign}, allowed is a number or a time", part.column)
    if sign in _MEMBER:
        if right.type.name != "list":
            raise ConditionError(f"found {right.type} after '{sign}', allowed is a list", right.column)
        if right.type.element is not None and not comparable(left.type, right.type.element):
            raise ConditionError(f"found {left.type} looked for in {right.type}", left.column)
        return _MEMBER[sign]
    if not comparable(left.type, right.type):
        hint = "; write a time with its unit, as 5s" if {left.type, right.type} == {NUMBER, TIME} else ""
        raise ConditionError(f"found {left.type} compared with {right.type}{hint}", right.column)
    return _ORDER[sign] if sign in _ORDER else _SAME[sign]


def _operation(sign: str, left: Part, right: Part) -> Part:
    """Whole numbers only; a quotient is rounded down, and a remainder has the divisor's sign."""
    for part in (left, right):
        if part.type not in {NUMBER, TIME}:
            hint = "; a dash inside a name belongs to the name" if part.type == TEXT else ""
            raise ConditionError(f"found {part.type} beside {sign}, allowed is a number or a time{hint}", part.column)
    times = (left.type == TIME, right.type == TIME)
    result = _RESULTS[sign].get(times)
    if result is None:
        raise ConditionError(f"found {left.type} {sign} {right.type}, allowed is {_ALLOWED[sign]}", right.column)
    one, other, column = left.run, right.run, left.column
    if sign == "+":
        return Part(result, lambda query: one(query) + other(query), column)
    if sign == "-":
        return Part(result, lambda query: one(query) - other(query), column)
    if sign == "*":
        return Part(result, lambda query: one(query) * other(query), column)
    divide = operator.floordiv if sign == "/" else operator.mod
    place = right.column

    def divided(query: Any) -> Any:
        divisor = other(query)
        if divisor == 0:
            raise EvaluationError(f"division by zero: the value after {sign} was 0", place)
        return divide(one(query), divisor)

    return Part(result, divided, column)


_RESULTS: Final[dict[str, dict[tuple[bool, bool], Type]]] = {
    "+": {(False, False): NUMBER, (True, True): TIME},
    "-": {(False, False): NUMBER, (True, True): TIME},
    "*": {(False, False): NUMBER, (True, False): TIME, (False, True): TIME},
    "/": {(False, False): NUMBER, (True, False): TIME, (True, True): NUMBER},
    "%": {(False, False): NUMBER, (True, True): TIME},
}
"""Sign → (left is a time, right is a time) → what comes out."""

_ALLOWED: Final = {
    sign: listed(f"{Type('time' if a else 'number')} {sign} {Type('time' if b else 'number')}" for a, b in results)
    for sign, results in _RESULTS.items()
}
