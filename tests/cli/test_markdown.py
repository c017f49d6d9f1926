"""The summary for a pull request: what is in it, and that nobody's name can write into it."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob
from playbooks.parser.loader import loads
from playbooks.results.baseline import BaselineChange, BaselineDifference
from playbooks.text import command_of, escaped
from tests.support.playbooks import CLUSTER, CRASH, MANUAL
from tui.cli.runs.suite import PlaybookOutcome
from tui.cli.runs.summary_documents import markdown

pytestmark = pytest.mark.slow

FAILING = CLUSTER + "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() == 0\n"
LOSING = CRASH.replace("config: {acks: all}", "config: {acks: 0}")


def ended(text: str = MANUAL, name: str = "one") -> PlaybookOutcome:
    result = start_session(loads(text, "x.yaml")).finish()
    outcome = JobOutcome(PlaybookJob(text, "x.yaml"), result, code=0 if result.verdict == "pass" else 1)
    return PlaybookOutcome(name, outcome, name, command_of("x.yaml", result.seed, ["a=b c"], None))


@given(st.text())
def test_an_escaped_text_reads_as_it_was_and_means_nothing(text: str) -> None:
    done = escaped(text)
    assert "\n" not in done
    bare = re.sub(r"&#\d+;", "", done.replace("<!-- -->", ""))
    assert not set("\\`*_{}[]#!|~<>&@:$^") & set(bare)
    assert not re.search(r"www\.", bare, re.IGNORECASE)
    assert not re.search(r"&#(64|35);(?!<!-- -->)", done), "a mention or a reference is found in what is shown"
    shown = html.unescape(done.replace("<!-- -->", ""))
    wanted = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text).strip()
    assert shown == wanted


@pytest.mark.parametrize(
    "hostile",
    [
        "a|b",
        "</details><script>x</script>",
        "`code`",
        "![x](https://a.b/c)",
        "@everyone",
        "#12",
        "**b**",
        "a\n\n# head",
    ],
)
def test_hostile_names_stay_in_their_cells(hostile: str) -> None:
    told = markdown([ended(name=hostile), ended(FAILING, name=hostile)])
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {line.count("|") for line in rows} == {10}
    assert told.count("<details>") == told.count("</details>") == 1
    assert told.count("\n#") == 0
    for sign in ("<script", "![", "](", "**b**", " @", " #12"):
        assert sign not in told


def test_the_verdict_comes_first_and_failures_are_folded_with_their_cause(snapshot: SnapshotAssertion) -> None:
    told = markdown([ended(), ended(LOSING, "two")])
    assert told == snapshot
    assert markdown([ended()]).startswith("### floodmark: passed\n")


def test_a_regression_is_not_passed_even_if_all_hold(snapshot: SnapshotAssertion) -> None:
    worse = [
        BaselineDifference("one", (BaselineChange("acked lost", "0", "2", 1, regression=True),)),
        BaselineDifference("two"),
    ]
    told = markdown([ended(), ended(name="two")], worse)
    assert told.startswith("### floodmark: not passed\n")
    same = markdown([ended()], [BaselineDifference("one")])
    assert same.startswith("### floodmark: passed\n")
    none = markdown([ended()], [])
    assert {"worse": told, "same": same.splitlines()[-1], "none": none.splitlines()[-1]} == snapshot
