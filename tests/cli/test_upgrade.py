"""``floodmark upgrade``, ``issues`` and ``profiles --diff`` as they are typed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Typed

Type = Callable[..., Typed]

WORSE = """floodmark: 1
name: worse
cluster: {kafka: "2.8", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s}]
steps:
  - {at: 5s, inject: partition, target: leader(orders-0), to: followers(orders-0)}
  - {at: 7s, inject: crash, target: leader(orders-0), for: 30s}
expect: [acked_lost() > 0]
"""


def test_without_a_playbook_it_lists_known_issues(typed: Type) -> None:
    found = typed("upgrade", "4.0.2", "4.1")
    assert found.code == 0
    assert "KAFKA-19522" in found.out


def test_a_playbook_that_does_not_pass_afterwards_is_1(typed: Type, here: Path) -> None:
    (here / "worse.yaml").write_text(WORSE)
    found = typed("upgrade", "2.8", "3.0", "worse.yaml", "--json", "--jobs", "1")
    assert found.code == 1
    document = json.loads(found.out)
    (only,) = document["playbooks"]
    assert (only["before"]["verdict"], only["after"]["verdict"]) == ("pass", "fail")
    assert [each["change"] for each in only["differences"]["verdict"]] == [
        "default of acks",
        "default of enable.idempotence",
    ]
    assert only["differences"]["verdict"][0]["set"] == ["clients.producers.checkout.config.acks=all"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("upgrade", "3.6.9", "3.9"), ("upgrade", "3.6", "next"), ("upgrade", "3.6", "3.9", "no-such-playbook"),
        ("upgrade", "3.6", "3.9", "--json", "--markdown"), ("issues", "KAFKA-1"), ("issues", "3.6.9"),
        ("profiles", "--diff", "3.6", "5.0"),
    ],
    ids=["patch", "release", "playbook", "two formats", "issue", "release of issues", "release of changes"],
)  # fmt: skip
def test_bad_input_is_one_error(typed: Type, arguments: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    found = typed(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err == snapshot


def test_issues_are_those_of_a_release_or_one_in_detail(typed: Type) -> None:
    every = typed("issues", "--json")
    numbers = [each["issue"] for each in json.loads(every.out)]
    assert "KAFKA-19522" in numbers
    affected = [each["issue"] for each in json.loads(typed("issues", "4.0.1", "--json").out)]
    assert "KAFKA-19522" in affected
    assert set(affected) < set(numbers)
    assert "KAFKA-19522" not in typed("issues", "4.1").out
    for name in ("KAFKA-19522", "kafka-19522", "19522"):
        assert json.loads(typed("issues", name, "--json").out)["rule"] == "fenced_last_known"
    assert "kafka-19522 --set cluster.kafka=4.1.0" in typed("issues", "KAFKA-19522").out
    assert json.loads(typed("issues", "KAFKA-19012", "--json").out)["not_modelled"]


def test_changes_have_bug_fixes_first(typed: Type) -> None:
    found = typed("profiles", "--diff", "4.0.2", "4.1")
    assert found.code == 0
    assert found.out.index("KAFKA-19522") < found.out.index("quorum_hw_push")
    document = json.loads(typed("profiles", "--diff", "4.0.2", "4.1", "--json").out)
    assert "KAFKA-19522" in [each["issue"] for each in document["fixed"]]
    assert {"rule": "elr", "kafka": "4.1+"}.items() <= document["new_rules"][0].items()
    assert "eligible.leader.replicas.version" in [each["configuration"] for each in document["defaults"]]
