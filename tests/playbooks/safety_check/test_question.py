"""Questions as they are typed: what they stand for, and what is said of those that are none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.errors import PlaybookError
from playbooks.model.playbook import Step
from playbooks.model.step_text import step_text, trigger_lines
from playbooks.parser.steps.timed_steps import facts_of
from playbooks.safety_check.question import VERBS, read_list, read_question
from tests.support.playbooks import timed

FACTS = facts_of(timed().spec)


def read(text: str, *down: str) -> list[str]:
    return [told(step) for step in read_question(text, FACTS, lambda target: target in down)]


def told(step: Step) -> str:
    return " ".join([*[" ".join(line) for line in trigger_lines(step.trigger)], step_text(step)])


@pytest.mark.parametrize(
    "text",
    [
        "restart broker(2)",
        "restart broker(2) for 9s",
        "crash leader(orders-0) for 10s",
        "kill-broker broker(1)",
        "gc_pause on broker(1) + broker(2) if any",
        "elect_leaders orders-0",
        "elect-leaders orders-0 unclean=true",
        "shutdown broker(2) restart_after=5s",
        "decommission 3",
        "reassign orders-0 brokers=[3,2,1]",
        "reassign orders brokers=[3, 2, 1]",
        "rolling_restart 3,1 wait=none",
        "alter_topic_config orders set={min.insync.replicas: 1}",
        "create_topic new partitions=2; delete_topic new",
        "heal",
        "heal crash",
        "quorum_loss",
        "crash broker(1); after 10s restart broker(1)",
        "crash broker(1) for 5s then after 10s: restart broker(1)",
        "restart broker(1); when under_replicated() == 0 restart broker(2)",
        "when isr(orders-0) == [1, 2, 3] within 20s: lag broker(1) latency=10ms",
        "elect_leaders; when leader(orders-0) == 1 crash broker(1)",
    ],
)
def test_questions_are_parsed_into_steps(text: str, snapshot: SnapshotAssertion) -> None:
    steps = read(text)
    assert steps == snapshot
    assert len(steps) == text.count(";") + text.count(" then ") + 1


def test_restarting_a_stopped_broker_only_starts_it() -> None:
    (step,) = read_question("restart broker(2)", FACTS, lambda target: target == "broker(2)")
    assert (step.verb, step.name, step.target) == ("inject", "restart", "broker(2)")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("  ;", 3),
        ("restrt broker(2)", 1),
        ("restart brokr(2)", 9),
        ("restart broker(9)", 16),
        ("crash broker(1); elect_leaders order-0", 32),
        ("crash", 1),
        ("crash broker(1) for", 17),
        ("crash broker(1) for x", 21),
        ("crash broker(1) broker(2)", None),
        ("crash broker(1) foo=1", 21),
        ("crash broker(1) torn=true torn=true", 32),
        ("crash broker(1))", 16),
        ("when under_replicated( == 0 restart broker(2)", 22),
        ("when foo() == 0 restart broker(2)", 6),
        ("when under_replicated() restart broker(2)", 6),
        ("when leader(nope-0) == 1 restart broker(2)", 13),
        ("when under_replicated() == 0", 1),
        ("at 30s crash broker(1)", 1),
        ("after crash broker(1)", 7),
        ("elect_leaders orders-0 for 10s", 28),
        ("heal crsh", 6),
        ("alter_topic_config orders set={min.insync.replicas: [}", 54),
        ("alter_topic_config orders set={a: &x 1, b: *y}", None),
        ("crash\nbroker(1)", 6),
        ("x" * 3_000, 1),
    ],
    ids=lambda given: str(given)[:60],
)
def test_question_errors_name_their_column(text: str, column: int | None, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(PlaybookError) as caught:
        read(text)
    (problem,) = caught.value.problems
    assert (problem.key, problem.message) == snapshot
    assert "\n" not in str(problem)
    if column is not None:
        assert (problem.line, problem.column) == (1, column), problem.message


WORDS = st.sampled_from(
    [*VERBS[::5], "restart", "heal", "all", "broker(2)", "leader(orders-0)", "for", "10s", ";", "then", "after", "when",
     "isr(orders-0) == [1, 2]", "within", "key=", "set={", "}", "[", "'", "==",
     "brokers=[1,2]", "if any", "*a", "&b", "!x"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=8).map(" ".join)))
def test_nothing_that_is_typed_is_a_traceback(text: str) -> None:
    try:
        told = [step_text(step) for step in read_question(text, FACTS)]
    except PlaybookError as error:
        told = [str(error)]
        problems = len(error.problems)
    else:
        problems = 0
    assert problems <= 1
    assert told
    assert not problems or told[0].startswith("question:1:")


def test_a_file_of_steps() -> None:
    text = "- {inject: crash, target: broker(1)}\n- {after: 5s, heal: all}\n- settle: now\n"
    assert [step.verb for step in read_list(text, "x.yaml", FACTS, 7)] == ["inject", "heal"]
    assert [step.index for step in read_list(f"steps:\n{text}", "x.yaml", FACTS, 7)] == [7, 8]
    for bad in ("", "[]", "a: 1", "- {inject: crsh}", "- 5", "- {inject: crash, target: broker(9)}"):
        with pytest.raises(PlaybookError) as caught:
            read_list(bad, "x.yaml", FACTS)
        assert {problem.path for problem in caught.value.problems} == {"x.yaml"}
