import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.inspection.condition_functions import ConditionQuery
from cluster_model.protocol.errors import ModelError
from playbooks.conditions.condition import ALL, ALSO, FUNCTIONS, Condition, parse
from playbooks.conditions.grammar import ConditionError, EvaluationError
from playbooks.engine.expectations import explain


class FakeQuery:
    """A cluster's query object with fixed answers, which also notes what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def answer(*arguments: Any) -> Any:
            self.asked.append((name, *arguments))
            value = self.answers[name]
            if isinstance(value, Exception):
                raise value
            return value

        return answer


QUERY = FakeQuery(
    leader=2, isr=[1, 2], replicas=[1, 2, 3], leo=11, hw=10, epoch=3, lag=4, sent=100, acked=90, acked_lost=0,
    log=((0, "m0"), (2, 1)), up=True, now=7_000_000, violations=0, missing=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("100 / 10 / 5", 2),
        ("7 / 2", 3),
        ("-7 / 2", -4),
        ("7 % 4", 3),
        ("- - 1", 1),
        ("2 * 5s", 10_000_000),
        ("1.5s", 1_500_000),
        ("5s / 2s", 2),
        ("5s / 2", 2_500_000),
        ("5s % 2s", 1_000_000),
        ("5s-1s", 4_000_000),
        ("true", True),
        ("'a text'", "a text"),
        ("orders-0", "orders-0"),
        ("[1, 2, 1 + 2]", [1, 2, 3]),
        ("[]", []),
        ("leo(orders-0)-hw(orders-0)", 1),
        ("sent()-acked()", 10),
        ("sent()-1", 99),
        ("-sent()", -100),
        ("3 - -sent()", 103),
        ("len(isr(orders-0))", 2),
        ("isr(orders-0)", [1, 2]),
        ("log(orders-0, 1)", [[0, "m0"], [2, 1]]),
    ],
)
def test_values(text: str, value: object) -> None:
    assert parse(text).value(QUERY) == value


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("1 < 2", True),
        ("1 < 2 <= 2 < 3", True),
        ("1 < 3 < 2", False),
        ("1 == 1 != 2", True),
        ("true or 1 / 0 == 1", True),
        ("false and 1 / 0 == 1", False),
        ("true or false and false", True),
        ("not true or true", True),
        ("not 1 == 2", True),
        ("1 in [1, 2]", True),
        ("3 not in [1, 2]", True),
        ("not 3 in [1, 2]", True),
        ("isr(orders-0) == [1, 2]", True),
        ("isr(orders-0) in [[1], [1, 2]]", True),
        ("leader(orders-0) in isr(orders-0)", True),
        ("log(orders-0, 1) == [[0, m0], [2, 1]]", True),
        ("log(orders-0, 1) == log(orders-0, 2) == [[0, m0], [2, 1]]", True),
        ("isr(orders-0) == []", False),
        ("now() >= 5s", True),
        ("up(1) and acked_lost() == 0", True),
        ("up(1) == true", True),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert parse(text).holds(QUERY) is holds


@pytest.mark.parametrize(
    "name", ["orders-0", "a.b_c-d-12", "_x-0", "in-0", "not-a-1", "truely-3", "orders.v1-0", "android-1", "order-1"]
)
def test_a_dash_inside_a_name_belongs_to_the_name(name: str) -> None:
    query = FakeQuery(leader=1)
    assert parse(f"leader({name})-1").value(query) == 0
    assert query.asked == [("leader", name)]


@pytest.mark.parametrize("quoted", ['"2024-orders-0"', "'2024-orders-0'"])
def test_names_that_begin_with_a_digit_are_quoted(quoted: str) -> None:
    assert parse(f"leader({quoted}) == 1").partitions == ("2024-orders-0",)


def test_names_used_are_collected_with_their_columns() -> None:
    text = "leo(a-0, 1) + hw(b-1, leader(a-0)) > 0 and lag(g) < acked(p) and violations(log-matching) == 0"
    condition = parse(text)
    assert condition.partitions == ("a-0", "b-1")
    assert condition.brokers == (1,)
    assert condition.groups == ("g",)
    assert condition.producers == ("p",)
    for use in condition.uses:
        assert text[use.column - 1 :].startswith(use.name)


def test_arguments_may_be_computed() -> None:
    query = FakeQuery(leader=2, hw=5)
    assert parse("hw(orders-0, leader(orders-0))").value(query) == 5
    assert query.asked == [("leader", "orders-0"), ("hw", "orders-0", 2)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 == 1", "boolean"),
        ("1", "number"),
        ("now()", "time"),
        ("[1]", "list"),
        ("x", "text"),
        ("10s / 2", "time"),
        ("10s / 2s", "number"),
        ("10 / 2", "number"),
        ("2 * 5s", "time"),
        ("5s * 2", "time"),
        ("5s % 2s", "time"),
        ("5 % 2", "number"),
        ("1s - 1s", "time"),
    ],
)
def test_the_type_is_known_before_anything_runs(text: str, kind: str) -> None:
    assert parse(text).type == kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("acked_lst() == 0", 1),
        ("frobnicate() == 0", 1),
        ("leo()", 1),
        ("leo(a-0, 1, 2)", 1),
        ("sent(a, b)", 1),
        ("len()", 1),
        ("len(5)", 5),
        ("leader(1)", 8),
        ("up(orders-0)", 4),
        ("1 = 1", 3),
        ("1 == 1 && true", 8),
        ("true || true", 6),
        ("!true", 1),
        ("1 +", 4),
        ("(1", 3),
        ("1 2", 3),
        ("", 1),
        ("   ", 1),
        ("1.5 == 1", 1),
        ("5x", 1),
        ("leader(2024-a-0)", 13),
        ("'open", 1),
        ("now() > 5", 9),
        ("5s * 5s", 6),
        ("1 + 5s", 5),
        ("a - 1", 1),
        ("true + 1", 1),
        ("1 and true", 1),
        ("not 1", 5),
        ("-true", 2),
        ("a < b", 1),
        ("1 in 2", 6),
        ("a in [1]", 1),
        ("isr(a-0) == 1", 13),
        ("[[1]] == [1]", 10),
        ("in == 1", 1),
        ("0.1us == 1s", 1),
        pytest.param("not " * 60 + "true", 205, id="not-60-times"),
        pytest.param("+".join(["1"] * 60), 1, id="plus-60-times"),
        pytest.param("1" * 2001, 1, id="2001-digits"),
        ("__import__('os')", 1),
        ("(1).real", 4),
    ],
)
def test_condition_errors_name_their_column(text: str, column: int, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert caught.value.column == column
    assert caught.value.message == snapshot


def test_error_columns_count_from_the_start_of_the_line() -> None:
    with pytest.raises(ConditionError) as caught:
        parse("1 = 1", 7, 20)
    assert caught.value.column == 22


def test_division_by_zero_is_a_sentence_with_a_place(snapshot: SnapshotAssertion) -> None:
    condition = parse("sent() / missing() > 1", 3, 11)
    with pytest.raises(EvaluationError) as caught:
        condition.holds(QUERY)
    assert caught.value.column == 20
    assert caught.value.message == snapshot


def test_a_name_the_cluster_does_not_know_is_a_sentence() -> None:
    unknown = ModelError("no partition orders-9", code="no_partition")
    with pytest.raises(EvaluationError) as caught:
        parse("leader(orders-9) == 1").holds(FakeQuery(leader=unknown))
    assert caught.value.message == str(unknown)


def test_only_a_boolean_holds(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse("sent()").holds(QUERY)
    assert caught.value.message == snapshot


def test_conditions_survive_pickling() -> None:
    condition = parse("isr(orders-0) == [1, 2]", 4, 9)
    again: Condition = pickle.loads(pickle.dumps(condition))
    assert again == condition
    assert again.holds(QUERY)


def test_every_function_is_a_question_the_model_answers() -> None:
    for name, function in FUNCTIONS.items():
        parameters = list(inspect.signature(getattr(ConditionQuery, name)).parameters.values())[1:]
        assert [parameter.name for parameter in parameters] == list(function.arguments), name
        required = [parameter for parameter in parameters if parameter.default is inspect.Parameter.empty]
        assert len(required) == function.required, name


def test_every_question_the_model_answers_is_a_function() -> None:
    assert {name for name in dir(ConditionQuery) if not name.startswith("_")} == set(FUNCTIONS)


NAMES = st.sampled_from(["orders-0", "x", "leader", "isr", "sent", "len", "5s", "1", "and", "or", "not", "in", "=="])
TOKENS = NAMES | st.sampled_from(["(", ")", "[", "]", ",", "+", "-", "*", "/", "%", "<", "<=", "!=", "true", "'t'"])


def outcome(action: Callable[[], Any]) -> Any:
    """What it gives, or its refusal; any other exception is a failure of the test."""
    try:
        return action()
    except ConditionError as error:
        return error


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.lists(TOKENS, max_size=60).map(" ".join))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    found = outcome(lambda: parse(text))
    if isinstance(found, Condition):
        assert found.text == text
        found = outcome(lambda: found.value(QUERY))
    if isinstance(found, ConditionError):
        assert 1 <= found.column <= len(text) + 1
        assert found.message


NUMBERS = st.recursive(
    st.integers(0, 50).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=8,
)


@pytest.mark.slow
@settings(deadline=None)
@given(NUMBERS, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), NUMBERS)
def test_arithmetic_and_comparison_are_those_of_whole_numbers(left: str, sign: str, right: str) -> None:
    text = f"{left} {sign} {right}"
    assert parse(text).holds(QUERY) is eval(text)


DESIGNED = [
    "leader", "isr", "replicas", "leo", "hw", "epoch", "log_start", "lag", "committed", "members", "generation",
    "state", "acked", "acked_lost", "committed_lost", "duplicates", "offline_partitions", "under_replicated",
    "under_min_isr", "controller", "violations", "now",
]  # fmt: skip


def test_every_function_that_playbooks_are_guaranteed_is_there() -> None:
    assert [name for name in DESIGNED if ALSO.get(name, name) not in ALL] == []
    assert not set(ALSO) & set(ALL)


def test_state_is_the_state_of_a_group(snapshot: SnapshotAssertion) -> None:
    assert parse('state(billing) == "Stable"').holds(FakeQuery(group_state="Stable"))
    assert [(use.kind, use.name) for use in parse('state(billing) == "Stable"').uses] == [("group", "billing")]
    with pytest.raises(ConditionError) as caught:
        parse('stete(billing) == "Stable"')
    assert caught.value.message == snapshot


@pytest.mark.parametrize(
    ("text", "us"), [("250us", 250), ("5ms", 5_000), ("1.5s", 1_500_000), ("2m", 120_000_000), ("1h", 3_600_000_000)]
)
def test_times_have_every_unit_that_durations_have(text: str, us: int) -> None:
    assert parse(text).value(QUERY) == us


@pytest.mark.parametrize("text", ["acked() > 64KiB", "acked() > 200/s", "acked() > 5%", "now() > 3d"])
def test_other_units_are_refused_as_no_function_has_them(text: str) -> None:
    with pytest.raises(ConditionError):
        parse(text)


def test_there_is_one_name_for_each_function() -> None:
    assert all(name == function.name for name, function in ALL.items())


def test_why_a_condition_has_no_value_is_reported(snapshot: SnapshotAssertion) -> None:
    class Query:
        def acked(self) -> int:
            return 5

        def failed(self) -> int:
            return 0

    assert [explain(parse(text), Query()) for text in ("acked() / failed() > 2", "acked() > 2")] == snapshot
