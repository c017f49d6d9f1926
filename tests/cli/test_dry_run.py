"""``floodmark run --dry-run``: before each fault what it would do, nothing kept, its own exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from faults.declarations import ExpectedImpact
from playbooks.model import DOWN, expected_lines
from tests.cli.running import Steady, Typed
from tui.cli.runs import narration
from tui.viewmodel import fault_sheet

Type = Callable[..., Typed]

SLOW = """\
floodmark: 1
name: slow
cluster: {brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
steps:
  - at: 1s
    inject: crash
    target: leader(orders-0)
    for: 2s
  - when: offline_partitions() > 2
    within: 1s
    heal: all
settle: 1s
expect:
  - acked() > 0
"""


def test_it_reports_each_fault_and_keeps_nothing(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "slow.yaml").write_text(SLOW)
    done = typed("run", "--dry-run", "slow.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out == snapshot
    assert sorted(path.name for path in here.iterdir()) == ["slow.yaml"]


def test_as_a_document(typed: Type, here: Path) -> None:
    (here / "slow.yaml").write_text(SLOW)
    done = typed("run", "--dry-run", "--json", "slow.yaml", "--seed", "5")
    document = json.loads(done.out)
    assert (done.code, document["seed"], document["verdict"]) == (0, 5, "inconclusive")
    assert [(entry["what"], entry["at_us"]) for entry in document["timeline"]] == [
        ("fault", 1_000_000), ("expectation", 2_000_000), ("healed", 3_000_000), ("settle", 3_000_000),
        ("expectation", 4_000_000), ("end", 4_000_000), ("never", None),
    ]  # fmt: skip
    assert [step["targets"] for step in document["steps"]] == [["broker 1"]]
    expected = document["steps"][0]["expected"]
    assert (expected["brokers_down"], expected["leaders_moved"]) == ([1], ["orders-0"])
    assert document["unreached"] == [{"step": 2, "text": "heal all", "name": "step 2"}]
    two = json.loads(typed("run", "--dry-run", "--json", "slow.yaml", "slow.yaml").out)
    assert [each["playbook"] for each in two] == ["slow", "slow"]


def test_bad_input_is_reported_and_is_2(typed: Type, here: Path, steady: Steady, snapshot: SnapshotAssertion) -> None:
    (here / "bad.yaml").write_text(SLOW.replace("crash", "crush"))
    (here / "slow.yaml").write_text(SLOW)
    told = {}
    for words in ("bad.yaml", "slow.yaml --out x", "slow.yaml --junit x.xml", "slow.yaml --plain", "kip-101-loss"):
        done = typed("run", "--dry-run", *words.split())
        assert (done.code, done.out) == (2, "")
        told[words] = steady(done.err)
    assert told == snapshot


def test_every_label_of_an_impact_fits_its_column() -> None:
    names = ("orders-0",)
    full = ExpectedImpact("all of it", names, names, names, names, names, names, names, (1,), controller_moves=True)
    lines = expected_lines(full)
    assert {DOWN, "clients affected", "coordinators", "control plane"} <= {label for label, _text in lines}
    assert max(len(label) for label, _text in lines) < min(narration.LABEL, fault_sheet.LABEL)
