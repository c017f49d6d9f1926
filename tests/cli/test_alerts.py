"""``floodmark alerts`` and ``export --openmetrics``: what is printed and written, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.support.playbooks import CLUSTER, MANUAL

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

STEPS = """\
steps:
  - {at: 7s, inject: crash, target: leader(orders-0), for: 14s}
  - {at: 24s, inject: lag, target: broker(3), latency: 1ms, for: 1s}
settle: 8s
"""
RULES = """\
groups:
  - name: brokers
    rules:
      - {alert: BrokerDown, expr: 'up{job="kafka"} == 0', for: 5s, labels: {severity: page}}
      - {alert: Fenced, expr: max(kafka_controller_kafkacontroller_fencedbrokercount) > 0, for: 1m}
      - {alert: Start, expr: 'kafka_consumergroup_members{consumergroup="billing"} < 1'}
"""


@pytest.fixture
def files(here: Path) -> Path:
    """A playbook and a rule file; skips where Prometheus is not installed."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: no rule was evaluated")
    (here / "small.yaml").write_text(CLUSTER + STEPS)
    (here / "rules.yml").write_text(RULES)
    return here


@pytest.mark.usefixtures("files")
def test_faults_and_alerts_are_reported(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("alerts", "rules.yml", "small.yaml")
    assert (done.code, done.err) == (1, "")
    assert done.out == snapshot
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_session_has_the_alerts_of_its_playbook(typed: Type, files: Path) -> None:
    assert typed("run", "small.yaml").code == 0
    (session,) = session_files.sessions_under(files / "sessions")
    reports = json.loads(typed("alerts", "rules.yml", "small.yaml", session, "--json").out)
    mine, recorded = (dict(each) for each in reports)
    assert mine.pop("session") == "small"
    assert recorded.pop("session") in session.name
    assert mine == recorded
    crash, lag = mine["faults"]
    assert (crash["fault"], crash["seen_by"], crash["pending"]) == ("crash", ["BrokerDown"], ["Fenced"])
    assert crash["time_to_detect_us"] == 8_000_000
    assert mine["unseen"] == [lag["id"]]


def test_documents_have_a_failure_for_each_fault_unseen(typed: Type, files: Path, snapshot: SnapshotAssertion) -> None:
    options = ("--junit", "j.xml", "--markdown", "m.md", "--scrape-interval", "1s")
    assert typed("alerts", "rules.yml", "small.yaml", *options).code == 1
    suites = fromstring((files / "j.xml").read_text())
    failures = [failure.get("type") for failure in suites.iter("failure")]
    assert suites.get("failures") == str(len(failures))
    assert failures[0] == "unseen"
    assert (files / "m.md").read_text() == snapshot


def test_exit_code_0_needs_every_fault_seen_and_no_alert_alone(typed: Type, files: Path) -> None:
    (files / "rules.yml").write_text("\n".join(RULES.splitlines()[:4]))
    assert typed("alerts", "rules.yml", "small.yaml", "--set", "steps.1.inject=gc_pause").code == 1
    (files / "small.yaml").write_text(CLUSTER + STEPS.replace(STEPS.splitlines()[2], ""))
    assert typed("alerts", "rules.yml", "small.yaml").code == 0


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words",
    [
        ("rules.yml",),
        ("none.yml", "small.yaml"),
        ("small.yaml", "small.yaml"),
        ("rules.yml", "nobody"),
        ("rules.yml", "manual.yaml"),
        ("rules.yml", "small.yaml", "--window", "soon"),
        ("rules.yml", "small.yaml", "--evaluation-interval", "1ms"),
        ("rules.yml", "small.yaml", "--set", "nothing=1"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_error(typed: Type, files: Path, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    (files / "manual.yaml").write_text(MANUAL)
    done = typed("alerts", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


def test_the_builtin_rules_are_printed_and_evaluated(typed: Type, files: Path) -> None:
    printed = typed("alerts", "builtin")
    assert printed.code == 0
    (files / "copy.yml").write_text(printed.out)
    assert typed("alerts", "copy.yml", "small.yaml").out == typed("alerts", "builtin", "small.yaml").out


def test_a_session_is_exported_as_openmetrics(typed: Type, files: Path) -> None:
    typed("run", "small.yaml")
    (session,) = session_files.sessions_under(files / "sessions")
    done = typed("export", session, "--openmetrics", "session.om", "--scrape-interval", "2s")
    assert (done.code, done.out) == (0, "")
    text = (files / "session.om").read_text()
    assert text.endswith("# EOF\n")
    assert 'up{instance="broker-2:7071",job="kafka"} 1 1735689602.000' in text
    again = typed("export", session, "--openmetrics", "session.om")
    assert (again.code, again.err.count("\n")) == (2, 1)
    for wrong in (("--openmetrics", "x", "--bundle"), ("--scrape-interval", "2s"), ("--openmetrics", "x", "-o", "y")):
        assert typed("export", session, *wrong).code == 2
