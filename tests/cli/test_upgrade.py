"""``floodmark upgrade``, ``issues`` and ``profiles --diff`` as they are typed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.worker_pool import JobOutcome
from playbooks.upgrade import assessment, direction_text
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
    verdict = only["differences"]["verdict"]
    assert (verdict["from"], verdict["to"], verdict["cause"]) == ("pass", "fail", "alone")
    assert [each["change"] for each in verdict["changes"]] == ["default of acks", "default of enable.idempotence"]
    assert verdict["changes"][0]["set"] == ["clients.producers.checkout.config.acks=all"]
    assert verdict["changes"][0]["revert"] == ["clients.producers.checkout.config.acks=1"]


CLUSTER = """floodmark: 1
fragment: shop
cluster: {kafka: "3.6", mode: zookeeper, zookeepers: 1, brokers: [{id: 0, rack: a}, {id: 1, rack: b}, {id: 2, rack: b}]}
topics: [{name: orders, placement: [[0, 1, 2], [0, 2]], config: {min.insync.replicas: 2}}]
"""


@pytest.mark.slow
def test_a_cluster_file_stands_for_typical_failures_on_it(typed: Type, here: Path) -> None:
    (here / "shop.yaml").write_text(CLUSTER)
    found = typed("upgrade", "3.9.1", "3.9.2", "shop.yaml", "--json", "--jobs", "1")
    assert found.code == 0, found.err
    names = [each["playbook"] for each in json.loads(found.out)["playbooks"]]
    faults = ("broker-crash", "broker-paused", "broker-isolated", "controller-crash", "rack-lost", "rolling-restart")
    assert names == [f"shop-{fault}" for fault in faults]


def test_the_documents_of_two_commands_have_the_same_changes(typed: Type) -> None:
    changes = json.loads(typed("profiles", "--diff", "3.6.0", "4.4", "--json").out)
    upgrade = json.loads(typed("upgrade", "3.6.0", "4.4", "--json").out)
    assert {name: upgrade[name] for name in changes} == changes
    found = {each["configuration"]: each for each in changes["changed_defaults"]}
    assert found["linger.ms"] == {
        "configuration": "linger.ms", "scopes": ["producer"], "change": "changed", "from": "0", "to": "5",
    }  # fmt: skip
    assert (found["transaction.version"]["change"], found["transaction.version"]["from"]) == ("added", None)
    assert (found["zookeeper.session.timeout.ms"]["change"], found["zookeeper.session.timeout.ms"]["to"]) == (
        "removed",
        None,
    )


@pytest.mark.parametrize(
    ("before", "after", "direction"), [("3.6", "4.4", "upgrade"), ("4.4", "3.6", "downgrade"), ("3.6", "3.6.2", "same")]
)
def test_it_says_that_it_is_no_upgrade(typed: Type, before: str, after: str, direction: str) -> None:
    assert json.loads(typed("upgrade", before, after, "--json").out)["direction"] == direction
    aside = direction_text(before, after)
    assert bool(aside) is (direction != "upgrade")
    assert typed("upgrade", before, after).out.startswith(aside)
    assert aside in typed("upgrade", before, after, "--markdown").out


def test_ctrl_c_prints_what_is_known_and_is_130(typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object, **_rest: object) -> list[JobOutcome]:
        raise KeyboardInterrupt

    (here / "worse.yaml").write_text(WORSE)
    monkeypatch.setattr(assessment.UpgradeProgress, "__init__", interrupted)
    found = typed("upgrade", "2.8", "3.0", "worse.yaml", "--json", "--jobs", "1")
    assert found.code == 130
    document = json.loads(found.out)
    assert (document["stopped"], document["wanted"], document["playbooks"]) == (True, 1, [])


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
    assert "eligible.leader.replicas.version" in [each["configuration"] for each in document["changed_defaults"]]
