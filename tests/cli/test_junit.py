"""JUnit XML as those who read it expect it: counts that agree, attributes in their places, nothing XML cannot hold."""

from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import NOT_RUN, JobOutcome, PlaybookJob
from playbooks.parser.loader import loads
from playbooks.text import command_of
from tests.support.playbooks import CLUSTER, CRASH, MANUAL
from tui.cli.runs.suite import PlaybookOutcome
from tui.cli.runs.summary_documents import junit

LOSING = CRASH.replace("config: {acks: all}", "config: {acks: 0}")
WAITING = CLUSTER + "settle: 1s\nsteps:\n  - when: leader(orders-0) == 3\n    within: 1s\n    heal: all\n"
CODES = {"pass": 0, "fail": 1, "inconclusive": 3}

ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "property": {"name", "value"},
    "properties": set(),
    "system-out": set(),
}
"""Attributes by element: those that all the schemas in use have in common."""


def ended(text: str, name: str = "one") -> PlaybookOutcome:
    result = start_session(loads(text, "x.yaml")).finish()
    job = PlaybookJob(text, "x.yaml", settings={"producers.checkout.config.acks": "0"})
    outcome = JobOutcome(job, replace(result, session="sessions/s"), "", CODES[result.verdict], "sessions/s")
    return PlaybookOutcome(name, outcome, name, command_of("x.yaml", result.seed, [], "9s"))


def without(code: int, error: str) -> PlaybookOutcome:
    outcome = JobOutcome(
        PlaybookJob("", "y.yaml", 5), None, error, code, "sessions/t", "sessions/t/crash.log" if code == 70 else ""
    )
    return PlaybookOutcome("two", outcome, "two", "floodmark run y.yaml --seed 5")


def read(*all_ended: PlaybookOutcome) -> Element:
    return ElementTree.fromstring(junit(all_ended).encode())


def text(of: Element, path: str) -> str:
    found = of.find(path)
    assert found is not None
    return found.text or ""


ALL = (MANUAL, LOSING, WAITING)


@pytest.mark.slow
def test_counts_agree_and_only_common_attributes_are_used() -> None:
    root = read(*map(ended, ALL), without(70, "broke"), without(NOT_RUN, "not started"))
    for element in root.iter():
        assert set(element.attrib) == ALLOWED[element.tag], element.tag
    for attribute, tag in (("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts = [int(suite.attrib[attribute]) for suite in root]
        found = [len(suite.findall(f"testcase/{tag}" if tag else "testcase")) for suite in root]
        assert counts == found
        assert int(root.attrib[attribute]) == sum(counts)
    assert [[int(suite.attrib[key]) for key in ("failures", "errors", "skipped")] for suite in root] == [
        [0, 0, 0],
        [1, 0, 0],
        [0, 1, 1],
        [0, 1, 0],
        [0, 0, 1],
    ]
    order = [[child.tag for child in suite if child.tag != "testcase"] for suite in root]
    assert order == [["properties", "system-out"]] * 5
    assert all(suite[0].tag == "properties" and suite[-1].tag == "system-out" for suite in root)
    assert float(root.attrib["time"]) == pytest.approx(sum(float(suite.attrib["time"]) for suite in root))


def test_a_failure_reports_cause_seed_and_how_to_run_it_again(snapshot: SnapshotAssertion) -> None:
    (suite,) = read(ended(LOSING))
    assert {path: text(suite, path) for path in ("testcase/failure", "system-out")} == snapshot
    properties = {each.get("name"): each.get("value") for each in suite.findall("properties/property")}
    assert [properties[name] for name in ("seed", "profile", "verdict", "file")] == ["3", "3.9-kraft", "fail", "x.yaml"]
    assert len(properties["digest"] or "") == 32
    assert properties["set producers.checkout.config.acks"] == "0"


def test_a_playbook_without_a_verdict_is_a_junit_error_with_its_message(snapshot: SnapshotAssertion) -> None:
    (suite,) = read(without(70, "internal error: \x00 <bad> & \ud800"))
    error = suite.find("testcase/error")
    assert error is not None
    assert error.text == snapshot
    assert error.get("message") == str(error.text).splitlines()[0]


@pytest.mark.slow
def test_it_is_the_same_every_time() -> None:
    assert junit([ended(LOSING)]) == junit([ended(LOSING)])


def test_cases_of_the_same_text_have_names_of_their_own() -> None:
    twice = CLUSTER + "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() > 0\n  - acked() > 0\n"
    names = [case.get("name") for case in read(ended(twice)).iter("testcase")]
    assert names == ["acked() > 0", "acked() > 0 (2)"]
